"""What a form says when something is wrong, and that nothing typed or chosen is lost by it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

SAMPLES = Path(__file__).resolve().parents[2] / "app" / "static" / "samples"


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_wrong_address_is_said_beside_its_field_and_the_text_is_kept(
    browse: Callable[..., Page], scripts: bool
) -> None:
    page = browse(java_script_enabled=scripts)
    page.goto("/")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_label("E-mail address").fill("ada at home")
    page.get_by_label("Subject").fill("Hello")
    page.get_by_label("Message", exact=True).fill("Good morning.")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page).to_have_title("Error: not sent · Background jobs")
    expect(page.get_by_label("Message", exact=True)).to_have_value("Good morning.")
    expect(page.get_by_label("E-mail address")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("E-mail address")).to_have_accessible_description(
        "Email is not an e-mail address."
    )
    expect(page.locator("#summary")).to_be_focused()
    page.locator("#summary").get_by_role("link").click()
    expect(page.get_by_label("E-mail address")).to_be_focused()


def test_a_form_that_was_refused_keeps_its_files_and_can_be_sent_again(visitor: Page) -> None:
    visitor.goto("/")
    visitor.get_by_label("Pictures", exact=True).set_input_files(SAMPLES / "sample.jpg")
    visitor.get_by_label("Widths").fill("wide")
    visitor.get_by_role("button", name="Resize").click()
    expect(visitor.locator("#summary")).to_be_focused()
    expect(visitor.locator("#summary")).not_to_contain_text("choose them again")
    visitor.get_by_label("Widths").fill("160")
    visitor.get_by_role("button", name="Resize").click()
    expect(visitor.locator(".title .state")).to_have_text("Done")


def test_files_that_are_too_large_are_left_out_before_anything_is_sent(visitor: Page, tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_bytes(b"x" * (1024 * 1024 + 1))
    visitor.goto("/")
    visitor.get_by_label("Documents", exact=True).set_input_files([large, SAMPLES / "sample.txt"])
    expect(visitor.locator("#documents [data-said]")).to_contain_text(
        "large.txt has 1 MB; the limit is 1 MB."
    )
    expect(visitor.locator("#documents .chosen li")).to_have_count(1)


def test_chosen_files_can_be_removed_by_keyboard(visitor: Page) -> None:
    visitor.goto("/")
    files = visitor.get_by_label("Documents", exact=True)
    files.set_input_files([SAMPLES / "sample.txt", Path(__file__)])
    visitor.get_by_role("button", name="Remove sample.txt").press("Enter")
    expect(visitor.get_by_role("button", name=f"Remove {Path(__file__).name}")).to_be_focused()
    visitor.keyboard.press("Enter")
    expect(files).to_be_focused()
    expect(visitor.locator("#documents .chosen li")).to_have_count(0)
    assert files.evaluate("input => input.files.length") == 0

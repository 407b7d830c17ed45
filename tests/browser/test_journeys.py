"""People send each form and watch its job to the result."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

DATA = Path(__file__).resolve().parents[1] / "data"
SAMPLES = Path(__file__).resolve().parents[2] / "app" / "static" / "samples"


def test_a_message_is_sent_by_keyboard_alone_and_both_mails_arrive(visitor: Page, stack: Any) -> None:
    visitor.goto("/")
    visitor.keyboard.press("Tab")
    expect(visitor.get_by_role("link", name="Skip to the content")).to_be_focused()
    visitor.keyboard.press("Enter")
    for text in ("Ada Lovelace", "ada@example.test", "Notes on the engine", "Good morning."):
        visitor.keyboard.press("Tab")
        visitor.keyboard.type(text)
    visitor.keyboard.press("Tab")
    expect(visitor.get_by_role("button", name="Send", exact=True)).to_be_focused()
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_text("2 of 2 finished", exact=True)).to_be_visible()
    assert sum("Ada Lovelace" in mail for mail in stack.mails()) == 2


def test_a_picture_is_chosen_resized_and_downloaded(visitor: Page) -> None:
    visitor.goto("/")
    visitor.get_by_label("Pictures", exact=True).set_input_files(SAMPLES / "sample.jpg")
    expect(visitor.locator("#images .chosen")).to_contain_text("sample.jpg")
    visitor.get_by_label("Widths").fill("640, 160")
    visitor.get_by_label("Format").select_option("AVIF")
    visitor.get_by_role("button", name="Resize").click()
    expect(visitor.locator(".title .state")).to_have_text("Done")
    expect(visitor.get_by_role("row")).to_have_count(3)
    expect(visitor.get_by_role("cell", name="640 × 427")).to_be_visible()
    shown = visitor.locator(".preview img")
    assert shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 640
    with visitor.expect_download() as download:
        visitor.get_by_role("link", name="Download 160").click()
    assert download.value.suggested_filename == "sample-160.avif"


def test_documents_are_analysed_and_their_batch_counts_them(visitor: Page) -> None:
    visitor.goto("/")
    chosen = [DATA / "documents" / name for name in ("plain.pdf", "simple.docx", "utf8.txt")]
    visitor.get_by_label("Documents", exact=True).set_input_files(chosen)
    visitor.get_by_label("Extraction").check()
    visitor.get_by_role("button", name="Analyse").click()
    expect(visitor.get_by_text("3 of 3 finished", exact=True)).to_be_visible()
    visitor.get_by_role("link", name="simple.docx").click()
    expect(visitor.get_by_text("Local engine, not a language model.")).to_be_visible()


@pytest.mark.parametrize(
    ("form", "result"),
    [("contact", "2 of 2 finished"), ("images", "1280 × 854"), ("documents", "Key points")],
)
def test_without_javascript_every_sample_still_leads_to_its_result(
    browse: Callable[..., Page], form: str, result: str
) -> None:
    page = browse(java_script_enabled=False)
    page.goto("/")
    page.locator(f"#{form}").get_by_role("button", name="sample").click()
    # The page reloads itself every few seconds.
    expect(page.get_by_text(result, exact=True)).to_be_visible()


def test_a_page_follows_its_job_by_asking_where_events_do_not_get_through(visitor: Page) -> None:
    visitor.route("**/events", lambda route: route.fulfill(status=204))
    visitor.goto("/")
    visitor.locator("#documents").get_by_role("button", name="sample").click()
    expect(visitor.locator(".title .state")).to_have_text("Done")


def test_own_jobs_list_what_was_sent(visitor: Page) -> None:
    visitor.goto("/jobs")
    expect(visitor.get_by_role("heading", name="No jobs yet")).to_be_visible()
    visitor.get_by_role("link", name="Send the first one").click()
    visitor.locator("#documents").get_by_role("button", name="sample").click()
    visitor.get_by_role("link", name="Your jobs").first.click()
    expect(visitor.get_by_role("link", name="Analyse a document")).to_be_visible()

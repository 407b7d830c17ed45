"""What looks alike is laid out alike."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

SAMPLES = Path(__file__).resolve().parents[2] / "app" / "static" / "samples"
A_PHONE = {"width": 390, "height": 844}


def test_chosen_documents_have_rows_as_high_as_chosen_pictures(visitor: Page) -> None:
    visitor.goto("/")
    heights = []
    for form, sample in (("images", "sample.jpg"), ("documents", "sample.txt")):
        visitor.locator(f"#{form} input[type=file]").set_input_files(SAMPLES / sample)
        row = visitor.locator(f"#{form} .chosen li")
        expect(row).to_be_visible()
        heights.append(box(row)["height"])
    assert heights[0] == heights[1]


@pytest.mark.parametrize("form", ["images", "documents"])
def test_on_a_phone_the_state_stands_beside_the_title(browse: Callable[..., Page], form: str) -> None:
    page = browse(viewport=A_PHONE)
    page.goto("/")
    page.locator(f"#{form}").get_by_role("button", name="sample").click()
    expect(page.locator("[data-final=yes]")).to_be_visible()
    title, state = box(page.locator(".title h1")), box(page.locator(".title .state"))
    assert state["x"] >= title["x"] + title["width"]
    assert state["y"] < title["y"] + title["height"]


def box(element: Locator) -> dict[str, float]:
    """Where it is, in pixels."""
    found = element.bounding_box()
    assert found is not None
    return {"x": found["x"], "y": found["y"], "width": found["width"], "height": found["height"]}

"""Every page by axe-core's rules, in light and dark, and on a narrow phone."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it publishes no types
from playwright.sync_api import Page, expect

_SCHEMES: tuple[tuple[Literal["light", "dark"], dict[str, Any]], ...] = (
    ("light", {}),
    ("dark", {"runOnly": ["color-contrast"]}),
)


@pytest.fixture
def page(browse: Callable[..., Page]) -> Page:
    """A page without movement."""
    return browse(reduced_motion="reduce")


def faults(page: Page) -> list[str]:
    """What axe-core finds, by rule and place; in the dark only colours are another matter."""
    found: list[dict[str, Any]] = []
    for scheme, options in _SCHEMES:
        page.emulate_media(color_scheme=scheme)
        found += Axe().run(page, options=options).response["violations"]
    return [f"{fault['id']}: {node['target']}" for fault in found for node in fault["nodes"]]


def test_home_also_with_faults_and_with_files(page: Page) -> None:
    page.goto("/")
    assert faults(page) == []
    page.get_by_label("Documents", exact=True).set_input_files(__file__)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("#summary")).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize("form", ["images", "contact"])
def test_results(page: Page, form: str) -> None:
    page.goto("/")
    page.locator(f"#{form}").get_by_role("button", name="sample").click()
    expect(page.locator("[data-final=yes]")).to_be_visible()
    assert faults(page) == []


@pytest.mark.parametrize("analysis", ["Summary", "Sentiment", "Extraction"])
def test_analyses(page: Page, analysis: str) -> None:
    page.goto("/")
    page.get_by_label(analysis).check()
    page.locator("#documents").get_by_role("button", name="sample").click()
    expect(page.locator("[data-final=yes]")).to_be_visible()
    assert faults(page) == []


def test_lists_and_errors(page: Page) -> None:
    page.goto("/jobs")
    assert faults(page) == []
    page.goto("/")
    page.locator("#contact").get_by_role("button", name="sample").click()
    page.goto("/jobs")
    assert faults(page) == []


def test_nothing_is_wider_than_a_narrow_phone(browse: Callable[..., Page]) -> None:
    page = browse(viewport={"width": 320, "height": 640})
    page.goto("/")
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.locator("#images").get_by_role("button", name="sample").click()
    expect(page.locator("[data-final=yes]")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 320
    page.goto("/jobs")
    assert page.evaluate("document.documentElement.scrollWidth") == 320

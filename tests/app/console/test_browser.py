"""Every button of the console, pressed in a real browser, with and without its scripts."""

import os
import shutil
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it publishes no types
from playwright.sync_api import Browser, Page, expect, sync_playwright

from db.types import new_id
from tests.support.console import PASSWORD, USERNAME
from tests.support.ledger import add_job, bury_job, job_row
from tests.support.ledger import letters as letter_rows

Letters = Callable[..., list[tuple[str, str]]]

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
INSTALL_CHROMIUM = "apt-get install --yes chromium"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for this file."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail(f"Chromium is not installed: {INSTALL_CHROMIUM}")
        pytest.skip(f"Chromium is not installed; install it with: {INSTALL_CHROMIUM}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(params=["with scripts", "without scripts"])
def page(request: pytest.FixtureRequest, credentials: None, server: str, chromium: Browser) -> Iterator[Page]:
    """Signed in, at the overview."""
    scripts = request.param == "with scripts"
    context = chromium.new_context(base_url=server, java_script_enabled=scripts)
    page = context.new_page()
    page.goto("/console")
    page.get_by_label("Name").fill(USERNAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    yield page
    context.close()


def test_every_button_does_what_it_says(page: Page, letters: Letters) -> None:
    (replayed, discarded), [unknown] = letters(2), letters(reason="outcome_unknown")
    # The web process knows the project's own types only.
    edited = bury_job(type="emails.send_email", queue="email", payload={"delivery_id": "old"})
    cancelled = add_job()

    page.goto(f"/console/dead-letters/{replayed[1]}")
    page.get_by_role("button", name="Queue it again").first.click()
    expect(page.get_by_role("status")).to_have_text("Queued again.")

    page.goto(f"/console/dead-letters/{edited[1]}")
    page.get_by_text("Edit the payload first").click()
    page.get_by_role("textbox", name="Payload").fill('{"delivery_id": 5}')
    page.get_by_role("button", name="Save and queue it again").click()
    expect(page.get_by_role("textbox", name="Payload")).to_have_value('{"delivery_id": 5}')
    expect(page.get_by_text("Delivery id must be a valid string.")).to_be_visible()
    page.get_by_role("textbox", name="Payload").fill(f'{{"delivery_id": "{new_id()}"}}')
    page.get_by_role("button", name="Save and queue it again").click()
    expect(page.get_by_role("status")).to_have_text("Queued again, with the new payload.")

    page.goto(f"/console/dead-letters/{discarded[1]}")
    page.get_by_text("Discard", exact=True).click()
    page.get_by_label("Why it will never be done").fill("not needed")
    page.get_by_role("button", name="Discard this letter").click()
    expect(page.get_by_role("status")).to_have_text("Discarded.")

    page.goto(f"/console/dead-letters/{unknown[1]}")
    page.get_by_role("button", name="It happened").click()
    expect(page.get_by_role("status")).to_have_text("Settled: it happened.")

    page.goto(f"/console/jobs/{cancelled}")
    page.get_by_role("button", name="Cancel this job").click()
    expect(page.get_by_role("status")).to_have_text("Cancelled.")

    page.get_by_role("link", name="Audit log").click()
    expect(page.get_by_role("row")).to_have_count(6)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()

    states = [
        job_row(job_id).state for job_id in (replayed[0], edited[0], discarded[0], unknown[0], cancelled)
    ]
    assert states == ["queued", "queued", "dead", "succeeded", "cancelled"]


def test_a_kind_is_replayed_stopped_and_discarded(page: Page, letters: Letters) -> None:
    letters(3)
    page.get_by_role("link", name="Dead letters").first.click()
    page.get_by_role("link", name="tests.scripted: mailer_unavailable").or_(
        page.get_by_role("link", name="tests.scripted: a_code")
    ).click()
    page.get_by_label("Starts a minute").fill("30")
    page.get_by_role("button", name="Replay").click()
    expect(page.get_by_role("heading", name="They are being replayed")).to_be_visible()
    page.get_by_role("button", name="Stop the replay").click()
    expect(page.get_by_role("status")).to_have_text("Cancelled.")
    page.goto(f"/console/dead-letters?fingerprint={letter_rows()[0].fingerprint}")
    page.get_by_text("Discard all 2").click()
    page.get_by_label("Why they will never be done").fill("given up")
    page.get_by_role("button", name="Discard them").click()
    expect(page.get_by_role("status")).to_have_text("Discarded: 2.")
    assert [row.resolution for row in letter_rows()] == ["replayed", "discarded", "discarded"]


@pytest.mark.parametrize("page", ["with scripts"], indirect=True)
def test_the_pages_can_be_used_by_everybody(page: Page, letters: Letters) -> None:
    [(job_id, letter_id), _] = letters(2)
    [(_, unknown)] = letters(reason="outcome_unknown")
    fingerprint = letter_rows()[0].fingerprint
    addresses = [
        "/console",
        "/console/jobs",
        f"/console/jobs/{job_id}",
        "/console/dead-letters",
        f"/console/dead-letters?fingerprint={fingerprint}",
        f"/console/dead-letters/{letter_id}",
        f"/console/dead-letters/{unknown}",
        "/console/audit",
    ]
    for address in addresses:
        page.goto(address)
        found = Axe().run(page).response["violations"]
        page.emulate_media(color_scheme="dark")
        found += Axe().run(page, options={"runOnly": ["color-contrast"]}).response["violations"]
        page.emulate_media(color_scheme="light")
        assert [f"{fault['id']}: {node['target']}" for fault in found for node in fault["nodes"]] == [], (
            address
        )


@pytest.mark.parametrize("page", ["with scripts"], indirect=True)
def test_no_page_is_wider_than_a_phone(page: Page, letters: Letters) -> None:
    [(job_id, letter_id)] = letters()
    page.set_viewport_size({"width": 360, "height": 740})
    for address in (
        "/console",
        "/console/jobs",
        f"/console/jobs/{job_id}",
        f"/console/dead-letters/{letter_id}",
        f"/console/dead-letters?fingerprint={letter_rows()[0].fingerprint}",
        "/console/audit",
    ):
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, address

"""A newsletter from the form to the outbox, in a browser."""

from pathlib import Path

from playwright.sync_api import Page, expect

from config.settings import DEVELOPMENT_SECRET
from tests.browser.conftest import Stack
from tests.browser.test_accessibility import faults

ROWS = [
    "email;name",
    *(f"reader{number}@example.test;Reader {number}" for number in range(30)),
    " READER3@example.test;Twice",
    "nobody;Nobody",
]


def test_an_operator_previews_sends_and_sees_it_finish(stack: Stack, visitor: Page, tmp_path: Path) -> None:
    page, file = visitor, tmp_path / "list.csv"
    file.write_text("\r\n".join(ROWS), encoding="cp1252")
    page.goto("/newsletters")
    page.get_by_label("Name").fill("operator")
    page.get_by_label("Password").fill(DEVELOPMENT_SECRET)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Newsletters")).to_be_visible()

    page.get_by_label("Subject").fill("News in March")
    page.get_by_label("Text", exact=True).fill("\nHello.\n")
    page.get_by_label("HTML", exact=True).fill("<h1>Hello</h1>")
    page.get_by_label("Recipients as a file").set_input_files(file)
    assert faults(page) == []
    page.get_by_role("button", name="See whom it reaches").click()
    expect(page.get_by_role("row", name="33 Email is not an e-mail address.")).to_be_visible()
    assert faults(page) == []
    page.get_by_role("button", name="Change it").click()
    expect(page.get_by_label("Subject")).to_have_value("News in March")
    page.get_by_role("button", name="See whom it reaches").click()
    page.get_by_role("button", name="Send to 30").click()
    assert faults(page) == []
    expect(page.locator("#standing")).to_have_text("30 of 30 finished")
    mails = [mail for mail in stack.mails() if "Subject: News in March" in mail]
    assert len(mails) == 30

    link = next(line for line in mails[0].splitlines() if line.startswith("List-Unsubscribe: "))
    page.goto(link.removeprefix("List-Unsubscribe: <").removesuffix(">"))
    assert faults(page) == []
    page.get_by_role("button", name="Unsubscribe").click()
    expect(page.get_by_role("heading", name="You are unsubscribed")).to_be_visible()

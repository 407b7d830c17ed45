"""The three forms by plain post, as a browser without JavaScript sends them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.settings import Settings
from db.models import Job

MESSAGE = {"name": "Ada", "email": "ada@example.test", "subject": "Hello", "message": "Good morning."}
TEXT = (b"We like it very much.", "note.txt")


def test_the_home_page_has_three_forms_with_the_usual_field_names(visitor: Any) -> None:
    page = visitor.see("/")
    for form, names in {
        "contact": {"name", "email", "subject", "message"},
        "images": {"file", "widths", "format", "quality"},
        "documents": {"files", "analysis"},
    }.items():
        fields = page.css(f"#{form} :is(input, textarea, select)")
        assert {field.attributes["name"] for field in fields} == {*names, "csrf_token", "submission"}


def test_every_field_has_a_label_of_its_own_and_every_id_is_there_once(visitor: Any) -> None:
    page = visitor.see("/")
    ids = [element.attributes["id"] for element in page.css("[id]")]
    assert len(ids) == len(set(ids))
    labelled = {label.attributes["for"] for label in page.css("label")}
    fields = page.css(":is(input:not([type=hidden]), textarea, select)")
    assert {field.attributes["id"] for field in fields} == labelled


def test_a_message_becomes_a_batch_of_two_mails(visitor: Any, jobs: Callable[[], list[Job]]) -> None:
    answer = visitor.send("contact", MESSAGE)
    assert answer.status == 303
    assert [job.type for job in jobs()] == ["emails.send_email"] * 2
    assert visitor.see(answer.location).said("h1") == "Your message"


def test_one_picture_goes_to_its_job_and_two_to_their_batch(visitor: Any, picture: bytes) -> None:
    one = visitor.send("images", {"file": (picture, "a.png"), "widths": "10"})
    two = visitor.send("images", {"file": [(picture, "a.png"), (picture, "b.png")], "widths": "10"})
    assert one.location.startswith("/jobs/")
    assert two.location.startswith("/batches/")


def test_several_documents_go_to_their_batch(visitor: Any, jobs: Callable[[], list[Job]]) -> None:
    answer = visitor.send("documents", {"files": [TEXT, (b"Not bad.", "b.md")], "analysis": "sentiment"})
    assert answer.location.startswith("/batches/")
    assert [job.payload["analysis"] for job in jobs()] == ["sentiment"] * 2


@pytest.mark.parametrize(
    ("form", "name"), [("contact", ""), ("images", "sample.jpg"), ("documents", "sample.txt")]
)
def test_each_form_can_be_tried_with_a_sample(visitor: Any, form: str, name: str) -> None:
    answer = visitor.send(form, {"sample": "1", "analysis": "summary"})
    assert answer.status == 303
    page = visitor.see(answer.location)
    if name:
        assert page.said(".about") == name


def test_a_second_click_on_the_same_form_sends_once(visitor: Any, jobs: Callable[[], list[Job]]) -> None:
    hidden = visitor.hidden("contact")
    first = visitor.send("contact", MESSAGE, hidden)
    second = visitor.send("contact", MESSAGE, hidden)
    assert first.location == second.location
    assert len(jobs()) == 2


def test_going_back_and_changing_the_text_sends_again(visitor: Any, jobs: Callable[[], list[Job]]) -> None:
    hidden = visitor.hidden("contact")
    first = visitor.send("contact", MESSAGE, hidden)
    second = visitor.send("contact", {**MESSAGE, "message": "Good evening."}, hidden)
    assert first.location != second.location
    assert len(jobs()) == 4


def test_everything_wrong_is_said_at_once_beside_its_field_and_what_was_typed_is_kept(
    visitor: Any, jobs: Callable[[], list[Job]]
) -> None:
    page = visitor.send("contact", {**MESSAGE, "name": "", "email": "ada at home"})
    assert page.status == 422
    assert page.said("title").startswith("Error")
    assert "autofocus" in page.one("#summary").attributes
    assert [link.attributes["href"] for link in page.css("#summary a")] == ["#contact-name", "#contact-email"]
    assert page.value("#contact-email") == "ada at home"
    assert page.said("#contact-message") == "Good morning."
    for field in ("name", "email"):
        assert page.one(f"#contact-{field}").attributes["aria-invalid"] == "true"
        assert page.one(f"#contact-{field}").attributes["aria-describedby"] == f"contact-{field}-wrong"
        assert page.said(f"#contact-{field}-wrong")
    assert not page.css("#contact-subject[aria-invalid]")
    assert jobs() == []


def test_what_was_typed_comes_back_as_text_and_to_the_letter(visitor: Any) -> None:
    typed = '\n\n"</textarea><script>alert(1)</script>'
    page = visitor.send("contact", {**MESSAGE, "email": '"><script>', "message": typed})
    assert page.status == 422
    assert page.value("#contact-email") == '"><script>'
    assert page.one("#contact-message").text() == typed
    assert len(page.css("script")) == 1


@pytest.mark.parametrize(
    ("typed", "field"),
    [
        ({"widths": "wide"}, "widths"),
        ({"widths": "10", "quality": "101"}, "quality"),
        ({"widths": "10", "format": "tiff"}, "format"),
    ],
)
def test_bad_options_for_pictures_are_said_beside_their_field(
    visitor: Any, picture: bytes, stored: Callable[[], list[Path]], typed: dict[str, str], field: str
) -> None:
    page = visitor.send("images", {"file": (picture, "a.png"), **typed})
    assert page.status == 422
    assert page.one(f"#images-{field}").attributes["aria-invalid"] == "true"
    assert "choose them again" in page.said("#summary")
    assert stored() == []


@pytest.mark.parametrize(
    ("form", "field", "files"),
    [
        ("images", "file", (b"", "")),
        ("images", "file", (b"no picture", "a.png")),
        ("documents", "files", (b"", "")),
        ("documents", "files", (b"\x00\x01\x02" * 50, "a.txt")),
    ],
)
def test_a_missing_or_wrong_file_is_refused_beside_its_field(
    visitor: Any,
    jobs: Callable[[], list[Job]],
    stored: Callable[[], list[Path]],
    form: str,
    field: str,
    files: tuple[bytes, str],
) -> None:
    page = visitor.send(form, {field: files, "analysis": "sentiment"})
    assert page.status == 422
    assert page.one(f"#{form}-{field}").attributes["aria-invalid"] == "true"
    assert jobs() == []
    assert stored() == []
    if form == "documents":
        assert "checked" in page.one("#documents-analysis-sentiment").attributes


def test_a_file_above_the_limit_is_413_and_leaves_nothing(
    visitor: Any, configure: Callable[..., Settings], database: str, stored: Callable[[], list[Path]]
) -> None:
    configure(DATABASE_URL=database, MAX_UPLOAD_BYTES=1000)
    page = visitor.send("documents", {"files": (b"word " * 300, "long.txt"), "analysis": "summary"})
    assert page.status == 413
    assert "larger than" in page.said("main")
    assert stored() == []


@pytest.mark.parametrize("token", ["", "made-up"])
def test_without_its_token_a_form_is_answered_with_a_page_and_not_sent(
    visitor: Any, jobs: Callable[[], list[Job]], token: str
) -> None:
    page = visitor.send("contact", MESSAGE, {"csrf_token": token, "submission": ""})
    assert page.status == 400
    assert "reload the page" in page.said("main")
    assert jobs() == []


def test_a_form_that_a_program_sends_without_the_hidden_key_is_accepted(visitor: Any) -> None:
    token = visitor.hidden("contact")["csrf_token"]
    assert visitor.send("contact", MESSAGE, {"csrf_token": token}).status == 303


@pytest.mark.parametrize("path", ["/contact", "/images", "/documents"])
def test_reloading_a_refused_form_leads_back_to_the_forms(visitor: Any, path: str) -> None:
    assert visitor.see(path).location == "/"


def test_the_page_says_which_engine_analyses(
    visitor: Any, configure: Callable[..., Settings], database: str
) -> None:
    assert "not a language model" in visitor.see("/").said("#documents")
    configure(DATABASE_URL=database, ANTHROPIC_API_KEY="key", ANTHROPIC_MODEL="claude-opus-4-5")
    assert "claude-opus-4-5, a language model" in visitor.see("/").said("#documents")

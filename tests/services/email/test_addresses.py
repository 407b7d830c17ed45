"""Addresses and names, checked where they enter."""

import pytest
from pydantic import ValidationError

from config.settings import get_settings
from services.email.addresses import Mailbox, sender
from services.email.errors import MailerMisconfigured


@pytest.mark.parametrize(
    ("typed", "kept", "wire"),
    [
        (" ada@Example.TEST ", "ada@example.test", "ada@example.test"),
        ("info@bücher.example", "info@bücher.example", "info@xn--bcher-kva.example"),
        ("info@xn--bcher-kva.example", "info@bücher.example", "info@xn--bcher-kva.example"),
        ("jo\u0308rg@example.test", "jörg@example.test", "jörg@example.test"),
        ("Ada+news@sub.localhost.test", "Ada+news@sub.localhost.test", "Ada+news@sub.localhost.test"),
    ],
)
def test_an_address_is_normalised(typed: str, kept: str, wire: str) -> None:
    mailbox = Mailbox(email=typed)
    assert (mailbox.email, mailbox.wire) == (kept, wire)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "ada",
        "ada@",
        "ada@localhost",
        "@example.test",
        "a b@example.test",
        "ada@exa mple.test",
        "a@b.test\n",
        "a@b.test\r\nRCPT TO:<x@evil.test>",
        "a@b.test, x@evil.test",
        "Ada <a@b.test>",
        "a\x00@b.test",
        "a\ud800@b.test",
        "a@b.test\u2028",
        f"{'a' * 65}@b.test",
        f"a@{'b' * 250}.test",
    ],
)
def test_what_is_no_address_is_refused_without_quoting_it(typed: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Mailbox(email=typed)
    assert "evil" not in str(caught.value)


@pytest.mark.parametrize("name", ["A\nSubject: x", "A\rB", "A\x00", "A\x85B", "A\u2029B", "\ud83d"])
def test_a_control_character_in_a_name_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        Mailbox(email="a@b.test", name=name)


def test_a_name_keeps_its_characters_and_loses_spare_spaces() -> None:
    assert Mailbox(email="a@b.test", name='  Müller,  Jörg "Boss" 😀 ').name == 'Müller, Jörg "Boss" 😀'


def test_a_name_has_at_most_300_characters() -> None:
    assert len(Mailbox(email="a@b.test", name="😀" * 300).name) == 300
    with pytest.raises(ValidationError):
        Mailbox(email="a@b.test", name="😀" * 301)


def test_the_senders_address_comes_from_the_settings() -> None:
    assert sender() == Mailbox(email="jobs@localhost.test", name="Background jobs")


def test_a_sender_that_is_no_address_is_ours_to_mend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_FROM", "nobody in particular")
    get_settings.cache_clear()
    with pytest.raises(MailerMisconfigured):
        sender()

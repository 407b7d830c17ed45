"""Addresses and names, checked where they enter."""

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from config.settings import get_settings
from services.email.addresses import Mailbox, normalise_address, sender
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


_PART = "".join(chr(sign) for sign in range(33, 127)) + " ü\u0301"


@given(
    st.text(_PART, max_size=70),
    st.sampled_from(["example.test", "B\u00fccher.example", "a..b", "x-.test", ""]),
)
@example("Postmaster", "example.test")
@example("a" * 64, ".".join(["b" * 60] * 3) + ".test")
@example("a" * 64, ".".join(["b" * 60] * 3) + ".tests")
@example("a" * 65, "example.test")
@example(".a", "example.test")
def test_the_short_way_for_plain_addresses_decides_as_the_library_does(local: str, domain: str) -> None:
    address = f"{local}@{domain}"
    try:
        wanted = validate_email(
            address.strip(" "), check_deliverability=False, test_environment=True, strict=True
        ).normalized
    except EmailNotValidError:
        wanted = None
    try:
        found = normalise_address(address)
    except ValueError:
        found = None
    assert found == wanted


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

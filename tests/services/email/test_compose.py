"""From a row to bytes on the wire."""

from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.orm import Session

from db.models import Base
from db.models.email import EmailDelivery
from services.email.addresses import Mailbox
from services.email.compose import compose, letter
from services.email.errors import (
    AddressRejected,
    AddressUnsupported,
    BadContext,
    DeliveryGone,
    MessageRejected,
    UnknownTemplate,
)
from services.email.mailer import Mailer
from tests.support.smtp import SmtpServer

Connect = Callable[..., Mailer]
MISSING = "00000000-0000-7000-8000-000000000000"
INJECTIONS = [
    "=?UTF-8?Q?=0A?=Bcc: x@evil.test",
    "ok =?UTF-8?Q?=0A?=Bcc: x@evil.test",
    "=?utf-8?B?DQpCY2M6IHhAZXZpbC50ZXN0?=",
    'Müller, Jörg "Boss" <x@evil.test>',
    'A "B", C\\',
    "a@b.test, x@evil.test",
    "😀" * 100,
    "a" * 200,
]


@pytest.fixture
def database() -> Iterator[Session]:
    """The deliveries' table, empty, in memory."""
    engine = create_engine("sqlite://")
    Base.metadata.create_all(engine, tables=[Base.metadata.tables["email_deliveries"]])
    with Session(engine) as session:
        yield session
    engine.dispose()


def _delivery(session: Session, **columns: Any) -> str:
    usual = {
        "template": "welcome",
        "to_email": "ada@example.test",
        "to_name": "Ada",
        "context": {"name": "Ada"},
        "created_by": "token:1",
    }
    delivery = EmailDelivery(**(usual | columns))
    session.add(delivery)
    session.flush()
    return delivery.id


def _wire(mails: Mailer, server: SmtpServer, message: EmailMessage) -> tuple[list[str], EmailMessage]:
    """The names of the headers as a server sees them, and the message as a reader parses it."""
    mails.send(message)
    data = server.accepted[-1].data
    assert server.accepted[-1].recipients == (server.commands[-2].partition("<")[2].rstrip(">"),)
    head = data.partition(b"\r\n\r\n")[0].decode()
    names = [line.partition(":")[0] for line in head.split("\r\n") if line[0] not in " \t"]
    return names, message_from_bytes(data, policy=policy.default)


def test_a_delivery_becomes_a_message_with_both_bodies(database: Session) -> None:
    delivery_id = _delivery(database, reply_to_email="bob@example.test", reply_to_name="Bob")
    message = compose(database, delivery_id)
    assert message["From"] == "Background jobs <jobs@localhost.test>"
    assert message["To"] == "Ada <ada@example.test>"
    assert message["Reply-To"] == "Bob <bob@example.test>"
    assert message["Subject"] == "Welcome, Ada"
    assert message["Message-ID"] == f"<{delivery_id}@localhost.test>"
    assert message["Date"]
    assert [part.get_content_type() for part in message.walk()] == [
        "multipart/alternative",
        "text/plain",
        "text/html",
    ]


def test_a_message_composed_again_has_the_same_id(database: Session) -> None:
    delivery_id = _delivery(database)
    ids = {compose(database, delivery_id)["Message-ID"] for _ in range(2)}
    assert len(ids) == 1


@pytest.mark.parametrize(
    ("template", "context", "marked"),
    [
        ("contact_acknowledgement", {"name": "Ada"}, "auto-generated"),
        (
            "contact_notification",
            {"name": "Ada", "email": "a@b.test", "subject": "Hi", "message": "Hello"},
            None,
        ),
    ],
)
def test_only_automatic_mail_says_so(
    template: str, context: dict[str, Any], marked: str | None, database: Session
) -> None:
    message = compose(database, _delivery(database, template=template, context=context))
    assert message["Auto-Submitted"] == marked


def test_a_row_that_is_gone_is_permanent(database: Session) -> None:
    with pytest.raises(DeliveryGone):
        compose(database, MISSING)


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"template": "unknown"}, UnknownTemplate),
        ({"context": {}}, BadContext),
        ({"to_email": "a@b.test\nx"}, AddressRejected),
        ({"to_name": "A\nBcc: x@evil.test"}, AddressRejected),
        ({"reply_to_email": "nobody"}, AddressRejected),
    ],
)
def test_a_row_that_cannot_be_sent_is_permanent(
    columns: dict[str, Any], kind: type[Exception], database: Session
) -> None:
    delivery_id = _delivery(database, **columns)
    with pytest.raises(kind):
        compose(database, delivery_id)


@pytest.mark.parametrize("typed", INJECTIONS)
def test_nothing_typed_becomes_a_header_or_a_recipient(
    typed: str, server: SmtpServer, connect: Connect
) -> None:
    typed_mailbox = Mailbox(email="ada@example.test", name=typed)
    message = letter(to=typed_mailbox, reply_to=typed_mailbox, subject=typed, text="Hi\n", local_id="one")
    names, read = _wire(connect(server.url), server, message)
    assert names == [
        *("From", "To", "Subject", "Date", "Message-ID", "Reply-To", "Auto-Submitted", "Content-Type"),
        *("Content-Transfer-Encoding", "MIME-Version"),
    ]
    for header in ("To", "Reply-To"):
        assert [address.addr_spec for address in read[header].addresses] == ["ada@example.test"]
    if "😀" not in typed:  # the reader of this Python puts spaces between the encoded-words of a long name
        assert read["To"].addresses[0].display_name == typed
    assert read["Subject"] == typed


def test_headers_that_the_library_would_break_are_refused_by_the_mailer(
    server: SmtpServer, connect: Connect
) -> None:
    message = EmailMessage()
    message["From"], message["To"] = "jobs@localhost.test", "ada@example.test"
    message["Subject"] = "ok =?UTF-8?Q?=0A?=Bcc: x@evil.test"
    message.set_content("Hi")
    with pytest.raises(MessageRejected):
        connect(server.url).send(message)
    assert server.accepted == []


def test_a_domain_beyond_ascii_goes_out_as_punycode(server: SmtpServer, connect: Connect) -> None:
    message = letter(to=Mailbox(email="info@bücher.example"), subject="Hi", text="Hi\n", local_id="one")
    _, read = _wire(connect(server.url), server, message)
    assert read["To"].addresses[0].addr_spec == "info@xn--bcher-kva.example"
    assert not any("SMTPUTF8" in command for command in server.commands)


def test_a_local_part_beyond_ascii_uses_smtputf8_where_it_is_offered(
    server: SmtpServer, connect: Connect
) -> None:
    mailbox = Mailbox(email="jörg@bücher.example", name="Jörg")
    connect(server.url).send(letter(to=mailbox, subject="Grüße", text="Hi\n", local_id="one"))
    assert server.accepted[0].recipients == ("jörg@xn--bcher-kva.example",)
    assert "<jörg@xn--bcher-kva.example>".encode() in server.accepted[0].data
    assert any(command.endswith("SMTPUTF8") for command in server.commands)


def test_a_local_part_beyond_ascii_is_permanent_elsewhere_and_the_next_mail_goes_out(
    connect: Connect,
) -> None:
    with SmtpServer(extensions=("8BITMIME",)) as server:
        mails = connect(server.url)
        letters = [
            letter(to=Mailbox(email=email), subject="Hi", text="Hi\n", local_id="one")
            for email in ("jörg@example.test", "ada@example.test")
        ]
        with pytest.raises(AddressUnsupported):
            mails.send(letters[0])
        mails.send(letters[1])
        assert [mail.recipients for mail in server.accepted] == [("ada@example.test",)]
        mails.close()


def test_a_long_line_of_text_is_wrapped_for_the_wire_and_read_whole(
    server: SmtpServer, connect: Connect
) -> None:
    text = "ä" * 3_000 + "\n" + "b" * 3_000 + "\n"
    message = letter(to=Mailbox(email="ada@example.test"), subject="Hi", text=text, local_id="one")
    _, read = _wire(connect(server.url), server, message)
    assert read.get_content().replace("\r\n", "\n") == text
    assert max(map(len, server.accepted[0].data.split(b"\r\n"))) < 998

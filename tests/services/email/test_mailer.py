"""Mails over a real connection to a server that misbehaves on demand."""

import os
import signal
import socket
import threading
from collections.abc import Callable
from email.message import EmailMessage

import pytest

from config.settings import get_settings
from services.email.errors import (
    AddressRejected,
    DeliveryUnknown,
    MailerMisconfigured,
    MailerUnavailable,
    MessageRejected,
)
from services.email.mailer import Mailer, mailer
from services.errors import ServiceError
from tests.support.smtp import Answer, SmtpServer, Stage

Connect = Callable[..., Mailer]
Build = Callable[..., EmailMessage]

REFUSALS: list[tuple[Stage, int, type[ServiceError]]] = [
    ("banner", 421, MailerUnavailable),
    ("banner", 554, MailerMisconfigured),
    ("ehlo", 421, MailerUnavailable),
    ("ehlo", 550, MailerMisconfigured),
    ("mail", 451, MailerUnavailable),
    ("mail", 530, MailerMisconfigured),
    ("mail", 552, MessageRejected),
    ("rcpt", 450, MailerUnavailable),
    ("rcpt", 550, AddressRejected),
    ("data", 451, MailerUnavailable),
    ("data", 554, MessageRejected),
    ("content", 421, MailerUnavailable),
    ("content", 452, MailerUnavailable),
    ("content", 554, MessageRejected),
]


def test_a_receipt_names_the_message_and_the_server(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    receipt = connect(server.url).send(message())
    assert receipt == {"message_id": "<one@localhost.test>", "code": 250, "server": "127.0.0.1"}
    assert [(mail.sender, mail.recipients) for mail in server.accepted] == [
        ("jobs@localhost.test", ("ada@example.test",))
    ]


@pytest.mark.parametrize(("stage", "code", "kind"), REFUSALS)
def test_a_refusal_is_translated_by_stage_and_the_next_mail_goes_out(
    stage: Stage, code: int, kind: type[ServiceError], server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next(stage, Answer(code, ("4.7.0 first line", "ada@example.test is not welcome")))
    mails = connect(server.url)
    with pytest.raises(kind) as caught:
        mails.send(message())
    assert type(caught.value) is kind
    assert "ada" not in str(caught.value)
    assert server.accepted == []
    mails.send(message())
    assert len(server.accepted) == 1


def test_a_refused_recipient_does_not_cost_the_connection(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next("rcpt", Answer(550))
    mails = connect(server.url)
    with pytest.raises(AddressRejected):
        mails.send(message())
    mails.send(message())
    assert server.sessions == 1


@pytest.mark.parametrize("stage", ["banner", "ehlo", "mail", "rcpt", "data"])
def test_a_connection_lost_before_the_dot_means_later(
    stage: Stage, server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next(stage, Answer(close=True))
    with pytest.raises(MailerUnavailable):
        connect(server.url).send(message())
    assert server.accepted == []


@pytest.mark.parametrize("stage", ["banner", "ehlo", "mail", "rcpt", "data"])
def test_a_silent_server_is_left_after_the_timeout(
    stage: Stage, server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next(stage, Answer(stall=60))
    with pytest.raises(MailerUnavailable):
        connect(server.url, timeout=0.2).send(message())


def test_a_stall_in_the_middle_of_the_text_means_later(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next("body", Answer(stall=60))
    # More than the socket's buffers hold, so that the text cannot be written to its end.
    with pytest.raises(MailerUnavailable):
        connect(server.url, timeout=0.3).send(message(text=("x" * 76 + "\n") * 100_000))
    assert server.accepted == []


@pytest.mark.parametrize("answer", [Answer(close=True), Answer(stall=60), Answer(code=354)])
def test_no_answer_after_the_dot_leaves_the_outcome_unknown(
    answer: Answer, server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next("content", answer)
    mails = connect(server.url, timeout=0.3)
    with pytest.raises(DeliveryUnknown):
        mails.send(message())
    mails.send(message(email="next@example.test"))
    assert server.accepted[-1].recipients == ("next@example.test",)


def test_a_connection_dropped_after_250_changes_nothing(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next("content", Answer(250, close=True))
    mails = connect(server.url)
    assert mails.send(message())["code"] == 250
    mails.close()
    assert len(server.accepted) == 1


@pytest.mark.parametrize("answer", [Answer(500), Answer(421, close=True), Answer(close=True)])
def test_a_failing_goodbye_is_no_failure(
    answer: Answer, server: SmtpServer, connect: Connect, message: Build
) -> None:
    server.next("quit", answer)
    mails = connect(server.url)
    mails.send(message())
    mails.close()
    assert len(server.accepted) == 1


def test_mails_share_one_connection(server: SmtpServer, connect: Connect, message: Build) -> None:
    mails = connect(server.url)
    for _ in range(3):
        mails.send(message())
    assert (server.sessions, len(server.accepted)) == (1, 3)


def test_a_connection_closed_while_idle_is_replaced_without_an_error(
    connect: Connect, message: Build
) -> None:
    with SmtpServer(idle_seconds=0.05) as server:
        mails = connect(server.url)
        mails.send(message())
        server.wait_until_idle()
        mails.send(message())
        assert (server.sessions, len(server.accepted)) == (2, 2)
        mails.close()


def test_a_kept_connection_that_answers_421_is_replaced_once(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    mails = connect(server.url)
    mails.send(message())
    server.next("mail", Answer(421, close=True), Answer(421, close=True))
    with pytest.raises(MailerUnavailable):
        mails.send(message())
    assert server.sessions == 2


def test_nobody_listening_means_later(connect: Connect, message: Build) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(MailerUnavailable):
        connect(f"smtp://127.0.0.1:{port}").send(message())


def test_a_mail_cut_off_by_a_time_limit_is_not_finished_by_the_next_one(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    class TimeLimit(Exception):
        pass

    def ring(*_: object) -> None:
        raise TimeLimit

    server.next("rcpt", Answer(stall=60))
    mails = connect(server.url, timeout=30)
    before = signal.signal(signal.SIGUSR1, ring)
    alarm = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1))
    alarm.start()
    try:
        with pytest.raises(TimeLimit):
            mails.send(message())
    finally:
        alarm.join()
        signal.signal(signal.SIGUSR1, before)
    mails.send(message())
    assert (server.sessions, len(server.accepted)) == (2, 1)


def test_a_forked_process_opens_its_own_connection(
    server: SmtpServer, message: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_URL", server.url)
    get_settings.cache_clear()
    mailer().send(message())
    child = os.fork()
    if child == 0:
        try:
            mailer().send(message())
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    mailer().send(message())
    mailer().close()
    assert (server.sessions, len(server.accepted)) == (2, 3)


def test_the_text_arrives_as_it_was_written(server: SmtpServer, connect: Connect, message: Build) -> None:
    connect(server.url).send(message(text=".\n..two\n.three\nlast"))
    body = server.accepted[0].data.partition(b"\r\n\r\n")[2]
    assert body == b".\r\n..two\r\n.three\r\nlast\r\n"


def test_a_message_to_two_people_is_refused_here(
    server: SmtpServer, connect: Connect, message: Build
) -> None:
    letter = message()
    letter["Bcc"] = "other@example.test"
    with pytest.raises(MessageRejected):
        connect(server.url).send(letter)
    assert server.sessions == 0

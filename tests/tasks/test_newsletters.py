"""From an accepted newsletter to the mail server: one mail for each recipient, none for who has left."""

import re
from collections.abc import Callable, Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from urllib.parse import urlsplit

import pytest
from sqlalchemy import select

from app import create_app
from app.intake.newsletters import Issue, submit_newsletter
from app.intake.recipients import from_list
from config.settings import get_settings
from db.engine import reading, transaction
from db.models import Job, Newsletter
from services.email.mailer import mailer
from services.email.unsubscribing import Subscription, end
from tasks.emails import send_newsletter
from tasks.engine.runner import run_job
from tests.support.smtp import Answer, SmtpServer

ISSUE = Issue(subject="März ☀", html="<h1>Hi</h1><p>{{ 7*7 }}</p>", text="Hello")
PEOPLE = [
    {"email": "ada@example.test", "name": 'Ada "Boss", Queen'},
    {"email": "info@bücher.example", "name": "=?UTF-8?Q?=0A?=Bcc: x@evil.test"},
]


@pytest.fixture
def server(database: str, broker: str, configure: Callable[..., object]) -> Iterator[SmtpServer]:
    """A mail server that takes everything until told otherwise."""
    with SmtpServer() as running:
        configure(SMTP_URL=running.url, PUBLIC_URL="https://news.example.test", RATE_EMAIL_BULK="100/s")
        yield running
        mailer().close()


def accept() -> list[str]:
    submission = submit_newsletter(ISSUE, from_list(PEOPLE, name="list"), created_by="token:1")
    return [job.id for job in submission.jobs]


def found(job_id: str) -> Job:
    with reading() as session:
        return session.get_one(Job, job_id)


def read(server: SmtpServer) -> list[EmailMessage]:
    return [message_from_bytes(each.data, policy=policy.default) for each in server.accepted]


def test_everybody_gets_one_mail_with_their_own_way_out(server: SmtpServer) -> None:
    jobs = accept()
    for job_id in jobs * 2:
        run_job(send_newsletter, job_id)
    assert [each.recipients for each in server.accepted] == [
        ("ada@example.test",),
        ("info@xn--bcher-kva.example",),
    ]
    for message, person in zip(read(server), PEOPLE, strict=True):
        link = Subscription.of(person["email"], "newsletter").link
        assert link.startswith("https://news.example.test/unsubscribe/")
        assert message["List-Unsubscribe"] == f"<{link}>"
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert message["Subject"] == "März ☀"
        assert (message["Bcc"], message["Auto-Submitted"]) == (None, None)
        text, html = (part.get_content() for part in message.iter_parts())
        assert text.startswith("Hello")
        assert link in text
        assert f'href="{link}"' in html
        assert "{{ 7*7 }}" in html
    assert {found(job_id).state for job_id in jobs} == {"succeeded"}


def test_who_leaves_while_mails_are_queued_gets_none(server: SmtpServer) -> None:
    ada, other = accept()
    client = create_app().test_client()
    link = Subscription.of("ADA@example.test", "newsletter").link
    assert client.post(urlsplit(link).path).status_code == 200
    run_job(send_newsletter, ada)
    run_job(send_newsletter, other)
    assert (found(ada).state, found(ada).result) == ("succeeded", {"skipped": "unsubscribed"})
    assert found(other).state == "succeeded"
    assert len(server.accepted) == 1


def test_who_leaves_between_two_attempts_gets_none(server: SmtpServer) -> None:
    ada = accept()[0]
    server.next("rcpt", Answer(450))
    run_job(send_newsletter, ada)
    assert found(ada).state == "waiting"
    end(Subscription.of("ada@example.test", "newsletter"))
    with transaction() as connection:
        connection.execute(Job.__table__.update().values(due_at=found(ada).created_at))  # type: ignore[attr-defined]  # a Table, typed as FromClause
    run_job(send_newsletter, ada)
    assert found(ada).result == {"skipped": "unsubscribed"}
    assert server.accepted == []


def test_a_newsletter_whose_row_is_gone_is_a_dead_letter(server: SmtpServer) -> None:
    job_id = accept()[0]
    with transaction() as connection:
        connection.execute(Newsletter.__table__.delete())  # type: ignore[attr-defined]  # a Table, typed as FromClause
    run_job(send_newsletter, job_id)
    assert (found(job_id).state, found(job_id).error_code) == ("dead", "delivery_gone")


def test_nothing_but_ids_is_in_the_jobs(server: SmtpServer) -> None:
    accept()
    with reading() as session:
        payloads = session.scalars(select(Job.payload)).all()
    assert all(re.fullmatch(r"\{'delivery_id': '[0-9a-f-]{36}'\}", str(payload)) for payload in payloads)
    assert get_settings().rate_email_bulk == send_newsletter.limit.rate if send_newsletter.limit else False

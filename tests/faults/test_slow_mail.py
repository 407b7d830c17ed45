"""A newsletter on a slow mail server: its message has its process for a turn, and is called off within a mail or two."""

import signal
from collections.abc import Callable, Iterator

import pytest

from app.intake.newsletters import Issue, submit_newsletter
from app.intake.recipients import from_list
from db import ledger
from db.engine import transaction
from tests.support.ledger import attempts_of, job_row
from tests.support.processes import eventually
from tests.support.smtp import Answer, SmtpServer
from tests.support.stack import Stack, on_both_stacks

RECIPIENTS = 30
# Thirty of them take longer than a turn (5 s) and than a drain (20 s).
MAIL_S = 0.8


@pytest.fixture
def server(stack: Stack, valkey: str, configure: Callable[..., object]) -> Iterator[SmtpServer]:
    """Takes every mail, slowly."""
    with SmtpServer() as running:
        running.always("data", Answer(stall=MAIL_S))
        configure(SMTP_URL=running.url, RATE_EMAIL_BULK="100000/s", REDIS_URL=valkey)
        yield running


def send_newsletter() -> list[str]:
    people = [{"email": f"reader{number}@example.test", "name": ""} for number in range(RECIPIENTS)]
    issue = Issue(subject="March", html="<p>Hello</p>", text="Hello")
    return [
        job.id for job in submit_newsletter(issue, from_list(people, name="list"), created_by="token:1").jobs
    ]


def never_claimed(job_id: str) -> bool:
    row = job_row(job_id)
    return (row.state, row.attempts, row.losses) == ("queued", 0, 0) and not attempts_of(job_id)


def settled(ids: list[str]) -> list[str]:
    return [job_id for job_id in ids if job_row(job_id).state == "succeeded"]


@on_both_stacks
def test_another_job_of_the_same_process_need_not_wait_for_all_mails(
    stack: Stack, server: SmtpServer
) -> None:
    with stack.running(queues="default,email_bulk"):
        ids = send_newsletter()
        eventually(lambda: server.accepted, within=30)
        stack.ended(stack.send())
        assert len(settled(ids)) < RECIPIENTS


@on_both_stacks
def test_a_pause_in_the_middle_of_a_message_leaves_the_rest_as_if_never_claimed(
    stack: Stack, server: SmtpServer
) -> None:
    with stack.running(queues="email_bulk") as its_worker:
        ids = send_newsletter()
        eventually(lambda: server.accepted, within=30)
        with transaction() as connection:
            ledger.pause(connection, "email_bulk", actor="cli:ada")
        its_worker.printed("bulk.ended")
        sent = settled(ids)
        assert 0 < len(sent) < RECIPIENTS
        assert all(never_claimed(job_id) for job_id in ids if job_id not in sent)
        assert len(server.accepted) == len(sent)


@on_both_stacks
def test_a_worker_told_to_stop_ends_after_the_mail_under_way(stack: Stack, server: SmtpServer) -> None:
    with stack.running(queues="email_bulk") as its_worker:
        ids = send_newsletter()
        eventually(lambda: server.accepted, within=30)
        its_worker.send(signal.SIGTERM)
        assert its_worker.ended() == 0
        sent = settled(ids)
        # A whole turn would have sent more.
        assert 0 < len(sent) < 6
        assert all(never_claimed(job_id) for job_id in ids if job_id not in sent)

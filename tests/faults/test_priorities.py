"""High goes before low on every broker, and one person's mail before a newsletter."""

from collections.abc import Callable, Iterator

import pytest

from app.intake.emails import mailbox, send_template
from app.intake.newsletters import Issue, submit_newsletter
from app.intake.recipients import from_list
from config.queues import Priority
from tasks.engine import unit_of_work
from tests.support.jobs import Script, lines, scripted
from tests.support.ledger import job_row
from tests.support.processes import eventually, worker
from tests.support.smtp import SmtpServer
from tests.support.stack import Stack, on_both_stacks

RECIPIENTS = 10_000
# As many mails as one message of the newsletter carries.
BUNDLE = 100


@pytest.fixture
def mail_server(configure: Callable[..., object], stack: Stack, valkey: str) -> Iterator[SmtpServer]:
    """It takes everything, and no limit slows the newsletter down."""
    with SmtpServer() as running:
        configure(SMTP_URL=running.url, REDIS_URL=valkey, RATE_EMAIL_BULK="100000/s", LEASE_SECONDS=30)
        yield running


def send(stack: Stack, priority: Priority, *, act: str = "succeed") -> str:
    with unit_of_work() as work:
        script = Script(record=str(stack.record), act=act, seconds=0.05)
        return work.enqueue(scripted, script, priority=priority).id


@on_both_stacks
def test_what_waits_is_started_by_priority_and_then_in_order(stack: Stack) -> None:
    sent: dict[Priority, list[str]] = {priority: [] for priority in Priority}
    for _ in range(20):
        for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH):
            sent[priority].append(send(stack, priority))
    assert all(job_row(job_id).published_at for ids in sent.values() for job_id in ids)
    with worker(stack.folder):
        eventually(lambda: len(lines(stack.record, "start")) == 60)
    in_order = [*sent[Priority.HIGH], *sent[Priority.NORMAL], *sent[Priority.LOW]]
    assert lines(stack.record, "start") == in_order


@on_both_stacks
def test_a_worker_that_is_busy_with_low_takes_the_high_one_next(stack: Stack) -> None:
    for _ in range(50):
        send(stack, Priority.LOW, act="doze")
    with worker(stack.folder):
        eventually(lambda: lines(stack.record, "start"))
        urgent = send(stack, Priority.HIGH)
        before = len(lines(stack.record, "start"))
        eventually(lambda: urgent in lines(stack.record, "start"))
    # The one under way, and at most one that the worker has been given meanwhile.
    assert lines(stack.record, "start").index(urgent) <= before + 2


@on_both_stacks
def test_a_password_reset_overtakes_ten_thousand_newsletter_mails(
    stack: Stack, mail_server: SmtpServer
) -> None:
    people = [{"email": f"reader{number}@example.test", "name": ""} for number in range(RECIPIENTS)]
    issue = Issue(subject="News", html="<p>News</p>", text="News")
    context = {"name": "Ada", "reset_url": "https://example.test/r"}
    with stack.running(queues="email,default,dead_letter,email_bulk"):
        submit_newsletter(issue, from_list(people, name="list"), created_by="token:1")
        eventually(lambda: len(mail_server.accepted) > 2 * BUNDLE, within=60)
        reset = send_template(
            template="password_reset", to=mailbox("ada@example.test"), context=context, created_by="token:1"
        )
        job_id = reset.jobs[0].id
        # If the broker was slow to take it, the relay has published it.
        eventually(lambda: job_row(job_id).published_at or job_row(job_id).state != "queued")
        before = len(mail_server.accepted)
        stack.ended(job_id)
        receivers = [mail.recipients for mail in mail_server.accepted]
    # After the bundle under way.
    assert receivers.index(("ada@example.test",)) <= before + BUNDLE
    assert before + BUNDLE < RECIPIENTS / 2

"""A newsletter whose workers are killed again and again, against a mail server that remembers every mail.

Variables make it as large as wanted, and --junitxml takes its figures down:

    CAMPAIGN_RECIPIENTS=10000 CAMPAIGN_KILLS=20 \\
        pytest tests/faults/test_campaigns.py -o junit_family=xunit1 --junitxml=figures.xml
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Row, select

from app.intake.newsletters import Issue, submit_newsletter
from app.intake.recipients import from_list
from db import ledger
from db.engine import reading, transaction
from db.ledger.tables import jobs
from db.models.jobs import FINAL
from tests.support.jobs import Script, lines, scripted
from tests.support.ledger import letters
from tests.support.processes import eventually, relay, worker
from tests.support.smtp import Answer, SmtpServer
from tests.support.stack import Stack, on_both_stacks

RECIPIENTS = int(os.environ.get("CAMPAIGN_RECIPIENTS", "300"))
KILLS = int(os.environ.get("CAMPAIGN_KILLS", "4"))
PROCESSES = 2
# A mail takes so long that every kill falls into the sending of some.
MAIL_S = 0.02
# All of them one after the other, and the messages that died with a worker, which the relay misses in its second look.
PATIENCE_S = 60 + RECIPIENTS * MAIL_S * 2


@pytest.fixture
def server(stack: Stack, valkey: str, configure: Callable[..., object]) -> Iterator[SmtpServer]:
    """Takes every mail, at its own pace, half of it before and half of it after the mail is its own."""
    with SmtpServer() as running:
        running.always("data", Answer(stall=MAIL_S / 2))
        running.always("content", Answer(stall=MAIL_S / 2))
        configure(SMTP_URL=running.url, RATE_EMAIL_BULK="100000/s", REDIS_URL=valkey)
        yield running


def address(number: int) -> str:
    return f"reader{number}@example.test"


def accept(stack: Stack) -> str:
    """A newsletter to all of them, and a job that follows when each mail is settled; returns the batch's id."""
    people = [{"email": address(number), "name": ""} for number in range(RECIPIENTS)]
    issue = Issue(subject="March", html="<p>Hello</p>", text="Hello")
    batch_id = submit_newsletter(issue, from_list(people, name="list"), created_by="token:1").jobs[0].batch_id
    assert batch_id is not None
    payload = Script(record=str(stack.record))
    then = ledger.NewJob(scripted.name, "default", payload.dump(), payload.version, created_by="token:1")
    with transaction() as connection:
        ledger.await_batch(connection, batch_id, then)
    return batch_id


def all_settled(batch_id: str) -> bool:
    with reading() as session:
        counts = ledger.tally(session.connection(), batch_id)
    return sum(counts[state] for state in FINAL) == RECIPIENTS


def members(batch_id: str) -> list[Row[Any]]:
    """The jobs, in the order of their recipients."""
    with reading() as session:
        return list(
            session.execute(select(jobs).where(jobs.c.batch_id == batch_id).order_by(jobs.c.position))
        )


@pytest.mark.timeout((KILLS + 2) * 2 * PATIENCE_S)
@on_both_stacks
def test_a_campaign_whose_workers_are_killed_sends_nobody_two_mails_and_settles_every_job(
    stack: Stack, server: SmtpServer, record_property: Callable[[str, object], None]
) -> None:
    batch_id = accept(stack)
    begun_at = time.monotonic()

    def sent(share: float) -> bool:
        return len(server.accepted) >= RECIPIENTS * share

    start_worker = partial(
        worker, stack.folder, queues="default,dead_letter,email_bulk", concurrency=PROCESSES
    )
    with relay(stack.folder):
        for number in range(KILLS):
            # Killed with its children when the block ends.
            with start_worker(name=f"worker{number}"):
                eventually(partial(sent, (number + 1) / (KILLS + 2)), within=PATIENCE_S)
        with start_worker(name="last"):
            eventually(partial(all_settled, batch_id), within=PATIENCE_S, saying=server.accepted.__len__)
            eventually(lambda: lines(stack.record, "effect"))
    took_s = time.monotonic() - begun_at

    mails = Counter(recipient for mail in server.accepted for recipient in mail.recipients)
    ended = members(batch_id)
    unsent = [job for job in ended if job.state != "succeeded"]
    record_property("workers killed", KILLS)
    record_property("mails", mails.total())
    record_property("outcome_unknown", len(unsent))
    record_property("of these with a mail", sum(mails[address(job.position)] for job in unsent))
    record_property("starts", sum(job.attempts for job in ended))
    record_property("seconds", round(took_s))

    assert max(mails.values()) == 1
    assert [
        job.position for job in ended if job.state == "succeeded" and not mails[address(job.position)]
    ] == []
    # What a kill can leave in doubt is the one mail that each process had under way.
    assert {(job.state, job.error_code) for job in unsent} <= {("dead", "outcome_unknown")}
    assert len(unsent) <= KILLS * PROCESSES
    assert {letter.job_id for letter in letters(reason="outcome_unknown")} == {job.id for job in unsent}
    assert len(lines(stack.record, "effect")) == 1

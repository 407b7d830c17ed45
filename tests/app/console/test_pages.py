"""What the console shows."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import event

from app.reading.jobs import all_jobs
from config.queues import Queue
from db import ledger
from db.engine import reading_engine, transaction
from db.models.jobs import State
from tests.support.console import Console
from tests.support.databases import on_both_databases
from tests.support.ledger import A_FAILURE, add_job, pass_time, start_job
from tests.support.ledger import letters as letter_rows

Letters = Callable[..., list[tuple[str, str]]]


def test_an_empty_ledger_says_so_on_every_page(console: Console) -> None:
    for path, words in (
        ("/console", "No start has failed."),
        ("/console/jobs", "No jobs yet"),
        ("/console/dead-letters", "No open dead letters"),
        ("/console/dead-letters?state=resolved", "Nothing resolved so far"),
        ("/console/dead-letters?fingerprint=0123456789abcdef", "None of this kind is open"),
        ("/console/audit", "Nothing so far"),
    ):
        assert words in console.get(path).text


@on_both_databases
def test_the_overview_counts_queues_failures_and_letters(console: Console, letters: Letters) -> None:
    letters(2)
    add_job()
    page = console.get("/console").text
    assert re.search(r"Open dead letters</dt><dd><a [^>]+>2</a>", page)
    row = re.search(r'queue=default">default</a></td>\s*<td class="number">1</td>', page)
    assert row is not None
    assert "Broker</strong> <span>cannot be reached" in page
    assert "nothing is overdue" in page


def test_the_overview_tells_when_no_relay_works(console: Console) -> None:
    pass_time(add_job())
    assert "no relay seems to run" in console.get("/console").text


@on_both_databases
def test_a_job_is_shown_with_attempts_keys_and_letters(console: Console) -> None:
    start = start_job()
    with transaction() as connection:
        ledger.begin_effect(connection, start, "email:1")
        ledger.record_receipt(connection, "email:1", {"code": 250})
        ledger.park(connection, start, A_FAILURE, delay=timedelta(minutes=5))
    page = console.get(f"/console/jobs/{start.job_id}").text
    for part in ("mailer_unavailable", "email:1", "Done", "250", "trace", "Cancel this job"):
        assert part in page


def test_a_receipt_is_shown_as_it_was_written(console: Console) -> None:
    start = start_job()
    with transaction() as connection:
        ledger.begin_effect(connection, start, "email:1")
        ledger.record_receipt(connection, "email:1", {"message_id": "<1@localhost>", "code": 250})
    page = console.get(f"/console/jobs/{start.job_id}").text
    assert "<dt>Message id</dt><dd>&lt;1@localhost&gt;</dd>" in page
    assert "<dt>Code</dt><dd>250</dd>" in page


def test_a_batch_leads_to_its_jobs(console: Console) -> None:
    for _ in range(2):
        console.act("/contact", sample="1")
    jobs = re.findall(r'/console/jobs/([0-9a-f-]{36})"', console.get("/console/jobs").text)
    leads = re.search(r'href="(/console/jobs\?batch=[^"]+)"', console.get(f"/console/jobs/{jobs[0]}").text)
    assert leads is not None
    listed = console.get(leads[1]).text
    assert re.findall(r'/console/jobs/([0-9a-f-]{36})"', listed) == jobs[:2]
    assert "Only those of the batch" in listed


@on_both_databases
def test_jobs_are_filtered_and_turned_page_by_page(console: Console) -> None:
    ids = [add_job() for _ in range(53)]
    add_job(queue="email", type="emails.send_email")
    first = console.get("/console/jobs?queue=default&type=tests.scripted&state=queued").text
    older = re.search(r'href="([^"]+)" rel="next"', first)
    assert older is not None
    second = console.get(older[1].replace("&amp;", "&")).text
    shown = re.findall(r'/console/jobs/([0-9a-f-]{36})"', first + second)
    assert shown == ids[::-1]
    assert "emails.send_email</a>" not in first.replace("<wbr>", "")


def test_an_id_leads_to_its_job(console: Console) -> None:
    job_id = add_job()
    assert console.get(f"/console/jobs?id=+{job_id}+").location == f"/console/jobs/{job_id}"
    assert "not the id of a job" in console.get("/console/jobs?id=abc").text


@pytest.mark.parametrize("query", ["state=x", "type=x", "queue=x", "before=x", "before=", "state="])
def test_a_filter_that_is_none_is_left_aside(console: Console, query: str) -> None:
    job_id = add_job()
    assert job_id in console.get(f"/console/jobs?{query}").text


@pytest.mark.parametrize("path", ["jobs", "dead-letters"])
def test_what_there_is_not_is_not_found(console: Console, path: str) -> None:
    for id_ in ("x", "01890000-0000-7000-8000-000000000000"):
        assert console.get(f"/console/{path}/{id_}").status_code == 404


@on_both_databases
def test_letters_are_grouped_by_kind_with_a_count(console: Console, letters: Letters) -> None:
    letters(3)
    letters(1, reason="bug")
    page = console.get("/console/dead-letters").text
    counts = re.findall(r'class="number count">(\d+)<', page)
    assert sorted(counts) == ["1", "3"]
    kinds = set(re.findall(r"fingerprint=([0-9a-f]{16})", page))
    assert kinds == {row.fingerprint for row in letter_rows()}


def test_a_kind_is_turned_page_by_page(console: Console, letters: Letters) -> None:
    made = [letter_id for _, letter_id in letters(52)]
    fingerprint = letter_rows()[0].fingerprint
    first = console.get(f"/console/dead-letters?fingerprint={fingerprint}").text
    older = re.search(r'href="([^"]+)" rel="next"', first)
    assert older is not None
    second = console.get(older[1].replace("&amp;", "&")).text
    assert re.findall(r'/console/dead-letters/([0-9a-f-]{36})"', first + second) == made[::-1]


def test_the_audit_log_is_newest_first(console: Console, letters: Letters) -> None:
    for number, (_, letter_id) in enumerate(letters(2)):
        console.act(f"/console/dead-letters/{letter_id}/replay", reason=f"reason {number}")
    page = console.get("/console/audit").text
    assert page.index("reason 1") < page.index("reason 0")
    assert "console:operator" in page


def test_what_people_typed_is_shown_and_not_interpreted(console: Console, letters: Letters) -> None:
    [(_, letter_id)] = letters()
    console.act(f"/console/dead-letters/{letter_id}/discard", discard_reason="<script>alert(1)</script>")
    for path in (f"/console/dead-letters/{letter_id}", "/console/audit"):
        page = console.get(path).text
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert" in page


def test_no_filter_reads_the_whole_table(console: Console) -> None:
    """Only those that many jobs fit, which are there soon, walk from the newest on: SQLite tells how it would search."""
    seen: list[str] = []
    for state in (None, *State):
        for queue in (None, *Queue):
            for type_ in (None, "emails.send_email"):
                if type_ is None and state in (None, State.SUCCEEDED):
                    continue
                seen += [f"{state} {queue} {type_}: {plan}" for plan in plans(state, queue, type_)]
    unindexed = [line for line in seen if "SCAN jobs" in line]
    assert unindexed == []


@pytest.mark.parametrize("state", [None, State.SUCCEEDED])
@pytest.mark.parametrize("queue", [None, Queue.EMAIL])
def test_what_is_walked_from_the_newest_on_is_not_sorted(
    console: Console, state: str | None, queue: str | None
) -> None:
    assert [plan for plan in plans(state, queue, None) if "TEMP B-TREE" in plan] == []


@on_both_databases
def test_a_queues_jobs_are_listed_whatever_queue_their_type_is_declared_for(console: Console) -> None:
    moved = add_job(queue="email_bulk", type="emails.send_email")
    add_job(queue="email", type="emails.send_email")
    page = console.get("/console/jobs?queue=email_bulk").text
    assert re.findall(r'/console/jobs/([0-9a-f-]{36})"', page) == [moved]


@on_both_databases
def test_canaries_are_listed_only_where_their_type_is_asked_for(console: Console) -> None:
    canary = add_job(queue="email_bulk", type="canary.sing", payload={"queue": "email_bulk"})
    job_id = add_job(queue="email_bulk")
    for query in ("", "?queue=email_bulk", "?state=queued"):
        page = console.get(f"/console/jobs{query}").text
        assert re.findall(r'/console/jobs/([0-9a-f-]{36})"', page) == [job_id]
        assert "Canaries are left out." in page
    page = console.get("/console/jobs?type=canary.sing&queue=email_bulk").text
    assert re.findall(r'/console/jobs/([0-9a-f-]{36})"', page) == [canary]
    assert "Canaries are left out." not in page


def test_canaries_do_not_count_as_submitted(console: Console) -> None:
    add_job(type="canary.sing", payload={"queue": "default"})
    add_job()
    assert "Submitted, last hour</dt><dd>1</dd>" in console.get("/console").text


def plans(state: str | None, queue: str | None, type_: str | None) -> list[str]:
    """How SQLite would find them."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        asked.append((statement, parameters))

    engine = reading_engine()
    event.listen(engine, "before_cursor_execute", note)
    all_jobs(state=state, queue=queue, type_=type_)
    event.remove(engine, "before_cursor_execute", note)
    statement, parameters = next(found for found in asked if "FROM jobs" in found[0])
    with engine.connect() as connection:
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        return [row[3] for row in rows]

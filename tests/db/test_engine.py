"""Engines: not shared over a fork, two kinds of commit, and SQLite under many writers."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from db import ledger
from db.engine import autocommit, dispose, get_engine, reading, reading_engine, transaction
from db.models import Job
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job, at_once
from tests.support.processes import in_a_fork

ROOT = Path(__file__).resolve().parents[2]


@on_both_databases
def test_a_fork_builds_its_own_connections_and_leaves_the_parents_alone(database: str) -> None:
    with autocommit() as connection:
        connection.execute(text("SELECT 1"))
        before = get_engine()
        backend = _backend(connection) if connection.dialect.name == "postgresql" else None

        def act() -> bool:
            add_job()
            with autocommit() as own:
                mine = _backend(own) if own.dialect.name == "postgresql" else 1
            return get_engine() is not before and mine != backend

        assert in_a_fork(act) == 0
        assert connection.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 1


@on_both_databases
def test_an_error_rolls_back(database: str) -> None:
    def insert_and_fail() -> None:
        with transaction() as connection:
            ledger.open_batch(connection, kind="documents", total=1, created_by="token:1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        insert_and_fail()
    with autocommit() as connection:
        assert connection.execute(text("SELECT count(*) FROM batches")).scalar_one() == 0


def test_threads_that_come_at_once_share_one_engine(database: str) -> None:
    for _ in range(20):
        dispose()
        assert len({id(engine) for engine in at_once(lambda _: get_engine(), times=8)}) == 1


@on_both_databases
def test_engines_are_built_anew_after_they_were_disposed_of(database: str) -> None:
    before = get_engine()
    dispose()
    assert get_engine() is not before
    add_job()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("durable", [True, False])
def test_only_relaxed_commits_do_not_wait_for_the_disk(database: str, durable: bool) -> None:
    with autocommit(durable=durable) as connection:
        waits = connection.execute(text("SHOW synchronous_commit")).scalar_one()
    assert waits == ("on" if durable else "off")


@pytest.mark.parametrize("durable", [True, False])
def test_sqlite_syncs_each_durable_commit(database: str, durable: bool) -> None:
    with autocommit(durable=durable) as connection:
        level = connection.execute(text("PRAGMA synchronous")).scalar_one()
        assert connection.execute(text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar_one() == 1
    assert level == (2 if durable else 1)


def test_reading_takes_no_write_lock_on_sqlite(database: str) -> None:
    with transaction() as writer, reading() as session:
        writer.execute(text("UPDATE jobs SET priority = 'low'"))
        assert session.scalars(select(Job)).all() == []


def test_a_sqlite_transaction_that_reads_first_may_still_write_after_another_writer(database: str) -> None:
    # With the driver's deferred BEGIN one of the two fails at once, whatever the timeout.
    job_id = add_job()
    entered = threading.Event()

    def write() -> None:
        entered.set()
        with transaction() as connection:
            connection.execute(text("UPDATE jobs SET attempts = attempts + 1"))

    other = threading.Thread(target=write)
    with transaction() as connection:
        connection.execute(text("SELECT attempts FROM jobs")).all()
        other.start()
        entered.wait()
        connection.execute(text("UPDATE jobs SET attempts = attempts + 1"))
    other.join()
    with autocommit() as connection:
        assert connection.execute(select(Job.attempts).where(Job.id == job_id)).scalar_one() == 2


WRITER = """
import sys
from datetime import timedelta
from db import ledger
from db.engine import autocommit, transaction
new = ledger.NewJob("t", "default", {}, 1, created_by="t")
for number in range(int(sys.argv[1])):
    with autocommit(durable=False) as connection:
        (job_id,) = ledger.enqueue(connection, [new])
    with autocommit(durable=False) as connection:
        start = ledger.claim(connection, job_id, worker="w", lease=timedelta(seconds=30))
    with autocommit() as connection:
        ledger.finish(connection, start, None)
"""


def test_eight_processes_write_to_sqlite_beside_a_long_reader_and_none_finds_it_locked(database: str) -> None:
    writes = 25
    with reading_engine().connect() as reader:
        reader.exec_driver_sql("BEGIN")
        assert reader.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, str(writes)],
                cwd=ROOT,
                env=dict(os.environ),
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(8)
        ]
        for process in processes:
            _, errors = process.communicate(timeout=90)
            assert process.returncode == 0, errors
        # The reader still sees the moment at which it began.
        assert reader.execute(text("SELECT count(*) FROM jobs")).scalar_one() == 0
        reader.exec_driver_sql("ROLLBACK")
    with autocommit() as connection:
        query = text("SELECT count(*) FROM jobs WHERE state = 'succeeded'")
        assert connection.execute(query).scalar_one() == 8 * writes


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_pooled_connection_that_the_server_closed_is_replaced_before_it_is_used(database: str) -> None:
    with get_engine().connect() as connection:
        backend = _backend(connection)
    with get_engine().connect() as idle, get_engine().connect() as killer:
        idle.rollback()
        killer.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = :pid"), {"pid": backend}
        )
    add_job()


def test_a_database_that_is_not_there_is_refused_quickly(configure: Callable[..., object]) -> None:
    configure(DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(OperationalError), transaction():
        pass


def _backend(connection: object) -> int:
    return int(connection.execute(text("SELECT pg_backend_pid()")).scalar_one())  # type: ignore[attr-defined]

"""A worker's connections: kept at hand, and given up when a statement was interrupted."""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

from db.engine import autocommit, build_engine, get_engine, keep_connections, transaction
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job
from tests.support.processes import in_a_fork


class Interrupted(Exception):
    """What a signal's handler raises in the middle of a statement, as Celery does at a soft time limit."""


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("begin", [autocommit, transaction])
def test_a_statement_that_was_interrupted_spoils_none_of_those_that_follow(
    database: str, begin: Callable[[], AbstractContextManager[Connection]]
) -> None:
    def interrupt(*_signal: object) -> None:
        raise Interrupted

    def ask() -> None:
        with begin() as connection:
            connection.execute(text("SELECT 1"))
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            connection.execute(text("SELECT pg_sleep(30)"))

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(Interrupted):
            ask()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for answer in (1, 2, 3):
        with begin() as connection:
            assert connection.execute(text(f"SELECT {answer}")).scalar_one() == answer


def test_a_statement_that_was_interrupted_leaves_no_lock_on_sqlite(database: str) -> None:
    add_job()
    locked = threading.Event()

    def hold() -> None:
        with transaction():
            locked.set()
            time.sleep(0.3)
            # By now the other one waits for the lock. Python sees the signal when SQLite has answered.
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGALRM)

    def interrupt(*_signal: object) -> None:
        raise Interrupted

    def claim() -> None:
        with autocommit() as connection:
            connection.execute(text("UPDATE jobs SET attempts = 1 RETURNING id")).all()

    other = threading.Thread(target=hold)
    before = signal.signal(signal.SIGALRM, interrupt)

    def wait_in_line() -> None:
        other.start()
        locked.wait()
        claim()
        other.join()

    try:
        # The error and with it the interrupted frames are kept, as by a worker that is judging it.
        with pytest.raises(Interrupted) as kept:
            wait_in_line()
    finally:
        other.join()
        signal.signal(signal.SIGALRM, before)
    engine = build_engine(database, hurried=True)
    with engine.begin() as connection:
        connection.execute(text("UPDATE jobs SET attempts = 2"))
    engine.dispose()
    assert kept.value.__traceback__ is not None


@on_both_databases
def test_a_kept_connection_is_never_given_out_twice_at_once(database: str) -> None:
    keep_connections()
    with autocommit() as first:
        pass
    with autocommit() as again, autocommit() as beside:
        assert again is first
        assert beside is not first


@on_both_databases
def test_a_kept_connection_that_failed_is_not_used_again(database: str) -> None:
    keep_connections()
    with pytest.raises(ZeroDivisionError), autocommit() as failed:
        raise ZeroDivisionError
    with autocommit() as next_one:
        assert next_one is not failed
        assert next_one.execute(text("SELECT 1")).scalar_one() == 1


@on_both_databases
def test_a_fork_inherits_no_kept_connection(database: str) -> None:
    keep_connections()
    with autocommit() as kept:
        kept.execute(text("SELECT 1"))

    def act() -> bool:
        with autocommit() as own:
            return own is not kept and own.execute(text("SELECT 1")).scalar_one() == 1

    assert in_a_fork(act) == 0
    with autocommit() as still:
        assert still is kept
        assert still.execute(text("SELECT 1")).scalar_one() == 1


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_kept_connection_that_the_server_closed_costs_one_statement(database: str) -> None:
    keep_connections()
    with autocommit() as kept:
        backend = kept.execute(text("SELECT pg_backend_pid()")).scalar_one()
    with get_engine().connect() as killer:
        killer.execute(text("SELECT pg_terminate_backend(:pid, 5000)"), {"pid": backend})
    with pytest.raises(OperationalError):
        _answer()
    assert _answer() == 1


def _answer() -> int:
    with autocommit() as connection:
        return int(connection.execute(text("SELECT 1")).scalar_one())

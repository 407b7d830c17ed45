"""What is removed, and what stays."""

from datetime import UTC, datetime, timedelta
from io import BytesIO

import pytest
from sqlalchemy import func, select, update

from db import ledger
from db.engine import reading, transaction
from db.models import Base, DeadLetter, IdempotencyKey, Job, StoredFile
from services.errors import Permanent
from services.retention import remove_expired
from services.storage import FileGone, storage
from tests.support.databases import on_both_databases
from tests.support.ledger import add_job

LONG_AGO = datetime.now(UTC) - timedelta(days=400)


def count(model: type[Base]) -> int:
    with reading() as session:
        return session.scalar(select(func.count()).select_from(model)) or 0


def age(model: type[Base], **columns: object) -> None:
    with transaction() as connection:
        connection.execute(update(model).values(**columns))


def nothing() -> None:
    """No job to cancel."""


@on_both_databases
def test_a_job_that_finished_long_ago_is_removed(database: str) -> None:
    add_job()
    age(Job, state="succeeded", due_at=None, finished_at=LONG_AGO)
    assert remove_expired(nothing)["jobs"] == 1
    assert count(Job) == 0


@on_both_databases
def test_an_unfinished_job_stays_however_old(database: str) -> None:
    add_job()
    age(Job, created_at=LONG_AGO, due_at=LONG_AGO)
    remove_expired(nothing)
    assert count(Job) == 1


@on_both_databases
def test_a_job_whose_dead_letter_is_open_stays(database: str) -> None:
    job_id = add_job()
    age(Job, state="dead", due_at=None, finished_at=LONG_AGO, error_code="permanent")
    letter = ledger.Letter(job_id, "t", "default", "o", reason="permanent", code="c", message="m")
    with transaction() as connection:
        letter_id = ledger.open_letter(connection, letter)
    remove_expired(nothing)
    assert count(Job) == 1
    with transaction() as connection:
        ledger.discard(connection, letter_id, actor="test", note="done")
    remove_expired(nothing)
    assert (count(Job), count(DeadLetter)) == (0, 0)


@on_both_databases
def test_expired_keys_go_and_lasting_ones_stay(database: str) -> None:
    with transaction() as connection:
        ledger.take_once(connection, "old", lifetime=timedelta(seconds=-1))
        ledger.take_once(connection, "new", lifetime=timedelta(hours=1))
    assert remove_expired(nothing)["keys"] == 1
    assert count(IdempotencyKey) == 1


def test_an_old_file_is_removed_with_its_row(database: str) -> None:
    stored = storage().save(BytesIO(b"x"), suffix="txt")
    with transaction() as connection:
        connection.execute(
            StoredFile.__table__.insert().values(  # type: ignore[attr-defined]  # a Table
                storage_key=stored.key,
                name="a.txt",
                media_type="text/plain",
                size=1,
                sha256="0" * 64,
                created_by="t",
            )
        )
    age(StoredFile, created_at=LONG_AGO)
    assert remove_expired(nothing)["files"] == 1
    assert count(StoredFile) == 0
    with pytest.raises(FileGone):
        storage().open(stored.key)


def test_a_cancelled_tidying_stops_between_chunks(database: str) -> None:
    for _ in range(501):
        add_job()
    age(Job, state="succeeded", due_at=None, finished_at=LONG_AGO)

    def cancelled() -> None:
        raise Permanent("cancelled")

    with pytest.raises(Permanent):
        remove_expired(cancelled)
    assert count(Job) == 1

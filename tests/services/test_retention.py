"""What is removed, and what stays."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path

import pytest
from fsspec.core import url_to_fs
from sqlalchemy import func, select, update

from config.settings import get_settings
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


def write(key: str) -> None:
    """A file as a process left it that was killed before its row was committed."""
    files, root = url_to_fs(get_settings().storage_url)
    files.makedirs(f"{root}/{key[:2]}", exist_ok=True)
    files.pipe_file(f"{root}/{key}", b"x")


def stored_keys() -> list[str]:
    """Of all files there are."""
    files, root = url_to_fs(get_settings().storage_url)
    return sorted(path.rpartition("/files/")[2] for path in files.find(root))


def add_row(key: str) -> None:
    with transaction() as connection:
        connection.execute(
            StoredFile.__table__.insert().values(  # type: ignore[attr-defined]  # a Table
                storage_key=key,
                name="a.txt",
                media_type="text/plain",
                size=1,
                sha256="0" * 64,
                created_by="t",
            )
        )


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
    add_row(stored.key)
    age(StoredFile, created_at=LONG_AGO)
    assert remove_expired(nothing)["files"] == 1
    assert count(StoredFile) == 0
    with pytest.raises(FileGone):
        storage().open(stored.key)


@pytest.mark.parametrize("store", ["a folder", "an object store"])
@on_both_databases
def test_files_without_a_row_are_removed_a_day_later(
    database: str, store: str, configure: Callable[..., object], tmp_path: Path
) -> None:
    configure(STORAGE_URL=tmp_path / "files" if store == "a folder" else f"memory://{tmp_path}/files")
    # The key of a file says when it was stored; these are of 2024.
    with_row, without, half_written = (f"0{n}/018f3c5e-0d4b-7c3a-9b1e-2f6a7c8d9e0{n}.txt" for n in range(3))
    half_written += ".partial"
    for key in (with_row, without, half_written):
        write(key)
    add_row(with_row)
    # Its row may be about to be committed.
    fresh = storage().save(BytesIO(b"x"), suffix="txt").key
    assert remove_expired(nothing)["files_without_row"] == 2
    assert stored_keys() == sorted([with_row, fresh])


def test_what_is_not_ours_in_the_storage_stays(database: str) -> None:
    for name in ("ab/notes.txt", "ab/018f3c5e-0d4b-4c3a-9b1e-2f6a7c8d9eab.txt", "README"):
        write(name)
    assert remove_expired(nothing)["files_without_row"] == 0
    assert len(stored_keys()) == 3


def test_a_storage_that_was_never_written_to_has_nothing_to_remove(database: str) -> None:
    assert remove_expired(nothing)["files_without_row"] == 0


def test_a_cancelled_tidying_stops_between_chunks(database: str) -> None:
    for _ in range(501):
        add_job()
    age(Job, state="succeeded", due_at=None, finished_at=LONG_AGO)

    def cancelled() -> None:
        raise Permanent("cancelled")

    with pytest.raises(Permanent):
        remove_expired(cancelled)
    assert count(Job) == 1

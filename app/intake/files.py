"""Submissions that bring files: stored first, because storage is slow and a transaction must not be."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.intake.submissions import Submission, submit
from app.intake.uploads import Upload, shelve, unshelve
from db.models import StoredFile
from tasks.engine import JobHandle, JobType, UnitOfWork
from tasks.engine.job import P


def submit_files(
    uploads: Sequence[Upload],
    kinds: Sequence[tuple[str, str]],
    enqueue: Callable[[UnitOfWork, list[StoredFile]], list[JobHandle]],
    *,
    job: JobType[P],
    created_by: str,
    key: str | None,
    content: Mapping[str, Any],
) -> Submission:
    """Store the uploads and commit their rows with the jobs. `kinds` are (media type, suffix), one per upload.

    Files are removed again when nothing is accepted, or when an earlier request made the jobs already.
    """
    digests = [[upload.name, upload.sha256] for upload in uploads]
    with shelve(uploads, [suffix for _, suffix in kinds]) as stored:

        def add(work: UnitOfWork) -> list[JobHandle]:
            rows = [
                work.add(
                    StoredFile(
                        storage_key=file.key,
                        name=upload.name,
                        media_type=media_type,
                        size=file.size,
                        sha256=file.sha256,
                        created_by=created_by,
                    )
                )
                for upload, file, (media_type, _) in zip(uploads, stored, kinds, strict=True)
            ]
            return enqueue(work, rows)

        submission = submit(
            add, job=job, created_by=created_by, key=key, content={**content, "files": digests}
        )
        if submission.repeated:
            unshelve(stored)
    return submission

"""Files as jobs use them: the upload a payload names, and what a job made."""

import io

from db.models import StoredFile
from db.types import new_id
from services.errors import Permanent
from services.storage import storage
from tasks.engine import Run


class UploadGone(Permanent):
    """The uploaded file was removed before its job ran."""

    code = "upload_gone"


def load_file(run: Run, file_id: str) -> StoredFile:
    """The row of an uploaded file. Raises UploadGone."""
    file = run.session.get(StoredFile, file_id)
    if file is None:
        raise UploadGone("The uploaded file is no longer stored.")
    return file


def keep(run: Run, data: bytes, *, name: str, media_type: str, suffix: str) -> StoredFile:
    """Store what the job made; its row is committed with the job's success."""
    stored = storage().save(io.BytesIO(data), suffix=suffix)
    return run.add(
        StoredFile(
            id=new_id(),
            storage_key=stored.key,
            name=name[-255:],
            media_type=media_type,
            size=stored.size,
            sha256=stored.sha256,
            job_id=run.job_id,
            created_by=run.created_by,
        )
    )

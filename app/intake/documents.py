"""Documents to be analysed."""

from collections.abc import Sequence
from typing import BinaryIO, cast, get_args

from app.intake.files import submit_files
from app.intake.refusals import Refused
from app.intake.submissions import Submission
from app.intake.uploads import Upload
from db.models import StoredFile
from services.documents import identify as kinds
from services.documents.analyses import AnalysisKind
from services.documents.errors import DocumentTooLarge, DocumentUnreadable
from tasks.documents import DocumentRef, analyse_document
from tasks.engine import JobHandle, UnitOfWork

MOST_AT_ONCE = 100

_SUFFIXES = {
    kinds.PDF: "pdf",
    kinds.DOCX: "docx",
    kinds.RTF: "rtf",
    kinds.HTML: "html",
    kinds.CSV: "csv",
    kinds.MARKDOWN: "md",
    kinds.PLAIN: "txt",
}


def analyse_documents(
    uploads: Sequence[Upload], analysis: str, *, created_by: str, key: str | None = None
) -> Submission:
    """Always a batch, of which the first document goes first.

    Raises Refused for an unknown analysis or when one of the files is no document we read.
    """
    wanted = _analysis(analysis)
    media_types = [
        _identify(upload, "The file" if len(uploads) == 1 else f"File {number}")
        for number, upload in enumerate(uploads, 1)
    ]

    def enqueue(work: UnitOfWork, files: list[StoredFile]) -> list[JobHandle]:
        refs = [DocumentRef(file_id=file.id, analysis=wanted) for file in files]
        return work.enqueue_batch(
            "documents", [(analyse_document, ref) for ref in refs], first_goes_first=True
        )

    return submit_files(
        uploads,
        [(media_type, _SUFFIXES[media_type]) for media_type in media_types],
        enqueue,
        job=analyse_document,
        created_by=created_by,
        key=key,
        content={"kind": "documents", "analysis": wanted},
    )


def _analysis(name: str) -> AnalysisKind:
    known: tuple[AnalysisKind, ...] = get_args(AnalysisKind)
    for kind in known:
        if kind == name:
            return kind
    message = f"Analysis must be one of {', '.join(known)}."
    raise Refused("unknown_analysis", message, field="analysis")


def _identify(upload: Upload, called: str) -> str:
    try:
        return kinds.identify(cast(BinaryIO, upload.stream), upload.name)
    except DocumentUnreadable as error:
        status = 413 if isinstance(error, DocumentTooLarge) else 422
        message = f"{called} cannot be read: {error}."
        raise Refused(error.code, message, status=status, field="files") from None

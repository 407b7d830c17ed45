"""One document, analysed by a model or by the local engine."""

from typing import Any

from sqlalchemy import select

from db.models import Analysis
from services.documents.analyse import analyse
from services.documents.analyses import AnalysisKind
from services.documents.extract import extract
from services.storage import storage
from tasks.engine import Id, Payload, Run, job, unit_of_work
from tasks.files import load_file


class DocumentRef(Payload):
    """The uploaded document and the question."""

    file_id: Id
    analysis: AnalysisKind


@job(
    queue="ai",
    payload=DocumentRef,
    rate_key="anthropic",
    max_retries=6,
    retry_backoff=15,
    retry_backoff_max=1_800,
    # An answer may take 85 s, and a dense document some seconds before it.
    soft_time_limit=120,
    time_limit=150,
    owner="documents",
)
def analyse_document(ref: DocumentRef, run: Run) -> dict[str, Any]:
    """Ask once: an answer is stored the moment it arrives, and a job that runs again finds it."""
    answer = run.session.scalar(select(Analysis).where(Analysis.job_id == run.job_id)) or _ask(ref, run)
    return {
        "analysis": answer.analysis,
        "answer": answer.answer,
        "engine": answer.engine,
        "model": answer.model,
        "tokens": {"input": answer.input_tokens, "output": answer.output_tokens},
        "cost_usd": str(answer.cost_usd),
        "truncated": answer.truncated,
        "note": answer.note,
    }


def _ask(ref: DocumentRef, run: Run) -> Analysis:
    source = load_file(run, ref.file_id)
    with storage().open(source.storage_key) as stream:
        document = extract(stream, source.name)
    # The last moment at which a cancel costs nothing.
    run.checkpoint(30)
    found = analyse(document, ref.analysis)
    with unit_of_work() as work:
        return work.add(
            Analysis(
                job_id=run.job_id,
                file_id=source.id,
                analysis=ref.analysis,
                engine=found.engine,
                model=found.model,
                answer=found.answer,
                input_tokens=found.input_tokens,
                output_tokens=found.output_tokens,
                cost_usd=found.cost_usd,
                truncated=found.truncated,
                note=found.note,
            )
        )

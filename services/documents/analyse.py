"""From text to an answer, by whichever engine is configured."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

from config.settings import get_settings
from services.documents.analyses import AnalysisKind
from services.documents.extract import Document
from services.documents.local import analyse_locally
from services.documents.models import model_named


@dataclass(frozen=True)
class Analysed:
    """One answer, as plain JSON of the kind's schema (`analyses.SCHEMAS`).

    `cost_usd` is 0 for the local engine, and for a model without a known price (the note says so).
    `truncated`: the answer rests on the beginning of the document only. `note` is for people, empty if there is
    nothing to say.
    """

    answer: dict[str, Any]
    engine: Literal["anthropic", "local"]
    model: str
    input_tokens: int
    output_tokens: int
    cost_usd: Decimal
    truncated: bool
    note: str


def analyse(document: Document, kind: AnalysisKind) -> Analysed:
    """Answer with the model when `ANTHROPIC_API_KEY` is set, else on this machine.

    Makes at most one call and stores nothing. Raises ModelBusy, ModelMisconfigured, RequestRefused or
    AnswerUnusable.
    """
    if get_settings().anthropic_api_key is not None:
        return _by_claude(document, kind)
    return _by_local(document, kind)


def _by_claude(document: Document, kind: AnalysisKind) -> Analysed:
    # Half a start's time and 40 MB of every process, which without a key nobody needs.
    from services.documents.claude import claude

    answered = claude().ask(document.text, kind)
    cost = model_named(answered.model).cost(answered.input_tokens, answered.output_tokens)
    truncated = answered.truncated or document.truncated
    return Analysed(
        answer=answered.answer.model_dump(mode="json"),
        engine="anthropic",
        model=answered.model,
        input_tokens=answered.input_tokens,
        output_tokens=answered.output_tokens,
        cost_usd=cost or Decimal(0),
        truncated=truncated,
        note=_note(document, truncated, "" if cost is not None else "No price is known for this model."),
    )


def _by_local(document: Document, kind: AnalysisKind) -> Analysed:
    found = analyse_locally(document.text, kind)
    truncated = found.truncated or document.truncated
    return Analysed(
        answer=found.answer.model_dump(mode="json"),
        engine="local",
        model=found.model,
        input_tokens=0,
        output_tokens=0,
        cost_usd=Decimal(0),
        truncated=truncated,
        note=_note(document, truncated, found.note),
    )


def _note(document: Document, truncated: bool, remark: str) -> str:
    remarks = [remark] if remark else []
    if truncated:
        remarks.append("Only the beginning of the document was read.")
    if document.pages_without_text:
        pages = ", ".join(map(str, document.pages_without_text))
        remarks.append(f"Pages without text, not read: {pages}.")
    return " ".join(remarks)

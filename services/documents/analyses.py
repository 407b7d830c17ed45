"""What each analysis answers: the same shape from every engine, and the schema the model is bound to."""

import json
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from services.documents.reading import tidy

AnalysisKind = Literal["summary", "sentiment", "extraction"]

# A model can write NUL and lone surrogates as JSON escapes; a database cannot store them.
Text = Annotated[str, BeforeValidator(lambda value: tidy(value) if isinstance(value, str) else value)]

# Signs of one currency, and the dollar's: it stands for two dozen, but a text that says no more means the commonest, as
# does the word. ¥ and kr stay as written, for none of theirs is so common.
_ISO_4217 = {
    "€": "EUR",
    "£": "GBP",
    "₹": "INR",
    "$": "USD",
    "US$": "USD",
    "A$": "AUD",
    "AU$": "AUD",
    "C$": "CAD",
    "CA$": "CAD",
    "HK$": "HKD",
    "NZ$": "NZD",
    "R$": "BRL",
    "S$": "SGD",
}


def _currency(written: object) -> object:
    """As ISO 4217 where the sign tells which one it is."""
    return _ISO_4217.get(written.strip().upper(), written) if isinstance(written, str) else written


class Answer(BaseModel):
    """Plain text only, never markup: whoever shows an answer escapes it. Unknown keys are dropped."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Summary(Answer):
    """What the document says, shorter."""

    title: Text | None = Field(description="The document's own title or subject, null if it has none")
    summary: Text = Field(min_length=1, description="Three to six sentences")
    key_points: list[Text] = Field(description="Up to seven facts or decisions, most important first")


class Sentiment(Answer):
    """How the author feels about the subject."""

    label: Literal["positive", "neutral", "negative", "mixed"]
    score: float = Field(ge=-1, le=1, description="From -1 (very negative) to 1 (very positive)")
    reasons: list[Text] = Field(description="Up to five short quotations or observations behind the label")


class Date(Answer):
    """A date as written, and as ISO 8601 (YYYY-MM-DD) where the text gives day, month and year."""

    text: Text
    iso: Text | None = Field(description="YYYY-MM-DD, or null when the text does not give all three")


class Amount(Answer):
    """A sum of money as written, its number with a decimal point, and its currency."""

    text: Text
    value: Text = Field(description="The number with a decimal point and no separators")
    currency: Annotated[Text | None, BeforeValidator(_currency)] = Field(
        description="ISO 4217 code; as written where the sign stands for several currencies, null without one"
    )


class Extraction(Answer):
    """Who, when, how much."""

    people: list[Text]
    organisations: list[Text]
    dates: list[Date]
    amounts: list[Amount]
    emails: list[Text]


SCHEMAS: dict[AnalysisKind, type[Answer]] = {
    "summary": Summary,
    "sentiment": Sentiment,
    "extraction": Extraction,
}


def parse_answer(kind: AnalysisKind, text: str) -> Answer:
    """The model's JSON as an answer of this kind; raises ValueError, without the text, when it does not fit."""
    try:
        # Not pydantic's own parser: it refuses the lone surrogates that `Text` removes.
        return SCHEMAS[kind].model_validate(json.loads(text))
    except (ValidationError, ValueError, RecursionError):
        raise ValueError(f"not an answer of kind {kind}") from None

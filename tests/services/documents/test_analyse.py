"""The engine is chosen by the key; answers carry their price and what people should know about them."""

import json
from collections.abc import Callable
from decimal import Decimal

import pytest

from services.documents.analyse import analyse
from services.documents.analyses import SCHEMAS, Amount, AnalysisKind
from services.documents.claude import claude
from services.documents.errors import ModelMisconfigured
from services.documents.extract import Document
from tests.support.messages_api import MessagesApi, answer

Configure = Callable[..., None]
GOOD = json.dumps({"title": None, "summary": "Short.", "key_points": []})


def document(text: str = "We like it.", *, scans: tuple[int, ...] = (), truncated: bool = False) -> Document:
    return Document("text/plain", text, None, scans, truncated, len(text))


@pytest.fixture
def with_key(configure: Configure, api: MessagesApi) -> None:
    configure(anthropic_api_key="sk-test", anthropic_base_url=api.url, anthropic_model="claude-sonnet-5-5")


@pytest.mark.usefixtures("with_key")
def test_with_a_key_the_model_answers_and_its_price_is_known(api: MessagesApi) -> None:
    api.script(answer(GOOD, input_tokens=1_000_000, output_tokens=100_000))
    analysed = analyse(document(), "summary")
    assert (analysed.engine, analysed.model) == ("anthropic", "claude-sonnet-5-5")
    assert analysed.cost_usd == Decimal(3)
    assert analysed.answer == json.loads(GOOD)
    assert analysed.note == ""


def test_a_model_without_a_known_price_costs_nothing_and_says_so(
    configure: Configure, api: MessagesApi
) -> None:
    configure(anthropic_api_key="sk-test", anthropic_base_url=api.url, anthropic_model="claude-next")
    analysed = analyse(document(), "summary")
    assert analysed.cost_usd == 0
    assert "No price is known" in analysed.note


@pytest.mark.parametrize("kind", ["summary", "sentiment", "extraction"])
def test_without_a_key_this_machine_answers_in_the_same_shape(kind: AnalysisKind) -> None:
    analysed = analyse(document(), kind)
    assert analysed.engine == "local"
    assert analysed.cost_usd == 0
    assert SCHEMAS[kind].model_validate(analysed.answer)
    assert len(analysed.model) <= 80
    json.dumps(analysed.answer)


@pytest.mark.usefixtures("with_key")
def test_pages_without_text_and_cuts_are_told() -> None:
    analysed = analyse(document(scans=(2, 5), truncated=True), "summary")
    assert analysed.truncated
    assert analysed.note == (
        "Only the beginning of the document was read. Pages without text, not read: 2, 5."
    )


def test_asking_for_the_model_without_a_key_is_our_fault() -> None:
    with pytest.raises(ModelMisconfigured):
        claude()


@pytest.mark.usefixtures("with_key")
def test_one_process_keeps_one_client() -> None:
    assert claude() is claude()


@pytest.mark.parametrize(
    ("written", "currency"),
    [("€", "EUR"), ("£", "GBP"), ("$", "USD"), ("CA$", "CAD"), ("CHF", "CHF"), ("¥", "¥"), (None, None)],
)
def test_a_currencys_sign_becomes_its_code_whichever_engine_answers(
    written: str | None, currency: str | None
) -> None:
    assert Amount.model_validate({"text": "5", "value": "5", "currency": written}).currency == currency

"""Payloads: frozen, small, versioned."""

from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from tasks.engine.payload import MAX_PAYLOAD_BYTES, Payload, PayloadInvalid, PayloadTooNew


class Greeting(Payload):
    """Version 2 renamed `who` to `person_id`."""

    version: ClassVar[int] = 2
    person_id: str

    @classmethod
    def upgrade(cls, version: int, data: dict[str, Any]) -> dict[str, Any]:
        """From version 1."""
        return {"person_id": data["who"]}


class Many(Payload):
    ids: list[str]


def test_a_payload_survives_the_ledger() -> None:
    greeting = Greeting(person_id="7")
    assert Greeting.load(2, greeting.dump()) == greeting


def test_an_older_payload_is_upgraded() -> None:
    assert Greeting.load(1, {"who": "7"}) == Greeting(person_id="7")


def test_a_newer_payload_is_not_guessed_at() -> None:
    with pytest.raises(PayloadTooNew):
        Greeting.load(3, {"person_id": "7"})


def test_a_payload_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Greeting(person_id="7").person_id = "8"  # type: ignore[misc]  # that is what is refused


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "person_id"),
        ({"person_id": "7", "address": "someone@secret.test"}, "address"),
        ({"person_id": {"secret": "someone@secret.test"}}, "person_id"),
    ],
)
def test_a_refusal_names_the_field_and_never_its_value(data: dict[str, Any], field: str) -> None:
    with pytest.raises(PayloadInvalid) as refusal:
        Greeting.load(2, data)
    assert field in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("letter", ["x", "ü", "漢"])
def test_a_payload_larger_than_references_are_is_refused_counted_in_bytes(letter: str) -> None:
    # Seven bytes of JSON around the ids, quotes and commas.
    room = MAX_PAYLOAD_BYTES - len('{"ids":[""]}')
    fits = room // len(letter.encode())
    assert Many(ids=[letter * fits]).dump()
    with pytest.raises(PayloadInvalid):
        Many(ids=[letter * (fits + 1)]).dump()

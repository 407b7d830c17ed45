"""/api/v1/dead-letters."""

from collections.abc import Callable

import pytest

from db.engine import reading
from db.models import AuditEntry
from tests.support.databases import on_both_databases
from tests.support.web import Client

Headers = dict[str, str]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}
LETTERS = "/api/v1/dead-letters"


@pytest.fixture
def letter(client: Client, token: Callable[..., Headers], bury: Callable[..., str]) -> Callable[..., str]:
    """Make a dead letter of a mail."""

    def make(reason: str = "permanent") -> str:
        job_id = client.post("/api/v1/emails", json=MAIL, headers=token()).json["job"]["id"]
        return bury(job_id, reason)

    return make


def test_a_token_without_the_scope_is_403(client: Client, token: Callable[..., Headers]) -> None:
    response = client.get(LETTERS, headers=token("submit"))
    assert (response.status_code, response.json["code"]) == (403, "insufficient_scope")
    assert 'scope="operate"' in response.headers["WWW-Authenticate"]


def test_a_token_that_operates_may_not_submit(client: Client, token: Callable[..., Headers]) -> None:
    assert client.post("/api/v1/emails", json=MAIL, headers=token("operate")).status_code == 403


@on_both_databases
def test_a_replayed_job_is_queued_again_with_a_clean_count(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str]
) -> None:
    headers, id_ = token("operate"), letter()
    answer = client.post(f"{LETTERS}/{id_}/replay", headers=headers).json
    assert answer["dead_letter"]["resolution"] == "replayed"
    assert answer["job"]["state"] == "queued"
    again = client.post(f"{LETTERS}/{id_}/replay", headers=headers)
    assert (again.status_code, again.content_type) == (409, "application/problem+json")


@on_both_databases
def test_the_list_shows_open_letters_newest_first_page_by_page(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str]
) -> None:
    headers, ids = token("operate"), [letter() for _ in range(3)]
    client.post(f"{LETTERS}/{ids[0]}/discard", json={"reason": "no"}, headers=headers)

    def listed(query: str) -> list[str]:
        return [
            found["id"] for found in client.get(f"{LETTERS}{query}", headers=headers).json["dead_letters"]
        ]

    assert listed("") == [ids[2], ids[1]]
    assert listed("?limit=1") == [ids[2]]
    assert listed(f"?limit=1&before={ids[2]}") == [ids[1]]
    assert listed("?state=resolved") == [ids[0]]
    assert len(listed("?state=all&type=emails.send_email")) == 3
    assert listed("?type=images.resize_image") == []


@pytest.mark.parametrize("query", ["limit=0", "limit=x", "state=closed", "colour=red"])
def test_a_query_that_does_not_fit_is_422(client: Client, token: Callable[..., Headers], query: str) -> None:
    assert client.get(f"{LETTERS}?{query}", headers=token("operate")).status_code == 422


def test_a_letter_shows_its_traceback_attempts_and_what_can_be_done(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str]
) -> None:
    id_ = letter()
    found = client.get(f"{LETTERS}/{id_}", headers=token("operate")).json
    assert found["traceback"] == "Traceback"
    assert found["attempts"][0]["error"]["code"] == "address_rejected"
    assert set(found["payload"]) == {"delivery_id"}
    assert {"replay", "discard"} < set(found["links"])


def test_discarding_takes_a_reason_which_the_audit_log_keeps(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str]
) -> None:
    headers, id_ = token("operate"), letter()
    assert client.post(f"{LETTERS}/{id_}/discard", headers=headers).status_code == 422
    done = client.post(f"{LETTERS}/{id_}/discard", json={"reason": "left the list"}, headers=headers)
    assert done.json["dead_letter"]["note"] == "left the list"
    with reading() as session:
        (entry,) = session.query(AuditEntry)
    assert (entry.action, entry.target) == ("dead_letter.discarded", id_)
    assert entry.actor.startswith("token:")


@pytest.mark.parametrize(("happened", "state"), [(True, "succeeded"), (False, "queued")])
def test_an_unknown_outcome_is_resolved_and_never_replayed(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str], happened: bool, state: str
) -> None:
    headers, id_ = token("operate"), letter("outcome_unknown")
    assert client.post(f"{LETTERS}/{id_}/replay", headers=headers).status_code == 409
    answer = client.post(f"{LETTERS}/{id_}/resolve", json={"happened": happened}, headers=headers)
    assert (answer.status_code, answer.json["job"]["state"]) == (200, state)


@pytest.mark.parametrize("call", ["", "/replay", "/discard", "/resolve"])
@pytest.mark.parametrize("id_", ["nothing", "00000000-0000-0000-0000-000000000000"])
def test_an_unknown_letter_is_404(client: Client, token: Callable[..., Headers], id_: str, call: str) -> None:
    body = {"/replay": {}, "/discard": {"reason": "x"}, "/resolve": {"happened": True}}.get(call)
    method, headers = ("POST" if call else "GET"), token("operate")
    response = client.open(f"{LETTERS}/{id_}{call}", method=method, json=body, headers=headers)
    assert response.status_code == 404


@pytest.mark.parametrize("text", ["zz", "", "{018f3c5e-0d4b-7c3a-9b1e-2f6a7c8d9e0f}", "1\n"])
def test_a_payload_whose_id_is_none_is_422_and_names_the_field(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str], text: str
) -> None:
    headers, path = token("operate"), f"{LETTERS}/{letter()}/replay"
    response = client.post(path, json={"payload": {"delivery_id": text}}, headers=headers)
    assert response.status_code == 422
    assert [error["field"] for error in response.json["errors"]] == ["payload.delivery_id"]


@on_both_databases
def test_a_nul_character_is_422_wherever_it_stands(
    client: Client, token: Callable[..., Headers], letter: Callable[..., str]
) -> None:
    headers, path = token("operate"), f"{LETTERS}/{letter()}"
    assert client.get(f"{LETTERS}?type=%00", headers=headers).status_code == 422
    for call, body in (
        ("discard", {"reason": "a\0"}),
        ("replay", {"reason": "a\0"}),
        ("resolve", {"happened": True, "reason": "a\0"}),
        ("replay", {"payload": {"delivery_id": "\0"}}),
        ("replay", {"payload": {"\0": "a"}}),
    ):
        assert client.post(f"{path}/{call}", json=body, headers=headers).status_code == 422

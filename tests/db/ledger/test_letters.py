"""Dead letters, what people may do with them, and the log of it."""

from datetime import timedelta

import pytest
from sqlalchemy import Row, delete, select, update
from sqlalchemy.exc import DBAPIError

from db import ledger
from db.engine import transaction
from db.ledger.tables import audit_log
from db.types import new_id
from tests.support.databases import on_both_databases
from tests.support.ledger import bury_job, job_row, key_row, letters, start_job

pytestmark = [on_both_databases, pytest.mark.usefixtures("database")]


def audited() -> list[Row[tuple[object, ...]]]:
    with transaction() as connection:
        return list(connection.execute(select(audit_log).order_by(audit_log.c.id)))


def foreign_letter() -> str:
    with transaction() as connection:
        return ledger.open_letter(
            connection,
            ledger.Letter(None, "(none)", "default", "operators", "foreign_message", "pickled", "A pickle."),
        )


def job_with_unknown_effect() -> tuple[str, str]:
    start = start_job()
    with transaction() as connection:
        ledger.begin_effect(connection, start, "email:1")
        ledger.doubt_effect(connection, start, "email:1")
        letter = ledger.Letter(
            start.job_id,
            start.type,
            "email",
            "support",
            "outcome_unknown",
            "outcome_unknown",
            "Nobody knows.",
        )
        failure = ledger.Failure("failed", "outcome_unknown", "Nobody knows.")
        return start.job_id, ledger.bury(connection, start, failure, letter)


def test_a_replayed_job_starts_with_a_clean_count() -> None:
    job_id, letter_id = bury_job()
    with transaction() as connection:
        assert ledger.replay(connection, letter_id, actor="operator", note="mail is back") == job_id
    row = job_row(job_id)
    assert (row.state, row.failures, row.losses, row.finished_at) == ("queued", 0, 0, None)
    with transaction() as connection:
        assert [due.id for due in ledger.take_overdue(connection, limit=10)] == [job_id]
    (letter,) = letters()
    assert (letter.resolution, letter.resolved_by, letter.note) == ("replayed", "operator", "mail is back")


def test_a_replayed_job_may_die_again_with_a_letter_of_its_own() -> None:
    job_id, letter_id = bury_job()
    with transaction() as connection:
        ledger.replay(connection, letter_id, actor="operator")
    start = start_job(job_id)
    assert start.attempt == 2
    with transaction() as connection:
        failure = ledger.Failure("failed", "again", "Again.")
        letter = ledger.Letter(job_id, start.type, "default", "tests", "permanent", "again", "Again.")
        ledger.bury(connection, start, failure, letter)
    assert [letter.resolution for letter in letters(job_id=job_id)] == ["replayed", None]


def test_a_discarded_letters_job_stays_dead() -> None:
    job_id, letter_id = bury_job()
    with transaction() as connection:
        ledger.discard(connection, letter_id, actor="operator", note="a test order")
    assert job_row(job_id).state == "dead"
    assert letters()[0].resolution == "discarded"


def test_an_unknown_outcome_that_happened_ends_in_success_and_is_never_repeated() -> None:
    job_id, letter_id = job_with_unknown_effect()
    with transaction() as connection:
        ledger.resolve(connection, letter_id, happened=True, actor="operator", note="seen in the outbox")
    row = job_row(job_id)
    assert (row.state, row.result, row.error_code) == ("succeeded", {"resolved_by": "operator"}, None)
    key = key_row("email:1")
    assert key is not None
    assert (key.state, key.receipt) == ("done", {"resolved_by": "operator"})
    assert letters()[0].resolution == "happened"


def test_an_unknown_outcome_to_be_done_again_is_queued_and_may_act() -> None:
    job_id, letter_id = job_with_unknown_effect()
    with transaction() as connection:
        ledger.resolve(connection, letter_id, happened=False, actor="operator")
    assert job_row(job_id).state == "queued"
    start = start_job(job_id)
    with transaction() as connection:
        assert ledger.begin_effect(connection, start, "email:1") is None


def test_a_late_receipt_wins_over_do_it_again() -> None:
    job_id, letter_id = job_with_unknown_effect()
    with transaction() as connection:
        ledger.record_receipt(connection, "email:1", {"message_id": "late"})
        ledger.resolve(connection, letter_id, happened=False, actor="operator")
    start = start_job(job_id)
    with transaction() as connection:
        assert ledger.begin_effect(connection, start, "email:1") == {"message_id": "late"}


def test_an_unknown_outcome_is_not_replayed_blindly() -> None:
    job_id, letter_id = job_with_unknown_effect()
    with pytest.raises(ledger.WrongResolution), transaction() as connection:
        ledger.replay(connection, letter_id, actor="operator")
    assert job_row(job_id).state == "dead"
    assert audited() == []


@pytest.mark.parametrize("happened", [True, False])
def test_a_known_outcome_cannot_be_resolved_as_unknown(happened: bool) -> None:
    job_id, letter_id = bury_job()
    with pytest.raises(ledger.WrongResolution), transaction() as connection:
        ledger.resolve(connection, letter_id, happened=happened, actor="operator")
    assert job_row(job_id).state == "dead"


def test_a_foreign_message_can_only_be_discarded() -> None:
    letter_id = foreign_letter()
    with pytest.raises(ledger.WrongResolution), transaction() as connection:
        ledger.replay(connection, letter_id, actor="operator")
    with pytest.raises(ledger.WrongResolution), transaction() as connection:
        ledger.resolve(connection, letter_id, happened=True, actor="operator")
    with transaction() as connection:
        ledger.discard(connection, letter_id, actor="operator", note="a stray test")


def test_a_letter_is_dealt_with_once() -> None:
    job_id, letter_id = bury_job()
    with transaction() as connection:
        ledger.replay(connection, letter_id, actor="operator")
    for again in (ledger.replay, ledger.discard):
        with pytest.raises(ledger.AlreadyResolved), transaction() as connection:
            again(connection, letter_id, actor="operator", note="again")
    assert job_row(job_id).state == "queued"
    assert len(audited()) == 1


def test_an_unknown_letter_is_not_found() -> None:
    with pytest.raises(ledger.LetterNotFound), transaction() as connection:
        ledger.replay(connection, new_id(), actor="operator")


def test_failures_of_one_kind_share_a_fingerprint_whatever_the_line() -> None:
    def letter(line: int, function: str, code: str = "bug") -> str:
        trace = (
            f'Error\n  File "a.py", line 1, in outer\n  File "b.py", line {line}, in {function}\n    x()\n'
        )
        return ledger.Letter(new_id(), "a.job", "email", "support", "bug", code, "m", trace).fingerprint

    assert letter(10, "send") == letter(99, "send")
    assert letter(10, "send") != letter(10, "compose")
    assert letter(10, "send") != letter(10, "send", "other")


def test_foreign_messages_of_one_queue_and_fault_share_a_fingerprint_whatever_name_they_invent() -> None:
    def letter(name: str, code: str = "unknown_task") -> str:
        return ledger.Letter(None, name, "default", "operators", "foreign_message", code, "m").fingerprint

    assert letter("a") == letter("b")
    assert letter("a") != letter("a", "pickled")


def test_a_corrected_payload_replaces_the_old_one_which_the_audit_log_keeps() -> None:
    job_id, letter_id = bury_job(payload={"number": 1})
    with transaction() as connection:
        ledger.replay(connection, letter_id, actor="operator", rewritten=ledger.Rewritten({"number": 2}, 3))
    row = job_row(job_id)
    assert (row.payload, row.payload_version) == ({"number": 2}, 3)
    (act,) = audited()
    assert (act.details["payload_before"], act.details["payload_version_before"]) == ({"number": 1}, 1)


def test_a_replay_may_wait() -> None:
    job_id, letter_id = bury_job()
    with transaction() as connection:
        ledger.replay(connection, letter_id, actor="operator", wait=timedelta(minutes=1))
    row = job_row(job_id)
    assert row.state == "waiting"
    with transaction() as connection:
        assert ledger.take_overdue(connection, limit=10) == []


def test_every_act_is_in_the_audit_log_with_its_actor() -> None:
    job_id, first = bury_job()
    _, second = bury_job()
    with transaction() as connection:
        ledger.replay(connection, first, actor="token:7", note="why")
        ledger.discard(connection, second, actor="cli:root", note="noise")
    acts = audited()
    assert [(act.actor, act.action, act.target) for act in acts] == [
        ("token:7", "dead_letter.replayed", first),
        ("cli:root", "dead_letter.discarded", second),
    ]
    assert acts[0].details["job_id"] == job_id
    assert acts[0].details["note"] == "why"


def test_an_act_that_rolled_back_is_not_in_the_audit_log() -> None:
    _, letter_id = bury_job()
    with transaction() as connection:
        ledger.discard(connection, letter_id, actor="operator", note="noise")
        connection.rollback()
    assert audited() == []


@pytest.mark.parametrize("rewrite", [update(audit_log).values(actor="nobody"), delete(audit_log)])
def test_the_database_itself_refuses_to_rewrite_the_audit_log(rewrite: object) -> None:
    with transaction() as connection:
        ledger.audit(connection, actor="operator", action="queue.paused", target="email", details={})
    with pytest.raises(DBAPIError, match="append-only"), transaction() as connection:
        connection.execute(rewrite)  # type: ignore[call-overload]  # a statement of either kind
    assert [act.actor for act in audited()] == ["operator"]

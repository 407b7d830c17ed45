"""The account must find what it is there to find: doctored evidence, one fault of bookkeeping at a time."""

from dataclasses import replace

import pytest

from chaos.account import violations
from chaos.evidence import Evidence, JobFact
from chaos.plan import Act, Item, Kind, make_plan

MAIL = Item(0, Kind.EMAIL, Act.SUCCEED)
CUT = Item(1, Kind.EMAIL, Act.CUT)
DEED = Item(2, Kind.DEED, Act.SUCCEED)
POISON = Item(3, Kind.DEED, Act.DIE)
IMAGE = Item(4, Kind.IMAGE, Act.SUCCEED)

LOST = tuple((number, "lost", "worker_lost") for number in (1, 2, 3))
JOBS = {
    MAIL: JobFact("m", "emails.send_email", "succeeded", 0, effects=("done",), delivery_id="d0"),
    CUT: JobFact(
        "c",
        "emails.send_email",
        "dead",
        1,
        error_code="delivery_unknown",
        endings=((1, "failed", "delivery_unknown"),),
        letters=("outcome_unknown",),
        effects=("unknown",),
        delivery_id="d1",
    ),
    DEED: JobFact("d", "chaos.jobs.deed", "succeeded", 2, effects=("done",)),
    POISON: JobFact("p", "chaos.jobs.deed", "dead", 3, 3, "worker_lost", LOST, ("worker_lost",)),
    IMAGE: JobFact("i", "images.resize_image", "succeeded", 4),
}
GOOD = Evidence(
    items=list(JOBS),
    jobs=list(JOBS.values()),
    accepted={item.number: [job.id] for item, job in JOBS.items()},
    keys={item.number: job.id for item, job in JOBS.items()},
    mails=[("<d0@localhost.test>", MAIL.recipient), ("<d1@localhost.test>", CUT.recipient)],
    deeds=[(2, "d")],
)
DEAD = {"state": "dead", "endings": ((1, "failed", "bug"),), "error_code": "bug", "letters": ("bug",)}


def with_job(item: Item, **changed: object) -> Evidence:
    """The good evidence with one job's row changed."""
    jobs = [replace(job, **changed) if job.number == item.number else job for job in GOOD.jobs]  # type: ignore[arg-type]  # any field
    return replace(GOOD, jobs=jobs)


def without_job(item: Item) -> Evidence:
    return replace(GOOD, jobs=[job for job in GOOD.jobs if job.number != item.number])


def found(evidence: Evidence) -> set[str]:
    return {violation.what for violation in violations(evidence)}


def test_good_books_have_no_violation() -> None:
    assert violations(GOOD) == []


def test_a_lost_job_is_found() -> None:
    assert "accepted and lost" in found(without_job(IMAGE))


def test_a_request_that_was_never_accepted_is_found() -> None:
    assert found(replace(GOOD, accepted={**GOOD.accepted, 4: []})) == {"never accepted"}


def test_two_jobs_for_one_key_are_found() -> None:
    second = replace(JOBS[IMAGE], id="i2")
    assert found(replace(GOOD, jobs=[*GOOD.jobs, second])) == {"one key, several jobs"}


def test_a_job_after_one_that_may_have_acted_is_found() -> None:
    second = replace(JOBS[MAIL], id="c2", number=1, delivery_id="d9")
    mails = [*GOOD.mails, ("<d9@localhost.test>", CUT.recipient)]
    assert "one key, several jobs" in found(replace(GOOD, jobs=[*GOOD.jobs, second], mails=mails))


def test_a_job_after_one_that_died_without_an_effect_is_none() -> None:
    second = replace(JOBS[POISON], id="p2")
    again = replace(GOOD, jobs=[*GOOD.jobs, second])
    again = replace(again, accepted={**GOOD.accepted, 3: ["p", "p2"]}, keys={**GOOD.keys, 3: "p2"})
    assert violations(again) == []


def test_a_key_that_stands_for_another_job_is_found() -> None:
    assert found(replace(GOOD, keys={**GOOD.keys, 4: "m"})) == {"the key does not stand for the accepted job"}


@pytest.mark.parametrize("state", ["queued", "waiting", "running"])
def test_an_unfinished_job_is_found(state: str) -> None:
    assert f"not in a final state: {state}" in found(with_job(IMAGE, state=state))


def test_a_job_that_nobody_asked_for_is_found() -> None:
    assert found(replace(GOOD, jobs=[*GOOD.jobs, JobFact("x", "emails.send_email", "succeeded")])) == {
        "nobody asked for it"
    }


def test_a_second_mail_for_a_key_is_found_whatever_its_message_id() -> None:
    mails = [*GOOD.mails, ("<d7@localhost.test>", MAIL.recipient)]
    assert {"2 mails", "a mail of no job"} <= found(replace(GOOD, mails=mails))


def test_the_same_mail_twice_is_found() -> None:
    assert found(replace(GOOD, mails=[*GOOD.mails, GOOD.mails[0]])) == {"2 mails"}


def test_a_success_without_its_mail_is_found() -> None:
    assert found(replace(GOOD, mails=GOOD.mails[1:])) == {"succeeded without a mail"}


def test_a_mail_of_a_job_that_denies_it_is_found() -> None:
    assert "a mail of a job that is dead, bug" in found(with_job(MAIL, **DEAD))


def test_an_unexplained_death_is_found() -> None:
    assert found(with_job(IMAGE, **DEAD)) == {"dead for a reason that nothing explains: bug, bug"}


def test_a_death_without_a_letter_is_found() -> None:
    assert found(with_job(POISON, letters=())) == {"dead, 0 dead letters, code worker_lost"}


def test_an_unknown_outcome_without_a_fault_is_found() -> None:
    dead = {**DEAD, "error_code": "outcome_unknown", "letters": ("outcome_unknown",)}
    assert found(with_job(MAIL, **dead)) == {
        "dead for a reason that nothing explains: outcome_unknown, outcome_unknown"
    }


def test_an_unknown_outcome_after_a_lost_start_is_explained() -> None:
    unknown = {
        "state": "dead",
        "attempts": 2,
        "error_code": "outcome_unknown",
        "letters": ("outcome_unknown",),
        "endings": ((1, "lost", "worker_lost"), (2, "failed", "outcome_unknown")),
    }
    assert violations(with_job(MAIL, **unknown)) == []


def test_two_lost_starts_do_not_explain_a_poisoned_end() -> None:
    assert found(
        with_job(
            IMAGE,
            state="dead",
            attempts=2,
            error_code="worker_lost",
            letters=("worker_lost",),
            endings=LOST[:2],
        )
    )


def test_a_success_that_had_to_fail_is_found() -> None:
    assert "succeeded although it had to end as outcome_unknown" in found(
        with_job(CUT, state="succeeded", letters=())
    )


def test_a_start_that_left_no_row_is_found() -> None:
    assert found(with_job(IMAGE, attempts=2)) == {"2 starts, but told of are []"}


def test_a_deed_done_twice_is_found() -> None:
    assert found(replace(GOOD, deeds=[*GOOD.deeds, (2, "d")])) == {"done 2 times"}


def test_a_success_without_its_deed_is_found() -> None:
    assert found(replace(GOOD, deeds=[])) == {"succeeded without its deed"}


def test_a_program_that_gave_up_is_found() -> None:
    assert found(replace(GOOD, complaints=["relay1 ended by itself (exit code 1)"]))


def test_the_plan_follows_from_the_seed() -> None:
    assert make_plan(7, jobs=100, faults=20) == make_plan(7, jobs=100, faults=20)
    assert make_plan(7, jobs=100, faults=20) != make_plan(8, jobs=100, faults=20)


def test_a_plan_holds_what_was_asked_for_and_every_act() -> None:
    plan = make_plan(7, jobs=150, faults=12)
    assert len(plan.items) == 150
    assert {item.act for item in plan.items} == set(Act)
    assert len({fault.strike for fault in plan.faults}) == 12

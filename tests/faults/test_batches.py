"""A batch with members that fail, are tried again and lose their worker: what comes after it comes once."""

from db import ledger
from db.engine import reading
from tasks.engine import unit_of_work
from tests.support.jobs import Script, lines, scripted
from tests.support.ledger import job_row
from tests.support.processes import eventually, relay, worker
from tests.support.stack import Stack, on_both_stacks


def tally(batch_id: str) -> dict[str, int]:
    with reading() as session:
        return ledger.tally(session.connection(), batch_id)


@on_both_stacks
def test_what_comes_after_a_batch_with_failed_members_comes_once(stack: Stack) -> None:
    acts = {7: "refuse", 9: "flaky", 20: "take down the worker"}
    members = [
        (scripted, Script(record=str(stack.record), act=acts.get(number, "succeed"), failures=2))
        for number in range(50)
    ]
    then = stack.folder / "then"
    with unit_of_work() as work:
        handles = work.enqueue_batch(
            "test", members, on_complete=(scripted, lambda batch_id: Script(record=f"{then}-{batch_id}"))
        )
    batch_id = str(handles[0].batch_id)
    report = stack.folder / f"then-{batch_id}"
    # Two relays, and a worker that is started again for as long as the poison job takes it down.
    with relay(stack.folder), relay(stack.folder, name="second"):
        for number in range(4):
            with worker(stack.folder, name=f"worker{number}") as its_worker:
                eventually(lambda: not its_worker.alive or lines(report, "effect"), within=60)
        (callback,) = lines(report, "effect")
    counts = tally(batch_id)
    assert (counts["succeeded"], counts["dead"], counts["cancelled"]) == (48, 2, 0)
    assert job_row(callback).state in ("running", "succeeded")
    assert lines(report, "start") == [callback]
    assert stack.count("start", handles[9].id) == 3

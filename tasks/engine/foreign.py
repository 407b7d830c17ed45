"""Messages that are no job of ours become dead letters: undecodable, pickled, unknown name, wrong arguments."""

from datetime import timedelta

import structlog

from db import ledger
from tasks.engine.announce import announce
from tasks.engine.celery import app
from tasks.engine.outbox import unit_of_work
from tasks.engine.patience import until_database_answers

log = structlog.get_logger()

# As much of a foreign message as its dead letter shows.
SHOWN_BYTES = 2000
# How long a job of a type that this release does not know waits for workers that do (a rolling deploy).
DEPLOY_WINDOW = timedelta(hours=1)

_MESSAGES = {
    "undecodable": "A message that could not be read.",
    "pickled": "A pickled message; nothing is ever unpickled.",
    "foreign": "A message that is not a Celery task.",
    "unknown_task": "A message for a task that this release does not know.",
    "wrong_arguments": "A message whose arguments are not ids of jobs.",
}


# The broker is all that holds such a message, so it must come again when the child that looks at it is killed.
@app.task(name="dead_letter.take_in", acks_late=True, reject_on_worker_lost=True, ignore_result=True)
def take_in(objection: str, name: str, queue: str, job_id: str | None, shown: str) -> None:
    """Keep the message as a dead letter. A job of the ledger that only this release does not know is parked."""

    letter = ledger.Letter(
        job_id=None,
        type=name or "(none)",
        queue=queue or "(none)",
        owner="operators",
        reason="foreign_message",
        code=objection,
        message=_MESSAGES[objection],
        shown=shown,
    )

    def commit() -> bool:
        with unit_of_work() as work:
            connection = work.session.connection()
            unknown = job_id if objection == "unknown_task" else None
            if unknown is not None and ledger.set_aside(connection, unknown, window=DEPLOY_WINDOW):
                return True
            ledger.open_letter(connection, letter)
            announce(work, letter)
            return False

    ours = until_database_answers(commit)
    log.warning("message.set_aside" if ours else "message.foreign", reason=objection, queue=queue)

"""`202 Accepted`, with where to look."""

from typing import Any

from flask import Response, jsonify

from app.intake.submissions import Submission
from app.reading.batches import find_batch
from app.reading.jobs import find_job
from app.security import Viewer


def accepted(submission: Submission, viewer: Viewer) -> Response:
    """The job, or the batch with its jobs. A repeated key gets the same answer, marked as one."""
    if submission.batch_id is None:
        job = find_job(submission.jobs[0].id, viewer).as_json()
        body: dict[str, Any] = {"job": job}
        location = job["links"]["self"]
    else:
        batch = find_batch(submission.batch_id, viewer)
        body = {"batch": batch.as_json(), "jobs": [job.as_json() for job in batch.jobs]}
        location = body["batch"]["links"]["self"]
    return mark_accepted(jsonify(body), location, submission)


def mark_accepted(response: Response, location: str, submission: Submission) -> Response:
    """The response as 202, with the place to look at."""
    response.status_code = 202
    response.headers["Location"] = location
    if submission.repeated:
        response.headers["Idempotency-Replayed"] = "true"
    return response

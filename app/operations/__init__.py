"""What machines ask: are you alive, can you work, how is it going?"""

from flask import Blueprint, Response, jsonify

from app.operations.metrics import exposition
from app.operations.readiness import readiness
from app.problems import RETRY_AFTER_S
from app.security import Scope, api_viewer
from config.settings import get_settings

operations = Blueprint("operations", __name__)


@operations.get("/healthz")
def healthz() -> dict[str, str]:
    """This process answers. Says nothing about what it depends on: restarting it would not mend that."""
    return {"status": "ok"}


@operations.get("/readyz")
def readyz() -> Response:
    """200 while the database (migrated) and the broker answer and take writes within a second, else 503.

    `missing` says why. `stalled` names what delays accepted work (beat, a queue without workers) and leaves it at 200.
    """
    faults, stalled = readiness()
    response = jsonify({"ready": not faults, "missing": faults, "stalled": stalled})
    if faults:
        response.status_code = 503
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    return response


@operations.get("/metrics")
def metrics() -> Response:
    """For Prometheus. In production with a token of scope `operate`: a proxy makes every address look local."""
    if get_settings().app_env == "production":
        api_viewer(Scope.OPERATE)
    body, content_type = exposition()
    return Response(body, content_type=content_type)

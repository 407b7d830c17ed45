"""Errors as the outside sees them: `application/problem+json` (RFC 9457) for programs, a page for people."""

import traceback
from collections.abc import Mapping
from http import HTTPStatus

import structlog
from flask import Flask, Response, jsonify, make_response, render_template, request
from flask_wtf.csrf import CSRFError
from gunicorn.http.errors import NoMoreData, ParseException  # type: ignore[import-untyped]  # it publishes no types
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from app.intake.refusals import Refused
from app.intake.submissions import CommitUnknown
from app.reading.events import TooManyStreams
from app.reading.visible import NotFound
from app.security import NotAuthenticated, NotPermitted
from db.ledger import AlreadyResolved, JobNotFound, LetterNotFound, WrongResolution
from services.storage import StorageUnavailable
from tasks.engine.patience import database_is_away

log = structlog.get_logger()

# When to come back after an outage whose end nobody knows.
RETRY_AFTER_S = 5


def answer(
    status: int,
    detail: str,
    *,
    title: str | None = None,
    code: str | None = None,
    errors: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The error in the form that the caller reads. `code` is stable, `errors` maps fields to sentences."""
    title = title or HTTPStatus(status).phrase
    if _for_programs():
        problem = {"type": "about:blank", "title": title, "status": status, "detail": detail}
        problem |= {"instance": request.path, "code": code or title.lower().replace(" ", "_")}
        if errors:
            problem["errors"] = [
                {"field": field, "pointer": "/" + field.replace(".", "/"), "detail": text}
                for field, text in errors.items()
            ]
        response = jsonify(problem)
        response.content_type = "application/problem+json"
    else:
        response = make_response(render_template("error.html", status=status, title=title, message=detail))
    response.status_code = status
    response.headers.update(headers or {})
    return response


def _for_programs() -> bool:
    """Whether the caller is a program. A browser never sends a bearer token."""
    path = request.path
    return (
        path.startswith(("/api/", "/readyz", "/metrics"))
        or path.endswith(".json")
        or "Authorization" in request.headers
    )


def register(app: Flask) -> None:
    """Teach `app` what each exception means to the outside."""
    app.register_error_handler(Refused, _refused)
    app.register_error_handler(NotAuthenticated, _not_authenticated)
    app.register_error_handler(NotPermitted, _not_permitted)
    for missing in (NotFound, JobNotFound, LetterNotFound):
        app.register_error_handler(missing, lambda _error: _not_found())
    for conflict in (AlreadyResolved, WrongResolution):
        app.register_error_handler(conflict, lambda error: answer(409, _sentence(str(error))))
    app.register_error_handler(TooManyStreams, lambda _error: _unavailable("Too many live views are open."))
    app.register_error_handler(
        StorageUnavailable, lambda _error: _unavailable("Files cannot be stored or read at the moment.")
    )
    app.register_error_handler(CommitUnknown, _commit_unknown)
    for away in (DBAPIError, PoolTimeout):
        app.register_error_handler(away, _database)
    app.register_error_handler(CSRFError, _csrf)
    for broken in (ParseException, NoMoreData):
        app.register_error_handler(broken, _broken_body)
    app.register_error_handler(RequestEntityTooLarge, _too_large)
    app.register_error_handler(HTTPException, _http)
    app.register_error_handler(Exception, _bug)


def _refused(error: Refused) -> Response:
    return answer(error.status, error.message, code=error.code, errors=error.fields, headers=error.headers)


def _not_authenticated(_error: NotAuthenticated) -> Response:
    return answer(
        401,
        "Send a valid token: Authorization: Bearer <token>.",
        headers={"WWW-Authenticate": 'Bearer realm="api"'},
    )


def _not_permitted(error: NotPermitted) -> Response:
    # RFC 6750, section 3.1.
    challenge = f'Bearer realm="api", error="insufficient_scope", scope="{error.scope}"'
    detail = f"This token lacks the scope {error.scope}."
    return answer(403, detail, code="insufficient_scope", headers={"WWW-Authenticate": challenge})


def _not_found() -> Response:
    return answer(404, "There is nothing at this address, or it is not yours to see.")


def _unavailable(detail: str) -> Response:
    return answer(503, detail, headers={"Retry-After": str(RETRY_AFTER_S)})


def _commit_unknown(_error: CommitUnknown) -> Response:
    detail = (
        "The database went away while this was being saved, so it may have been accepted or not. "
        "A repeat with the same Idempotency-Key is answered safely."
    )
    return answer(503, detail, code="commit_unknown", headers={"Retry-After": str(RETRY_AFTER_S)})


def _database(error: DBAPIError | PoolTimeout) -> Response:
    if not database_is_away(error):
        return _bug(error)
    log.warning("request.database_away", error=type(error).__name__, endpoint=request.endpoint)
    return _unavailable("The database does not answer at the moment. Nothing was saved.")


def _csrf(_error: CSRFError) -> Response:
    return answer(400, "This form was open for too long. Go back, reload the page and send it again.")


def _broken_body(_error: Exception) -> Response:
    # gunicorn reads a chunked body while we do, and finds then that it is none.
    return answer(400, "The body is not sent as HTTP asks for.", headers={"Connection": "close"})


def _too_large(error: RequestEntityTooLarge) -> Response:
    return answer(413, error.description or "", code="too_large", headers={"Connection": "close"})


def _http(error: HTTPException) -> Response:
    if error.code is None or error.code < 400:
        response = error.get_response(request.environ)
        return make_response(response)
    if error.code == 404:
        return _not_found()
    kept = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
    return answer(error.code, error.description or "", headers=kept)


def _bug(error: Exception) -> Response:
    # Where it happened, and not what the error says: that may quote what the request brought.
    log.error(
        "request.failed",
        error=type(error).__qualname__,
        endpoint=request.endpoint,
        trace="".join(traceback.format_tb(error.__traceback__)),
    )
    return answer(500, "Something went wrong on our side. It was logged.")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."

"""How much one request may bring, and how often a visitor may send a form.

The bounds hold while the body is read, so a chunked body or a false Content-Length gains nothing. Parts above
half a megabyte are spooled to unnamed files, which disappear with the request, however it ends.
"""

import time
from contextlib import suppress
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any

from flask import Flask, Request, Response, request
from flask_limiter import Limiter
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]  # it publishes no types
from werkzeug.exceptions import HTTPException, RequestEntityTooLarge

from app.intake.uploads import readable
from config.settings import get_settings

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

# JSON bodies and forms without files.
MAX_BODY_BYTES = 1024 * 1024
# A hundred documents and the fields beside them.
MAX_FORM_PARTS = 200
# One request with files may bring ten full-size files' worth, so that 32 threads cannot fill a disk.
FILES_PER_REQUEST = 10
# A newsletter: text, markup and 50,000 recipients, in JSON or in a form's field as well as in a file.
NEWSLETTER_BYTES = 12 * 1024 * 1024
_NEWSLETTERS = ("/api/v1/newsletters", "/console/newsletters")
_IN_MEMORY_BYTES = 512 * 1024
_CHUNK = 16 * 1024
_DRAIN_S = 10.0
# POSTs of one address to the pages' forms.
FORM_POSTS = "60/minute"


class BoundedFile(SpooledTemporaryFile[bytes]):
    """Refuses to grow beyond `MAX_UPLOAD_BYTES` while it is being received."""

    def __init__(self) -> None:
        super().__init__(max_size=_IN_MEMORY_BYTES, mode="rb+")
        self._limit = get_settings().max_upload_bytes

    def write(self, data: Any) -> int:
        """Raises RequestEntityTooLarge."""
        if self.tell() + len(data) > self._limit:
            raise RequestEntityTooLarge(f"A file is larger than {readable(self._limit)}.")
        return super().write(data)


class BoundedRequest(Request):
    """A request whose files are bounded one by one and all together."""

    def __init__(self, environ: "WSGIEnvironment", *args: Any, **named: Any) -> None:
        super().__init__(environ, *args, **named)
        self._received: list[BoundedFile] = []
        if self.path in _NEWSLETTERS:
            # By the address, because the body of a form is read before anybody looks who asks.
            self.max_content_length = self.max_form_memory_size = NEWSLETTER_BYTES
        elif self.mimetype == "multipart/form-data":
            self.max_content_length = request_bytes()
        else:
            self.max_content_length = MAX_BODY_BYTES

    def _get_file_stream(self, *_args: Any, **_named: Any) -> IO[bytes]:
        self._received.append(BoundedFile())
        return self._received[-1]

    def close(self) -> None:
        """At the end of every request, also when its form was never read to the end."""
        for file in self._received:
            file.close()


def drain(response: Response) -> Response:
    """Read what a refused request still sends, up to one file's worth and for some seconds: closing a connection on
    unread data resets it, and the client would never see why."""
    if response.status_code >= HTTPStatus.BAD_REQUEST:
        body, left = request.environ["wsgi.input"], get_settings().max_upload_bytes + MAX_BODY_BYTES
        until = time.monotonic() + _DRAIN_S
        with suppress(OSError, HTTPException, ParseException):
            while left > 0 and time.monotonic() < until and (chunk := body.read(_CHUNK)):
                left -= len(chunk)
    return response


def request_bytes() -> int:
    """The most that a request with files may bring."""
    return FILES_PER_REQUEST * get_settings().max_upload_bytes + MAX_BODY_BYTES


def visitor_address() -> str:
    """The client's address. X-Forwarded-For counts only when the proxy that wrote it is one of ours."""
    peer = request.remote_addr or ""
    trusted = {part.strip() for part in get_settings().forwarded_allow_ips.split(",")}
    if request.access_route and ("*" in trusted or peer in trusted):
        return request.access_route[-1]
    return peer


def limit_forms(app: Flask) -> Limiter:
    """Bound the POSTs of one address to the pages' forms, counted by each web process for itself.

    In memory on purpose: a limit for politeness must not need a server that may be down.
    """
    return Limiter(visitor_address, app=app, storage_uri="memory://", default_limits=[])

"""What the mail sink shows: a list of the newest mails, and one mail. Nothing can be changed through it."""

import json
import re
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jinja2

PAGE_SIZE = 100
_MAIL = re.compile(r"/mails/([0-9a-f-]{36})")
_HEAD_BYTES = 64 * 1024
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
)
# A frame with srcdoc obeys the page's own policy: the mail in it runs nothing and fetches nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"


def pages(folder: Path) -> Any:
    """A request handler class, as http.server wants it, for the mails in `folder`."""
    return partial(Pages, folder=folder)


class Pages(BaseHTTPRequestHandler):
    """`/`, `/mails.json` and `/mails/<id>`."""

    server_version, sys_version = "mail-sink", ""

    def __init__(self, *arguments: Any, folder: Path) -> None:
        self._folder = folder
        super().__init__(*arguments)

    def do_GET(self) -> None:
        """Answer one request."""
        url = urlsplit(self.path)
        mail = _MAIL.fullmatch(url.path)
        if url.path == "/":
            self._page("list.html", **self._newest(url.query))
        elif url.path == "/mails.json":
            self._send(json.dumps(self._newest(url.query)).encode(), "application/json")
        elif mail and (path := self._folder / f"{mail[1]}.eml").is_file():
            self._page("mail.html", **_shown(path))
        else:
            self._page("missing.html", HTTPStatus.NOT_FOUND)

    def log_message(self, *_: Any) -> None:
        """Nothing: what somebody looks at is no news."""

    def _newest(self, query: str) -> dict[str, Any]:
        asked = parse_qs(query).get("page", ["1"])[0]
        page = max(1, int(asked[:9])) if asked.isascii() and asked.isdigit() else 1
        files = sorted(self._folder.glob("*.eml"), reverse=True)
        shown = files[(page - 1) * PAGE_SIZE : page * PAGE_SIZE]
        return {
            "total": len(files),
            "page": page,
            "pages": max(1, -(-len(files) // PAGE_SIZE)),
            "mails": [_summary(path) for path in shown],
        }

    def _page(self, name: str, status: HTTPStatus = HTTPStatus.OK, **values: Any) -> None:
        self._send(_TEMPLATES.get_template(name).render(values).encode(), "text/html; charset=utf-8", status)

    def _send(self, body: bytes, kind: str, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


def _summary(path: Path) -> dict[str, str]:
    """One line of the list; only the head of the file is read."""
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES).partition(b"\r\n\r\n")[0]
    message = _parsed(head + b"\r\n\r\n")
    received = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    return {
        "id": path.stem,
        "from": _header(message, "From"),
        "to": _header(message, "To") or _header(message, "X-RcptTo"),
        "subject": _header(message, "Subject"),
        "message_id": _header(message, "Message-ID"),
        "received_at": received.isoformat(timespec="seconds"),
        "time": f"{received:%H:%M:%S}",
        "day": f"{received:%d %b %Y}",
    }


def _shown(path: Path) -> dict[str, Any]:
    message = _parsed(path.read_bytes())
    return {
        **_summary(path),
        "headers": [(name, _header(message, name)) for name in dict.fromkeys(message.keys())],
        "text": _body(message, "plain"),
        "html": _body(message, "html"),
    }


def _parsed(mail: bytes) -> EmailMessage:
    return message_from_bytes(mail, policy=policy.default)


def _header(message: EmailMessage, name: str) -> str:
    """All values of a header. A malformed one must not take the page down: it is shown as it came."""
    try:
        values = message.get_all(name, [])
    except (ValueError, IndexError, AttributeError):
        values = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return ", ".join(_printable(value) for value in values)


def _body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    payload = part.get_payload(decode=True) if part is not None else None
    if part is None or not isinstance(payload, bytes):
        return ""
    try:
        return payload.decode(part.get_content_charset("utf-8"), "replace")
    except LookupError:
        return payload.decode("utf-8", "replace")


def _printable(value: object) -> str:
    return str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")

"""Bodies are bounded while they are read, whatever they say about themselves."""

import io
import socket
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from app.limits import FILES_PER_REQUEST, MAX_BODY_BYTES
from tests.support.web import Client

LIMIT = 100_000
BOUNDARY = "----------boundary"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"

Headers = dict[str, str]


@pytest.fixture
def small(configure: Callable[..., object]) -> None:
    """Files of at most 100,000 bytes."""
    configure(MAX_UPLOAD_BYTES=LIMIT)


def parts(*files: bytes, field: str = "file") -> bytes:
    """A multipart body."""
    head = f'Content-Disposition: form-data; name="{field}"; filename="f.png"\r\n\r\n'
    return (
        b"".join(f"--{BOUNDARY}\r\n{head}".encode() + file + b"\r\n" for file in files)
        + f"--{BOUNDARY}--\r\n".encode()
    )


def chunked(client: Client, path: str, body: bytes, content_type: str, headers: Headers) -> Any:
    """As gunicorn hands on a body without Content-Length."""
    return client.post(
        path,
        input_stream=io.BytesIO(body),
        content_type=content_type,
        headers=headers,
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("send_chunked", [False, True])
def test_one_byte_too_many_is_413_and_leaves_nothing(
    client: Client,
    token: Callable[..., Headers],
    jobs: Callable[[], list[object]],
    stored: Callable[[], list[Path]],
    send_chunked: bool,
) -> None:
    body, headers = parts(b"x" * (LIMIT + 1)), token()
    if send_chunked:
        response = chunked(client, "/api/v1/images", body, MULTIPART, headers)
    else:
        response = client.post("/api/v1/images", data=body, content_type=MULTIPART, headers=headers)
    assert response.status_code == 413
    assert response.content_type == "application/problem+json"
    assert "97.7 KB" in response.json["detail"]
    assert (jobs(), stored()) == ([], [])


@pytest.mark.usefixtures("small")
def test_a_chunked_body_is_bounded_as_a_whole(client: Client, token: Callable[..., Headers]) -> None:
    many = [b"x" * LIMIT] * (FILES_PER_REQUEST + 12)
    response = chunked(client, "/api/v1/documents", parts(*many, field="files"), MULTIPART, token())
    assert response.status_code == 413


@pytest.mark.parametrize("send_chunked", [False, True])
def test_a_large_json_body_is_413(client: Client, token: Callable[..., Headers], send_chunked: bool) -> None:
    body, headers = b'{"template": "' + b"x" * MAX_BODY_BYTES + b'"}', token()
    if send_chunked:
        response = chunked(client, "/api/v1/emails", body, "application/json", headers)
    else:
        response = client.post("/api/v1/emails", data=body, content_type="application/json", headers=headers)
    assert response.status_code == 413


def test_a_hundred_thousand_form_parts_are_413(client: Client, token: Callable[..., Headers]) -> None:
    part = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n'.encode()
    response = client.post("/api/v1/images", data=part * 100_000, content_type=MULTIPART, headers=token())
    assert response.status_code == 413


def test_two_hundred_files_are_413(
    client: Client, token: Callable[..., Headers], stored: Callable[[], list[Path]]
) -> None:
    response = client.post(
        "/api/v1/documents",
        data=parts(*[b"text"] * 199, field="files"),
        content_type=MULTIPART,
        headers=token(),
    )
    assert response.status_code == 413
    assert stored() == []


def test_a_client_that_is_still_sending_gets_to_see_the_413(
    configure: Callable[..., object], token: Callable[..., Headers], request: pytest.FixtureRequest
) -> None:
    headers = token()
    configure(MAX_UPLOAD_BYTES=LIMIT)
    url = urlsplit(request.getfixturevalue("server"))

    def endless() -> Iterator[bytes]:
        body = parts(b"x" * 8 * LIMIT)
        yield from (body[at : at + 16_384] for at in range(0, len(body), 16_384))

    connection = HTTPConnection(str(url.hostname), url.port, timeout=20)
    connection.request(
        "POST",
        "/api/v1/images",
        body=endless(),
        headers={**headers, "Content-Type": MULTIPART, "Transfer-Encoding": "chunked"},
        encode_chunked=True,
    )
    assert connection.getresponse().status == 413
    connection.close()


class Endless(io.BytesIO):
    """A body without an end."""

    sent = 0

    def read(self, size: int | None = -1) -> bytes:
        """Zeros."""
        assert size is not None
        assert size > 0
        self.sent += size
        return bytes(size)


@pytest.mark.usefixtures("small")
def test_no_more_of_a_refused_body_is_read_than_one_file_may_bring(client: Client) -> None:
    body = Endless()
    refused = client.post(
        "/api/v1/images",
        input_stream=body,
        content_type=MULTIPART,
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )
    assert refused.status_code == 401
    assert 0 < body.sent <= LIMIT + 2 * MAX_BODY_BYTES


def test_an_upload_that_breaks_off_leaves_nothing(
    token: Callable[..., Headers],
    jobs: Callable[[], list[object]],
    stored: Callable[[], list[Path]],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spool = tmp_path / "spool"
    spool.mkdir()
    monkeypatch.setenv("TMPDIR", str(spool))
    headers = token()
    url = urlsplit(request.getfixturevalue("server"))
    body = parts(b"x" * 2_000_000)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with socket.create_connection((str(url.hostname), url.port or 0)) as connection:
        connection.sendall(
            f"POST /api/v1/images HTTP/1.1\r\nHost: x\r\n{lines}Content-Type: {MULTIPART}\r\n"
            f"Content-Length: {len(body)}\r\n\r\n".encode()
            + body[: len(body) // 2]
        )
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(64).startswith(b"HTTP/1.1 4")
    assert (jobs(), stored()) == ([], [])
    assert [path for path in spool.rglob("*") if path.is_file() and path.stat().st_size] == []


def test_a_form_is_limited_per_address(client: Client) -> None:
    statuses = [client.post("/contact", data={"name": ""}).status_code for _ in range(61)]
    assert statuses[-1] == 429
    assert 429 not in statuses[:60]


@pytest.mark.parametrize("content_type", ["application/json", MULTIPART])
def test_a_body_in_broken_chunks_is_400(
    request: pytest.FixtureRequest, token: Callable[..., Headers], content_type: str
) -> None:
    headers = token()
    url = urlsplit(request.getfixturevalue("server"))
    path = "/api/v1/emails" if content_type == "application/json" else "/api/v1/images"
    head = {"Content-Type": content_type, "Transfer-Encoding": "chunked", **headers}
    connection = HTTPConnection(str(url.hostname), url.port, timeout=10)
    connection.putrequest("POST", path)
    for name, value in head.items():
        connection.putheader(name, value)
    connection.endheaders(b"no size\r\n{}\r\n0\r\n\r\n")
    response = connection.getresponse()
    assert response.status == 400
    assert response.headers["Content-Type"] == "application/problem+json"
    connection.close()

"""Clients that do not send what they began, under gunicorn."""

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from config.web_worker import PATIENCE_S
from tests.support.processes import eventually
from tests.support.web import answers

Headers = dict[str, str]
THREADS = 32
BEGUN = (
    b"GET /healthz HTTP/1.1\r\nHost:",
    b"POST /contact HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\nname=",
)


@pytest.mark.parametrize("server", [1], indirect=True)
def test_half_sent_headers_and_bodies_give_their_threads_back(server: str) -> None:
    url = urlsplit(server)
    address = (str(url.hostname), int(url.port or 0))
    with ExitStack() as opened:
        for begun in BEGUN * (THREADS // 2):
            opened.enter_context(socket.create_connection(address)).sendall(begun)

        eventually(lambda: answers(address[1], timeout=5), within=5 * PATIENCE_S)


def test_a_slow_upload_that_goes_on_is_taken(
    token: Callable[..., Headers], picture: bytes, request: pytest.FixtureRequest
) -> None:
    headers = token()
    url = urlsplit(request.getfixturevalue("server"))
    boundary = "----slow"
    head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n'.encode()
    fields = b"".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in (("widths", "20"), ("format", "png"))
    )
    # A picture may be followed by what belongs to none.
    body = fields + head + picture + b"\0" * 20_000 + f"\r\n--{boundary}--\r\n".encode()
    connection = HTTPConnection(str(url.hostname), url.port, timeout=30)
    connection.putrequest("POST", "/api/v1/images")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.putheader("Content-Type", f"multipart/form-data; boundary={boundary}")
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders()
    # Longer in all than the patience, each pause far below it.
    pieces = 12
    size = -(-len(body) // pieces)
    for at in range(0, len(body), size):
        connection.send(body[at : at + size])
        time.sleep(1.1 * PATIENCE_S / pieces)
    assert connection.getresponse().status == 202
    connection.close()

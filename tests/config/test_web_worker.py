"""How long a client may keep a thread waiting for its request."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest

from config import web_worker
from config.web_worker import PacedSocket


@pytest.fixture
def pair() -> Iterator[tuple[PacedSocket, socket.socket]]:
    """Our end of a connection, and the client's."""
    ours, client = socket.socketpair()
    paced = PacedSocket(fileno=ours.detach())
    with paced, client:
        yield paced, client


def test_what_has_arrived_is_read(pair: tuple[PacedSocket, socket.socket]) -> None:
    ours, client = pair
    client.sendall(b"GET / HTTP/1.1")
    assert ours.recv(100) == b"GET / HTTP/1.1"
    assert ours.gettimeout() is None


def test_a_client_that_sends_nothing_more_has_hung_up(pair: tuple[PacedSocket, socket.socket]) -> None:
    ours, client = pair
    ours.patience = 0.1
    assert ours.recv(100) == b""
    client.sendall(b"too late")
    assert ours.recv(100) == b""


def test_a_byte_now_and_then_does_not_buy_a_thread(pair: tuple[PacedSocket, socket.socket]) -> None:
    ours, client = pair
    ours.patience = 0.5
    stop = threading.Event()

    def trickle() -> None:
        while not stop.wait(0.02):
            client.sendall(b"x")

    sender = threading.Thread(target=trickle)
    sender.start()
    try:
        while ours.recv(100):
            pass
    finally:
        stop.set()
        sender.join()
    assert ours.patience <= 0


def test_data_that_goes_on_arriving_buys_more_time_than_it_takes(
    pair: tuple[PacedSocket, socket.socket],
) -> None:
    ours, client = pair
    ours.patience = 5
    for _ in range(10):
        client.sendall(b"x" * 8 * web_worker.BYTES_PER_S)
        assert ours.recv(8 * web_worker.BYTES_PER_S)
    assert ours.patience == web_worker.PATIENCE_S


def test_only_waiting_for_the_client_costs_patience(pair: tuple[PacedSocket, socket.socket]) -> None:
    ours, client = pair
    ours.patience = 0.2
    time.sleep(0.3)
    client.sendall(b"x")
    assert ours.recv(100) == b"x"

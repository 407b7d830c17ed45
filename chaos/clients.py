"""Programs that call the API as they should: each request has a key and is repeated until it is answered."""

import io
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import httpx2
from PIL import Image

from chaos.plan import Item, Kind

ACCEPTED = 202
# Worth another try, by the status's own meaning; 502 and 504 are a proxy's words, and there is none.
_LATER = 503
_TIMEOUT_S = 10
# Late enough for the job to have ended, badly perhaps.
REPEAT_AFTER_S = 10.0
_WAIT_S = 0.3


class Clients:
    """`threads` of them share the items, which fall due evenly over `seconds`."""

    def __init__(
        self, address: str, token: str, items: Sequence[Item], *, seconds: float, threads: int
    ) -> None:
        self._address, self._token = address, token
        self._waiting = _schedule(items, seconds)
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(threads)]
        # The job that each 202 named, in order.
        self.accepted: dict[int, list[str]] = defaultdict(list)
        # What no good API answers, and how often; repeats that were needed.
        self.strange: Counter[str] = Counter()
        self.repeats = 0
        self.open_requests = 0

    def start(self) -> None:
        """Begin."""
        self._start = time.monotonic()
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Give up."""
        self._stopping.set()
        for thread in self._threads:
            thread.join(timeout=_TIMEOUT_S + 1)

    @property
    def finished(self) -> bool:
        """Whether every item was accepted."""
        return not any(thread.is_alive() for thread in self._threads)

    def _work(self) -> None:
        headers = {"Authorization": f"Bearer {self._token}"}
        with httpx2.Client(base_url=f"{self._address}/api/v1", headers=headers, timeout=_TIMEOUT_S) as http:
            while not self._stopping.is_set():
                with self._lock:
                    if not self._waiting:
                        return
                    due, item = self._waiting.pop()
                self._stopping.wait(max(0, self._start + due - time.monotonic()))
                self._ask(http, item)

    def _ask(self, http: httpx2.Client, item: Item) -> None:
        while not self._stopping.is_set():
            answer = self._once(http, item)
            if answer is not None:
                self._take(item, answer)
                return
            with self._lock:
                self.repeats += 1
            self._stopping.wait(_WAIT_S)

    def _take(self, item: Item, answer: httpx2.Response) -> None:
        if answer.status_code == ACCEPTED:
            body = answer.json()
            job = body["job"] if "job" in body else body["jobs"][0]
            self.accepted[item.number].append(str(job["id"]))
            return
        with self._lock:
            self.strange[f"{item.kind} answered with {answer.status_code}"] += 1

    def _once(self, http: httpx2.Client, item: Item) -> httpx2.Response | None:
        """None when the request is to be repeated."""
        with self._lock:
            self.open_requests += 1
        try:
            answer = http.post(**request_for(item), headers={"Idempotency-Key": item.key})
        except httpx2.TransportError:
            return None
        finally:
            with self._lock:
                self.open_requests -= 1
        return None if answer.status_code == _LATER else answer


def _schedule(items: Sequence[Item], seconds: float) -> list[tuple[float, Item]]:
    """When each is asked for, the last first."""
    schedule = []
    for place, item in enumerate(items):
        due = seconds * place / len(items)
        times = (due, due + REPEAT_AFTER_S) if item.repeated else (due,)
        schedule += [(time, item) for time in times]
    return sorted(schedule, key=lambda asked: asked[0], reverse=True)


def request_for(item: Item) -> dict[str, Any]:
    """The request as the HTTP client takes it; equal for every repetition."""
    match item.kind:
        case Kind.EMAIL:
            body = {
                "template": "welcome",
                "to": {"email": item.recipient, "name": "Ada"},
                "context": {"name": "Ada"},
            }
            return {"url": "/emails", "json": body}
        case Kind.IMAGE:
            files = {"file": (f"{item.number}.png", _picture(item.number))}
            return {"url": "/images", "files": files, "data": {"widths": "32,16", "format": "webp"}}
        case _:
            text = f"Report {item.number}. The new office is bright and everybody likes it. " * 5
            files = {"files": (f"{item.number}.txt", text.encode())}
            return {"url": "/documents", "files": files, "data": {"analysis": "sentiment"}}


def _picture(number: int) -> bytes:
    data = io.BytesIO()
    Image.new("RGB", (64, 48), (number % 256, number // 256 % 256, 90)).save(data, "PNG")
    return data.getvalue()

"""The peer of the door: a Flask view that does nothing but call `apply_async`."""

from flask import Flask, request

from bench.noop_bare import noop

app = Flask(__name__)


@app.post("/enqueue")
def enqueue() -> tuple[dict[str, str], int]:
    """Read the body and queue."""
    noop.apply_async((len(request.get_json()),))
    return {"status": "accepted"}, 202

"""The operators' console. It shows by GET and acts by POST, each act with a token of the form it came from."""

from app.console import acts, audit, jobs, letters, newsletters, overview
from app.console.blueprint import console
from app.console.door import FAILED_SIGN_INS, TRY_LATER, door, refused

__all__ = [
    "FAILED_SIGN_INS",
    "TRY_LATER",
    "acts",
    "audit",
    "console",
    "door",
    "jobs",
    "letters",
    "newsletters",
    "overview",
    "refused",
]

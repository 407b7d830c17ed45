"""The kinds of text a mail is made of, checked where they enter.

A control character in a header is how a second recipient gets in, so none passes; in a title a line break is
more likely a slip of copy and paste, and becomes a space.
"""

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

# Unicode's controls (Cc), lone surrogates, and the two separators that str.splitlines() takes for line ends.
_IN_A_LINE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_IN_A_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def has_controls(line: str) -> bool:
    """Whether `line` holds a control character or a line end, either of which could begin another header."""
    return _IN_A_LINE.search(line) is not None


def one_line(text: str) -> str:
    """Runs of spaces become one; ValueError on a control character."""
    if has_controls(text):
        raise ValueError("must be one line without control characters")
    return " ".join(text.split())


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _title(text: str) -> str:
    return one_line(" ".join(text.split()))


def _text(text: str) -> str:
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if _IN_A_TEXT.search(text):
        raise ValueError("must not hold control characters")
    return text


def _web_link(link: str) -> str:
    parts = urlsplit(link)
    if parts.scheme not in {"http", "https"} or not parts.hostname or has_controls(link) or " " in link:
        raise ValueError("must be an http or https address")
    return link


Name = Annotated[str, Field(min_length=1, max_length=120), AfterValidator(one_line), AfterValidator(_filled)]
Title = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_title), AfterValidator(_filled)]
Message = Annotated[
    str, Field(min_length=1, max_length=10_000), AfterValidator(_text), AfterValidator(_filled)
]
LongText = Annotated[
    str, Field(min_length=1, max_length=500_000), AfterValidator(_text), AfterValidator(_filled)
]
WebLink = Annotated[
    str, Field(max_length=2_000, json_schema_extra={"format": "uri"}), AfterValidator(_web_link)
]

"""A newsletter's recipients: as a list in JSON, as a CSV file, or pasted. Sorted out before anything is stored."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from app.intake.refusals import Refused, path, sentence
from services.email.addresses import Mailbox, address_key

MOST_RECIPIENTS = 50_000
# Each of them is told; a refusal is a sentence, and names so many.
_NAMED = 10
_HEADERS = ("email", "e-mail")
_NO_OBJECT = "Each recipient is an object with email and name."

# The line it stands in, and what stands there.
Row = tuple[int, object]


@dataclass(frozen=True)
class Invalid:
    """A row that nothing can be sent to. `line` is the file's, or the place in the list, from 1."""

    line: int
    reason: str


@dataclass(frozen=True)
class Recipients:
    """Everybody once, in their order, and what was left out."""

    mailboxes: list[Mailbox] = field(default_factory=list)
    duplicates: int = 0
    invalid: list[Invalid] = field(default_factory=list)


def from_list(rows: Sequence[Any], *, name: str) -> Recipients:
    """From objects with `email` and perhaps `name`. `name` is the field that a refusal names.

    Raises Refused when there are too many, or none that mail can be sent to.
    """
    return _sort(enumerate(rows, 1), name)


def from_text(text: str, *, name: str, header: bool) -> Recipients:
    """From CSV with the delimiter `,`, `;` or a tab. Columns are found by the header line (`email`, `name`; others
    are left aside); unless `header` is demanded, lines without one are an address and perhaps a name.

    Raises Refused as `from_list` does, and when it cannot be read as CSV.
    """
    return _sort(_rows(text, name, header), name)


def decode(data: bytes, *, name: str) -> str:
    """A file's text, in UTF-8 (with or without a byte order mark) or Windows-1252. Raises Refused."""
    for encoding in ("utf-8-sig", "cp1252"):
        with suppress(UnicodeDecodeError):
            text = data.decode(encoding)
            if "\0" not in text:
                return text
    message = "The file is not text in UTF-8 or Windows-1252; save it as CSV in UTF-8."
    raise Refused("recipients_unreadable", message, field=name)


def _sort(rows: Iterable[Row], name: str) -> Recipients:
    known: dict[str, Mailbox] = {}
    duplicates, invalid = 0, list[Invalid]()
    for count, (line, row) in enumerate(rows, 1):
        if count > MOST_RECIPIENTS:
            message = f"A newsletter goes to at most {MOST_RECIPIENTS:,} recipients."
            raise Refused("too_many_recipients", message, status=413, field=name)
        try:
            mailbox = Mailbox.model_validate(row)
        except ValidationError as error:
            invalid.append(Invalid(line, _reason(error)))
            continue
        duplicates += known.setdefault(address_key(mailbox.email), mailbox) is not mailbox
    if not known:
        raise _nobody(invalid, name)
    return Recipients(list(known.values()), duplicates, invalid)


def _rows(text: str, name: str, header: bool) -> Iterator[Row]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_delimiter(text), skipinitialspace=True, strict=True
    )
    columns: dict[str, int] | None = None
    line = 1
    try:
        for cells in reader:
            begins, line = line, reader.line_num + 1
            if not any(cell.strip() for cell in cells):
                continue
            if columns is None:
                columns, is_header = _columns(cells, name, header)
                if is_header:
                    continue
            yield begins, {key: cells[at] for key, at in columns.items() if at < len(cells)}
    except csv.Error:
        message = (
            f"Line {line} cannot be read as CSV: look for a quotation mark that is missing or not doubled."
        )
        raise Refused("recipients_unreadable", message, field=name) from None


def _columns(cells: Sequence[str], name: str, header: bool) -> tuple[dict[str, int], bool]:
    """Where each field stands, and whether this line is what says so."""
    titles = [cell.strip().lower() for cell in cells]
    email = next((at for at, title in enumerate(titles) if title in _HEADERS), None)
    if email is not None:
        return {"email": email} | ({"name": titles.index("name")} if "name" in titles else {}), True
    if header:
        message = "The first line of the file has to name its columns: email,name."
        raise Refused("recipients_without_header", message, field=name)
    return {"email": 0, "name": 1}, False


def _delimiter(text: str) -> str:
    """The one that the first line has most of."""
    first = text.lstrip().partition("\n")[0]
    return max(",;\t", key=first.count)


def _reason(error: ValidationError) -> str:
    fault = error.errors(include_input=False, include_url=False, include_context=False)[0]
    return sentence(path(fault["loc"]), fault["msg"]) if fault["loc"] else _NO_OBJECT


def _nobody(invalid: Sequence[Invalid], name: str) -> Refused:
    if not invalid:
        return Refused("no_recipients", "There is no recipient.", field=name)
    lines = " ".join(f"Line {each.line}: {each.reason}" for each in invalid[:_NAMED])
    more = f" And {len(invalid) - _NAMED:,} more." if len(invalid) > _NAMED else ""
    return Refused("no_valid_recipient", f"Nothing can be sent to any recipient. {lines}{more}", field=name)

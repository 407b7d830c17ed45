"""What the door says when it refuses. Sentences for people, which name fields and limits and quote nothing."""

from collections.abc import Mapping

from pydantic import ValidationError


class Refused(Exception):
    """The request cannot be accepted; nothing was stored and no job exists.

    `fields` maps every field at fault to its sentence; `field` and `message` are the first of them. `retry_after`
    is in seconds, for what may be accepted later.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 422,
        field: str | None = None,
        fields: Mapping[str, str] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retry_after = retry_after
        self.fields = dict(fields or ({field: message} if field else {}))
        self.field = next(iter(self.fields), None)

    @property
    def headers(self) -> dict[str, str]:
        """What the answer's headers say about it."""
        return {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}


def refuse_fields(code: str, reasons: Mapping[str, str], *, prefix: str = "") -> Refused:
    """A refusal from `reasons`: field → what is wrong with it, as pydantic or a validator of ours says it."""
    fields = {f"{prefix}{field}": sentence(field, reason) for field, reason in reasons.items()}
    return Refused(code, next(iter(fields.values())), fields=fields)


def refuse_invalid(code: str, error: ValidationError) -> Refused:
    """A refusal from what pydantic found; the values themselves are left out."""
    found = error.errors(include_input=False, include_url=False, include_context=False)
    return refuse_fields(code, {path(fault["loc"]): fault["msg"] for fault in found})


def sentence(field: str, reason: str) -> str:
    """`("subject", "must not be blank")` → "Subject must not be blank."; whole sentences stay as they are."""
    reason = reason.removeprefix("Value error, ").rstrip(".")
    for theirs, ours in _PLAIN.items():
        reason = reason.replace(theirs, ours)
    if reason[:1].isupper():
        return f"{reason}."
    name = field.rpartition(".")[2].replace("_", " ") or "it"
    return f"{name[:1].upper()}{name[1:]} {reason}."


def without_nul(text: str) -> str:
    """The text. Raises ValueError for a NUL character, which PostgreSQL stores in no text and in no JSON."""
    if "\0" in text:
        raise ValueError("must not contain NUL characters")
    return text


def path(location: tuple[int | str, ...]) -> str:
    """A place in a body as a field's name: `("to", "email")` → `to.email`."""
    return ".".join(map(str, location))[:120]


# pydantic speaks of types; a person filled in a field.
_PLAIN = {
    "Field required": "is missing",
    "Extra inputs are not permitted": "is not known here",
    "String should have at least 1 character": "must not be blank",
    "String should ": "must ",
    "Input should ": "must ",
    "List should ": "must ",
}

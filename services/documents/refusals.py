"""The Messages API's errors, translated by remedy.

Vendor messages may quote the request, the key included, so none of their text is kept: only the status, the
error's type and the request's id, by which Anthropic's support finds the rest.
"""

import math
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import anthropic

from services.documents.errors import ModelBusy, ModelMisconfigured, ModelThrottled, RequestRefused
from services.errors import ServiceError

# https://platform.claude.com/docs/en/api/errors. An error inside a stream comes with status 200, so its type decides.
_OURS = {"authentication_error", "billing_error", "permission_error", "not_found_error"}
_BUSY = {"overloaded_error", "api_error", "timeout_error", "gateway_timeout_error"}
_OUR_STATUSES = {401, 402, 403, 404}
_BUSY_STATUSES = {408, 409, 425, 499}
# An empty account and a spending limit come as plain invalid_request_error with status 400; only their text tells.
_CREDIT = re.compile(r"credit balance|usage limits|spend(ing)? limit|billing", re.IGNORECASE)
_LONGEST_WAIT = timedelta(days=7)


def translate(error: anthropic.APIStatusError) -> ServiceError:
    """The error to raise instead."""
    status, kind = error.status_code, _word(error.type)
    said = " ".join(
        word for word in (f"the Messages API answered {status}", kind, _word(error.request_id)) if word
    )
    if kind in _OURS or status in _OUR_STATUSES or (status == 400 and _CREDIT.search(str(error.api_message))):
        return ModelMisconfigured(f"{said}: check the key, its credit and the model's name")
    if status == 429 or kind == "rate_limit_error":
        return ModelThrottled(said, retry_after=retry_after(error.response.headers.get("retry-after")))
    if kind in _BUSY or status in _BUSY_STATUSES or status >= 500:
        return ModelBusy(said, retry_after=retry_after(error.response.headers.get("retry-after")))
    return RequestRefused(said)


def retry_after(header: str | None, *, now: datetime | None = None) -> timedelta | None:
    """Seconds or an HTTP date (RFC 9110, 10.2.3) as a wait from `now`, at most a week; None if there is none."""
    if header is None:
        return None
    try:
        seconds = float(header)
    except ValueError:
        return _until(header, now or datetime.now(UTC))
    if not math.isfinite(seconds):
        return None
    return timedelta(seconds=min(max(seconds, 0), _LONGEST_WAIT.total_seconds()))


def _until(header: str, now: datetime) -> timedelta | None:
    try:
        when = parsedate_to_datetime(header)
    except ValueError:
        return None
    # A date without a zone ("-0000") is UTC as well.
    wait = when.replace(tzinfo=when.tzinfo or UTC) - now
    return min(max(wait, timedelta(0)), _LONGEST_WAIT)


def _word(value: object) -> str:
    """The value if it is one plain word; an edge server may send anything in its place."""
    return value if isinstance(value, str) and re.fullmatch(r"[\w-]{1,64}", value) else ""

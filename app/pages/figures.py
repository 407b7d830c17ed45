"""Numbers and times as people read them. `times.js` and `dropzone.js` write the same forms."""

from datetime import UTC, datetime, timedelta

_STEPS = (
    (timedelta(minutes=1), "second", 1),
    (timedelta(hours=1), "minute", 60),
    (timedelta(days=1), "hour", 3_600),
    (timedelta(days=30), "day", 86_400),
)
_JUST_NOW_S = 5


def relative(instant: datetime) -> str:
    """`3 minutes ago`, `in 20 seconds`; the date when that is more than 30 days away."""
    away = instant - datetime.now(UTC)
    seconds = round(away.total_seconds())
    if abs(seconds) < _JUST_NOW_S:
        return "just now"
    for limit, unit, length in _STEPS:
        if abs(away) < limit:
            count = abs(seconds) // length
            amount = f"{count} {unit}{'' if count == 1 else 's'}"
            return f"in {amount}" if seconds > 0 else f"{amount} ago"
    return f"{instant:%-d %B %Y}"


def exact(instant: datetime) -> str:
    """`4 March 2026, 16:05:09 UTC`."""
    return f"{instant.astimezone(UTC):%-d %B %Y, %H:%M:%S} UTC"


def duration(length: timedelta) -> str:
    """`less than 0.1 s`, `0.4 s`, `12 s`, `3 min 5 s`, `2 h 10 min`."""
    seconds = max(0.0, length.total_seconds())
    if seconds < 0.1:
        return "less than 0.1 s"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def file_size(size: int) -> str:
    """`900 B`, `8.4 KB`, `84 KB`, `25 MB`; a KB has 1,024 bytes, as in the upload limit."""
    if size < 1024:
        return f"{size} B"
    for unit in ("KB", "MB"):
        factor = 1024 if unit == "KB" else 1024**2
        if size < 1024 * factor or unit == "MB":
            number = f"{size / factor:.1f}" if size < 10 * factor else f"{size / factor:.0f}"
            return f"{number.removesuffix('.0')} {unit}"
    raise AssertionError("the loop ends with MB")


def saved(size: int, original: int) -> str:
    """What a rendition saves against its original: `84 %`, or `12 % larger` when it saves nothing."""
    percent = round(100 * (original - size) / original)
    return f"{percent} %" if percent >= 0 else f"{-percent} % larger"

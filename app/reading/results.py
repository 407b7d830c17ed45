"""A job's result as it is shown: ids of files become addresses, and pictures tell what they save."""

from typing import Any


def file_url(file_id: str) -> str:
    """Where a stored file is fetched."""
    return f"/files/{file_id}"


def shown(result: dict[str, Any] | None) -> dict[str, Any] | None:
    """A copy of a stored result in which every `file_id` has its `url`."""
    if result is None:
        return None
    copy: dict[str, Any] = _with_urls(result)
    if "original" in copy:
        for rendition in copy.get("renditions", ()):
            rendition["bytes_saved"] = copy["original"]["bytes"] - rendition["bytes"]
    return copy


def file_urls(value: Any) -> list[str]:
    """Every address in a result that `shown` made, in order."""
    if isinstance(value, dict):
        own = [value["url"]] if "file_id" in value else []
        return own + [url for part in value.values() for url in file_urls(part)]
    return [url for part in value for url in file_urls(part)] if isinstance(value, list) else []


def _with_urls(value: Any) -> Any:
    if isinstance(value, dict):
        copy = {name: _with_urls(part) for name, part in value.items()}
        return copy | {"url": file_url(value["file_id"])} if "file_id" in value else copy
    return [_with_urls(part) for part in value] if isinstance(value, list) else value

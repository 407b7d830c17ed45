"""What a job is given: ids and small options, frozen and versioned."""

import json
from typing import Annotated, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

# A payload is read by the worker and by people; a larger one holds contents, not references.
MAX_PAYLOAD_BYTES = 4096

# The id of a row. PostgreSQL refuses to compare an id with any other text, so none may be stored.
Id = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]


class PayloadTooNew(Exception):
    """The payload was written by a newer release than this worker runs."""


class PayloadInvalid(ValueError):
    """The payload does not fit its schema; the message names the fields, never their values."""


class Payload(BaseModel):
    """The base of all payloads. Raise `version` with every change that an older worker cannot read."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    version: ClassVar[int] = 1

    @classmethod
    def upgrade(cls, version: int, data: dict[str, Any]) -> dict[str, Any]:
        """Turn the data of an older `version` into today's; override it when `version` is raised."""
        return data

    @classmethod
    def load(cls, version: int, data: dict[str, Any]) -> Self:
        """Read stored data. Raises PayloadTooNew, PayloadInvalid."""
        if version > cls.version:
            raise PayloadTooNew(f"version {version}, this worker knows {cls.version}")
        try:
            return cls.model_validate(cls.upgrade(version, data) if version < cls.version else data)
        except ValidationError as error:
            raise PayloadInvalid(_fields(error)) from None

    def dump(self) -> dict[str, Any]:
        """The payload as JSON data. Raises PayloadInvalid when it is too large to be references only."""
        data = self.model_dump(mode="json")
        if len(json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode()) > MAX_PAYLOAD_BYTES:
            raise PayloadInvalid(f"a payload holds ids and small options, at most {MAX_PAYLOAD_BYTES} bytes")
        return data


def _fields(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors())

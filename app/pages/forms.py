"""What the three forms share: the hidden fields, and faults that stand beside their fields.

The forms hold what was typed and judge nothing: `app.intake` does, for pages and API alike.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from flask_wtf import FlaskForm
from wtforms import HiddenField

from app.intake.refusals import Refused

_SUBMISSION = re.compile(r"[0-9a-f]{32}")


# Every form of the home page, by its slot.
FORMS: dict[str, type["PageForm"]] = {}


@dataclass(frozen=True)
class Fault:
    """One thing to mend. `target` is the id of its field's element, empty for the form as a whole."""

    message: str
    target: str = ""


class PageForm(FlaskForm):  # type: ignore[misc]  # Flask-WTF publishes no types
    """A form of the home page. `slot` is its name there, `at_most` how many files it takes."""

    slot: ClassVar[str]
    at_most: ClassVar[int] = 0
    # What to say instead of "must not be blank", by field.
    missing: ClassVar[Mapping[str, str]] = {}
    # Made with the page, so that a second click on the same form is answered with the first one's jobs.
    submission = HiddenField(default=lambda: uuid.uuid4().hex)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        FORMS[cls.slot] = cls

    @property
    def key(self) -> str | None:
        """The idempotency key of this copy of the form; None when a program left it out."""
        given = self.submission.data or ""
        return given if _SUBMISSION.fullmatch(given) else None

    def refuse(self, refused: Refused) -> None:
        """Put each reason beside its field, or over the form."""
        reasons = refused.fields or {"": refused.message}
        for name, message in reasons.items():
            if name in self._fields:
                self[name].errors = [self._said(name, message)]
            else:
                self.form_errors.append(message)

    def _said(self, name: str, message: str) -> str:
        blank = not str(self[name].data or "").strip()
        return self.missing.get(name, message) if blank else message

    def faults(self) -> list[Fault]:
        """What is wrong, in the order of the fields."""
        beside = [Fault(str(message), field.id) for field in self for message in field.errors]
        return beside + [Fault(str(message)) for message in self.form_errors]

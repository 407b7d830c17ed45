"""The mails this project knows, each with a model of its variables, checked before a job is accepted.

Values are only ever values: `{{ 7*7 }}` in a name is printed as it stands. HTML is always escaped and text
never is, whatever a file is called, because each has its own environment.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import css_inline
import jinja2
from markupsafe import Markup
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from config.settings import get_settings
from services.email.addresses import Address
from services.email.errors import BadContext, TemplateBroken, UnknownTemplate
from services.email.fields import LongText, Message, Name, Title, WebLink

_FILES = jinja2.FileSystemLoader(Path(__file__).with_name("templates"))
_HTML = jinja2.Environment(
    loader=_FILES, autoescape=True, undefined=jinja2.StrictUndefined, auto_reload=False
)
_TEXT = jinja2.Environment(
    loader=_FILES,
    autoescape=False,  # noqa: S701  # plain text: an escaped & would be read as "&amp;"
    undefined=jinja2.StrictUndefined,
    auto_reload=False,
    trim_blocks=True,
)
# A <link> in a mail must not make a worker fetch an address or read a file.
_INLINER = css_inline.CSSInliner(load_remote_stylesheets=False, keep_at_rules=True)


class Variables(BaseModel):
    """What a template needs; nothing else is accepted."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


class ContactNotification(Variables):
    """To the site's owner: what somebody wrote in the contact form."""

    name: Name
    email: Address
    subject: Title
    message: Message


class ContactAcknowledgement(Variables):
    """To the writer of a contact form. The message is not quoted: anybody can type anybody's address, and
    a form that mails strangers what was typed into it is used to send spam."""

    name: Name


class Welcome(Variables):
    """To a new member."""

    name: Name


class PasswordReset(Variables):
    """The link is a secret while it is valid; it stays in the delivery's row and never enters the queue."""

    name: Name
    reset_url: WebLink
    valid_minutes: Annotated[int, Field(ge=1, le=1_440)] = 60


class Newsletter(Variables):
    """One issue. `html` is the sender's own markup and goes out as it is, unescaped but never as a template:
    whoever may send mail in our name may choose its words. Show it on a page of ours only in a sandbox."""

    subject: Title
    html: LongText
    text: LongText
    unsubscribe_url: WebLink


@dataclass(frozen=True)
class Rendered:
    """A mail's subject, one line, and its two bodies."""

    subject: str
    html: str
    text: str


@dataclass(frozen=True)
class Template:
    """One kind of mail: `<name>.html` and `<name>.txt`, and `subject`, a template of its own.

    `automatic` mail tells other machines not to answer it (RFC 3834). `markup` are variables that are HTML. For an
    `urgent` one somebody waits before a screen, so it has high priority unless its sender says otherwise.
    """

    name: str
    subject: str
    variables: type[Variables]
    automatic: bool = False
    urgent: bool = False
    markup: frozenset[str] = frozenset()

    def check(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """The context, normalised and ready for JSON; BadContext names each variable that does not fit."""
        try:
            return self.variables.model_validate(dict(context)).model_dump(mode="json")
        except ValidationError as error:
            problems = {
                ".".join(map(str, found["loc"]))[:60]: _reason(found["type"], found["msg"])
                for found in error.errors(include_input=False, include_url=False, include_context=False)
            }
        # Outside the except block: the validation error knows the values and must not be chained.
        raise BadContext(problems)

    def render(self, context: Mapping[str, Any]) -> Rendered:
        """Subject and bodies. Raises BadContext, or TemplateBroken when the template or its markup is at fault."""
        values = self.check(context) | {"site_url": get_settings().public_url}
        trusted = {name: Markup(values[name]) for name in self.markup}  # noqa: S704  # see Newsletter
        try:
            html = _HTML.get_template(f"{self.name}.html").render(values | trusted)
            text = _TEXT.get_template(f"{self.name}.txt").render(values)
            subject = _line(self.subject).render(values)
        except jinja2.TemplateError as error:
            raise TemplateBroken(f"{self.name} cannot be rendered") from error
        return Rendered(subject=" ".join(subject.split()), html=_inlined(html), text=text)


def get_template(name: str) -> Template:
    """The template called `name`; UnknownTemplate lists those there are."""
    try:
        return TEMPLATES[name]
    except KeyError:
        raise UnknownTemplate(f"there is no such template; known are {', '.join(TEMPLATES)}") from None


TEMPLATES = {
    template.name: template
    for template in (
        Template("contact_notification", "Contact form: {{ subject }}", ContactNotification),
        Template(
            "contact_acknowledgement", "We received your message", ContactAcknowledgement, automatic=True
        ),
        Template("welcome", "Welcome, {{ name }}", Welcome, automatic=True),
        Template("password_reset", "Reset your password", PasswordReset, automatic=True, urgent=True),
    )
}

# Not among those that are sent by name: it has a list, a way to leave that, and its words in a row of its own.
NEWSLETTER = Template("newsletter", "{{ subject }}", Newsletter, markup=frozenset({"html"}))


@cache
def _line(source: str) -> jinja2.Template:
    return _TEXT.from_string(source)


def _inlined(html: str) -> str:
    try:
        return _INLINER.inline(html)
    except css_inline.InlineError:
        pass
    # Outside the except block: the inliner's error may quote the markup and must not be chained.
    raise TemplateBroken("a style in the markup is no CSS")


def _reason(kind: str, message: str) -> str:
    return {"missing": "is missing", "extra_forbidden": "is not a variable of this template"}.get(
        kind, message.removeprefix("Value error, ")
    )

"""Templates: what is checked at the door, and what values may do inside."""

import json
from pathlib import Path
from typing import Any

import pytest

from services.email.errors import BadContext, TemplateBroken, UnknownTemplate
from services.email.templates import NEWSLETTER, TEMPLATES, get_template

HOSTILE = "<img src=x onerror=alert(1)> {{ 7*7 }} {{ config }} {% for %}"
CONTEXTS: dict[str, dict[str, Any]] = {
    "contact_notification": {
        "name": "Ada",
        "email": "ada@example.test",
        "subject": "A question",
        "message": "First.\nSecond.",
    },
    "contact_acknowledgement": {"name": "Ada"},
    "welcome": {"name": "Ada"},
    "password_reset": {"name": "Ada", "reset_url": "https://example.test/reset?a=1&b=2"},
}
NEWS = {
    "subject": "March",
    "html": "<p>Hello</p>",
    "text": "Hello",
    "unsubscribe_url": "https://example.test/unsubscribe/t",
}


def test_every_template_has_an_example_here() -> None:
    assert CONTEXTS.keys() == TEMPLATES.keys()


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_checked_context_renders_and_survives_json(name: str) -> None:
    template = get_template(name)
    rendered = template.render(json.loads(json.dumps(template.check(CONTEXTS[name]))))
    assert rendered.subject
    assert rendered.text
    assert "<body" in rendered.html


@pytest.mark.parametrize(
    ("name", "variable"), [(name, variable) for name, context in CONTEXTS.items() for variable in context]
)
def test_a_missing_variable_is_named(name: str, variable: str) -> None:
    context = {key: value for key, value in CONTEXTS[name].items() if key != variable}
    with pytest.raises(BadContext) as caught:
        get_template(name).check(context)
    assert caught.value.problems == {variable: "is missing"}


def test_an_unknown_variable_is_named() -> None:
    with pytest.raises(BadContext) as caught:
        get_template("welcome").check({"name": "Ada", "nmae": "secret"})
    assert str(caught.value) == "nmae: is not a variable of this template"


@pytest.mark.parametrize(
    ("name", "variable", "value"),
    [
        ("welcome", "name", ""),
        ("welcome", "name", "   "),
        ("welcome", "name", 7),
        ("welcome", "name", "a" * 121),
        ("welcome", "name", "secret\nBcc: x@evil.test"),
        ("welcome", "name", "secret\ud800"),
        ("contact_notification", "email", "secret"),
        ("contact_notification", "subject", "secret\x00"),
        ("contact_notification", "message", "secret\x07"),
        ("password_reset", "reset_url", "javascript:secret"),
        ("password_reset", "reset_url", "https://secret .test"),
        ("password_reset", "reset_url", "https://[secret"),
        ("password_reset", "valid_minutes", 0),
    ],
)
def test_a_bad_value_is_named_and_not_quoted(name: str, variable: str, value: Any) -> None:
    with pytest.raises(BadContext) as caught:
        get_template(name).check(CONTEXTS[name] | {variable: value})
    assert caught.value.problems.keys() == {variable}
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def test_a_line_break_in_a_title_becomes_a_space() -> None:
    context = NEWSLETTER.check(NEWS | {"subject": "March:\r\nnews\n"})
    assert context["subject"] == "March: news"


def test_the_names_are_listed_when_one_is_unknown() -> None:
    with pytest.raises(UnknownTemplate, match="welcome"):
        get_template("layout")


def test_a_value_is_escaped_in_html_and_never_rendered() -> None:
    rendered = get_template("contact_notification").render(
        CONTEXTS["contact_notification"] | {"name": HOSTILE, "message": HOSTILE}
    )
    assert "<img" not in rendered.html
    assert "&lt;img src=x onerror=alert(1)&gt; {{ 7*7 }} {{ config }} {% for %}" in rendered.html
    assert "49" not in rendered.html


def test_a_value_is_not_escaped_in_text_nor_in_the_subject() -> None:
    rendered = get_template("welcome").render({"name": HOSTILE})
    assert HOSTILE in rendered.text
    assert rendered.subject == f"Welcome, {HOSTILE}"


def test_a_quote_cannot_leave_an_attribute() -> None:
    rendered = get_template("password_reset").render(
        {"name": "Ada", "reset_url": 'https://x.test/"onmouseover=alert(1)//'}
    )
    assert '"onmouseover' not in rendered.html


def test_an_address_cannot_add_a_recipient_to_the_link() -> None:
    rendered = get_template("contact_notification").render(
        CONTEXTS["contact_notification"] | {"email": "a?bcc=x@example.test"}
    )
    assert "mailto:a%3Fbcc%3Dx@example.test" in rendered.html


def test_a_newsletters_markup_goes_out_unescaped_and_unrendered() -> None:
    rendered = NEWSLETTER.render(NEWS | {"html": "<b>{{ 7*7 }}</b>"})
    assert "<b>{{ 7*7 }}</b>" in rendered.html


def test_styles_are_inlined_and_nothing_is_read_or_fetched_for_them(tmp_path: Path) -> None:
    stolen = tmp_path / "stolen.css"
    stolen.write_text("h2 { color: red }")
    links = (
        f'<link rel=stylesheet href="file://{stolen}"><link rel=stylesheet href="http://127.0.0.1:1/x.css">'
    )
    rendered = NEWSLETTER.render(NEWS | {"html": f"{links}<h2>Hi</h2>"})
    assert "<h2>Hi</h2>" in rendered.html
    assert 'style="margin: 0' in rendered.html


@pytest.mark.parametrize("style", ["secret", "{{secret}}", "color:red; secret", "width=100"])
def test_a_style_that_is_no_css_is_for_good_and_not_quoted(style: str) -> None:
    with pytest.raises(TemplateBroken) as caught:
        NEWSLETTER.render(NEWS | {"html": f'<p style="{style}">Hello</p>'})
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_templates_variables_can_be_described(name: str) -> None:
    schema = TEMPLATES[name].variables.model_json_schema()
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == set(CONTEXTS[name])

"""The OpenAPI document is valid, and what it says is so."""

import io
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest
from flask import Flask
from schemathesis.specs.openapi.definitions import OPENAPI_31

from app.api.openapi import document
from services.email.templates import TEMPLATES
from tests.support.web import Client

Headers = dict[str, str]
CONTEXTS: dict[str, dict[str, Any]] = {
    "contact_notification": {"name": "Ada", "email": "a@b.test", "subject": "Hi", "message": "Hello"},
    "contact_acknowledgement": {"name": "Ada"},
    "welcome": {"name": "Ada"},
    "password_reset": {"name": "Ada", "reset_url": "https://example.test/r"},
}


def mail(template: str) -> dict[str, Any]:
    return {"template": template, "to": {"email": "ada@example.test"}, "context": CONTEXTS[template]}


def conforms(value: object, schema: str) -> None:
    root = {"$ref": f"#/components/schemas/{schema}", "components": document()["components"]}
    jsonschema.Draft202012Validator(root, format_checker=jsonschema.FormatChecker()).validate(value)


def test_it_is_valid_openapi(client: Client) -> None:
    response = client.get("/api/v1/openapi.json")
    jsonschema.Draft202012Validator(OPENAPI_31).validate(response.json)


def test_it_names_every_call_of_the_api_and_no_other(app: Flask) -> None:
    described = {(method.upper(), path) for path, calls in document()["paths"].items() for method in calls}
    served = {
        (method, rule.rule.removeprefix("/api/v1").replace(f"<{argument}>", "{id}"))
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("api.")
        for argument in (rule.arguments or {""})
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert described == served


def test_each_template_has_its_variables_in_it() -> None:
    schemas = document()["components"]["schemas"]
    for name, template in TEMPLATES.items():
        context = schemas[f"Email_{name}"]["properties"]["context"]["$ref"].rpartition("/")[2]
        assert set(schemas[context]["properties"]) == set(template.variables.model_fields)


@pytest.mark.parametrize("template", CONTEXTS)
def test_a_mail_that_conforms_is_accepted_and_so_is_its_answer(
    client: Client, token: Callable[..., Headers], template: str
) -> None:
    conforms(mail(template), "Email")
    response = client.post("/api/v1/emails", json=mail(template), headers=token())
    assert response.status_code == 202
    conforms(response.json, "AcceptedJob")


def test_answers_are_as_described(
    client: Client, token: Callable[..., Headers], bury: Callable[[str], str]
) -> None:
    headers = token("submit", "operate")
    files = [(io.BytesIO(b"text"), "a.txt")]
    batch = client.post(
        "/api/v1/documents", data={"analysis": "summary", "files": files}, headers=headers
    ).json
    conforms(batch, "AcceptedBatch")
    letter = bury(batch["jobs"][0]["id"])
    for path, schema in (
        (batch["jobs"][0]["links"]["self"], "Job"),
        (batch["batch"]["links"]["self"], "BatchWithJobs"),
        ("/api/v1/dead-letters", "DeadLetters"),
        (f"/api/v1/dead-letters/{letter}", "DeadLetterDetails"),
        ("/api/v1/jobs/x", "Problem"),
    ):
        conforms(client.get(path, headers=headers).json, schema)
    replayed = client.post(f"/api/v1/dead-letters/{letter}/replay", headers=headers)
    conforms(replayed.json, "ReplayedDeadLetter")
    conforms(client.post("/api/v1/emails", json={}, headers=headers).json, "Problem")

"""POST /api/v1/documents."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from db.models import Job
from tests.support.web import Client

Headers = dict[str, str]
DOCUMENTS = ROOT / "tests" / "data" / "documents"


def form(*names: str, analysis: str = "summary") -> dict[str, Any]:
    files = [(io.BytesIO((DOCUMENTS / name).read_bytes()), name) for name in names]
    return {"analysis": analysis, "files": files}


def test_documents_are_a_batch_in_order_with_the_first_first(
    client: Client, token: Callable[..., Headers]
) -> None:
    names = ("utf8.txt", "table.csv", "plain.pdf", "simple.docx", "notes.md")
    response = client.post("/api/v1/documents", data=form(*names), headers=token())
    assert response.status_code == 202
    batch, jobs = response.json["batch"], response.json["jobs"]
    assert response.headers["Location"] == batch["links"]["self"] == f"/api/v1/batches/{batch['id']}"
    assert batch["counts"]["queued"] == batch["total"] == 5
    assert [job["priority"] for job in jobs] == ["high", *["normal"] * 4]
    assert [job["id"] for job in jobs] == sorted(job["id"] for job in jobs)


@pytest.mark.parametrize("name", ["empty.txt", "random_binary.txt", "zip_bomb_200MB.docx", "truncated.docx"])
def test_one_bad_document_refuses_them_all_and_is_named_by_its_place(
    client: Client,
    token: Callable[..., Headers],
    jobs: Callable[[], list[Job]],
    stored: Callable[[], list[Path]],
    name: str,
) -> None:
    response = client.post("/api/v1/documents", data=form("utf8.txt", name), headers=token())
    assert response.status_code in (413, 422)
    assert response.json["detail"].startswith("File 2 ")
    assert (jobs(), stored()) == ([], [])


@pytest.mark.parametrize("analysis", ["", "poem"])
def test_an_unknown_analysis_is_422(
    client: Client, token: Callable[..., Headers], stored: Callable[[], list[Path]], analysis: str
) -> None:
    response = client.post("/api/v1/documents", data=form("utf8.txt", analysis=analysis), headers=token())
    assert (response.status_code, response.json["errors"][0]["field"]) == (422, "analysis")
    assert stored() == []

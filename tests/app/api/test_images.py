"""POST /api/v1/images."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from db.models import Job
from tests.support.web import Client

Headers = dict[str, str]


def test_a_picture_is_accepted_with_the_defaults(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]], picture: bytes
) -> None:
    response = client.post("/api/v1/images", data={"file": (io.BytesIO(picture), "a.png")}, headers=token())
    assert response.status_code == 202
    (job,) = jobs()
    assert job.payload["options"] == {"widths": [320, 768, 1280], "format": "webp", "quality": 80}


def test_options_are_taken_from_the_form(
    client: Client, token: Callable[..., Headers], jobs: Callable[[], list[Job]], picture: bytes
) -> None:
    form = {"widths": "100, 50", "format": "jpeg", "quality": "60", "file": (io.BytesIO(picture), "a.png")}
    assert client.post("/api/v1/images", data=form, headers=token()).status_code == 202
    assert jobs()[0].payload["options"] == {"widths": [50, 100], "format": "jpeg", "quality": 60}


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ({"widths": "0"}, "widths"),
        ({"widths": "-1"}, "widths"),
        ({"widths": "1e9"}, "widths"),
        ({"widths": "NaN"}, "widths"),
        ({"widths": "100x"}, "widths"),
        ({"format": "bmp"}, "format"),
        ({"quality": "0"}, "quality"),
        ({"quality": "high"}, "quality"),
        ({"width": "100"}, "width"),
    ],
)
def test_bad_options_are_422_and_name_the_field(
    client: Client,
    token: Callable[..., Headers],
    jobs: Callable[[], list[Job]],
    stored: Callable[[], list[Path]],
    picture: bytes,
    form: dict[str, str],
    field: str,
) -> None:
    data = {**form, "file": (io.BytesIO(picture), "a.png")}
    response = client.post("/api/v1/images", data=data, headers=token())
    assert response.status_code == 422
    assert response.json["errors"][0]["field"] == field
    assert (jobs(), stored()) == ([], [])


def test_a_missing_file_is_422(client: Client, token: Callable[..., Headers]) -> None:
    response = client.post(
        "/api/v1/images", data={"widths": "100"}, content_type="multipart/form-data", headers=token()
    )
    assert (response.status_code, response.json["code"]) == (422, "missing_file")


def test_two_files_are_refused(client: Client, token: Callable[..., Headers], picture: bytes) -> None:
    data = {"file": [(io.BytesIO(picture), "a.png"), (io.BytesIO(picture), "b.png")]}
    assert client.post("/api/v1/images", data=data, headers=token()).status_code == 413


def test_json_is_415(client: Client, token: Callable[..., Headers]) -> None:
    assert client.post("/api/v1/images", json={}, headers=token()).status_code == 415

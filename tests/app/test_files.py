"""GET /files/<id>: by id, for whoever may see it, and never as something a browser would run."""

import io
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from app.security import Viewer
from config.settings import get_settings
from db.engine import reading, transaction
from db.models import Job, StoredFile
from db.types import new_id
from services.storage import storage
from tests.support.web import Client

Headers = dict[str, str]
Keep = Callable[..., str]


@pytest.fixture
def keep(client: Client, token: Callable[..., Headers], picture: bytes) -> Keep:
    """Upload a picture; with `made` True let its job have made a rendition. Returns the file's id."""

    def make(headers: Headers, *, made: bool, media_type: str = "image/webp") -> str:
        upload = {"file": (io.BytesIO(picture), "фото 1.png")}
        job_id = client.post("/api/v1/images", data=upload, headers=headers).json["job"]["id"]
        with reading() as session:
            original = session.scalars(select(StoredFile).order_by(StoredFile.id.desc())).first()
            job = session.get_one(Job, job_id)
        assert original is not None
        if not made:
            return original.id
        stored, id_ = storage().save(io.BytesIO(b"RIFF"), suffix="webp"), new_id()
        row: dict[str, object] = {
            "id": id_,
            "storage_key": stored.key,
            "name": "a-320.webp",
            "media_type": media_type,
        }
        row |= {"size": stored.size, "sha256": stored.sha256, "job_id": job_id, "created_by": job.created_by}
        with transaction() as connection:
            connection.execute(insert(StoredFile).values(row))
        return id_

    return make


def test_a_rendition_is_shown_in_its_own_type(
    client: Client, token: Callable[..., Headers], keep: Keep
) -> None:
    headers = token()
    response = client.get(f"/files/{keep(headers, made=True)}", headers=headers)
    assert (response.status_code, response.data) == (200, b"RIFF")
    assert response.content_type == "image/webp"
    assert response.headers["Content-Disposition"].startswith("inline")
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert "private" in response.headers["Cache-Control"]


def test_a_rendition_downloads_when_asked_to(
    client: Client, token: Callable[..., Headers], keep: Keep
) -> None:
    headers = token()
    response = client.get(f"/files/{keep(headers, made=True)}?download", headers=headers)
    assert response.headers["Content-Disposition"] == "attachment; filename=a-320.webp"


def test_an_original_is_an_attachment_under_its_own_name(
    client: Client, token: Callable[..., Headers], keep: Keep, picture: bytes
) -> None:
    headers = token()
    response = client.get(f"/files/{keep(headers, made=False)}", headers=headers)
    assert response.data == picture
    assert response.content_type == "application/octet-stream"
    disposition = response.headers["Content-Disposition"]
    assert disposition.startswith("attachment")
    assert "filename*=UTF-8''%D1%84%D0%BE%D1%82%D0%BE%201.png" in disposition


def test_only_types_that_our_encoders_write_are_shown(
    client: Client, token: Callable[..., Headers], keep: Keep
) -> None:
    headers = token()
    response = client.get(f"/files/{keep(headers, made=True, media_type='text/html')}", headers=headers)
    assert response.content_type == "application/octet-stream"
    assert response.headers["Content-Disposition"].startswith("attachment")


def test_an_unchanged_file_is_304(client: Client, token: Callable[..., Headers], keep: Keep) -> None:
    headers = token()
    path = f"/files/{keep(headers, made=True)}"
    tag = client.get(path, headers=headers).headers["ETag"]
    assert client.get(path, headers={**headers, "If-None-Match": tag}).status_code == 304


def test_somebody_elses_file_is_404(client: Client, token: Callable[..., Headers], keep: Keep) -> None:
    path = f"/files/{keep(token(), made=True)}"
    assert client.get(path, headers=token()).status_code == 404
    assert client.get(path).status_code == 404
    assert client.get(path, headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get(path, headers=token("operate")).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/files/..%2f..%2fetc/passwd",
        "/files//etc/passwd",
        "/files/%252e%252e%252fapp.db",
        "/files/..%5capp.db",
        "/files/%00",
        "/files/../app.db",
        "/files/00000000-0000-0000-0000-000000000000",
        "/files/link",
    ],
)
def test_nothing_is_reached_by_a_path(
    client: Client, token: Callable[..., Headers], tmp_path: Path, path: str
) -> None:
    folder = Path(get_settings().storage_url)
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path / "app.db")
    response = client.get(path, headers=token("operate"))
    assert response.status_code in (404, 308)
    assert b"SQLite" not in response.data


def test_a_file_that_storage_lost_is_404(
    client: Client, token: Callable[..., Headers], keep: Keep, stored: Callable[[], list[Path]]
) -> None:
    headers = token()
    path = f"/files/{keep(headers, made=False)}"
    for file in stored():
        file.unlink()
    assert client.get(path, headers=headers).status_code == 404


def test_a_viewer_sees_what_is_its_own() -> None:
    assert Viewer("session:a").may_see("session:a")
    assert not Viewer("session:a").may_see("session:b")
    assert not Viewer("session:a").may_see("token:a")
    assert Viewer("token:a", frozenset({"operate"})).may_see("session:b")

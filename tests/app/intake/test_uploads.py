"""Files at the door."""

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.datastructures import FileStorage

from app.intake.refusals import Refused
from app.intake.submissions import CommitUnknown
from app.intake.uploads import receive, shelve, shown_name
from config.settings import ROOT, Settings
from db.engine import reading
from db.models import Job, StoredFile
from tests.support.web import Client

Headers = dict[str, str]
IMAGES = ROOT / "tests" / "data" / "images"


def given(content: bytes, name: str = "a.txt") -> FileStorage:
    return FileStorage(io.BytesIO(content), filename=name)


@pytest.mark.usefixtures("settings")
class TestReceiving:
    def test_a_file_comes_measured_hashed_and_rewound(self) -> None:
        (upload,) = receive([given(b"abc")], field="file", at_most=1)
        assert (upload.size, upload.name, upload.stream.read()) == (3, "a.txt", b"abc")
        assert upload.sha256.startswith("ba7816bf")

    @pytest.mark.parametrize("files", [[], [given(b"", "")]])
    def test_no_file_is_refused(self, files: list[FileStorage]) -> None:
        with pytest.raises(Refused) as refusal:
            receive(files, field="file", at_most=1)
        assert (refusal.value.code, refusal.value.field) == ("missing_file", "file")

    def test_an_empty_file_among_others_is_named_by_its_place(self) -> None:
        with pytest.raises(Refused, match="File 2 is empty"):
            receive([given(b"a"), given(b"")], field="files", at_most=5)

    def test_too_many_files_are_refused_with_413(self) -> None:
        with pytest.raises(Refused) as refusal:
            receive([given(b"a")] * 3, field="files", at_most=2)
        assert refusal.value.status == 413


class TestNames:
    @pytest.mark.parametrize(
        ("sent", "shown"),
        [
            ("фото 2026.jpg", "фото 2026.jpg"),
            ("../../etc/passwd", "passwd"),
            ("C:\\pictures\\cat.png", "cat.png"),
            ("a\x00b\r\n.png", "ab.png"),
            ("gpj.\u202egnp", "gpj.gnp"),
            ("", "file"),
            ("/", "file"),
            ("\ud800.png", ".png"),
        ],
    )
    def test_a_name_is_its_last_part_without_invisible_signs(self, sent: str, shown: str) -> None:
        assert shown_name(sent) == shown

    def test_a_long_name_keeps_its_end(self) -> None:
        assert shown_name("x" * 400 + ".png") == "x" * 251 + ".png"


class TestShelving:
    def test_files_go_when_the_block_fails(self, settings: Settings) -> None:
        uploads = receive([given(b"a"), given(b"b")], field="files", at_most=2)
        kept: list[Path] = []

        def fail() -> None:
            with shelve(uploads, ["txt", "txt"]) as stored:
                kept.extend(Path(settings.storage_url) / file.key for file in stored)
                assert all(path.exists() for path in kept)
                raise RuntimeError

        with pytest.raises(RuntimeError):
            fail()
        assert [path.exists() for path in kept] == [False, False]

    def test_files_stay_when_nobody_knows_whether_their_rows_were_committed(self, settings: Settings) -> None:
        with (
            pytest.raises(CommitUnknown),
            shelve(receive([given(b"a")], field="file", at_most=1), ["txt"]) as stored,
        ):
            raise CommitUnknown
        assert (Path(settings.storage_url) / stored[0].key).exists()


@pytest.mark.parametrize(
    "name", ["empty.jpg", "one_byte.png", "spaces.gif", "html.jpg", "active.svg", "eps.jpg"]
)
def test_what_is_no_picture_is_refused_and_nothing_stored(
    client: Client,
    token: Callable[..., Headers],
    jobs: Callable[[], list[Job]],
    stored: Callable[[], list[Path]],
    name: str,
) -> None:
    upload = {"file": (io.BytesIO((IMAGES / name).read_bytes()), name)}
    response = client.post("/api/v1/images", data=upload, headers=token())
    assert response.status_code == 422
    assert response.json["errors"][0]["field"] == "file"
    assert (jobs(), stored()) == ([], [])


def test_storage_names_are_ours_whatever_files_are_called(
    client: Client,
    token: Callable[..., Headers],
    stored: Callable[[], list[Path]],
    picture: bytes,
    tmp_path: Path,
) -> None:
    names = [str(name) for name in json.loads((ROOT / "tests/data/upload_names.json").read_text("utf-8"))]
    headers = token()
    before = {path for path in tmp_path.rglob("*") if "files" not in path.parts}
    statuses = []
    for name in names:
        file = FileStorage(io.BytesIO(picture), filename=name or "x", content_type="text/html")
        statuses.append(client.post("/api/v1/images", data={"file": file}, headers=headers).status_code)
    # A raw line break in a part's header is a broken form; browsers send %0A.
    assert set(statuses) == {202, 422}
    assert len(stored()) == statuses.count(202) > 20
    assert all(path.suffix == ".png" and len(path.stem) == 36 for path in stored())
    assert {path for path in tmp_path.rglob("*") if "files" not in path.parts} == before
    with reading() as session:
        assert {file.media_type for file in session.query(StoredFile)} == {"image/png"}

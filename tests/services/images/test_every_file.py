"""Every file of tests/data/images has the outcome its table states, at the door and in the worker alike."""

import csv
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from services.images.errors import PictureRefused
from services.images.inspect import inspect
from services.images.options import ResizeOptions
from services.images.resize import resize

DATA = Path(__file__).parents[2] / "data" / "images"
with (DATA / "expected.csv").open(encoding="utf-8", newline="") as _table:
    EXPECTED = list(csv.DictReader(_table))
ACCEPTED = [row for row in EXPECTED if row["width"]]
REFUSED = [row for row in EXPECTED if not row["width"]]

Open = Callable[[str], BytesIO]


def _name(row: dict[str, str]) -> str:
    return row["file"]


def test_the_table_names_every_file() -> None:
    assert {row["file"] for row in EXPECTED} == {path.name for path in DATA.iterdir()} - {"expected.csv"}


@pytest.mark.parametrize("row", ACCEPTED, ids=_name)
def test_a_good_file_is_known_by_its_content(picture: Open, row: dict[str, str]) -> None:
    seen = inspect(picture(row["file"]))
    assert [seen.format, str(seen.width), str(seen.height), str(seen.frames)] == [
        row["outcome"],
        row["width"],
        row["height"],
        row["frames"],
    ]


@pytest.mark.parametrize("form", ["jpeg", "webp", "avif", "png"])
@pytest.mark.parametrize("row", [row for row in ACCEPTED if int(row["height"]) < 16_383], ids=_name)
def test_a_good_file_becomes_renditions_that_open_again(
    picture: Open, row: dict[str, str], form: str
) -> None:
    options = ResizeOptions.model_validate({"widths": (1, 40), "format": form})
    for made in resize(picture(row["file"]), options):
        image = Image.open(BytesIO(made.data))
        image.load()
        assert (image.size, image.get_format_mimetype()) == ((made.width, made.height), made.media_type)


@pytest.mark.parametrize("row", REFUSED, ids=_name)
def test_a_bad_file_is_refused_alike_at_the_door_and_in_the_worker(
    picture: Open, row: dict[str, str]
) -> None:
    with pytest.raises(PictureRefused) as at_the_door:
        inspect(picture(row["file"]))
    with pytest.raises(PictureRefused) as in_the_worker:
        list(resize(picture(row["file"]), ResizeOptions()))
    assert at_the_door.value.code == in_the_worker.value.code == row["outcome"]
    assert str(at_the_door.value).endswith(".")

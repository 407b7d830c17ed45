"""The look at the door."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from services.images.errors import NotAPicture, PictureBroken, PictureTooLarge
from services.images.formats import MAX_FRAMES
from services.images.gif import count_gif_frames
from services.images.inspect import inspect
from services.images.source import reading

Open = Callable[[str], BytesIO]
Save = Callable[..., BytesIO]


def test_the_stream_is_at_its_start_again(picture: Open) -> None:
    good, bad = picture("plain_320x240.jpg"), picture("text.jpg")
    inspect(good)
    with pytest.raises(NotAPicture):
        inspect(bad)
    assert good.tell() == bad.tell() == 0


def test_sizes_are_as_seen_upright(picture: Open) -> None:
    seen = inspect(picture("orient_6_photo_800x600.jpg"))
    assert (seen.width, seen.height) == (800, 600)


@pytest.mark.parametrize("name", ["eps.jpg", "eps.eps"])
def test_postscript_starts_no_ghostscript(
    picture: Open, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker, script = tmp_path / "started", tmp_path / "gs"
    script.write_text(f"#!/bin/sh\ntouch {marker}\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(NotAPicture):
        inspect(picture(name))
    assert not marker.exists()


def test_a_gif_of_too_many_frames_is_refused_without_counting_them_all() -> None:
    dot = b"\x2c\0\0\0\0\1\0\1\0\0\2\2\x44\1\0"
    with pytest.raises(PictureTooLarge, match="at most 1000 frames"):
        inspect(BytesIO(b"GIF89a\1\0\1\0\x80\0\0\0\0\0\xff\xff\xff" + dot * 700_000 + b";"))


def test_a_tiff_of_too_many_pages_is_refused(saved: Save) -> None:
    page = Image.new("L", (1, 1))
    stream = saved(page, format="TIFF", save_all=True, append_images=[page] * MAX_FRAMES)
    with pytest.raises(PictureTooLarge, match="at most 1000 pages"):
        inspect(stream)


def test_a_webp_beyond_its_own_limit_is_refused_below_the_general_one(saved: Save) -> None:
    with pytest.raises(PictureTooLarge, match="20 megapixels"):
        inspect(saved(Image.new("L", (16_000, 1_300)), format="WEBP", method=0))


@pytest.mark.parametrize("name", ["anim.gif", "anim_partial_frames.gif", "palette.gif"])
def test_frames_of_a_gif_are_counted_as_pillow_does(picture: Open, name: str) -> None:
    data = picture(name).getvalue()
    with Image.open(BytesIO(data)) as image:
        assert count_gif_frames(data, 100) == getattr(image, "n_frames", 1)


def test_a_gif_cut_off_is_broken(picture: Open) -> None:
    with pytest.raises(PictureBroken):
        inspect(BytesIO(picture("anim.gif").getvalue()[:-20]))


def test_a_failing_store_is_not_taken_for_a_broken_picture() -> None:
    class Failing(BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise OSError("the store does not answer")

    with pytest.raises(OSError, match="the store does not answer"):
        inspect(Failing())


def test_a_time_limit_that_strikes_while_decoding_gets_through() -> None:
    class TimeIsUp(Exception):
        """As Celery's SoftTimeLimitExceeded: an Exception, and of no narrower kind."""

    with pytest.raises(TimeIsUp), reading():
        raise TimeIsUp

"""Sizes, formats, animation, and what must not be in a rendition."""

from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image

from services.images.errors import PictureBroken, SideTooLong
from services.images.inspect import inspect
from services.images.options import ResizeOptions
from services.images.resize import Rendition, resize

Open = Callable[[str], BytesIO]
Make = Callable[..., list[Rendition]]
Save = Callable[..., BytesIO]

MOVING = ["anim.gif", "anim_partial_frames.gif", "anim.apng.png", "anim.webp"]


def test_the_widest_comes_first_and_keeps_the_proportions(renditions: Make) -> None:
    made = renditions("orient_6_photo_800x600.jpg", widths=(100, 400))
    assert [(each.width, each.height) for each in made] == [(400, 300), (100, 75)]


def test_nothing_is_enlarged_and_its_own_width_comes_once(renditions: Make) -> None:
    made = renditions("plain_320x240.jpg", widths=(160, 640, 1280))
    assert [(each.width, each.height) for each in made] == [(320, 240), (160, 120)]


def test_a_side_is_never_less_than_a_pixel(renditions: Make) -> None:
    assert [(each.width, each.height) for each in renditions("3012x5.png", widths=(128,))] == [(128, 1)]


@pytest.mark.parametrize(("form", "limit"), [("webp", 16_383), ("avif", 32_768)])
def test_a_side_the_format_has_no_room_for_is_named(renditions: Make, form: str, limit: int) -> None:
    with pytest.raises(SideTooLong, match=f"{form} picture has at most {limit} pixels"):
        renditions("1x60000.png", format=form)


@pytest.mark.parametrize("form", ["jpeg", "webp", "avif", "png"])
@pytest.mark.parametrize("name", ["gps.jpg", "gps_small_40x30.jpg"])
def test_no_metadata_survives(renditions: Make, name: str, form: str) -> None:
    for made in renditions(name, format=form):
        image = Image.open(BytesIO(made.data))
        image.load()
        assert b"CANARY" not in made.data
        assert not dict(image.getexif())
        assert not {"exif", "xmp", "comment", "icc_profile"} & image.info.keys()


def test_damage_that_only_a_decode_finds_yields_no_rendition(saved: Save) -> None:
    whole = saved(Image.effect_noise((300, 300), 60), format="TIFF", compression="tiff_lzw").getvalue()
    damaged = BytesIO(whole[:2_000] + b"\xff" * 20_000 + whole[22_000:])
    assert inspect(damaged).format == "tiff"
    with pytest.raises(PictureBroken):
        next(resize(damaged, ResizeOptions()))


@pytest.mark.parametrize("name", MOVING)
def test_an_animation_stays_one_in_webp(renditions: Make, name: str) -> None:
    for made in renditions(name, widths=(40, 80)):
        image = Image.open(BytesIO(made.data))
        durations = []
        for index in range(image.n_frames):  # type: ignore[attr-defined]  # a WebP has it
            image.seek(index)
            image.load()
            durations.append(image.info["duration"])
        assert durations == [100, 200, 300, 400]
        assert image.info["loop"] == (3 if name == "anim_partial_frames.gif" else 0)
        assert (made.frames, made.note) == (4, None)


@pytest.mark.parametrize("name", MOVING)
def test_elsewhere_its_first_frame_is_taken_and_said_so(renditions: Make, name: str) -> None:
    (made,) = renditions(name, widths=(40,), format="png")
    assert (made.frames, made.note) == (1, "first of 4 frames")


def test_a_moving_part_on_a_transparent_canvas_stays_on_nothing(saved: Save) -> None:
    frames = []
    for left in (0, 8, 16):
        frames.append(Image.new("RGBA", (64, 64), (0, 0, 0, 0)))
        frames[-1].paste((255, 0, 0, 255), (left, 8, left + 24, 40))
    moving = saved(frames[0], format="PNG", save_all=True, append_images=frames[1:], duration=100)
    (made,) = resize(moving, ResizeOptions(widths=(64,)))
    image = Image.open(BytesIO(made.data))
    for index, left in enumerate((0, 8, 16)):
        image.seek(index)
        pixels = image.convert("RGBA")
        assert _alpha(pixels, (left + 12, 20)) == 255
        assert _alpha(pixels, (60, 60)) == 0


def test_the_first_page_of_a_tiff_is_taken(renditions: Make) -> None:
    (made,) = renditions("multipage.tif", format="png")
    assert made.note == "first of 3 pages"
    assert Image.open(BytesIO(made.data)).convert("RGB").getpixel((30, 20)) == (255, 0, 0)


def test_the_second_picture_of_a_phone_is_nowhere(renditions: Make) -> None:
    (made,) = renditions("phone_mpo.jpg", format="png", widths=(50,))
    colours = Image.open(BytesIO(made.data)).convert("RGB").getcolors(100_000) or []
    assert not [rgb for _, rgb in colours if rgb[0] > 200 and rgb[1] < 60 and rgb[2] > 200]  # type: ignore[index]  # RGB


def _alpha(image: Image.Image, at: tuple[int, int]) -> int:
    alpha = image.getchannel("A").getpixel(at)
    assert isinstance(alpha, int)
    return alpha

"""Pixels: upright, in sRGB, at the right depth, with transparency where the format has it."""

from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image, ImageStat

from services.images.errors import PictureBroken
from services.images.options import ResizeOptions
from services.images.resize import resize

Render = Callable[..., Image.Image]
Save = Callable[..., BytesIO]


def _close(image: Image.Image, at: tuple[int, int], wanted: tuple[int, ...], tolerance: int = 10) -> bool:
    mode = "RGBA" if len(wanted) == 4 else "RGB"
    pixel = image.convert(mode).getpixel(at)
    assert isinstance(pixel, tuple)
    return all(abs(one - other) <= tolerance for one, other in zip(pixel, wanted, strict=True))


@pytest.mark.parametrize("name", [*(f"orient_{tag}.jpg" for tag in (1, 2, 4, 6, 8)), "orient_6.png"])
@pytest.mark.parametrize("width", [24, 96])
def test_a_turned_picture_comes_out_upright(rendered: Render, name: str, width: int) -> None:
    image = rendered(name, widths=(width,), format="png")
    assert image.size == (width, width * 2 // 3)
    assert _close(image, (image.width // 10, image.height // 10), (220, 30, 30))
    assert _close(image, (image.width * 9 // 10, image.height // 10), (30, 180, 30))


@pytest.mark.parametrize(
    ("tag", "stored_as"),
    [
        (2, Image.Transpose.FLIP_LEFT_RIGHT),
        (3, Image.Transpose.ROTATE_180),
        (4, Image.Transpose.FLIP_TOP_BOTTOM),
        (5, Image.Transpose.TRANSPOSE),
        (6, Image.Transpose.ROTATE_90),
        (7, Image.Transpose.TRANSVERSE),
        (8, Image.Transpose.ROTATE_270),
    ],
)
@pytest.mark.parametrize("form", ["PNG", "TIFF", "JPEG", "WEBP", "AVIF"])
def test_every_orientation_is_turned_back(
    saved: Save, form: str, tag: int, stored_as: Image.Transpose
) -> None:
    upright = Image.new("RGB", (96, 64), "white")
    upright.paste("red", (0, 0, 32, 32))
    exif = Image.Exif()
    exif[0x0112] = tag
    stream = saved(upright.transpose(stored_as), format=form, exif=exif)
    (made,) = resize(stream, ResizeOptions(format="png"))
    image = Image.open(BytesIO(made.data))
    assert image.size == upright.size
    assert _close(image, (16, 16), (255, 0, 0))
    assert all(_close(image, corner, (255, 255, 255)) for corner in ((80, 16), (16, 52), (80, 52)))


@pytest.mark.parametrize("name", ["orient_invalid_0.jpg", "orient_invalid_255.jpg", "exif_garbage.jpg"])
def test_an_orientation_without_meaning_is_ignored(rendered: Render, name: str) -> None:
    assert rendered(name, format="png").size == (96, 64)


@pytest.mark.parametrize("form", ["jpeg", "webp", "avif", "png"])
@pytest.mark.parametrize("name", ["cmyk_adobe_inverted.jpg", "cmyk_no_adobe_marker.jpg", "cmyk.tif"])
def test_inks_become_light_and_not_a_negative(rendered: Render, name: str, form: str) -> None:
    image = rendered(name, format=form)
    assert image.mode == "RGB"
    assert _close(image, (10, 32), (255, 0, 0), 12)
    assert _close(image, (86, 32), (255, 255, 255), 12)


@pytest.mark.parametrize("name", ["gray16_ramp.png", "gray16_be.tif", "float32.tif"])
def test_a_deep_grey_ramp_keeps_its_levels(rendered: Render, name: str) -> None:
    grey = rendered(name, format="png").convert("L")
    assert len(grey.getcolors() or []) > 200
    assert abs(ImageStat.Stat(grey).mean[0] - 127) < 3


def test_48_bit_colour_is_not_clipped(rendered: Render) -> None:
    image = rendered("rgb16.png", format="png")
    assert image.mode == "RGB"
    assert len(image.getcolors(4096) or []) > 100


def test_floats_of_any_range_are_stretched(saved: Save) -> None:
    ramp = Image.linear_gradient("L").convert("F").point(lambda value: value * 10 - 1000)
    (made,) = resize(saved(ramp, format="TIFF"), ResizeOptions(format="png"))
    assert Image.open(BytesIO(made.data)).getextrema() == (0, 255)


def test_floats_that_are_no_numbers_are_refused(saved: Save) -> None:
    with pytest.raises(PictureBroken):
        list(resize(saved(Image.new("F", (9, 9), float("nan")), format="TIFF"), ResizeOptions()))


@pytest.mark.parametrize("name", ["palette_trns_index.png", "la.png", "rgba_hidden_green.png"])
def test_transparency_becomes_white_in_jpeg_and_stays_elsewhere(rendered: Render, name: str) -> None:
    assert _close(rendered(name, format="jpeg"), (1, 1), (255, 255, 255))
    for form in ("webp", "avif", "png"):
        image = rendered(name, format=form)
        assert image.convert("RGBA").getchannel("A").getextrema() == (0, 255)


@pytest.mark.parametrize(("mode", "key"), [("L", 0), ("RGB", (0, 0, 0)), ("1", 0)])
def test_a_transparent_colour_is_honoured_without_an_alpha_channel(
    saved: Save, mode: str, key: int | tuple[int, int, int]
) -> None:
    image = Image.new(mode, (20, 20), 0)
    image.paste(1 if mode == "1" else "white", (0, 0, 10, 20))
    (made,) = resize(saved(image, format="PNG", transparency=key), ResizeOptions(format="png"))
    alpha = Image.open(BytesIO(made.data)).getchannel("A")
    assert (alpha.getpixel((2, 2)), alpha.getpixel((18, 2))) == (255, 0)


@pytest.mark.parametrize("form", ["jpeg", "png"])
def test_colour_hidden_under_transparency_makes_no_fringe(rendered: Render, form: str) -> None:
    image = rendered("rgba_hidden_green.png", widths=(25,), format=form).convert("RGBA")
    for count, pixel in image.getcolors(10_000) or []:
        assert count
        assert isinstance(pixel, tuple)
        red, green, blue, alpha = pixel
        assert alpha < 8 or green <= max(red, blue) + 30


def test_a_palette_is_averaged_and_not_picked_from(rendered: Render) -> None:
    assert len(rendered("palette.gif", widths=(60,), format="png").getcolors(10_000) or []) > 64


def test_one_bit_is_smoothed(rendered: Render) -> None:
    assert len(rendered("one_bit.png", widths=(20,), format="png").getcolors() or []) > 2


@pytest.mark.parametrize("name", ["display_p3.jpg", "display_p3.png"])
def test_a_wide_gamut_is_converted(rendered: Render, name: str) -> None:
    image = rendered(name, format="png")
    assert _close(image, (10, 20), (219, 37, 13), 6)
    assert _close(image, (50, 20), (0, 195, 13), 6)


def test_grey_stays_grey(rendered: Render) -> None:
    assert rendered("grayscale.jpg", format="jpeg").mode == "L"


def test_a_large_picture_shrinks_evenly_across_its_bands(saved: Save) -> None:
    ramp = Image.linear_gradient("L").resize((3_000, 2_501)).convert("RGBA")
    (made,) = resize(saved(ramp, format="PNG", compress_level=1), ResizeOptions(widths=(30,), format="png"))
    column = [Image.open(BytesIO(made.data)).convert("L").getpixel((15, y)) for y in range(made.height)]
    expected = [255 * (y + 0.5) / made.height for y in range(made.height)]
    assert all(
        isinstance(seen, int) and abs(seen - wanted) < 3
        for seen, wanted in zip(column, expected, strict=True)
    )

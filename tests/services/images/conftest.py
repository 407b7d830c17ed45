"""Pictures from tests/data/images, and renditions opened again."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from services.images.options import ResizeOptions
from services.images.resize import Rendition, resize

DATA = Path(__file__).parents[2] / "data" / "images"

Renditions = Callable[..., list[Rendition]]


@pytest.fixture
def picture() -> Callable[[str], BytesIO]:
    """The content of a file by its name."""
    return lambda name: BytesIO((DATA / name).read_bytes())


@pytest.fixture
def renditions(picture: Callable[[str], BytesIO]) -> Renditions:
    """All renditions of a file; keywords are those of ResizeOptions."""
    return lambda name, **options: list(resize(picture(name), ResizeOptions(**options)))


@pytest.fixture
def rendered(renditions: Renditions) -> Callable[..., Image.Image]:
    """The largest rendition of a file, decoded."""

    def render(name: str, **options: object) -> Image.Image:
        image = Image.open(BytesIO(renditions(name, **options)[0].data))
        image.load()
        return image

    return render


@pytest.fixture
def saved() -> Callable[..., BytesIO]:
    """An image as a file; keywords are those of Pillow's save."""

    def save(image: Image.Image, **options: object) -> BytesIO:
        target = BytesIO()
        image.save(target, **options)  # type: ignore[arg-type]  # passed through as given
        target.seek(0)
        return target

    return save

"""The files behind "Try it with a sample"; visitors can look at them under /static/samples/."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from werkzeug.datastructures import FileStorage

_FOLDER = Path(__file__).resolve().parent.parent / "static" / "samples"


@contextmanager
def sample(name: str) -> Iterator[list[FileStorage]]:
    """The sample as if somebody had uploaded it."""
    with (_FOLDER / name).open("rb") as stream:
        yield [FileStorage(stream=stream, filename=name)]

"""Settings, sample files and a Messages API for the tests of this folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from config.settings import get_settings
from services.documents.claude import Claude, Limits
from services.documents.extract import Document, extract
from tests.support.messages_api import MessagesApi

SAMPLES = Path(__file__).parents[2] / "data" / "documents"
MODEL = "claude-sonnet-5-5"


@pytest.fixture(autouse=True)
def configure(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Sets variables of the environment; without a call, everything has its default and no file is read."""

    def set_variables(**variables: str) -> None:
        for name, value in variables.items():
            monkeypatch.setenv(name.upper(), value)
        get_settings.cache_clear()

    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL", "MAX_UPLOAD_BYTES"):
        monkeypatch.delenv(name, raising=False)
    set_variables(env_file="")
    yield set_variables
    get_settings.cache_clear()


@pytest.fixture
def samples() -> Path:
    return SAMPLES


@pytest.fixture
def read_sample() -> Callable[[str], Document]:
    def read(name: str) -> Document:
        with (SAMPLES / name).open("rb") as stream:
            return extract(stream, name)

    return read


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi() as server:
        yield server


@pytest.fixture
def connect(api: MessagesApi) -> Callable[..., Claude]:
    """A client of `api`; by default patient enough for a busy machine."""

    def client(*, model: str = MODEL, key: str = "sk-test-key", limits: Limits | None = None) -> Claude:
        return Claude(api_key=key, base_url=api.url, model=model, limits=limits or Limits())

    return client

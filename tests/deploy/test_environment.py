"""`.env.example` documents exactly the settings there are, with values that are accepted."""

import re
from pathlib import Path

import pytest

from config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / ".env.example"


def test_the_example_names_every_setting_and_no_other() -> None:
    names = re.findall(r"^([A-Z_]+)=", EXAMPLE.read_text(), re.MULTILINE)
    assert sorted(names) == sorted(field.upper() for field in Settings.model_fields)


def test_the_example_shows_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    for field in Settings.model_fields:
        monkeypatch.delenv(field.upper(), raising=False)
    assert Settings(_env_file=EXAMPLE) == Settings(_env_file=None)

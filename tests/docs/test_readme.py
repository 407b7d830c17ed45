"""What the README says exists: its commands, its settings, its files."""

import re
from pathlib import Path

import click
import pytest

from app import create_app
from config.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text() + (ROOT / "CONTRIBUTING.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`| {4})make ([a-z]+)\b", TEXT))))
def test_make_knows_the_target(target: str) -> None:
    assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("words", sorted(set(re.findall(r"\bflask ((?:[a-z-]+ ?){1,2})", TEXT))))
def test_flask_knows_the_command(words: str, settings: Settings) -> None:
    first, *rest = words.split()
    command = create_app().cli.commands[first]
    if isinstance(command, click.Group) and rest:
        assert rest[0] in command.commands


@pytest.mark.parametrize(
    "path",
    sorted(
        set(re.findall(r"`((?:app|tasks|services|db|config|dev|bench|chaos|docs|tests)/[\w/.-]*)`", TEXT))
        - {"app/"}
    ),
)
def test_the_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(((?!http)[^)]+)\)", TEXT))))
def test_the_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`([A-Z][A-Z]+_[A-Z_]+)`", TEXT))))
def test_the_setting_exists(name: str) -> None:
    assert name.lower() in Settings.model_fields

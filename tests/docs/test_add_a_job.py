"""The steps of docs/add-a-job.md, carried out in a copy of the project."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GUIDE = (ROOT / "docs" / "add-a-job.md").read_text()
# A path on a line of its own, then a block of code.
STEP = re.compile(
    r"^`(?P<path>[\w/.-]+)`\n\n```(?P<language>\w+)\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^```sh\n(?P<command>.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """What git knows of the project, and this environment."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            target = tmp_path / "copy" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    (tmp_path / "copy" / ".venv" / "bin").mkdir(parents=True)
    for tool in ("pytest", "ruff", "mypy"):
        script = tmp_path / "copy" / ".venv" / "bin" / tool
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m {tool} "$@"\n')
        script.chmod(0o755)
    return tmp_path / "copy"


def insert(file: Path, diff: str) -> None:
    """Put the added lines after the line that stands before them in the block."""
    before, added = re.split(r"^\+", diff, maxsplit=1, flags=re.MULTILINE)
    anchor = before.removeprefix(" ")
    text = file.read_text()
    assert anchor in text, f"{anchor!r} is not in {file.name}"
    file.write_text(text.replace(anchor, anchor + added.removeprefix("+"), 1))


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_ADDOPTS": "-p no:cacheprovider", "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def test_the_weighed_limit_that_the_guide_shows_can_be_declared() -> None:
    block = next(found["code"] for found in BLOCK.finditer(GUIDE) if "weight=" in found["code"])
    ref = 'TextRef(text_id="019a0c5e-7b5e-7c3a-8f57-2f6c1d0a9b11", tokens=300)'
    check = f"{block}\nassert translate.weigh({ref}) == 300"
    done = subprocess.run(
        [sys.executable, "-c", check], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_steps_give_a_job_that_passes_its_tests_and_the_contract(copy: Path) -> None:
    paths = []
    for step in STEP.finditer(GUIDE):
        file = copy / step["path"]
        if step["language"] == "diff":
            insert(file, step["code"])
        else:
            assert not file.exists(), f"{step['path']} is there already"
            file.write_text(step["code"])
        paths.append(step["path"])
    assert len(paths) == 5
    for command in COMMAND.finditer(GUIDE):
        done = run(command["command"], copy)
        assert done.returncode == 0, done.stdout + done.stderr
    # What the guide shows is as clean as what it is added to.
    sources = " ".join(path for path in paths if path.endswith(".py"))
    for check in (f".venv/bin/ruff check {sources}", f".venv/bin/ruff format --check {sources}"):
        done = run(check, copy)
        assert done.returncode == 0, done.stdout + done.stderr

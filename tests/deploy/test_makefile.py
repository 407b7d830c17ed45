"""The Makefile: what it would do, and what it says when something is missing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def make(folder: Path, *arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.run(
        [shutil.which("make") or "make", *arguments],
        cwd=folder,
        env=environment | ({"PATH": path} if path is not None else {}),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder as a fresh clone has it, as far as make looks at it."""
    for name in ("Makefile", "requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


@pytest.fixture
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to be the whole PATH: the few commands the Makefile's shell uses, and no Python."""
    folder = tmp_path_factory.mktemp("tools")
    for name in ("sh", "tail", "touch", "echo"):
        (folder / name).symlink_to(shutil.which(name) or name)
    return folder


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def test_a_fresh_clone_installs_pinned_and_hashed_packages_before_it_runs(clone: Path) -> None:
    plan = make(clone, "--dry-run", "run").stdout
    steps = ["venv .venv", "--require-hashes -r requirements.txt", "-m dev.run"]
    positions = [plan.index(step) for step in steps]
    assert positions == sorted(positions)
    assert "requirements-dev.txt" not in plan


def test_a_second_run_installs_nothing(clone: Path) -> None:
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (clone / ".venv" / "installed").touch()
    assert make(clone, "--dry-run", "run").stdout.strip() == ".venv/bin/python -m dev.run"


def test_changed_requirements_are_installed_again(clone: Path) -> None:
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    (clone / ".venv" / "installed").touch()
    os.utime(clone / "requirements.txt", (4_000_000_000, 4_000_000_000))
    assert "-r requirements.txt" in make(clone, "--dry-run", "run").stdout


def test_an_old_python_is_named_in_one_line(clone: Path, tools: Path) -> None:
    executable(tools / "python3", '#!/bin/sh\n[ "$1" = --version ] && echo Python 3.8.10 && exit 0\nexit 1\n')
    seen = make(clone, "run", path=str(tools))
    assert seen.returncode != 0
    assert "make: Python 3.11 or newer is needed; python3 here is: Python 3.8.10" in seen.stderr
    assert not (clone / ".venv").exists()


def test_a_missing_python_is_named_in_one_line(clone: Path, tools: Path) -> None:
    seen = make(clone, "run", path=str(tools))
    assert seen.returncode != 0
    assert "make: Python 3.11 or newer is needed" in seen.stderr


def test_a_python_without_venv_says_what_to_install(clone: Path, tools: Path) -> None:
    executable(tools / "python3.12", '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; esac\nexit 0\n')
    seen = make(clone, "run", path=str(tools))
    assert seen.returncode != 0
    assert "python3.12 has no venv module; on Debian and Ubuntu: apt install python3-venv" in seen.stderr


def test_requirements_are_pinned_by_hash_and_name_no_index() -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        text = (ROOT / name).read_text()
        assert "--hash=sha256:" in text
        assert "://" not in text
        assert "index-url" not in text

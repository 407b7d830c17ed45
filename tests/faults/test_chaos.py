"""A short run of `make chaos`: one fault of each kind among a hundred jobs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(400)
def test_every_job_is_accounted_for_after_one_fault_of_each_kind() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "chaos", "--short", "--seed", "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr

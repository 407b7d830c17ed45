"""A short run of `make chaos`: one fault of each kind among 120 jobs."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(400)
def test_every_job_is_accounted_for_after_one_fault_of_each_kind() -> None:
    run = subprocess.Popen(
        [sys.executable, "-m", "chaos", "--short", "--seed", "1"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    with run:
        try:
            account, _ = run.communicate()
        finally:
            # It ends its programs itself, which it could not do after a SIGKILL.
            run.terminate()
    assert run.returncode == 0, account

"""The development API token: made once, kept in `var/`, made anew when the database no longer knows it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from dev.errors import CannotStart
from dev.web import status

UNAUTHORIZED = 401
ANY_JOB = "/api/v1/jobs/00000000-0000-0000-0000-000000000000"


def development_token(folder: Path, port: int, environment: Mapping[str, str], root: Path) -> str:
    """The kept token if the running web server accepts it, otherwise a new one, which is kept.

    Raises CannotStart if no token can be made.
    """
    path = folder / "development.token"
    if path.exists():
        kept = path.read_text().strip()
        if status(port, ANY_JOB, {"Authorization": f"Bearer {kept}"}) != UNAUTHORIZED:
            return kept
    made = subprocess.run(
        ["flask", "tokens", "create", "--name", "development"],
        env=environment,
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode or not made.stdout.split():
        raise CannotStart("no development token could be made: " + made.stderr.strip().rpartition("\n")[2])
    token = made.stdout.split()[-1]
    path.touch(mode=0o600)
    path.write_text(token + "\n")
    return token

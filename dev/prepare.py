"""`python -m dev.prepare FILE`: the database migrated, and the token in FILE known to it.

One process for both, because importing the application takes longer than either. When the file is gone, or the
database does not know its token, the one named `development` is replaced; it may submit and operate.
"""

from pathlib import Path

import click

from app.cli.terminal import in_one_line
from app.security import Scope
from app.tokens import is_valid, issue_token
from db.engine import get_engine
from db.migrate import migrate


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def prepare(file: Path) -> None:
    """Migrate, then see to the token."""
    in_one_line(lambda: migrate(get_engine()))
    if file.exists() and is_valid(file.read_text().strip()):
        return
    token = issue_token("development", Scope, replace=True)
    file.touch(mode=0o600)
    file.write_text(token + "\n")


if __name__ == "__main__":
    prepare()

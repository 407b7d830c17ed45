"""`python -m dev.prepare FILE`: the database migrated, and the token in FILE known to it.

One process for both, because importing the application takes longer than either. A token that the database
does not know (either is new, or it was revoked) is made anew; it may submit and operate.
"""

from pathlib import Path

import click
from sqlalchemy import insert, select

from app.cli.terminal import in_one_line
from app.security import Scope, hash_token, make_token
from db.engine import get_engine, transaction
from db.migrate import migrate
from db.models import ApiToken


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
def prepare(file: Path) -> None:
    """Migrate, then see to the token."""
    in_one_line(lambda: migrate(get_engine()))
    kept = file.read_text().strip() if file.exists() else ""
    with transaction() as connection:
        known = select(ApiToken.id).where(ApiToken.sha256 == hash_token(kept), ApiToken.revoked_at.is_(None))
        if connection.execute(known).first():
            return
        token, sha256 = make_token()
        # Named by its hash: names are unique, and an earlier one may still be there.
        values = {"name": f"development {sha256[:8]}", "sha256": sha256, "scopes": " ".join(sorted(Scope))}
        connection.execute(insert(ApiToken).values(values))
    file.touch(mode=0o600)
    file.write_text(token + "\n")


if __name__ == "__main__":
    prepare()

"""`flask tokens`: who may call the API."""

import click
from sqlalchemy import select

from app.cli.terminal import Group, ago, as_json, print_json, print_table
from app.reading.jobs import iso
from app.security import Scope
from app.tokens import NameTaken, issue_token, revoke_token
from db.engine import reading
from db.models import ApiToken


@click.group("tokens", cls=Group)
def tokens() -> None:
    """Tokens for the API. Only their hashes are stored."""


@tokens.command("create")
@click.option("--name", required=True, help="Who will use it.")
@click.option(
    "--scopes", default="submit,newsletters", show_default=True, help="submit, newsletters, operate."
)
@click.option("--replace", is_flag=True, help="Revoke the token that has this name.")
def create(name: str, scopes: str, replace: bool) -> None:
    """Print a new token, which cannot be shown again."""
    wanted = sorted(set(scopes.replace(",", " ").split()))
    if unknown := set(wanted) - {scope.value for scope in Scope}:
        raise click.BadParameter(f"there is no scope {', '.join(sorted(unknown))}", param_hint="--scopes")
    if not wanted or not 1 <= len(name) <= 60:
        raise click.UsageError("a token needs a scope, and a name of 1 to 60 characters")
    try:
        token = issue_token(name, wanted, replace=replace)
    except NameTaken:
        message = f"There is a token named {name} already; --replace revokes it."
        raise click.ClickException(message) from None
    click.echo(f"Token {name} ({' '.join(wanted)}), shown this once: {token}")


@tokens.command("list")
@as_json
def list_(as_json: bool) -> None:
    """All tokens, without their secrets."""
    with reading() as session:
        found = list(session.scalars(select(ApiToken).order_by(ApiToken.id)))
    if as_json:
        print_json(
            [
                {
                    "id": token.id,
                    "name": token.name,
                    "scopes": token.scopes.split(),
                    "created_at": iso(token.created_at),
                    "revoked_at": iso(token.revoked_at),
                }
                for token in found
            ]
        )
        return
    rows = [(token.name, token.scopes, ago(token.created_at), _standing(token)) for token in found]
    print_table(("NAME", "SCOPES", "AGE", "STATE"), rows, empty="There are no tokens.")


@tokens.command("revoke")
@click.argument("name")
def revoke(name: str) -> None:
    """Refuse this token from now on; its name is free again."""
    if not revoke_token(name):
        raise click.ClickException(f"There is no token named {name}.")
    click.echo(f"Revoked {name}.")


def _standing(token: ApiToken) -> str:
    return "active" if token.revoked_at is None else f"revoked {ago(token.revoked_at)} ago"

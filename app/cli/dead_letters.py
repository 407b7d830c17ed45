"""`flask dead-letters`."""

import click

from app.cli.terminal import Group, ago, as_json, limit, operator, print_facts, print_json, print_table
from app.operators import discard_letter, replay_letter, resolve_letter
from app.reading.letters import letter_details, letter_json, list_letters

reason = click.option("--reason", default="", help="Kept in the audit log.")


@click.group("dead-letters", cls=Group)
def dead_letters() -> None:
    """Jobs that need a person."""


@dead_letters.command("list")
@click.option("--all", "closed_too", is_flag=True, help="Closed ones as well.")
@click.option("--type", "type_", help="For example emails.send_email.")
@limit
@as_json
def list_(closed_too: bool, type_: str | None, limit: int, as_json: bool) -> None:
    """Newest first; open ones unless --all."""
    found = list_letters(resolved=None if closed_too else False, type_=type_, limit=limit)
    if as_json:
        print_json([letter_json(letter) for letter in found])
        return
    rows = [
        (
            letter.id,
            letter.type,
            letter.reason,
            letter.error_code,
            letter.fingerprint,
            ago(letter.created_at),
            letter.resolution or "open",
        )
        for letter in found
    ]
    header = ("ID", "TYPE", "REASON", "ERROR", "KIND", "AGE", "RESOLUTION")
    print_table(header, rows, empty="There are no dead letters.")


@dead_letters.command("show")
@click.argument("letter_id")
@as_json
def show(letter_id: str, as_json: bool) -> None:
    """One letter with its traceback and attempts."""
    letter = letter_details(letter_id)
    if as_json:
        print_json(letter)
        return
    print_facts({name: value for name, value in letter.items() if name != "links"})


@dead_letters.command("replay")
@click.argument("letter_id")
@reason
def replay(letter_id: str, reason: str) -> None:
    """Queue its job again, with a clean count of failures."""
    job_id = replay_letter(letter_id, actor=operator().identity, reason=reason)
    click.echo(f"Queued again: job {job_id}")


@dead_letters.command("discard")
@click.argument("letter_id")
@click.option("--reason", required=True, help="Kept in the audit log.")
def discard(letter_id: str, reason: str) -> None:
    """Close it; its job stays dead."""
    discard_letter(letter_id, actor=operator().identity, reason=reason)
    click.echo("Discarded.")


@dead_letters.command("resolve")
@click.argument("letter_id")
@click.option("--happened/--again", required=True, default=None, help="It happened, or: do it again.")
@reason
def resolve(letter_id: str, happened: bool, reason: str) -> None:
    """Settle an unknown outcome."""
    job_id = resolve_letter(letter_id, happened=happened, actor=operator().identity, reason=reason)
    click.echo(f"{'Succeeded' if happened else 'Queued again'}: job {job_id}")

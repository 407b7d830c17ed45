"""`flask dead-letters`."""

import json

import click

from app.cli.terminal import Group, ago, as_json, limit, operator, print_facts, print_json, print_table
from app.intake.refusals import Refused
from app.operators import discard_letter, replay_group, replay_letter, resolve_letter
from app.reading.letters import letter_details, letter_json, list_letters
from tasks.dead_letters import MOST_PER_MINUTE

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
@click.argument("letter_id", required=False)
@click.option("--fingerprint", help="All open letters of this kind (KIND in the list) instead of one.")
@click.option("--per-minute", type=click.IntRange(1, MOST_PER_MINUTE), default=60, show_default=True)
@reason
def replay(letter_id: str | None, fingerprint: str | None, per_minute: int, reason: str) -> None:
    """Queue its job again, with a clean count of failures.

    With --fingerprint the oldest letter goes first, and the others follow only once its job has succeeded.
    """
    if (letter_id is None) is (fingerprint is None):
        raise click.UsageError("name a letter, or a kind with --fingerprint")
    actor = operator().identity
    if letter_id is not None:
        click.echo(f"Queued again: job {replay_letter(letter_id, actor=actor, reason=reason)}")
        return
    ramp = replay_group(str(fingerprint), per_minute=per_minute, actor=actor, reason=reason)
    click.echo(f"Queued again, as the canary: job {ramp.canary_job_id}")
    if ramp.job_id is not None:
        click.echo(f"The other {ramp.letters - 1} follow, {per_minute} a minute, if it succeeds.")
        click.echo(f"Stop them with: flask jobs cancel {ramp.job_id}")


@dead_letters.command("edit")
@click.argument("letter_id")
@click.option("--payload", help="The new payload as JSON; without it an editor opens with the present one.")
@reason
def edit(letter_id: str, payload: str | None, reason: str) -> None:
    """Correct the payload of its job, checked against the type's schema, and replay it."""
    present = json.dumps(letter_details(letter_id)["payload"], indent=2)
    text = payload if payload is not None else click.edit(present, extension=".json")
    if text is None or text.strip() == present:
        raise click.ClickException("Nothing was changed, and nothing replayed.")
    try:
        corrected = json.loads(text)
    except ValueError:
        raise click.ClickException("That is not valid JSON.") from None
    try:
        job_id = replay_letter(letter_id, actor=operator().identity, reason=reason, payload=corrected)
    except Refused as refused:
        raise click.ClickException("\n".join(refused.fields.values())) from None
    click.echo(f"Queued again with the new payload: job {job_id}")


@dead_letters.command("discard")
@click.argument("letter_id")
@click.option("--reason", required=True, help="Kept in the audit log.")
def discard(letter_id: str, reason: str) -> None:
    """Close it; its job stays dead."""
    discard_letter(letter_id, actor=operator().identity, reason=reason)
    click.echo("Discarded.")


@dead_letters.command("resolve")
@click.argument("letter_id")
@click.option("--happened", is_flag=True, help="The effect happened: the job has succeeded.")
@click.option("--again", is_flag=True, help="It did not: do it again.")
@reason
def resolve(letter_id: str, happened: bool, again: bool, reason: str) -> None:
    """Settle an unknown outcome."""
    if happened is again:
        raise click.UsageError("say either --happened or --again")
    job_id = resolve_letter(letter_id, happened=happened, actor=operator().identity, reason=reason)
    click.echo(f"{'Succeeded' if happened else 'Queued again'}: job {job_id}")

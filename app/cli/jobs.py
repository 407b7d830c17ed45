"""`flask jobs`."""

import click

from app.cli.terminal import Group, ago, as_json, limit, operator, print_facts, print_json, print_table
from app.operators import cancel_job
from app.reading.jobs import all_jobs, find_job
from config.queues import Queue
from db.models.jobs import State
from tasks.canary import sing


@click.group("jobs", cls=Group)
def jobs() -> None:
    """Look at jobs and cancel them."""


@jobs.command("list")
@click.option("--state", type=click.Choice([state.value for state in State]))
@click.option("--type", "type_", help="For example images.resize_image.")
@click.option("--queue", type=click.Choice([queue.value for queue in Queue]))
@limit
@as_json
def list_(state: str | None, type_: str | None, queue: str | None, limit: int, as_json: bool) -> None:
    """Newest first, without canaries unless --type names them."""
    found = all_jobs(state=state, type_=type_, queue=queue, limit=limit)
    if as_json:
        print_json([job.as_json() for job in found])
        return
    rows = [
        (job.id, job.type, job.queue, job.state, job.attempts, ago(job.created_at), job.error_code)
        for job in found
    ]
    header = ("ID", "TYPE", "QUEUE", "STATE", "ATTEMPTS", "AGE", "ERROR")
    print_table(header, rows, empty="There are no such jobs.")
    if type_ is None:
        click.echo(f"Canaries are left out; --type {sing.name} lists them.", err=True)


@jobs.command("show")
@click.argument("job_id")
@as_json
def show(job_id: str, as_json: bool) -> None:
    """Everything about one job."""
    job = find_job(job_id, operator()).as_json()
    if as_json:
        print_json(job)
        return
    print_facts({name: value for name, value in job.items() if name != "links"})


@jobs.command("cancel")
@click.argument("job_id")
def cancel(job_id: str) -> None:
    """At once if it waits, at its next checkpoint if it runs."""
    state = cancel_job(job_id, actor=operator().identity)
    if state == State.RUNNING:
        click.echo("It runs, and will stop at its next checkpoint.")
    elif state == State.CANCELLED:
        click.echo("Cancelled.")
    else:
        raise click.ClickException(f"It is {state} already.")

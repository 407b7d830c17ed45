"""What every declared job promises, whoever adds it."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from honcho.environ import parse_procfile

import tasks
from config.celery import VISIBILITY_TIMEOUT
from tasks.engine.celery import app
from tasks.engine.job import JOBS, JobType

ROOT = Path(__file__).resolve().parents[2]
PAYLOADS = ROOT / "tests" / "data" / "payloads"
# Tests declare jobs of their own, in this process maybe as well.
DECLARED = [job for job in JOBS.values() if job.__module__.startswith(f"{tasks.__name__}.")]

every_job = pytest.mark.parametrize("job", DECLARED, ids=lambda job: job.name)


def golden(job: JobType[Any]) -> list[Path]:
    """Payloads as releases wrote them, `<job>.v<version>.json`; several of one version carry a further word."""
    return sorted(PAYLOADS.glob(f"{job.name}.v*.json"))


def version_of(path: Path) -> int:
    return int(path.stem.rpartition(".v")[2].split("-")[0])


def texts(
    schema: dict[str, Any], name: str = "", root: dict[str, Any] | None = None
) -> Iterator[tuple[str, Any]]:
    """Every text in a JSON schema that could hold anything, with the name of its field."""
    root = root or schema
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for field, part in schema.get("properties", {}).items():
        yield from texts(part, field, root)
    for part in [*schema.get("anyOf", []), *schema.get("prefixItems", [])]:
        yield from texts(part, name, root)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from texts(schema[key], name, root)
    bounded = {"enum", "const", "pattern", "maxLength", "format"} & set(schema)
    if schema.get("type") == "string" and not bounded:
        yield name, schema


def served_queues() -> set[str]:
    commands = parse_procfile((ROOT / "Procfile").read_text()).processes.values()
    lines = [shlex.split(command) for command in commands]
    return {
        queue
        for words in lines
        if "--queues" in words
        for queue in words[words.index("--queues") + 1].split(",")
    }


def test_there_are_jobs_and_their_names_are_unique() -> None:
    names = [job.name for job in DECLARED]
    assert len(names) >= 3
    assert len(set(names)) == len(names)


def test_every_task_that_celery_knows_is_a_job_or_takes_in_strangers() -> None:
    ours = {name for name in app.tasks if not name.startswith(("celery.", "tests."))}
    assert ours == {*(job.name for job in DECLARED), "dead_letter.take_in"}


@every_job
def test_somebody_owns_it_and_its_docstring_says_what_it_does(job: JobType[Any]) -> None:
    assert job.owner
    assert (job.__doc__ or "").strip()
    assert (job.payload.__doc__ or "").strip()


@every_job
def test_a_worker_of_the_procfile_serves_its_queue(job: JobType[Any]) -> None:
    assert job.queue in served_queues()


@every_job
def test_its_limits_stop_it_before_its_message_would_be_handed_out_again(job: JobType[Any]) -> None:
    assert 0 < job.soft_time_limit < job.time_limit
    # A worker may hold one message more than it works on, which waits as long again.
    assert 2 * job.time_limit < VISIBILITY_TIMEOUT.total_seconds()


@every_job
def test_its_payload_holds_ids_and_small_options_and_no_contents(job: JobType[Any]) -> None:
    loose = [name for name, _ in texts(job.payload.model_json_schema())]
    assert loose == [], "an id is an Id; another text needs a bound, a pattern or a set of values"


@every_job
def test_its_payload_refuses_what_it_does_not_know(job: JobType[Any]) -> None:
    assert job.payload.model_config["extra"] == "forbid"
    assert job.payload.model_config["frozen"]


@every_job
def test_a_payload_of_its_current_version_is_kept_for_later_releases(job: JobType[Any]) -> None:
    assert job.payload.version in {version_of(path) for path in golden(job)}, (
        f"store one as {PAYLOADS.relative_to(ROOT)}/{job.name}.v{job.payload.version}.json"
    )


@every_job
def test_payloads_that_earlier_releases_wrote_can_still_be_read(job: JobType[Any]) -> None:
    for path in golden(job):
        stored = json.loads(path.read_text())
        read = job.payload.load(version_of(path), stored)
        assert job.payload.load(job.payload.version, read.dump()) == read


@every_job
def test_its_payloads_weigh_no_more_than_its_limit_allows(job: JobType[Any], settings: object) -> None:
    for path in golden(job):
        assert job.weigh(job.payload.load(version_of(path), json.loads(path.read_text()))) >= 1


@every_job
def test_its_payload_survives_json_unchanged(job: JobType[Any]) -> None:
    for path in golden(job):
        if version_of(path) == job.payload.version:
            stored = json.loads(path.read_text())
            assert job.payload.load(job.payload.version, stored).dump() == stored


def test_no_payload_is_kept_for_a_job_that_is_gone() -> None:
    known = {path for job in DECLARED for path in golden(job)}
    assert set(PAYLOADS.glob("*.json")) == known

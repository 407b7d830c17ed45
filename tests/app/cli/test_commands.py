"""The commands: one line for an error, the token as the last word, every act in the audit log."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from flask import Flask

from config.settings import ROOT
from db.engine import reading
from db.models import AuditEntry
from tests.support.ledger import add_job
from tests.support.web import Client

Headers = dict[str, str]
Run = Callable[..., Result]
MAIL = {"template": "welcome", "to": {"email": "ada@example.test"}, "context": {"name": "Ada"}}


@pytest.fixture
def run(app: Flask) -> Run:
    """Run a command as `flask` would."""
    return lambda *args: app.test_cli_runner().invoke(args=args)


@pytest.fixture
def submit(client: Client, token: Callable[..., Headers]) -> Callable[[], str]:
    """Make a queued job."""
    return lambda: str(client.post("/api/v1/emails", json=MAIL, headers=token()).json["job"]["id"])


@pytest.mark.usefixtures("configure")
def test_flask_works_from_the_root_without_options(tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "ENV_FILE": "",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}",
    }
    flask = Path(sys.executable).with_name("flask")
    migrated = subprocess.run([flask, "migrate"], cwd=ROOT, env=environment, capture_output=True, check=True)
    assert migrated.stdout == b"The database is up to date.\n"
    listed = subprocess.run(
        [flask, "tokens", "list"], cwd=ROOT, env=environment, capture_output=True, check=True
    )
    assert listed.stdout == b"There are no tokens.\n"


class TestTokens:
    def test_the_token_is_the_last_word_and_works(self, run: Run, client: Client) -> None:
        created = run("tokens", "create", "--name", "robot")
        headers = {"Authorization": f"Bearer {created.output.split()[-1]}"}
        assert client.post("/api/v1/emails", json=MAIL, headers=headers).status_code == 202
        assert client.get("/api/v1/dead-letters", headers=headers).status_code == 403

    def test_scopes_are_given_with_commas_or_spaces(self, run: Run) -> None:
        run("tokens", "create", "--name", "both", "--scopes", "submit,operate")
        (token,) = json.loads(run("tokens", "list", "--json").output)
        assert token["scopes"] == ["operate", "submit"]

    def test_an_unknown_scope_is_a_usage_error(self, run: Run) -> None:
        result = run("tokens", "create", "--name", "x", "--scopes", "everything")
        assert result.exit_code == 2
        assert "there is no scope everything" in result.output

    def test_a_name_is_taken_until_it_is_revoked_or_replaced(self, run: Run) -> None:
        create = ("tokens", "create", "--name", "a")
        assert run(*create).exit_code == 0
        assert (run(*create).exit_code, run(*create, "--replace").exit_code) == (1, 0)
        assert (run("tokens", "revoke", "a").exit_code, run(*create).exit_code) == (0, 0)
        assert run("tokens", "list").output.count("revoked ") == 4
        assert run("tokens", "revoke", "nobody").exit_code == 1

    def test_no_secret_is_stored(self, run: Run, tmp_path: Path) -> None:
        token = run("tokens", "create", "--name", "a").output.split()[-1]
        written = b"".join(path.read_bytes() for path in tmp_path.glob("app.db*"))
        assert token.encode() not in written


class TestJobs:
    def test_they_are_listed_in_aligned_columns_and_as_json(
        self, run: Run, submit: Callable[[], str]
    ) -> None:
        ids = [submit(), submit()]
        header, *rows = run("jobs", "list", "--state", "queued").stdout.splitlines()
        assert [row.split()[0] for row in rows] == ids[::-1]
        assert header.index("STATE") == rows[0].index("queued")
        assert [job["id"] for job in json.loads(run("jobs", "list", "--json").output)] == ids[::-1]
        assert run("jobs", "list", "--queue", "ai").stdout == "There are no such jobs.\n"

    def test_canaries_are_listed_by_their_name_only(self, run: Run) -> None:
        canary = add_job(type="canary.sing", queue="email_bulk", payload={"queue": "email_bulk"})
        listed = run("jobs", "list", "--queue", "email_bulk")
        assert listed.stdout == "There are no such jobs.\n"
        assert listed.stderr == "Canaries are left out; --type canary.sing lists them.\n"
        assert canary in run("jobs", "list", "--queue", "email_bulk", "--type", "canary.sing").stdout

    def test_one_is_shown(self, run: Run, submit: Callable[[], str]) -> None:
        job_id = submit()
        assert job_id in run("jobs", "show", job_id).output
        assert json.loads(run("jobs", "show", job_id, "--json").output)["state"] == "queued"

    def test_cancelling_is_audited_under_the_operators_name(
        self, run: Run, submit: Callable[[], str]
    ) -> None:
        job_id = submit()
        assert run("jobs", "cancel", job_id).output == "Cancelled.\n"
        with reading() as session:
            (entry,) = session.query(AuditEntry)
        assert entry.actor.startswith("cli:")
        assert (entry.action, entry.target) == ("job.cancelled", job_id)

    @pytest.mark.parametrize("command", ["show", "cancel"])
    def test_an_unknown_job_is_one_line_and_exit_code_1(self, run: Run, command: str) -> None:
        result = run("jobs", command, "nothing")
        assert (result.exit_code, result.output) == (1, "Error: There is nothing with this id.\n")

    def test_a_finished_job_cannot_be_cancelled(
        self, run: Run, submit: Callable[[], str], finish: Callable[[str], None]
    ) -> None:
        job_id = submit()
        finish(job_id)
        result = run("jobs", "cancel", job_id)
        assert (result.exit_code, result.output) == (1, "Error: It is succeeded already.\n")


class TestDeadLetters:
    def test_one_is_listed_shown_and_replayed_once(
        self, run: Run, submit: Callable[[], str], bury: Callable[..., str]
    ) -> None:
        job_id = submit()
        letter = bury(job_id)
        assert letter in run("dead-letters", "list").output
        shown = run("dead-letters", "show", letter).output
        assert "address_rejected" in shown
        assert "ada@" not in shown
        assert run("dead-letters", "replay", letter).output == f"Queued again: job {job_id}\n"
        assert run("dead-letters", "replay", letter).exit_code == 1
        assert run("dead-letters", "list").output == "There are no dead letters.\n"
        assert "replayed" in run("dead-letters", "list", "--all").output

    def test_discarding_takes_a_reason(
        self, run: Run, submit: Callable[[], str], bury: Callable[..., str]
    ) -> None:
        letter = bury(submit())
        assert run("dead-letters", "discard", letter).exit_code == 2
        assert run("dead-letters", "discard", letter, "--reason", "left").exit_code == 0
        (found,) = json.loads(run("dead-letters", "list", "--all", "--json").output)
        assert (found["resolution"], found["note"]) == ("discarded", "left")
        assert found["resolved_by"].startswith("cli:")

    @pytest.mark.parametrize(("answer", "said"), [("--happened", "Succeeded"), ("--again", "Queued again")])
    def test_an_unknown_outcome_is_resolved(
        self, run: Run, submit: Callable[[], str], bury: Callable[..., str], answer: str, said: str
    ) -> None:
        letter = bury(submit(), "outcome_unknown")
        assert run("dead-letters", "resolve", letter).exit_code == 2
        assert run("dead-letters", "replay", letter).exit_code == 1
        assert run("dead-letters", "resolve", letter, answer).output.startswith(said)


class TestBatches:
    def test_a_batch_is_shown_and_cancelled_once(
        self, run: Run, client: Client, token: Callable[..., Headers]
    ) -> None:
        documents = {"analysis": "summary", "files": [(io.BytesIO(b"text"), "a.txt")]}
        accepted = client.post("/api/v1/documents", data=documents, headers=token()).json
        batch_id = accepted["batch"]["id"]
        assert json.loads(run("batches", "show", batch_id, "--json").output)["counts"]["queued"] == 1
        assert run("batches", "cancel", batch_id).output == "Cancelled, or about to stop: 1.\n"
        assert run("batches", "cancel", batch_id).output == "All of its jobs had ended before.\n"
        assert "completed_at" in run("batches", "show", batch_id).output
        with reading() as session:
            assert {entry.action for entry in session.query(AuditEntry)} == {"batch.cancelled"}

    def test_an_unknown_batch_is_one_line(self, run: Run) -> None:
        result = run("batches", "cancel", "nothing")
        assert (result.exit_code, result.output) == (1, "Error: There is nothing with this id.\n")


class TestQueues:
    def test_the_ledger_and_the_broker_are_both_counted(
        self, run: Run, submit: Callable[[], str], broker: str
    ) -> None:
        submit()
        rows = {row["queue"]: row for row in json.loads(run("queues", "list", "--json").output)}
        assert (rows["email"]["queued"], rows["email"]["broker_messages"]) == (1, 1)
        assert "email_bulk" in run("queues", "list").output

    def test_a_pause_is_listed_and_recorded_until_it_is_ended(self, run: Run) -> None:
        assert run("queues", "pause", "email").output.startswith("Paused.")
        assert run("queues", "pause", "email").output == "It is paused already.\n"
        rows = {row["queue"]: row for row in json.loads(run("queues", "list", "--json").output)}
        assert rows["email"]["paused_by"].startswith("cli:")
        assert rows["ai"]["paused_by"] is None
        assert " by cli:" in run("queues", "list").output
        assert run("queues", "resume", "email").output == "Resumed.\n"
        assert run("queues", "resume", "email").output == "It is not paused.\n"
        assert run("queues", "pause", "nothing").exit_code == 2
        with reading() as session:
            assert session.query(AuditEntry).count() == 2

    def test_without_a_broker_the_ledger_is_still_shown(self, run: Run, submit: Callable[[], str]) -> None:
        submit()
        rows = {row["queue"]: row for row in json.loads(run("queues", "list", "--json").output)}
        assert (rows["email"]["queued"], rows["email"]["broker_messages"]) == (1, None)


@pytest.mark.parametrize("command", [["jobs", "list"], ["tokens", "list"], ["queues", "list"]])
def test_a_database_that_is_away_is_one_line(
    run: Run, configure: Callable[..., object], command: list[str]
) -> None:
    configure(DATABASE_URL="postgresql://nobody@127.0.0.1:1/nothing")
    result = run(*command)
    assert result.exit_code == 1
    assert result.output.startswith("Error: The database does not answer")

"""The development token: kept while it is good, replaced when it is not."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from app.tokens import is_valid, revoke_token
from dev.prepare import prepare

pytestmark = pytest.mark.usefixtures("database")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "development.token"


def prepared(file: Path) -> str:
    """Run it; returns the token that is in the file afterwards."""
    told = CliRunner().invoke(prepare, [str(file)])
    assert told.exit_code == 0, told.output
    return file.read_text().strip()


def test_a_good_token_is_kept(file: Path) -> None:
    token = prepared(file)
    assert is_valid(token)
    assert prepared(file) == token


def test_a_token_whose_file_is_gone_is_replaced_and_good_for_nothing_any_more(file: Path) -> None:
    lost = prepared(file)
    file.unlink()
    token = prepared(file)
    assert is_valid(token)
    assert not is_valid(lost)


def test_a_revoked_token_is_replaced(file: Path) -> None:
    prepared(file)
    revoke_token("development")
    assert is_valid(prepared(file))


def test_a_token_of_another_database_is_replaced(file: Path) -> None:
    file.write_text("of a database that was deleted\n")
    assert is_valid(prepared(file))


def test_nobody_else_may_read_the_file(file: Path) -> None:
    prepared(file)
    assert file.stat().st_mode & 0o077 == 0

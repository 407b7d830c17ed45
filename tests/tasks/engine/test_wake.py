"""The relay's bell rings wherever its socket can be, and where it cannot the relay does without."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tasks.engine.wake import Bell, bells, folders, ring


@pytest.fixture
def too_long(tmp_path: Path) -> Path:
    """A folder whose path leaves no room for a socket's name."""
    return tmp_path / ("a" * 100)


@pytest.fixture
def not_a_folder(tmp_path: Path) -> Path:
    """Nothing can be made below it, whoever tries: tests may run as root, whom a read-only folder does not stop."""
    (tmp_path / "file").touch()
    return tmp_path / "file" / "relays"


@pytest.mark.parametrize("obstacle", ["too_long", "not_a_folder"])
def test_a_relay_whose_folder_cannot_hold_its_socket_listens_in_the_next(
    obstacle: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    places = [request.getfixturevalue(obstacle), tmp_path / "second"]
    with capture_logs() as said:
        bell = Bell(places)
    ring(places)
    assert bell.wait(20)
    bell.close()
    assert bells(places) == []
    assert [line["event"] for line in said] == ["relay.bell_moved"]


def test_a_relay_that_can_listen_nowhere_looks_by_itself(not_a_folder: Path, too_long: Path) -> None:
    places = [not_a_folder, too_long]
    with capture_logs() as said:
        bell = Bell(places)
    ring(places)
    assert not bell.wait(0)
    bell.close()
    assert [(line["event"], line["to"]) for line in said] == [("relay.bell_moved", None)]


def test_the_folder_among_temporary_files_is_short_and_each_installations_own() -> None:
    here, there = (folders(Path("/srv", name * 200))[-1] for name in "ab")
    assert here != there
    # The longest name that a process id makes.
    assert len(f"/tmp/{here.name}/4194304.sock") < 108


def test_a_relay_that_was_killed_costs_a_ring_nothing(tmp_path: Path) -> None:
    (tmp_path / "1.sock").touch()
    ring([tmp_path])

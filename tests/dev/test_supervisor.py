"""The supervisor, with real processes: whatever happens to it, nothing it started is left running."""

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]  # the fixture's Runner; test folders are no packages to import from
IsGone = Callable[[int], bool]

# Says its own process id and that of a child which would outlive it.
WITH_CHILD = "sleep 300 & echo child $!; echo leader $$; wait"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_stop_signal_ends_every_program_and_what_it_started(
    run: Run, is_gone: IsGone, number: signal.Signals
) -> None:
    runner = run(("one", WITH_CHILD), ("two", "echo two $$; exec sleep 300"))
    pids = [runner.number_after(name) for name in ("child", "leader")]

    assert runner.end(number) == 0
    assert all(is_gone(pid) for pid in pids)


def test_a_program_that_ends_stops_all_the_others_with_a_failure(run: Run, is_gone: IsGone) -> None:
    runner = run(("steady", WITH_CHILD), ("fragile", "read line < /dev/null; sleep 0.3; exit 7"))
    pids = [runner.number_after(name) for name in ("child", "leader")]

    assert runner.end() == 1
    assert "fragile ended with exit code 7" in runner.lines
    assert all(is_gone(pid) for pid in pids)


def test_a_program_that_ends_well_still_stops_the_others_with_a_failure(run: Run) -> None:
    runner = run(("steady", "exec sleep 300"), ("short", "exit 0"))
    assert runner.end() == 1
    assert "short ended with exit code 0" in runner.lines


def test_a_program_that_ignores_the_request_to_end_is_killed_after_the_grace(
    run: Run, is_gone: IsGone
) -> None:
    runner = run(("stubborn", "trap '' TERM; echo pid $$; while :; do sleep 1; done"), grace=0.3)
    pid = runner.number_after("pid")

    assert runner.end(signal.SIGINT) == 0
    assert any("stubborn did not end by itself and is killed" in line for line in runner.lines)
    assert is_gone(pid)


def test_a_second_ctrl_c_does_not_wait_for_the_grace(run: Run, is_gone: IsGone) -> None:
    runner = run(("stubborn", "trap 'echo asked' TERM; echo pid $$; while :; do sleep 0.05; done"), grace=600)
    pid = runner.number_after("pid")
    runner.process.send_signal(signal.SIGINT)
    runner.read_until("asked")

    began = time.monotonic()
    assert runner.end(signal.SIGINT) == 0
    assert time.monotonic() - began < 10
    assert is_gone(pid)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent died")
def test_killing_the_supervisor_itself_leaves_no_program_running(run: Run, is_gone: IsGone) -> None:
    runner = run(("one", "echo pid $$; exec sleep 300"))
    pid = runner.number_after("pid")
    runner.process.kill()
    assert is_gone(pid)


def test_what_others_need_ends_after_them(run: Run) -> None:
    broker = "trap 'echo broker ends; exit' TERM; echo broker up; while :; do sleep 0.05; done"
    worker = "trap 'sleep 0.3; echo worker ends; exit' TERM; echo worker up; while :; do sleep 0.05; done"
    runner = run(("broker", broker, True), ("worker", worker))
    runner.read_until("worker up")

    runner.end(signal.SIGTERM)
    ends = [line.rpartition("| ")[2] for line in runner.lines if "ends" in line]
    assert ends == ["worker ends", "broker ends"]


def test_the_request_to_end_reaches_the_program_but_not_its_children(run: Run) -> None:
    child = "sh -c \"trap 'echo child was asked' TERM; echo up; sleep 0.5; echo child finished\" & child=$!"
    leader = f"{child}; trap 'wait $child; exit' TERM; wait"
    runner = run(("pool", leader))
    runner.read_until("up")

    runner.end(signal.SIGTERM)
    assert any("child finished" in line for line in runner.lines)
    assert not any("child was asked" in line for line in runner.lines)


def test_each_line_names_its_program_and_the_last_unfinished_one_is_printed_too(run: Run) -> None:
    runner = run(("talker", "echo first; printf 'no newline'"))
    runner.end()
    said = [line for line in runner.lines if "talker" in line and "|" in line]
    assert [line.rpartition("| ")[2] for line in said] == ["first", "no newline"]


def test_programs_that_say_nothing_stop_too_when_nobody_reads_the_terminal(run: Run) -> None:
    assert run(("quiet", "sleep 300"), closed=True).process.wait(timeout=30) == 0


def test_a_closed_terminal_stops_everything(run: Run, is_gone: IsGone) -> None:
    runner = run(("talker", "echo pid $$; while :; do echo still here; sleep 0.05; done"))
    pid = runner.number_after("pid")
    assert runner.process.stdout is not None
    runner.process.stdout.close()
    assert runner.process.wait(timeout=30) == 0
    assert is_gone(pid)

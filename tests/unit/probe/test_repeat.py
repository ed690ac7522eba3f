"""rtprobe repeat: a command runs again and again for its time, on its CPUs, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .board import PATIENCE_S, family, run
from .frames import events, whole


def rounds(frames: list[object]) -> list[int]:
    return [work["operations"] for work in events(frames, "work")]  # type: ignore[arg-type]


def test_rounds_are_counted_and_output_comes_on_stderr(tmp_path: Path) -> None:
    """One round comes to its end; the second is cut short by the end of the time."""
    first = tmp_path / "first round"
    script = f"echo out; echo err >&2; [ -e '{first}' ] && exec sleep 60; touch '{first}'"
    before = time.monotonic_ns()
    done = run("repeat", "--duration", "2500ms", "--", "sh", "-c", script)
    frames = whole(done.stdout, "repeat")
    facts, end, counted = frames[0].json, frames[-1].json, rounds(frames)
    assert done.returncode == 0 and (end["reason"], end["exit"]) == ("duration", 0)
    assert facts["command_argv"][0] == "sh" and facts["cpus"] is None and facts["once"] is False
    assert counted == sorted(counted) and counted[-1] == 1
    # The round that was cut short wrote its words too, and does not count.
    assert done.stderr.count(b"out\n") == done.stderr.count(b"err\n") == 2
    assert end["mono_ns"] - before >= 2_500_000_000


def test_it_stays_on_its_cpus_and_leaves_real_time_behind() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: SCHED_FIFO")
    with family() as members:
        process = members.start(
            *("repeat", "--cpus", "0", "--duration", "30s", "--", "sleep", "30"),
            preexec_fn=lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(5)),
        )
        both = members.wait_for(2)
        until = time.monotonic() + PATIENCE_S
        while any(os.sched_getaffinity(pid) != {0} or os.sched_getscheduler(pid) != os.SCHED_OTHER for pid in both):
            assert time.monotonic() < until
            time.sleep(0.01)
        process.terminate()
        seen, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and members.alive() == []
    assert whole(seen, "repeat")[-1].json["reason"] == "signal"


@pytest.mark.parametrize(
    ("command", "code"),
    [(["false"], 1), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 128 + signal.SIGKILL)],
)
def test_a_round_that_fails_ends_it(command: list[str], code: int) -> None:
    done = run("repeat", "--duration", "30s", "--", *command)
    frames = whole(done.stdout, "repeat")
    assert done.returncode == code
    assert (frames[-1].json["reason"], frames[-1].json["exit"], rounds(frames)[-1]) == ("child", code, 0)


def test_once_ends_with_its_command() -> None:
    done = run("repeat", "--once", "--duration", "30s", "--", "sh", "-c", "exit 0")
    frames = whole(done.stdout, "repeat")
    assert (done.returncode, frames[-1].json["reason"]) == (0, "child")
    assert rounds(frames)[-1] == 1 and set(rounds(frames)) <= {0, 1}


def test_a_command_that_does_nothing_forks_no_storm() -> None:
    done = run("repeat", "--duration", "2s", "--", "true")
    counted = rounds(whole(done.stdout, "repeat"))[-1]
    assert 0 < counted <= 2001


def test_what_cannot_be_started_is_said() -> None:
    done = run("repeat", "--duration", "30s", "--", "/no/such/program")
    assert done.returncode == 3 and b"/no/such/program" in done.stderr
    assert run("repeat", "--cpus", "4000", "--duration", "1s", "--", "true").returncode == 2
    assert run("repeat", "--duration", "1s").returncode == 2


def test_a_deaf_command_and_what_it_started_end_all_the_same(tmp_path: Path) -> None:
    stream = tmp_path / "repeat.rtw"
    script = "trap '' TERM; sleep 60 & sleep 60 & wait; wait; sleep 60"
    with family() as members:
        process = members.start("repeat", "--duration", "60s", "-o", str(stream), "--", "sh", "-c", script)
        members.wait_for(4)
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
        members.wait_gone()
        assert process.returncode == 0
    assert whole(stream.read_bytes(), "repeat")[-1].json["reason"] == "signal"


def test_the_command_dies_with_it() -> None:
    with family() as members:
        process = members.start("repeat", "--duration", "30s", "--", "sleep", "30")
        members.wait_for(2)
        process.kill()
        process.communicate(timeout=PATIENCE_S)
        members.wait_gone()


def test_owner_gone() -> None:
    with family() as members:
        process = members.start("repeat", "--attached", "--duration", "30s", "--", "sleep", "30", stdin=subprocess.PIPE)
        members.wait_for(2)
        seen, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and members.alive() == []
    assert whole(seen, "repeat")[-1].json["reason"] == "owner"


def test_stdin_is_at_its_end_or_held_open() -> None:
    """`read` fails at the end of the input; with an open one it waits until the time is over."""
    ended = run("repeat", "--once", "--duration", "30s", "--", "sh", "-c", "read word; exit $?")
    assert ended.returncode == 1
    held = run("repeat", "--once", "--hold-stdin", "--duration", "1s", "--", "sh", "-c", "read word; exit $?")
    assert whole(held.stdout, "repeat")[-1].json["reason"] == "duration"

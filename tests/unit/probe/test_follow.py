"""rtprobe follow on a machine without tracefs: which threads it follows, what /proc tells of them, and how it ends. With a trace:
tests/lab/test_explain_on_a_board.py."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .board import PATIENCE_S, family, run
from .frames import events, whole

# A process with two threads from the start; each line on its stdin starts a further one.
PROGRAM = """
import sys, threading, time
def work():
    while True:
        time.sleep(0.002)
def start(): threading.Thread(target=work, daemon=True).start()
start()
print("ready", flush=True)
for _ in sys.stdin:
    start()
    print("started", flush=True)
"""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def until_named(follower: subprocess.Popen[bytes], lanes: int) -> bytes:
    """What it writes until so many more lanes are named."""
    assert follower.stdout is not None
    told = b""
    while told.count(b'"application-wake-up"') < lanes:
        more = os.read(follower.stdout.fileno(), 1 << 16)
        assert more, "it ended"
        told += more
    return told


def test_every_thread_is_a_lane_and_new_ones_are_told(program: subprocess.Popen[bytes]) -> None:
    assert program.stdin is not None and program.stdout is not None
    with family() as members:
        follower = members.start("follow", "--pid", str(program.pid), "--duration", "1h")
        told = until_named(follower, 2)
        program.stdin.write(b"\n")
        program.stdin.flush()
        assert program.stdout.readline() == b"started\n"
        told += until_named(follower, 1)
        follower.send_signal(signal.SIGINT)
        out, words = follower.communicate(timeout=PATIENCE_S)
    frames = whole(told + out, "follow")
    facts, end = frames[0].json, frames[-1].json
    lanes = [*facts["lanes"], *events(frames, "lane")]
    tids = {int(entry.name) for entry in Path(f"/proc/{program.pid}/task").iterdir()}
    assert {lane["tid"] for lane in lanes} == tids and len(lanes) == 3
    assert {lane["measure"] for lane in lanes} == {"application-wake-up"} and {lane["cpu"] for lane in lanes} == {None}
    assert all(lane["name"].endswith(f"-{lane['tid']}") and lane["pid"] == program.pid for lane in lanes)
    assert facts["requested"]["pid"] == program.pid and facts["requested"]["above_ns"] is None
    assert (end["reason"], end["exit"], follower.returncode) == ("signal", 0, 0)
    rows = {lane["lane"]: lane for lane in end["lanes"]}
    assert sorted(rows) == [0, 1, 2] and all(row["n"] == 0 for row in rows.values())
    assert any(row["turns"] > 0 and row["ran_ns"] > 0 for row in rows.values())
    assert rows[0]["minor_faults"] > 0  # the stacks of its new threads
    assert all(row["major_faults"] >= 0 for row in rows.values())
    assert end["trace"]["error"] and end["trace"]["hits"] == 0
    assert b"no trace: " in words and b"only the sums of /proc are told" in words


def test_it_ends_with_the_program(program: subprocess.Popen[bytes]) -> None:
    with family() as members:
        follower = members.start("follow", "--pid", str(program.pid), "--above", "100us", "--duration", "1h")
        first = until_named(follower, 2)
        program.kill()
        out, _ = follower.communicate(timeout=PATIENCE_S)
    end = whole(first + out, "follow")[-1].json
    assert (end["reason"], follower.returncode) == ("gone", 0)
    assert {lane["state"] for lane in end["lanes"]} == {"gone"}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ((), "give --pid PID or --comm NAME, one of the two"),
        (("--pid", "1", "--comm", "init"), "one of the two"),
        (("--pid", "4194304"), "there is no process 4194304"),
        (("--comm", "no-such-name-1"), "no process and no thread is named 'no-such-name-1'"),
        (("--pid", "1", "--above", "10ns"), "--above"),
    ],
)
def test_what_cannot_be_followed_is_said(argv: tuple[str, ...], words: str) -> None:
    done = run("follow", *argv)
    assert done.returncode == 2 and words in done.stderr.decode() and done.stdout == b""

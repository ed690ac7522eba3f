"""rtprobe cyclic --sleep --clock: each way of sleeping accounts for every due activation, by every clock that it has."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .board import NEEDS_PROBE, PATIENCE_S, Family, family, run
from .cyclic_stream import account, read

pytestmark = NEEDS_PROBE
MS = 1_000_000
CPU = str(max(os.sched_getaffinity(0)))
CYCLIC = ("cyclic", "--fallback", "--cpus", CPU, "--interval", "1ms")
SLEEPS = ("clock_nanosleep", "timerfd", "signal", "poll")
CLOCKS = ("monotonic", "realtime", "tai", "boottime")
ALONE = {("timerfd", "tai"), *(("poll", clock) for clock in CLOCKS if clock != "monotonic")}


@pytest.fixture(name="probes")
def _probes() -> Iterator[Family]:
    with family() as members:
        yield members


@pytest.mark.parametrize("sleep", SLEEPS)
@pytest.mark.parametrize("clock", CLOCKS)
def test_every_way_and_clock_accounts_for_every_activation_or_is_refused(sleep: str, clock: str) -> None:
    done = run(*CYCLIC, "--sleep", sleep, "--clock", clock, "--count", "20")
    if (sleep, clock) in ALONE:
        assert done.returncode == 2 and done.stdout == b""
        told = done.stderr.decode()
        assert (
            f"--sleep {sleep} with --clock {clock}" in told and "use --clock monotonic, or --sleep clock_nano" in told
        )
        return
    assert done.returncode == 0, done.stderr
    stream = read(done.stdout)
    account(stream)
    assert stream.facts["settings"] == {"sleep": sleep, "clock": clock, "runtime": None}
    assert stream.end is not None
    (lane,) = stream.end["lanes"]
    # A clock may be set while this runs, and its offset is known to a few ns: far less than any wake-up takes.
    assert lane["n"] == 20 and (lane["clock_steps"] or lane["min_ns"] > 0), lane


@pytest.mark.parametrize("sleep", SLEEPS)
def test_a_stall_is_missed_whatever_the_sleep(sleep: str, probes: Family, tmp_path: Path) -> None:
    target = tmp_path / "f.rtw"
    probe = probes.start(*CYCLIC, "--sleep", sleep, "--duration", "1h", "-o", str(target))
    until = time.monotonic() + PATIENCE_S
    while not (target.exists() and target.stat().st_size):
        assert time.monotonic() < until and probe.poll() is None, "the probe did not start"
        time.sleep(0.005)
    time.sleep(0.03)  # the first due time is 20 ms after the start
    probe.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, probe.pid, os.WSTOPPED)
    begun_ns = time.monotonic_ns()
    time.sleep(0.05)
    ended_ns = time.monotonic_ns()
    probe.send_signal(signal.SIGCONT)
    probe.send_signal(signal.SIGTERM)
    _, told = probe.communicate(timeout=PATIENCE_S)
    assert probe.returncode == 128 + signal.SIGTERM, told
    stream = read(target.read_bytes())
    account(stream)
    assert stream.end is not None
    (lane,) = stream.end["lanes"]
    first_ns = lane["first_due_ns"]
    due = sum(begun_ns <= first_ns + k * MS <= ended_ns for k in range(max(0, ended_ns - first_ns) // MS + 1))
    assert due >= 1 and lane["missed"] + lane["truncated"] >= due - 1, lane

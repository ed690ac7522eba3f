"""Monitors on this machine: what it has yields readings, what it lacks says so, what a test provokes is seen under its own name."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_support import Marked, assert_account_is_exact, until_measuring

from rtassay import store
from rtassay.model import warnings
from rtassay.model.manifest import RunWarning
from rtassay.model.recording import Recording, Series
from rtassay.monitors.base import plain
from rtassay.session.control import Progress, RunResult, StopRequest
from rtassay.session.telemetry import all_monitors

Measure = Callable[..., RunResult]
S = 10**9
# A real-time thread of a name of its own, off the measured CPU, at a tenth of its time, for as long as its parent lets it (120 s at most).
HOG = """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"rta-test-hog", 0, 0, 0)
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(7))
print("ready", flush=True)
end = time.monotonic() + 120
while time.monotonic() < end:
    until = time.monotonic() + 0.01
    while time.monotonic() < until:
        pass
    time.sleep(0.09)
"""
# What a Raspberry Pi's program of this name writes (docs of Raspberry Pi OS); here it proves the way from program to reading.
VCGENCMD = """#!/bin/sh
case "$1 $2" in
"get_throttled ") echo "throttled=0x50000" ;;
"measure_temp ") echo "temp=61.2'C" ;;
"measure_clock arm") echo "frequency(48)=1500398464" ;;
"measure_volts ") echo "volt=0.8500V" ;;
*) exit 1 ;;
esac
"""


def series_of(recording: Recording, monitor: str) -> dict[str, Series]:
    return {series.name: series for series in recording.telemetry if series.monitor == monitor}


def exists(pattern: str) -> bool:
    return any(Path("/").glob(pattern.removeprefix("/")))


@pytest.fixture
def measured() -> int:
    """The CPU to measure: the watch and what the test provokes have the other one."""
    cpus = os.sched_getaffinity(0)
    assert len(cpus) > 1, "this test needs two CPUs"
    return max(cpus)


def test_what_this_machine_has_and_what_a_test_provokes_is_seen(
    measure: Measure,
    heard: list[Progress],
    marked: Marked,
    measured: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "vcgencmd").write_text(VCGENCMD)
    (programs / "vcgencmd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    seen: dict[str, Any] = {}

    async def provoke(stop: StopRequest) -> None:
        await until_measuring(marked, heard, lanes=1)
        watch = marked.find("watch", "--cpus", without=["guard"])
        assert watch is not None
        seen["affinity"] = os.sched_getaffinity(watch)
        seen["from_ns"] = time.monotonic_ns()
        Path("/dev/kmsg").write_text(f"<4>rtassay test {marked.value}: a warning while the probe measures\n")
        seen["to_ns"] = time.monotonic_ns()

    with subprocess.Popen([sys.executable, "-c", HOG], stdout=subprocess.PIPE) as hog:
        try:
            assert hog.stdout is not None and hog.stdout.readline() == b"ready\n"  # the inventory is to find it
            result = measure(
                cpus=(measured,),
                load="builtin:cpu",
                load_cpus=(measured,),
                duration_ns=14 * S,  # all threads are looked for every tenth reading, whatever else the machine does
                during=provoke,
                home=tmp_path / "home",
            )
        finally:
            hog.kill()
    recording = assert_account_is_exact(result.path)
    assert_states_are_true(recording)
    assert measured not in seen["affinity"]

    threads = series_of(recording, "threads")
    assert threads[f"rta-test-hog[{hog.pid}].priority"].values.tolist()[0] == 7.0
    assert max(threads[f"rta-test-hog[{hog.pid}].busy"].values) > 0
    assert f"rtprobe-lane[{recording.lanes[0].entry.tid}].busy" in threads

    (line,) = [m for m in recording.messages if marked.value in m.text]
    assert line.monitor == "kernel-log"
    # The kernel's log has a clock of its own: the readings before and after the line bound it. One to spare at each side, since the log
    # is read at another moment of the round than what tells us of the rounds.
    rounds = [0, 0, *series_of(recording, "cost")["watch.busy"].mono_ns, math.inf, math.inf]
    first = [at for at in rounds if at <= seen["from_ns"]][-2]
    last = [at for at in rounds if at >= seen["to_ns"]][1]
    assert first <= line.mono_ns <= last

    pi = {name: series.values.tolist()[0] for name, series in series_of(recording, "raspberry").items()}
    assert pi == {"throttled": float(0x50000), "gpu": 61.2, "arm": 1500398464.0, "core": 0.85}

    for name, series in series_of(recording, "pressure").items():
        assert ((series.values >= 0) & (series.values <= 1)).all(), name
    assert (series_of(recording, "cpu")[f"cpu{measured}.busy"].values <= 1).all()
    assert series_of(recording, "cost")["watch.busy"].values.min() > 0
    inventory = recording.manifest.inventory
    assert any(task["comm"] == "rta-test-hog" and task["priority"] == 7 for task in inventory["rt_tasks"])
    assert inventory["throttle_messages"] is not None


def assert_states_are_true(recording: Recording) -> None:
    """Every monitor is in the manifest with the state that this machine's files give it, and counts what the tables hold."""
    entries = recording.manifest.monitors
    assert set(entries) == {monitor.name for monitor in all_monitors()}
    for monitor in all_monitors():
        entry = entries[monitor.name]
        telling = [plain(path) for path in monitor.paths if path not in monitor.describing]
        assert entry.readings == sum(len(series.values) for series in series_of(recording, monitor.name).values())
        assert entry.messages == sum(message.monitor == monitor.name for message in recording.messages)
        if all(path.startswith("/") for path in telling):
            there = any(exists(path) for path in telling)
            assert (entry.state != "not available") == there, (monitor.name, entry)
        if entry.state == "watched":
            assert entry.readings or monitor.name == "kernel-log", monitor.name
        else:
            assert entry.why and not entry.readings and not entry.messages
    for name in ("cpu", "interrupts", "softirqs", "switches", "memory", "threads", "clock", "kernel-log", "raspberry"):
        assert entries[name].state == "watched", (name, entries[name])


def test_a_watch_that_dies_is_named_and_the_measurement_goes_on(
    measure: Measure, heard: list[Progress], marked: Marked, measured: int
) -> None:
    async def kill(stop: StopRequest) -> None:
        await until_measuring(marked, heard, lanes=1)
        watch = marked.find("watch", "--every", without=["guard"])
        assert watch is not None
        os.kill(watch, signal.SIGKILL)

    result = measure(cpus=(measured,), duration_ns=6 * S, during=kill)
    manifest = store.load_manifest(result.path)
    assert manifest.sealed and result.end_reason == "duration"
    assert manifest.warnings == (RunWarning(warnings.MONITORS_ENDED_EARLY),)
    assert {entry.why for entry in manifest.monitors.values() if entry.state == "watched"} == {
        "the watch ended before the run did"
    }
    assert not any(entry.state == "not available" for entry in manifest.monitors.values())

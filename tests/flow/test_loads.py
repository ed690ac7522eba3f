"""Loads really run: what they did is recorded by part and by second, and one that dies is named with the time it was missing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flow_support import Marked, assert_account_is_exact, free_port, until_measuring, wait_for_data
from xvfb import xvfb

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.cli.seal import finish
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.recording import Recording, Series
from rtassay.model.units import format_time
from rtassay.session.control import Progress, RunResult, StopRequest

Measure = Callable[..., RunResult]
S = 10**9


def loads(*specs: str) -> dict[str, Any]:
    """Fields of a plan with these loads; a PORT in them is a free one."""
    return {"load": "", "loads": tuple(spec.replace("PORT", str(free_port())) for spec in specs)}


def series(recording: Recording, quantity: str) -> dict[int, Series]:
    """One quantity of the monitor `load`, by index of the load."""
    return {
        int(s.name.split(".")[0]): s
        for s in recording.telemetry
        if s.monitor == "load" and s.name.endswith(f".{quantity}")
    }


@pytest.mark.parametrize(
    ("spec", "processes", "unit", "classes", "rate"),
    [
        ("stress-ng", 1, "bogo ops", {"cpu", "vm", "timer"}, None),
        ("stress-ng:cpu,scheduler", 1, "bogo ops", {"cpu", "scheduler"}, None),
        ("stress:--cpu 1 --io 1", 1, "CPU seconds", {"cpu", "io"}, None),
        ("hackbench:-g 1 -l 50", 1, "messages", {"scheduler"}, "messages/s"),
        ("iperf3:port=PORT", 2, "bytes", {"network"}, "bytes/s"),
        ("iperf:port=PORT", 2, "bytes", {"network"}, "bytes/s"),
        ("builtin:memory", 1, "bytes", {"cache", "memory"}, "bytes/s"),
        ("command:sleep 0.1", 1, "rounds", set(), "rounds/s"),
    ],
)
def test_work_is_reported(
    spec: str, processes: int, unit: str, classes: set[str], rate: str | None, measure: Measure, marked: Marked
) -> None:
    recording = assert_account_is_exact(measure(**loads(spec), duration_ns=3 * S).path)
    manifest = recording.manifest
    assert len(manifest.loads) == processes
    assert manifest.plan.loads == (manifest.plan.load,) and manifest.plan.load.startswith(spec.partition(":")[0])
    used, alive, rates = (series(recording, quantity) for quantity in ("cpus", "processes", "work"))
    for index, entry in enumerate(manifest.loads):
        assert entry.error is None and entry.operations > 0 and entry.operations_unit == unit
        assert entry.spec == manifest.plan.load and set(entry.classes) >= classes
        assert entry.policy is None and entry.user_ns + entry.system_ns > 0
        assert set(entry.cpus) == os.sched_getaffinity(0)
        assert used[index].unit == "CPUs" and (max(used[index].values) > 0 or entry.name == "command")
        inside = (alive[index].mono_ns >= manifest.started_ns) & (alive[index].mono_ns <= manifest.ended_ns)
        assert inside.any() and alive[index].values[inside].min() >= 1
        if rate is not None:
            assert rates[index].unit == rate and max(rates[index].values) > 0
        assert (recording_path(recording) / entry.log).stat().st_size > 0
    assert severity(recording, "LOAD-WINDOW") == "pass"


@pytest.mark.full
def test_frames_rendered_by_the_cpu_are_proof(measure: Measure, marked: Marked) -> None:
    with xvfb() as display:
        run = measure(**loads(f"glmark2:display={display}"), duration_ns=12 * S)
    recording = assert_account_is_exact(run.path)
    (entry,) = recording.manifest.loads
    assert entry.error is None and entry.operations_unit == "frames" and entry.operations > 0
    assert entry.software is True and entry.classes == ("gpu",) and not entry.gpu_ns
    assert max(series(recording, "work")[0].values) > 0
    assert severity(recording, "LOAD-UNKNOWN") == "pass"


def recording_path(recording: Recording) -> Path:
    assert recording.path is not None
    return Path(recording.path)


def check(recording: Recording, name: str) -> Any:
    return next(c for c in judge(recording).checks if c.id == name)


def severity(recording: Recording, name: str) -> str:
    return str(check(recording, name).severity)


def test_stressors_are_told_apart_and_a_skipped_one_is_named(measure: Measure, marked: Marked) -> None:
    result = measure(**loads("stress-ng:--cpu 1 --sem 2 --plugin 1"), duration_ns=2 * S)
    (entry,) = store.load_manifest(result.path).loads
    parts = {part.name: part for part in entry.parts}
    assert {name for name, part in parts.items() if not part.skipped} == {"cpu", "sem"}
    assert parts["plugin"].skipped and parts["plugin"].operations is None and parts["plugin"].why
    assert (parts["cpu"].instances, parts["sem"].instances) == (1, 2)
    assert all(parts[name].operations > 0 and parts[name].seconds > 0 for name in ("cpu", "sem"))
    assert entry.operations == parts["cpu"].operations + parts["sem"].operations


@pytest.mark.full
def test_several_at_once_each_on_its_own_cpus(measure: Measure, heard: list[Progress], marked: Marked) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    first, last = cpus[0], cpus[-1]
    seen: dict[str, set[int]] = {}

    async def look(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        while not {"hackbench", "rtprobe load"} <= set(seen):
            for pid, line in marked.pids().items():
                for word in ("hackbench", "rtprobe load"):
                    if word in line and "guard" not in line and "repeat" not in line:
                        try:
                            used = os.sched_getaffinity(pid)
                        except ProcessLookupError:
                            continue
                        seen.setdefault(word, set()).update(used)
            await asyncio.sleep(0.1)
        await asyncio.sleep(3)
        stop.request()

    asked = loads(f"builtin:cpu,fork@{first}", f"hackbench:-g 1 -l 50@{last}")
    recording = assert_account_is_exact(measure(**asked, duration_ns=300 * S, during=look).path)
    manifest = recording.manifest
    assert manifest.plan.loads == (f"builtin:cpu,fork@{first}", f"hackbench:-g 1 -l 50@{last}")
    assert manifest.plan.load == " + ".join(manifest.plan.loads)
    assert [entry.name for entry in manifest.loads] == ["builtin", "builtin", "hackbench"]
    assert [entry.cpus for entry in manifest.loads] == [(first,), (first,), (last,)]
    assert all(entry.operations > 0 for entry in manifest.loads)
    assert {int(index) for index in series(recording, "cpus")} == {0, 1, 2}
    assert seen["hackbench"] == {last}


def test_real_time_threads_of_a_load_are_seen(measure: Measure, marked: Marked) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root: SCHED_FIFO")
    chrt = shutil.which("chrt")
    assert chrt
    recording = store.open_recording(measure(**loads("command:chrt -f 1 sleep 30"), duration_ns=3 * S).path)
    (entry,) = recording.manifest.loads
    assert entry.policy == "real-time"
    assert max(series(recording, "real_time")[0].values) == 1
    assert severity(recording, "LOAD-RT") == "warning"


@pytest.mark.parametrize("spec", ["stress-ng", "iperf3:port=PORT", "hackbench:-g 1 -l 100", "stress:--cpu 2"])
def test_a_load_killed_at_a_random_moment_is_named_with_its_gap(
    spec: str, measure: Measure, heard: list[Progress], marked: Marked
) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print("seed", seed)
    pause_s = random.Random(seed).uniform(0.2, 1.5)
    program = spec.partition(":")[0]
    killed_ns: list[int] = []

    def kill_all() -> int:
        """How many there were."""
        hit = 0
        for pid, line in marked.pids().items():
            if Path(line.split(" ")[0]).name == program or line.startswith((f"{program} ", f"{program}-")):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    hit += 1
        return hit

    async def murder(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        await asyncio.sleep(pause_s)
        while not killed_ns:  # between two rounds of hackbench there is none
            now_ns = time.monotonic_ns()
            killed_ns.extend([now_ns] if kill_all() else [])
        for _ in range(2):  # what forked meanwhile
            kill_all()
        # What started it ends too, soon or, where the machine stands still, late.
        async with asyncio.timeout(300):
            while any(program in line for line in marked.pids().values()):
                await asyncio.sleep(0.1)
        await asyncio.sleep(2.5)
        stop.request()

    recording = assert_account_is_exact(measure(**loads(spec), duration_ns=600 * S, during=murder).path)
    manifest = recording.manifest
    assert killed_ns and len(manifest.loads) in (1, 2)
    gone = max((entry for entry in manifest.loads), key=lambda entry: manifest.ended_ns - entry.ended_ns)
    assert killed_ns[0] <= gone.ended_ns < manifest.ended_ns - S
    assert gone.stop_asked_ns is None and (gone.signal or gone.exit_code)
    window = check(recording, "LOAD-WINDOW")
    assert window.severity == "invalid" and program in window.message
    assert format_time(manifest.ended_ns - gone.ended_ns) in window.message, (window.message, gone)


def test_what_a_dead_host_left_is_sealed_with_its_loads(marked: Marked, tmp_path: Path) -> None:
    fields = '{"load": "", "loads": ["builtin:cpu", "hackbench:-g 1 -l 50"], "duration_ns": 120000000000}'
    driver = [sys.executable, str(Path(__file__).parent / "driver.py"), str(tmp_path), fields]
    host = subprocess.Popen(driver, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        path = wait_for_data(tmp_path, watched=["cpu all.busy", "load 0.builtin.work", "load 1.hackbench.work"])
    finally:
        host.kill()
        host.communicate()
    marked.wait_gone()
    finish(path)
    recording = store.open_recording(path)
    assert recording.manifest.sealed
    assert [entry.name for entry in recording.manifest.loads] == ["builtin", "hackbench"]
    assert all(entry.operations > 0 and entry.started_ns for entry in recording.manifest.loads)
    assert set(series(recording, "cpus")) == set(series(recording, "work")) == {0, 1}
    assert {s.monitor for s in recording.telemetry} >= {"cpu", "load"}


@pytest.mark.parametrize(
    "specs",
    [("none", "builtin"), ("stress-ng:disk",), ("iperf3:client",), ("builtin@4000",), ("command:",), ("no-such-load",)],
    ids=str,
)
def test_loads_that_cannot_be_are_refused(
    specs: tuple[str, ...], measure: Measure, marked: Marked, tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        measure(load="", loads=specs)
    assert not list(tmp_path.glob("*.rta"))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("command:no-such-program-of-ours --x", "no-such-program-of-ours"),
        ("command:false", "ended at once"),
        ("iperf3:client=127.0.0.1,port=PORT", "ended at once"),
        ("iperf3:server,bind=203.0.113.7,port=PORT", "does not get ready"),
    ],
)
def test_a_load_that_does_not_run_is_a_board_error(
    spec: str, words: str, measure: Measure, marked: Marked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rtassay.session.run.SPIN_UP_NS", 5 * S)  # a machine that stands still in it takes it for alive
    with pytest.raises(BoardError) as caught:
        measure(**loads(spec))
    assert words in caught.value.what + str(caught.value.why)
    assert not list(tmp_path.glob("*.rta"))

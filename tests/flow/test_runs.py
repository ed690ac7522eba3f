"""Whole runs on this machine: what is recorded, what is refused, what a stop does."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faults
import pytest
from flow_support import PLAN, Marked, assert_account_is_exact, until_measuring

from rtassay import store
from rtassay.model.errors import BoardError, UsageError
from rtassay.session.control import Interrupted, Progress, RunResult, StopRequest

Measure = Callable[..., RunResult]


def nothing_in(home: Path) -> bool:
    return not home.exists() or list(home.glob("*.rta")) == []


@pytest.mark.parametrize("load", ["builtin:cpu,memory,timer", "stress-ng"])
def test_a_run_under_load(load: str, measure: Measure, heard: list[Progress], marked: Marked) -> None:
    result = measure(load=load, duration_ns=3 * 10**9)
    recording = assert_account_is_exact(result.path)
    manifest = recording.manifest
    assert (result.end_reason, result.stopped, manifest.end_reason) == ("duration", False, "duration")
    assert {lane.entry.cpu for lane in recording.lanes} == os.sched_getaffinity(0)
    assert manifest.labels == {"ambient": "21C"} and manifest.note == "a note"
    assert manifest.source.tool == "rtprobe" and manifest.source.late_policy == "counted"
    assert manifest.inventory["kernel"]["release"] == os.uname().release
    assert manifest.inventory_end["boot_id"] == manifest.inventory["boot_id"]
    assert manifest.tool_versions["rtassay"] and manifest.tool_versions["rtprobe"]
    for entry in manifest.loads:
        assert entry.started_ns < min(lane.entry.first_due_ns for lane in recording.lanes)
        assert entry.ended_ns > max(lane.entry.closed_ns for lane in recording.lanes)
        assert entry.stop_asked_ns > max(lane.entry.closed_ns for lane in recording.lanes)
        assert entry.operations > 0 and entry.operations_unit
        assert (result.path / entry.log).stat().st_size > 0
    phases = [progress.phase for progress in heard]
    assert [phase for i, phase in enumerate(phases) if phase not in phases[:i]] == [
        "inventory",
        "load",
        "measure",
        "collect",
        "seal",
    ]
    assert heard[-1].worst_ns == max(lane.entry.max_ns for lane in recording.lanes)
    assert heard[-1].missed == sum(lane.entry.missed for lane in recording.lanes)
    assert not any(file.suffix == ".rtw" for file in result.path.iterdir())


def test_stress_ng_ends_in_order(measure: Measure, marked: Marked) -> None:
    result = measure(load="stress-ng", duration_ns=2 * 10**9)
    (entry,) = store.load_manifest(result.path).loads
    assert (entry.exit_code, entry.error) == (0, None)
    assert entry.tool_version


def test_telemetry_lies_on_the_clock_of_the_probe(measure: Measure, marked: Marked) -> None:
    result = measure(duration_ns=6 * 10**9)
    recording = store.open_recording(result.path)
    busy = [series for series in recording.telemetry if series.name == "all.busy"]
    assert len(busy) == 1
    inside = [t for t in busy[0].mono_ns.tolist() if recording.manifest.started_ns <= t <= recording.manifest.ended_ns]
    assert inside
    assert all(0 <= value <= 1 for value in busy[0].values.tolist())


def test_warm_up_lies_between_load_and_measurement(measure: Measure, heard: list[Progress], marked: Marked) -> None:
    result = measure(load="builtin:cpu", warm_up_ns=2 * 10**9, duration_ns=10**9)
    recording = assert_account_is_exact(result.path)
    assert recording.manifest.started_ns - recording.manifest.loads[0].started_ns >= 3 * 10**9
    assert "warm-up" in {progress.phase for progress in heard}


def test_count_ends_a_run(measure: Measure, marked: Marked) -> None:
    recording = assert_account_is_exact(measure(duration_ns=None, count=500).path)
    # A machine that stood still for seconds may have reached the time limit of a count before the count.
    assert (recording.manifest.end_reason == "count") == all(lane.entry.n == 500 for lane in recording.lanes)


def test_without_samples_the_histogram_is_still_exact(measure: Measure, marked: Marked) -> None:
    recording = assert_account_is_exact(measure(keep_samples=False, duration_ns=2 * 10**9).path)
    assert not recording.manifest.has_samples


def test_one_lane_of_many_and_own_policy(measure: Measure, marked: Marked) -> None:
    recording = assert_account_is_exact(measure(lanes=1, policy="rr", priority=33, duration_ns=10**9).path)
    assert len(recording.lanes) == 1
    assert (recording.lanes[0].entry.obtained_start.policy, recording.lanes[0].entry.obtained_start.priority) == (
        "rr",
        33,
    )


def test_cyclictest_as_the_probe(measure: Measure, marked: Marked) -> None:
    result = measure(probe="cyclictest", duration_ns=2 * 10**9)
    recording = store.open_recording(result.path)
    manifest = recording.manifest
    assert manifest.sealed
    assert (manifest.source.tool, manifest.source.late_policy, manifest.bin_width_ns) == ("cyclictest", "skip", 1000)
    assert manifest.source.version
    assert [lane.entry.cpu for lane in recording.lanes] == sorted(os.sched_getaffinity(0))
    for lane in recording.lanes:
        assert lane.entry.n == lane.histogram.total > 0
        assert (lane.entry.due, lane.entry.missed) == (None, None)
        assert lane.entry.max_ns % 1000 == 0
        # Whatever this machine did: a wake-up beyond the histogram is counted as such, and only then does the maximum lie there.
        assert lane.histogram.limit_ns == 2 * PLAN.deadline_ns
        assert lane.histogram.over == lane.entry.over
        assert (lane.entry.over > 0) == (lane.entry.max_ns >= lane.histogram.limit_ns)


def test_first_stop_seals_what_there_is(measure: Measure, heard: list[Progress], marked: Marked) -> None:
    async def stop_soon(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        stop.request()

    result = measure(duration_ns=60 * 10**9, during=stop_soon)
    recording = assert_account_is_exact(result.path)
    assert (result.stopped, result.end_reason) == (True, "signal")
    assert all(0 < lane.entry.n < 60_000 for lane in recording.lanes)


def test_second_stop_aborts_and_leaves_a_readable_recording(
    measure: Measure, heard: list[Progress], marked: Marked, tmp_path: Path
) -> None:
    async def stop_twice(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        guard = marked.find("guard", "cyclic")
        os.kill(guard, signal.SIGSTOP)  # then the first request has no effect
        stop.request()
        await asyncio.sleep(0.2)
        stop.request()

    with pytest.raises(Interrupted) as caught:
        measure(duration_ns=60 * 10**9, during=stop_twice)
    assert caught.value.exit_code == 130
    (path,) = tmp_path.glob("*.rta")
    assert not store.is_running(path)
    recording = store.open_recording(path)
    assert not recording.manifest.sealed
    assert sum(lane.entry.n for lane in recording.lanes) > 0


def test_abort_while_the_load_will_not_end(
    measure: Measure, heard: list[Progress], marked: Marked, tmp_path: Path
) -> None:
    async def hold_the_load(stop: StopRequest) -> None:
        while (guard := marked.find("guard", "load timer")) is None:
            await asyncio.sleep(0.05)
        while not heard or heard[-1].phase != "measure":
            await asyncio.sleep(0.05)
        os.kill(guard, signal.SIGSTOP)
        while heard[-1].phase != "collect":
            await asyncio.sleep(0.05)
        stop.request()
        stop.request()

    with pytest.raises(Interrupted):
        measure(load="builtin:timer", duration_ns=2 * 10**9, during=hold_the_load)
    (path,) = tmp_path.glob("*.rta")
    recording = store.open_recording(path)
    assert not recording.manifest.sealed
    for entry in (lane.entry for lane in recording.lanes):
        assert entry.due == entry.n + entry.missed + entry.dropped + entry.truncated


def test_stop_before_the_measurement_leaves_nothing(measure: Measure, marked: Marked, tmp_path: Path) -> None:
    async def stop_in_warm_up(stop: StopRequest) -> None:
        await asyncio.sleep(1.0)
        stop.request()

    with pytest.raises(Interrupted):
        measure(load="builtin:timer", warm_up_ns=60 * 10**9, during=stop_in_warm_up)
    assert nothing_in(tmp_path)


@pytest.mark.parametrize(
    "asked",
    [
        {"cpus": (0, 4000)},
        {"load_cpus": (4000,), "load": "builtin"},
        {"lanes": 4000},
        {"load": "no-such-load"},
        {"load": "builtin:nosuch"},
        {"load": "none:x"},
        {"probe": "no-such-probe"},
        {"policy": "fifo", "priority": 100},
        {"probe": "cyclictest", "interval_ns": 1_000_500},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_before_anything_is_made(
    asked: dict[str, Any], measure: Measure, marked: Marked, tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        measure(**asked)
    assert nothing_in(tmp_path)


def test_the_words_of_the_probe_are_passed_on(measure: Measure, marked: Marked, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        measure(interval_ns=2 * 10**9, duration_ns=10**9)
    assert "--duration" in caught.value.what
    assert nothing_in(tmp_path)


def test_a_directory_that_cannot_be_written(measure: Measure, marked: Marked, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BoardError):
        measure(home=tmp_path / "file" / "home")


def test_a_program_that_is_not_installed_is_named_with_its_package(
    measure: Measure, marked: Marked, tmp_path: Path
) -> None:
    board = faults.FaultyBoard(programs={"cyclictest": None, "stress-ng": None})
    with pytest.raises(BoardError) as caught:
        measure(board=board, probe="cyclictest")
    assert caught.value.hint == "apt-get install rt-tests"
    with pytest.raises(BoardError):
        measure(board=board, load="stress-ng")
    assert nothing_in(tmp_path)


def test_auto_takes_the_built_in_load_where_there_is_no_stress_ng(measure: Measure, marked: Marked) -> None:
    board = faults.FaultyBoard(programs={"stress-ng": None})
    manifest = store.load_manifest(measure(board=board, load="auto", duration_ns=10**9).path)
    assert {entry.name for entry in manifest.loads} == {"builtin"}
    assert manifest.plan.load == "builtin"
    assert shutil.which("stress-ng")

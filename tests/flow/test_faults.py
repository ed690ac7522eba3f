"""Bad days: stalled and killed probes, killed hosts, full disks, broken links. Each ends in bounded time, says what happened, and leaves
nothing half-written that looks whole and no process."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import faults
import numpy as np
import pytest
from flow_support import PLAN, Marked, assert_account_is_exact, free_port, until_measuring, wait_for_data

from rtassay import store
from rtassay.model import warnings
from rtassay.model.errors import BoardError, NewerFormat
from rtassay.session.control import Progress, RunResult, StopRequest
from rtassay.session.telemetry import recorded

Measure = Callable[..., RunResult]
Script = Callable[[str], Path]
DRIVER = Path(__file__).parent / "driver.py"
S = 10**9


def only_recording(home: Path) -> Path:
    (path,) = home.glob("*.rta")
    return path


def assert_unsealed_but_readable(path: Path) -> Any:
    manifest = store.load_manifest(path)
    assert not manifest.sealed
    assert not store.is_running(path)
    recording = store.open_recording(path)
    assert recording.manifest.damage.cut
    return recording


@contextlib.contextmanager
def driver(home: Path, *prefix: str, **fields: Any) -> Iterator[subprocess.Popen[str]]:
    """A run in another process."""
    process = subprocess.Popen(
        [*prefix, sys.executable, str(DRIVER), str(home), json.dumps(fields)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


def read_until(process: subprocess.Popen[str], phase: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == phase:
            return
    raise AssertionError(f"no phase {phase}: {process.stderr and process.stderr.read()}")


async def until_stopped(pid: int) -> None:
    """SIGSTOP has reached every thread: no lane runs any more."""
    while any(
        (task / "stat").read_text().rpartition(")")[2].split()[0] != "T" for task in Path(f"/proc/{pid}/task").iterdir()
    ):
        await asyncio.sleep(0.001)


def activations(path: Path, lane: int, first_k: int) -> tuple[Any, Any, Any]:
    """k, latency in ns and missed until the next one, of each sample."""
    latency_ns, missed, dropped = (
        np.concatenate(column) for column in zip(*store.iter_samples(path, lane), strict=True)
    )
    k = first_k + np.arange(len(latency_ns)) + np.concatenate([[0], np.cumsum(missed + dropped)[:-1]])
    return k, latency_ns, missed


def test_a_stalled_probe_accounts_for_every_activation(measure: Measure, heard: list[Progress], marked: Marked) -> None:
    interval_ns, stalled = PLAN.interval_ns, []

    async def stall(stop: StopRequest) -> None:
        probe = await until_measuring(marked, heard)
        os.kill(probe, signal.SIGSTOP)
        await until_stopped(probe)
        # Not asyncio.sleep alone: the stall is measured, for this machine may stall us too.
        begun = time.monotonic_ns()
        await asyncio.sleep(0.5)
        stalled[:] = [begun, time.monotonic_ns()]
        os.kill(probe, signal.SIGCONT)
        while min(lane.missed for lane in heard[-1].lanes) < (stalled[1] - stalled[0]) // interval_ns - 2:
            await asyncio.sleep(0.05)
        stop.request()

    result = measure(duration_ns=120 * S, during=stall)
    recording = assert_account_is_exact(result.path)
    begun, going = stalled
    for entry in (lane.entry for lane in recording.lanes):
        k, latency_ns, missed = activations(result.path, entry.index, entry.first_k)
        due_ns = entry.first_due_ns + k * interval_ns
        # Each lane has one activation that was due before it was held, or while it was, and was served after.
        (held,) = np.flatnonzero((due_ns <= begun + interval_ns) & (due_ns + latency_ns >= going))
        assert latency_ns[held] >= going - begun - interval_ns
        # What was missed follows from the latency, there and everywhere: an activation that is late by n intervals misses n.
        assert missed[held] == latency_ns[held] // interval_ns
        assert entry.missed == missed.sum() == (latency_ns // interval_ns).sum() - clipped(entry)


def clipped(entry: Any) -> int:
    """Of the missed ones, those that lie beyond the end of the run."""
    return 0 if entry.clip is None else int(entry.clip.latency_ns // entry.interval_ns - entry.clip.missed)


def test_a_killed_probe_is_an_error_and_what_it_sent_is_kept(
    measure: Measure, heard: list[Progress], marked: Marked, tmp_path: Path
) -> None:
    arrived: list[int] = []

    async def murder(stop: StopRequest) -> None:
        probe = await until_measuring(marked, heard)
        arrived.extend(lane.n for lane in heard[-1].lanes)
        os.kill(probe, signal.SIGKILL)

    with pytest.raises(BoardError) as caught:
        measure(duration_ns=60 * S, during=murder)
    assert "signal 9" in str(caught.value)
    path = only_recording(tmp_path)
    assert str(path) in (caught.value.hint or "")
    recording = assert_unsealed_but_readable(path)
    assert arrived and all(lane.entry.n >= n > 0 for lane, n in zip(recording.lanes, arrived, strict=True))


@pytest.mark.parametrize("load", ["none", "stress-ng"])
def test_a_killed_host_leaves_no_process_and_a_readable_recording(load: str, marked: Marked, tmp_path: Path) -> None:
    with driver(tmp_path, load=load, duration_ns=120 * S) as host:
        wait_for_data(tmp_path)
        if load == "stress-ng" and marked.namespace:
            assert marked.find("stress-ng-"), "a worker that named itself anew is not seen: then none is missed below"
        host.kill()
        host.wait()
        marked.wait_gone()
    path = only_recording(tmp_path)
    recording = assert_unsealed_but_readable(path)
    assert sum(lane.entry.n for lane in recording.lanes) > 0
    if load != "none":
        assert recording.manifest.loads[0].started_ns is not None
        assert recording.manifest.loads[0].ended_ns is None
    seen = recorded(path)
    assert seen is not None
    rows = seen.rows()
    assert {row[0] for row in rows} >= {"cpu"}
    sealed = store.seal(path, telemetry_rows=seen.rows(), messages=seen.messages)
    assert sealed.sealed and sealed.damage.cut


# What the guards have to end: workers that name themselves anew, storms of forks, daemons, two ends of a connection.
KILLED_LOADS = {
    "stress-ng": ["stress-ng:--cpu 1 --fork 2 --vm 1 --vm-bytes 8m"],
    "daemons": ["stress-ng:--daemon 1 --vfork 1"],
    "hackbench": ["hackbench:-g 1 -l 50"],
    "iperf3": ["iperf3:port=PORT"],
    "two": ["stress-ng:--cpu 1", "hackbench:-g 1 -l 50"],
}
KILL_SEED = int(os.environ.get("RTASSAY_TEST_SEED") or time.time_ns() % 10**6)


@pytest.mark.parametrize(
    ("name", "measuring"),
    [
        pytest.param(
            name,
            measuring,
            id=f"{name}-{'measuring' if measuring else 'anywhere'}",
            marks=() if measuring or name in ("stress-ng", "two") else pytest.mark.full,
        )
        for measuring in (False, True)
        for name in KILLED_LOADS
    ],
)
def test_a_host_killed_at_any_moment_leaves_nothing(
    name: str, measuring: bool, marked: Marked, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Ten kill points: five at any moment from the start on, five while probe, loads and monitors surely run. The moment comes from the
    seed, which a failure shows; RTASSAY_TEST_SEED repeats it."""
    program = KILLED_LOADS[name][0].partition(":")[0]
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    moment = random.Random(f"{KILL_SEED} {request.node.name}").uniform(0.3, 2.0 if measuring else 5.0)
    print(f"RTASSAY_TEST_SEED={KILL_SEED}: {request.node.name} is killed after {moment:.3f} s")
    specs = [spec.replace("PORT", str(free_port())) for spec in KILLED_LOADS[name]]
    with driver(tmp_path, load="", loads=specs, duration_ns=120 * S) as host:
        if measuring:
            read_until(host, "measure")
            marked.wait_for("cyclic", without=["guard"])
        time.sleep(moment)
        assert host.poll() is None, host.stderr and host.stderr.read()
        seen = marked.pids()
        host.kill()
        host.wait()
        marked.wait_gone()
    assert host.pid in seen  # the mark was there to be found
    if measuring:
        for words in (["cyclic"], ["watch", "--every"], *([spec.partition(":")[0]] for spec in specs)):
            alive = [line for line in seen.values() if all(word in line for word in words) and "guard" not in line]
            assert alive, (words, seen)
    for path in tmp_path.glob("*.rta"):
        assert not store.is_running(path)
        if (path / "manifest.json").exists():  # the host may have died before it had written one
            assert not store.load_manifest(path).sealed


def test_control_c_of_the_host_is_heard_by_the_host_alone(marked: Marked, tmp_path: Path) -> None:
    with driver(tmp_path, duration_ns=120 * S) as host:
        wait_for_data(tmp_path)
        host.send_signal(signal.SIGINT)
        output, errors = host.communicate(timeout=300)
    assert host.returncode == 0, errors
    recording = assert_account_is_exact(Path(output.splitlines()[-1]))
    assert recording.manifest.end_reason == "signal"


@pytest.mark.root
def test_no_permission_without_a_policy_asked_for_still_measures(marked: Marked, tmp_path: Path) -> None:
    drop = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    with driver(tmp_path, *drop, duration_ns=S) as host:
        output, errors = host.communicate(timeout=90)
    assert host.returncode == 0, errors
    recording = assert_account_is_exact(Path(output.splitlines()[-1]))
    assert recording.manifest.facts["fallback"]
    assert {lane.entry.obtained_start.policy for lane in recording.lanes} == {"other"}


@pytest.mark.root
def test_no_permission_with_a_priority_asked_for_is_a_board_error(marked: Marked, tmp_path: Path) -> None:
    drop = ["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"]
    with driver(tmp_path, *drop, duration_ns=S, priority=80) as host:
        _, errors = host.communicate(timeout=90)
    assert host.returncode == 3
    assert "SCHED_FIFO 80 was refused" in json.loads(errors)["what"]
    assert list(tmp_path.glob("*.rta")) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "rtassay-test", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.root
def test_a_full_disk_ends_the_run_and_what_fits_is_readable(small_disk: Path, measure: Measure, marked: Marked) -> None:
    begun = time.monotonic()
    with pytest.raises(BoardError) as caught:
        measure(home=small_disk, interval_ns=100_000, duration_ns=120 * S)
    assert time.monotonic() - begun < 60
    assert "disk is full" in caught.value.what
    recording = assert_unsealed_but_readable(only_recording(small_disk))
    assert sum(file.stat().st_size for file in small_disk.rglob("*") if file.is_file()) > 150_000
    for entry in (lane.entry for lane in recording.lanes):
        assert entry.n > 0 and entry.due == entry.n + entry.missed + entry.dropped


def test_a_load_that_dies_is_seen_in_its_entry(
    measure: Measure, heard: list[Progress], marked: Marked, script: Script
) -> None:
    async def murder(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        load = marked.find("sleep", "90", without=["guard", "sh"])
        assert load is not None
        os.kill(load, signal.SIGKILL)

    board = faults.FaultyBoard(programs={"stress-ng": script("exec sleep 90")})
    result = measure(board=board, load="stress-ng", duration_ns=10 * S, during=murder)
    recording = assert_account_is_exact(result.path)
    (entry,) = recording.manifest.loads
    assert (entry.exit_code, entry.signal) == (None, signal.SIGKILL)
    assert entry.stop_asked_ns is None
    assert recording.manifest.started_ns < entry.ended_ns < recording.manifest.ended_ns
    assert entry.error


@pytest.fixture
def script(tmp_path_factory: pytest.TempPathFactory) -> Script:
    """`script(body)`: a program that says its version, and else does this."""

    def made(body: str) -> Path:
        path = tmp_path_factory.mktemp("script") / "program"
        path.write_text(f'#!/bin/sh\ncase "$1" in --version) echo "program 1.2.3"; exit;; esac\n{body}\n')
        path.chmod(0o755)
        return path

    return made


def test_a_load_that_ends_at_once_is_refused_before_measuring(
    measure: Measure, marked: Marked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    monkeypatch.setattr("rtassay.session.run.SPIN_UP_NS", 5 * S)  # a machine that stands still in it takes it for alive
    board = faults.FaultyBoard(programs={"stress-ng": script("echo 'cannot load anything' >&2; exit 4")})
    with pytest.raises(BoardError) as caught:
        measure(board=board, load="stress-ng")
    assert "ended at once" in caught.value.what
    assert caught.value.why == "cannot load anything"
    assert list(tmp_path.glob("*.rta")) == []


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("echo 'Unable to change scheduling policy!' >&2; exit 1", "Unable to change scheduling policy!"),
        ("printf '# Histogram\\n000000 000000\\n'; kill -9 $$", "signal 9"),
        ("head -c 100000 /dev/urandom; exit 0", "exit code 0"),
        ("exit 0", "exit code 0"),
    ],
)
def test_cyclictest_that_fails_is_a_board_error(
    body: str, words: str, measure: Measure, marked: Marked, script: Script
) -> None:
    board = faults.FaultyBoard(programs={"cyclictest": script(body)})
    with pytest.raises(BoardError) as caught:
        measure(board=board, probe="cyclictest", duration_ns=S)
    assert words in str(caught.value)


def test_a_probe_that_never_ends_is_ended(
    measure: Measure, marked: Marked, monkeypatch: pytest.MonkeyPatch, script: Script
) -> None:
    from rtassay.session import measure as measuring
    from rtassay.session import prepare

    monkeypatch.setattr(measuring, "GRACE_NS", 2 * S)
    monkeypatch.setattr(prepare, "GRACE_NS", 2 * S)
    board = faults.FaultyBoard(programs={"cyclictest": script("trap '' TERM INT; while :; do sleep 0.2; done")})
    begun = time.monotonic()
    with pytest.raises(BoardError):
        measure(board=board, probe="cyclictest", duration_ns=S)
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("size", [0, 10, 2000, 20_000])
def test_a_cut_link_keeps_what_came(size: int, measure: Measure, marked: Marked, tmp_path: Path) -> None:
    board = faults.FaultyBoard({"cyclic": faults.cut_after(size)})
    with pytest.raises(BoardError):
        measure(board=board, duration_ns=3 * S)
    if size == 0:
        assert list(tmp_path.glob("*.rta")) == []
    else:
        assert (only_recording(tmp_path) / "stream.rtw").stat().st_size == size
        assert_unsealed_but_readable(only_recording(tmp_path))


def test_a_lost_board_is_reported_in_its_own_words(measure: Measure, marked: Marked, tmp_path: Path) -> None:
    board = faults.FaultyBoard({"cyclic": faults.lose_board_after(10_000)})
    with pytest.raises(BoardError) as caught:
        measure(board=board, duration_ns=60 * S)
    assert caught.value.what == "the board is gone"
    assert_unsealed_but_readable(only_recording(tmp_path))


def test_losing_the_monitors_ends_the_run_too(measure: Measure, marked: Marked) -> None:
    board = faults.FaultyBoard({"--every": faults.lose_board_after(1)})
    with pytest.raises(BoardError) as caught:
        measure(board=board, duration_ns=60 * S)
    assert caught.value.what == "the board is gone"


def test_a_silent_monitor_costs_a_warning_not_the_run(measure: Measure, marked: Marked) -> None:
    board = faults.FaultyBoard({"--every": faults.cut_after(0)})
    result = measure(board=board, duration_ns=S)
    manifest = store.load_manifest(result.path)
    assert manifest.sealed
    (warning,) = manifest.warnings
    assert warning.code == warnings.END_NOT_READ and "monitors" in warning.facts["error"]


def test_noise_on_the_line_is_counted_and_the_rest_is_good(measure: Measure, marked: Marked) -> None:
    board = faults.FaultyBoard({"cyclic": faults.flip_a_byte_every(20_011, start=6000, stop=120_000)})
    result = measure(board=board, interval_ns=100_000, duration_ns=3 * S)
    manifest = store.load_manifest(result.path)
    assert manifest.sealed
    assert manifest.damage.bad_frames > 0
    assert not manifest.damage.cut
    for lane in manifest.lanes:
        assert lane.due == lane.n + lane.missed + lane.dropped + lane.truncated


def test_a_slow_link_loses_nothing(measure: Measure, marked: Marked) -> None:
    board = faults.FaultyBoard({"cyclic": faults.trickle(700, 0.002)})
    recording = assert_account_is_exact(measure(board=board, duration_ns=3 * S).path)
    assert all(lane.entry.dropped == 0 for lane in recording.lanes)


def test_a_stream_of_a_newer_version_is_refused_by_name(measure: Measure, marked: Marked) -> None:
    from rtassay.wire.encode import frame

    async def newer(chunks: Any) -> Any:
        async for _ in chunks:
            yield frame(1, 0, b"{}", version=9)

    with pytest.raises(NewerFormat) as caught:
        measure(board=faults.FaultyBoard({"cyclic": newer}), duration_ns=S)
    assert "version 9" in str(caught.value)


def test_a_board_that_cannot_be_read_is_a_board_error(measure: Measure, marked: Marked, tmp_path: Path) -> None:
    with pytest.raises(BoardError):
        measure(board=faults.FaultyBoard({"--count": faults.cut_after(100)}))
    assert list(tmp_path.glob("*.rta")) == []

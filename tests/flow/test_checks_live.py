"""Checks that fire because a test did to a running measurement what they are about: on this machine, by real threads and signals."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flow_support import Marked, until_measuring

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.boards.local import LocalBoard
from rtassay.model.findings import CheckResult
from rtassay.model.recording import Recording
from rtassay.session.control import Progress, RunResult, StopRequest

Measure = Callable[..., RunResult]
S = 10**9
CPUS = sorted(os.sched_getaffinity(0))
LAST = CPUS[-1]


def checks_of(result: RunResult) -> tuple[Recording, dict[str, CheckResult]]:
    recording = store.open_recording(result.path)
    return recording, {check.id: check for check in judge(recording).checks}


def lane_tids(probe: int) -> dict[int, int]:
    """CPU -> thread id of every lane of an rtprobe that is measuring."""
    found = {}
    for task in Path(f"/proc/{probe}/task").iterdir():
        tid = int(task.name)
        cpus = os.sched_getaffinity(tid)
        fifo = os.sched_getscheduler(tid) & ~os.SCHED_RESET_ON_FORK == os.SCHED_FIFO
        if fifo and len(cpus) == 1 and os.sched_getparam(tid).sched_priority == 90:
            found[next(iter(cpus))] = tid
    assert set(found) == set(CPUS)
    return found


def moved_by_the_probe(recording: Recording) -> set[str]:
    """Lanes that were so late at the end that the probe took them to another CPU to end there: what a stall of this machine does."""
    names = {lane.entry.index: lane.entry.name for lane in recording.lanes}
    return {names[event.lane] for event in recording.events if event.kind == "lane_moved"}


class Helper:
    """A thread of ours on one CPU under SCHED_FIFO that sleeps until it is told to burn for so many seconds.

    Bounded twice: it leaves its loop by the clock, and the kernel kills it for using `RLIMIT_RTTIME` of a CPU without a pause;
    at last the test kills it, from a process that it does not preempt.
    """

    PROGRAM = """
import os, resource, sys, time
cpu, priority, wakes, life = (int(word) for word in sys.argv[1:])
resource.setrlimit(resource.RLIMIT_RTTIME, (3_000_000, 3_500_000))
os.sched_setaffinity(0, {cpu})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
end = time.monotonic() + life
os.set_blocking(0, False)
print("ready", flush=True)
while time.monotonic() < end:
    time.sleep(1 / wakes)
    try:
        word = os.read(0, 64)
    except BlockingIOError:
        continue
    if not word:
        break
    until = min(end, time.monotonic() + min(2.5, float(word)))
    while time.monotonic() < until:
        pass
"""

    def __init__(self, cpu: int, priority: int, life_s: int = 120) -> None:
        argv = [sys.executable, "-c", self.PROGRAM, str(cpu), str(priority), "200", str(life_s)]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout is not None and self.process.stdout.readline() == b"ready\n"

    def burn(self, seconds: float) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{seconds}\n".encode())
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.kill()
        self.process.wait(10)


@pytest.fixture
def helper(marked: Marked) -> Iterator[Callable[..., Helper]]:
    made: list[Helper] = []

    def make(*arguments: Any, **more: Any) -> Helper:
        made.append(Helper(*arguments, **more))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.mark.proves("LOAD-WINDOW", "live")
@pytest.mark.proves("LOAD-PARTIAL", "live")
def test_a_load_that_is_killed(measure: Measure, heard: list[Progress], marked: Marked) -> None:
    async def kill_it(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        load = marked.find("load", "cpu", without=["guard"])
        assert load is not None
        os.kill(load, signal.SIGKILL)

    recording, checks = checks_of(measure(load="builtin:cpu", duration_ns=10 * S, during=kill_it))
    found = checks["LOAD-WINDOW"]
    assert (found.severity, found.kind) == ("invalid", "optimism")
    (gap,) = found.facts["gaps"]
    assert gap.startswith("builtin ended ") and "before the measurement" in gap
    (entry,) = recording.manifest.loads
    assert recording.manifest.started_ns < entry.ended_ns < recording.manifest.ended_ns - S
    whole = checks_of(measure(load="builtin:cpu", duration_ns=2 * S))[1]
    assert whole["LOAD-WINDOW"].severity == "pass"
    assert whole["LOAD-PARTIAL"].severity == "note" and "memory, disk, network" in whole["LOAD-PARTIAL"].message


@pytest.mark.proves("LOAD-RT", "live")
@pytest.mark.proves("LOAD-UNKNOWN", "live")
def test_a_load_of_real_time_threads_that_does_nothing(measure: Measure, marked: Marked) -> None:
    checks = checks_of(measure(load="command:chrt -f 1 sleep 60", duration_ns=3 * S))[1]
    assert checks["LOAD-RT"].severity == "warning" and "command ran under" in checks["LOAD-RT"].message
    idle = checks["LOAD-UNKNOWN"]
    assert (idle.severity, idle.kind) == ("warning", "optimism") and "no CPU time of it was seen" in idle.message


@pytest.mark.proves("NOT-RT-POLICY", "live")
@pytest.mark.proves("NOT-PINNED", "live")
def test_lanes_that_lose_their_policy_and_their_cpu_on_the_way(
    measure: Measure, heard: list[Progress], marked: Marked
) -> None:
    async def demote(stop: StopRequest) -> None:
        tids = lane_tids(await until_measuring(marked, heard))
        os.sched_setscheduler(tids[CPUS[0]], os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(tids[LAST], CPUS)

    recording, checks = checks_of(measure(duration_ns=6 * S, during=demote))
    assert recording.manifest.facts["lanes"][0]["obtained"]["policy"] == "fifo"
    policy, pinned = checks["NOT-RT-POLICY"], checks["NOT-PINNED"]
    assert (policy.severity, policy.facts["wrong"]) == ("invalid", [f"CPU{CPUS[0]} ran under other"])
    named = set(pinned.facts["lanes"])
    assert pinned.severity == "warning" and {str(LAST)} <= named <= {str(LAST)} | moved_by_the_probe(recording)
    assert judge(recording).verdict.state == "INVALID MEASUREMENT"
    recording, untouched = checks_of(measure(duration_ns=S))
    assert untouched["NOT-RT-POLICY"].severity == "pass"
    pinned = untouched["NOT-PINNED"]
    assert pinned.severity == "pass" or set(pinned.facts["lanes"]) <= moved_by_the_probe(recording)


@pytest.mark.proves("PRIO-TIE", "live")
@pytest.mark.proves("CO-MISSED", "live")
def test_a_thread_above_the_lanes(
    measure: Measure, heard: list[Progress], marked: Marked, helper: Callable[..., Helper]
) -> None:
    other = helper(LAST, 95)

    async def burn(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        other.burn(0.05)

    recording, checks = checks_of(measure(duration_ns=6 * S, during=burn))
    found = checks["PRIO-TIE"]
    mine = [row for row in found.facts["threads"] if row["tid"] == other.process.pid]
    assert found.severity == "warning" and len(mine) == 1
    assert (mine[0]["priority"], mine[0]["cpus"]) == (95, [LAST])
    lanes = {lane.entry.cpu: lane.entry for lane in recording.lanes}
    # 50 ms of a thread that a lane of 1 ms cannot preempt cost it some 49 activations.
    assert lanes[LAST].missed >= 40 and lanes[LAST].max_ns >= 40_000_000
    assert checks["CO-MISSED"].severity == "warning" and checks["CO-MISSED"].facts["missed"] >= 40
    other.end()
    tids = [row["tid"] for row in checks_of(measure(duration_ns=S))[1]["PRIO-TIE"].facts.get("threads", ())]
    assert other.process.pid not in tids


@pytest.mark.proves("RT-THROTTLE-ON", "live")
def test_a_real_time_thread_that_hogs_its_cpu(
    measure: Measure, heard: list[Progress], marked: Marked, helper: Callable[..., Helper]
) -> None:
    runtime = int(Path("/proc/sys/kernel/sched_rt_runtime_us").read_text())
    hog = helper(LAST, 1)

    async def burn(stop: StopRequest) -> None:
        await until_measuring(marked, heard)
        hog.burn(2.5)
        await asyncio.sleep(3.5)
        hog.burn(2.5)

    recording, checks = checks_of(measure(duration_ns=10 * S, during=burn))
    found = checks["RT-THROTTLE-ON"]
    assert recording.manifest.inventory["rt_runtime_us"] == runtime
    if runtime == -1:  # then nothing is throttled, whatever hogs
        assert found.severity == "pass"
        return
    assert found.facts["rt_runtime_us"] == runtime and "throttl" in found.message
    (busy,) = [row.values for row in recording.telemetry if row.name.endswith(f"[{hog.process.pid}].busy")]
    assert max(busy) > 0
    # Time that was stolen from this machine is none that the hog ran: how near it came to the limit is what was read of it.
    limit = runtime / int(Path("/proc/sys/kernel/sched_rt_period_us").read_text())
    near = max(busy) >= limit / 2 or "the kernel throttled" in found.message
    assert found.severity == ("warning" if near else "note"), found


class OwnCopy(LocalBoard):
    """The local board, with a copy of rtprobe that only the measuring process runs: nobody else has its pages mapped."""

    def __init__(self, copy: Path) -> None:
        super().__init__()
        self._copy = copy

    async def start(self, argv: Sequence[str]) -> Any:
        words = list(argv)
        if "cyclic" in words:
            at = words.index("cyclic") - 1
            shutil.copy(words[at], self._copy)
            words[at] = str(self._copy)
        return await super().start(words)


class _Span(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def page_out(pid: int, file: Path) -> int:
    """Ask the kernel to reclaim what that process has mapped of a file (process_madvise, MADV_PAGEOUT); bytes it went over."""
    libc = ctypes.CDLL(None, use_errno=True)
    process_madvise, pageout = 440, 21
    done = 0
    handle = os.pidfd_open(pid)
    try:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            if line.endswith(str(file)):
                begin, end = (int(word, 16) for word in line.split()[0].split("-"))
                span = _Span(begin, end - begin)
                done += max(0, libc.syscall(process_madvise, handle, ctypes.byref(span), 1, pageout, 0))
    finally:
        os.close(handle)
    return done


@pytest.mark.proves("PAGE-FAULTS", "live")
def test_code_that_is_paged_out_under_the_lanes(
    measure: Measure, heard: list[Progress], marked: Marked, tmp_path: Path
) -> None:
    copy = tmp_path / "rtprobe-copy"
    asked: list[int] = []

    async def reclaim(stop: StopRequest) -> None:
        pid = await until_measuring(marked, heard)
        for _ in range(5):
            await asyncio.sleep(0.2)
            asked.append(page_out(pid, copy))

    board = OwnCopy(copy)
    recording, checks = checks_of(measure(board=board, duration_ns=6 * S, mlock=False, during=reclaim))
    found = checks["PAGE-FAULTS"]
    assert sum(asked) > 0, "the kernel was never asked"
    assert found.severity == "warning" and found.facts["minor"] + found.facts["major"] > 0
    counted = sum(lane.entry.minor_faults + lane.entry.major_faults for lane in recording.lanes)
    assert counted == found.facts["minor"] + found.facts["major"]
    locked = checks_of(measure(board=OwnCopy(copy), duration_ns=6 * S, during=reclaim))[1]
    assert locked["PAGE-FAULTS"].severity == "pass", "locked memory stays, whatever is asked of the kernel"


@pytest.mark.proves("MAIN-ON-MEASURED", "live")
@pytest.mark.proves("SINGLE-RUN", "live")
@pytest.mark.proves("N-TOO-SMALL", "live")
@pytest.mark.proves("PERCENTILE-UNSUPPORTED", "live")
@pytest.mark.proves("NOT-MLOCKED", "live")
def test_all_cpus_measured_for_a_second_without_locked_memory(measure: Measure, marked: Marked) -> None:
    everywhere = checks_of(measure(duration_ns=S, mlock=False))[1]
    assert everywhere["MAIN-ON-MEASURED"].severity in ("note", "warning")
    assert everywhere["MAIN-ON-MEASURED"].facts["cpus"]
    assert everywhere["NOT-MLOCKED"].severity == "warning"
    assert everywhere["N-TOO-SMALL"].severity == "warning" and everywhere["SINGLE-RUN"].severity == "note"
    assert everywhere["PERCENTILE-UNSUPPORTED"].severity == "note"
    if len(CPUS) > 1:
        apart = checks_of(measure(duration_ns=S, lanes=1))[1]
        assert apart["MAIN-ON-MEASURED"].severity == "pass" and apart["NOT-MLOCKED"].severity == "pass"

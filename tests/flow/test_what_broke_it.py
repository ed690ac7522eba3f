"""What a test does to a running measurement lines up with what the monitors saw and with the worst wake-ups: the stall lies in the moment
it was provoked, and what provoked it has its name there."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flow_support import PLAN, Marked, assert_account_is_exact, until_measuring

from rtassay.analysis.judge import judge
from rtassay.model.findings import Findings, Outlier
from rtassay.model.recording import Recording, Series
from rtassay.model.units import NS_PER_S
from rtassay.reports.recording import outliers
from rtassay.session.control import Progress, RunResult, StopRequest

Measure = Callable[..., RunResult]
S = NS_PER_S
HOG = Path(__file__).parent / "hog.py"
ABOVE_THE_LANES = 95
MEASURED = max(os.sched_getaffinity(0))
# A quarter of what is provoked: the readings of shorter stalls count as usual ones.
DISTURBING_NS = 75_000_000

pytestmark = [
    pytest.mark.root,
    pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="the monitors need a CPU that is not measured"),
]


class Hog:
    """A hog.py, and when it did what it was told to."""

    def __init__(self, name: str, cpu: int = MEASURED) -> None:
        self.name = name
        argv = [sys.executable, str(HOG), str(cpu), str(ABOVE_THE_LANES), name, "60"]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answer("ready\n")

    def _answer(self, expected: str = "") -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line and expected in line, "the hog ended"
        return line

    async def carry_out(self, order: str) -> tuple[int, int]:
        """Begin and end in ns of the board's clock."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        begin, end = (await asyncio.to_thread(self._answer)).split()
        return int(begin), int(end)

    def end(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def hog() -> Iterator[Callable[[str], Hog]]:
    made: list[Hog] = []

    def make(name: str) -> Hog:
        made.append(Hog(name))
        return made[-1]

    yield make
    for one in made:
        one.end()


@dataclass
class Seen:
    """A run, and when what was done to it."""

    recording: Recording
    findings: Findings
    when_ns: dict[str, tuple[int, int]]

    def outlier(self, what: str) -> Outlier:
        """The worst wake-up that was due or served while that was done."""
        begin, end = self.when_ns[what]
        origin_ns = int(self.recording.manifest.facts["origin_ns"])
        for outlier in self.findings.outliers:  # the worst first
            woken = origin_ns + round(outlier.at_s * S)
            if woken >= begin and woken - outlier.latency_ns <= end:
                return outlier
        raise AssertionError(f"no outlier in {what}: {self.when_ns} {self.findings.outliers}")

    def series(self, monitor: str, name: str) -> Series:
        return next(s for s in self.recording.telemetry if (s.monitor, s.name) == (monitor, name))

    def during(self, what: str, series: Series) -> Any:
        """The readings that speak of that time."""
        begin, end = self.when_ns[what]
        first, last = np.searchsorted(series.mono_ns, [begin, end])
        return series.values[first : last + 1]

    def outside(self, series: Series) -> Any:
        """The readings that speak of no such time."""
        keep = np.ones(len(series.values), dtype=bool)
        for begin, end in self.when_ns.values():
            first, last = np.searchsorted(series.mono_ns, [begin, end])
            keep[first : last + 1] = False
        return series.values[keep]

    def suspects(self, what: str) -> list[str]:
        return [f"{hit.monitor} {hit.name}" for hit in self.outlier(what).coincidences]

    def disturbances(self) -> list[str]:
        """What this machine did to the run by itself, long enough to hide what was done to it."""
        told = []
        for entry, spills in ((lane.entry, lane.spills) for lane in self.recording.lanes):
            for k, latency_ns, _ in spills.rows() if spills is not None else ():
                due = entry.first_due_ns + k * entry.interval_ns
                woken = due + latency_ns
                if latency_ns >= DISTURBING_NS and not any(
                    woken >= begin and due <= end for begin, end in self.when_ns.values()
                ):
                    told.append(f"CPU {entry.cpu} stood still for {latency_ns} ns")
        apart = int(np.diff(self.series("memory", "available").mono_ns).max())
        return told if apart <= 3 * S // 2 else [*told, f"the monitors stood still for {apart} ns"]


def seen(result: RunResult, when_ns: dict[str, tuple[int, int]]) -> Seen:
    recording = assert_account_is_exact(result.path)
    return Seen(recording, judge(recording), when_ns)


def undisturbed(attempt: Callable[[], Seen]) -> Seen:
    """The first run in which only what we did was done: a virtual machine that is held up for as long would be named instead, rightly."""
    told = []
    for _ in range(5):
        run = attempt()
        if not (found := run.disturbances()):
            return run
        told.append(found)
    raise AssertionError(f"this machine stood still in every run: {told}")


async def timer_storm() -> tuple[int, int]:
    """A second of timers, as many as the CPU can, by a thread above the lanes."""
    fifo = ["--sched", "fifo", "--sched-prio", str(ABOVE_THE_LANES), "--taskset", str(MEASURED)]
    storm = ["stress-ng", "--timer", "1", "--timer-freq", "1000000", "-t", "1", "-q", *fifo]
    begin = time.monotonic_ns()
    process = await asyncio.create_subprocess_exec("timeout", "-s", "KILL", "30", *storm)
    assert await process.wait() == 0
    return begin, time.monotonic_ns()


def assert_seen_as_long(run: Seen, *whats: str) -> None:
    """Each has its outlier, which holds the CPU for all of that time."""
    assert set(run.when_ns) == set(whats)
    for what, (begin, end) in run.when_ns.items():
        outlier = run.outlier(what)
        assert outlier.cpu == MEASURED and outlier.missed > 0, what
        if what != "storm":
            assert outlier.latency_ns >= end - begin - 2 * PLAN.interval_ns, what
            assert outlier.missed >= (end - begin) // PLAN.interval_ns - 2, what


# Two short runs and no long one: a machine that stands still now and then leaves one of them alone.


def test_a_thread_and_a_storm_of_timers_are_named_at_their_outliers(
    measure: Measure, heard: list[Progress], marked: Marked, hog: Callable[[str], Hog]
) -> None:
    when: dict[str, tuple[int, int]] = {}
    pids: list[int] = []

    async def provoke(stop: StopRequest) -> None:
        await until_measuring(marked, heard, lanes=1)
        old = hog("rta-hog")
        pids[:] = [old.process.pid]
        await asyncio.sleep(5.5)
        when["hog"] = await old.carry_out("burn 0.3")
        await asyncio.sleep(3.7)
        when["storm"] = await timer_storm()
        await asyncio.sleep(3.2)
        stop.request()

    run = undisturbed(lambda: seen(measure(cpus=(MEASURED,), duration_ns=120 * S, during=provoke), when))
    assert_seen_as_long(run, "hog", "storm")
    assert run.suspects("hog")[0] == f"threads rta-hog[{pids[0]}].busy"
    busy = run.series("threads", f"rta-hog[{pids[0]}].busy")
    assert run.during("hog", busy).sum() > 10 * np.median(run.outside(busy))

    timers = run.series("interrupts", f"cpu{MEASURED}.LOC")
    assert run.during("storm", timers).max() > 2 * np.median(run.outside(timers))
    assert any("stress-ng" in name or name.endswith(".LOC") for name in run.suspects("storm"))

    text = "\n".join(line for row in outliers.rows(run.findings, watched=True) for line in row[4])
    assert f"threads rta-hog[{pids[0]}].busy" in text and "usually" in text


def test_memory_that_goes_and_a_thread_that_comes_are_named_at_their_outliers(
    measure: Measure, heard: list[Progress], marked: Marked, hog: Callable[[str], Hog]
) -> None:
    when: dict[str, tuple[int, int]] = {}
    pids: dict[str, int] = {}
    taken = 400

    async def provoke(stop: StopRequest) -> None:
        await until_measuring(marked, heard, lanes=1)
        old = hog("rta-hog")
        pids["old"] = old.process.pid
        await asyncio.sleep(5.5)
        when["memory"] = await old.carry_out(f"memory {taken} 2")
        await asyncio.sleep(4)
        new = hog("rta-newcomer")
        pids["new"] = new.process.pid
        await asyncio.sleep(1.1)
        when["newcomer"] = await new.carry_out("burn 0.3")
        await asyncio.sleep(2.5)
        stop.request()

    run = undisturbed(lambda: seen(measure(cpus=(MEASURED,), duration_ns=120 * S, during=provoke), when))
    assert_seen_as_long(run, "memory", "newcomer")
    assert run.suspects("newcomer")[0] == f"threads rta-newcomer[{pids['new']}].busy"
    assert any(name.startswith(f"threads rta-hog[{pids['old']}].") for name in run.suspects("memory"))

    # What the machine has free depends on all its work; the faults are the hog's own.
    assert run.series("memory", "available").values.size
    faults = run.series("threads", f"rta-hog[{pids['old']}].faults")
    assert run.during("memory", faults).max() >= (taken << 20) // 4096 // 512  # huge pages fault once each


@pytest.mark.full
def test_a_load_that_stands_still_is_seen_at_the_outlier_and_named(
    measure: Measure, heard: list[Progress], marked: Marked, hog: Callable[[str], Hog]
) -> None:
    if shutil.which("stress-ng") is None:
        pytest.skip("stress-ng is not installed")
    when: dict[str, tuple[int, int]] = {}
    still_ns: list[int] = []

    async def provoke(stop: StopRequest) -> None:
        await until_measuring(marked, heard, lanes=1)
        old = hog("rta-hog")
        await asyncio.sleep(4)
        stopped = [pid for pid, line in marked.pids().items() if line.startswith("stress-ng")]
        begin = time.monotonic_ns()
        try:
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(2.6)
            when["hog"] = await old.carry_out("burn 0.3")
            await asyncio.sleep(2.6)
        finally:
            still_ns[:] = [begin, time.monotonic_ns()]
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)
        await asyncio.sleep(4.5)
        stop.request()

    # More time before the stop and after it than in it: what is usual is what there was most of.
    asked = {"load": "", "loads": ("stress-ng:--cpu 1 --vm 1 --vm-bytes 8m",), "cpus": (MEASURED,)}
    run = undisturbed(lambda: seen(measure(**asked, duration_ns=120 * S, during=provoke), when))
    assert run.outlier("hog").missed > 0
    use = run.series("load", "0.stress-ng.cpus")
    begin, end = still_ns
    run.when_ns["still"] = begin, end
    before = np.concatenate([[0], use.mono_ns[:-1]])  # a reading speaks of the time since the one before it
    still = use.values[(before > begin) & (use.mono_ns < end)]
    assert still.size and still.max() < 0.01 < np.median(run.outside(use))
    assert run.during("hog", use).min() < 0.01  # at the outlier's own moment
    assert_named(run, "stress-ng", begin)


def assert_named(run: Seen, load: str, begin_ns: int, worked_ns: int | None = None) -> None:
    """It has done nothing since `begin_ns`; since `worked_ns` it did no more than one round, which may be long where the machine stands still."""
    earliest_ns = begin_ns - S if worked_ns is None else worked_ns - 3 * S
    window = next(check for check in run.findings.checks if check.id == "LOAD-WINDOW")
    assert (window.severity, window.kind) == ("warning", "optimism"), window
    (gap,) = (text for text in window.facts["gaps"] if text.startswith(load))
    since_ns = window.facts["since_ns"][window.facts["gaps"].index(gap)]
    assert re.search("did (nothing|no work) from", gap) and earliest_ns <= since_ns <= begin_ns + 3 * S


def hackbench(marked: Marked) -> set[int]:
    """Process ids of the round of hackbench that works now."""
    return {pid for pid, line in marked.pids().items() if line.startswith("/usr/bin/hackbench")}


async def kill_a_sender(marked: Marked) -> tuple[int, int]:
    """When the last process of a round of hackbench was killed: its receivers wait for what it did not send."""
    while True:
        senders = hackbench(marked)
        if len(senders) >= 10:
            with contextlib.suppress(ProcessLookupError):
                os.kill(max(senders), signal.SIGKILL)
                return time.monotonic_ns(), time.monotonic_ns()
        await asyncio.sleep(0)


async def until_rounds(stream: Path, least: int, timeout_s: float) -> bool:
    """Whether hackbench, whose stream this is, ends so many rounds in the time."""
    end = time.monotonic() + timeout_s
    while stream.read_bytes().count(b"Time:") < least:
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(0.05)
    return True


def test_a_load_that_hangs_for_want_of_a_worker_is_named(
    measure: Measure, heard: list[Progress], marked: Marked
) -> None:
    """hackbench waits for ever for what a killed sender did not send, or turns round on it: it is alive and does no more work."""
    if shutil.which("hackbench") is None:
        pytest.skip("hackbench is not installed")
    when: dict[str, tuple[int, int]] = {}
    worked_ns: list[int] = []

    async def murder(stop: StopRequest) -> None:
        await until_measuring(marked, heard, lanes=1)
        assert heard[-1].path is not None
        stream, begun = heard[-1].path / "load-0.rtw", time.monotonic()
        assert await until_rounds(stream, 8, 60)  # what is known as silence needs some that were not
        patience_s = 2 + time.monotonic() - begun
        hangs = False
        while not hangs:  # a sender that had sent all it had to is not missed
            worked_ns[:] = [time.monotonic_ns()]
            when["still"] = await kill_a_sender(marked)
            await asyncio.sleep(1)  # it may still be starting workers
            rounds, left = stream.read_bytes().count(b"Time:"), hackbench(marked)
            # On a busy machine the stream may only be late: a round that hangs gets no new processes.
            hangs = not await until_rounds(stream, rounds + 2, patience_s) and hackbench(marked) <= left
        await asyncio.sleep(4)
        stop.request()

    asked = {"load": "", "loads": ("hackbench:-g 1 -l 50",), "cpus": (MEASURED,)}
    run = seen(measure(**asked, duration_ns=300 * S, during=murder), when)
    (entry,) = run.recording.manifest.loads
    assert entry.ended_ns >= run.recording.manifest.ended_ns - S, (
        "it ended: its end is the gap, and no hang was left to find"
    )
    assert_named(run, "hackbench", when["still"][0], *worked_ns)

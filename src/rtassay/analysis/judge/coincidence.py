"""Events that coincide with the worst wake-ups: unusual readings of monitors at that moment, and lines of the kernel's log.

A coincidence is no proof of a cause. It is judged by rank alone: how many of the other readings lie as far from the usual one on
the same side. A reading is a mean over the time since the one before it, so the readings that count for a stall are those from the
first at or after its begin to the first at or after its end. The order is by how directly it can delay the lane: real-time
threads first, then other readings of its CPU, then of the board, then of other CPUs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.analysis.judge.stalls import Stall, Stalls, late_wakeups, worst_apart
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.model.findings import Coincidence, LaneFindings, Outlier
from rtassay.model.own import is_guard, job_names
from rtassay.model.recording import Recording, Series
from rtassay.model.units import NS_PER_S

COINCIDENCES = 6
OF_ONE_MONITOR = 2
LEAST_OTHERS = 8
RARE = 0.05
SPREADS = 6.0
# Below such a step a reading is not unusual, however steady the others are.
_LEAST_STEP = {
    "ratio": 0.05,
    "1/s": 50.0,
    "degC": 2.0,
    "Hz": 50e6,
    "CPUs": 0.2,
    "pages/s": 10.0,
    "bytes": 16e6,
    "B": 16e6,
    "ns": 100e3,  # offsets of clocks: two that are read one after the other differ by what came between
}
# A real-time thread is suspect if it ran for half of the stall's length, even if that is a small share of a second.
_LEAST_OF_THREADS = 0.002
_THREADS = "threads"
# These series begin with the first event, and a thread's series ends with the thread: a missing reading was 0.
_ABSENT_IS_ZERO = ("interrupts", "softirqs", _THREADS)
# A low reading can be a cause only for these monitors; for all others a low reading is an effect of the stall.
_LOW_TELLS = ("load", "frequency", "raspberry", "cpu", "memory")
# Stocks drift during a run: compare their change since the reading before, not their level.
_STOCKS = ("B", "bytes")
_OF_CPU = re.compile(r"cpu(\d+)\.")
_MESSAGES_BEFORE_NS = NS_PER_S // 2
_MESSAGES = 3


def outliers(
    recording: Recording, accounts: Sequence[Account], lanes: Sequence[LaneFindings], deadline_ns: int | None
) -> tuple[Outlier, ...]:
    """The worst wake-ups, at most 8 and one a second, in order of latency, each with its coincidences.

    `accounts` and `lanes` are those of the recording, in its order. Empty if the source keeps no moments, or if no wake-up stands
    out of its lane's tail.
    """
    stalls = late_wakeups(accounts, lanes, deadline_ns)
    chosen = worst_apart(stalls)
    if not chosen:
        return ()
    first = [lane.entry.first_due_ns for lane in accounts if lane.entry.first_due_ns is not None]
    last_woken = int(stalls.woken_ns[chosen[0][0]])
    window = (min(first), max((lane.entry.closed_ns or last_woken) for lane in accounts))
    origin = recording.manifest.probe_facts.origin_ns
    threads = _Threads(recording)
    readings = _readings(recording, window, stalls.at(_moments(stalls, chosen)), threads)
    told = _Told(recording, lanes, readings, threads, min(first) if origin is None else origin)
    return tuple(told.outlier(stalls, worst, near) for worst, near in chosen)


def _moments(stalls: Stalls, chosen: list[tuple[int, Ints]]) -> Ints:
    """Rows whose readings do not count as usual: the worst stalls, and stalls near them of similar length."""
    return np.concatenate([near[_alike(stalls.latency_ns[near], int(stalls.latency_ns[row]))] for row, near in chosen])


def _alike(latency_ns: Ints, of_worst_ns: int) -> Any:
    """Mask of stalls at least a quarter as long as the worst. Their readings do not count as usual for it; those of far shorter stalls
    do."""
    return 4 * latency_ns >= of_worst_ns


def _readings(recording: Recording, window: tuple[int, int], moments: Stalls, threads: _Threads) -> list[_Readings]:
    grids = {name: _grid(recording, name) for name in _ABSENT_IS_ZERO}
    return [
        _Readings(series, grids.get(series.monitor), window, moments)
        for series in recording.telemetry
        if not threads.tells_of(series)
    ]


@dataclass(frozen=True, slots=True)
class _Told:
    """The data that explain a stall; `origin_ns` is the zero of its reported moment."""

    recording: Recording
    lanes: Sequence[LaneFindings]
    readings: list[_Readings]
    threads: _Threads
    origin_ns: int

    def outlier(self, stalls: Stalls, row: int, near: Ints) -> Outlier:
        """One of the worst wake-ups, with its coincidences and the lanes that were late near it."""
        worst = stalls.one(row, self.lanes)
        others = {(self.lanes[i].name, self.lanes[i].cpu) for i in np.unique(stalls.lane[near]).tolist()}
        others.discard((worst.lane.name, worst.lane.cpu))
        return Outlier(
            lane=worst.lane.name,
            cpu=worst.lane.cpu,
            at_s=(worst.woken_ns - self.origin_ns) / NS_PER_S,
            latency_ns=worst.latency_ns,
            missed=worst.missed,
            also=tuple(sorted(name or "" for name, _ in others)),
            coincidences=tuple(_first_few(self._coincidences(worst))),
            messages=self._messages(worst),
        )

    def _coincidences(self, worst: Stall) -> list[Coincidence]:
        found = [hit for reading in self.readings if (hit := reading.at(worst)) is not None]
        found += [(0.0, hit) for hit in self.threads.appeared(worst)]
        found.sort(key=lambda hit: _order(hit, worst.lane.cpu, self.threads))
        return [hit for _, hit in found]

    def _messages(self, worst: Stall) -> tuple[str, ...]:
        since, until = worst.due_ns - _MESSAGES_BEFORE_NS, worst.woken_ns + NS_PER_S
        words = [m.text for m in self.recording.messages if since <= m.mono_ns <= until]
        return tuple(words[:_MESSAGES])


def _order(hit: tuple[float, Coincidence], cpu: int | None, threads: _Threads) -> tuple[int, bool, float, float]:
    """Sort key: the nearest first, then the rarest, then the farthest from usual."""
    score, what = hit
    where = threads.cpu_of(what.name) if what.monitor == _THREADS else _cpu_of(what.name)
    elsewhere = where is not None and cpu is not None and where != cpu
    here = what.monitor == _THREADS or where is not None
    return 2 if elsewhere else 0 if here else 1, what.monitor != _THREADS, what.as_far / max(what.of, 1), -score


def _first_few(found: list[Coincidence]) -> Iterator[Coincidence]:
    """The first few, with a limit for each monitor: a storm of interrupts shows in a dozen counters."""
    of_monitor: dict[str, int] = {}
    left = COINCIDENCES
    for hit in found:
        of_monitor[hit.monitor] = of_monitor.get(hit.monitor, 0) + 1
        if left and of_monitor[hit.monitor] <= OF_ONE_MONITOR:
            left -= 1
            yield hit


def _cpu_of(name: str) -> int | None:
    match = _OF_CPU.match(name)
    return int(match[1]) if match else None


def _grid(recording: Recording, monitor: str) -> Any:
    """All moments at which a monitor read."""
    times = [ints(series.mono_ns) for series in recording.telemetry if series.monitor == monitor]
    return np.unique(np.concatenate(times)) if times else np.zeros(0, dtype=np.int64)


class _Threads:
    """Where real-time threads ran and when they appeared: `<comm>[<tid>].cpu` and `.priority` of the monitor `threads`."""

    def __init__(self, recording: Recording) -> None:
        ours = {lane.entry.tid for lane in recording.lanes}
        # The lanes, and the job that exec measures. Our guards have the highest priority by design, and our writer has its own check: see _is_ours.
        self._ours = tuple(f"[{tid}]" for tid in ours if tid is not None)
        self._jobs = job_names(recording.manifest.plan.settings, {lane.entry.measure for lane in recording.lanes})
        self._facts = {s.name: s for s in recording.telemetry if self._is_fact(s)}
        self._readings = _grid(recording, _THREADS)

    @staticmethod
    def _is_fact(series: Series) -> bool:
        return series.monitor == _THREADS and series.name.endswith((".priority", ".cpu"))

    def tells_of(self, series: Series) -> bool:
        """Whether the series cannot be high or low: a property of a thread, or the lanes' own CPU time."""
        return series.monitor == _THREADS and (self._is_fact(series) or self._is_ours(series.name.rpartition(".")[0]))

    def _is_ours(self, thread: str) -> bool:
        comm = thread.rpartition("[")[0]
        return comm == "rtprobe-writer" or is_guard(comm) or comm in self._jobs or thread.endswith(self._ours)

    def cpu_of(self, name: str) -> int | None:
        """Where the thread of that series ran when it was last looked at."""
        series = self._facts.get(name.rpartition(".")[0] + ".cpu")
        return None if series is None or not len(series.values) else int(np.asarray(series.values)[-1])

    def appeared(self, stall: Stall) -> Iterator[Coincidence]:
        """Threads first seen between the stall's begin and the reading after its end, on its CPU."""
        if self._readings.size <= LEAST_OTHERS:
            return
        until = _until(self._readings, stall.woken_ns)
        for name, series in self._facts.items():
            thread, _, what = name.rpartition(".")
            if what != "priority" or not len(series.values) or self._is_ours(thread):
                continue
            first = int(np.asarray(series.mono_ns)[0])
            here = self.cpu_of(name)
            if first == self._readings[0] or not stall.due_ns <= first <= until or here not in (None, stall.lane.cpu):
                continue
            priority = float(np.asarray(series.values)[0])
            yield Coincidence(_THREADS, name, series.unit, priority, 0.0, 0, int(self._readings.size) - 1)


class _Readings:
    """One series inside the window, with its usual readings away from the stalls.

    `grid`: all moments at which its monitor read; a series without a reading then was 0 (None: the series' own moments).
    `stalls`: stalls whose readings do not count as usual.
    """

    def __init__(self, series: Series, grid: Ints | None, window: tuple[int, int], stalls: Stalls) -> None:
        times, values = ints(series.mono_ns), np.asarray(series.values, dtype=float)
        finite = np.isfinite(values)
        times, values = times[finite], values[finite]
        self._name = series.name
        if series.unit in _STOCKS and times.size:
            times, values, self._name = times[1:], np.diff(values), f"{series.name}, change"
        # The first reading at or after the end still covers time in the window.
        keep = (times > window[0]) & (times <= window[1] + 2 * NS_PER_S)
        self._series = series
        self._times, self._values = times[keep], values[keep]
        self._moments = self._times if grid is None else grid[(grid > window[0]) & (grid <= window[1] + 2 * NS_PER_S)]
        self._latency_ns = stalls.latency_ns
        self._of_moments = _covering(self._moments, stalls.due_ns, stalls.woken_ns)
        self._of_readings = self._within(self._of_moments)

    def _within(self, covered: _Ranges) -> _Ranges:
        """The readings of this series at these moments of its monitor; none where it has no reading then."""
        empty = covered.last <= covered.first
        if not self._moments.size:
            return covered
        begin, end = self._moments[covered.first * ~empty], self._moments[np.maximum(covered.last, 1) - 1]
        first = np.searchsorted(self._times, begin, side="left")
        last = np.searchsorted(self._times, end, side="right")
        return _Ranges(first * ~empty, last * ~empty)

    def _usual(self, stall: Stall) -> Any:
        """The readings at other moments; 0 for each moment at which only other series of its monitor have a reading."""
        alike = _alike(self._latency_ns, stall.latency_ns)
        others = self._values[self._of_readings.outside(self._times.size, alike)]
        moments = int(self._of_moments.outside(self._moments.size, alike).sum())
        return np.concatenate([others, np.zeros(max(moments - others.size, 0))])

    def at(self, stall: Stall) -> tuple[float, Coincidence] | None:
        """(distance from usual in spreads, the coincidence), or None if the reading was usual."""
        here = self._within(_covering(self._moments, ints([stall.due_ns]), ints([stall.woken_ns])))
        covering = self._values[int(here.first[0]) : int(here.last[0])]
        if not covering.size:
            return None
        others = self._usual(stall)
        if others.size < LEAST_OTHERS:
            return None
        median = float(np.median(others))
        value = float(covering[np.argmax(np.abs(covering - median))])
        distance = abs(value - median)
        if value < median and self._series.monitor not in _LOW_TELLS:
            return None
        spread = 1.4826 * float(np.median(np.abs(others - median)))
        least = self._least_step(stall)
        side = others >= value if value >= median else others <= value
        as_far = int(side.sum())
        if distance <= max(SPREADS * spread, least, 0.1 * abs(median)) or as_far > RARE * others.size:
            return None
        score = distance / max(spread, least, 1e-12)
        series = self._series
        return score, Coincidence(series.monitor, self._name, series.unit, value, median, as_far, int(others.size))

    def _least_step(self, stall: Stall) -> float:
        least = _LEAST_STEP.get(self._series.unit, 0.0)
        if self._series.monitor == _THREADS and self._series.unit == "ratio":
            return min(least, max(_LEAST_OF_THREADS, 0.5 * stall.latency_ns / NS_PER_S))
        return least


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Half-open ranges of positions, one for each stall; empty ones have first == last."""

    first: Ints
    last: Ints

    def outside(self, size: int, chosen: Any) -> Any:
        """Mask of the positions 0 .. size - 1 that lie in none of the `chosen` ranges."""
        begun = np.bincount(self.first[chosen], minlength=size + 1)
        ended = np.bincount(self.last[chosen], minlength=size + 1)
        return np.cumsum(begun - ended)[:size] == 0


def _covering(times: Ints, begin_ns: Ints, end_ns: Ints) -> _Ranges:
    """Readings that cover each stall: none if the next reading came so late that others must be missing before it."""
    if times.size < 2:
        return _Ranges(np.zeros_like(begin_ns), np.zeros_like(begin_ns))
    first = np.searchsorted(times, begin_ns, side="left")
    last = np.minimum(np.searchsorted(times, end_ns, side="left"), times.size - 1) + 1
    after = times[np.minimum(first, times.size - 1)]
    told = (first < times.size) & (after <= end_ns + 2 * float(np.median(np.diff(times))))
    return _Ranges(first * told, last * told)


def _until(times: Ints, end_ns: int) -> int:
    """The first reading at or after a moment; the last one if there is none."""
    return int(times[min(int(np.searchsorted(times, end_ns, side="left")), times.size - 1)])

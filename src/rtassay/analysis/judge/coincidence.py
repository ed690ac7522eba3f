"""What stood out while the worst wake-ups happened: readings of monitors that were unusual at that moment, and the kernel's words.

A coincidence is no proof of a cause. It is judged by rank alone: how many of the other readings lie as far from the usual one on
the same side. A reading is a mean over the time since the one before it, so the readings that count for a stall are those from the
first at or after its begin to the first at or after its end. What is told first is what can have held up that lane: real-time
threads, then all else of its CPU, then of the board, and of other CPUs last.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.distribution import ints
from rtassay.model.findings import Coincidence, LaneFindings, Outlier
from rtassay.model.own import is_guard
from rtassay.model.recording import Recording, Series
from rtassay.model.units import NS_PER_S

OUTLIERS = 8
COINCIDENCES = 6
OF_ONE_MONITOR = 2
APART_NS = NS_PER_S
# A wake-up is worth explaining from here on: so many times the lane's p99.9, or it cost an activation, or the deadline.
FAR_OUT = 2.0
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
}
# A real-time thread is suspect from half of the stall's length on, however little that is of a second.
_LEAST_OF_THREADS = 0.002
_THREADS = "threads"
# Their series begin with the first event, and a thread's end with it: what is missing was 0.
_ABSENT_IS_ZERO = ("interrupts", "softirqs", _THREADS)
# Less than usual tells something of these only; of all others it is what a stall does, not what makes one.
_LOW_TELLS = ("load", "frequency", "raspberry", "cpu", "memory")
# Stocks drift through a run: what a stall may have to do with is by how much they changed since the reading before.
_STOCKS = ("B", "bytes")
_OF_CPU = re.compile(r"cpu(\d+)\.")
_MESSAGES_BEFORE_NS = NS_PER_S // 2
_MESSAGES = 3


@dataclass(frozen=True, slots=True)
class _Stall:
    """A late wake-up: when it was due, when it ran, on which lane."""

    due_ns: int
    woken_ns: int
    latency_ns: int
    missed: int
    lane: LaneFindings


def outliers(
    recording: Recording, lanes: tuple[Account, ...], rows: tuple[LaneFindings, ...], deadline_ns: int | None
) -> tuple[Outlier, ...]:
    """The worst wake-ups, at most 8 and one a second, in order of latency, each with what coincided with it.

    Empty where the source keeps no moments, or where nothing stands out of its lane's tail.
    """
    stalls = [s for lane, row in zip(lanes, rows, strict=True) for s in _stalls(lane, row, deadline_ns)]
    stalls.sort(key=lambda stall: -stall.latency_ns)
    chosen: list[tuple[_Stall, list[_Stall]]] = []
    for stall in stalls:
        near = next((group for first, group in chosen if _close(first, stall)), None)
        if near is not None:
            near.append(stall)
        elif len(chosen) < OUTLIERS:
            chosen.append((stall, [stall]))
    if not chosen:
        return ()
    first = [lane.entry.first_due_ns for lane in lanes if lane.entry.first_due_ns is not None]
    origin = recording.manifest.facts.get("origin_ns")
    origin_ns = origin if isinstance(origin, int) else min(first)
    window = (min(first), max((lane.entry.closed_ns or stalls[0].woken_ns) for lane in lanes))
    threads = _Threads(recording)
    grids = {name: _grid(recording, name) for name in _ABSENT_IS_ZERO}
    moments = [stall for worst, group in chosen for stall in group if _alike(worst, stall)]
    readings = [
        _Readings(series, grids.get(series.monitor), window, moments)
        for series in recording.telemetry
        if not threads.tells_of(series)
    ]
    return tuple(_outlier(recording, worst, group, readings, threads, origin_ns) for worst, group in chosen)


def _alike(stall: _Stall, other: _Stall) -> bool:
    """Whether readings of `other` are no usual ones for `stall`: it took a quarter as long or more. What a far shorter one did may be usual."""
    return 4 * other.latency_ns >= stall.latency_ns


def _stalls(lane: Account, row: LaneFindings, deadline_ns: int | None) -> list[_Stall]:
    first, interval = lane.entry.first_due_ns, lane.interval_ns
    if first is None or not interval:
        return []
    tail = next((q.value_ns for q in row.quantiles if q.q == 0.999), None)
    found = []
    for spill in lane.lane.spills:
        late = deadline_ns is not None and spill.latency_ns >= deadline_ns
        if spill.missed or late or (tail is not None and spill.latency_ns >= FAR_OUT * tail):
            due = first + spill.k * interval
            found.append(_Stall(due, due + spill.latency_ns, spill.latency_ns, spill.missed, row))
    return found


def _close(a: _Stall, b: _Stall) -> bool:
    return b.due_ns - APART_NS <= a.woken_ns and a.due_ns - APART_NS <= b.woken_ns


def _outlier(
    recording: Recording,
    worst: _Stall,
    group: list[_Stall],
    readings: list[_Readings],
    threads: _Threads,
    origin_ns: int,
) -> Outlier:
    found = [hit for reading in readings if (hit := reading.at(worst)) is not None]
    found += [(0.0, hit) for hit in threads.appeared(worst)]
    found.sort(key=lambda hit: _order(hit, worst.lane.cpu, threads))
    since, until = worst.due_ns - _MESSAGES_BEFORE_NS, worst.woken_ns + NS_PER_S
    words = [m.text for m in recording.messages if since <= m.mono_ns <= until]
    others = {(s.lane.name, s.lane.cpu) for s in group} - {(worst.lane.name, worst.lane.cpu)}
    return Outlier(
        lane=worst.lane.name,
        cpu=worst.lane.cpu,
        at_s=(worst.woken_ns - origin_ns) / NS_PER_S,
        latency_ns=worst.latency_ns,
        missed=worst.missed,
        also=tuple(sorted(name or "" for name, _ in others)),
        coincidences=tuple(_told([hit for _, hit in found])),
        messages=tuple(words[:_MESSAGES]),
    )


def _order(hit: tuple[float, Coincidence], cpu: int | None, threads: _Threads) -> tuple[int, bool, float, float]:
    """Nearest first, then the rarest, then what is farthest from usual."""
    score, what = hit
    where = threads.cpu_of(what.name) if what.monitor == _THREADS else _cpu_of(what.name)
    elsewhere = where is not None and cpu is not None and where != cpu
    here = what.monitor == _THREADS or where is not None
    return 2 if elsewhere else 0 if here else 1, what.monitor != _THREADS, what.as_far / max(what.of, 1), -score


def _told(found: list[Coincidence]) -> Iterator[Coincidence]:
    """The first few, and not all from one monitor: a storm of interrupts shows in a dozen counters."""
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
        # The lanes. Guards sleep above everything by design, and what writes our samples has a check of its own: see _is_ours.
        self._ours = tuple(f"[{tid}]" for tid in ours if tid is not None)
        self._facts = {s.name: s for s in recording.telemetry if self._is_fact(s)}
        self._readings = _grid(recording, _THREADS)

    @staticmethod
    def _is_fact(series: Series) -> bool:
        return series.monitor == _THREADS and series.name.endswith((".priority", ".cpu"))

    def tells_of(self, series: Series) -> bool:
        """Whether it is no quantity that could be high or low: a fact of a thread, or the lanes' own CPU time."""
        return series.monitor == _THREADS and (self._is_fact(series) or self._is_ours(series.name.rpartition(".")[0]))

    def _is_ours(self, thread: str) -> bool:
        return (
            thread.startswith("rtprobe-writer[") or is_guard(thread.rpartition("[")[0]) or thread.endswith(self._ours)
        )

    def cpu_of(self, name: str) -> int | None:
        """Where the thread of that series ran when it was last looked at."""
        series = self._facts.get(name.rpartition(".")[0] + ".cpu")
        return None if series is None or not len(series.values) else int(np.asarray(series.values)[-1])

    def appeared(self, stall: _Stall) -> Iterator[Coincidence]:
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


def _until(times: Any, end_ns: int) -> int:
    """The first reading at or after a moment; the last one if there is none."""
    return int(times[min(int(np.searchsorted(times, end_ns, side="left")), times.size - 1)])


class _Readings:
    """One series inside the window, with what is usual for it away from the stalls."""

    def __init__(self, series: Series, grid: Any, window: tuple[int, int], stalls: list[_Stall]) -> None:
        times, values = ints(series.mono_ns), np.asarray(series.values, dtype=float)
        finite = np.isfinite(values)
        times, values = times[finite], values[finite]
        self._name = series.name
        if series.unit in _STOCKS and times.size:
            times, values, self._name = times[1:], np.diff(values), f"{series.name}, change"
        # The first reading at or after the end still speaks of the window.
        keep = (times > window[0]) & (times <= window[1] + 2 * NS_PER_S)
        self._series = series
        self._times, self._values = times[keep], values[keep]
        moments = self._times if grid is None else grid[(grid > window[0]) & (grid <= window[1] + 2 * NS_PER_S)]
        self._moments = moments
        self._of_stalls = [
            (s, self._covering(s.due_ns, s.woken_ns), _covering(moments, s.due_ns, s.woken_ns)) for s in stalls
        ]

    def _usual(self, stall: _Stall) -> Any:
        """The readings of other moments; 0 for each at which only the others of its monitor had something to tell."""
        usual, moments = np.ones(self._times.size, dtype=bool), np.ones(self._moments.size, dtype=bool)
        for other, readings, covered in self._of_stalls:
            if _alike(stall, other):
                usual[readings] = False
                moments[covered] = False
        others = self._values[usual]
        return np.concatenate([others, np.zeros(max(int(moments.sum()) - others.size, 0))])

    def at(self, stall: _Stall) -> tuple[float, Coincidence] | None:
        """(spreads away from usual, the coincidence), or None where the reading was nothing unusual."""
        covering = self._values[self._covering(stall.due_ns, stall.woken_ns)]
        if not covering.size:
            return None
        others = self._usual(stall)
        if others.size < LEAST_OTHERS:
            return None
        median = float(np.median(others))
        value = float(covering[np.argmax(np.abs(covering - median))])
        away = abs(value - median)
        if value < median and self._series.monitor not in _LOW_TELLS:
            return None
        spread = 1.4826 * float(np.median(np.abs(others - median)))
        least = self._least_step(stall)
        side = others >= value if value >= median else others <= value
        as_far = int(side.sum())
        if away <= max(SPREADS * spread, least, 0.1 * abs(median)) or as_far > RARE * others.size:
            return None
        score = away / max(spread, least, 1e-12)
        series = self._series
        return score, Coincidence(series.monitor, self._name, series.unit, value, median, as_far, int(others.size))

    def _least_step(self, stall: _Stall) -> float:
        least = _LEAST_STEP.get(self._series.unit, 0.0)
        if self._series.monitor == _THREADS and self._series.unit == "ratio":
            return min(least, max(_LEAST_OF_THREADS, 0.5 * stall.latency_ns / NS_PER_S))
        return least

    def _covering(self, begin_ns: int, end_ns: int) -> slice:
        """Of this series; none where it was silent when its monitor read."""
        covering = self._moments[_covering(self._moments, begin_ns, end_ns)]
        if not covering.size:
            return slice(0, 0)
        first, last = (
            np.searchsorted(self._times, covering[0]),
            np.searchsorted(self._times, covering[-1], side="right"),
        )
        return slice(int(first), int(last))


def _covering(times: Any, begin_ns: int, end_ns: int) -> slice:
    """Readings that speak of a stall: none where the next one came so late that others must be missing between."""
    first = int(np.searchsorted(times, begin_ns, side="left"))
    last = int(np.searchsorted(times, end_ns, side="left"))
    if times.size < 2 or first >= times.size or times[first] > end_ns + 2 * float(np.median(np.diff(times))):
        return slice(0, 0)
    return slice(first, min(last, times.size - 1) + 1)

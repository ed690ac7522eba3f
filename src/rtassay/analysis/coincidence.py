"""What stood out while the worst wake-ups happened: readings of monitors that were unusual at that moment, and the kernel's words.

A coincidence is no proof of a cause. It is judged by rank alone: how many of the other readings lie as far from the usual one on
the same side. A reading is a mean over the time since the one before it, so the readings that count for a stall are those from the
first at or after its begin to the first at or after its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.analysis.account import Account
from rtassay.analysis.distribution import ints
from rtassay.model.findings import Coincidence, LaneFindings, Outlier
from rtassay.model.recording import Recording, Series
from rtassay.model.units import NS_PER_S

OUTLIERS = 8
COINCIDENCES = 6
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
    readings = [_Readings(series, window, stalls_of(chosen)) for series in recording.telemetry]
    return tuple(_outlier(recording, worst, group, readings, origin_ns) for worst, group in chosen)


def stalls_of(chosen: list[tuple[_Stall, list[_Stall]]]) -> list[tuple[int, int]]:
    """Begin and end of every stall chosen: readings of these moments are nobody's usual."""
    return [(min(s.due_ns for s in group), max(s.woken_ns for s in group)) for _, group in chosen]


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
    recording: Recording, worst: _Stall, group: list[_Stall], readings: list[_Readings], origin_ns: int
) -> Outlier:
    found = [hit for reading in readings if (hit := reading.at(worst.due_ns, worst.woken_ns)) is not None]
    found.sort(key=lambda hit: (hit[1].as_far / max(hit[1].of, 1), -hit[0]))
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
        coincidences=tuple(hit for _, hit in found[:COINCIDENCES]),
        messages=tuple(words[:_MESSAGES]),
    )


class _Readings:
    """One series inside the window, with what is usual for it away from the stalls."""

    def __init__(self, series: Series, window: tuple[int, int], stalls: list[tuple[int, int]]) -> None:
        times, values = ints(series.mono_ns), np.asarray(series.values, dtype=float)
        # The first reading at or after the end still speaks of the window.
        keep = np.isfinite(values) & (times > window[0]) & (times <= window[1] + 2 * NS_PER_S)
        self._series = series
        self._times, self._values = times[keep], values[keep]
        usual = np.ones(self._times.size, dtype=bool)
        for begin, end in stalls:
            usual[self._covering(begin, end)] = False
        self._others: Any = self._values[usual]
        self._median = float(np.median(self._others)) if self._others.size else 0.0

    def at(self, begin_ns: int, end_ns: int) -> tuple[float, Coincidence] | None:
        """(spreads away from usual, the coincidence), or None where the reading was nothing unusual."""
        covering = self._values[self._covering(begin_ns, end_ns)]
        if not covering.size or self._others.size < LEAST_OTHERS:
            return None
        value = float(covering[np.argmax(np.abs(covering - self._median))])
        away = abs(value - self._median)
        spread = 1.4826 * float(np.median(np.abs(self._others - self._median)))
        least = _LEAST_STEP.get(self._series.unit, 0.0)
        side = self._others >= value if value >= self._median else self._others <= value
        as_far = int(side.sum())
        if away <= max(SPREADS * spread, least, 0.1 * abs(self._median)) or as_far > RARE * self._others.size:
            return None
        score = away / max(spread, least, 1e-12)
        series = self._series
        return score, Coincidence(
            series.monitor, series.name, series.unit, value, self._median, as_far, int(self._others.size)
        )

    def _covering(self, begin_ns: int, end_ns: int) -> slice:
        first = int(np.searchsorted(self._times, begin_ns, side="left"))
        last = int(np.searchsorted(self._times, end_ns, side="left"))
        return slice(first, min(last, self._times.size - 1) + 1)

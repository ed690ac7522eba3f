"""Shared by the importers of single latencies: units in column names, and lanes that fill up block by block."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer
from rtassay.importers.columns import MAX_LANES, bad, unreadable
from rtassay.model.errors import UsageError
from rtassay.model.events import End, Event, Facts, Samples
from rtassay.model.files import open_regular
from rtassay.model.manifest import Source
from rtassay.model.measures import UNKNOWN, parse_measure
from rtassay.model.units import NS_PER_MS, NS_PER_S, NS_PER_US

UNITS = {"ns": 1, "us": NS_PER_US, "µs": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}
_TITLE = re.compile(
    r"(?:[A-Za-z]\w*[ _-])?(?:latency|latencies|lateness|jitter|delay|wakeup)[ _-]?[\[(]?(ns|us|µs|μs|ms|s|nsec|usec|msec|sec)[\])]?",
    re.I,
)
_CPU = re.compile(r"(?:cpu|core)?[ _-]?(\d{1,4})", re.I)


def unit_ns(unit: str) -> int:
    """ns in one unit. Raises UsageError for an unknown one."""
    if unit not in UNITS:
        raise UsageError(f"there is no unit '{unit}'", hint="known: ns, us, ms, s")
    return UNITS[unit]


def column_unit(name: str) -> str | None:
    """The unit that the name of a latency column ends in (`latency_us`, `Latency [ns]`), None for any other name."""
    match = _TITLE.fullmatch(name.strip())
    return match[1].lower().removesuffix("ec").replace("μ", "u").replace("µ", "u") if match else None


class NamedColumn(Importer):
    """Shared by the importers of a named column: their options; the file names no tool."""

    name: str

    def __init__(
        self,
        column: str | None = None,
        unit: str | None = None,
        lane_column: str | None = None,
        measure: str = UNKNOWN,
    ) -> None:
        """Raises UsageError for an unknown unit or measure."""
        self.column = column
        self.unit = unit
        self.lane_column = lane_column
        self.measure = parse_measure(measure)
        if unit is not None:
            unit_ns(unit)

    def source(self, path: Path) -> Source:
        """The file does not name the tool that measured it."""
        try:
            with open_regular(path):
                pass
        except OSError as error:
            raise unreadable(path, error) from error
        return Source("table", None, self.name)


class _Lane:
    def __init__(self, index: int) -> None:
        self.index = index
        self.waiting = array("q")
        self.n = 0
        self.sum_ns = 0
        self.min_ns: int | None = None
        self.max_ns: int | None = None
        self.negative = 0


class SampleLanes:
    """Collects latencies by the name of their lane. `flush` yields the waiting samples; `finish` yields the rest, Facts and End."""

    def __init__(self, format_name: str, measure: str) -> None:
        self._format = format_name
        self._measure = measure
        self._lanes: dict[str, _Lane] = {}

    def _lane(self, path: Path, name: str, line: int | None) -> _Lane:
        lane = self._lanes.get(name)
        if lane is None:
            if len(self._lanes) >= MAX_LANES:
                raise bad(path, f"more than {MAX_LANES} lanes: is this the lane column?", line=line)
            lane = self._lanes[name] = _Lane(len(self._lanes))
        return lane

    def add(self, path: Path, name: str, latency_ns: int, line: int | None) -> None:
        """One latency; `line` for the message when there are too many lanes."""
        self._lane(path, name, line).waiting.append(latency_ns)

    def add_block(self, path: Path, name: str, latency_ns: Any, line: int | None) -> None:
        """Take an int64 array of one lane; `flush` yields it."""
        self._lane(path, name, line).waiting.frombytes(latency_ns.tobytes())

    def flush(self) -> Iterator[Event]:
        """The waiting samples, lane by lane."""
        import numpy as np

        for lane in self._lanes.values():
            if lane.waiting:
                waiting, lane.waiting = lane.waiting, array("q")
                yield from self._give(lane, np.frombuffer(waiting, dtype=np.int64))

    def _give(self, lane: _Lane, values: Any) -> Iterator[Event]:
        import numpy as np

        if not len(values):
            return
        low, high = int(values.min()), int(values.max())
        first_k, lane.n = lane.n, lane.n + len(values)
        lane.sum_ns += int(values.sum()) if max(-low, high) < 2**40 else sum(values.tolist())
        lane.negative += int((values < 0).sum()) if low < 0 else 0
        lane.min_ns = low if lane.min_ns is None else min(lane.min_ns, low)
        lane.max_ns = high if lane.max_ns is None else max(lane.max_ns, high)
        none = np.zeros(len(values), np.int64)
        yield Samples(lane=lane.index, first_k=first_k, latency_ns=values, missed=none, dropped=none)

    def finish(self, path: Path, step_ns: int, about: dict[str, Any]) -> Iterator[Event]:
        """The rest, then Facts and End. `step_ns`: the value of the last digit of the source."""
        yield from self.flush()
        if not any(lane.n for lane in self._lanes.values()):
            raise bad(path, "there is not one latency in it")
        caveats = [
            "one row is taken for one activation; interval, missed activations and due times are not in the file"
        ]
        negative = {name: lane.negative for name, lane in self._lanes.items() if lane.negative}
        imported: dict[str, Any] = {"kind": "stream", "format": self._format, "caveats": caveats, **about}
        if negative:
            imported["negative"] = negative
            caveats.append(
                f"{sum(negative.values())} latencies are below 0: kept as they are; a timer cannot fire early, so look at the clock"
            )
        entries = [
            {"lane": lane.index, "name": name, "measure": self._measure, "cpu": _cpu(name)}
            for name, lane in self._lanes.items()
        ]
        yield Facts({"bin_width_ns": step_ns, "lanes": entries, "import": imported})
        yield End({"lanes": [_end(lane) for lane in self._lanes.values()]})


def _cpu(name: str) -> int | None:
    match = _CPU.fullmatch(name)
    return int(match[1]) if match and int(match[1]) < 2**15 else None


def _end(lane: _Lane) -> dict[str, Any]:
    fits = -(2**63) <= lane.sum_ns < 2**63
    unknown = dict.fromkeys(("due", "missed", "dropped", "truncated", "exceedances"))
    told = {
        "n": lane.n,
        "over": 0,
        "min_ns": lane.min_ns,
        "max_ns": lane.max_ns,
        "sum_ns": lane.sum_ns if fits else None,
    }
    return {"lane": lane.index, **told, **unknown}

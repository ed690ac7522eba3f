"""The live output of cyclictest -v: rows `thread:cycle:value`; every other line goes to the parser of its text.

Like all parsers of probes it never raises: it counts the lines that it cannot understand (`malformed_lines`). A cycle that the
summary counts and no row shows is `dropped`: the rows pass through a ring in cyclictest, which silently overwrites old ones
(importers/cyclictest_verbose.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rtassay.model.events import End, Event, Facts, Parser, Samples
from rtassay.model.measures import WAKE_UP
from rtassay.probes.cyclictest_text import CyclictestText

_ROW = re.compile(rb" *(\d{1,4}): *(\d{1,15}): *(-?\d{1,15}) *\r?$")
_OF_ROWS = b"0123456789: -\n"
_HELD_MOST = 1 << 20
_VALUE_MOST = 10**15
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "truncated", "exceedances", "sum_ns"))


@dataclass(slots=True)
class _Lane:
    """A thread so far. `last`: its last cycle, corrected for latencies of 0; `printed`: the cycle as printed."""

    n: int = 0
    next_k: int = 0
    last: int = -1
    printed: int = -1
    dropped: int = 0
    gaps: int = 0
    duplicates: int = 0
    backwards: int = 0
    min_ns: int | None = None
    max_ns: int | None = None


class CyclictestRows(Parser):
    """Samples as they come. FACTS need the summary, so they come last but one."""

    def __init__(self, facts: dict[str, Any], scale_ns: int) -> None:
        self._facts = facts
        self._scale_ns = scale_ns
        self._text = CyclictestText(facts)
        self._lanes: dict[int, _Lane] = {}
        self._held = b""
        self.malformed_lines = 0

    def feed(self, data: bytes) -> list[Event]:
        block = self._held + data
        cut = block.rfind(b"\n") + 1
        self._held = block[cut:]
        if len(self._held) > _HELD_MOST:
            self._held = b""
            self.malformed_lines += 1
        return self._take(block[:cut]) if cut else []

    def finish(self) -> list[Event]:
        # A row without its newline may end in half a number.
        self.malformed_lines += bool(self._held.strip())
        self._held = b""
        told = self._text.finish()[0]
        assert isinstance(told, Facts)
        events: list[Event] = []
        undrained = {number: self._undrained(number, lane) for number, lane in self._lanes.items()}
        for number, count in undrained.items():
            if count:
                events.append(self._lost(number, count))
        events.append(Facts(self._all_facts(told.data, undrained)))
        if self._complete:
            events.append(End({"reason": "duration", "lanes": [self._end(number) for number in sorted(self._lanes)]}))
        return events

    @property
    def _complete(self) -> bool:
        """Whether the output is whole: with -q the summary comes last."""
        return bool(self._lanes) and all(number in self._text.threads for number in self._lanes)

    def _take(self, lines: bytes) -> list[Event]:
        import numpy as np

        if not lines.translate(None, _OF_ROWS):
            table = np.fromstring(lines.replace(b":", b" "), dtype=np.int64, sep=" ")
            if len(table) == 3 * lines.count(b"\n") and lines.count(b":") * 3 == 2 * len(table):
                return self._rows(table.reshape(-1, 3))
        found = []
        for line in lines.splitlines():
            row = _ROW.match(line)
            if row is not None:
                found.append([int(row[1]), int(row[2]), int(row[3])])
            else:
                self._text.feed(line + b"\n")
        return self._rows(np.array(found, dtype=np.int64).reshape(-1, 3))

    def _rows(self, table: Any) -> list[Event]:
        import numpy as np

        sane = (np.abs(table[:, 2]) <= _VALUE_MOST) & (table[:, 0] >= 0) & (table[:, 0] < 4096) & (table[:, 1] >= 0)
        self.malformed_lines += int((~sane).sum())
        table = table[sane]
        return [self._samples(int(lane), table[table[:, 0] == lane]) for lane in np.unique(table[:, 0])]

    def _samples(self, number: int, rows: Any) -> Samples:
        import numpy as np

        lane = self._lanes.setdefault(number, _Lane())
        cycle = _of_zeros(lane, rows[:, 1], rows[:, 2])
        steps = np.diff(cycle, prepend=lane.last)
        lost = np.maximum(steps - 1, 0)
        latency_ns = rows[:, 2] * self._scale_ns
        low, high = int(latency_ns.min()), int(latency_ns.max())
        gap, dropped = int(lost[0]), np.append(lost[1:], 0)
        samples = Samples(
            lane=number,
            first_k=lane.next_k + gap,
            latency_ns=latency_ns,
            missed=np.zeros(len(rows), np.int64),
            dropped=dropped,
            gap_dropped=gap,
        )
        lane.min_ns = low if lane.min_ns is None else min(lane.min_ns, low)
        lane.max_ns = high if lane.max_ns is None else max(lane.max_ns, high)
        lane.gaps += int((lost > 0).sum())
        lane.duplicates += int((steps == 0).sum())
        lane.backwards += int((steps < 0).sum())
        lane.dropped += int(lost.sum())
        lane.n += len(rows)
        lane.next_k += len(rows) + int(lost.sum())
        lane.last, lane.printed = int(cycle[-1]), int(rows[-1, 1])
        return samples

    def _lost(self, number: int, count: int) -> Samples:
        import numpy as np

        lane, nothing = self._lanes[number], np.zeros(0, np.int64)
        lane.dropped += count
        return Samples(number, lane.next_k, nothing, nothing, nothing, gap_dropped=count)

    def _undrained(self, number: int, lane: _Lane) -> int:
        """Cycles that the summary counts and no row shows: they stayed in the ring."""
        counted = self._text.summary_of(number)["n"]
        return max(0, (counted or 0) - lane.n - lane.dropped)

    def _all_facts(self, told: dict[str, Any], undrained: dict[int, int]) -> dict[str, Any]:
        known = {entry["lane"]: entry for entry in self._facts.get("lanes", ())}
        blank = {"cpu": None, "first_due_ns": None, "obtained": None}
        lanes = [
            {
                "lane": number,
                "name": str(number),
                "measure": WAKE_UP,
                **blank,
                **known.get(number, {}),
                "tid": self._text.threads.get(number, {}).get("tid"),
            }
            for number in sorted(self._lanes)
        ]
        about = {
            "kind": "stream",
            "live": True,
            "unit": "ns" if self._scale_ns == 1 else "us",
            "unit_from": "command line",
            "lanes": [self._told(number) for number in sorted(self._lanes)],
            "stream": [self._stream(number, undrained.get(number, 0)) for number in sorted(self._lanes)],
        }
        malformed = told.get("malformed_lines", 0) + self.malformed_lines
        own = {"bin_width_ns": self._scale_ns, "lanes": lanes, "malformed_lines": malformed, "import": about}
        return {**told, **own}

    def _told(self, number: int) -> dict[str, Any]:
        row = self._text.summary_of(number)
        scaled = {f"{key}_ns": None if (v := row[key]) is None else v * self._scale_ns for key in ("min", "avg", "max")}
        return {"lane": number, "n": row["n"], **scaled, "sd_ns": None, "cycles": row["n"]}

    def _stream(self, number: int, undrained: int) -> dict[str, Any]:
        lane = self._lanes[number]
        return {
            "lane": number,
            "n": lane.n,
            "gaps": lane.gaps,
            "lost": lane.dropped - undrained,
            "duplicates": lane.duplicates,
            "backwards": lane.backwards,
            "reduced": None,
            "undrained": undrained if self._text.summary_of(number)["n"] is not None else None,
            "max_ns": lane.max_ns,
        }

    def _end(self, number: int) -> dict[str, Any]:
        lane, most = self._lanes[number], self._text.summary_of(number)["max"]
        high = lane.max_ns
        if most is not None and high is not None:
            high = max(high, most * self._scale_ns)
        told = {"over": 0, "min_ns": lane.min_ns, "max_ns": high, "dropped": lane.dropped}
        return {"lane": number, "n": lane.n, **told, **_UNKNOWN}


class LiveSummary(Parser):
    """Parses the output of a command line without -h and -v: the line of each thread, marked as measured by rtassay."""

    def __init__(self, facts: dict[str, Any], scale_ns: int) -> None:
        self._text = CyclictestText(facts, whole=True, unit="ns" if scale_ns == 1 else "us")

    def feed(self, data: bytes) -> list[Event]:
        return self._text.feed(data)

    def finish(self) -> list[Event]:
        events = self._text.finish()
        for event in events:
            if isinstance(event, Facts):
                event.data["import"]["live"] = True
        return events if self._text.threads else [event for event in events if not isinstance(event, End)]


def _of_zeros(lane: _Lane, cycle: Any, value: Any) -> Any:
    """Corrected cycles: for a latency of 0 cyclictest prints the cycle of the row before."""
    import numpy as np

    before = np.concatenate([[lane.printed], cycle[:-1]])
    repeated = np.flatnonzero((cycle == before) & (value == 0))
    if not len(repeated):
        return cycle
    cycle = cycle.copy()
    for at in repeated.tolist():
        cycle[at] = (cycle[at - 1] if at else lane.last) + 1
    return cycle

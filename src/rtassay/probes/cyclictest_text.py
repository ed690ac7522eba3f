"""What cyclictest prints with a histogram (`-h`, `-H`, with or without `-q`), as events. Shared by the live probe and the importer.

Its rows are columns of thread numbers, not CPUs. Values are whole microseconds, cut off: the bin `k` holds [k, k+1) us.
`# Total` counts what is in the bins; what lies at or above the limit stands in `# Histogram Overflows` only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rtassay.model.events import End, Event, Facts, HistogramPart, Note
from rtassay.model.units import NS_PER_US

_ROW = re.compile(r"(\d{1,12})[ \t]+(\d+(?:[ \t]+\d+)*)$")
_TRAILER = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):((?:\s+-?\d+)+)$")
_THREAD = re.compile(
    r"T:\s*(?P<lane>\d+)\s*\(\s*(?P<tid>\d+)\)\s*P:\s*(?P<priority>\d+)\s*I:\s*(?P<interval>\d+)\s*C:\s*(?P<cycles>\d+)"
    r"\s*Min:\s*(?P<min>\d+)\s*Act:\s*\d+\s*Avg:\s*(?P<avg>\d+)\s*Max:\s*(?P<max>\d+)"
)
_OVERFLOWS = re.compile(r"# Thread (\d+):(?:\s+\d+)*(?:\s+# \d+ others)?$")
_DMA = re.compile(r"# /dev/cpu_dma_latency set to (\d+)us$")
_BREAK = re.compile(r"# Break (thread|value):\s*(\d+)$")
_IDS = re.compile(r"# Thread Ids:((?:\s+\d+)+)$")
_CURSOR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Lines that carry nothing we keep.
_IGNORED = re.compile(
    r"(# Histogram( Overflow at cycle number:)?|policy: .*|# SMIs:.*|# START|# INFO.*|WARN.*|INFO.*|)$"
)
_MALFORMED_KEPT = 20
_LINE_LIMIT = 1 << 20
# What an unstarted thread shows: nothing was measured.
_NEVER = 1_000_000


@dataclass(frozen=True, slots=True)
class Malformed:
    """A line that is not cyclictest's, by its number (from 1)."""

    line: int
    why: str
    text: str


class CyclictestText:
    """Incremental parser: feed any pieces, finish once. It never raises; what it did not understand is in `malformed`.

    cyclictest prints everything at its end, so all events come from `finish`: Facts, one HistogramPart per lane, `break` if
    there was one, and End only if the trailer was whole. `scale_ns` is the unit of the values (1 for a file made with -N).
    """

    def __init__(self, facts: dict[str, Any] | None = None, *, scale_ns: int = NS_PER_US) -> None:
        self.malformed: list[Malformed] = []
        self.malformed_lines = 0
        self._facts = dict(facts or {})
        self._scale_ns = scale_ns
        self._held = b""
        self._line = 0
        self._columns: list[dict[int, int]] = []
        self._last_bin = -1
        self._trailer: dict[str, list[int]] = {}
        self._threads: dict[int, dict[str, int]] = {}
        self._ids: list[int] = []
        self._break: dict[str, int] = {}

    def feed(self, data: bytes) -> list[Event]:
        lines = (self._held + data).split(b"\n")
        self._held = lines.pop()
        if len(self._held) > _LINE_LIMIT:
            self._held = b""
            self._complain("a line of more than 1 MiB", "")
        for line in lines:
            self._take(line)
        return []

    def finish(self) -> list[Event]:
        if self._held.strip():
            self._take(self._held)
        self._held = b""
        lanes = self._lanes()
        events: list[Event] = [Facts(self._all_facts(lanes))]
        if self._last_bin >= 0:
            events += [self._histogram(lane) for lane in range(lanes)]
        if "value" in self._break:
            value = {"latency_ns": self._break["value"] * self._scale_ns, "tid": self._break.get("thread")}
            events.append(Note("break", self._lane_of(self._break.get("thread")), value))
        if self.complete:
            reason = "break" if self._break else "duration"
            events.append(End({"reason": reason, "lanes": [self._end(lane) for lane in range(lanes)]}))
        return events

    @property
    def complete(self) -> bool:
        """The trailer is there and speaks of every lane: the run came to its own end."""
        needed = ("Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows")
        return self._lanes() > 0 and all(len(self._trailer.get(key, ())) >= self._lanes() for key in needed)

    def _take(self, raw: bytes) -> None:
        self._line += 1
        text = _CURSOR.sub("", raw.decode(errors="replace")).strip("\r").strip()
        if row := _ROW.match(text):
            self._take_row(text, int(row[1]), [int(word) for word in row[2].split()])
        elif trailer := _TRAILER.match(text):
            self._trailer[trailer[1]] = [int(word) for word in trailer[2].split()]
        elif thread := _THREAD.match(text):
            fields = {key: int(value) for key, value in thread.groupdict().items()}
            self._threads[fields["lane"]] = fields
        elif dma := _DMA.match(text):
            self._facts["dma_latency_us"] = int(dma[1])
        elif found := _BREAK.match(text):
            self._break[found[1]] = int(found[2])
        elif ids := _IDS.match(text):
            self._ids = [int(word) for word in ids[1].split()]
        elif not _OVERFLOWS.match(text) and not _IGNORED.match(text):
            self._complain("not a line of cyclictest", text)

    def _take_row(self, text: str, bucket: int, counts: list[int]) -> None:
        if self._columns and len(counts) != len(self._columns):
            self._complain(f"{len(counts)} columns where there were {len(self._columns)}", text)
            return
        if bucket <= self._last_bin:
            self._complain(f"bin {bucket} after bin {self._last_bin}", text)
            return
        if not self._columns:
            self._columns = [{} for _ in counts]
        self._last_bin = bucket
        for column, count in zip(self._columns, counts, strict=True):
            if count:
                column[bucket] = count

    def _complain(self, why: str, text: str) -> None:
        self.malformed_lines += 1
        if len(self.malformed) < _MALFORMED_KEPT:
            self.malformed.append(Malformed(self._line, why, text[:200]))

    def _lanes(self) -> int:
        """Threads, not columns: -H adds a column of sums to the rows, to Max and Overflows, but not to Min."""
        return len(self._trailer.get("Min Latencies", ())) or len(self._columns) or len(self._threads)

    def _lane_of(self, tid: int | None) -> int | None:
        return self._ids.index(tid) if tid in self._ids else None

    def _all_facts(self, lanes: int) -> dict[str, Any]:
        known = {entry["lane"]: entry for entry in self._facts.get("lanes", ())}
        blank = {"cpu": None, "tid": None, "first_due_ns": None, "obtained": None}
        entries = [{"lane": lane, "name": str(lane), **blank, **known.get(lane, {})} for lane in range(lanes)]
        for entry in entries:
            if entry["lane"] < len(self._ids):
                entry["tid"] = self._ids[entry["lane"]]
            elif entry["lane"] in self._threads:
                entry["tid"] = self._threads[entry["lane"]]["tid"]
        own = {"bin_width_ns": self._scale_ns, "lanes": entries, "malformed_lines": self.malformed_lines}
        return {"probe": "cyclictest", **self._facts, **own}

    def _histogram(self, lane: int) -> HistogramPart:
        import numpy as np

        column = self._columns[lane] if lane < len(self._columns) else {}
        bins = sorted(column)
        return HistogramPart(
            lane=lane,
            lower_ns=np.array(bins, dtype=np.int64) * self._scale_ns,
            width_ns=np.full(len(bins), self._scale_ns, dtype=np.int64),
            counts=np.array([column[bucket] for bucket in bins], dtype=np.int64),
            over=self._value("Histogram Overflows", lane) or 0,
            limit_ns=(self._last_bin + 1) * self._scale_ns,
        )

    def _value(self, key: str, lane: int) -> int | None:
        values = self._trailer.get(key, [])
        return values[lane] if lane < len(values) else None

    def _end(self, lane: int) -> dict[str, Any]:
        over = self._value("Histogram Overflows", lane) or 0
        n = (self._value("Total", lane) or 0) + over
        none = {"due": None, "missed": None, "dropped": None, "truncated": None, "exceedances": None, "sum_ns": None}
        return {
            "lane": lane,
            "n": n,
            "over": over,
            "min_ns": self._scaled("Min Latencies", lane, n),
            "max_ns": self._scaled("Max Latencies", lane, n),
            "avg_ns": self._scaled("Avg Latencies", lane, n),
            **none,
        }

    def _scaled(self, key: str, lane: int, n: int) -> int | None:
        value = self._value(key, lane)
        if value is None or n == 0 or (key.startswith("Min") and value == _NEVER):
            return None
        return value * self._scale_ns

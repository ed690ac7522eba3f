"""What cyclictest prints as text, as events: histograms (`-h`, `-H`, with or without `-q`) and summaries (live, `-q`).

Shared by the live probe and the importer. Rows are columns of thread numbers, not CPUs. Values are whole microseconds (with -N
nanoseconds), rounded down: the bin `k` holds [k, k+1). `# Total` counts the samples in the bins; `# Histogram Overflows` counts those at or above
the limit. The parts may come in any order, also within a console log: other lines are noise, and are counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from rtassay.model.events import End, Event, Facts, HistogramPart, Note, Parser
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US
from rtassay.probes.cyclictest_argv import CyclictestArgv, find_command

_ROW = re.compile(r"(\d{1,12})[ \t]+(\d{1,15}(?:[ \t]+\d{1,15})*)$")
_NUMBERS = re.compile(r"\d+(?:[ \t]+\d+)+$")
_TRAILER = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows):((?:\s+-?\d{1,18})+)$")
_BROKEN_TRAILER = re.compile(r"# (Total|Min Latencies|Avg Latencies|Max Latencies|Histogram Overflows)\b")
_TOTALS = ("# Total:", "# Min Latencies:", "# Avg Latencies:", "# Max Latencies:", "# Histogram Overflows:")
_THREAD = re.compile(
    r"T:\s*(?P<lane>\d{1,4})\s*\(\s*(?P<tid>\d{1,10})\)\s*P:\s*(?P<priority>\d{1,3})\s*I:\s*(?P<interval>\d{1,12})\s*"
    r"C:\s*(?P<cycles>\d{1,18})\s*Min:\s*(?P<min>-?\d{1,12})\s*Act:\s*-?\d{1,12}\s*Avg:\s*(?P<avg>-?\d{1,12})\s*Max:\s*(?P<max>-?\d{1,12})"
    r"(?:\s+SMI:\s*\d+)?$"
)
_OVERFLOWS = re.compile(r"# Thread (\d+):(?:\s+\d+)*(?:\s+# \d+ others)?$")
_DMA = re.compile(r"# /dev/cpu_dma_latency set to (\d{1,12})us$")
_BREAK = re.compile(r"# Break (thread|value):\s*(\d{1,12})$")
_IDS = re.compile(r"# Thread Ids:((?:\s+\d{1,10})+)$")
_VERSION = re.compile(r"cyclictest V (\d[\w.]*)")
_CURSOR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[c78=>]")
# Lines without data.
_IGNORED = re.compile(
    r"(# Histogram( Overflow at cycle number:)?|policy: .*|# SMIs:.*|# START|# INFO.*|WARN.*|INFO.*|"
    r"Max CPUs = \d+|Online CPUs = \d+|Thread \d+ Interval: \d+|Thread \d+ using cpu \d+\.?|)$"
)
# Prefixes of consoles, loggers and shells: [  12.3], times, `Nov 21 21:12:52 host cyclictest[7]:`, `board login:`, `root@pi:~#`.
_PREFIX = re.compile(
    r"\[[^\[\]]{1,40}\]:?\s*|<\d{1,3}>\s*|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d)?:?\s+|"
    r"[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \S+ [^\s:]+:\s*|\d\d:\d\d:\d\d[.,\d]*:?\s+|"
    r"\S+ login:\s*|\S+@\S+[#$]\s*|[>|]\s+"
)
_MALFORMED_KEPT = 20
_LINE_LIMIT = 1 << 20
# The search for a prefix or a command line takes quadratic time, and neither is longer than this.
_NOISE_LIMIT = 4096
_LANES_MOST = 4096
_CELL_DIGITS = 6
# A thread prints this minimum before its first sample: it has measured nothing.
_NEVER = 1_000_000
# No sleeping thread wakes up this fast, in ns: smaller values are microseconds.
_TOO_FAST_NS = 100
_SURE_CYCLES = 100


@dataclass(frozen=True, slots=True)
class Malformed:
    """A damaged line, or a line of something else: its number from 1, and the column from 1 where that helps."""

    line: int
    why: str
    text: str
    column: int | None = None


class CyclictestText(Parser):
    """Incremental parser: feed any pieces, finish once. It never raises; `malformed` holds the lines that it did not understand.

    cyclictest prints everything at its end, so all events come from `finish`: Facts, one HistogramPart per lane, `break` if
    there was one, and End if the trailer was whole. `scale_ns` is the unit of the values (1 for a file made with -N).

    `whole`: the text is a file of a finished run. Then End always comes; a text without a histogram gives the summaries of the
    threads (all samples as overflow above their minimum); the text decides the unit unless `unit` states it; and `broken` is the first
    line that contradicts the rest: do not use such a text.
    """

    def __init__(
        self,
        facts: dict[str, Any] | None = None,
        *,
        scale_ns: int = NS_PER_US,
        whole: bool = False,
        unit: str | None = None,
    ) -> None:
        self.malformed: list[Malformed] = []
        self.malformed_lines = 0
        self.noise_lines = 0
        self.first_noise: Malformed | None = None
        self.broken: Malformed | None = None
        self.command: CyclictestArgv | None = None
        self._whole = whole
        self._unit_from = "assumed"
        self._facts = dict(facts or {})
        self._scale_ns = scale_ns
        self._held = b""
        self._line = 0
        self._unit = unit
        self._columns: list[dict[int, int]] = []
        self._row_lines: dict[int, int] = {}
        self._last_bin = -1
        self._padded = False
        self._gap: Malformed | None = None
        self._trailer: dict[str, list[int]] = {}
        self._trailer_lines: dict[str, int] = {}
        self._threads: dict[int, dict[str, int]] = {}
        self._ids: list[int] = []
        self._break: dict[str, int] = {}

    def feed(self, data: bytes) -> list[Event]:
        lines = (self._held + data).split(b"\n")
        self._held = lines.pop()
        if len(self._held) > _LINE_LIMIT:
            self._held = b""
            self._noise("a line of more than 1 MiB", "")
        for line in lines:
            self._take(line)
        return []

    def line(self, raw: bytes, number: int) -> None:
        """Take one line with a known number: a reader of -v rows passes on all other lines."""
        self._line = number - 1
        self._take(raw)

    def finish(self) -> list[Event]:
        if self._held.strip():
            self._take(self._held)
        self._held = b""
        if self._whole:
            self._find_contradictions()
            self._decide_unit()
        lanes = self._lanes()
        events: list[Event] = [Facts(self._all_facts(lanes))]
        if self._last_bin >= 0:
            events += [self._histogram(lane) for lane in range(lanes)]
        elif self._whole:
            events += [part for lane in range(lanes) if (part := self._summary(lane)) is not None]
        if "value" in self._break:
            value = {"latency_ns": self._break["value"] * self._scale_ns, "tid": self._break.get("thread")}
            events.append(Note("break", self._lane_of(self._break.get("thread")), value))
        if self.complete or self._whole:
            reason = "break" if self._break else "duration" if not self._whole else None
            events.append(End({"reason": reason, "lanes": [self._end(lane) for lane in range(lanes)]}))
        return events

    @property
    def complete(self) -> bool:
        """Whether the run reached its end: the trailer is there and names every lane."""
        needed = ("Total", "Min Latencies", "Avg Latencies", "Max Latencies", "Histogram Overflows")
        return self._lanes() > 0 and all(len(self._trailer.get(key, ())) >= self._lanes() for key in needed)

    @property
    def version(self) -> str | None:
        """The version of cyclictest: only a help text in the log names it."""
        found = self._facts.get("version")
        return found if isinstance(found, str) else None

    @property
    def has_rows(self) -> bool:
        """Whether there was a histogram."""
        return self._last_bin >= 0

    @property
    def threads(self) -> dict[int, dict[str, int]]:
        """The last `T:` line of each thread, in the unit of the text."""
        return self._threads

    def summary_of(self, lane: int) -> dict[str, int | None]:
        """The summary of a thread in the unit of the text: `n`, `min`, `avg`, `max` of the totals, else of its `T:` line."""
        thread = self._threads.get(lane, {})
        total, over = self._value("Total", lane), self._value("Histogram Overflows", lane)
        if total is not None and over is not None:
            keys = {"min": "Min Latencies", "avg": "Avg Latencies", "max": "Max Latencies"}
            told: dict[str, int | None] = {name: self._value(key, lane) for name, key in keys.items()}
            return {"n": total + over, **told}
        return {"n": thread.get("cycles"), **{name: thread.get(name) for name in ("min", "avg", "max")}}

    def _take(self, raw: bytes) -> None:
        self._line += 1
        text = _CURSOR.sub("", raw.decode(errors="replace")).rstrip("\r").rpartition("\r")[2].strip()
        for _ in range(4):
            if self._understood(text):
                return
            if len(text) > _NOISE_LIMIT:
                self._noise("not a line of cyclictest", text)
                return
            prefix = _PREFIX.match(text)
            if prefix is None:
                break
            text = text[prefix.end() :]
        if found := find_command(text):
            self.command = found
        elif version := _VERSION.search(text):
            self._facts["version"] = version[1]
        elif _NUMBERS.match(text) and self._last_bin >= 0:
            self._break_off("a number that is too long for cyclictest", text)
        elif _BROKEN_TRAILER.match(text) or (len(text) > 2 and any(line.startswith(text) for line in _TOTALS)):
            self._break_off("a line of totals that is cut or damaged", text)
        else:
            self._noise("not a line of cyclictest", text)

    def _understood(self, text: str) -> bool:
        if row := _ROW.match(text):
            self._take_row(text, int(row[1]), row[2].split())
        elif trailer := _TRAILER.match(text):
            self._take_trailer(trailer[1], [int(word) for word in trailer[2].split()], text)
        elif thread := _THREAD.match(text):
            fields = {key: int(value) for key, value in thread.groupdict().items()}
            self._threads[fields["lane"]] = fields | {"line": self._line}
        elif dma := _DMA.match(text):
            self._facts["dma_latency_us"] = int(dma[1])
        elif found := _BREAK.match(text):
            self._break[found[1]] = int(found[2])
        elif ids := _IDS.match(text):
            self._ids = [int(word) for word in ids[1].split()]
        else:
            return bool(_OVERFLOWS.match(text) or _IGNORED.match(text))
        return True

    def _take_row(self, text: str, bucket: int, cells: list[str]) -> None:
        if self._columns and len(cells) != len(self._columns):
            self._break_off(f"{len(cells)} columns where there were {len(self._columns)}", text)
            return
        if bucket <= self._last_bin:
            again = ": a second histogram begins; one file holds one run" if bucket == 0 and self._whole else ""
            self._break_off(f"bin {bucket} after bin {self._last_bin}{again}", text)
            return
        short = next((cell for cell in cells if len(cell) < _CELL_DIGITS), None)
        if not self._columns:
            self._columns = [{} for _ in cells]
            self._padded = short is None
        elif self._padded and short is not None:
            self._break_off(
                f"the count '{short}' is cut: it has {_CELL_DIGITS} digits elsewhere", text, text.rfind(short) + 1
            )
            return
        if bucket != self._last_bin + 1 and self._gap is None:
            self._gap = Malformed(self._line, f"bin {bucket} after bin {self._last_bin}: rows are missing", text[:200])
        self._last_bin = bucket
        self._row_lines[bucket] = self._line
        for column, cell in zip(self._columns, cells, strict=True):
            if count := int(cell):
                column[bucket] = count

    def _take_trailer(self, key: str, values: list[int], text: str) -> None:
        if key in self._trailer and self._whole:
            self._break_off(f"a second line of '# {key}': one file holds one run", text)
            return
        if len(values) > _LANES_MOST:
            self._break_off(f"{len(values)} threads", text)
            return
        self._trailer[key] = values
        self._trailer_lines[key] = self._line

    def _break_off(self, why: str, text: str, column: int | None = None) -> None:
        self._complain(why, text, column)
        self.broken = self.broken or Malformed(self._line, why, text[:200], column)

    def _noise(self, why: str, text: str) -> None:
        self._complain(why, text)
        self.noise_lines += 1
        self.first_noise = self.first_noise or Malformed(self._line, why, text[:200])

    def _complain(self, why: str, text: str, column: int | None = None) -> None:
        self.malformed_lines += 1
        if len(self.malformed) < _MALFORMED_KEPT:
            self.malformed.append(Malformed(self._line, why, text[:200], column))

    def _find_contradictions(self) -> None:
        """Check a whole text: totals that differ from the sums of their columns, lanes that differ from the columns, rows lost to noise."""
        if self.broken is not None or self._last_bin < 0:
            return
        lanes, totals = self._lanes(), self._trailer.get("Total")
        sums = [sum(column.values()) for column in self._columns]
        if max(sums) >= 2**62:
            self.broken = Malformed(self._line, "more samples than can be", "")
        elif "Min Latencies" in self._trailer and len(self._columns) not in (lanes, lanes + 1):
            line = self._trailer_lines["Min Latencies"]
            self.broken = Malformed(line, f"{lanes} threads here, {len(self._columns)} columns in the rows", "")
        elif (key := self._odd_trailer()) is not None:
            why = f"{len(self._trailer[key])} values of {lanes} threads"
            self.broken = Malformed(self._trailer_lines[key], why, f"# {key}")
        elif len(self._columns) == lanes + 1 and (bucket := self._wrong_sum()) is not None:
            line = self._row_lines[bucket]
            self.broken = Malformed(line, "the last column is not the sum of the others", f"bin {bucket}")
        elif totals is not None:
            differing = next((i for i, (a, b) in enumerate(zip(totals, sums, strict=False)) if a != b), None)
            if differing is not None:
                why = f"# Total says {totals[differing]} for thread {differing}, its rows hold {sums[differing]}"
                self.broken = Malformed(self._trailer_lines["Total"], why, "")
        elif self._gap is not None and self.noise_lines:
            self.broken = self._gap

    def _odd_trailer(self) -> str | None:
        """The first line of the trailer with another number of threads than the rest (one more may be the sum of all)."""
        lanes = self._lanes()
        if "Min Latencies" not in self._trailer:
            return None
        return next((key for key, values in self._trailer.items() if len(values) not in (lanes, lanes + 1)), None)

    def _wrong_sum(self) -> int | None:
        """The first bin whose last column is not the sum of the others."""
        *threads, last = self._columns
        for bucket in self._row_lines:
            if last.get(bucket, 0) != sum(column.get(bucket, 0) for column in threads):
                return bucket
        return None

    def _decide_unit(self) -> None:
        """The unit: no row shows -N, so it follows from the command line, else from the values."""
        if self._unit is not None:
            self._scale_ns, self._unit_from = (1 if self._unit == "ns" else NS_PER_US), "option"
            return
        if self.command is not None:
            self._scale_ns, self._unit_from = (1 if self.command.nanoseconds else NS_PER_US), "command line"
            return
        started = [t for t in self._threads.values() if t["cycles"] and t["min"] != _NEVER]
        smallest = [min(column) for column in self._columns if column] + [t["min"] for t in started]
        if smallest and min(smallest) < _TOO_FAST_NS:
            self._scale_ns, self._unit_from = NS_PER_US, "values"
        elif started and all(t["avg"] >= t["interval"] and t["cycles"] >= _SURE_CYCLES for t in started):
            self._scale_ns, self._unit_from = (
                1,
                "values",
            )  # in microseconds the average sample would be later than the next activation

    def _lanes(self) -> int:
        """Threads, not columns: -H adds a column of sums to the rows, to Max and Overflows, but not to Min."""
        if told := len(self._trailer.get("Min Latencies", ())):
            return told
        if self._columns:
            return len(self._columns) - (1 if self._has_sum_column() else 0)
        return max(self._threads, default=-1) + 1

    def _has_sum_column(self) -> bool:
        """Whether the last column is the sum of the others in every row, for a text without a trailer."""
        if len(self._columns) < 2:
            return False
        if self.command is not None and self.command.histogram is not None:
            return self.command.sum_column
        return bool(self._columns[-1]) and self._wrong_sum() is None

    def _lane_of(self, tid: int | None) -> int | None:
        return self._ids.index(tid) if tid in self._ids else None

    def _all_facts(self, lanes: int) -> dict[str, Any]:
        known = {entry["lane"]: entry for entry in self._facts.get("lanes", ())}
        blank = {"cpu": None, "tid": None, "first_due_ns": None, "obtained": None}
        entries = [
            {"lane": lane, "name": str(lane), "measure": WAKE_UP, **blank, **known.get(lane, {})}
            for lane in range(lanes)
        ]
        for entry in entries:
            thread = self._threads.get(entry["lane"])
            if entry["lane"] < len(self._ids):
                entry["tid"] = self._ids[entry["lane"]]
            elif thread is not None:
                entry["tid"] = thread["tid"]
            if self._whole:
                entry["interval_ns"] = self._interval_ns(entry["lane"])
        own = {"bin_width_ns": self._scale_ns, "lanes": entries, "malformed_lines": self.malformed_lines}
        facts = {"probe": "cyclictest", **self._facts, **own}
        return facts | self._import_facts(lanes) if self._whole else facts

    def _interval_ns(self, lane: int) -> int | None:
        """The interval from the line of the thread, else from the command line."""
        if lane in self._threads:
            return self._threads[lane]["interval"] * NS_PER_US or None
        return self.command.interval_ns(lane) if self.command is not None else None

    def _import_facts(self, lanes: int) -> dict[str, Any]:
        """The part of FACTS that only a file has (importers/base.py)."""
        seen = {
            "kind": "histogram" if self._last_bin >= 0 else "summary",
            "unit": "ns" if self._scale_ns == 1 else "us",
            "unit_from": self._unit_from,
            "trailer": self.complete if self._last_bin >= 0 else None,
            "noise_lines": self.noise_lines,
            "first_noise": None
            if self.first_noise is None
            else {"line": self.first_noise.line, "text": self.first_noise.text},
            "missing_rows": self._last_bin + 1 - len(self._row_lines),
            "lanes": [self._told(lane) for lane in range(lanes)],
        }
        asked: dict[str, Any] = {}
        if self.command is not None:
            asked = {"argv": list(self.command.argv), "requested": self.command.requested()}
        elif self._threads:
            asked = {"requested": {"priority": next(iter(self._threads.values()))["priority"]}}
        return {**asked, "import": seen}

    def _told(self, lane: int) -> dict[str, Any]:
        """The tool's own summary of a lane."""
        end, thread = self._end(lane), self._threads.get(lane)
        average = end["avg_ns"]
        if average is None and thread is not None and thread["cycles"]:
            average = thread["avg"] * self._scale_ns
        row = {key: end[key] for key in ("lane", "n", "min_ns", "max_ns")}
        return {**row, "avg_ns": average, "sd_ns": None, "cycles": None if thread is None else thread["cycles"]}

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

    def _summary(self, lane: int) -> HistogramPart | None:
        """The samples of a thread with only minimum, average and maximum: all lie at its minimum or above."""
        import numpy as np

        thread = self._threads.get(lane)
        if thread is None or not thread["cycles"]:
            return None
        nothing = np.zeros(0, dtype=np.int64)
        return HistogramPart(
            lane, nothing, nothing, nothing, over=thread["cycles"], limit_ns=thread["min"] * self._scale_ns
        )

    def _value(self, key: str, lane: int) -> int | None:
        values = self._trailer.get(key, [])
        return values[lane] if lane < len(values) else None

    def _end(self, lane: int) -> dict[str, Any]:
        over = self._value("Histogram Overflows", lane)
        n = (self._value("Total", lane) or 0) + (over or 0)
        if self._whole and self._last_bin >= 0:
            n = sum(self._columns[lane].values() if lane < len(self._columns) else ()) + (over or 0)
        keys = ("Min Latencies", "Avg Latencies", "Max Latencies")
        least, average, most = (self._scaled(key, lane, n) for key in keys)
        thread = self._threads.get(lane)
        if self._whole and self._last_bin < 0:
            over, n, least, average, most = self._of_thread(lane)
        elif self._whole and most is None and thread is not None and thread["cycles"] >= n > 0:
            _, _, least, average, most = self._of_thread(lane)
        none = {"due": None, "missed": None, "dropped": None, "truncated": None, "exceedances": None, "sum_ns": None}
        told = {"over": over if self._whole else over or 0, "min_ns": least, "max_ns": most, "avg_ns": average}
        return {"lane": lane, "n": n, **told, **none}

    def _of_thread(self, lane: int) -> tuple[int, int, int | None, int | None, int | None]:
        thread = self._threads.get(lane)
        if thread is None or not thread["cycles"]:
            return 0, 0, None, None, None
        scale = self._scale_ns
        return (
            thread["cycles"],
            thread["cycles"],
            None if thread["min"] == _NEVER else thread["min"] * scale,
            thread["avg"] * scale,
            thread["max"] * scale,
        )

    def _scaled(self, key: str, lane: int, n: int) -> int | None:
        value = self._value(key, lane)
        if value is None or n == 0 or (key.startswith("Min") and value == _NEVER):
            return None
        return value * self._scale_ns

"""oslat of rt-tests, text and `--json`: a busy loop per CPU that records every gap between two reads of the cycle counter.

Text: one column per CPU.

        Core:    0 1
    Counter Freq:    2000 2000 (Mhz)
        001 (us):    31130571 27917149
        ...
        032 (us):    775 814 (including overflows)
         Minimum:    1 1 (us)
         Average:    1.065 1.072 (us)
         Maximum:    20030 16027 (us)
        Duration:    3.012 3.025 (sec)

The last bucket also counts all longer gaps. So its count becomes `over`, with the limit at its lower edge, unless the maximum
shows that no gap was longer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer
from rtassay.importers.columns import (
    MAX_LANES,
    Column,
    bad,
    contradictions,
    count_of,
    decimal_of,
    document,
    events_of,
    json_object,
    text_lines,
    text_of,
    words_of,
)
from rtassay.importers.times import span
from rtassay.model.events import Event
from rtassay.model.manifest import Source
from rtassay.model.measures import STALL
from rtassay.model.units import NS_PER_S, NS_PER_US

_CAVEATS = (
    "a gap in a busy loop, not wake-up latency: no timer and no wake-up is involved",
    "each turn of the loop is a sample, so probabilities are per turn of some 10 ns, not per activation",
    "bucket k is read as [k, k+1) us, as its label says; rt-tests up to 2.4 puts gaps below 1 us into bucket 1, so values may be 1 us too high, never too low",
)
_STOP = "a -T stop ends oslat at once, without a summary: such a file cannot be imported"
_ROW = re.compile(r"\s*(\d{1,9}(?:\.\d{1,3})?) \(us\):\s")
_LABEL = re.compile(r"\s*(Core|CPU Freq|Counter Freq|Minimum|Average|Maximum|Max-Min|Duration):\s")
_BIAS = re.compile(r"Global bias set to (\d+) \(us\)")
_VERSION = re.compile(r"oslat V (\S{1,40})")
_UNITS = ("(us)", "(sec)", "(Mhz)", "(including", "overflows)")


@dataclass
class _Oslat:
    columns: list[Column]
    width_ns: int
    version: str | None
    duration_s: float | None
    facts: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    caveats: list[str] = field(default_factory=list)


class OslatImporter(Importer):
    """One lane per CPU, measure `stall`. The first byte tells text from JSON; both are one format."""

    name = "oslat"
    lines = True
    summary = "oslat of rt-tests, text and JSON (gaps in a busy loop)"

    def recognises(self, head: bytes) -> bool:
        if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
            return re.search(rb'"cmdline:?"\s*:\s*"[^"]{0,300}\boslat\b', head) is not None
        return (
            re.search(rb"^\s*Core:\s", head, re.M) is not None
            and re.search(rb"^\s*[\d.]+ \(us\):\s", head, re.M) is not None
        )

    def source(self, path: Path) -> Source:
        """The version from the banner or the JSON."""
        return Source("oslat", _read(path).version, self.name)

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with line and column, or with the thread for well-formed JSON."""
        found = _read(path)
        imported: dict[str, Any] = {
            "format": self.name,
            "caveats": [*_CAVEATS, *found.caveats],
            **found.more,
        }
        inconsistent = contradictions(found.columns, found.width_ns)
        if inconsistent:
            imported["inconsistent"] = inconsistent
        duration_ns = None if found.duration_s is None else round(found.duration_s * NS_PER_S)
        yield from events_of(
            found.columns, found.width_ns, found.facts, imported, duration_ns=duration_ns, reason="duration"
        )


def _read(path: Path) -> _Oslat:
    head = document(path)[:64]
    return _from_json(path) if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") else _Text(path).read()


def _settle(column: Column, last_ns: int, width_ns: int) -> None:
    """The last bucket 'including overflows' becomes over, unless the maximum shows that all its samples lie in the bucket."""
    column.limit_ns = last_ns + width_ns
    column.over = 0
    if column.max_ns is None or column.max_ns >= last_ns + width_ns:
        column.over = column.bins.pop(last_ns, 0)
        column.limit_ns = last_ns


class _Text:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.cpus: list[int] = []
        self.rows: list[tuple[int, list[int]]] = []
        self.overflow_row: int | None = None
        self.values: dict[str, list[float]] = {}
        self.version: str | None = None
        self.bias_us: int | None = None
        self.line = 0

    def read(self) -> _Oslat:
        for number, line in text_lines(self.path):
            self.line = number
            self._take(line)
        missing = [key for key in ("Minimum", "Average", "Maximum", "Duration") if key not in self.values]
        if not self.cpus or not self.rows or missing:
            what = "Core:" if not self.cpus else "(us):" if not self.rows else f"{missing[0]}:"
            raise bad(self.path, f"the file ends before its line {what}", line=max(self.line, 1), hint=_STOP)
        return self._finish()

    def _take(self, line: str) -> None:
        if row := _ROW.match(line):
            self._row(line, row)
        elif label := _LABEL.match(line):
            self._labelled(line, label)
        elif bias := _BIAS.search(line):
            self.bias_us = int(bias[1])
        elif version := _VERSION.match(line):
            self.version = version[1]

    def _words(self, line: str, begin: int) -> list[tuple[int, str]]:
        words = [(column + begin, word) for column, word in words_of(line[begin:]) if word not in _UNITS]
        if self.cpus and len(words) != len(self.cpus):
            raise bad(self.path, f"{len(words)} values for {len(self.cpus)} CPUs", line=self.line, column=begin + 1)
        return words

    def _row(self, line: str, row: re.Match[str]) -> None:
        if not self.cpus or "Minimum" in self.values:
            raise bad(self.path, "a bucket outside the table that Core: begins", line=self.line, column=1)
        edge = round(float(row[1]) * NS_PER_US)
        if self.rows and edge <= self.rows[-1][0]:
            raise bad(self.path, f"bucket {row[1]} us after a larger one", line=self.line, column=row.start(1) + 1)
        counts = [count_of(self.path, word, self.line, column) for column, word in self._words(line, row.end())]
        self.rows.append((edge, counts))
        if "including overflows" in line:
            self.overflow_row = edge

    def _labelled(self, line: str, label: re.Match[str]) -> None:
        words = self._words(line, label.end())
        if label[1] == "Core":
            if self.cpus:
                raise bad(self.path, "a second table begins: one file holds one run", line=self.line)
            self.cpus = [count_of(self.path, word, self.line, column, "a CPU") for column, word in words]
            if not 0 < len(set(self.cpus)) == len(self.cpus) <= MAX_LANES or max(self.cpus) > 2**15:
                raise bad(self.path, "no CPU, or one twice", line=self.line)
        elif self.cpus:
            self.values[label[1]] = [decimal_of(self.path, word, self.line, column) for column, word in words]

    def _finish(self) -> _Oslat:
        width_ns = math.gcd(*(edge for edge, _ in self.rows)) or NS_PER_US
        columns = []
        for i, cpu in enumerate(self.cpus):
            column = Column(
                name=f"cpu{cpu}", measure=STALL, cpu=cpu, bins={edge: row[i] for edge, row in self.rows if row[i]}
            )
            column.n = column.binned
            column.max_ns = self._ns("Maximum", i)
            column.min_ns = (
                None if self.bias_us else self._ns("Minimum", i)
            )  # the minimum has no bias, the labels have one
            column.avg_ns = self.values["Average"][i] * NS_PER_US
            if self.overflow_row is not None:
                _settle(column, self.overflow_row, width_ns)
            else:
                column.over, column.limit_ns = 0, self.rows[-1][0] + width_ns
            columns.append(column)
        found = _Oslat(columns, width_ns, self.version, max(self.values["Duration"]))
        if self.overflow_row is None:
            found.caveats.append("no row says (including overflows): printed with -z, the last bucket was empty")
        if self.bias_us:
            found.more["bias_us"] = self.bias_us
            found.caveats.append(
                f"oslat ran with -B: the labels of its buckets are shifted by a bias of {self.bias_us} us"
            )
        return found

    def _ns(self, key: str, i: int) -> int:
        return round(self.values[key][i] * NS_PER_US)


def _from_json(path: Path) -> _Oslat:
    data = json_object(path)
    threads = data.get("thread")
    if not isinstance(threads, dict) or not 0 < len(threads) <= MAX_LANES:
        raise bad(path, "no object 'thread' with one entry per CPU: not a result of oslat --json")
    command = text_of(data.get("cmdline:", data.get("cmdline")), 2000)
    if command is None or "oslat" not in command:
        raise bad(path, "its command line is not oslat's", hint="let the format be recognised (without --format)")
    columns = [_thread(path, str(key), entry, command) for key, entry in threads.items()]
    durations = [entry.get("duration") for entry in threads.values()]
    known = [float(d) for d in durations if isinstance(d, int | float) and not isinstance(d, bool) and 0 < d < 1e9]
    edges = [edge for column in columns for edge in column.bins]
    width_ns = math.gcd(*edges, NS_PER_US)
    last_ns = max([_last_bucket_ns(command, width_ns), *edges])
    for column in columns:
        _settle(column, last_ns, width_ns)
    found = _Oslat(
        columns, width_ns, text_of(data.get("rt_test_version:", data.get("rt_test_version"))), max(known, default=None)
    )
    found.more = span(data.get("start_time"), data.get("end_time"))
    found.facts = {"argv": command.split(), **_system(data.get("sysinfo"))}
    return found


def _last_bucket_ns(command: str, width_ns: int) -> int:
    """The lower edge of the last bucket: from `-b`, 32 by default. The JSON does not mark it."""
    stated = re.search(r"(?:\s-b\s*|\s--bucket-size[= ])(\d{1,5})\b", command)
    return (int(stated[1]) if stated else 32) * width_ns


def _thread(path: Path, key: str, entry: Any, command: str) -> Column:
    histogram = entry.get("histogram") if isinstance(entry, dict) else None
    if not isinstance(histogram, dict) or not histogram:
        raise bad(path, f"thread {key[:20]} has no histogram")
    cpu = entry.get("cpu")
    if isinstance(cpu, bool) or not isinstance(cpu, int) or not 0 <= cpu < 2**15:
        raise bad(path, f"thread {key[:20]} has no CPU")
    column = Column(name=f"cpu{cpu}", measure=STALL, cpu=cpu)
    for label, count in histogram.items():
        edge = round(decimal_of(path, str(label), None, None, f"a bucket of thread {key[:20]}") * NS_PER_US)
        if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**62 or not 0 <= edge < 2**50:
            raise bad(path, f"thread {key[:20]}: bucket {str(label)[:20]} has no count")
        column.bins[edge] = column.bins.get(edge, 0) + count
    column.n = column.binned
    scaled = [_us(entry.get(name)) for name in ("min", "max", "avg")]
    column.min_ns, column.max_ns = (None if value is None else round(value) for value in scaled[:2])
    column.avg_ns = scaled[2]
    return column


def _us(value: Any) -> float | None:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
    return float(value) * NS_PER_US if good else None


def _system(sysinfo: Any) -> dict[str, Any]:
    if not isinstance(sysinfo, dict):
        return {}
    kernel = {key: text for key in ("release", "version", "machine") if (text := text_of(sysinfo.get(key)))}
    return {"kernel": kernel} if kernel else {}

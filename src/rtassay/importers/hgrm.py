"""HdrHistogram's percentile text (`.hgrm`): HdrHistogram itself, wrk2, and many that print its table.

           Value     Percentile TotalCount 1/(1-Percentile)

           4.167 0.000000000000          1           1.00
           7.779 0.100000000000       2005           1.11
        3700.735 1.000000000000      20002
    #[Mean    =       12.245, StdDeviation   =    27763.685]
    #[Max     =     3700.735, TotalCount     =    20002.000]

The table has no counts per value, but TotalCount rises by them from row to row: we place every sample between two rows at the
upper one. So a latency is never too low, and at most too high by the distance of two rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer
from rtassay.importers.columns import Column, bad, contradictions, count_of, decimal_of, events_of, text_lines, words_of
from rtassay.model.errors import UsageError
from rtassay.model.events import Event
from rtassay.model.manifest import Source
from rtassay.model.measures import UNKNOWN, parse_measure
from rtassay.model.units import NS_PER_MS, NS_PER_S, NS_PER_US

UNITS = {"ns": 1, "us": NS_PER_US, "ms": NS_PER_MS, "s": NS_PER_S}
_HEADER = re.compile(r'\s*"?Value"?[\s,]+"?Percentile"?[\s,]+"?TotalCount"?', re.I)
_MEAN = re.compile(r"#\[Mean\s*=\s*([^,\]]+)")
_MAX = re.compile(r"#\[Max\s*=\s*([^,\]]+),\s*Total ?count\s*=\s*([^,\]]+)\]", re.I)
_ROWS_MAX = 1 << 20


class HgrmImporter(Importer):
    """One lane. The file names neither its unit nor its measure: `unit` (`--unit`) is required, `measure` (`--measure`) is optional."""

    name = "hgrm"
    lines = True
    summary = "percentile text of HdrHistogram (.hgrm); needs --unit, takes --measure"

    def __init__(self, unit: str | None = None, measure: str = UNKNOWN) -> None:
        """Raises UsageError for a unit other than ns, us, ms, s, and for a measure that is none of `model.measures`."""
        if unit is not None and unit not in UNITS:
            raise UsageError(f"there is no unit '{unit}'", hint=f"known: {', '.join(UNITS)}")
        self.unit = unit
        self.measure = parse_measure(measure)

    def recognises(self, head: bytes) -> bool:
        return any(_HEADER.match(line.decode("utf-8", "replace")) for line in head.splitlines())

    def source(self, path: Path) -> Source:
        """The file does not name the tool that recorded it."""
        for _ in text_lines(path):
            break
        return Source("HdrHistogram", None, self.name)

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with line and column, and without a unit."""
        table = _Table(path)
        if self.unit is None:
            raise bad(path, "the unit of its values is not in the file", hint="say it with --unit us (ns, us, ms, s)")
        column, step_ns, widest = table.column(UNITS[self.unit], self.measure)
        caveats = [
            "samples between two rows of the table are placed at the upper one: latencies are never too low, "
            f"and too high by up to {widest:.0%} of their value",
            "HdrHistogram itself rounds up to its significant digits",
            "values above its highest trackable one are refused and not counted in the file",
            "whether latencies were corrected for coordinated omission is not in the file",
        ]
        imported: dict[str, Any] = {"format": self.name, "caveats": caveats, "unit": self.unit, "unit_from": "option"}
        if table.mean is not None:  # the mean of exact values lies below that of the bins, so it cannot check them
            imported["mean_ns"] = table.mean * UNITS[self.unit]
        inconsistent = contradictions([column], step_ns)
        if column.n is not None and column.n != column.binned:
            inconsistent.append(f"TotalCount of its end is {column.n}, the last row's {column.binned}")
        if (
            table.mean is not None
            and column.max_ns is not None
            and table.mean * UNITS[self.unit] > column.max_ns + step_ns
        ):
            inconsistent.append(f"Mean is {table.mean:g} {self.unit}, above the maximum of {column.max_ns} ns")
        if inconsistent:
            imported["inconsistent"] = inconsistent
        yield from events_of([column], step_ns, {}, imported)


class _Table:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[tuple[float, int]] = []
        self.decimals = 0
        self.mean: float | None = None
        self.max: tuple[float, int] | None = None
        headed = False
        line = 0
        for line, text in text_lines(path):
            if _HEADER.match(text):
                if headed:
                    raise bad(
                        path, "a second table begins: one file holds one histogram", line=line, hint="split the file"
                    )
                headed = True
            elif headed:
                if self.max is not None and not text.startswith("#"):
                    break  # wrk2 prints other text after its table
                self._take(line, text)
        if not headed or not self.rows:
            raise bad(path, "no table 'Value Percentile TotalCount' with rows in it", line=max(line, 1))
        if self.max is None:
            raise bad(path, "the file ends before its line #[Max", line=line, hint="ask for the whole file")

    def _take(self, line: int, text: str) -> None:
        words = words_of(text.replace(",", " ")) if not text.startswith("#") else []
        if text.startswith("#[Mean") and (mean := _MEAN.match(text)):
            word = mean[1].strip()
            self.mean = None if "nan" in word.lower() else decimal_of(self.path, word, line, mean.start(1) + 1)
        elif text.startswith("#[Max"):
            self._end(line, text)
        elif words:
            self._row(line, words)

    def _row(self, line: int, words: list[tuple[int, str]]) -> None:
        if not 3 <= len(words) <= 4 or len(self.rows) >= _ROWS_MAX:
            raise bad(
                self.path, f"{len(words)} values where three or four were expected", line=line, column=words[0][0]
            )
        (at, value), (_, share), (place, total), *_ = words
        number = decimal_of(self.path, value, line, at)
        if not 0 <= decimal_of(self.path, share, line, words[1][0]) <= 1:
            raise bad(self.path, f"the percentile '{share[:40]}' is not in 0..1", line=line, column=words[1][0])
        count = count_of(self.path, total, line, place)
        if self.rows and (number < self.rows[-1][0] or count < self.rows[-1][1]):
            raise bad(self.path, "value or TotalCount goes down from the row before", line=line, column=at)
        if number < 0:
            raise bad(self.path, "a value below 0", line=line, column=at)
        self.decimals = max(self.decimals, len(value.partition(".")[2]))
        self.rows.append((number, count))

    def _end(self, line: int, text: str) -> None:
        match = _MAX.match(text)
        if match is None:
            raise bad(self.path, "not of the form #[Max = VALUE, Total count = COUNT]", line=line, column=1)
        total = decimal_of(self.path, match[2].strip(), line, match.start(2) + 1)
        if not total.is_integer() or not 0 <= total < 2**62:
            raise bad(self.path, f"'{match[2].strip()[:40]}' is not a count", line=line, column=match.start(2) + 1)
        self.max = decimal_of(self.path, match[1].strip(), line, match.start(1) + 1), int(total)

    def column(self, unit_ns: int, measure: str) -> tuple[Column, int, float]:
        """The lane, the step of the printed values in ns, and the largest gap of two rows as a share of the upper value."""
        if max(self.rows[-1][0], self.max[0] if self.max else 0.0) * unit_ns >= 2**61:
            raise bad(self.path, "values too large for a time in ns", hint="is the unit right?")
        assert self.max is not None
        column = Column(name="all", measure=measure, n=self.max[1], max_ns=round(self.max[0] * unit_ns))
        before, widest, last = 0, 0.0, 0.0
        for value, total in self.rows:
            if total > before:
                edge = round(value * unit_ns)
                column.bins[edge] = column.bins.get(edge, 0) + total - before
                if before and value > 0:
                    widest = max(widest, (value - last) / value)
                before = total
            last = value
        step_ns = max(1, unit_ns // 10**self.decimals)
        top = max(column.bins, default=0)
        if 0 < top - (column.max_ns or 0) <= step_ns:
            column.max_ns = top  # the print rounds the maximum
        column.limit_ns = round(self.rows[-1][0] * unit_ns) + 1
        return column, step_ns, widest

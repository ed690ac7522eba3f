"""The text of `rtla timerlat hist` and `rtla osnoise hist`; both have one shape.

    # RTLA timerlat histogram
    # Time unit is microseconds (us)
    # Duration:   0 00:10:00
    Index   IRQ-000   Thr-000   Usr-000   IRQ-001 ...
    0        276489         0         0    206089
    over:         0 ...
    count:   600002 ...
    min: avg: max:                      the same columns
    ALL:        IRQ       Thr       Usr  newer versions: all CPUs together; then count, min, avg, max again

Rows with only zeros are left out, and CPUs without data have no column. With `--no-summary` the text ends after `over:`.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path

from rtassay.importers.columns import (
    MAX_LANES,
    Column,
    bad,
    count_of,
    decimal_of,
    text_lines,
    words_of,
)
from rtassay.model.errors import InputFileError
from rtassay.model.measures import NOISE, TIMER_IRQ, TIMER_THREAD, TIMER_USER
from rtassay.model.units import NS_PER_S

_TITLE = re.compile(r"# RTLA (timerlat|osnoise) histogram\s*$")
_UNIT = re.compile(r"# Time unit is \w+ \((us|ns)\)")
_DURATION = re.compile(r"# Duration:\s+(\d{1,6}) (\d\d):(\d\d):(\d\d)")
_HEADER = re.compile(r"(IRQ|Thr|Usr|CPU)-(\d{3,5})")
_SUMMARY = ("count", "min", "avg", "max")
_SCALE = {"us": 1000, "ns": 1}
_MISSED = re.compile(r"(miss|lost|not be accurate|invalid)", re.I)
_STOPPED = re.compile(r"## CPU \d+ hit stop tracing|rtla (timerlat|osnoise) hit stop tracing", re.I)
# First part of a column's name -> (end of the lane's name, measure).
_COLUMNS = {
    "IRQ": (" irq", TIMER_IRQ),
    "Thr": (" thread", TIMER_THREAD),
    "Usr": (" user", TIMER_USER),
    "CPU": ("", NOISE),
}


@dataclass
class RtlaText:
    """The content of such a file, in ns. `columns` are in the order of the file."""

    tool: str
    columns: list[Column]
    width_ns: int
    duration_ns: int | None = None
    summary: bool = False
    stopped: bool = False
    remarks: list[str] = field(default_factory=list)
    inconsistent: list[str] = field(default_factory=list)
    width_told: bool = True


def is_rtla(head: bytes, tool: str) -> bool:
    """Whether the first bytes hold the title of this tool's histogram, perhaps after a prompt or other lines."""
    return f"# RTLA {tool} histogram".encode() in head and re.search(rb"^\s*Index\b", head, re.M) is not None


def read_rtla(path: Path, tool: str) -> RtlaText:
    """The whole file. Raises InputFileError with line and column for what is malformed, cut off or another tool's."""
    return _Reader(path, tool).read()


class _Reader:
    def __init__(self, path: Path, tool: str) -> None:
        self.path = path
        self.tool = tool
        self.kinds: list[str] = []
        self.scale = 0
        self.rows: list[tuple[int, list[int]]] = []
        self.over: list[int] | None = None
        self.summary: dict[str, list[float | None]] = {}
        self.all_kinds: list[str] | None = None
        self.all_rows: dict[str, list[float | None]] = {}
        self.found = RtlaText(tool, [], 1)
        self.titled = False
        self.headed = False
        self.line = 0

    def read(self) -> RtlaText:
        for number, line in text_lines(self.path):
            self.line = number
            self._take(line)
        self._check_whole()
        self._fill()
        return self.found

    def _take(self, line: str) -> None:
        words = words_of(line)
        if not words:
            return
        first = words[0][1]
        if title := _TITLE.search(line):
            self._begin(title[1])
        elif not self.titled:
            return  # a prompt or a banner
        elif first == "#":
            self._comment(line)
        elif first == "Index" and not self.headed:
            self._header(words)
        elif first.isdigit() and self.over is None:
            self._row(words)
        elif first == "over:" and self.headed and self.over is None:
            self.over = [self._count(*word) for word in self._of_columns(words)]
        elif first == "ALL:":
            self.all_kinds = [word for _, word in words[1:]]
        elif first.endswith(":") and first[:-1] in _SUMMARY and self.over is not None:
            self._summary(first[:-1], words)
        elif self.over is None and self.headed:
            raise bad(
                self.path, f"'{first[:40]}' where a row or over: was expected", line=self.line, column=words[0][0]
            )
        else:
            self._remark(line)

    def _begin(self, tool: str) -> None:
        if self.titled:
            raise bad(
                self.path, "a second histogram begins: one file holds one run", line=self.line, hint="split the file"
            )
        if tool != self.tool:
            raise bad(self.path, f"this is a histogram of rtla {tool}", line=self.line, hint=f"--format rtla-{tool}")
        self.titled = True

    def _comment(self, line: str) -> None:
        if unit := _UNIT.match(line):
            self.scale = _SCALE[unit[1]]
        elif time := _DURATION.match(line):
            days, hours, minutes, seconds = (int(word) for word in time.groups())
            self.found.duration_ns = (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * NS_PER_S

    def _header(self, words: list[tuple[int, str]]) -> None:
        self.headed = True
        names = set()
        for column, word in words[1:]:
            match = _HEADER.fullmatch(word)
            if match is None or (match[1] == "CPU") != (self.tool == "osnoise") or word in names:
                raise bad(
                    self.path, f"'{word[:40]}' is not a column of rtla {self.tool}", line=self.line, column=column
                )
            names.add(word)
            kind, cpu = match[1], int(match[2])
            suffix, measure = _COLUMNS[kind]
            self.kinds.append(kind)
            self.found.columns.append(Column(name=f"cpu{cpu}{suffix}", cpu=cpu, measure=measure))
        if not self.kinds or len(self.kinds) > MAX_LANES:
            why = "no CPU has a column: rtla saw not one sample" if not self.kinds else "more than 4096 columns"
            raise bad(self.path, why, line=self.line)
        if not self.scale:
            raise bad(self.path, "no line tells the time unit", line=self.line)

    def _of_columns(self, words: list[tuple[int, str]]) -> list[tuple[int, str]]:
        """The words after the label, one for each column."""
        if len(words) - 1 != len(self.kinds):
            why = f"{len(words) - 1} values for {len(self.kinds)} columns"
            raise bad(self.path, why, line=self.line, column=words[-1][0])
        return words[1:]

    def _count(self, column: int, word: str) -> int:
        return count_of(self.path, word, self.line, column)

    def _row(self, words: list[tuple[int, str]]) -> None:
        if not self.headed:
            raise bad(self.path, "a row before the line Index: the columns are not named", line=self.line, column=1)
        index = self._count(*words[0])
        if self.rows and index <= self.rows[-1][0]:
            raise bad(self.path, f"row {index} after row {self.rows[-1][0]}", line=self.line, column=words[0][0])
        self.rows.append((index, [self._count(*word) for word in self._of_columns(words)]))

    def _summary(self, key: str, words: list[tuple[int, str]]) -> None:
        values = words[1:] if self.all_kinds is not None else self._of_columns(words)
        target = self.summary if self.all_kinds is None else self.all_rows
        if key in target:
            raise bad(self.path, f"a second line {key}:", line=self.line, column=words[0][0])
        if self.all_kinds is not None and len(values) != len(self.all_kinds):
            raise bad(self.path, f"{len(values)} values for {len(self.all_kinds)} columns", line=self.line)
        read = self._count if key == "count" else self._number
        target[key] = [None if word == "-" and key != "count" else read(column, word) for column, word in values]

    def _number(self, column: int, word: str) -> float:
        return decimal_of(self.path, word, self.line, column)

    def _remark(self, line: str) -> None:
        if _STOPPED.search(line):
            self.found.stopped = True
        if _MISSED.search(line) and len(self.found.remarks) < 10:
            self.found.remarks.append(" ".join(line.split())[:200])

    def _check_whole(self) -> None:
        if not self.titled or not self.headed:
            raise bad(self.path, f"no histogram of rtla {self.tool} in it", line=max(self.line, 1))
        if self.over is None:
            raise bad(self.path, "the file ends before its line over:", line=self.line, hint="ask for the whole file")
        for rows in (self.summary, self.all_rows):
            missing = [key for key in _SUMMARY if key not in rows]
            if missing and (rows or (rows is self.all_rows and self.all_kinds is not None)):
                raise bad(self.path, f"the file ends before its line {missing[0]}:", line=self.line)

    def _fill(self) -> None:
        found, width = self.found, math.gcd(*(index for index, _ in self.rows), 0)
        if not width:
            # One row at most, at 0: it does not show the size of a bucket.
            found.width_told, width = False, 1
        if width > 2**31 // self.scale or (self.rows and self.rows[-1][0] * self.scale >= 2**61):
            raise bad(self.path, f"buckets of {width} units, up to {self.rows[-1][0]}", line=self.line)
        found.width_ns = width * self.scale
        found.summary = bool(self.summary)
        assert self.over is not None
        for i, column in enumerate(found.columns):
            column.bins = {index * self.scale: row[i] for index, row in self.rows if row[i]}
            column.over = self.over[i]
            column.limit_ns = (self.rows[-1][0] + width) * self.scale if self.rows else 0
            self._summary_of(i, column)
        self._compare_all()

    def _summary_of(self, i: int, column: Column) -> None:
        if not self.summary:
            return
        count = self.summary["count"][i]
        column.n = None if count is None else int(count)
        column.min_ns, column.max_ns = self._scaled("min", i), self._scaled("max", i)
        average = self.summary["avg"][i]
        column.avg_ns = None if average is None or not column.n else average * self.scale
        if column.n is not None and column.n != column.binned + (column.over or 0):
            held = column.binned + (column.over or 0)
            self.found.inconsistent.append(
                f"{column.name}: its rows and over: hold {held} samples, count: says {column.n}"
            )

    def _scaled(self, key: str, i: int) -> int | None:
        value = self.summary[key][i]
        if value is None or not self.summary["count"][i]:
            return None
        if value >= 2**62 // self.scale:
            # Some versions print an unset minimum as ~0.
            return None
        return int(value * self.scale)

    def _compare_all(self) -> None:
        """Check the columns against the block ALL:."""
        for place, kind in enumerate(self.all_kinds or ()):
            of_kind = [i for i, known in enumerate(self.kinds) if known == kind]
            counts = [self.summary["count"][i] or 0 for i in of_kind] if self.summary else []
            stated = self.all_rows["count"][place]
            if counts and stated != sum(counts):
                self.found.inconsistent.append(
                    f"ALL: counts {stated:.0f} of {kind}, the columns add up to {sum(counts):.0f}"
                )
            highest = [value for i in of_kind if (value := self.summary["max"][i]) is not None] if self.summary else []
            top = self.all_rows["max"][place]
            if highest and top is not None and top != max(highest):
                self.found.inconsistent.append(
                    f"ALL: has a maximum of {top:g} for {kind}, the columns {max(highest):g}"
                )


def nothing_measured(path: Path) -> InputFileError:
    """A whole file without one sample."""
    return bad(path, "there is not one sample in it")

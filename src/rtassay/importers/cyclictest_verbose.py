"""cyclictest -v: every sample in order, `thread:cycle:value`, between a prelude and, with -q or -h, a summary.

Traps: the samples pass through a ring of 16384 entries per thread, which an ordinary thread empties: under load new samples
silently overwrite old ones, and samples in the ring at the end are never printed; `-o N` prints only the largest of each N; the
prelude shows the interval of the *next* thread; a latency of 0 has the cycle number of the row before.
`dropped` are the cycles that the file counts and does not show.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.importers.base import Importer, blocks
from rtassay.importers.cyclictest import checked_unit, refuse
from rtassay.importers.versions import late_policy
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, Note, Samples
from rtassay.model.files import open_regular
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US
from rtassay.probes.cyclictest_text import CyclictestText, Malformed

if TYPE_CHECKING:
    from rtassay.importers.verbose_rows import RowParser

_ROW = re.compile(rb"(?:^|[\s\]>])(\d{1,4}): *(\d{1,15}): *(-?\d{1,15})(?: +\d+)? *\r?$")
_LIKE_A_ROW = re.compile(rb"^(?=.*:)(?=.*\d)[ \d:-]*(?:[^ \d:\r-][ \d:-]*){0,2}\r?$")
# Fields of eight columns, as cyclictest pads them: a line that ends with a time of day (12:34:56) is none.
_HEAD_ROW = re.compile(
    rb"^(?:.*[\s\]>])? *\d{1,4}:(?: +\d{1,7}|\d{8,15}):(?: +-?\d{1,7}|-?\d{7,15})(?: +\d+)? *\r?$", re.MULTILINE
)
_INTERVAL = re.compile(rb"Thread (\d{1,4}) Interval: (\d{1,12})\s*$")
_HEAD = 64 * 1024
_TAIL = 64 * 1024
_LANES_MOST = 4096
_JUMP_MOST = 10**10
_VALUE_MOST = 10**15
_ROW_LEAST = 15
_MANY_ROWS = 1000
_LINES_MOST = 1 << 16
_ROW_BYTES = 26  # of %8d:%8d:%8d
_LINE_MOST = 1 << 20
_TOO_FAST_NS = 100
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "truncated", "exceedances", "sum_ns"))


class CyclictestVerboseImporter(Importer):
    """A stream of samples in constant memory."""

    name = "cyclictest-verbose"
    lines = True
    summary = "stream of cyclictest -v: thread:cycle:value"

    def __init__(self, unit: str | None = None) -> None:
        """`unit`: ns for a file made with -N, else us; None: the content decides. Raises UsageError for another unit."""
        self.unit = checked_unit(unit)

    def recognises(self, head: bytes) -> bool:
        return len(_HEAD_ROW.findall(head[:_HEAD])) >= 2

    def source(self, path: Path) -> Source:
        version = _text_around(path).version
        return Source("cyclictest", version, self.name, late_policy("cyclictest", version))

    def read(self, path: Path) -> Iterator[Event]:
        """Samples as they come. FACTS need the summary at the end of the file, so they come last but one."""
        from rtassay.importers import verbose_rows

        known = {None: None, "ns": (1, "option"), "us": (NS_PER_US, "option")}[self.unit]
        reader = _Reader(path, known or _unit_of(path))
        held, number = b"", 1
        for block in blocks(path, verbose_rows.CHUNK_ROWS * verbose_rows.ROW_BYTES, self.progress):
            begin = block.find(b"\n") + 1
            cut = block.rfind(b"\n") + 1
            if held and begin:
                # copy only the line that lies across two blocks
                yield from reader.take(held + block[:begin], number)
                number, held = reader.next_line, b""
            else:
                begin = 0
            if cut > begin:
                yield from reader.take(block[:cut] if cut < len(block) else block, number, begin)
                number = reader.next_line
            held += block[cut:]
            if len(held) > _LINE_MOST:
                refuse(path, Malformed(number, "a line of more than 1 MiB", ""))
        if held:
            if _ROW.search(held) and len(held.rstrip(b"\r")) < _ROW_BYTES:
                refuse(
                    path, Malformed(number, "the file ends in the middle of this row", held.decode(errors="replace"))
                )
            yield from reader.take(held, number)
        yield from reader.finish()


def rows_of(
    parser: RowParser, data: bytes, number: int, start: int = 0
) -> Iterator[tuple[Any, int] | tuple[bytes, int]]:
    """The rows of whole lines as `Rows`, and every other line as bytes, each with the number of its (first) line."""
    at, found, patience = start, 0, 1
    while at < len(data):
        rows = parser.parse(data, at)
        if rows.used:
            yield rows, number
            at, number, found = at + rows.used, number + len(rows), found + len(rows)
            continue
        # If few lines are rows, a search for many rows at once after each line costs too much.
        patience, found = 1 if found >= _MANY_ROWS else min(2 * patience, _LINES_MOST), 0
        for _ in range(patience):
            if at >= len(data):
                break
            end = data.find(b"\n", at)
            end = len(data) if end < 0 else end
            yield data[at:end], number
            at, number = end + 1, number + 1


@dataclass(slots=True)
class _Lane:
    """The state of a thread so far."""

    n: int = 0
    next_k: int = 0
    last_cycle: int = -1
    last_printed: int = -1
    first_cycle: int = -1
    dropped: int = 0
    gaps: int = 0
    duplicates: int = 0
    backwards: int = 0
    widest: int = 0
    max_ns: int | None = None
    min_ns: int | None = None

    @property
    def reduced(self) -> int | None:
        """N of -o: one row out of each N cycles, at any place among them."""
        span = self.last_cycle - self.first_cycle
        each = round(span / (self.n - 1)) if self.n > 2 else 1
        regular = self.gaps > self.n // 2 and self.widest < 2 * each and not self.backwards
        return each if each > 1 and regular else None


class _Reader:
    """Turns rows into samples per thread and everything else into a summary."""

    def __init__(self, path: Path, unit: tuple[int, str]) -> None:
        from rtassay.importers.verbose_rows import RowParser

        self.next_line = 1
        self._parser = RowParser()
        self._path = path
        self._scale_ns, self._unit_from = unit
        self._lanes: dict[int, _Lane] = {}
        self._text = CyclictestText(whole=True)
        self._printed_us: dict[int, int] = {}

    def take(self, data: bytes, number: int, start: int = 0) -> Iterator[Samples]:
        """Samples of whole lines from `start` on, the first of which has this number."""
        import numpy as np

        for found, line in rows_of(self._parser, data, number, start):
            if isinstance(found, bytes):
                self.next_line = line + 1
                row = self._other(found, line)
                if row is not None:
                    yield self._samples(row[0], np.array([row[1]]), np.array([row[2]]), line, np.zeros(1, np.int64))
                continue
            self.next_line = line + len(found)
            for lane, mine in found.by_lane():
                cycle, value = (column[mine].astype(np.int64) for column in (found.cycle, found.value))
                yield self._samples(lane, cycle, value, line, mine)

    def _other(self, raw: bytes, line: int) -> tuple[int, int, int] | None:
        """A line that is no plain row: a row after a prefix, the prelude, the summary, or noise."""
        if row := _ROW.search(raw):
            return int(row[1]), int(row[2]), int(row[3])
        if _LIKE_A_ROW.match(raw) and len(raw) >= _ROW_LEAST:
            text = raw[:200].decode(errors="replace").strip()
            refuse(self._path, Malformed(line, "a row of cyclictest -v that is cut or damaged", text))
        if interval := _INTERVAL.search(raw):
            self._printed_us[int(interval[1])] = int(interval[2])
        self._text.line(raw, line)
        return None

    def _samples(self, number: int, cycle: Any, value: Any, line: int, rows: Any) -> Samples:
        """The rows of one thread (int64); `rows` are their line numbers from `line` on."""
        import numpy as np

        if number >= _LANES_MOST:
            self._refuse(line + int(rows[0]), f"thread {number}")
        low, high = int(value.min()), int(value.max())
        if low < -_VALUE_MOST or high > _VALUE_MOST or int(cycle.max()) > 2**53:
            wrong = (np.abs(value) > _VALUE_MOST) | (cycle > 2**53)
            self._refuse(line + int(rows[np.argmax(wrong)]), "a number that is too large")
        lane = self._lanes.setdefault(number, _Lane())
        printed = int(cycle[-1])
        cycle = _of_zeros(lane, cycle, value) if low <= 0 else cycle
        steps = np.diff(cycle, prepend=lane.last_cycle)
        narrowest, widest = int(steps.min()), int(steps.max())
        if widest > _JUMP_MOST:
            where = line + int(rows[np.argmax(steps)])
            self._refuse(where, f"the cycles of thread {number} jump by {widest}")
        if lane.n:
            lane.widest = max(lane.widest, widest)
        elif len(steps) > 1:
            lane.widest = int(steps[1:].max())
        lane.first_cycle = int(cycle[0]) if lane.n == 0 else lane.first_cycle
        gap, dropped = max(0, int(steps[0]) - 1), np.zeros(len(steps), np.int64)
        if widest > 1:
            dropped[:-1] = np.maximum(steps[1:] - 1, 0)
            lane.gaps += int((steps > 1).sum())
        if narrowest < 1:
            lane.duplicates += int((steps == 0).sum())
            lane.backwards += int((steps < 0).sum())
        lane.last_cycle, lane.last_printed = int(cycle[-1]), printed
        low, high = low * self._scale_ns, high * self._scale_ns
        lane.min_ns = low if lane.min_ns is None else min(lane.min_ns, low)
        lane.max_ns = high if lane.max_ns is None else max(lane.max_ns, high)
        first_k, lost = lane.next_k + gap, int(dropped.sum())
        lane.n += len(value)
        lane.dropped += gap + lost
        lane.next_k = first_k + len(value) + lost
        none = np.zeros(len(value), np.int64)
        return Samples(number, first_k, value * self._scale_ns, none, dropped, gap_dropped=gap)

    def finish(self) -> Iterator[Event]:
        """Samples that the summary counts but no row shows, then FACTS and END."""
        import numpy as np

        summary = self._text.finish()
        refuse(self._path, self._text.broken)
        if not self._lanes:
            raise InputFileError(f"{self._path} holds no measurement", "there is not one row thread:cycle:value in it")
        undrained = {number: self._undrained(number, lane) for number, lane in self._lanes.items()}
        nothing = np.zeros(0, np.int64)
        for number, count in undrained.items():
            if count:
                lane = self._lanes[number]
                lane.dropped += count
                yield Samples(number, lane.next_k, nothing, nothing, nothing, gap_dropped=count)
        facts = summary[0]
        assert isinstance(facts, Facts)
        yield Facts(self._facts(facts.data, undrained))
        yield from (event for event in summary if isinstance(event, Note))
        yield End({"lanes": [self._end(number) for number in sorted(self._lanes)]})

    def _undrained(self, number: int, lane: _Lane) -> int:
        """Cycles that the summary counts and no row shows: they stayed in the ring."""
        counted = self._text.summary_of(number)["n"]
        return max(0, (counted or 0) - lane.n - lane.dropped)

    def _interval_ns(self, number: int) -> int | None:
        """The interval from the line of the thread, else from the command, else from the prelude, which shows that of the next thread."""
        thread = self._text.threads.get(number)
        if thread is not None:
            return thread["interval"] * NS_PER_US or None
        if self._text.command is not None:
            return self._text.command.interval_ns(number)
        printed = self._printed_us
        if len(printed) < 2 or number not in printed:
            return None  # a single thread does not show how much was added
        other = number + 1 if number + 1 in printed else number - 1
        if other not in printed:
            return None
        step = abs(printed[other] - printed[number])
        return max(0, printed[number] - step) * NS_PER_US or None

    def _facts(self, text: dict[str, Any], undrained: dict[int, int]) -> dict[str, Any]:
        numbers = sorted(self._lanes)
        lanes = [
            {
                "lane": number,
                "name": str(number),
                "measure": WAKE_UP,
                "cpu": None,
                "tid": self._text.threads.get(number, {}).get("tid"),
                "interval_ns": self._interval_ns(number),
            }
            for number in numbers
        ]
        told = {
            **text["import"],
            "kind": "stream",
            "unit": "ns" if self._scale_ns == 1 else "us",
            "unit_from": self._unit_from,
            "trailer": None,
            "missing_rows": None,
            "lanes": [self._told(number) for number in numbers],
            "stream": [self._stream(number, undrained[number]) for number in numbers],
        }
        return text | {"bin_width_ns": self._scale_ns, "lanes": lanes, "import": told}

    def _told(self, number: int) -> dict[str, Any]:
        row = self._text.summary_of(number)
        scaled = {f"{key}_ns": None if row[key] is None else row[key] * self._scale_ns for key in ("min", "avg", "max")}  # type: ignore[operator]
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
            "reduced": lane.reduced,
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

    def _refuse(self, line: int, why: str) -> None:
        refuse(self._path, Malformed(line, why, ""))


def _of_zeros(lane: _Lane, cycle: Any, value: Any) -> Any:
    """Corrected cycles: for a latency of 0 cyclictest prints the cycle of the row before."""
    import numpy as np

    before = np.concatenate([[lane.last_printed], cycle[:-1]])
    repeated = np.flatnonzero((cycle == before) & (value == 0))
    if not len(repeated):
        return cycle
    cycle = cycle.copy()
    for at in repeated.tolist():
        cycle[at] = (cycle[at - 1] if at else lane.last_cycle) + 1
    return cycle


def _unit_of(path: Path) -> tuple[int, str]:
    """(1 or 1000, source of that). No row shows -N, so the values at the beginning of the file decide."""
    from rtassay.importers import verbose_rows

    text, values, typical_us = _text_around(path), [], None
    head = next(blocks(path, _HEAD), b"")
    for found, _ in rows_of(verbose_rows.RowParser(), head[: head.rfind(b"\n") + 1], 1):
        if isinstance(found, verbose_rows.Rows):
            values += found.value.tolist()
        elif interval := _INTERVAL.search(found):
            typical_us = max(typical_us or 0, int(interval[2]))
    if text.command is not None:
        return (1 if text.command.nanoseconds else NS_PER_US), "command line"
    if values and 0 < min(values) < _TOO_FAST_NS:
        return NS_PER_US, "values"
    if len(values) >= _TOO_FAST_NS and typical_us is not None and sorted(values)[len(values) // 2] >= typical_us:
        return 1, "values"
    return NS_PER_US, "assumed"


def _text_around(path: Path) -> CyclictestText:
    """The text around the rows at the beginning and the end of the file."""
    head = next(blocks(path, _HEAD), b"")
    try:
        with open_regular(path) as file:
            file.seek(max(len(head), path.stat().st_size - _TAIL))
            tail = file.read(_TAIL)
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error
    text = CyclictestText(whole=True)
    for line in head.split(b"\n") + tail.split(b"\n"):
        if not _ROW.search(line):
            text.line(line, 0)
    return text

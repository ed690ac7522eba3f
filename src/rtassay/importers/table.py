"""Plain CSV: one latency a row, in a named column with a unit. Streaming: memory does not grow with the file."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.columns import MAX_LINE, bad, unreadable
from rtassay.importers.samples import NamedColumn, SampleLanes, column_unit, unit_ns
from rtassay.model.errors import InputFileError
from rtassay.model.events import Event

_BLOCK = 1 << 16
_DELIMITERS = ",;\t"
# The fast way reads only fields of these characters: no exponent, no nan, no blank.
_OF_NUMBERS = str.maketrans("", "", "0123456789.-")
_EXACT = 2**50
_VALUE = re.compile(r"\s*([+-]?)(\d{1,18})?(?:\.(\d{0,18}))?(?:[eE]([+-]?\d{1,2}))?\s*")


class TableImporter(NamedColumn):
    """The values of the lane column are the lanes; without one there is a single lane `all`.

    `column`: name of the column, or its number from 1; None: the only one whose name ends in a unit (`latency_us`). `unit`: ns, us,
    ms or s; None: from that name. `lane_column`: name or number. `measure`: what the numbers are. Raises UsageError for an unknown unit.
    """

    name = "table"
    lines = True
    summary = "CSV with one latency a row; --column, --unit, --lane-column, --measure"

    def recognises(self, head: bytes) -> bool:
        """Whether the first line names exactly one column with a latency and its unit."""
        first = next((line for line in head.splitlines() if line.strip() and not line.startswith(b"#")), b"")
        try:
            text = first.decode("utf-8-sig")
        except UnicodeDecodeError:
            return False
        names = [name.strip().strip('"') for name in text.split(_delimiter(text))]
        return sum(column_unit(name) is not None for name in names) == 1

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with line and column of the first value that is no latency."""
        try:
            with path.open(encoding="utf-8-sig", newline="", errors="strict") as file:
                yield from _Rows(path, self).events(_guarded(path, file))
        except OSError as error:
            raise unreadable(path, error) from error
        except UnicodeDecodeError as error:
            raise bad(path, f"not UTF-8: {error.reason}") from error
        except csv.Error as error:
            raise bad(path, f"not CSV: {error}") from error


def _guarded(path: Path, file: Any) -> Iterator[str]:
    """Lines of bounded length without NUL bytes; comments become empty lines, so that line numbers stay right."""
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if len(line) >= MAX_LINE:
            raise bad(path, "a line of more than 1 MiB", line=number)
        if (nul := line.find("\0")) >= 0:
            raise bad(path, "a NUL byte: this is no text", line=number, column=nul + 1)
        yield "\n" if line.startswith("#") else line


def _delimiter(text: str) -> str:
    return max(_DELIMITERS, key=text.count)


class _Rows:
    def __init__(self, path: Path, options: TableImporter) -> None:
        self.path = path
        self.options = options
        self.at = 0
        self.lane_at: int | None = None
        self.scale = 1
        self.step_ns = 1
        self.decimals = 0

    def events(self, lines: Iterator[str]) -> Iterator[Event]:
        number, first = 0, ""
        for line in lines:
            number, first = number + 1, line
            if first.strip():
                break
        if not first.strip():
            raise bad(self.path, "the file is empty")
        delimiter = _delimiter(first)
        names = [name.strip() for name in next(csv.reader([first], delimiter=delimiter, strict=True))]
        title = self._choose(names, number)
        lanes = SampleLanes(self.options.name, self.options.measure)
        rows: list[list[str]] = [] if title is not None else [names]  # no header: the first row is data
        places = [number] * len(rows)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            rows.append(row)
            places.append(number + reader.line_num)
            if len(rows) >= _BLOCK:
                yield from self._block(rows, places, lanes)
                rows, places = [], []
        yield from self._block(rows, places, lanes)
        unit = self.options.unit
        about = {"column": title or f"number {self.at + 1}", "unit": unit or column_unit(title or "")}
        yield from lanes.finish(self.path, max(1, self.scale // 10**self.decimals), about)

    def _choose(self, names: list[str], line: int) -> str | None:
        """Set the columns and the unit from the first row. Returns the name of the column, None if that row is data."""
        options = self.options
        headed = any(_number(name) is None for name in names)
        self.at = self._find(names, options.column, headed, line) if options.column else self._only(names, line)
        if options.lane_column:
            self.lane_at = self._find(names, options.lane_column, headed, line)
        title = names[self.at] if headed else None
        unit = options.unit or (column_unit(title) if title else None)
        if unit is None:
            what = f"column '{title}'" if title else "the column"
            raise bad(
                self.path, f"the unit of {what} is not known", line=line, hint="say it with --unit us (ns, us, ms, s)"
            )
        self.scale = unit_ns(unit)
        return title

    def _find(self, names: list[str], wanted: str, headed: bool, line: int) -> int:
        if headed and wanted in names:
            return names.index(wanted)
        if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(names):
            return int(wanted) - 1
        known = (
            ", ".join(name[:40] for name in names[:20]) if headed else f"numbers 1 to {len(names)} (there is no header)"
        )
        raise bad(self.path, f"there is no column '{wanted}'", line=line, hint=f"its columns: {known}")

    def _only(self, names: list[str], line: int) -> int:
        fitting = [i for i, name in enumerate(names) if column_unit(name) is not None]
        if len(fitting) != 1:
            why = "no column" if not fitting else f"{len(fitting)} columns"
            raise bad(
                self.path,
                f"{why} with a name such as latency_us",
                line=line,
                hint="name one with --column NAME --unit us",
            )
        return fitting[0]

    def _block(self, rows: list[list[str]], places: list[int], lanes: SampleLanes) -> Iterator[Event]:
        """Samples of some rows: plain decimal numbers all at once, else one by one, which finds the bad field."""
        values = self._plain(rows)
        if values is None:
            for row, line in zip(rows, places, strict=True):
                self._row(row, line, lanes)
        elif self.lane_at is None:
            lanes.add_block(self.path, "all", values, None)
        else:
            codes: dict[str, int] = {}
            order = _array([codes.setdefault(row[self.lane_at].strip(), len(codes)) for row in rows])
            for name, code in codes.items():
                lanes.add_block(self.path, name, values[order == code], places[0])
        yield from lanes.flush()

    def _plain(self, rows: list[list[str]]) -> Any:
        """int64 ns, or None where any field needs a closer look."""
        import numpy as np

        try:
            texts = [row[self.at] for row in rows]
            named = self.lane_at is None or all(row[self.lane_at].strip() for row in rows)
        except IndexError:
            return None
        if not texts or not named or "".join(texts).translate(_OF_NUMBERS):
            return None
        try:
            numbers = np.array(texts, dtype=str).astype(np.float64)
        except ValueError:
            return None
        if not (np.abs(numbers) * self.scale < _EXACT).all():
            return None
        self.decimals = max(self.decimals, max(len(text.partition(".")[2]) for text in texts))
        return np.floor(numbers * self.scale + 0.5).astype(np.int64)

    def _row(self, row: list[str], line: int, lanes: SampleLanes) -> None:
        if self.at >= len(row):
            raise bad(
                self.path, f"{len(row)} fields, the latency is number {self.at + 1}", line=line, column=len(row) + 1
            )
        found = _number(row[self.at])
        if found is None:
            raise self._bad_value(row, line)
        digits, decimals = found
        value = digits * self.scale
        whole, rest = divmod(value, 10**decimals) if decimals >= 0 else (value * 10**-decimals, 0)
        if rest * 2 >= 10 ** max(decimals, 0):
            whole += 1
        if not -(2**62) < whole < 2**62:
            raise self._bad_value(row, line)
        self.decimals = max(self.decimals, decimals)
        lane = "all"
        if self.lane_at is not None:
            if self.lane_at >= len(row) or not row[self.lane_at].strip():
                raise bad(self.path, "no value in the lane column", line=line, column=self.lane_at + 1)
            lane = row[self.lane_at].strip()
        lanes.add(self.path, lane, whole, line)

    def _bad_value(self, row: list[str], line: int) -> InputFileError:
        text = row[self.at].strip()
        why = f"'{text[:40]}' is not a latency" if text else "the latency is missing"
        return bad(self.path, why, line=line, column=self.at + 1, hint="the second number is the field, from 1")


def _array(codes: list[int]) -> Any:
    import numpy as np

    return np.array(codes)


def _number(text: str) -> tuple[int, int] | None:
    """(digits, decimals) of a decimal number: digits / 10**decimals, exactly. None for anything else."""
    match = _VALUE.fullmatch(text)
    if match is None or not (match[2] or match[3]):
        return None
    fraction = match[3] or ""
    digits = int((match[2] or "") + fraction)
    return (-digits if match[1] == "-" else digits), len(fraction) - int(match[4] or 0)

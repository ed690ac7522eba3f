"""The histogram of cyclictest as CSV, `time,core1,core2,...`: the grep and sed commands of riva-2018 turn `-h` output into it.

They remove the comment lines with totals, maximum and overflow. `core1` is thread 0; the file does not name its CPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer, Progress, blocks
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US

_HEADER = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*time[ \t]*((?:,[ \t]*core[ \t]*\d{1,4}[ \t]*)+)\r?(?:\n|$)")
_CELL = re.compile(r"\s*(\d{1,15})\s*$")
_LINE_LIMIT = 1 << 20
_DIGITS = 6
_BINS_MOST = 10_000_000


class RivaCsvImporter(Importer):
    """One bin per line, whole microseconds, lower edge first."""

    name = "csv-histogram"
    lines = True
    summary = "histogram of cyclictest as CSV: time,core1,core2,..."

    def recognises(self, head: bytes) -> bool:
        return bool(_HEADER.match(head))

    def source(self, path: Path) -> Source:
        next(blocks(path, 1), b"")
        return Source("cyclictest", None, self.name)

    def read(self, path: Path) -> Iterator[Event]:
        rows = _Rows(path)
        for number, line in _lines(path, self.progress):
            rows.take(number, line)
        yield from rows.events()


class _Rows:
    """The columns. Raises InputFileError with line and column for another file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._names: list[str] = []
        self._columns: list[dict[int, int]] = []
        self._rows = 0
        self._last = -1
        self._padded = True

    def take(self, number: int, line: str) -> None:
        if not self._names:
            if not _HEADER.match(line.encode()):
                raise self._error(number, 1, "the header is not time,core1,core2,...")
            self._names = [re.sub(r"\s+", "", name) for name in line.split(",")[1:]]
            if len(set(self._names)) != len(self._names):
                raise self._error(number, 1, "two columns have one name")
            self._columns = [{} for _ in self._names]
        elif line.strip():
            self._take_row(number, line.rstrip("\r\n"))

    def _take_row(self, number: int, line: str) -> None:
        cells = line.split(",")
        if len(cells) != len(self._names) + 1:
            raise self._error(number, 1, f"{len(cells)} columns where the header has {len(self._names) + 1}")
        values, at = [], 1
        for cell in cells:
            found = _CELL.match(cell)
            if found is None:
                raise self._error(number, at, f"'{cell[:40]}' is not a count")
            if self._rows and self._padded and len(found[1]) < _DIGITS:
                raise self._error(number, at, f"'{cell.strip()}' is cut: it has {_DIGITS} digits elsewhere")
            self._padded = self._padded and len(found[1]) >= _DIGITS
            values.append(int(found[1]))
            at += len(cell) + 1
        bucket, *counts = values
        if bucket <= self._last or bucket > _BINS_MOST:
            raise self._error(number, 1, f"bin {bucket} after bin {self._last}")
        self._last, self._rows = bucket, self._rows + 1
        for column, count in zip(self._columns, counts, strict=True):
            if count:
                column[bucket] = count

    def events(self) -> Iterator[Event]:
        import numpy as np

        if not any(self._columns):
            raise InputFileError(f"{self._path} holds no measurement", "there is not one count in it")
        lanes = range(len(self._names))
        yield Facts(self._facts())
        for lane in lanes:
            bins = np.array(list(self._columns[lane]), dtype=np.int64)
            counts = np.array(list(self._columns[lane].values()), dtype=np.int64)
            width = np.full(len(bins), NS_PER_US, dtype=np.int64)
            yield HistogramPart(lane, bins * NS_PER_US, width, counts, limit_ns=(self._last + 1) * NS_PER_US)
        yield End({"lanes": [{"lane": lane, "n": sum(self._columns[lane].values())} for lane in lanes]})

    def _facts(self) -> dict[str, Any]:
        told = {
            "kind": "histogram",
            "unit": "us",
            "unit_from": "format",
            "trailer": False,
            "missing_rows": self._last + 1 - self._rows,
        }
        lanes = [{"lane": lane, "name": name, "measure": WAKE_UP, "cpu": None} for lane, name in enumerate(self._names)]
        return {"probe": "cyclictest", "bin_width_ns": NS_PER_US, "lanes": lanes, "import": told}

    def _error(self, line: int, column: int, why: str) -> InputFileError:
        return InputFileError(f"{self._path}, line {line}, column {column}: {why}", hint="nothing was imported")


def _lines(path: Path, progress: Progress | None) -> Iterator[tuple[int, str]]:
    held, number = b"", 0
    for block in blocks(path, progress=progress):
        *lines, held = (held + block).split(b"\n")
        for line in lines:
            number += 1
            yield number, line.decode(errors="replace")
        if len(held) > _LINE_LIMIT:
            raise InputFileError(f"{path}, line {number + 1}: a line of more than 1 MiB", hint="nothing was imported")
    if held:
        yield number + 1, held.decode(errors="replace")

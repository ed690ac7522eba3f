"""Reads the results of stress-ng: its YAML on stdout, its tables and lines on stderr. Versions from 0.13 on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rtassay.loads.base import LoadResult, Rate
from rtassay.loads.gpu import renders_in_software
from rtassay.loads.tools import Lines
from rtassay.model.events import Output
from rtassay.model.manifest import WorkPart

UNIT = "bogo ops"
_YAML_KEPT = 1024 * 1024
_LINE = re.compile(r"^stress-ng: (?P<kind>[a-z]+):\s+\[\d+\]\s+(?P<text>.*?)\s*$")
# 0.13 writes these rows as info:, later ones as metrc:.
_ROW = re.compile(r"^(?P<name>[a-z][a-z0-9-]*)\s+(?P<ops>\d+)\s+(?P<real>\d+\.\d+)(?:\s+[\d.]+){4}")
_HOGS = re.compile(r"^dispatching hogs: (?P<hogs>.+)$")
_HOG = re.compile(r"(\d+) ([a-z][a-z0-9-]*)")
_SKIPS = (
    re.compile(r"^(?P<name>[a-z][a-z0-9-]*):? stressor (?P<why>.*\bskip(?:ped|ping)\b.*)$"),
    re.compile(r"^(?P<name>[a-z][a-z0-9-]*): (?P<why>.*\bskipp(?:ed|ing)\b.*)$"),
)
_RENDERER = re.compile(r"^gpu: GL_RENDERER: (?P<name>.+)$")
_SKIPPED = re.compile(r"^skipped: \d+: (?P<names>.+)$")
_NAME_COUNT = re.compile(r"([a-z][a-z0-9-]*) \(\d+\)")
_STRESSOR = re.compile(r"^\s*- stressor: '?(?P<name>[a-z0-9-]+)'?\s*$", re.MULTILINE)
_KEY = r"^\s*{}: (?P<value>[\d.]+)\s*$"


@dataclass(slots=True)
class _Row:
    operations: float | None = None
    seconds: float | None = None
    skipped: bool = False
    why: str | None = None


class StressNgMeter:
    """stress-ng reports only at its end: there are no rates, only parts. A missing report (it was killed) is an error."""

    def __init__(self) -> None:
        self._yaml = bytearray()
        self._lines = {1: Lines(), 2: Lines()}
        self._rows: dict[str, _Row] = {}
        self._instances: dict[str, int] = {}
        self._software: bool | None = None
        self._error: str | None = None
        self._last: str | None = None

    def take(self, output: Output) -> list[Rate]:
        if output.fd == 1:
            self._yaml += output.data[: max(0, _YAML_KEPT - len(self._yaml))]
        # Some versions write their lines to stdout.
        for text in self._lines[output.fd].feed(output.data):
            self._line(text)
        return []

    def stopping(self) -> None:
        """A stressor that fails its own verification when it ends is still an error."""

    def result(self) -> LoadResult:
        for lines in self._lines.values():
            for text in lines.finish():
                self._line(text)
        self._read_yaml(self._yaml.decode(errors="replace"))
        for name in self._instances:
            self._rows.setdefault(name, _Row(why="stress-ng gave no figures of it"))
        parts = tuple(self._part(name, row) for name, row in self._rows.items())
        known = [part.operations for part in parts if part.operations is not None]
        if not known:
            return LoadResult(None, None, self._error or self._last or "stress-ng printed no metrics", parts)
        return LoadResult(sum(known), UNIT, self._error, parts, self._software)

    def _part(self, name: str, row: _Row) -> WorkPart:
        unit = None if row.operations is None else UNIT
        return WorkPart(name, row.operations, unit, row.seconds, self._instances.get(name), row.skipped, row.why)

    def _line(self, text: str) -> None:
        if (line := _LINE.match(text)) is None:
            return
        said = line["text"]
        if line["kind"] in ("error", "fail"):
            self._error = self._error or said
        if row := _ROW.match(said):
            self._rows.setdefault(row["name"], _Row()).operations = float(row["ops"])
            self._rows[row["name"]].seconds = float(row["real"])
        elif hogs := _HOGS.match(said):
            self._instances = {name: int(number) for number, name in _HOG.findall(hogs["hogs"])}
        elif renderer := _RENDERER.match(said):
            self._software = renders_in_software(renderer["name"])
        elif all_skipped := _SKIPPED.match(said):
            for name in _NAME_COUNT.findall(all_skipped["names"]):
                self._skip(name, None)
        elif skip := next((found for pattern in _SKIPS if (found := pattern.match(said))), None):
            self._skip(skip["name"], skip["why"])
        elif line["kind"] in ("error", "fail", "warn"):
            self._last = said

    def _skip(self, name: str, why: str | None) -> None:
        row = self._rows.setdefault(name, _Row())
        row.skipped, row.why = True, row.why or why

    def _read_yaml(self, text: str) -> None:
        starts = [*_STRESSOR.finditer(text)]
        ends = [*(start.start() for start in starts[1:]), len(text)]
        for this, end in zip(starts, ends, strict=False):
            block = text[this.end() : end]
            operations, seconds = _number(block, "bogo-ops"), _number(block, "wall-clock-time")
            if operations is None:
                continue
            row = self._rows.setdefault(this["name"], _Row())
            row.operations, row.seconds = operations, seconds


def _number(block: str, key: str) -> float | None:
    found = re.search(_KEY.format(key), block, re.MULTILINE)
    return None if found is None else float(found["value"])

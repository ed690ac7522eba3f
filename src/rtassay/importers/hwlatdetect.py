"""hwlatdetect of rt-tests: what it prints of the kernel's tracer hwlat, which looks for gaps in a loop with interrupts off.

    hwlatdetect:  test duration 30 seconds
       detector: tracer
       parameters:
            CPU list:          0-1
            Latency threshold: 10us
            Sample window:     1000000us
            Sample width:      500000us
         Non-sampling period:  500000us
            Output File:       None
    Starting test
    test finished
    Max Latency: 1311us
    Samples recorded: 2
    Samples exceeding threshold: 2
    ts: 1763712345.123456789, inner:1311, outer:12

The kernel looks once in a window, and tells a window only if a gap in it was above the threshold. The other windows of the time are
counted as 0, as our own method hwlat has it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer
from rtassay.importers.columns import Column, bad, contradictions, count_of, events_of, text_lines
from rtassay.model.events import Event
from rtassay.model.manifest import Source
from rtassay.model.measures import HARDWARE_GAP
from rtassay.model.units import NS_PER_S, NS_PER_US, format_time

_TITLE = re.compile(r"\s*hwlatdetect:\s+test duration (\d{1,9}) seconds?\s*$")
_FIELD = re.compile(r"\s*(Latency threshold|Sample window|Sample width|Max Latency): +(\d{1,19})us\s*$")
_NUMBER = re.compile(r"\s*(Samples recorded|Samples exceeding threshold): +(\d{1,19})\s*$")
_BELOW = re.compile(r"\s*Max Latency: Below threshold\s*$")
_SAMPLE = re.compile(r"\s*ts: (\d{1,12})\.(\d{1,9}), inner:(\d{1,19}), outer:(\d{1,19})\s*$")
_CPUS = re.compile(r"\s*CPU list: +(\S{1,200})")
_SMIS = re.compile(r"\s*SMIs during run: (\d{1,12})\s*$")
_MOST_WINDOWS = 2**31
_CAVEATS = (
    "only windows with a gap above the threshold are in the output: the others are counted as 0, by the clock, also those in which the kernel's thread did not get to look",
    "a gap outside of the part of the window in which the kernel looks (the sample width) is not seen",
    "one thread of the kernel goes from CPU to CPU: which CPU had a gap is not told",
)


@dataclass
class _Text:
    path: Path
    duration_s: int | None = None
    told: dict[str, int] = field(default_factory=dict)
    below: bool = False
    finished: bool = False
    cpus: str | None = None
    smis: int | None = None
    gaps_us: list[int] = field(default_factory=list)
    line: int = 0

    def read(self) -> _Text:
        for number, line in text_lines(self.path):
            self.line = number
            self._take(line)
        self._check_whole()
        return self

    def _take(self, line: str) -> None:
        if title := _TITLE.match(line):
            if self.duration_s is not None:
                raise bad(
                    self.path, "a second run begins: one file holds one run", line=self.line, hint="split the file"
                )
            self.duration_s = int(title[1])
        elif self.duration_s is None:
            return  # a prompt or a banner
        elif found := _FIELD.match(line) or _NUMBER.match(line):
            if found[1] in self.told:
                raise bad(self.path, f"a second line {found[1]}:", line=self.line)
            self.told[found[1]] = count_of(self.path, found[2], self.line, found.start(2) + 1)
        elif found := _SAMPLE.match(line):
            self.gaps_us.append(max(count_of(self.path, found[i], self.line, found.start(i) + 1) for i in (3, 4)))
        elif line.lstrip().startswith("ts:"):
            raise bad(self.path, "a sample that cannot be read", line=self.line)
        elif _BELOW.match(line):
            self.below = True
        elif found := _CPUS.match(line):
            self.cpus = None if found[1] == "None" else found[1]
        elif found := _SMIS.match(line):
            self.smis = int(found[1])
        elif line.strip() == "test finished":
            self.finished = True

    def _check_whole(self) -> None:
        missing = [key for key in ("Latency threshold", "Sample window", "Sample width") if key not in self.told]
        if self.duration_s is None or missing:
            what = "no test duration" if self.duration_s is None else f"no line {missing[0]}:"
            raise bad(self.path, f"{what}: this is no output of hwlatdetect", line=max(self.line, 1))
        recorded = self.told.get("Samples recorded")
        if not self.finished or recorded is None or not (self.below or "Max Latency" in self.told):
            raise bad(self.path, "the file ends before its result", line=self.line, hint="ask for the whole file")
        if len(self.gaps_us) < recorded:
            why = f"{recorded} samples were recorded, and {len(self.gaps_us)} are here"
            raise bad(self.path, why, line=self.line, hint="--watch prints them before the result: keep all of stdout")
        if not self.told["Sample window"] or self.windows > _MOST_WINDOWS:
            raise bad(self.path, f"a sample window of {self.told['Sample window']} us", line=self.line)

    @property
    def windows(self) -> int:
        """How many windows the time holds; a window that was told is one in any case."""
        assert self.duration_s is not None
        return max(self.duration_s * NS_PER_S // (self.told["Sample window"] * NS_PER_US), len(self.gaps_us))


class HwlatdetectImporter(Importer):
    """One lane, measure `hardware-gap`: a value for each window of the time."""

    name = "hwlatdetect"
    lines = True
    summary = "text of hwlatdetect of rt-tests (gaps from below the kernel)"

    def recognises(self, head: bytes) -> bool:
        return re.search(rb"^\s*hwlatdetect:\s+test duration \d", head, re.M) is not None

    def source(self, path: Path) -> Source:
        """The text does not name the version."""
        _Text(path).read()
        return Source("hwlatdetect", None, self.name, "unknown")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with the line."""
        text = _Text(path).read()
        assert text.duration_s is not None
        interval_ns = text.told["Sample window"] * NS_PER_US
        imported: dict[str, Any] = {
            "format": self.name,
            "caveats": [*_CAVEATS, *([f"{text.smis} SMIs during the run, by the CPU's counter"] if text.smis else [])],
            "threshold_ns": text.told["Latency threshold"] * NS_PER_US,
            "width_ns": text.told["Sample width"] * NS_PER_US,
        }
        column = _column(text)
        if inconsistent := _inconsistent(text, column):
            imported["inconsistent"] = inconsistent
        facts, duration_ns = {"interval_ns": interval_ns}, text.duration_s * NS_PER_S
        yield from events_of([column], NS_PER_US, facts, imported, duration_ns=duration_ns, reason="duration")


def _column(text: _Text) -> Column:
    bins = Counter(gap * NS_PER_US for gap in text.gaps_us)
    quiet = text.windows - len(text.gaps_us)
    if quiet:
        bins[0] += quiet
    most_us = text.told.get("Max Latency", 0)
    column = Column(
        name="hwlat", measure=HARDWARE_GAP, bins=dict(bins), n=text.windows, over=0, max_ns=most_us * NS_PER_US
    )
    column.limit_ns = max(bins) + NS_PER_US
    return column


def _inconsistent(text: _Text, column: Column) -> list[str]:
    found = contradictions([column], NS_PER_US)
    most_us, recorded = max(text.gaps_us, default=0), text.told["Samples recorded"]
    if text.told.get("Max Latency", 0) > most_us:
        found.append(f"the largest sample is {most_us} us, and the maximum is told as {text.told['Max Latency']} us")
    if recorded != len(text.gaps_us):
        found.append(f"{recorded} samples were recorded, and {len(text.gaps_us)} are here")
    lowest = min(text.gaps_us, default=None)
    if lowest is not None and lowest < text.told["Latency threshold"]:
        found.append(
            f"a sample of {lowest} us lies below the threshold of {format_time(text.told['Latency threshold'] * NS_PER_US)}"
        )
    return found

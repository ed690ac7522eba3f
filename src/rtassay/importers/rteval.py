"""rteval's summary.xml: one measurement (cyclictest or timerlat) with a histogram per core, and what rteval knows of the system.

    rteval > run_info@days,hours,minutes,seconds · SystemInfo > uname > node, kernel@is_RT, arch · loads > command_line@name
    rteval > Measurements > cyclictest|timerlat@command_line > core@id,priority > statistics, histogram > bucket@index,value

Its timerlat module adds the IRQ, thread and user counts of each bucket into one histogram. It skips rtla's row over:, so samples
beyond the last bucket are absent, the maximum too. We read the file as a stream and refuse a document type, so no entity expands.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

from rtassay.importers.base import Importer
from rtassay.importers.columns import (
    MAX_LANES,
    Column,
    bad,
    contradictions,
    count_of,
    decimal_of,
    events_of,
    text_of,
    unreadable,
)
from rtassay.importers.times import span
from rtassay.model.errors import InputFileError
from rtassay.model.events import Event
from rtassay.model.files import open_regular
from rtassay.model.manifest import Source
from rtassay.model.measures import MIXTURE, WAKE_UP
from rtassay.model.units import NS_PER_S, NS_PER_US, format_time

_MODULES = ("cyclictest", "timerlat")
_DEPTH = 64
_TEXT = 8192
_CHUNK = 1 << 20
_MIXED = (
    "rteval's timerlat module adds IRQ, thread and user latencies into one histogram: three quantities, three samples per activation",
    "rteval skips rtla's row over: samples beyond the last bucket are absent, the maximum included",
)
_PLAIN = ("rteval keeps neither cyclictest's count of overflows nor its version; the maximum is cyclictest's own",)
_TEXTS_IN = {"uname": ("node", "kernel", "arch", "baseos"), "timestamps": ("runloop_start", "runloop_stop")}
_OF_STATISTICS = ("samples", "minimum", "maximum", "mean", "median")


@dataclass
class _Report:
    """The content of the document."""

    version: str | None = None
    module: str | None = None
    command: str = ""
    duration_s: int | None = None
    columns: list[Column] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    loads: list[str] = field(default_factory=list)
    is_rt: str | None = None
    priority: int | None = None
    stopped: str | None = None


class RtevalImporter(Importer):
    """Lanes `cpu0` ...; lanes of the timerlat module have the measure `mixture`. The block of the whole system is not imported."""

    name = "rteval"
    summary = "summary.xml of rteval (cyclictest and timerlat modules)"

    def recognises(self, head: bytes) -> bool:
        begin = head.lstrip().removeprefix(b"\xef\xbb\xbf").lstrip()
        return re.match(rb"(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<rteval[\s>]", begin, re.S) is not None

    def source(self, path: Path) -> Source:
        """The tool is the one that rteval ran. The facts keep the version of rteval."""
        return Source(f"rteval {_Parser(path).read().module}", None, self.name, "skip")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with line and column."""
        report = _Parser(path).read()
        mixed = report.module == "timerlat"
        limit_us = _limit(report.command, "E" if mixed else "h")
        for column in report.columns:
            _settle(column, limit_us, mixed)
        imported = _imported(report, mixed)
        inconsistent = contradictions(report.columns, NS_PER_US)
        inconsistent += [
            f"{c.name}: its buckets hold {c.binned} samples, its statistics say {c.n}"
            for c in report.columns
            if c.n is not None and c.n != c.binned + (c.over or 0)
        ]
        if inconsistent:
            imported["inconsistent"] = inconsistent
        if doubted := [words for column in report.columns if (words := _doubted_median(column))]:
            imported["doubted"] = doubted
        duration_ns = None if report.duration_s is None else report.duration_s * NS_PER_S
        yield from events_of(
            report.columns,
            NS_PER_US,
            _facts(report),
            imported,
            duration_ns=duration_ns,
            reason="break" if report.stopped else None,
        )


def _limit(command: str, letter: str) -> int | None:
    """The first value without a bucket, in us, from the command line."""
    stated = re.search(rf"(?:^|\s)-{letter}\s*(\d{{1,7}})\b", command)
    return int(stated[1]) if stated else None


def _settle(column: Column, limit_us: int | None, mixed: bool) -> None:
    highest = max(column.bins, default=0)
    column.limit_ns = max((limit_us or 0) * NS_PER_US, highest + NS_PER_US)
    if mixed:
        column.measure = MIXTURE
        column.max_ns = None  # the highest bucket, not the maximum
    elif column.max_ns is not None:
        # Its maximum comes from '# Max Latencies'; overflows have no count in the file.
        column.over = 1 if column.max_ns >= column.limit_ns else 0
        if column.over and column.n is not None:
            column.n += 1


def _doubted_median(column: Column) -> str | None:
    """A sentence for an impossible median: a real file of rteval 3.1 states 0.0 for each. We do not use it: percentiles come from the histogram."""
    median, least, most = column.median_ns, column.min_ns, column.max_ns
    if median is None or least is None or most is None or least <= median <= most:
        return None
    limits = f"{format_time(least)} ... {format_time(most)}"
    return f"{column.name}: the file's median of {format_time(median)} lies outside {limits}; it is not used"


def _imported(report: _Report, mixed: bool) -> dict[str, Any]:
    caveats = list(_MIXED if mixed else _PLAIN)
    found: dict[str, Any] = {
        "format": "rteval",
        "caveats": caveats,
        "module": report.module,
        **span(report.texts.get("runloop_start"), report.texts.get("runloop_stop")),
    }
    if not mixed and any(column.over for column in report.columns):
        found["over_at_least"] = True
        caveats.append("a maximum lies beyond the last bucket; the file does not count the samples there")
    if report.stopped:
        caveats.append(f"rteval stopped the measurement: {report.stopped}")
    if report.is_rt is not None:
        found["is_rt"] = report.is_rt.strip() == "1"
    if report.loads:
        found["load"] = ", ".join(report.loads)[:300]
    if report.version:
        found["rteval_version"] = report.version
    baseos, node = report.texts.get("baseos"), report.texts.get("node")
    return found | {key: text for key, text in (("distribution", baseos), ("hostname", node)) if text}


def _facts(report: _Report) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    parts = {"release": report.texts.get("kernel"), "machine": report.texts.get("arch")}
    kernel = {key: text for key, value in parts.items() if (text := text_of(value))}
    if kernel:
        facts["kernel"] = kernel
    if report.command:
        facts["argv"] = report.command.split()
    # timerlat takes three samples per activation, so its period does not count them.
    interval = None if report.module == "timerlat" else re.search(r"(?:^|\s)-i\s*(\d{1,8})\b", report.command)
    if interval and int(interval[1]):
        facts["interval_ns"] = int(interval[1]) * NS_PER_US
    if report.priority is not None:
        facts["requested"] = {"policy": "fifo", "priority": report.priority}
    return facts


class _Parser:
    """One pass with expat. Every error names the current place of the parser."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.report = _Report()
        self.stack: list[str] = []
        self.text: list[str] = []
        self.kept = 0
        self.core: Column | None = None
        self.histogram = False
        self.expat = expat.ParserCreate()
        self.expat.buffer_text = True
        self.expat.StartElementHandler = self._start
        self.expat.EndElementHandler = self._end
        self.expat.CharacterDataHandler = self._characters
        self.expat.StartDoctypeDeclHandler = self._doctype
        self.expat.EntityDeclHandler = self._doctype

    def read(self) -> _Report:
        try:
            with open_regular(self.path) as file:
                while chunk := file.read(_CHUNK):
                    self.expat.Parse(chunk, False)
                self.expat.Parse(b"", True)
        except OSError as error:
            raise unreadable(self.path, error) from error
        except expat.ExpatError as error:
            why = f"not well-formed XML: {expat.ErrorString(error.code)}"
            raise bad(self.path, why, line=error.lineno, column=error.offset + 1) from error
        except (ValueError, LookupError) as error:
            raise self._bad(f"its encoding cannot be read: {error}") from error
        report = self.report
        if report.module is None:
            raise self._bad("rteval wrote no measurement of cyclictest or timerlat into it")
        if not any(column.binned for column in report.columns):
            why = "no core has a histogram"
            if report.module == "cyclictest":
                why += ": rteval leaves all statistics out when the maximum is beyond its buckets"
            raise self._bad(why, hint="run rteval with more buckets")
        return report

    def _bad(self, why: str, hint: str | None = None) -> InputFileError:
        return bad(
            self.path, why, line=self.expat.CurrentLineNumber, column=self.expat.CurrentColumnNumber + 1, hint=hint
        )

    def _doctype(self, *_: Any) -> None:
        raise self._bad("a document type or entity: rteval writes none, and they are not read here")

    def _characters(self, text: str) -> None:
        if self.kept < _TEXT:
            self.text.append(text[:_TEXT])
            self.kept += len(text)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.text, self.kept = [], 0
        if not self.stack and tag != "rteval":
            raise self._bad(f"the document is <{tag[:40]}>, not <rteval>")
        if len(self.stack) >= _DEPTH:
            raise self._bad(f"nested deeper than {_DEPTH}")
        parent = self.stack[-1] if self.stack else ""
        self.stack.append(tag)
        if tag == "rteval":
            self.report.version = text_of(attributes.get("version"), 40)
        elif tag == "run_info":
            self._run_info(attributes)
        elif tag == "kernel" and parent == "uname":
            self.report.is_rt = attributes.get("is_RT")
        elif tag == "command_line" and parent == "loads" and (name := text_of(attributes.get("name"), 60)):
            self.report.loads.append(name)
        elif tag in _MODULES and "Measurements" in self.stack:
            self._module(tag, attributes)
        elif tag == "abort_report":
            self.report.stopped = text_of(attributes.get("reason"), 60) or "aborted"
        elif tag == "stoptrace_invoked":
            self.report.stopped = "stoptrace"
        elif tag == "core" and self.report.module is not None and self._in_module():
            self._core(attributes)
        elif tag == "bucket" and self.core is not None:
            self._bucket(attributes)

    def _in_module(self) -> bool:
        return any(tag in self.stack for tag in _MODULES)

    def _end(self, tag: str) -> None:
        text = "".join(self.text).strip()
        self.text, self.kept = [], 0
        self.stack.pop()
        parent = self.stack[-1] if self.stack else ""
        if tag == "core":
            self.core = None
        elif tag in _TEXTS_IN.get(parent, ()):
            self.report.texts[tag] = text
        elif self.core is not None and parent == "statistics" and tag in _OF_STATISTICS:
            self._statistic(tag, text)

    def _run_info(self, attributes: dict[str, str]) -> None:
        total = 0
        for key, seconds in (("days", 86400), ("hours", 3600), ("minutes", 60), ("seconds", 1)):
            value = attributes.get(key, "")
            if not (value.isascii() and value.isdigit() and len(value) < 7):
                return
            total += int(value) * seconds
        self.report.duration_s = total

    def _module(self, tag: str, attributes: dict[str, str]) -> None:
        if self.report.module is not None:
            raise self._bad(
                f"a second measurement ({tag}): one recording holds one", hint="import them from separate files"
            )
        self.report.module = tag
        self.report.command = (text_of(attributes.get("command_line"), 4000) or "").strip("'\"")

    def _core(self, attributes: dict[str, str]) -> None:
        name = attributes.get("id", "")
        cpu = count_of(
            self.path, name, self.expat.CurrentLineNumber, self.expat.CurrentColumnNumber + 1, "the number of a core"
        )
        if (
            any(column.cpu == cpu for column in self.report.columns)
            or len(self.report.columns) >= MAX_LANES
            or cpu >= 2**15
        ):
            raise self._bad(f"core {cpu} again, or too many cores")
        priority = attributes.get("priority", "")
        if priority.isascii() and priority.isdigit() and len(priority) < 3:
            self.report.priority = int(priority)
        self.core = Column(name=f"cpu{cpu}", measure=WAKE_UP, cpu=cpu)
        self.report.columns.append(self.core)

    def _bucket(self, attributes: dict[str, str]) -> None:
        assert self.core is not None
        line, place = self.expat.CurrentLineNumber, self.expat.CurrentColumnNumber + 1
        edge = count_of(self.path, attributes.get("index", ""), line, place, "the index of a bucket") * NS_PER_US
        if edge >= 2**60 or edge in self.core.bins:
            raise self._bad(f"bucket {attributes['index'][:20]} again, or out of range")
        self.core.bins[edge] = count_of(self.path, attributes.get("value", ""), line, place)

    def _statistic(self, tag: str, text: str) -> None:
        assert self.core is not None
        line, place = self.expat.CurrentLineNumber, self.expat.CurrentColumnNumber + 1
        if tag == "samples":
            self.core.n = count_of(self.path, text, line, place, "a number of samples")
            return
        value = decimal_of(self.path, text, line, place)
        if not 0 <= value < 2**50:
            raise self._bad(f"a {tag} of {text[:40]} us")
        if tag == "median":
            self.core.median_ns = value * NS_PER_US
        elif tag == "mean":
            self.core.avg_ns = value * NS_PER_US
        elif tag == "minimum":
            self.core.min_ns = round(value * NS_PER_US)
        else:
            self.core.max_ns = round(value * NS_PER_US)

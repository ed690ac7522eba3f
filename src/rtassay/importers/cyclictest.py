"""cyclictest's text: histograms of -h and -H, summaries of -q and of the live display, alone or in a console log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from rtassay.importers.base import Importer, blocks
from rtassay.importers.versions import late_policy
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.events import Event
from rtassay.model.manifest import Source
from rtassay.probes.cyclictest_text import CyclictestText, Malformed

_SIGNS = re.compile(
    rb"^(?:.*[\s\]#$])?(?:# Histogram\r?$|# (?:Min|Max) Latencies:|T: ?\d+ \( *\d+\) P: *\d+ I: *\d+ C:)", re.MULTILINE
)
_ROW = re.compile(rb"^(?:.*[\]>:m] +|[\d :.-]{12,} )?(\d{6,}) (\d{6,}(?:[\t ]\d{6,})*) *\r?$", re.MULTILINE)
_VERBOSE = re.compile(rb"^(?:.*[\s\]>])? *\d{1,4}: *\d{1,15}: *-?\d{1,15}(?: +\d+)? *\r?$", re.MULTILINE)
_VERSION = re.compile(rb"cyclictest V (\d[\w.]*)")
_BARE_ROWS = 3
_HEAD = 64 * 1024


class CyclictestImporter(Importer):
    """A text of cyclictest. It does not name the version, unless a log holds the help text with `cyclictest V 2.40`."""

    name = "cyclictest"
    lines = True
    summary = "text of cyclictest: -h and -H histograms (also --histfile), -q and live summaries"

    def __init__(self, unit: str | None = None) -> None:
        """`unit`: ns for a file made with -N, else us; None: the content decides. Raises UsageError for another unit."""
        self.unit = checked_unit(unit)

    def recognises(self, head: bytes) -> bool:
        return len(_VERBOSE.findall(head)) < 2 and (bool(_SIGNS.search(head)) or _has_bare_rows(head))

    def source(self, path: Path) -> Source:
        head = next(blocks(path, _HEAD), b"")
        found = _VERSION.search(head)
        version = found[1].decode() if found else None
        return Source("cyclictest", version, self.name, late_policy("cyclictest", version))

    def read(self, path: Path) -> Iterator[Event]:
        """All events come at the end of the file, where cyclictest writes its results. Raises InputFileError for a text that contradicts itself."""
        parser = CyclictestText(whole=True, unit=self.unit)
        for block in blocks(path, progress=self.progress):
            parser.feed(block)
            if parser.broken is not None:
                break
        events = parser.finish()
        refuse(path, parser.broken)
        if not parser.has_rows and not parser.threads:
            raise InputFileError(
                f"{path} holds no measurement of cyclictest", "there is neither a histogram nor a line of a thread"
            )
        yield from events


def checked_unit(unit: str | None) -> str | None:
    """A unit that cyclictest has."""
    if unit not in (None, "ns", "us"):
        raise UsageError(f"cyclictest has no unit '{unit}'", hint="ns (made with -N) or us")
    return unit


def refuse(path: Path, broken: Malformed | None) -> None:
    """Raise InputFileError for a broken line."""
    if broken is None:
        return
    column = "" if broken.column is None else f", column {broken.column}"
    text = f" ('{broken.text}')" if broken.text else ""
    raise InputFileError(f"{path}, line {broken.line}{column}: {broken.why}{text}", hint="nothing was imported")


def _has_bare_rows(head: bytes) -> bool:
    """Rows of a histogram without the comment lines around them (`grep -v '^#'`)."""
    rows = [(int(row[1]), len(row[2].split())) for row in _ROW.finditer(head[:_HEAD])]
    follow = sum(1 for a, b in pairwise(rows) if b == (a[0] + 1, a[1]))
    return follow >= _BARE_ROWS

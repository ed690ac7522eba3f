"""What a terminal program has captured of a console with rtprobe-lite: minicom's log, screen's, `cat /dev/ttyUSB0 > log`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rtassay.importers.base import Importer, blocks
from rtassay.model.errors import InputFileError
from rtassay.model.events import Event
from rtassay.model.manifest import Source
from rtassay.wire.console import MARK, ConsoleParser, Lines


class ConsoleImporter(Importer):
    """One run of rtprobe-lite, anywhere in the text. A cut or damaged one too: what was lost is counted in the recording's `damage`."""

    name = "console"
    summary = "consoles with rtprobe-lite: a captured log (minicom, screen, cat)"
    damage_allowed = True

    def recognises(self, head: bytes) -> bool:
        """Whether there is a whole line of rtprobe-lite."""
        return MARK in head and any(True for _ in Lines().feed(head + b"\n"))

    def source(self, path: Path) -> Source:
        next(blocks(path, 1), b"")
        return Source("rtprobe-lite", "1", self.name, "counted")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError for a log in which the plan was refused, and for one with several runs."""
        parser = ConsoleParser()
        for block in blocks(path, progress=self.progress):
            yield from parser.feed(block)
        yield from parser.finish()
        self.damage = parser.damage
        if parser.more_runs:
            raise InputFileError(
                f"{path} holds {parser.more_runs + 1} runs",
                "one recording holds one run",
                "cut the log before each line with FACTS and import the pieces",
            )
        if parser.errors and not parser.measured:
            why = "; ".join(f"{what}: {about}" for what, about in parser.errors[:3])
            raise InputFileError(f"{path} holds no run of rtprobe-lite", f"it refused the plan: {why}")

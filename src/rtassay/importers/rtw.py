"""Our own streams: `rtprobe cyclic > f.rtw` on a board without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rtassay.importers.base import Importer
from rtassay.model.errors import InputFileError
from rtassay.model.events import Event, Facts, HistogramPart, Samples, Second
from rtassay.model.facts import facts_of
from rtassay.model.files import open_regular
from rtassay.model.manifest import Source
from rtassay.wire.stream import MAGIC, StreamParser, read_events

_HEAD_BYTES = 64 * 1024
_FACTS_BYTES = 4 << 20


class RtwImporter(Importer):
    """Streams of rtprobe, also cut and damaged ones: the recording's `damage` counts the losses."""

    name = "rtw"
    summary = "streams of rtprobe cyclic"
    damage_allowed = True

    def recognises(self, head: bytes) -> bool:
        """Whether there is a frame, perhaps after damage. A frame of a later version is recognised too, and `read` refuses it."""
        return MAGIC in head[:_HEAD_BYTES] and (head.startswith(MAGIC) or bool(StreamParser().feed(head)))

    def source(self, path: Path) -> Source:
        """Version from FACTS, None if that was lost."""
        parser = StreamParser(only={"Facts"})
        version = None
        try:
            with open_regular(path) as file:
                events = parser.feed(file.read(_FACTS_BYTES))
        except OSError as error:
            raise InputFileError(f"cannot read {path}", error.strerror) from error
        for event in events:
            if isinstance(event, Facts):
                version = facts_of(event.data).version or version
        return Source("rtprobe", version, "rtw", "counted")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError, and NewerFormat for a frame of a later version."""
        parser = StreamParser()
        measured, command = False, "something else"
        try:
            for event in read_events(path, parser):
                self.damage = parser.damage
                if isinstance(event, Facts):
                    command = facts_of(event.data).command or command
                measured = measured or isinstance(event, Samples | Second | HistogramPart)
                yield event
        except OSError as error:
            raise InputFileError(f"cannot read {path}", error.strerror) from error
        self.damage = parser.damage
        if not measured and command not in ("cyclic", "something else"):
            raise InputFileError(
                f"{path} holds no measurement", f"it is the stream of rtprobe {command}", "import one of a measurement"
            )

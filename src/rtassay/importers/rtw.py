"""Our own streams: `rtprobe cyclic > f.rtw` on a board without a network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rtassay.model.errors import InputFileError
from rtassay.model.events import Event, Facts, HistogramPart, Samples, Second
from rtassay.model.manifest import Damage, Source
from rtassay.wire.stream import MAGIC, StreamParser, read_events

_HEAD_BYTES = 64 * 1024
_FACTS_BYTES = 4 << 20


class RtwImporter:
    """Streams of rtprobe, also cut and damaged ones: what was lost is counted in the recording's `damage`."""

    name = "rtw"
    summary = "streams of rtprobe cyclic"
    damage_allowed = True

    def recognises(self, head: bytes) -> bool:
        """Whether there is a frame, perhaps behind damage. A frame of a later version is recognised too, then refused."""
        return MAGIC in head[:_HEAD_BYTES] and (head.startswith(MAGIC) or bool(StreamParser().feed(head)))

    def source(self, path: Path) -> Source:
        """Version from FACTS, None if that was lost."""
        parser = StreamParser(only={"Facts"})
        version = None
        try:
            with path.open("rb") as file:
                events = parser.feed(file.read(_FACTS_BYTES))
        except OSError as error:
            raise InputFileError(f"cannot read {path}", error.strerror) from error
        for event in events:
            if isinstance(event, Facts) and isinstance(event.data.get("version"), str):
                version = event.data["version"]
        return Source("rtprobe", version, "rtw", "counted")

    def read(self, path: Path) -> RtwEvents:
        """Events of the file; `damage` of the result tells at its end what was lost. Raises InputFileError, NewerFormat."""
        return RtwEvents(path)


class RtwEvents:
    """Iterates over one file; to be used once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = StreamParser()
        self._events = self._read()

    @property
    def damage(self) -> Damage:
        return self._parser.damage

    def __iter__(self) -> Iterator[Event]:
        return self

    def __next__(self) -> Event:
        return next(self._events)

    def _read(self) -> Iterator[Event]:
        measured = False
        command = "something else"
        try:
            for event in read_events(self._path, self._parser):
                if isinstance(event, Facts):
                    command = str(event.data.get("command", command))
                measured = measured or isinstance(event, Samples | Second | HistogramPart)
                yield event
        except OSError as error:
            raise InputFileError(f"cannot read {self._path}", error.strerror) from error
        if not measured and command not in ("cyclic", "something else"):
            raise InputFileError(
                f"{self._path} holds no measurement",
                f"it is the stream of rtprobe {command}",
                "import one of rtprobe cyclic",
            )

"""The rollups of a recording that is still written, read as they come: for `rtassay status` and `rtassay watch`."""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

from rtassay.cli.judging import parser_for
from rtassay.model.errors import CorruptRecording
from rtassay.model.events import End, Facts, Second
from rtassay.model.facts import facts_of
from rtassay.model.files import open_regular
from rtassay.model.manifest import Manifest
from rtassay.session.control import LiveLanes
from rtassay.store.streams import stream_of
from rtassay.wire.stream import StreamParser

_CHUNK_BYTES = 1 << 20
_ROLLUPS = frozenset({"Facts", "Second", "Note", "End"})


class Follower:
    """What the stream of an unsealed recording has told so far; `read` takes what came since the last call.

    `ended`: whether END came. The file stays open: it is read to its end even when sealing has removed its name.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._path, self._manifest = path, manifest
        self._file: IO[bytes] | None = None
        self._parser: Any = None
        self.ended = False
        self.lanes = LiveLanes()

    def read(self) -> None:
        """Take what the stream has now. No stream yet is no error. Raises CorruptRecording if it cannot be read."""
        if self._file is None and not self._open():
            return
        assert self._file is not None
        while chunk := self._file.read(_CHUNK_BYTES):
            for event in self._parser.feed(chunk):
                self._take(event)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> bool:
        stream = stream_of(self._path)
        if stream is None:
            return False
        try:
            self._file = open_regular(stream)
        except FileNotFoundError:  # sealed meanwhile
            return False
        except OSError as error:
            raise CorruptRecording(f"{stream} cannot be read", error.strerror) from error
        self._parser = StreamParser(only=_ROLLUPS) if stream.suffix == ".rtw" else parser_for(self._manifest)
        return True

    def _take(self, event: Any) -> None:
        if isinstance(event, Facts):
            self.lanes.start(facts_of(event.data).lanes)
        elif isinstance(event, Second):
            self.lanes.add(event)
        elif isinstance(event, End):
            self.ended = True

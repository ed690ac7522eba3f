"""Monitors while a run goes on: one `rtprobe watch` reads the files of all of them, every second."""

from __future__ import annotations

import asyncio
import fnmatch
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from rtassay.boards.base import Board, BoardProcess
from rtassay.model import recording, rooms
from rtassay.model.errors import BoardError
from rtassay.model.events import Event, FileContent
from rtassay.monitors.base import Message, Monitor
from rtassay.session.board_files import said
from rtassay.wire.stream import StreamParser, read_events

TelemetryRow = tuple[str, str, int, float, str]


class SeriesKeeper:
    """Readings of all monitors as columns, from the contents of the files they asked for."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self._monitors = monitors
        self._columns: dict[tuple[str, str, str], tuple[array[int], array[float]]] = {}
        self._contents: dict[str, bytes] = {}
        self.messages: list[recording.Message] = []

    @property
    def paths(self) -> list[str]:
        """What to watch, every path once, in the order the monitors ask."""
        return list(dict.fromkeys(path for monitor in self._monitors for path in monitor.paths))

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if not isinstance(event, FileContent) or event.error:
                continue
            if event.content is not None:
                self._contents[event.path] = event.content
            content = self._contents.get(event.path)
            if content is not None:
                self._read(event.mono_ns, event.path, content)

    def _read(self, mono_ns: int, path: str, content: bytes) -> None:
        for monitor in self._monitors:
            if not any(path == wanted or fnmatch.fnmatch(path, wanted) for wanted in monitor.paths):
                continue
            for reading in monitor.parse(mono_ns, path, content):
                if isinstance(reading, Message):
                    self.messages.append(recording.Message(monitor.name, reading.mono_ns, reading.text))
                    continue
                key = (monitor.name, reading.name, reading.unit)
                times, values = self._columns.setdefault(key, (array("q"), array("d")))
                times.append(mono_ns)
                values.append(reading.value)

    def rows(self) -> Iterator[TelemetryRow]:
        """Everything so far, as `store.seal` takes it."""
        for (monitor, name, unit), (times, values) in self._columns.items():
            for mono_ns, value in zip(times, values, strict=True):
                yield monitor, name, mono_ns, value, unit


def all_monitors() -> list[Monitor]:
    """One new instance of every member of the room."""
    return [rooms.load("monitors", name)() for name in rooms.table("monitors")]


def recorded(path: Path) -> SeriesKeeper | None:
    """Telemetry of an unsealed recording, from its `telemetry.rtw`; None where it has none. For sealing what a dead host left."""
    stream = path / "telemetry.rtw"
    if not stream.is_file():
        return None
    keeper = SeriesKeeper(all_monitors())
    keeper.take(read_events(stream, StreamParser()))
    return keeper


class Telemetry:
    """The watch process. Start it before the load, stop it after: `cpu` then sees the load come and go."""

    def __init__(self, process: BoardProcess, keeper: SeriesKeeper, tee: Callable[[bytes], None]) -> None:
        self._process = process
        self._keeper = keeper
        self._tee = tee
        self._parser = StreamParser()
        self.reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, board: Board, rtprobe: str, monitors: Sequence[Monitor], max_ns: int, tee: Callable[[bytes], None]
    ) -> Telemetry:
        keeper = SeriesKeeper(monitors)
        guard = [rtprobe, "guard", "--attached", "--max", f"{max_ns}ns", "--"]
        process = await board.start([*guard, rtprobe, "watch", "--every", "1s", *keeper.paths])
        return cls(process, keeper, tee)

    async def stop(self, timeout_s: float) -> SeriesKeeper:
        """End the watch and return what it saw. Raises BoardError if it never said anything."""
        await self._process.close_stdin()
        await asyncio.wait([self.reader], timeout=timeout_s)
        if not self.reader.done():
            self.reader.cancel()
        if self._parser.bytes_seen == 0:
            raise BoardError("the monitors saw nothing", said(await self._process.errors()))
        return self._keeper

    async def _read(self) -> None:
        async for chunk in self._process.chunks():
            self._tee(chunk)
            self._keeper.take(self._parser.feed(chunk))
        self._keeper.take(self._parser.finish())

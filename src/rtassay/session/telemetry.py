"""Monitors while a run goes on: one `rtprobe watch` reads the files of all of them, every second."""

from __future__ import annotations

import asyncio
import errno
import fnmatch
import os
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from rtassay.boards.base import Allowance, BoardProcess, LinuxBoard
from rtassay.model import recording, rooms
from rtassay.model.errors import BoardError
from rtassay.model.events import Event, FileContent
from rtassay.model.inventory import Inventory
from rtassay.model.manifest import Manifest, MonitorEntry
from rtassay.model.units import format_cpu_list
from rtassay.monitors.base import Message, Monitor, plain
from rtassay.session.board_files import said
from rtassay.wire.stream import StreamParser, read_events

# The kernel's log at the first reading, /proc/interrupts of a large machine; watch takes it only where it is needed.
_MAX_BYTES = 1_000_000

# The file, the device or the service of the kernel does not exist. Any other error is a refusal.
_NOT_THERE = frozenset(
    (errno.ENOENT, errno.ENOTDIR, errno.ENODEV, errno.ENXIO, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOEXEC)
)

# The name it is launched under.
TELEMETRY = "telemetry"
TelemetryRow = tuple[str, str, int, float, str]


class SeriesKeeper:
    """Readings of all monitors as columns, from the contents of the files they asked for, and the state of every monitor."""

    def __init__(self, monitors: Sequence[Monitor]) -> None:
        self._monitors = monitors
        self._columns: dict[tuple[str, str, str], tuple[array[int], array[float]]] = {}
        self._contents: dict[str, bytes] = {}
        self._readers: dict[str, tuple[Monitor, ...]] = {}
        self._errors: dict[str, int] = {}
        self.messages: list[recording.Message] = []
        self.cut_short: str | None = None

    @property
    def paths(self) -> list[str]:
        """What to watch, every path once, in the order the monitors ask."""
        return list(dict.fromkeys(path for monitor in self._monitors for path in monitor.paths))

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if not isinstance(event, FileContent):
                continue
            if event.error:
                self._errors.setdefault(event.path, event.error)
                continue
            if event.content is not None:
                self._contents[event.path] = event.content
            content = self._contents.get(event.path)
            if content is not None:
                self._read(event.mono_ns, event.path, content)

    def _read(self, mono_ns: int, path: str, content: bytes) -> None:
        for monitor in self._readers_of(path):
            for reading in monitor.parse(mono_ns, path, content):
                if isinstance(reading, Message):
                    self.messages.append(recording.Message(monitor.name, reading.mono_ns, reading.text))
                    continue
                key = (monitor.name, reading.name, reading.unit)
                times, values = self._columns.setdefault(key, (array("q"), array("d")))
                times.append(mono_ns)
                values.append(reading.value)

    def _readers_of(self, path: str) -> tuple[Monitor, ...]:
        if path not in self._readers:
            self._readers[path] = tuple(m for m in self._monitors if any(_matches(path, asked) for asked in m.paths))
        return self._readers[path]

    def rows(self) -> Iterator[TelemetryRow]:
        """Everything so far, as `store.seal` takes it."""
        for (monitor, name, unit), (times, values) in self._columns.items():
            for mono_ns, value in zip(times, values, strict=True):
                yield monitor, name, mono_ns, value, unit

    def entries(self) -> dict[str, MonitorEntry]:
        """The manifest's `monitors`: by name, whether each could watch, and how much it gave."""
        return {monitor.name: self._entry(monitor) for monitor in self._monitors}

    def into(self, manifest: Manifest, path: Path) -> Manifest:
        """The manifest with `monitors`, as `store.seal` asks for it at its end (`finish`)."""
        return replace(manifest, monitors=self.entries())

    def _entry(self, monitor: Monitor) -> MonitorEntry:
        telling = [path for path in monitor.paths if path not in monitor.describing]
        failed = {
            path: number for path, number in self._errors.items() if any(_matches(path, asked) for asked in telling)
        }
        refused = next((_said(path, number) for path, number in failed.items() if number not in _NOT_THERE), None)
        if any(_matches(path, asked) for path in self._contents for asked in telling):
            readings = sum(len(times) for (name, *_), (times, _) in self._columns.items() if name == monitor.name)
            messages = sum(message.monitor == monitor.name for message in self.messages)
            why = self.cut_short or refused
            if readings or messages or monitor.may_be_silent:
                return MonitorEntry("watched", readings, messages, why)
            return MonitorEntry("no readings", why=why or "what was read told nothing")
        silent = self.cut_short or (None if self._contents or self._errors else "the watch said nothing")
        if refused is not None or silent is not None:
            return MonitorEntry("refused", why=refused or silent)
        absent = next((_said(path, number) for path, number in failed.items()), f"{plain(telling[0])}: nothing there")
        return MonitorEntry("not available", why=absent)


def _said(path: str, number: int) -> str:
    """A path and its error in words."""
    return f"{path}: {os.strerror(number)}"


def _matches(path: str, asked: str) -> bool:
    wanted = plain(asked)
    return path == wanted or (not wanted.startswith("@") and fnmatch.fnmatchcase(path, wanted))


def all_monitors() -> list[Monitor]:
    """One new instance of every member of the room."""
    return [rooms.load("monitors", name)() for name in rooms.table("monitors")]


def housekeeping(inventory: Inventory, measured: Collection[int]) -> tuple[int, ...]:
    """CPUs for the watch: those it may use that are not measured, isolated ones only where there are no others; () if none is left."""
    cpus = inventory.cpus
    free = tuple(cpu for cpu in cpus.allowed or () if cpu not in measured)
    return tuple(cpu for cpu in free if cpu not in (cpus.isolated or ())) or free


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

    def __init__(
        self, process: BoardProcess, keeper: SeriesKeeper, tee: Callable[[bytes], None], most_bytes: int
    ) -> None:
        self._allowed = Allowance("the board", "the monitors", most_bytes)
        self._process = process
        self._keeper = keeper
        self._tee = tee
        self._parser = StreamParser()
        self.reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        board: LinuxBoard,
        rtprobe: str,
        monitors: Sequence[Monitor],
        max_ns: int,
        tee: Callable[[bytes], None],
        most_bytes: int,
        cpus: Sequence[int] = (),
    ) -> Telemetry:
        """`most_bytes`: the limit of what it may send. `cpus`: where the watch may run (`housekeeping`); empty: anywhere."""
        keeper = SeriesKeeper(monitors)
        guard = [rtprobe, "guard", "--attached", "--max", f"{max_ns}ns", "--"]
        watch = [rtprobe, "watch", "--every", "1s", "--max-bytes", str(_MAX_BYTES)]
        where = ["--cpus", format_cpu_list(list(cpus))] if cpus else []
        return cls(await board.launch([*guard, *watch, *where, *keeper.paths], TELEMETRY), keeper, tee, most_bytes)

    async def stop(self, timeout_s: float) -> SeriesKeeper:
        """End the watch and return what it saw. Raises BoardError if it never said anything."""
        if self.reader.done():
            self._keeper.cut_short = "the watch ended before the run did"
        await self._process.close_stdin()
        await asyncio.wait([self.reader], timeout=timeout_s)
        if not self.reader.done():
            self.reader.cancel()
        if self._parser.bytes_seen == 0:
            raise BoardError("the monitors saw nothing", said(await self._process.errors()))
        return self._keeper

    async def _read(self) -> None:
        async for chunk in self._process.chunks():
            self._allowed.spend(chunk)
            self._tee(chunk)
            self._keeper.take(self._parser.feed(chunk))
        self._keeper.take(self._parser.finish())

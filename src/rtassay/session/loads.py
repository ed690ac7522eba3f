"""All loads of a run: started in order, proven alive, ended in order, and what they did as entries and telemetry."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rtassay.boards.base import LinuxBoard
from rtassay.model import rooms
from rtassay.model.errors import RtassayError
from rtassay.model.manifest import LoadEntry, Manifest
from rtassay.session.far import FarEnds, FarMachines
from rtassay.session.guarded import GuardedLoad, LoadWatch, PlannedLoad, TelemetryRow
from rtassay.wire.stream import StreamParser, read_events


def load_name(index: int) -> str:
    """What a load is launched as; its stream is this with `.rtw`."""
    return f"load-{index}"


class Loads:
    """The guarded loads of one run. `tee(name, bytes)` keeps their streams and logs."""

    def __init__(self, tee: Callable[[str, bytes], None]) -> None:
        self._tee = tee
        self._guarded: list[GuardedLoad] = []
        self._far = FarEnds()

    @property
    def readers(self) -> list[asyncio.Task[None]]:
        """The tasks that read their streams."""
        return [load.reader for load in self._guarded] + self._far.readers

    async def start(
        self,
        board: LinuxBoard,
        rtprobe: str,
        planned: Sequence[PlannedLoad],
        max_ns: int,
        most_bytes: int,
        started: Callable[[asyncio.Task[None]], None],
        unless_stopped: Callable[[Coroutine[Any, Any, None]], Coroutine[Any, Any, None]],
        far: FarMachines,
    ) -> None:
        """Start them one by one, those on other machines first; `started` hears of every reader here. One that others need is ready
        before the next is started."""
        for one in planned:
            if one.command.on is not None:
                end = await self._far.start(far, one, max_ns, most_bytes)
                await unless_stopped(end.wait_started())
        for index, one in enumerate(one for one in planned if one.command.on is None):
            name, tee = load_name(index), self._tee_of(index)
            load = await GuardedLoad.start(board, rtprobe, one, max_ns, tee, most_bytes, name)
            self._guarded.append(load)
            started(load.reader)
            if load.ends_last:
                await unless_stopped(load.wait_started())
        for load in self._guarded:
            await unless_stopped(load.wait_started())

    @property
    def ended_by_probe(self) -> list[str]:
        """Those that may end with the probe by themselves, as they were launched: a server has to wait for its clients."""
        return [load_name(index) for index, load in enumerate(self._guarded) if not load.ends_last]

    async def check_alive(self) -> None:
        """Raises BoardError for one that has ended already."""
        for load in (*self._far.loads, *self._guarded):
            await load.check_alive()

    async def stop(self, timeout_s: float) -> bool:
        """End them, servers after their clients. False if one had not ended within `timeout_s`."""
        for load in self._guarded:
            load.watch.stopping()
        for last in (False, True):
            await asyncio.gather(*(load.stop(timeout_s) for load in self._guarded if load.ends_last is last))
        await self._far.stop(timeout_s)
        return all(load.reader.done() for load in self._guarded)

    def started_entries(self) -> tuple[LoadEntry, ...]:
        """What is known of them while they run: should this process die, the recording still says what ran."""
        return tuple(load.watch.started_entry() for load in self._guarded)

    def entries(self) -> tuple[LoadEntry, ...]:
        """How they ran; their logs are written."""
        entries = []
        for index, load in enumerate(self._guarded):
            log = f"logs/load-{index}.txt"
            entry = self._far.into(self._through_clients(load, load.watch.entry(log)))
            # rtprobe's own loads write a stream, no text: the result stands for it.
            self._tee(log, load.log or f"{entry.operations} {entry.operations_unit}\n".encode())
            entries.append(entry)
        for name, text in self._far.logs():
            self._tee(name, text)
        return tuple(entries)

    def _through_clients(self, server: GuardedLoad, entry: LoadEntry) -> LoadEntry:
        """A server that ended because its client was asked to end was asked to end, too."""
        asked = [load.watch.stop_asked_ns for load in self._guarded if not load.ends_last]
        first = min((ns for ns in asked if ns is not None), default=None)
        if not server.ends_last or entry.stop_asked_ns is not None or first is None or entry.ended_ns is None:
            return entry
        return replace(entry, stop_asked_ns=first) if entry.ended_ns > first else entry

    def rows(self) -> Iterator[TelemetryRow]:
        """Their telemetry (LoadWatch)."""
        for index, load in enumerate(self._guarded):
            yield from load.watch.rows(index)

    def _tee_of(self, index: int) -> Callable[[bytes], None]:
        return lambda data: self._tee(f"{load_name(index)}.rtw", data)


class RecordedLoads:
    """Loads of an unsealed recording, from its `load-<i>.rtw`. For sealing what a dead host left."""

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self._watches: dict[int, LoadWatch] = {}
        for index, entry in enumerate(manifest.loads):
            stream = path / f"load-{index}.rtw"
            try:
                load = rooms.load("loads", entry.name)()
            except RtassayError:
                continue  # a load from a package that is not installed here
            if stream.is_file():
                watch = LoadWatch(entry, load)
                watch.take(read_events(stream, StreamParser()))
                self._watches[index] = watch

    def rows(self) -> Iterator[TelemetryRow]:
        """Their telemetry (LoadWatch)."""
        for index, watch in self._watches.items():
            yield from watch.rows(index)

    def into(self, manifest: Manifest, path: Path) -> Manifest:
        """The manifest with what their streams tell, as `store.seal` asks for it at its end (`finish`)."""
        loads = list(manifest.loads)
        for index, watch in self._watches.items():
            loads[index] = watch.entry(f"logs/load-{index}.txt")
        return replace(manifest, loads=tuple(loads))

"""Other machines that a load needs, e.g. the far end of a network load. Reached as boards are, and left with the run."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from rtassay.boards.base import LinuxBoard
from rtassay.model.errors import RtassayError, UsageError
from rtassay.model.manifest import LoadEntry, WorkPart
from rtassay.session.guarded import GuardedLoad, PlannedLoad

OpenMachine = Callable[[str], LinuxBoard]


class FarMachines:
    """The other machines of one run, each opened once. `by_name` makes a machine out of the name a person gave it."""

    def __init__(self, by_name: OpenMachine | None) -> None:
        self._by_name = by_name
        self._open: dict[str, LinuxBoard] = {}

    async def at(self, name: str) -> LinuxBoard:
        """Raises UsageError for a name that is none, BoardError where the machine cannot be reached."""
        if name not in self._open:
            if self._by_name is None:
                raise UsageError(f"a load needs the machine '{name}'", "this caller reaches no other machines")
            machine = self._by_name(name)
            await machine.open()
            self._open[name] = machine
        return self._open[name]

    async def close(self) -> None:
        """Nothing of ours is left on those that can be reached; on others the guards end what runs."""
        machines, self._open = self._open, {}
        for machine in machines.values():
            with contextlib.suppress(RtassayError, OSError):
                await machine.close()


class FarEnds:
    """The guarded far ends of the loads of a run. A lost link to one of them ends no run: the near end tells what got through."""

    def __init__(self) -> None:
        self._ends: list[tuple[PlannedLoad, GuardedLoad]] = []

    @property
    def readers(self) -> list[asyncio.Task[None]]:
        """The tasks that read their streams."""
        return [load.reader for _, load in self._ends]

    @property
    def loads(self) -> list[GuardedLoad]:
        return [load for _, load in self._ends]

    async def start(self, far: FarMachines, planned: PlannedLoad, max_ns: int, most_bytes: int) -> GuardedLoad:
        """Start one; it is not yet proven alive. Raises BoardError."""
        assert planned.command.on is not None
        machine = await far.at(planned.command.on)
        name = f"far-{len(self._ends)}"
        rtprobe = await machine.probe()
        load = await GuardedLoad.start(machine, rtprobe, planned, max_ns, lambda data: None, most_bytes, name)
        self._ends.append((planned, load))
        return load

    async def stop(self, timeout_s: float) -> None:
        """Ask them to end. One that cannot be asked is ended by its guard."""
        for load in self.loads:
            load.watch.stopping()
            with contextlib.suppress(RtassayError, OSError, TimeoutError):
                await asyncio.wait_for(load.stop(timeout_s), timeout_s)

    def logs(self) -> list[tuple[str, bytes]]:
        """(file, text) of each."""
        return [(f"logs/far-{index}.txt", load.log) for index, load in enumerate(self.loads)]

    def into(self, entry: LoadEntry) -> LoadEntry:
        """The entry of a near end, with the work that its far end counted as parts of their own."""
        parts: list[WorkPart] = []
        for planned, load in self._ends:
            if planned.spec == entry.spec:
                parts += _named(load.watch.entry(), str(planned.command.on))
        return replace(entry, parts=(*entry.parts, *parts)) if parts else entry


def _named(entry: LoadEntry, machine: str) -> Sequence[WorkPart]:
    if not entry.parts:
        return [WorkPart(f"far end on {machine}", skipped=True, why=entry.error or "it reported nothing")]
    return [replace(part, name=f"{part.name} by {machine}") for part in entry.parts]

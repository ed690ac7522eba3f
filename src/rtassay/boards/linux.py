"""Linux boards on top of a transport: attached ones, whose commands end with this process, and detached ones."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rtassay.boards import cleaning, scripts
from rtassay.boards.base import (
    AtClose,
    AttachedProcess,
    EndsWithHost,
    LinkLost,
    RemoteTransport,
    Transport,
    nothing_to_sync,
)
from rtassay.boards.binaries import installed_probe, probe_path, sha256_of
from rtassay.boards.commands import Commands
from rtassay.boards.spooled import SpooledProcess
from rtassay.boards.tenancy import Tenancy
from rtassay.boards.watching import Watching
from rtassay.model.errors import BoardError, RunLost

T = TypeVar("T")
# A step that a broken link interrupts each time is given up.
_MOST_CUTS = 10


class AttachedBoard(EndsWithHost):
    """The machine behind a transport that is never lost. Subclasses say where its `probe` is."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.transport = transport
        self.name = transport.name

    async def open(self) -> None:
        await self.transport.open()

    async def start(self, argv: Sequence[str]) -> AttachedProcess:
        return await self.transport.start(argv)

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> AttachedProcess:
        """As `start`: the command lives as long as this process, and the session ends what `ends` names."""
        return await self.start(argv)

    async def put(self, source: Path, target: str) -> None:
        await self.transport.put(source, target)

    async def read(self, path: str) -> bytes | None:
        return await self.transport.read(path)

    async def which(self, program: str) -> str | None:
        return await _which(self.transport, program)

    async def close(self) -> None:
        await self.transport.close()


class DetachedBoard:
    """The machine behind a transport whose connection can be lost: launched commands live in spools on the board.

    `directory`: a place on the board to use instead of the first that fits. One user at a time holds the board (tenancy.py).
    """

    detaches = True
    slow = False
    baud: int | None = None

    def __init__(self, transport: RemoteTransport, *, directory: str | None = None) -> None:
        self.notice: Callable[[str], None] = lambda sentence: None
        self.synced: Callable[[], Awaitable[None]] = nothing_to_sync
        self.at_close = AtClose.END
        self.transport = transport
        self.name = transport.name
        transport.notice = lambda sentence: self.notice(sentence)
        transport.measures = lambda: self._commands is not None and self._commands.measures
        self._asked_directory = directory
        self._resumed: Mapping[str, Any] | None = None
        self._left: Mapping[str, Any] | None = None
        self._tenancy: Tenancy | None = None
        self._commands: Commands | None = None
        self._heartbeat: asyncio.Task[None] | None = None
        self._probe: str | None = None
        self._programs: dict[str, str] = {}

    @property
    def connected(self) -> bool:
        return self.transport.connected

    @property
    def offline_s(self) -> float:
        return self.transport.offline_s

    async def open(self) -> None:
        if self._tenancy is not None:
            return
        await self.transport.open()
        try:
            await self._move_in()
        except BaseException:
            await self.close()
            raise

    async def probe(self) -> str:
        """The board's own rtprobe if it is the same file, since it may have capabilities; else a copy whose name holds its hash."""
        if self._probe is None:
            contact, tenancy = self.transport.contact, self._opened()
            source = probe_path(contact.machine, small=self.slow)
            self._probe = installed_probe(contact)
            if self._probe is None:
                target = f"{tenancy.directory}/rtprobe-{sha256_of(source)[:12]}"
                note = scripts.journal(tenancy.directory, f"put {target}")
                self._check_runs(
                    await self.transport.put(source, target, f"{note}; {shlex.quote(target)} --version 2>&1")
                )
                self._probe = target
        return self._probe

    async def start(self, argv: Sequence[str]) -> AttachedProcess:
        return await self._running().start(argv)

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> SpooledProcess:
        rtprobe = await self.probe()
        return await self._running().launch(rtprobe, argv, name, ends)

    async def reattach(self, name: str, offset: int) -> SpooledProcess:
        rtprobe = await self.probe()
        return await self._running().reattach(rtprobe, name, offset)

    async def put(self, source: Path, target: str) -> None:
        await self.transport.put(source, target, scripts.journal(self._opened().directory, f"put {target}"))

    async def read(self, path: str) -> bytes | None:
        return await self.transport.read(path)

    async def which(self, program: str) -> str | None:
        if program not in self._programs:
            try:
                found = await _which(self.transport, program)
            except LinkLost:
                await self.transport.reach()
                found = await _which(self.transport, program)
            if found is None:
                return None
            self._programs[program] = found
        return self._programs[program]

    async def through_cuts(self, work: Callable[[], Awaitable[T]]) -> T:
        for _ in range(_MOST_CUTS):
            try:
                return await work()
            except BoardError:
                if not await self._is_cut():
                    raise
            await self.transport.reach()
        return await work()

    async def clean(self, *, force: bool = False) -> list[str]:
        await self.transport.open()
        try:
            return await cleaning.clean(self.transport, self._asked_directory, force=force)
        finally:
            await self.close()

    def watching(self) -> Watching:
        return Watching(self.transport, self._asked_directory)

    @property
    def resume_data(self) -> Mapping[str, Any] | None:
        """Valid while open; after `close` only if something stays on the board."""
        if self._tenancy is None or self._tenancy.lease is None:
            return self._left
        return {**self._tenancy.resume_data, "rtprobe": self._probe}

    def resume(self, data: Mapping[str, Any]) -> None:
        self._resumed = dict(data)

    async def close(self) -> None:
        if self._heartbeat is not None:
            self._heartbeat.cancel()
            await asyncio.wait([self._heartbeat])
            self._heartbeat = None
        tenancy, commands = self._tenancy, self._commands
        if tenancy is None or commands is None:
            await self.transport.close()
            return
        await commands.end_attached()
        left = self.resume_data if commands.measures else None
        done = self.at_close is AtClose.END and commands.all_over
        try:
            if self.at_close is not AtClose.LEAVE_RUNNING and (self.transport.alive or done):
                if not await self._moved_out(tenancy, commands):
                    left = None
            elif commands.measures and not commands.all_over:
                self.notice(f"board '{self.name}' goes on without us; `rtassay run --attach` fetches its measurement")
        finally:
            await commands.stop_fetching()
            self._left = left
            self._tenancy = self._commands = self._probe = None
            self._programs = {}
            await self.transport.close()

    async def _move_in(self) -> None:
        tenancy = self._tenancy = Tenancy(self.transport, self._asked_directory, self._resumed)
        self._commands = Commands(self.transport, tenancy, lambda: self.synced())
        occupancy = await self.through_cuts(lambda: tenancy.take(self.notice))
        known = "" if self._resumed is None else str(self._resumed.get("rtprobe") or "")
        if known and Path(known).name in occupancy.files:
            self._probe = known
        self.transport.verify = tenancy.check_still_ours
        self._heartbeat = asyncio.create_task(tenancy.keep())

    async def _moved_out(self, tenancy: Tenancy, commands: Commands) -> bool:
        """Move out, through cuts of the link. Returns whether something stays on the board, or may stay there."""
        try:
            return await self.through_cuts(lambda: self._move_out(tenancy, commands))
        except RunLost:  # the board has been cleared, perhaps by an order of ours whose answer was lost
            return False
        except BoardError:
            return True

    async def _move_out(self, tenancy: Tenancy, commands: Commands) -> bool:
        """End the processes, fetch the missing output, remove the rest. Returns whether output stays to be fetched."""
        if tenancy.lease is None:  # we were refused the board
            await tenancy.withdraw()
            return False
        spools = (await tenancy.occupancy()).spools
        ours = [tenancy.spool(spool.name) for spool in spools if spool.run == tenancy.lease.run]
        kept = not await commands.end_spooled(ours, fetch_rest=self.at_close is AtClose.FETCH_REST)
        if kept:
            self.notice(f"board '{self.name}' keeps the rest of {tenancy.lease.run}; `rtassay run --attach` fetches it")
        await tenancy.leave(keep=kept, others=any(spool.run != tenancy.lease.run for spool in spools))
        return kept

    async def _is_cut(self) -> bool:
        """What fails while the connection breaks may say anything: whether it is broken is asked of the connection."""
        try:
            await self.transport.run(":")
        except LinkLost:
            return True
        return False

    def _opened(self) -> Tenancy:
        if self._tenancy is None:
            raise BoardError(f"there is no connection to board '{self.name}'", "it was not opened, or is closed")
        return self._tenancy

    def _running(self) -> Commands:
        self._opened()
        assert self._commands is not None
        return self._commands

    def _check_runs(self, said: bytes) -> None:
        """The machine's architecture, and a directory that programs run from: the probe says its version."""
        if not said.startswith(b"rtprobe "):
            last = said.decode(errors="replace").strip().splitlines()[-1:]
            raise BoardError(
                f"rtprobe does not run on board '{self.name}'",
                "; ".join([f"it is a {self.transport.contact.machine}", *last]),
                "build one for it: make -C probe CC=..., and name it with RTASSAY_PROBE",
            )


async def _which(transport: Transport, program: str) -> str | None:
    found = await transport.run(f"set -- {shlex.quote(program)}\n{scripts.WHICH}")
    return found.decode(errors="replace").strip() or None

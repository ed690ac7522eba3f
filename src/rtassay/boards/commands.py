"""Commands on a detached board: some end with the connection, spooled ones outlive it."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Sequence

from rtassay.boards import scripts
from rtassay.boards.base import PROBE, AttachedProcess, LinkLost, RemoteTransport
from rtassay.boards.spooled import Fetcher, SpooledProcess
from rtassay.boards.tenancy import Tenancy
from rtassay.model import foreign
from rtassay.model.errors import BoardError, RunLost

# Starting takes long on a board under full load.
_LAUNCH_S = 60.0
_MIB = 1024 * 1024
# When a run ends badly, we wait for the rest of its output while it comes, and at most this long.
_REST_S = 30.0
_STALLED_S = 5.0


class Commands:
    """Processes of one stay. `synced` is awaited before the board may delete output that has arrived."""

    def __init__(self, transport: RemoteTransport, tenancy: Tenancy, synced: Callable[[], Awaitable[None]]) -> None:
        self._transport = transport
        self._tenancy = tenancy
        self._synced = synced
        self._attached: list[AttachedProcess] = []
        self._fetcher: Fetcher | None = None
        self._spools: list[str] = []

    @property
    def measures(self) -> bool:
        """Whether the probe was launched, or may have been: what it measures stays on the board without us."""
        return self._tenancy.lease is not None and self._tenancy.spool(PROBE) in self._spools

    @property
    def all_over(self) -> bool:
        """Whether nothing more can arrive."""
        return all(process.over for process in self._spooled)

    async def start(self, argv: Sequence[str]) -> AttachedProcess:
        try:
            process = await self._transport.start(argv)
        except LinkLost:
            await self._transport.reach()
            process = await self._transport.start(argv)
        self._attached.append(process)
        return process

    async def launch(self, rtprobe: str, argv: Sequence[str], name: str, ends: Sequence[str]) -> SpooledProcess:
        spool = self._tenancy.spool(name)
        followers = [self._tenancy.spool(other) for other in ends]
        words = [rtprobe, "spool", "--budget", str(self._budget(name)), spool, *followers, "--", *argv]
        self._spools.append(spool)
        try:
            pid = await self._launched(words, argv, spool)
        except LinkLost:
            await self._transport.reach()
            # The command may have started before the link was lost.
            known = await self._pid_of(spool)
            pid = await self._launched(words, argv, spool) if known is None else known
        return await self._follow(rtprobe, name, pid)

    async def reattach(self, rtprobe: str, name: str, offset: int) -> SpooledProcess:
        spool = self._tenancy.spool(name)
        pid = await self._pid_of(spool)
        if pid is None:
            raise RunLost(
                f"board '{self._transport.name}' has nothing of '{name}' any more",
                f"{spool} is gone",
                "it was restarted or cleared since; rtassay seal finishes the part that arrived",
            )
        self._spools.append(spool)
        return await self._follow(rtprobe, name, pid, offset)

    async def end_attached(self) -> None:
        processes, self._attached = self._attached, []
        await asyncio.gather(*(process.end() for process in processes))

    async def stop_fetching(self) -> None:
        """Stop fetching. Output that has not arrived stays on the board."""
        if self._fetcher is not None:
            await self._fetcher.close()

    async def end_spooled(self, on_board: Sequence[str], *, fetch_rest: bool) -> bool:
        """End the processes of our spools and of those found `on_board`, which a dead host may have launched.

        With `fetch_rest` wait for the rest of the output. Returns False if some of it did not arrive.
        """
        spools = [spool for spool in dict.fromkeys([*self._spools, *on_board]) if not self._is_over(spool)]
        if not spools:
            return True
        await self._transport.run(scripts.end_spools(spools), scripts.END_SPOOLS_S)
        arrived = not fetch_rest or await self._rest_arrived()
        await self.stop_fetching()
        await self._transport.run(scripts.end_fetchers(spools))
        return arrived

    @property
    def _spooled(self) -> tuple[SpooledProcess, ...]:
        return () if self._fetcher is None else self._fetcher.processes

    async def _follow(self, rtprobe: str, name: str, pid: int, offset: int = 0) -> SpooledProcess:
        if self._fetcher is None:
            self._fetcher = Fetcher(self._transport, self._synced, rtprobe)
        return await self._fetcher.add(name, self._tenancy.spool(name), pid, offset)

    async def _pid_of(self, spool: str) -> int | None:
        words = (await self._transport.run(f"cat {shlex.quote(f'{spool}/pid')}")).split()
        return foreign.number(words[2].decode(errors="replace")) if len(words) >= 3 else None

    async def _launched(self, words: Sequence[str], argv: Sequence[str], spool: str) -> int:
        line = f"started {foreign.command_words(argv)}, spooled in {spool}"
        note = scripts.journal(self._tenancy.directory, line, " as process $p:")
        script = f'o=$({shlex.join(words)} 2>&1); c=$?; p=${{o#pid }}; echo "$c"; echo "$o"; [ $c = 0 ] && {note}'
        answer = await self._transport.run(script, _LAUNCH_S)
        code, _, said = answer.decode(errors="replace").strip().partition("\n")
        told = said.split()
        pid = foreign.number(told[1]) if len(told) == 2 else None
        if code != "0" or pid is None:
            why = said.strip().splitlines()
            raise BoardError(
                f"cannot start {argv[0]} on board '{self._transport.name}'", why[-1] if why else f"exit code {code}"
            )
        return pid

    def _budget(self, name: str) -> int:
        """Limit of unfetched bytes on the board, so that a small board does not run out of memory."""
        free = self._tenancy.free_bytes if self._tenancy.free_bytes is not None else 64 * _MIB
        memory = self._transport.contact.memory_bytes
        room = min(free // 2, free if memory is None else memory // 4)
        most, share = (256 * _MIB, 1) if name == PROBE else (16 * _MIB, 8)
        return max(_MIB, min(most, room // share))

    def _is_over(self, spool: str) -> bool:
        return any(process.over for process in self._spooled if process.directory == spool)

    async def _rest_arrived(self) -> bool:
        """Wait while output arrives; the readers of the streams fetch it. False if they do not, or if it takes too long."""
        begun = moved = time.monotonic()
        seen = -1
        while not self.all_over:
            now, came = time.monotonic(), sum(process.consumed for process in self._spooled)
            if came != seen:
                seen, moved = came, now
            if now - moved > _STALLED_S or now - begun > _REST_S:
                return False
            await asyncio.sleep(0.05)
        return True

"""A command that lives on the board alone: its stream comes by `rtprobe fetch`, over as many connections as it takes."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from rtassay.boards.base import AttachedProcess, LinkLost, RemoteTransport
from rtassay.model.errors import BoardError, RunLost

_ACK_EVERY_S = 2.0
_ENDS_S = 30.0


class SpooledProcess:
    """`pid` is the command's on the board."""

    def __init__(
        self,
        transport: RemoteTransport,
        rtprobe: str,
        synced: Callable[[], Awaitable[None]],
        name: str,
        directory: str,
        pid: int,
        offset: int = 0,
    ) -> None:
        self._transport = transport
        self._rtprobe = rtprobe
        self._synced = synced
        self._offset = offset
        self._consumed = offset
        self._acknowledged = offset
        self._last_ack_s = time.monotonic()
        self._fetcher: AttachedProcess | None = None
        self._signals: list[int] = []
        # The board passes on what has a higher number than the one before, which may have come from a host that is gone.
        self._first_signal = time.time_ns()
        self._close_stdin = False
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._words = b""
        self.name = name
        self.directory = directory
        self.pid = pid

    @property
    def ended(self) -> bool:
        """Whether all of it has arrived."""
        return self._ended.done() and self._ended.exception() is None

    @property
    def over(self) -> bool:
        """Whether nothing more can come: all of it has arrived, or the rest is lost."""
        return self._ended.done() and isinstance(self._ended.exception(), RunLost | None)

    @property
    def offset(self) -> int:
        """Bytes of its stream that have come."""
        return self._offset

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            while not self._ended.done():
                async for chunk in self._connection():
                    yield chunk
                    # We are asked for the next: the last one has been taken.
                    self._consumed = self._offset
                    await self._acknowledge()
        except BoardError as error:
            self._fail(error)
            raise

    async def _connection(self) -> AsyncIterator[bytes]:
        """What one connection brings; returns when it is lost and there is a new one, or when the command has ended."""
        try:
            argv = [self._rtprobe, "fetch", self.directory, "--from", str(self._offset)]
            fetcher = self._fetcher = await self._transport.start(argv)
            try:
                await self._repeat_requests(fetcher)
                async for chunk in fetcher.chunks():
                    self._offset += len(chunk)
                    yield chunk
                code = await fetcher.wait(_ENDS_S)
                words = await fetcher.errors()
            finally:
                self._fetcher = None
                await fetcher.end()
            if code != 0:
                raise RunLost("the board lost a part of the run", _last(words))
            await self._take_end()
        except (LinkLost, TimeoutError):
            await self._transport.reach()

    async def errors(self) -> bytes:
        return self._words

    async def close_stdin(self) -> None:
        """The spooler closes the stdin of the guard. Repeated on every new connection until it has ended."""
        self._close_stdin = True
        await self._say("close-stdin")

    async def signal(self, number: int) -> None:
        self._signals.append(int(number))
        await self._say(f"signal {self._first_signal + len(self._signals) - 1} {int(number)}")

    async def wait(self, timeout_s: float | None = None) -> int:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self._ended)

    async def _say(self, line: str) -> None:
        if self._fetcher is not None and not self._ended.done():
            await self._fetcher.write(f"{line}\n".encode())

    async def _repeat_requests(self, fetcher: AttachedProcess) -> None:
        """Numbered, so that the board does nothing twice."""
        for number, signal in enumerate(self._signals, self._first_signal):
            await fetcher.write(f"signal {number} {signal}\n".encode())
        if self._close_stdin:
            await fetcher.write(b"close-stdin\n")

    async def _acknowledge(self) -> None:
        now = time.monotonic()
        if self._consumed == self._acknowledged or now - self._last_ack_s < _ACK_EVERY_S or self._fetcher is None:
            return
        self._last_ack_s = now
        upto = self._consumed
        await self._synced()
        self._acknowledged = upto
        await self._say(f"ack {upto}")

    async def _take_end(self) -> None:
        place = shlex.quote(self.directory)
        answer, _, errors = (await self._transport.run(f"cat {place}/exit && cat {place}/errors")).partition(b"\n")
        words = answer.split()
        if len(words) != 3:
            raise BoardError("the board does not tell how the run ended", f"{self.directory}/exit cannot be read")
        code, total, lost = (int(word) for word in words)
        if self._offset < total:
            return  # fetch again from there
        if lost:
            raise RunLost(f"the board had no room for {lost} bytes of {self.name}", "its budget or its disk was full")
        self._words = errors
        if not self._ended.done():
            self._ended.set_result(code)

    def _fail(self, error: BoardError) -> None:
        if not self._ended.done():
            self._ended.set_exception(error)
            self._ended.exception()  # it may be that nobody waits


def _last(words: bytes) -> str | None:
    lines = words.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("rtprobe: ") if lines else None

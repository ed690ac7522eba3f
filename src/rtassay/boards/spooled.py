"""Commands that live on the board alone: one `rtprobe fetch` sends their streams, over several connections if one is lost."""

from __future__ import annotations

import asyncio
import contextlib
import struct
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from rtassay.boards.base import AttachedProcess, LinkLost, RemoteTransport
from rtassay.model import foreign
from rtassay.model.errors import BoardError, RunLost

_ACK_EVERY_S = 2.0
_ENDS_S = 30.0
# Limit of bytes that wait here for one reader; at the limit the other readers wait, too.
_QUEUED_BYTES = 4 * 1024 * 1024
# Records of `rtprobe fetch`: kind, 0, channel, length of what follows (wire/STREAM.md, "Spools").
_HEAD = struct.Struct("<BBHI")
_DATA, _END, _LOST = 1, 2, 3
# fetch sends at most 64 KiB of a stream, or of stderr, in one record.
_RECORD_MAX = 256 * 1024
# So many connections in a row may bring nothing, with growing pauses between them.
_FRUITLESS = 20
_PAUSE_S, _LONGEST_PAUSE_S = 0.5, 10.0


class SpooledProcess:
    """One command on the board. `pid` is the command's there; `Fetcher.add` makes it."""

    def __init__(self, fetcher: Fetcher, channel: int, name: str, directory: str, pid: int, offset: int) -> None:
        self._fetcher = fetcher
        self._channel = channel
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._room.set()
        self._abandoned = False
        self._signals: list[int] = []
        # The board passes on a signal with a higher number than the one before, which may have come from another host.
        self._first_signal = time.time_ns()
        self._stdin_closed = False
        self._ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._words = b""
        self.name = name
        self.directory = directory
        self.pid = pid
        self.offset = offset
        """Bytes of its stream that have arrived."""
        self.consumed = self.acknowledged = offset
        """Bytes that the reader has taken; bytes that the board may forget."""

    @property
    def over(self) -> bool:
        """Whether the reader has the stream up to its end, or up to a lost part."""
        ended = self._ended.done() and isinstance(self._ended.exception(), RunLost | None)
        return ended and self.consumed == self.offset

    @property
    def wanted(self) -> bool:
        """Whether it is still to be fetched."""
        return not self._ended.done() and not self._abandoned

    async def chunks(self) -> AsyncIterator[bytes]:
        """Its stdout up to the end. Raises RunLost for a lost part, BoardError when the connection does not come back."""
        try:
            while True:
                while self._queue:
                    chunk = self._queue.popleft()
                    self._queued -= len(chunk)
                    self._room.set()
                    yield chunk
                    # The reader asks for the next one: it has taken the last.
                    self.consumed += len(chunk)
                    await self._fetcher.acknowledge()
                if self._ended.done():
                    self._ended.result()
                    return
                self._news.clear()
                await self._news.wait()
        finally:
            if not self._ended.done():
                await self._abandon()

    async def errors(self) -> bytes:
        return self._words

    async def close_stdin(self) -> None:
        """The spooler closes the stdin of the guard. Repeated on every new connection until it has ended."""
        self._stdin_closed = True
        await self._tell("close-stdin")

    async def signal(self, number: int) -> None:
        self._signals.append(int(number))
        await self._tell(f"signal {self._first_signal + len(self._signals) - 1} {int(number)}")

    async def wait(self, timeout_s: float | None = None) -> int:
        async with asyncio.timeout(timeout_s):
            return await asyncio.shield(self._ended)

    def requests(self) -> Iterator[str]:
        """Lines for `fetch` on a new connection. Signals are numbered, so that the board sends none twice."""
        yield f"follow {self._channel} {self.offset} {self.directory}"
        for number, signal in enumerate(self._signals, self._first_signal):
            yield f"tell {self._channel} signal {number} {signal}"
        if self._stdin_closed:
            yield f"tell {self._channel} close-stdin"

    async def put(self, kind: int, payload: bytes) -> None:
        """Take a record from the connection. Waits while the reader is far behind."""
        if not self.wanted:
            return
        if kind == _DATA:
            self.offset += len(payload)
            self._queue.append(payload)
            self._queued += len(payload)
            self._news.set()
            if self._queued > _QUEUED_BYTES:
                self._room.clear()
                await self._room.wait()
        elif kind == _LOST:
            self.fail(RunLost("the board lost a part of the run", payload.decode(errors="replace")))
        elif kind == _END:
            self._end(payload)

    def fail(self, error: BoardError) -> None:
        """End it with an error, after what has arrived."""
        if not self._ended.done():
            self._ended.set_exception(error)
            self._ended.exception()  # so that no warning comes if nobody waits
        self._news.set()

    def acknowledgement(self) -> str:
        """The line that lets the board delete the bytes taken here."""
        return f"ack {self._channel} {self.consumed}"

    def _end(self, payload: bytes) -> None:
        head, _, self._words = payload.partition(b"\n")
        told = [foreign.number(word) for word in head.decode(errors="replace").split()]
        numbers = [number for number in told if number is not None]
        if len(numbers) != 3:
            self.fail(BoardError("the board does not say how the run ended", f"{self.directory}/exit cannot be read"))
        elif lost := numbers[2]:
            self.fail(
                RunLost(f"the board had no room for {lost} bytes of {self.name}", "its budget or its disk was full")
            )
        elif not self._ended.done():
            self._ended.set_result(numbers[0])
        self._news.set()

    async def _abandon(self) -> None:
        """Stop reading: further output stays on the board."""
        self._abandoned = True
        self._queue.clear()
        self._room.set()
        await self._fetcher.say(f"leave {self._channel}")

    async def _tell(self, line: str) -> None:
        if not self._ended.done():
            await self._fetcher.say(f"tell {self._channel} {line}")


class Fetcher:
    """All spooled processes of one board, and the connection that serves them.

    `synced` is awaited before the board may delete bytes that have arrived. `rtprobe` is the path of the program on the board.
    """

    def __init__(self, transport: RemoteTransport, synced: Callable[[], Awaitable[None]], rtprobe: str) -> None:
        self._transport = transport
        self._synced = synced
        self._rtprobe = rtprobe
        self._processes: list[SpooledProcess] = []
        self._link: AttachedProcess | None = None
        self._requested: set[SpooledProcess] = set()
        self._pump: asyncio.Task[None] | None = None
        self._hanging_up = False
        self._acknowledging = False
        self._last_ack_s = time.monotonic()
        self._arrived = 0

    @property
    def processes(self) -> tuple[SpooledProcess, ...]:
        return tuple(self._processes)

    async def add(self, name: str, directory: str, pid: int, offset: int = 0) -> SpooledProcess:
        """Fetch the spool in `directory` from byte `offset` on."""
        process = SpooledProcess(self, len(self._processes), name, directory, pid, offset)
        self._processes.append(process)
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._serve())
        else:
            await self._request(process)
        return process

    async def close(self) -> None:
        """Close the connection. Output that has not arrived stays on the board."""
        if self._pump is not None:
            if not self._hanging_up:
                self._pump.cancel()
            await asyncio.wait([self._pump])
        self._fail_all(BoardError("the connection that fetched from the board was closed"))

    async def say(self, line: str) -> None:
        """Send a line to the board's `fetch`; does nothing without a connection."""
        if self._link is not None:
            await self._link.write(f"{line}\n".encode())

    async def acknowledge(self) -> None:
        """Every few seconds, save here the bytes that the readers have taken, and let the board delete them."""
        now = time.monotonic()
        if self._acknowledging or self._link is None or now - self._last_ack_s < _ACK_EVERY_S:
            return
        behind = [(p, p.consumed, p.acknowledgement()) for p in self._processes if p.consumed > p.acknowledged]
        self._last_ack_s, self._acknowledging = now, True
        try:
            if behind:
                await self._synced()
            for process, upto, line in behind:
                process.acknowledged = upto
                await self.say(line)
        finally:
            self._acknowledging = False

    async def _serve(self) -> None:
        """Fetch over one connection after the other, until all commands are fetched."""
        fruitless = 0
        try:
            while any(process.wanted for process in self._processes):
                before = self._arrived
                with contextlib.suppress(LinkLost, TimeoutError):
                    await self._one_connection()
                    continue
                fruitless = 0 if self._arrived > before else fruitless + 1
                if fruitless > _FRUITLESS:
                    raise BoardError(
                        "the board sends nothing of the run",
                        f"{fruitless} connections in a row ended without a byte",
                        "look at the board's memory, its processes and its kernel log",
                    )
                await self._transport.reach()
                await asyncio.sleep(min(fruitless * _PAUSE_S, _LONGEST_PAUSE_S))
        except BoardError as error:
            self._fail_all(error)
        except Exception as error:  # a reader must not wait for ever
            self._fail_all(BoardError("fetching from the board failed", repr(error)))

    async def _one_connection(self) -> None:
        """Fetch over this connection until all commands are fetched. Raises LinkLost when the connection is lost."""
        link = await self._transport.start([self._rtprobe, "fetch"])
        self._link, self._requested, self._hanging_up = link, set(), False
        try:
            for process in self._processes:
                await self._request(process)
            async for channel, kind, payload in _records(link.chunks()):
                if channel >= len(self._processes):
                    raise _no_records(f"a record of channel {channel}, which nobody asked for")
                self._arrived += len(payload)
                await self._processes[channel].put(kind, payload)
                if not any(process.wanted for process in self._processes):
                    return
            code = await link.wait(_ENDS_S)
            raise RunLost(
                "the program that sends the run's data on the board has ended",
                _last(await link.errors()) or f"exit code {code}",
            )
        finally:
            self._link, self._hanging_up = None, True
            await link.end()
            self._hanging_up = False

    async def _request(self, process: SpooledProcess) -> None:
        """Ask only once per connection: a second request would send the data twice."""
        if self._link is not None and process.wanted and process not in self._requested:
            self._requested.add(process)
            for line in process.requests():
                await self.say(line)

    def _fail_all(self, error: BoardError) -> None:
        for process in self._processes:
            process.fail(error)


async def _records(chunks: AsyncIterator[bytes]) -> AsyncIterator[tuple[int, int, bytes]]:
    """Channel, kind and payload of each record. A record that was cut is left out. Raises BoardError for what is no record."""
    seen = bytearray()
    async for chunk in chunks:
        seen += chunk
        at = 0
        while len(seen) - at >= _HEAD.size:
            kind, zero, channel, length = _HEAD.unpack_from(seen, at)
            if zero or kind not in (_DATA, _END, _LOST) or length > _RECORD_MAX:
                raise _no_records(f"a record of kind {kind} with {length:,} bytes")
            if len(seen) - at < _HEAD.size + length:
                break
            yield channel, kind, bytes(seen[at + _HEAD.size : at + _HEAD.size + length])
            at += _HEAD.size + length
        del seen[:at]


def _no_records(what: str) -> BoardError:
    return BoardError("the program that sends the run's data on the board is not rtprobe", f"it sent {what}")


def _last(words: bytes) -> str | None:
    lines = words.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("rtprobe: ") if lines else None

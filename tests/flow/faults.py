"""A board that fails on purpose: the real local one with a broken cable, noise on the line, or its power pulled.

A fault is a function from chunks to chunks; it applies to the processes whose command line holds its word (`cyclic`: the probe,
`watch`: monitors and inventory, `load` ...).
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

from rtassay.boards.local import LocalBoard, LocalProcess, LocalTransport
from rtassay.model.errors import BoardError

Fault = Callable[[AsyncIterator[bytes]], AsyncIterator[bytes]]


def cut_after(size: int) -> Fault:
    """The stream ends after `size` bytes, as if the far end had closed it."""

    async def cut(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        left = size
        async for chunk in chunks:
            if len(chunk) >= left:
                yield chunk[:left]
                return
            left -= len(chunk)
            yield chunk

    return cut


def lose_board_after(size: int) -> Fault:
    """The transport itself fails after `size` bytes."""

    async def lose(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in cut_after(size)(chunks):
            yield chunk
        raise BoardError("the board is gone", "connection reset", "look at its power and its cable")

    return lose


def flip_a_byte_every(step: int, start: int, stop: int) -> Fault:
    """Noise: every `step`-th byte from `start` to `stop` has all its bits turned."""

    async def flip(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        at = 0
        async for chunk in chunks:
            damaged = bytearray(chunk)
            first = start if at < start else at + (-(at - start) % step)
            for place in range(first, min(stop, at + len(chunk)), step):
                damaged[place - at] ^= 0xFF
            at += len(chunk)
            yield bytes(damaged)

    return flip


def trickle(size: int, pause_s: float) -> Fault:
    """A slow link: pieces of `size` bytes with a pause after each."""

    async def slow(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for chunk in chunks:
            for at in range(0, len(chunk), size):
                yield chunk[at : at + size]
                await asyncio.sleep(pause_s)

    return slow


class FaultyProcess:
    """A local process with a fault on its stdout."""

    def __init__(self, process: LocalProcess, fault: Fault) -> None:
        self._process = process
        self._fault = fault
        self.pid = process.pid

    def chunks(self) -> AsyncIterator[bytes]:
        return self._fault(self._process.chunks())

    async def errors(self) -> bytes:
        return await self._process.errors()

    async def close_stdin(self) -> None:
        await self._process.close_stdin()

    async def signal(self, number: int) -> None:
        await self._process.signal(number)

    async def wait(self, timeout_s: float | None = None) -> int:
        return await self._process.wait(timeout_s)


class FaultyTransport(LocalTransport):
    """The local transport, with faults by word."""

    name = "faulty"

    def __init__(self, faults: dict[str, Fault]) -> None:
        super().__init__()
        self._faults = faults
        self.started: list[list[str]] = []

    async def start(self, argv: Sequence[str]) -> Any:
        self.started.append(list(argv))
        process = await super().start(argv)
        for word, fault in self._faults.items():
            if word in argv:
                return FaultyProcess(process, fault)
        return process


class FaultyBoard(LocalBoard):
    """The local board, with faults by word and programs replaced or hidden (`{"cyclictest": None}`: not installed)."""

    transport: FaultyTransport

    def __init__(self, faults: dict[str, Fault] | None = None, programs: dict[str, Path | None] | None = None) -> None:
        super().__init__(FaultyTransport(faults or {}))
        self._programs = programs or {}

    @property
    def started(self) -> list[list[str]]:
        return self.transport.started

    async def which(self, program: str) -> str | None:
        if program in self._programs:
            replaced = self._programs[program]
            return None if replaced is None else str(replaced)
        return await super().which(program)


def kill(pid: int) -> None:
    """SIGKILL to one process that may be gone."""
    import os

    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return

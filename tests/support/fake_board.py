"""A board whose launched processes are made up, for faults that a real one cannot be asked for. Short commands are real, on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rtassay.boards.base import AtClose
from rtassay.boards.local import LocalBoard
from rtassay.model.errors import RunLost


@dataclass
class Script:
    """One process: it writes `data`, raises `fails` if there is one, and ends with `code`; with `waits` it ends only when told to.

    `deaf`: it never ends, whatever it is told.
    """

    data: bytes = b""
    code: int = 0
    errors: bytes = b""
    fails: Exception | None = None
    waits: bool = False
    deaf: bool = False
    signals: list[int] = field(default_factory=list)
    told_to_end: asyncio.Event = field(default_factory=asyncio.Event)


class FakeProcess:
    """A Script from byte `offset` on."""

    pid = 4242

    def __init__(self, script: Script, offset: int = 0) -> None:
        self.script = script
        self._offset = offset
        self._ended = asyncio.Event()

    async def chunks(self) -> AsyncIterator[bytes]:
        script = self.script
        for at in range(self._offset, len(script.data), 500):
            yield script.data[at : min(at + 500, len(script.data))]
            await asyncio.sleep(0)
        if script.fails is not None:
            raise script.fails
        if script.waits or script.deaf:
            await script.told_to_end.wait()
        if script.deaf:
            await asyncio.Event().wait()
        self._ended.set()

    async def errors(self) -> bytes:
        return self.script.errors

    async def close_stdin(self) -> None:
        self.script.told_to_end.set()

    async def signal(self, number: int) -> None:
        self.script.signals.append(number)
        self.script.told_to_end.set()

    async def wait(self, timeout_s: float | None = None) -> int:
        async with asyncio.timeout(timeout_s):
            await self._ended.wait()
        return self.script.code


class FakeBoard(LocalBoard):
    """`scripts`: name of what is launched -> what it does. With `outlives_us` the board keeps a run that `attach` can find."""

    def __init__(self, scripts: Mapping[str, Script], *, outlives_us: bool = False) -> None:
        super().__init__()
        self.name = "fake"
        self.scripts = scripts
        self.reattached: dict[str, int] = {}
        self.closed_with: list[AtClose] = []
        self.resume_data = {"run": "run-1"} if outlives_us else None

    async def launch(self, argv: Sequence[str], name: str, *, ends: Sequence[str] = ()) -> Any:
        return FakeProcess(self.scripts[name])

    def resume(self, data: Mapping[str, Any]) -> None:
        assert data == self.resume_data

    async def reattach(self, name: str, offset: int) -> Any:
        if name not in self.scripts:
            raise RunLost(f"nothing of {name}")
        self.reattached[name] = offset
        return FakeProcess(self.scripts[name], offset)

    async def close(self) -> None:
        self.closed_with.append(self.at_close)
        await super().close()

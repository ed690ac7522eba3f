"""A load under `rtprobe guard --wrap`: it is proven alive, its output is kept, and it ends when we let go or die."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Sequence

from rtassay.boards.base import Board, BoardProcess
from rtassay.loads.base import Load
from rtassay.model.errors import BoardError
from rtassay.model.events import Event, Note, Output
from rtassay.model.manifest import LoadEntry
from rtassay.session.board_files import said
from rtassay.wire.stream import StreamParser

_ALIVE_S = 10.0
_OUTPUT_KEPT = 4 * 1024 * 1024


class GuardedLoad:
    """One load process. `exited` is set as soon as it is gone, asked to or not."""

    def __init__(
        self, process: BoardProcess, argv: Sequence[str], cpus: tuple[int, ...], tee: Callable[[bytes], None]
    ) -> None:
        self._process = process
        self._argv = tuple(argv)
        self._cpus = cpus
        self._tee = tee
        self._parser = StreamParser()
        self._output = bytearray()
        self._notes: dict[str, Note] = {}
        self._started = asyncio.Event()
        self.exited = asyncio.Event()
        self.reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        board: Board,
        rtprobe: str,
        argv: Sequence[str],
        cpus: tuple[int, ...],
        max_ns: int,
        tee: Callable[[bytes], None],
    ) -> GuardedLoad:
        guard = [rtprobe, "guard", "--attached", "--wrap", "--max", f"{max_ns}ns", "--", *argv]
        return cls(await board.start(guard), argv, cpus, tee)

    async def wait_started(self) -> None:
        """Until the guard says that it runs. Raises BoardError when it did not start."""
        waits = [asyncio.create_task(self._started.wait()), self.reader]
        done, _ = await asyncio.wait(waits, timeout=_ALIVE_S, return_when=asyncio.FIRST_COMPLETED)
        waits[0].cancel()
        if self.reader in done and (error := self.reader.exception()):
            raise error
        if not self._started.is_set():
            raise BoardError(
                f"the load did not start: {shlex.join(self._argv)}", self._last_words(await self._errors())
            )

    async def check_alive(self) -> None:
        """Raises BoardError if it is gone already: a load that ends by itself at once loads nothing."""
        if self.exited.is_set():
            why = self._last_words(await self._errors())
            raise BoardError(
                f"the load ended at once: {shlex.join(self._argv)}", why, "try its command by hand, or --load builtin"
            )

    async def stop(self, timeout_s: float) -> None:
        """Let go; the guard ends it. Returns when it is gone or after `timeout_s`; asking twice does no harm."""
        await self._process.close_stdin()
        await asyncio.wait([self.reader], timeout=timeout_s)

    @property
    def output(self) -> bytes:
        """What it wrote to stdout and stderr, the first 4 MiB."""
        return bytes(self._output)

    def entry(self, load: Load, tool_version: str | None, log: str | None) -> LoadEntry:
        """How it ran, on the board's clock."""
        result = load.result(self.output)
        exited = self._field_of("child_exited")
        return LoadEntry(
            name=load.name,
            argv=self._argv,
            cpus=self._cpus,
            tool_version=tool_version,
            started_ns=self._field_of("child_started").get("mono_ns"),
            ended_ns=exited.get("mono_ns"),
            stop_asked_ns=self._field_of("owner_gone").get("mono_ns"),
            exit_code=exited.get("exit_code"),
            signal=exited.get("signal"),
            user_ns=exited.get("user_ns"),
            system_ns=exited.get("system_ns"),
            operations=result.operations,
            operations_unit=result.unit,
            log=log,
            error=result.error,
        )

    def _field_of(self, name: str) -> dict[str, int | None]:
        return self._notes[name].data if name in self._notes else {}

    async def _errors(self) -> bytes:
        if not self.reader.done():
            return b""
        return await self._process.errors()

    def _last_words(self, errors: bytes) -> str | None:
        return said(self.output) or said(errors)

    async def _read(self) -> None:
        try:
            async for chunk in self._process.chunks():
                self._tee(chunk)
                self._take(self._parser.feed(chunk))
            self._take(self._parser.finish())
        finally:
            self.exited.set()

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Output):
                self._output += event.data[: _OUTPUT_KEPT - len(self._output)]
            elif isinstance(event, Note):
                self._notes.setdefault(event.name, event)
                if event.name == "child_started":
                    self._started.set()
                elif event.name == "child_exited":
                    self.exited.set()

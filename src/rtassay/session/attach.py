"""A run whose host died, while its board went on: what was begun is remembered in the recording, fetched later, and sealed."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rtassay.boards.base import PROBE, Allowance, AtClose, LinuxBoard
from rtassay.model import warnings
from rtassay.model.errors import BoardError, CorruptRecording, RunLost, UsageError
from rtassay.model.events import End, Facts, Second
from rtassay.model.facts import facts_of
from rtassay.model.files import open_regular, read_regular, replace_file
from rtassay.model.manifest import RunWarning
from rtassay.model.parsed import json_value
from rtassay.session import host_clock, inventory
from rtassay.session.board_files import read_files
from rtassay.session.control import Interrupted, LiveLanes, Progress, RunResult, StopRequest
from rtassay.session.loads import RecordedLoads, load_name
from rtassay.session.prepare import beside_limit, stream_limit
from rtassay.session.telemetry import TELEMETRY, recorded
from rtassay.store import RecordingWriter
from rtassay.wire.stream import StreamParser

if TYPE_CHECKING:
    from rtassay.boards.base import BoardProcess
    from rtassay.store.streams import ParserFor

FILE = "attach.json"
_SCHEMA = "rtassay/attach/1"
_PROGRESS_S = 1.0
# Loads and monitors end within this time after the probe.
_REST_S = 30.0


def remember(path: Path, board: LinuxBoard) -> None:
    """Write down how to find the run again. Nothing, where a run ends with its host."""
    if board.resume_data is None:
        return
    text = json.dumps({"schema": _SCHEMA, "board": board.name, "resume": dict(board.resume_data)}, indent=1) + "\n"
    try:
        replace_file(path / FILE, text.encode())
    except OSError as error:
        raise BoardError(f"cannot write {path / FILE}", error.strerror) from error


def forget(path: Path) -> None:
    """All of it has arrived."""
    with contextlib.suppress(OSError):
        (path / FILE).unlink(missing_ok=True)


def attachable(directory: Path) -> list[Path]:
    """Recordings in `directory` that a board may hold the rest of, oldest first."""
    return sorted(file.parent for file in directory.glob(f"*.rta/{FILE}"))


def board_of(path: Path) -> str:
    """The name of the board that holds the rest of a recording. Raises UsageError where none does."""
    return str(_memory(path)["board"])


async def attach(
    board: LinuxBoard,
    path: Path,
    *,
    parser_for: ParserFor,
    on_event: Callable[[Progress], None] = lambda progress: None,
    stop: StopRequest | None = None,
) -> RunResult:
    """Fetch what is missing, wait for the end of the measurement, and seal.

    A first request to stop ends the measurement in order, a second leaves everything as it is. Raises UsageError (nothing to attach
    to, or another process is at it), BoardError (board not reached), RunLost (nothing is left of it there), Interrupted.
    """
    known = _memory(path)
    writer = RecordingWriter.resume(path)
    attached = _Attached(board, writer, on_event, stop or StopRequest())
    try:
        board.resume(known["resume"])
        result = await attached.all(parser_for)
    except RunLost:
        board.at_close = AtClose.FETCH_REST  # fetch what is left of it
        raise
    finally:
        await attached.end_everything()
    return result


def _memory(path: Path) -> dict[str, Any]:
    try:
        data = json_value(read_regular(path / FILE))
    except FileNotFoundError as error:
        raise UsageError(
            f"no board holds the rest of {path.name}",
            "it has arrived, or its run ended with its host",
            "rtassay seal finishes it",
        ) from error
    except (OSError, ValueError) as error:
        raise CorruptRecording(f"{path / FILE} cannot be read", str(error)) from error
    if not isinstance(data, dict) or data.get("schema") != _SCHEMA or not isinstance(data.get("resume"), dict):
        raise CorruptRecording(f"{path / FILE} is not what it should be", f"expected schema {_SCHEMA}")
    return data


class _Attached:
    def __init__(
        self, board: LinuxBoard, writer: RecordingWriter, on_event: Callable[[Progress], None], stop: StopRequest
    ) -> None:
        self._board = board
        self._writer = writer
        self._on_event = on_event
        self._stop = stop
        self._lanes = LiveLanes()
        self._parser = StreamParser(only={"Facts", "Second", "End"})
        self._ended = False
        self._begun_s = time.monotonic()
        self._tasks: list[asyncio.Task[None]] = []

    async def all(self, parser_for: ParserFor) -> RunResult:
        self._tell("inventory")
        self._board.synced = self._sync
        # A failure here leaves the run on the board until all of it has arrived.
        self._board.at_close = AtClose.LEAVE_RUNNING
        self._read_what_arrived()
        await self._board.open()
        rtprobe = await self._board.probe()
        probe = await self._follow(PROBE, self._writer.stream_file)
        others = [await self._follow(name, f"{name}.rtw") for name in self._others()]
        await self._until_ended(probe)
        self._tell("collect")
        for process in others:
            if process is not None:
                await process.close_stdin()
        if self._tasks:  # none where all of it is here already
            await asyncio.wait(self._tasks, timeout=_REST_S + self._board.offline_s)
        if not all(task.done() for task in self._tasks):
            raise BoardError(
                "what ran beside the probe does not end", "its stdin was closed", "rtassay board clean ends it"
            )
        for task in self._tasks:
            await task
        self._board.at_close = AtClose.END
        await self._end_of_board(rtprobe, probe)
        return await self._seal(parser_for)

    async def end_everything(self) -> None:
        with contextlib.suppress(BoardError, OSError):
            await self._board.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(BoardError):
            self._writer.close()

    def _others(self) -> list[str]:
        names = [*(load_name(index) for index in range(len(self._writer.manifest.loads))), TELEMETRY]
        return [name for name in names if (self._writer.path / f"{name}.rtw").exists()]

    def _read_what_arrived(self) -> None:
        """Progress goes on where it stood."""
        if self._writer.stream_file.endswith(".rtw"):
            with open_regular(self._writer.path / self._writer.stream_file) as file:
                while chunk := file.read(1 << 20):
                    self._take(chunk)

    def _take(self, chunk: bytes) -> None:
        for event in self._parser.feed(chunk):
            if isinstance(event, Facts):
                self._lanes.start(facts_of(event.data).lanes)
            elif isinstance(event, Second):
                self._lanes.add(event)
            elif isinstance(event, End):
                self._ended = True

    async def _follow(self, name: str, file: str) -> BoardProcess | None:
        """None where all of it is here already, and the board has forgotten it."""
        try:
            process = await self._board.reattach(name, self._writer.written(file))
        except BoardError as error:
            if name == PROBE and not self._writer.stream_bytes:
                raise RunLost(
                    "nothing was measured",
                    "its host died before the probe was started",
                    "begin anew; this recording is empty",
                ) from error
            if name == PROBE and not self._ended:
                raise
            return None
        self._tasks.append(asyncio.create_task(self._read(process, file)))
        return process

    async def _read(self, process: BoardProcess, file: str) -> None:
        plan = self._writer.manifest.plan
        limit = stream_limit(plan) if file == self._writer.stream_file else beside_limit(plan)
        allowed = Allowance("the board", file, limit)
        async for chunk in process.chunks():
            allowed.spend(chunk)
            self._writer.append_to(file, chunk)
            if file == self._writer.stream_file and file.endswith(".rtw"):
                self._take(chunk)

    async def _until_ended(self, probe: BoardProcess | None) -> None:
        if probe is None:
            return
        asked = False
        reader = self._tasks[0]
        abort = asyncio.ensure_future(self._stop.aborted.wait())
        stop = asyncio.ensure_future(self._stop.asked.wait())
        try:
            while not reader.done():
                waits = {abort, *(task for task in self._tasks if not task.done()), *([] if asked else [stop])}
                await asyncio.wait(waits, timeout=_PROGRESS_S, return_when=asyncio.FIRST_COMPLETED)
                if abort.done():
                    raise Interrupted("aborted")
                for task in self._tasks:
                    if task.done():
                        await task
                if stop.done() and not asked:
                    asked = True
                    await probe.signal(2)
                self._tell("measure")
            await reader
        finally:
            for waiting in (abort, stop):
                waiting.cancel()
            await asyncio.gather(abort, stop, return_exceptions=True)

    async def _end_of_board(self, rtprobe: str, probe: BoardProcess | None) -> None:
        """What may have changed is read again. What fails here costs a warning, not the measurement."""
        manifest = self._writer.manifest
        said = list(manifest.warnings)
        end: dict[str, Any] = {}
        if probe is not None and (words := await probe.errors()):
            self._writer.append_to("logs/probe.txt", words)
        try:
            end = inventory.describe_end(await read_files(self._board, rtprobe, inventory.END_PATHS))
            end["host_clock"] = await host_clock.compare(self._board, rtprobe)
        except BoardError as error:
            said.append(RunWarning(warnings.END_NOT_READ, facts={"error": str(error)}))
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        self._writer.update(replace(manifest, inventory_end=end, wall_end=now, warnings=tuple(said)))

    async def _seal(self, parser_for: ParserFor) -> RunResult:
        from rtassay.store import seal

        self._tell("seal")
        path, manifest = self._writer.path, self._writer.manifest
        self._writer.close()
        forget(path)
        seen, loads = recorded(path), RecordedLoads(path, manifest)

        def finish(sealed: Any, where: Path) -> Any:
            filled = loads.into(sealed, where)
            return filled if seen is None else seen.into(filled, where)

        sealed = await asyncio.to_thread(
            seal,
            path,
            parser_for=parser_for,
            telemetry_rows=None if seen is None else itertools.chain(seen.rows(), loads.rows()),
            messages=() if seen is None else seen.messages,
            finish=finish,
        )
        return RunResult(path, sealed.id, sealed.end_reason or "unknown", self._stop.asked.is_set())

    async def _sync(self) -> None:
        await asyncio.to_thread(self._writer.sync)

    def _tell(self, phase: str) -> None:
        elapsed_ns = int((time.monotonic() - self._begun_s) * 1e9)
        self._on_event(
            Progress(phase, elapsed_ns, None, self._lanes.snapshot(), self._writer.path, self._board.connected)
        )

"""One run, in its order: check, inventory, monitors, load, warm-up, probe, collect, seal."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import shutil
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from rtassay import __version__
from rtassay.boards.base import AtClose, LinuxBoard
from rtassay.model import warnings
from rtassay.model.errors import BoardError, RtassayError, RunLost
from rtassay.model.inventory import Inventory, inventory_of
from rtassay.model.manifest import Manifest, Plan, RunWarning
from rtassay.session import attach, host_clock, inventory, line_speed
from rtassay.session.board_files import read_files, take_file
from rtassay.session.control import Interrupted, Progress, RunResult, StopRequest
from rtassay.session.far import FarMachines, OpenMachine
from rtassay.session.loads import Loads
from rtassay.session.measure import Measurement
from rtassay.session.prepare import GRACE_NS, SPIN_UP_NS, Prepared, beside_limit, load_seconds, prepare
from rtassay.session.settings import Settings
from rtassay.session.telemetry import SeriesKeeper, Telemetry, all_monitors, housekeeping
from rtassay.session.tuning_plans import Asked
from rtassay.store import RecordingWriter, new_id, open_recording

T = TypeVar("T")

_PROGRESS_S = 1.0
# By then a guard has ended its load: 20 s of grace at most, then SIGKILL. A busy board may take longer to tell.
_LOAD_ENDS_S = 30.0
# A slow line brings what it has late: it is over when nothing has come for so long.
_SILENT_S = 60.0
_SLOW = 5
_NS = 1_000_000_000
# A stream of facts alone, and of its end, is not longer.
_FACTS_BYTES = 1 << 16


async def run(
    board: LinuxBoard,
    plan: Plan,
    *,
    home: Path,
    labels: Mapping[str, str],
    note: str | None = None,
    name: str | None = None,
    on_event: Callable[[Progress], None] = lambda progress: None,
    stop: StopRequest | None = None,
    isolated: bool = False,
    lanes: int | None = None,
    accept: Callable[[Inventory], None] = lambda inventory: None,
    machine: OpenMachine | None = None,
    tune: Asked | None = None,
) -> RunResult:
    """Measure once and leave a sealed recording in the directory `home`.

    `plan.load` may be `auto`. `isolated` measures the CPUs the kernel isolates (where it isolates none, some are isolated for the length of the run), `lanes` only the first so many CPUs. `on_event`
    is called in every phase and, while measuring, once a second. `accept` sees the board's inventory before anything is started there;
    what it raises ends the run. `machine` makes another machine that a load needs out of its name. `tune`: settings that are changed
    before anything is read, and put back at the end.

    Load and monitors have ended when this returns or raises, and the recording is sealed or marked as unsealed.
    Raises UsageError (nothing was started), BoardError (board, disk, or the probe's own words), Interrupted (stopped before
    there was anything to seal, or aborted).
    """
    started = _Run(board, plan, home, labels, note, name, on_event, stop or StopRequest(), machine, tune)
    try:
        return await started.all(isolated=isolated, lanes=lanes, accept=accept)
    finally:
        await started.end_everything()


class _Run:
    def __init__(
        self,
        board: LinuxBoard,
        asked: Plan,
        home: Path,
        labels: Mapping[str, str],
        note: str | None,
        name: str | None,
        on_event: Callable[[Progress], None],
        stop: StopRequest,
        machine: OpenMachine | None,
        tune: Asked | None,
    ) -> None:
        self._board = board
        self._ends_s = _LOAD_ENDS_S * (_SLOW if board.slow else 1)
        self._settings = Settings(board, tune)
        self._far = FarMachines(machine)
        self._asked = asked
        self._home = home
        self._labels = dict(labels)
        self._note = note
        self._name = name
        self._on_event = on_event
        self._stop = stop
        self._writer: RecordingWriter | None = None
        self._telemetry: Telemetry | None = None
        self._loads = Loads(self._tee)
        self._measurement: Measurement | None = None
        self._seen: SeriesKeeper | None = None
        self._warnings: list[RunWarning] = []
        self._clock: dict[str, int | float | None] | None = None
        self._failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def all(self, *, isolated: bool, lanes: int | None, accept: Callable[[Inventory], None]) -> RunResult:
        """The order of a run."""
        self._tell("inventory")
        self._board.synced = self._sync
        await self._or_stopped(self._board.open())
        await self._or_stopped(self._settings.change(_longest_of(self._asked), isolate=isolated))
        prepared = await self._or_stopped(
            self._board.through_cuts(
                lambda: prepare(self._board, self._asked, isolated=isolated, lanes=lanes, far=self._far)
            )
        )
        accept(inventory_of(prepared.inventory))
        line_speed.tell(self._board, prepared)
        if self._asked.tuning is None:
            self._settings.tell(prepared.inventory)
        await self._compare_clocks(prepared)
        writer = self._writer = RecordingWriter.create(self._home, self._manifest(prepared), prepared.probe.stream_file)
        try:
            attach.remember(writer.path, self._board)
            await self._start_monitors(prepared)
            await self._start_loads(prepared)
            await self._warm_up(prepared)
            await self._measure(prepared)
            await self._unless(self._stop.aborted, Interrupted("aborted"), self._collect(prepared))
            return await self._seal(prepared)
        except BaseException as error:
            await self._keep_or_drop(writer, error)
            raise

    async def _start_monitors(self, prepared: Prepared) -> None:
        self._telemetry = await Telemetry.start(
            self._board,
            prepared.rtprobe,
            all_monitors(),
            _longest_ns(prepared),
            lambda data: self._tee("telemetry.rtw", data),
            beside_limit(prepared.plan),
            housekeeping(inventory_of(prepared.inventory), prepared.cpus),
        )
        self._watch(self._telemetry.reader)

    async def _start_loads(self, prepared: Prepared) -> None:
        """All of them proven alive, and still alive after a second of getting under way."""
        if not prepared.loads:
            return
        self._tell("load", planned_ns=SPIN_UP_NS)
        await self._loads.start(
            self._board,
            prepared.rtprobe,
            prepared.loads,
            _longest_ns(prepared),
            beside_limit(prepared.plan),
            self._watch,
            self._or_stopped,
            self._far,
        )
        await self._or_stopped(asyncio.sleep(SPIN_UP_NS / _NS))
        await self._loads.check_alive()
        # If this process dies, the recording still says which loads ran, with a start and no end.
        self._update(loads=self._loads.started_entries())

    async def _warm_up(self, prepared: Prepared) -> None:
        begun = time.monotonic()
        planned_ns = prepared.plan.warm_up_ns
        while (left_s := planned_ns / _NS - (time.monotonic() - begun)) > 0:
            self._tell("warm-up", int((time.monotonic() - begun) * _NS), planned_ns)
            await self._or_stopped(asyncio.sleep(min(_PROGRESS_S, left_s)))

    async def _measure(self, prepared: Prepared) -> None:
        """Until the probe has ended by itself, on request, or because it must have by now."""
        self._tell("measure", 0, prepared.planned_ns)
        assert self._writer is not None
        self._board.at_close = AtClose.FETCH_REST
        measurement = self._measurement = await Measurement.start(
            self._board, prepared, self._writer.append, ends=self._loads.ended_by_probe
        )
        await self._until_ended(measurement, prepared)
        await measurement.outcome()

    async def _until_ended(self, measurement: Measurement, prepared: Prepared) -> None:
        deadline = time.monotonic() + measurement.bound_s
        stop = asyncio.ensure_future(self._stop.asked.wait())
        abort = asyncio.ensure_future(self._stop.aborted.wait())
        try:
            asked = False
            while not measurement.reader.done():
                waits: set[asyncio.Future[Any]] = {measurement.reader, self._failure, abort}
                if not asked:
                    waits.add(stop)
                left_s = max(0.0, min(_PROGRESS_S, self._over_s(measurement, deadline) - time.monotonic()))
                await asyncio.wait(waits, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
                if abort.done():
                    raise Interrupted("aborted")
                if self._failure.done():
                    await self._failure
                if stop.done() and not asked:
                    asked = True
                    await measurement.ask_to_stop()
                    deadline = min(deadline, time.monotonic() - self._board.offline_s + GRACE_NS / _NS)
                if time.monotonic() >= self._over_s(measurement, deadline):
                    await measurement.end_by_guard()
                    break
                self._tell("measure", measurement.progress_ns(), prepared.planned_ns)
            if measurement.reader.done():
                await measurement.reader
        finally:
            for waiting in (stop, abort):
                waiting.cancel()
            await asyncio.gather(stop, abort, return_exceptions=True)

    def _over_s(self, measurement: Measurement, deadline: float) -> float:
        """When it is given up, as things are now."""
        over_s = deadline + self._board.offline_s
        return max(over_s, measurement.moved_s + _SILENT_S) if self._board.slow else over_s

    async def _keep_or_drop(self, writer: RecordingWriter, error: BaseException) -> None:
        """Remove a recording that has no activation, here and on the board; keep any other, unsealed, and name it in the error.

        What the board still has is fetched first.
        """
        await self.end_everything()
        on_board = self._board.resume_data is not None
        if not on_board and await asyncio.to_thread(_holds_nothing, writer):
            shutil.rmtree(writer.path, ignore_errors=True)
        elif on_board and self._board.at_close is AtClose.FETCH_REST and isinstance(error, RtassayError):
            kept = f"what was measured until then is in {writer.path}, and on the board: `rtassay run --attach` fetches the rest"
            error.hint = kept if error.hint is None or "--attach" in error.hint else f"{error.hint}; {kept}"
        elif isinstance(error, RunLost) or (isinstance(error, RtassayError) and error.hint is None):
            kept = f"what was measured until then is in {writer.path}, unsealed; `rtassay seal` finishes it"
            error.hint = kept if error.hint is None else f"{error.hint}; {kept}"

    async def _collect(self, prepared: Prepared) -> None:
        """The load ends after the probe, so that the measurement lies inside it; then what may have changed is read again."""
        self._tell("collect")
        measurement = self._measurement
        assert measurement is not None
        offline_s = self._board.offline_s
        while not (ended := await self._loads.stop(self._ends_s)) and self._board.offline_s > offline_s:
            offline_s = self._board.offline_s  # the request may not have arrived
        if not ended:
            self._warnings.append(RunWarning(warnings.LOAD_STILL_RUNNING, facts={"after_s": round(self._ends_s)}))
        entries = self._loads.entries()
        facts = measurement.facts
        if words := await measurement.words():
            self._tee("logs/probe.txt", words)
        if measurement.trace is not None:
            await self._keep_trace(measurement.trace)
        end = await self._end_of_board(prepared)
        versions = {"rtassay": __version__, **prepared.tool_versions}
        if facts.probe == "rtprobe" and facts.version:
            versions["rtprobe"] = facts.version
        self._update(
            source=prepared.probe.source(facts.version or _probe_version(prepared)),
            wall_start=measurement.wall_start,
            wall_end=_now(),
            inventory_end=end,
            loads=entries,
            look=self._stop.look,
            tool_versions=versions,
            warnings=tuple(self._warnings),
        )

    async def _keep_trace(self, path: str) -> None:
        """The kernel's trace of the hit moves from the board into the recording. What fails here costs a warning."""
        try:
            await take_file(self._board, path, lambda data: self._tee("logs/trace.txt", data))
        except BoardError as error:
            self._warnings.append(RunWarning(warnings.TRACE_NOT_KEPT, facts={"error": str(error)}))

    def _update(self, **fields: Any) -> None:
        assert self._writer is not None
        self._writer.update(replace(self._writer.manifest, **fields))

    async def _end_of_board(self, prepared: Prepared) -> dict[str, Any]:
        """The last of the telemetry and the inventory of the end. What fails here costs a warning, not the measurement."""
        try:
            if self._telemetry is not None:
                self._seen = await self._telemetry.stop(self._ends_s)
                self._update(monitors=self._seen.entries())
                if self._seen.cut_short is not None:
                    self._warnings.append(RunWarning(warnings.MONITORS_ENDED_EARLY))
            end = inventory.describe_end(await read_files(self._board, prepared.rtprobe, inventory.END_PATHS))
            if self._clock is not None:
                end["host_clock"] = await host_clock.compare(self._board, prepared.rtprobe, since=self._clock)
            return end
        except BoardError as error:
            self._warnings.append(RunWarning(warnings.END_NOT_READ, facts={"error": str(error)}))
            return {}

    async def _seal(self, prepared: Prepared) -> RunResult:
        from rtassay.store import seal

        self._tell("seal")
        writer = self._writer
        assert writer is not None
        writer.close()
        attach.forget(writer.path)
        self._board.at_close = AtClose.END
        probe = prepared.probe
        # Sealing reads and compresses the whole stream. Another thread does it, so that signals are still handled.
        manifest = await asyncio.to_thread(
            seal,
            writer.path,
            parser_for=lambda manifest: probe.parser(manifest.plan),
            telemetry_rows=None if self._seen is None else itertools.chain(self._seen.rows(), self._loads.rows()),
            messages=() if self._seen is None else self._seen.messages,
        )
        return RunResult(writer.path, manifest.id, manifest.end_reason or "unknown", self._stop.asked.is_set())

    async def end_everything(self) -> None:
        """Nothing we started is left on the board when this returns. Harmless when all has ended."""
        await self._settings.put_back()
        with contextlib.suppress(RtassayError, OSError):
            await self._board.close()
            if self._writer is not None and self._board.resume_data is None:
                attach.forget(self._writer.path)
        await self._far.close()
        readers = self._loads.readers
        readers += [part.reader for part in (self._telemetry, self._measurement) if part is not None]
        for reader in readers:
            reader.cancel()
        await asyncio.gather(*readers, return_exceptions=True)
        if self._failure.done():
            self._failure.exception()
        if self._writer is not None:
            with contextlib.suppress(BoardError):
                self._writer.close()

    def _manifest(self, prepared: Prepared) -> Manifest:
        return Manifest(
            id=new_id(),
            created=_now(),
            source=prepared.probe.source(_probe_version(prepared)),
            plan=prepared.plan,
            board=self._board.name,
            wall_start=_now(),
            inventory=prepared.inventory if self._clock is None else {**prepared.inventory, "host_clock": self._clock},
            labels=self._labels,
            note=self._note,
            name=self._name,
            tool_versions={"rtassay": __version__, **prepared.tool_versions},
        )

    async def _compare_clocks(self, prepared: Prepared) -> None:
        """Compare the clock of the board with ours, for people who compare logs. Nothing in the analysis depends on it."""
        if self._board.detaches:
            self._clock = await self._or_stopped(
                self._board.through_cuts(lambda: host_clock.compare(self._board, prepared.rtprobe))
            )

    async def _sync(self) -> None:
        if self._writer is not None:
            await asyncio.to_thread(self._writer.sync)

    def _tee(self, name: str, data: bytes) -> None:
        assert self._writer is not None
        self._writer.append_to(name, data)

    def _watch(self, reader: asyncio.Task[None]) -> None:
        """A reader that fails (a full disk, a lost board) ends the run; one that comes to its end does not."""

        def done(task: asyncio.Task[None]) -> None:
            if not task.cancelled() and (error := task.exception()) and not self._failure.done():
                self._failure.set_exception(error)

        reader.add_done_callback(done)

    async def _or_stopped(self, work: Coroutine[Any, Any, T]) -> T:
        return await self._unless(self._stop.asked, Interrupted("stopped before anything was measured"), work)

    async def _unless(self, event: asyncio.Event, error: Interrupted, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, unless the event comes (then `error`) or something fails first."""
        task = asyncio.ensure_future(work)
        told = asyncio.ensure_future(event.wait())
        try:
            await asyncio.wait({task, told, self._failure}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return await task
            if self._failure.done():
                await self._failure
            raise error
        finally:
            for waiting in (task, told):
                waiting.cancel()
            await asyncio.gather(task, told, return_exceptions=True)

    def _tell(self, phase: str, elapsed_ns: int = 0, planned_ns: int | None = None) -> None:
        lanes = self._measurement.lanes() if self._measurement is not None else ()
        path = self._writer.path if self._writer is not None else None
        self._on_event(Progress(phase, elapsed_ns, planned_ns, lanes, path, self._board.connected))


def _holds_nothing(writer: RecordingWriter) -> bool:
    """Whether the probe said nothing, or told to its end and has not one activation, as where the program of `exec` does not start."""
    if writer.stream_bytes == 0:
        return True
    if writer.stream_file != "stream.rtw" or writer.stream_bytes > _FACTS_BYTES:
        return False
    try:
        opened = open_recording(writer.path)
    except RtassayError:
        return False
    lanes = [lane.entry for lane in opened.lanes]
    return not opened.manifest.damage.cut and not any(lane.n or lane.missed or lane.dropped for lane in lanes)


def _probe_version(prepared: Prepared) -> str | None:
    """Version of the program that measures; it may have another name than the probe."""
    probe = prepared.probe
    return prepared.tool_versions.get(probe.program or probe.name)


def _longest_of(asked: Plan) -> int:
    """When the board puts its settings back by itself, should this host die: later than the run may take."""
    return (load_seconds(asked) + 120) * _NS


def _longest_ns(prepared: Prepared) -> int:
    """The guard's limit for what runs beside the probe: later than the load would end by itself."""
    return (load_seconds(prepared.plan) + 5) * _NS


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

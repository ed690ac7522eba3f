"""A load under `rtprobe guard --wrap`. It is proven alive, its output is kept, and it ends when we close its stdin or die."""

from __future__ import annotations

import asyncio
import shlex
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rtassay.boards.base import Allowance, BoardProcess, LinuxBoard
from rtassay.loads.base import Load, LoadCommand, LoadResult
from rtassay.model.errors import BoardError
from rtassay.model.events import End, Event, Note, Output
from rtassay.model.manifest import LoadEntry
from rtassay.model.notes import ChildNote, UsageNote
from rtassay.model.units import NS_PER_S
from rtassay.model.views import view_of
from rtassay.session.board_files import said
from rtassay.wire.stream import MAGIC, StreamParser

TelemetryRow = tuple[str, str, int, float, str]

MONITOR = "load"
CPU_TIME_UNIT = "CPU seconds"
_ALIVE_S = 10.0
# The guard tells its start itself, and its end ends the wait: only a board too busy to start it takes long (one of 10 s was seen).
_START_S = 60.0
# Over a console its words wait behind all others: so many times as long.
_SLOW = 5
_OUTPUT_KEPT = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class PlannedLoad:
    """One process to be started under a guard. `spec` is the load as asked for; several processes may share one."""

    load: Load
    spec: str
    cpus: tuple[int, ...]
    command: LoadCommand
    tool_version: str | None = None

    def entry(self) -> LoadEntry:
        """What is known before it has started."""
        return LoadEntry(
            name=self.load.name,
            argv=self.command.argv,
            cpus=self.cpus,
            tool_version=self.tool_version,
            spec=self.spec,
            classes=self.command.classes,
        )


class LoadWatch:
    """What the guard's stream tells of one load, while it runs or afterwards.

    Telemetry of the monitor `load`, a name for every quantity as `<index>.<load>.<quantity>`, index counting `manifest.loads`:

    - `cpus` (unit `CPUs`): CPU time used since the reading before, divided by the time since then; `processes`, `threads`, and
      `real_time` (threads of a real-time class): about once a second, from the guard's `usage`;
    - `gpu` (unit `GPUs`), of a load of class gpu: time on the engines of GPUs since the reading before, divided by the time since then;
    - `work` (unit such as `bytes/s`): work per second, where the load tells while it runs.
    """

    def __init__(self, planned: LoadEntry, load: Load) -> None:
        self._planned = planned
        self._meter = load.meter(planned.argv)
        self._notes: dict[str, Note] = {}
        self._end: End | None = None
        self._columns: dict[tuple[str, str], tuple[array[int], array[float]]] = {}
        self._used: tuple[int, int] | None = None
        self._most_real_time = 0
        self._gpu_ns: int | None = None
        self._gpu_interrupts: int | None = None
        self._result: LoadResult | None = None

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            if isinstance(event, Output):
                for rate in self._meter.take(event):
                    self._add("work", rate.unit, rate.mono_ns, rate.value)
            elif isinstance(event, Note):
                self._note(event)
            elif isinstance(event, End):
                self._end = event

    def stopping(self) -> None:
        """It is being asked to end now."""
        self._meter.stopping()

    def entry(self, log: str | None = None) -> LoadEntry:
        """How it ran so far, on the board's clock. Where the load counts no work itself, its CPU time stands for it."""
        # A meter reads its last line only once.
        result = self._result = self._result or self._meter.result()
        exited = self._told("child_exited")
        user_ns, system_ns = self._cpu_time(exited)
        operations, unit = result.operations, result.unit
        seen_ns = 0 if self._used is None else self._used[1]
        used_ns = seen_ns if user_ns is None or system_ns is None else user_ns + system_ns
        if operations is None and result.error is None and used_ns:
            operations, unit = used_ns / NS_PER_S, CPU_TIME_UNIT
        return replace(
            self._planned,
            started_ns=self._told("child_started").mono_ns,
            ended_ns=exited.mono_ns,
            stop_asked_ns=self._told("owner_gone").mono_ns,
            exit_code=exited.exit_code,
            signal=exited.signal,
            user_ns=user_ns,
            system_ns=system_ns,
            operations=operations,
            operations_unit=unit,
            parts=result.parts,
            error=result.error,
            policy="real-time" if self._most_real_time else None,
            gpu_ns=self._gpu_ns,
            gpu_interrupts=self._gpu_interrupts,
            software=result.software,
            log=log,
        )

    @property
    def stop_asked_ns(self) -> int | None:
        """When the guard heard that it shall end."""
        return self._told("owner_gone").mono_ns

    def started_entry(self) -> LoadEntry:
        """That it was started, and so far nothing else."""
        return replace(self._planned, started_ns=self._told("child_started").mono_ns)

    def rows(self, index: int) -> Iterator[TelemetryRow]:
        """Its telemetry as `store.seal` takes it."""
        for (quantity, unit), (times, values) in self._columns.items():
            for mono_ns, value in zip(times, values, strict=True):
                yield MONITOR, f"{index}.{self._planned.name}.{quantity}", mono_ns, value, unit

    def _note(self, note: Note) -> None:
        self._notes.setdefault(note.name, note)
        if note.name == "owner_gone":
            self._meter.stopping()
        elif note.name == "usage":
            self._usage(view_of(UsageNote, note.data))
        elif note.name == "child_started" and self._used is None:
            self._used = (self._told("child_started").mono_ns or 0, 0)

    def _usage(self, told: UsageNote) -> None:
        now, used = told.mono_ns, told.cpu_ns
        if now is None or used is None:
            return
        before, self._used = self._used, (now, used)
        if before is not None and now > before[0]:
            self._add("cpus", "CPUs", now, (used - before[1]) / (now - before[0]))
        self._gpu(told, now, before)
        counts = (
            ("processes", "processes", told.processes),
            ("threads", "threads", told.threads),
            ("real_time", "threads", told.real_time),
        )
        for name, unit, value in counts:
            if value is not None:
                self._add(name, unit, now, float(value))
        self._most_real_time = max(self._most_real_time, told.real_time or 0)

    def _gpu(self, told: UsageNote, now: int, before: tuple[int, int] | None) -> None:
        if told.gpu_ns is not None:
            if before is not None and now > before[0]:
                self._add("gpu", "GPUs", now, (told.gpu_ns - (self._gpu_ns or 0)) / (now - before[0]))
            self._gpu_ns = told.gpu_ns
        if told.gpu_interrupts is not None:
            self._gpu_interrupts = told.gpu_interrupts

    def _add(self, quantity: str, unit: str, mono_ns: int, value: float) -> None:
        times, values = self._columns.setdefault((quantity, unit), (array("q"), array("d")))
        times.append(mono_ns)
        values.append(value)

    def _cpu_time(self, exited: ChildNote) -> tuple[int | None, int | None]:
        """Of all its descendants where the guard came to its end, else of those the command waited for."""
        end = view_of(ChildNote, self._end.data) if self._end is not None else exited
        return end.user_ns, end.system_ns

    def _told(self, name: str) -> ChildNote:
        return view_of(ChildNote, self._notes[name].data if name in self._notes else None)


class GuardedLoad:
    """One load process. `exited` is set as soon as it is gone, asked to or not."""

    def __init__(
        self,
        process: BoardProcess,
        planned: PlannedLoad,
        tee: Callable[[bytes], None],
        most_bytes: int,
        offline_s: Callable[[], float] = lambda: 0.0,
        *,
        slow: bool = False,
    ) -> None:
        self._offline_s = offline_s
        self._patience = _SLOW if slow else 1
        self._allowed = Allowance("the board", f"the load {planned.spec}", most_bytes)
        self._process = process
        self._planned = planned
        self._tee = tee
        self._parser = StreamParser()
        self._log = bytearray()
        self._started = asyncio.Event()
        self._ready = asyncio.Event()
        self.watch = LoadWatch(planned.entry(), planned.load)
        self.exited = asyncio.Event()
        self.reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        board: LinuxBoard,
        rtprobe: str,
        planned: PlannedLoad,
        max_ns: int,
        tee: Callable[[bytes], None],
        most_bytes: int,
        name: str,
    ) -> GuardedLoad:
        """`most_bytes`: the limit of what it may send; `name`: what it is launched as."""
        options = ["--attached", "--wrap", "--cgroup", "--usage", "--max", f"{max_ns}ns"]
        options += ["--gpu"] if "gpu" in planned.command.classes else []
        argv = [rtprobe, "guard", *options, "--", *planned.command.argv]
        process = await board.launch(argv, name)
        return cls(process, planned, tee, most_bytes, lambda: board.offline_s, slow=board.slow)

    async def wait_started(self) -> None:
        """Until the guard says that it runs, and it says itself that it is ready, where it does. Raises BoardError otherwise."""
        await self._wait(self._started, _START_S * self._patience)
        if not self._started.is_set():
            raise BoardError(f"the load did not start: {self._line}", await self._last_words())
        if self._planned.command.ready is not None:
            await self._wait(self._ready, _ALIVE_S * self._patience)
            if not self._ready.is_set():
                raise BoardError(f"the load does not get ready: {self._line}", await self._last_words())

    async def check_alive(self) -> None:
        """Raises BoardError if it is gone already: a load that ends by itself at once loads nothing."""
        if self.exited.is_set():
            await asyncio.wait([self.reader], timeout=_ALIVE_S)
            raise BoardError(
                f"the load ended at once: {self._line}",
                await self._last_words(),
                "try its command by hand, or --load builtin",
            )

    async def stop(self, timeout_s: float) -> None:
        """Close the guard's stdin; the guard ends the load. Returns when it is gone or after `timeout_s`. May be called twice."""
        await self._process.close_stdin()
        await asyncio.wait([self.reader], timeout=timeout_s)

    @property
    def ends_last(self) -> bool:
        """Whether others need it until their end."""
        return self._planned.command.ready is not None

    @property
    def log(self) -> bytes:
        """The text it wrote to stdout and stderr, in order of time, the first 4 MiB."""
        return bytes(self._log)

    @property
    def _line(self) -> str:
        return shlex.join(self._planned.command.argv)

    async def _wait(self, event: asyncio.Event, timeout_s: float) -> None:
        waiting = asyncio.create_task(event.wait())
        offline_s = self._offline_s()
        done, _ = await asyncio.wait([waiting, self.reader], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        while not done and self._offline_s() > offline_s:  # the link was lost meanwhile
            offline_s = self._offline_s()
            done, _ = await asyncio.wait([waiting, self.reader], timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if self.reader in done and (error := self.reader.exception()):
            raise error

    async def _last_words(self) -> str | None:
        errors = await self._process.errors() if self.reader.done() else b""
        return said(self.log) or said(errors)

    async def _read(self) -> None:
        try:
            async for chunk in self._process.chunks():
                self._allowed.spend(chunk)
                self._tee(chunk)
                self._take(self._parser.feed(chunk))
            self._take(self._parser.finish())
        finally:
            self.exited.set()

    def _take(self, events: Sequence[Event]) -> None:
        self.watch.take(events)
        for event in events:
            if isinstance(event, Output):
                self._keep(event)
            elif isinstance(event, Note) and event.name == "child_started":
                self._started.set()
            elif isinstance(event, Note) and event.name == "child_exited":
                self.exited.set()

    def _keep(self, output: Output) -> None:
        # The stream of rtprobe's own loads is no text.
        if output.fd == 1 and (self._binary or output.data.startswith(MAGIC)):
            self._binary = True
            return
        self._log += output.data[: _OUTPUT_KEPT - len(self._log)]
        ready = self._planned.command.ready
        if ready is not None and not self._ready.is_set() and ready.encode() in self._log:
            self._ready.set()

    _binary = False

"""Carries out an experiment: one cell after the other, each journaled before and after, until all are sealed or a stop is requested."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from rtassay.experiments.cooling import Cooled, cool_down
from rtassay.experiments.directory import RECORDINGS, ExperimentLock, last_written_s
from rtassay.experiments.journal import DONE, Journal, states
from rtassay.experiments.kernels import CheckNames, Kernels, Switch
from rtassay.experiments.looks import Judge, take
from rtassay.experiments.matrix import OVERHEAD_NS, Cell, ExperimentPlan, estimate_ns
from rtassay.experiments.recovery import (
    Found,
    cut_off_while_measuring,
    ends_of,
    left_on_boards,
    recover,
    unfinished,
)
from rtassay.model.errors import BoardError, RtassayError, RunLost, ToolMissing, environment_error
from rtassay.model.manifest import Manifest
from rtassay.model.units import NS_PER_S
from rtassay.session.attach import forget
from rtassay.session.control import Interrupted, Progress, StopRequest
from rtassay.session.run import run as run_session
from rtassay.session.tuned_run import tuned
from rtassay.store import load_manifest

# After a kill of the host, guards end probe and loads, and after 10 s kill those that ignore SIGTERM. The last telemetry comes within 2 s.
_LEFTOVERS_END_S = 13.0
_RETRY_PAUSES_S = (2.0, 10.0, 30.0)

# A `boards.base.Board`: here it is only handed on to the session.
Board = Any
Attach = Callable[[Path, Callable[[Progress], None], StopRequest], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Tools:
    """Functions for the engine. `board`: a new contact with a board of that name. `finish`: seals a recording whose host died.

    `settled`: called for every recording that counts (to judge it); its errors become warnings, and the cell still counts.
    `switch`: boots a board's kernel by the name of its entry and returns when it runs; None: kernels cannot be changed.
    `kernel_names`: refuses names that a board does not know, before anything is measured. `attach`: continues a recording whose
    board went on without the host, and seals it. `look`: judges the repeats of a combination at a planned look.
    """

    board: Callable[[str], Board]
    finish: Callable[[Path], Manifest]
    settled: Callable[[Path], None] = lambda path: None
    switch: Switch | None = None
    kernel_names: CheckNames | None = None
    attach: Attach | None = None
    look: Judge | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """Progress of an experiment, for people. `phase`: waiting, fetching, booting, cooling, running, sealed, failed, adopted, superseded,
    looked, warning.

    `done` of `total` cells are sealed or no longer needed; `left_ns` is the expected time for the rest. `progress` is the session's, while one runs.
    """

    phase: str
    cell: Cell | None
    done: int
    total: int
    left_ns: int
    progress: Progress | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The end of an experiment. `failed`: (cell, reason); `stopped`: on request; `skipped`: cells that a planned look made needless.
    Complete when every other cell is sealed."""

    sealed: int
    total: int
    failed: tuple[tuple[Cell, str], ...] = ()
    stopped: bool = False
    found: Found = field(default_factory=lambda: Found((), ()))
    skipped: int = 0

    @property
    def complete(self) -> bool:
        return self.sealed + self.skipped == self.total


async def carry_out(
    path: Path,
    plan: ExperimentPlan,
    tools: Tools,
    *,
    on_step: Callable[[Step], None] = lambda step: None,
    stop: StopRequest | None = None,
    fail_fast: bool = False,
) -> Outcome:
    """Carry out the cells of the experiment in `path` that are not done yet.

    Sealed cells are never measured again. Recordings of an earlier attempt are adopted or superseded first. A failed cell does not stop
    the others (unless `fail_fast`). Raises UsageError if another process works on it or a kernel cannot be booted, BoardError
    if the journal cannot be written, CorruptRecording if it is damaged.
    """
    lock = ExperimentLock(path)
    try:
        with Journal(path) as journal:
            return await _Experiment(path, plan, tools, journal, on_step, stop or StopRequest(), fail_fast).all()
    finally:
        lock.release()


class _Experiment:
    def __init__(
        self,
        path: Path,
        plan: ExperimentPlan,
        tools: Tools,
        journal: Journal,
        on_step: Callable[[Step], None],
        stop: StopRequest,
        fail_fast: bool,
    ) -> None:
        self._path = path
        self._plan = plan
        self._hash = plan.hash
        self._tools = tools
        self._journal = journal
        self._on_step = on_step
        self._stop = stop
        self._fail_fast = fail_fast
        self._cells = {cell.id: cell for cell in plan.cells}
        self._states = states(journal.entries, self._cells)
        self._kernels = Kernels(tools.board, tools.switch, tools.kernel_names)
        self._lost: set[str] = set()
        self._at_boot = False
        self._overheads_ns: list[int] = []
        self._failed: dict[str, str] = {}

    async def all(self) -> Outcome:
        """The order of an experiment."""
        await self._wait_for_leftovers()
        await self._fetch()
        found = self._recover()
        self._plan_again("it was cut off before there was a recording")
        await self._kernels.check(self._left())
        if not self._journal.entries:
            self._journal.add("planned", plan=self._hash, cells=len(self._cells), name=self._plan.name)
        self._journal.add("opened", left=len(self._left()), adopted=len(found.adopted))
        self._look()
        measured = 0
        for cell in self._plan.cells:
            if self._states[cell.id].state in DONE or cell.board in self._lost:
                continue
            if self._stop.asked.is_set() or (self._fail_fast and self._failed):
                break
            await self._cell(cell, first=measured == 0)
            self._look()
            measured += 1
        outcome = self._outcome(found)
        self._journal.add("closed", sealed=outcome.sealed, failed=len(outcome.failed), stopped=outcome.stopped)
        return outcome

    def _look(self) -> None:
        """Take the planned looks that are due."""
        if self._tools.look is not None:
            take(self._path, self._plan, self._journal, self._states, self._tools.look, self._looked)
            self._states = states(self._journal.entries, self._cells)
            self._failed = {cell: why for cell, why in self._failed.items() if self._states[cell].state not in DONE}

    def _looked(self, cell: Cell, phase: str, text: str) -> None:
        self._tell(phase, cell, text=text)

    async def _wait_for_leftovers(self) -> None:
        """Wait, after a crash in a cell, until none of its processes can still run on the board."""
        if not cut_off_while_measuring(self._path, self._states):
            return
        wait_s = min(_LEFTOVERS_END_S, last_written_s(self._path) + _LEFTOVERS_END_S - time.time())
        if wait_s > 0:
            self._tell("waiting", text="for processes of the interrupted run on the board to end")
            await self._sleep(wait_s)

    def _recover(self) -> Found:
        """Recordings in `recordings/` that are not settled yet."""
        found = recover(self._path, self._cells, self._hash, self._journal, self._tools.finish)
        self._states = states(self._journal.entries, self._cells)
        by_recording = {state.recording: cell for cell, state in self._states.items() if state.recording}
        for recording in found.adopted:
            self._settle(recording)
            self._tell("adopted", self._cells[by_recording[recording]], text=recording)
        for recording in found.superseded:
            self._tell("superseded", text=recording)
        return found

    def _plan_again(self, why: str) -> None:
        """Plan again the cells that were interrupted without a recording."""
        for cell_id, state in self._states.items():
            if state.state == "running":
                self._journal.add("superseded", cell=cell_id, why=why)
        self._states = states(self._journal.entries, self._cells)

    async def _fetch(self, board: str | None = None) -> bool:
        """Fetch runs that boards (or one board) continued after the host or the link was lost. Returns whether there were any.

        Raises BoardError while a board cannot be reached.
        """
        if self._tools.attach is None:
            return False
        found = False
        for recording, cell in left_on_boards(self._path, self._cells, self._hash):
            if board not in (None, cell.board):
                continue
            found = True
            self._tell("fetching", cell, text=f"the run that '{cell.board}' continued alone")
            try:
                await self._tools.attach(recording, partial(self._progress, "fetching", cell), self._stop)
            except RunLost as error:
                forget(recording)
                self._tell("warning", cell, text=str(error))
            except BoardError as error:
                raise BoardError(
                    f"board '{cell.board}' holds the rest of {recording.name}, and it cannot be fetched now",
                    str(error),
                    f"resume when it can be reached; to give that run up: rtassay seal {recording}",
                ) from error
        return found

    async def _cell(self, cell: Cell, *, first: bool) -> None:
        """Measure one cell, with further attempts while they may help."""
        for attempt in range(self._plan.retries + 1):
            if attempt:
                pause_s = _RETRY_PAUSES_S[min(attempt, len(_RETRY_PAUSES_S)) - 1]
                self._tell("waiting", cell, text=f"{pause_s:.0f} s before another attempt")
                await self._sleep(pause_s)
                if self._stop.asked.is_set():
                    return
            why, again = await self._attempt(cell, cooled=first)
            if why is None:
                self._failed.pop(cell.id, None)
                return
            self._failed[cell.id] = why
            self._tell("failed", cell, text=why)
            if not again:
                break
        if self._at_boot and not self._stop.asked.is_set() and not await self._kernels.answers(cell.board):
            self._lost.add(cell.board)
            self._tell("warning", cell, text=f"board '{cell.board}' did not come back; its other cells wait for resume")

    async def _attempt(self, cell: Cell, *, cooled: bool) -> tuple[str | None, bool]:
        """None, or the reason of the failure and whether another attempt may help. A stopped cell has not failed."""
        begun = time.monotonic_ns()
        paused_ns = 0
        self._at_boot = False
        try:
            if await self._fetch(cell.board):
                self._recover()
                if self._states[cell.id].state == "sealed":
                    return None, False
            await self._boot(cell)
            cooling = None if cooled else await self._cool(cell)
            paused_ns = time.monotonic_ns() - begun
            if self._stop.asked.is_set():
                return None, False
            attempt = self._states[cell.id].attempts + 1
            facts: dict[str, Any] = (
                {} if cooling is None else {"cooled_to_c": cooling.to_c, "waited_s": round(cooling.waited_s, 1)}
            )
            self._journal.add("started", cell=cell.id, attempt=attempt, **facts)
            recording = await self._measure(cell, attempt)
        except Interrupted as error:
            self._recover()
            self._plan_again(str(error))
            return None, False
        except RtassayError as error:
            self._kernels.doubt(cell.board)
            words = str(error) if error.hint is None else f"{error}; {error.hint}"
            # A program that is not there is not there two seconds later.
            return self._failure(
                cell, words, again=isinstance(error, BoardError) and not isinstance(error, ToolMissing)
            )
        except Exception as bug:
            if isinstance(bug, OSError) and (of_machine := environment_error(bug)) is not None:
                return self._failure(cell, str(of_machine), again=True)
            # A bug in one cell must not end the whole experiment: it is journaled, and the other cells go on.
            return self._failure(cell, f"a bug in rtassay: {type(bug).__name__}: {bug}", again=False)
        manifest = load_manifest(recording)
        why = unfinished(manifest)
        if why is not None:
            self._journal.add("superseded", cell=cell.id, recording=manifest.id, why=why)
            self._states = states(self._journal.entries, self._cells)
            self._tell("superseded", cell, text=f"{manifest.id}, {why}")
            return (None, False) if self._stop.asked.is_set() else (why, True)
        self._journal.add("sealed", cell=cell.id, recording=manifest.id, **ends_of(manifest))
        self._states = states(self._journal.entries, self._cells)
        self._overheads_ns.append(max(0, time.monotonic_ns() - begun - paused_ns - cell.length_ns))
        self._settle(manifest.id)
        self._tell("sealed", cell, text=manifest.id)
        return None, False

    def _failure(self, cell: Cell, why: str, *, again: bool) -> tuple[str | None, bool]:
        """Settle the recording of the attempt first: it may be complete."""
        self._recover()
        if self._states[cell.id].state == "sealed":
            return None, False
        self._journal.add("failed", cell=cell.id, why=why)
        self._states = states(self._journal.entries, self._cells)
        return why, again

    async def _measure(self, cell: Cell, attempt: int) -> Path:
        async with tuned(partial(self._tools.board, cell.board), cell.plan.tuning, cell.length_ns):
            result = await run_session(
                self._tools.board(cell.board),
                cell.plan,
                home=self._path / RECORDINGS,
                labels=self.labels(cell, attempt),
                on_event=partial(self._progress, "running", cell),
                stop=self._stop,
                isolated=cell.isolated,
                lanes=cell.lanes,
                accept=self._kernels.accept(cell),
                tune=cell.tune,
                machine=self._tools.board,
            )
        return result.path

    def labels(self, cell: Cell, attempt: int) -> dict[str, str]:
        """Labels that identify a recording within its experiment, and the experiment itself."""
        numbers = {"order": cell.order, "block": cell.block, "repeat": cell.repeat, "attempt": attempt}
        levels = {"load": cell.load, "scenario": cell.scenario, "probe": cell.probe}
        if cell.kernel is not None:
            levels["kernel"] = cell.kernel
        own = {"experiment": self._plan.name, "plan": self._hash, "cell": cell.id}
        return own | {key: str(value) for key, value in numbers.items()} | levels

    async def _boot(self, cell: Cell) -> None:
        """Boot the kernel. The switch has its own time limit; a second Ctrl-C does not wait for the board."""
        self._at_boot = True
        work = asyncio.ensure_future(self._kernels.boot(cell, lambda text: self._tell("booting", cell, text=text)))
        abort = asyncio.ensure_future(self._stop.aborted.wait())
        try:
            await asyncio.wait({work, abort}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise Interrupted("aborted while the board was booting")
            await work
        finally:
            for waiting in (work, abort):
                waiting.cancel()
            await asyncio.gather(work, abort, return_exceptions=True)
        self._at_boot = False

    async def _cool(self, cell: Cell) -> Cooled | None:
        most_ns = self._plan.cool_down_most_ns
        if most_ns is None:
            return None
        return await cool_down(
            self._tools.board(cell.board),
            self._plan.cool_down_c,
            most_ns / NS_PER_S,
            self._stop.asked,
            lambda text: self._tell("cooling", cell, text=text),
        )

    def _settle(self, recording: str) -> None:
        try:
            self._tools.settled(self._path / RECORDINGS / f"{recording}.rta")
        except RtassayError as error:
            self._tell("warning", text=f"{recording}: {error}")

    async def _sleep(self, seconds: float) -> None:
        """Unless someone says stop."""
        try:
            await asyncio.wait_for(self._stop.asked.wait(), seconds)
        except TimeoutError:
            return

    def _left(self) -> Sequence[Cell]:
        return [cell for cell in self._plan.cells if self._states[cell.id].state not in DONE]

    def _outcome(self, found: Found) -> Outcome:
        skipped = sum(state.state == "skipped" for state in self._states.values())
        sealed = len(self._cells) - len(self._left()) - skipped
        failed = tuple((self._cells[cell], why) for cell, why in self._failed.items())
        return Outcome(sealed, len(self._cells), failed, self._stop.asked.is_set(), found, skipped)

    def _progress(self, phase: str, cell: Cell, progress: Progress) -> None:
        self._tell(phase, cell, progress=progress)

    def _tell(self, phase: str, cell: Cell | None = None, *, progress: Progress | None = None, text: str = "") -> None:
        left = self._left()
        overhead = sum(self._overheads_ns) // len(self._overheads_ns) if self._overheads_ns else OVERHEAD_NS
        left_ns = estimate_ns([replace(c, plan=replace(c.plan, loads=())) for c in left], overhead)
        if progress is not None and progress.phase == "measure":
            left_ns -= progress.elapsed_ns
        total = len(self._cells)
        self._on_step(Step(phase, cell, total - len(left), total, max(0, left_ns), progress, text))

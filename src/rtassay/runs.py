"""One run as a person asks for it: values become a request, the request a sealed recording, the recording findings.

The command `rtassay run` and the function `rtassay.run` both use this module, so they have the same defaults and the same errors.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from rtassay.loads.base import parse_asked
from rtassay.model import rooms
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.foreign import printable
from rtassay.model.labels import check_labels, check_name, check_text
from rtassay.model.manifest import Plan
from rtassay.model.settings import DEFAULT_DURATION_NS, SETTINGS, default, has_priority
from rtassay.probes.base import find

if TYPE_CHECKING:
    import asyncio

    from rtassay.boards.base import LinuxBoard
    from rtassay.model.findings import Findings
    from rtassay.model.inventory import Inventory
    from rtassay.model.recording import Recording
    from rtassay.session.control import Progress, RunResult, StopRequest
    from rtassay.session.tuning_plans import Asked


@dataclass(frozen=True, slots=True)
class RunRequest:
    """One run, with everything checked that can be checked without the board. `isolated`, `lanes`, `accept`, `tune`: see `session.run.run`."""

    board: LinuxBoard
    plan: Plan
    home: Path
    labels: Mapping[str, str]
    note: str | None
    name: str | None
    isolated: bool
    lanes: int | None
    accept: Callable[[Inventory], None] = lambda inventory: None
    tune: Asked | None = None


def make_request(board: str | LinuxBoard, values: Mapping[str, Any]) -> RunRequest:
    """A request from values that have the type and range of their row in `model.settings`.

    `values` has the `field` of every row (its `key` where it has no field), and `probe`, `load` (texts), `settings` (texts by name),
    `labels`, `tune` (name of a file), `waivers` (id of a check -> reason), `strict`, `note`, `name`, `output`, `argv`, `configured`, `cyclictest_line`. Raises UsageError.
    """
    from rtassay import store
    from rtassay.boards.described import check_probe
    from rtassay.boards.known import resolve
    from rtassay.session.tuning_plans import read

    labels = check_labels(values["labels"])
    if values["note"] is not None:
        check_text("--note", values["note"])
    if values["name"] is not None:
        check_name(values["name"])
    plan = make_plan(values)
    check_probe(plan)
    return RunRequest(
        board=resolve(board) if isinstance(board, str) else board,
        plan=plan,
        # made with the recording: a run that is refused leaves nothing
        home=Path(values["output"]) if values["output"] else store.default_directory(),
        labels=labels,
        note=values["note"],
        name=values["name"],
        isolated=values["cpus"] == "isolated",
        lanes=values["lanes"],
        tune=None if values["tune"] is None else read(str(values["tune"])),
    )


def make_plan(values: Mapping[str, Any]) -> Plan:
    """The plan of a request (see `make_request`). Raises UsageError for a contradiction, an unknown load or probe."""
    from rtassay.analysis.judge.waivers import check_waivers

    if not has_priority(values["policy"]) and values["priority"] is not None:
        raise UsageError(f"--priority has no meaning with --policy {values['policy']}")
    duration_ns = values["duration_ns"]
    if duration_ns is None and values["count"] is None:
        duration_ns = DEFAULT_DURATION_NS
    interval_ns = values["interval_ns"] or default("interval")
    if duration_ns is not None and duration_ns < interval_ns:
        raise UsageError("--duration is shorter than one --interval")
    if values["looks"] > 1 and values["trace_above_ns"] is not None:
        raise UsageError(
            "--looks and --trace-above do not go together",
            "a traced run is judged by its untraced part, which is judged once, at the end",
            "leave one of them out",
        )
    if values["trace_stacks"] and values["trace_above_ns"] is None:
        raise UsageError(
            "--trace-stacks needs --trace-above", "stacks are kept of late wake-ups", "add --trace-above auto"
        )
    if values["looks"] > 1 and (values["deadline_ns"] is None or duration_ns is None or values["count"] is not None):
        raise UsageError(
            "--looks needs a requirement and a length", hint="state --deadline and --duration, and no --count"
        )
    loads = tuple(values["load"])
    _check_loads(loads)
    stated = {setting.field: values[setting.field] for setting in SETTINGS if setting.field}
    stated |= {
        "cpus": None if values["cpus"] == "isolated" else values["cpus"],
        "interval_ns": interval_ns,
        "duration_ns": duration_ns,
    }
    plan = Plan(
        probe=values["probe"],
        load=" + ".join(loads),
        loads=loads,
        settings=dict(values["settings"]),
        argv=tuple(printable(word) for word in values["argv"]),
        configured=tuple(printable(word) for word in values["configured"]),
        strict=values["strict"],
        waivers=check_waivers(values["waivers"]) if values["waivers"] else {},
        **stated,
    )
    line = values["cyclictest_line"]
    return plan if line is None else _of_line(plan, line)


def _check_loads(texts: tuple[str, ...]) -> None:
    """`auto` or NAME[:ARGS][@CPUS] of the room `loads` each, as far as that can be known without the board."""
    if not texts:
        raise UsageError("no load is named", hint="--load none measures without a load")
    for text in texts:
        load = parse_asked(text)
        if load.name != "auto":
            rooms.load("loads", load.name)().needs(load.argument)


def _of_line(plan: Plan, line: str) -> Plan:
    """`plan` to measure a whole line of cyclictest, which then decides all that it can say."""
    if plan.probe != "cyclictest":
        raise UsageError("--cyclictest-line needs --probe cyclictest")
    found, _ = find(plan.probe).of_line(plan, line)
    return found


async def measure(request: RunRequest, on_event: Callable[[Progress], None], stop: StopRequest) -> RunResult:
    """Measure and seal, with the looks that were planned. Raises what `session.run.run` raises."""
    from rtassay.boards.known import resolve
    from rtassay.session.run import run

    looks = Looks(request.plan, stop)

    def heard(told: Progress) -> None:
        on_event(told)
        looks.hear(told)

    return await run(
        request.board,
        request.plan,
        home=request.home,
        labels=request.labels,
        note=request.note,
        name=request.name,
        isolated=request.isolated,
        lanes=request.lanes,
        on_event=heard,
        stop=stop,
        accept=request.accept,
        tune=request.tune,
        machine=resolve,
    )


class Looks:
    """The planned looks of a run: judges its recording at each, and ends the run at the first that decides."""

    def __init__(self, plan: Plan, stop: StopRequest) -> None:
        self._planned, self._stop = plan.looks, stop
        self._next = 1
        self._looking: asyncio.Task[None] | None = None

    def hear(self, told: Progress) -> None:
        """Start a look if its time has come. The last one is the judgement of the whole run."""
        if told.phase != "measure" or told.path is None or not told.planned_ns or self._next >= self._planned:
            return
        if told.elapsed_ns * self._planned >= told.planned_ns * self._next:
            import asyncio

            self._looking = asyncio.ensure_future(self._look(self._next, told.path))
            self._next += 1

    async def _look(self, number: int, path: Path) -> None:
        import asyncio

        if await asyncio.to_thread(_decides, path, number) and not self._stop.asked.is_set():
            self._stop.look = number
            self._stop.request()


def _decides(path: Path, number: int) -> bool:
    from rtassay import store
    from rtassay.analysis.judge.looks import decides

    return decides(
        store.open_recording(path, parser_for=lambda manifest: find(manifest.plan.probe).parser(manifest.plan)), number
    )


def judged(path: Path) -> tuple[Recording, Findings]:
    """A sealed recording and its findings by the run's own requirement; they are kept beside it for the next reader."""
    from rtassay import store
    from rtassay.analysis.judge import judge

    recording = store.open_recording(path)
    findings = judge(recording)
    cache_findings(path, findings)
    return recording, findings


def cache_findings(path: Path, findings: Findings) -> None:
    """Keep findings beside a sealed recording. A read-only place is no error: they are computed again next time."""
    from rtassay import store
    from rtassay.analysis.judge import findings_dict

    with contextlib.suppress(BoardError):
        store.save_findings(path, findings_dict(findings))


def measure_blocking(
    request: RunRequest,
    on_event: Callable[[Progress], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> RunResult:
    """As `measure`, for callers without an event loop, and for those inside one, as in a notebook.

    The run has an event loop in a thread of its own; `on_event` and `notice` are called in the caller's thread. The first SIGINT ends
    the run in order, as Ctrl-C does at the command, and the second one aborts it. An error of a callback ends the run in order, too,
    and is raised after that.
    """
    worker = _Worker(request, heard=on_event is not None, told=notice is not None)
    failure: BaseException | None = None
    worker.thread.start()
    try:
        with _on_sigint(worker.ask_to_stop):
            while (item := worker.items.get()) is not None:
                try:
                    if failure is None:
                        _deliver(item, on_event, notice)
                except BaseException as error:
                    failure = error
                    worker.ask_to_stop()
    finally:
        if worker.thread.is_alive():
            worker.abort()
        worker.thread.join()
    if failure is not None:
        raise failure
    return worker.outcome.result()


@contextlib.contextmanager
def _on_sigint(work: Callable[[], None]) -> Iterator[None]:
    """Call `work` on SIGINT. Only the main thread can do that; an ignored signal stays ignored."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    signal.signal(signal.SIGINT, lambda number, frame: work())
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class _Worker:
    """The thread of `measure_blocking`. It puts progress and notices into `items`, then None."""

    def __init__(self, request: RunRequest, *, heard: bool, told: bool) -> None:
        self._request = request
        self._heard = heard
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: StopRequest | None = None
        self.items: SimpleQueue[Any] = SimpleQueue()
        self.outcome: Future[RunResult] = Future()
        self.thread = threading.Thread(target=self._work, name="rtassay-run", daemon=True)
        if told:
            request.board.notice = self.items.put

    def ask_to_stop(self) -> None:
        """A first call ends the run in order, a second one aborts it. Nothing if it has ended."""
        self._ready.wait()
        if self._loop is not None and self._stop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._stop.request)

    def abort(self) -> None:
        self.ask_to_stop()
        self.ask_to_stop()

    def _work(self) -> None:
        import asyncio

        try:
            self.outcome.set_result(asyncio.run(self._main()))
        except BaseException as error:
            self.outcome.set_exception(error)
        finally:
            self._ready.set()
            self.items.put(None)

    async def _main(self) -> RunResult:
        import asyncio

        from rtassay.session.control import StopRequest

        self._loop, self._stop = asyncio.get_running_loop(), StopRequest()
        self._ready.set()
        return await measure(self._request, self.items.put if self._heard else lambda told: None, self._stop)


def _deliver(item: Any, on_event: Callable[[Progress], None] | None, notice: Callable[[str], None] | None) -> None:
    if isinstance(item, str):
        if notice is not None:
            notice(item)
    elif on_event is not None:
        on_event(item)

"""A run over a console: rtprobe-lite there, its lines here (wire/CONSOLE.md). All that was said is kept in the recording's `original/`."""

from __future__ import annotations

import asyncio
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay import store
from rtassay.boards.consoles import Link, wait_for
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.events import Event, Facts, HistogramPart
from rtassay.model.foreign import file_name, one_line
from rtassay.model.manifest import Plan, Source
from rtassay.model.units import NS_PER_S
from rtassay.session.control import Interrupted, LaneProgress, Progress, RunResult, StopRequest
from rtassay.wire.console import ConsoleParser

READY_S = 30.0
# From a reset to the first words of rtprobe-lite, or of the shell that starts it.
BOOT_S = 180.0
_RESET_S = 60.0
# It says how far it is every second; a lane that starves it may keep it silent for long.
SILENT_S = 60.0
_LEAD_S = 5.0
_READY = b" READY *"
# From Ctrl-C to the last line: it looks for one every second, then tells what it has.
_STOP_S = 30.0
# Bytes of a line BEAT, and bits of a byte on a serial line.
_BEAT_BYTES = 80
_BITS = 10


@dataclass(frozen=True, slots=True)
class ConsoleRun:
    """What to ask of rtprobe-lite. `send` starts it (`rtlite` in a shell), after the console has said `wait`; both may be None.
    `reset`: a command of this machine that restarts the board first, while its console is heard."""

    count: int
    interval_ns: int
    deadline_ns: int | None
    priority: int
    lanes: int
    load: str
    load_ns: int | None
    load_every_ns: int | None
    send: str | None = None
    wait: str | None = None
    reset: str | None = None

    @property
    def command(self) -> bytes:
        """The line that starts the run."""
        words = [
            f"count={self.count}",
            f"interval_ns={self.interval_ns}",
            f"priority={self.priority}",
            f"lanes={self.lanes}",
        ]
        optional = {"deadline_ns": self.deadline_ns, "load_ns": self.load_ns, "load_every_ns": self.load_every_ns}
        words += [f"{key}={value}" for key, value in optional.items() if value is not None]
        return " ".join(["run", *words, f"load={self.load}"]).encode() + b"\n"

    @property
    def planned_ns(self) -> int:
        return self.count * self.interval_ns


def restart(command: str) -> None:
    """Run the command of this machine that resets the board or switches its power. Raises BoardError where it fails."""
    try:
        done = subprocess.run(
            command, shell=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=_RESET_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise BoardError("the board was not reset", f"'{command}' did not end within {_RESET_S:.0f} s") from error
    if done.returncode != 0:
        said = one_line(done.stderr.decode(errors="replace")[-300:])
        raise BoardError("the board was not reset", f"'{command}' ended with {done.returncode}: {said or 'no words'}")


def check_speed(run: ConsoleRun, baud: int | None) -> None:
    """Raises UsageError where the line is too slow for what rtprobe-lite says every second."""
    needed = 2 * _BEAT_BYTES * _BITS * run.lanes
    if baud is not None and baud < needed:
        raise UsageError(
            f"{baud} baud is too slow for {run.lanes} lane{'s' * (run.lanes > 1)}",
            f"rtprobe-lite tells how far it is every second, which takes {needed // 2} baud; at least {needed} are needed",
            "a faster line, or fewer --lanes",
        )


async def measure(
    link: Link,
    run: ConsoleRun,
    *,
    board: str,
    home: Path,
    plan: Plan,
    labels: Mapping[str, str],
    note: str | None,
    name: str | None,
    inventory: dict[str, Any] | None,
    on_event: Callable[[Progress], None],
    stop: StopRequest,
) -> RunResult:
    """Start the run, hear it to its end, make a sealed recording. It closes the link.

    A run whose end was not heard (stopped, a console that fell silent) is kept as far as it came, and its recording says so. Raises
    BoardError where rtprobe-lite does not answer or refuses the plan, Interrupted where nothing had been measured.
    """
    listener = _Listener(link, run, on_event, stop)
    try:
        await asyncio.to_thread(listener.start)
        await listener.listen()
    finally:
        await asyncio.to_thread(link.close)
    parser = listener.parser
    events = [*listener.events, *parser.finish()]
    if parser.errors and not parser.measured:
        what, about = parser.errors[0]
        raise BoardError(f"rtprobe-lite on {board} refused the plan", f"{what}: {about}")
    if not any(isinstance(event, HistogramPart) for event in events):
        if stop.asked.is_set():
            raise Interrupted("stopped before the run had told anything; there is nothing to keep")
        what = f"the run on {board} was broken off" if parser.left else f"{board} fell silent"
        raise BoardError(what, parser.left or listener.silence, "its run left nothing to keep; reset it and try again")
    on_event(Progress("seal"))
    with tempfile.TemporaryDirectory(prefix="rtassay-console-") as scratch:
        path = Path(scratch) / f"{file_name(board)}.log"
        path.write_bytes(bytes(listener.said))
        made = await asyncio.to_thread(
            store.import_events,
            home,
            path,
            Source("rtprobe-lite", "1", "console", "counted"),
            events,
            dict(labels),
            note,
            name,
            board,
            plan,
            lambda: parser.damage,
            {**(inventory or {}), **_kernel(events)},
        )
    return RunResult(made, made.stem, "count" if parser.ended else "signal", stop.asked.is_set())


def _kernel(events: Sequence[Event]) -> dict[str, Any]:
    """The system as FACTS names it, for the recording's inventory."""
    facts = next((event.data for event in events if isinstance(event, Facts)), {})
    return {"kernel": facts["kernel"]} if "kernel" in facts else {}


class _Listener:
    """Hears one run. `said`: every byte of the console since the program was ready; `silence`: why it stopped listening."""

    def __init__(self, link: Link, run: ConsoleRun, on_event: Callable[[Progress], None], stop: StopRequest) -> None:
        self.parser = ConsoleParser()
        self.events: list[Event] = []
        self.said = bytearray()
        self.silence = ""
        self._link, self._run, self._on_event, self._stop = link, run, on_event, stop
        self._refused_after = 0

    def start(self) -> None:
        """Reach the program, tell it the plan. Blocking."""
        runs = False
        patience_s = READY_S
        if self._run.reset is not None:
            restart(self._run.reset)
            patience_s = BOOT_S
        if self._run.wait is not None:
            if self._run.reset is None:
                self._link.write(b"\r\n")
            # After an earlier run rtprobe-lite still waits for a command: no shell is there that could say its prompt.
            runs = wait_for(self._link, self._run.wait.encode(), _READY, seconds=patience_s) == _READY
        if self._run.send is not None and not runs:
            self._link.write(self._run.send.encode().decode("unicode_escape").encode())
        elif self._run.reset is not None and not runs:
            wait_for(self._link, _READY, seconds=patience_s)
        self._link.write(b"\n")  # an empty command: it says READY again
        wait_for(self._link, _READY, seconds=READY_S)
        self._link.write(self._run.command)

    async def listen(self) -> None:
        """Until the end of the run, silence, or a request to stop."""
        begun = heard = time.monotonic()
        told = 0.0
        limit_s = self._run.planned_ns / NS_PER_S + SILENT_S + _LEAD_S
        stopping = False
        while not (self.parser.ended or self.parser.left) and not self._stop.aborted.is_set():
            if self._stop.asked.is_set() and not stopping:
                stopping = True
                limit_s = time.monotonic() - begun + _STOP_S
                await asyncio.to_thread(self._link.write, b"\x03")
            data = await asyncio.to_thread(self._link.read)
            now = time.monotonic()
            if data:
                heard = now
                self.said += data
                self.events += self.parser.feed(data)
            if self.parser.errors and not self.parser.measured:
                return
            if now - heard > SILENT_S or (now - begun > limit_s and now - heard > _LEAD_S):
                self.silence = f"nothing came for {now - heard:.0f} s"
                return
            if now - told >= 1:
                told = now
                self._on_event(self._progress(now - begun))

    def _progress(self, elapsed_s: float) -> Progress:
        lanes = tuple(
            LaneProgress(
                lane=lane,
                cpu=lane,
                n=beat.number("n"),
                missed=beat.number("missed"),
                dropped=0,
                worst_ns=beat.number("max_us") * 1000,
                p50_ns=None,
                p99_ns=None,
                p99_9_ns=None,
                p99_99_ns=None,
            )
            for lane, beat in sorted(self.parser.beats.items())
        )
        elapsed_ns = min(int(elapsed_s * NS_PER_S), self._run.planned_ns)
        return Progress("measure", elapsed_ns, self._run.planned_ns, lanes)

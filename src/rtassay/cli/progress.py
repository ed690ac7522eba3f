"""Progress of a run on stderr: a live table on a terminal, a line at intervals elsewhere."""

from __future__ import annotations

import os
import sys
import time
from typing import IO, TYPE_CHECKING

from rtassay.cli.terminal import echo
from rtassay.model.foreign import printable
from rtassay.model.units import NS_PER_S, format_time, format_us

if TYPE_CHECKING:
    from rtassay.session.control import LaneProgress, Progress

_LINE_EVERY_S = 10.0
_PHASES = {
    "set-up": "being set up",
    "inventory": "reading the board's inventory",
    "load": "starting the load",
    "warm-up": "warming up",
    "measure": "measuring",
    "collect": "collecting",
    "seal": "sealing the recording",
}
_HEAD = (
    f"{'CPU':>7} {'n':>11} {'missed':>8} {'p50 us':>9} {'p99 us':>9} {'p99.9 us':>9} {'p99.99 us':>10} {'worst us':>9}"
)


class ProgressView:
    """Call it with every Progress; call `close` at the end so that the shell's prompt gets a line of its own."""

    def __init__(self, quiet: bool, *, on: IO[str] | None = None, ctrl_c: str = "seals what there is") -> None:
        """`on`: where to write (default: stderr); `ctrl_c`: what it does while measuring."""
        self._quiet, self._ctrl_c = quiet, ctrl_c
        self._out = sys.stderr if on is None else on
        self._live = self._out.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = 0
        self._phase = ""
        self._next_line_s = 0.0
        self._told_path = False

    def __call__(self, progress: Progress) -> None:
        if self._quiet:
            return
        if progress.path is not None and not self._told_path:
            self._told_path = True
            self._say(f"recording into {progress.path}")
        if self._live:
            self._redraw(_table(progress, self._ctrl_c))
        elif progress.phase != self._phase or time.monotonic() >= self._next_line_s:
            self._next_line_s = time.monotonic() + _LINE_EVERY_S
            self._say(_line(progress))
        self._phase = progress.phase

    def close(self) -> None:
        """Keep the last view on the screen."""
        self._drawn = 0

    def _redraw(self, lines: list[str]) -> None:
        up = f"\x1b[{self._drawn}A\x1b[J" if self._drawn else ""
        self._out.write(up + printable("\n".join(lines)) + "\n")
        self._out.flush()
        self._drawn = len(lines)

    def _say(self, line: str) -> None:
        echo(line, err=self._out is sys.stderr)
        self._out.flush()


def _clock(progress: Progress) -> str:
    elapsed = f"{progress.elapsed_ns / NS_PER_S:.0f} s"
    return elapsed if progress.planned_ns is None else f"{elapsed} of {progress.planned_ns / NS_PER_S:.0f} s"


def _line(progress: Progress) -> str:
    text = _PHASES.get(progress.phase, progress.phase)
    if progress.planned_ns is not None:
        text += f", {_clock(progress)}"
    if progress.lanes:
        worst = "-" if progress.worst_ns is None else format_time(progress.worst_ns)
        p99_9 = max((lane.p99_9_ns for lane in progress.lanes if lane.p99_9_ns is not None), default=None)
        text += (
            f": worst {worst}"
            + ("" if p99_9 is None else f", p99.9 {format_time(p99_9)}")
            + f", missed {progress.missed}"
        )
        text += f", dropped {progress.dropped}" if progress.dropped else ""
    return text


def _table(progress: Progress, ctrl_c: str) -> list[str]:
    title = f"{_PHASES.get(progress.phase, progress.phase)}, {_clock(progress)}"
    if progress.phase == "measure":
        title += f"   (Ctrl-C {ctrl_c})"
    if not progress.connected:
        title += "   link lost, the board goes on measuring"
    if not progress.lanes:
        return [title]
    return [title, _HEAD, *(_row(lane) for lane in progress.lanes)]


def _row(lane: LaneProgress) -> str:
    times = (lane.p50_ns, lane.p99_ns, lane.p99_9_ns)
    cells = " ".join(f"{format_us(ns):>9}" for ns in times)
    cpu = f"lane {lane.lane}" if lane.cpu is None else str(lane.cpu)
    return (
        f"{cpu:>7} {lane.n:>11} {lane.missed:>8} {cells} {format_us(lane.p99_99_ns):>10} {format_us(lane.worst_ns):>9}"
    )

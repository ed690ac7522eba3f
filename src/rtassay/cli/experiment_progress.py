"""Progress of an experiment on stderr: the current run, its progress, and the expected end of all runs."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from rtassay.cli.experiment_tables import clock, finish_time
from rtassay.cli.terminal import echo
from rtassay.model.foreign import printable
from rtassay.model.units import NS_PER_S, format_time

if TYPE_CHECKING:
    from rtassay.experiments.engine import Step

_LINE_EVERY_S = 30.0


class ExperimentView:
    """Call it with every Step. A terminal shows one line that is rewritten; other outputs get a line at each change and at intervals."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._open_line = False
        self._last = ""
        self._next_s = 0.0

    def __call__(self, step: Step) -> None:
        if self._quiet and step.phase not in ("failed", "warning"):
            return
        passing = step.progress is not None or step.phase == "cooling"
        key = f"{step.phase} {step.cell.id if step.cell else ''} {step.progress.phase if step.progress else ''}"
        if passing and self._live:
            self._rewrite(_words(step))
        elif not passing or key != self._last or time.monotonic() >= self._next_s:
            self.close()
            self._next_s = time.monotonic() + _LINE_EVERY_S
            echo(_words(step), err=True)
        self._last = key

    def say(self, sentence: str) -> None:
        """Show a message about a board, such as a lost link or a reboot."""
        if not self._quiet:
            self.close()
            echo(sentence, err=True)

    def close(self) -> None:
        """End the line that was being rewritten."""
        if self._open_line:
            sys.stderr.write("\n")
            self._open_line = False

    def _rewrite(self, text: str) -> None:
        sys.stderr.write(f"\r\x1b[K{printable(text)}")
        sys.stderr.flush()
        self._open_line = True


def _words(step: Step) -> str:
    head = f"[{step.done}/{step.total}]"
    cell = "" if step.cell is None else f" {step.cell.title}"
    text = f": {step.text}" if step.text else ""
    if step.progress is not None:
        text = f": {step.progress.phase}"
        if step.progress.planned_ns is not None:
            text += f" {step.progress.elapsed_ns // NS_PER_S} of {step.progress.planned_ns // NS_PER_S} s"
        if step.progress.worst_ns is not None:
            text += f", worst {format_time(step.progress.worst_ns)}, missed {step.progress.missed}"
    left = "" if not step.left_ns else f"   {clock(step.left_ns)} left, done about {finish_time(step.left_ns)}"
    phase = "" if step.phase == "running" else f" {step.phase}"
    return f"{head}{phase}{cell}{text}{left}"

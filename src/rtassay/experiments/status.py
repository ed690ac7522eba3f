"""The state of an experiment, from its plan and its journal alone: cheap, and safe while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rtassay.experiments.directory import is_carried_out, load_plan
from rtassay.experiments.journal import DONE, CellState, Entry, read_journal, states
from rtassay.experiments.looks import Combination, Taken, taken
from rtassay.experiments.matrix import OVERHEAD_NS, Cell, ExperimentPlan, estimate_ns
from rtassay.model.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Status:
    """`state`: planned, running, interrupted (resumable), incomplete (cells failed; resumable), complete.

    `left_ns`: the expected time for the rest; `running`: the current cell; `superseded`: recordings that do not count;
    `looks`: those taken, by combination.
    """

    plan: ExperimentPlan
    path: Path
    state: str
    cells: tuple[tuple[Cell, CellState], ...]
    left_ns: int
    running: Cell | None
    superseded: tuple[str, ...]
    opened: int
    looks: dict[Combination, tuple[Taken, ...]] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """Cells by state; `running` only if a process carries out the experiment."""
        names = ("sealed", "running", "failed", "planned", "skipped")
        found = dict.fromkeys(names, 0)
        for cell, state in self.cells:
            running = state.state == "running"
            found["planned" if running and self.running is not cell else state.state] += 1
        return found


def status_of(path: Path) -> Status:
    """Raises UsageError if there is no experiment, CorruptRecording if its plan or journal is damaged."""
    plan = load_plan(path)
    entries = read_journal(path)
    known = states(entries, (cell.id for cell in plan.cells))
    cells = tuple((cell, known[cell.id]) for cell in plan.cells)
    live = is_carried_out(path)
    running = next((cell for cell, state in cells if state.state == "running"), None) if live else None
    left = [cell for cell, state in cells if state.state not in DONE]
    left_ns = estimate_ns(left, _overhead_ns(cells))
    if running is not None:
        left_ns -= min(running.length_ns, _since_ns(known[running.id].started))
    superseded = tuple(recording for _, state in cells for recording in state.superseded)
    opened = sum(entry.event == "opened" for entry in entries)
    return Status(
        plan, path, _state(live, left, entries), cells, max(0, left_ns), running, superseded, opened, taken(entries)
    )


def _state(live: bool, left: Sequence[Cell], entries: Sequence[Entry]) -> str:
    if live:
        return "running"
    if not left:
        return "complete"
    if not entries:
        return "planned"
    ended = entries[-1].event == "closed" and not entries[-1].facts.get("stopped")
    return "incomplete" if ended else "interrupted"


def _overhead_ns(cells: Sequence[tuple[Cell, CellState]]) -> int:
    """The mean time that cells so far took beside their planned length."""
    seen = []
    for cell, state in cells:
        if state.state == "sealed" and state.started and state.ended:
            took_s = (_time(state.ended) - _time(state.started)).total_seconds()
            extra_ns = int(took_s * NS_PER_S) - cell.length_ns
            if extra_ns >= 0 and state.attempts == 1:
                seen.append(extra_ns)
    return sum(seen) // len(seen) if seen else OVERHEAD_NS


def _since_ns(at: str | None) -> int:
    return 0 if at is None else max(0, int((datetime.now(UTC) - _time(at)).total_seconds() * NS_PER_S))


def _time(at: str) -> datetime:
    return datetime.fromisoformat(at)

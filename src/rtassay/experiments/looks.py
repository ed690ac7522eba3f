"""Planned looks at the repeats of a combination: when each is due, and what follows from the answer (docs/method/planning.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec

from rtassay.experiments.directory import RECORDINGS
from rtassay.experiments.journal import DONE, CellState, Entry, Journal
from rtassay.experiments.matrix import Cell, ExperimentPlan
from rtassay.model.errors import RtassayError

ENDING = ("HOLDS", "VIOLATED")
Combination = tuple[str | None, ...]
# (recordings of the repeats so far, plan, number of the look) -> the state of their verdict at that look.
Judge = Callable[[Sequence[Path], ExperimentPlan, int], str]


@dataclass(frozen=True, slots=True)
class Taken:
    """A look that was taken, as the journal has it. `after`: repeats; `confidence`: of its bounds; `ends`: its answer ended the combination."""

    combination: Combination
    look: int
    looks: int
    after: int
    confidence: float
    state: str
    ends: bool
    recordings: tuple[str, ...]

    @property
    def words(self) -> str:
        """`look 1 of 3, after 2 runs: HOLDS`."""
        return f"look {self.look} of {self.looks}, after {self.after} run{'s'[: self.after != 1]}: {self.state}"


def taken(entries: Iterable[Entry]) -> dict[Combination, tuple[Taken, ...]]:
    """The looks in the journal, in their order."""
    found: dict[Combination, tuple[Taken, ...]] = {}
    for entry in entries:
        if entry.event == "looked":
            look = msgspec.convert(entry.facts, Taken)
            found[look.combination] = (*found.get(look.combination, ()), look)
    return found


def look_of(plan: ExperimentPlan, looks: Sequence[Taken]) -> int:
    """The look that a combination is judged at: the one that ended it, else the last, which is the strictest."""
    return next((one.look for one in looks if one.ends), plan.looks)


def due(plan: ExperimentPlan, states: Mapping[str, CellState]) -> dict[Combination, tuple[int, list[Cell]]]:
    """The look that each combination has come to, and the cells it judges.

    A look is due when all repeats up to it are sealed and none after it. Where a repeat failed, the following ones may be measured
    before it: the look that was missed is left out, so that no run is ever ignored.
    """
    found: dict[Combination, tuple[int, list[Cell]]] = {}
    for combination, cells in combinations(plan).items():
        sealed = [cell for cell in cells if states[cell.id].state == "sealed"]
        whole = sealed == cells[: len(sealed)]
        if whole and len(sealed) in plan.looks_after:
            found[combination] = (plan.looks_after.index(len(sealed)) + 1, sealed)
    return found


def combinations(plan: ExperimentPlan) -> dict[Combination, list[Cell]]:
    """The cells of each combination by their repeats."""
    found: dict[Combination, list[Cell]] = {}
    for cell in sorted(plan.cells, key=lambda cell: cell.repeat):
        found.setdefault(cell.combination, []).append(cell)
    return found


def take(
    path: Path,
    plan: ExperimentPlan,
    journal: Journal,
    states: Mapping[str, CellState],
    judge: Judge,
    tell: Callable[[Cell, str, str], None],
) -> None:
    """Take each look that is due and not in the journal yet, and skip the cells that an answer makes needless.

    `tell` gets the cell, "looked" or "warning", and words. A recording that cannot be judged ends nothing.
    """
    if plan.looks < 2:
        return
    known = taken(journal.entries)
    for combination, (number, cells) in due(plan, states).items():
        if any(one.look == number for one in known.get(combination, ())):
            continue
        recordings = tuple(states[cell.id].recording or "" for cell in cells)
        try:
            state = judge([path / RECORDINGS / f"{name}.rta" for name in recordings], plan, number)
        except RtassayError as error:
            tell(cells[-1], "warning", f"look {number} was not possible: {error}")
            continue
        sure = plan.look(number).confidence
        one = Taken(combination, number, plan.looks, len(cells), sure, state, state in ENDING, recordings)
        journal.add("looked", cell=cells[-1].id, **asdict(one))
        tell(cells[-1], "looked", one.words)
    _skip(plan, journal, states)


def _skip(plan: ExperimentPlan, journal: Journal, states: Mapping[str, CellState]) -> None:
    """Settle the cells of ended combinations that are not measured."""
    ended = {key: one for key, looks in taken(journal.entries).items() for one in looks if one.ends}
    for cell in plan.cells:
        if cell.combination in ended and states[cell.id].state not in DONE:
            journal.add("skipped", cell=cell.id, why=f"decided at {ended[cell.combination].words}")

"""Evidence grade A, B, C or X (docs/method/experiments.md): what an experiment is worth before its numbers are looked at."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.analysis.checks.load_work import COVERAGE
from rtassay.analysis.many.experiment.cells import Design, Measured
from rtassay.analysis.many.repeats import CURED_BY_MORE
from rtassay.model.experiment import CheckRow, Combination, Grade

A_BOOTS = 8
B_BOOTS = 5
LEAST_RUNS = 5
LEAST_P = 1e-5
"""Fewer than LEAST_RUNS runs never HOLD below this p (docs/method/experiments.md)."""


def grade(
    cells: Sequence[Measured], combinations: Sequence[Combination], design: Design, checks: Sequence[CheckRow]
) -> Grade:
    """X: a cell is no valid measurement. C: a combination has runs of fewer than five boots, or is missing. A: eight boots of each,
    every class of load, and no warning. B: the rest.

    Boots, not runs (docs/method/experiments.md): runs of one boot share what that boot happened to be, and show no scatter between boots.
    """
    if not combinations:
        return Grade("C", ("nothing was measured yet",), thin=True)
    grave = ("invalid", "warning") if any(one.findings.strict for one in cells) else ("invalid",)
    invalid = [r for r in checks if r.severity in grave and r.kind == "integrity" and r.waived is None]
    if invalid:
        return Grade(
            "X", tuple(f"{row.id} at {', '.join(row.where)}" for row in invalid), ("mend what these checks name",)
        )
    missing = len(design.planned) - len(combinations)
    low = []
    if missing:
        low.append(f"{missing} of {len(design.planned)} combinations were not measured")
    if (boots := _fewest_boots(combinations)) < B_BOOTS:
        low.append(f"{_boots_words(combinations)}; {B_BOOTS} boots are the least for a scatter between them")
    short = _short_of_a(cells, combinations, checks)
    if low:
        thin = bool(missing) or min(len(one.runs) for one in combinations) < LEAST_RUNS
        return Grade("C", tuple(low), short, thin)
    if short:
        return Grade("B", (f"{boots} boots or more of every combination",), short)
    return Grade("A", (f"{A_BOOTS} boots or more of every combination, every class of load, no warning",))


def _short_of_a(
    cells: Sequence[Measured], combinations: Sequence[Combination], checks: Sequence[CheckRow]
) -> tuple[str, ...]:
    """The reasons against grade A."""
    found = []
    if (boots := _fewest_boots(combinations)) < A_BOOTS:
        told = "boots are not known" if any(one.boots is None for one in combinations) else _counted(boots, "boot")
        found.append(f"{told} of {A_BOOTS}")
    reached = {name for one in cells for load in one.recording.manifest.loads for name in load.classes}
    missing = [name for name, kinds in COVERAGE.items() if not reached & set(kinds)]
    silent = sorted({load.name for one in cells for load in one.recording.manifest.loads if not load.classes})
    if missing and silent:
        found.append(f"what {', '.join(silent)} stresses is not known")
    elif missing:
        found.append(f"no load of {', '.join(missing)}")
    # What one run is too short for, or that one combination is idle, the others cure.
    cured = (*CURED_BY_MORE, "NO-LOAD") if reached or silent else CURED_BY_MORE
    fired = [row for row in checks if row.severity in ("warning", "invalid") and row.waived is None]
    warned = [row.id for row in fired if row.id not in cured]
    if warned:
        found.append(f"warnings: {', '.join(warned)}")
    return tuple(found)


def _fewest_boots(combinations: Sequence[Combination]) -> int:
    """Of any combination; 0 where a run does not tell its boot."""
    return min((one.boots if one.boots is not None else 0) for one in combinations)


def _boots_words(combinations: Sequence[Combination]) -> str:
    """`5 runs of 1 boot of a combination`, of the one with the fewest boots."""
    runs = min(len(one.runs) for one in combinations)
    if any(one.boots is None for one in combinations):
        return f"{_counted(runs, 'run')} of a combination, of boots that are not known"
    fewest = min(combinations, key=lambda one: one.boots or 0)
    return f"{_counted(len(fewest.runs), 'run')} of {_counted(fewest.boots or 0, 'boot')} of a combination"


def _counted(n: int, what: str) -> str:
    return f"{n} {what}{'s'[: n != 1]}"


def capped(state: str, grade: Grade, p: float) -> str:
    """The acceptance's state under the grade: X is no measurement, thin evidence never HOLDS below LEAST_P; what was violated stays so."""
    if state == "HOLDS" and (grade.letter == "X" or (grade.thin and p < LEAST_P)):
        return "NOT DEMONSTRATED"
    return state


def with_so_few(state: str, runs: int, p: float) -> str:
    """The state of a combination at a look over so many runs: what `capped` would make of it if no more were measured."""
    return "NOT DEMONSTRATED" if state == "HOLDS" and runs < LEAST_RUNS and p < LEAST_P else state

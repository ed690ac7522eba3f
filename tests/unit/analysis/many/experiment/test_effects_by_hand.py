"""Ratios of levels, grades and their words, from combinations with numbers set by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats

from rtassay.analysis.checks.load_work import COVERAGE
from rtassay.analysis.many.experiment.effects import pairs, ratio_of, sensitivity, star_effect, throughput
from rtassay.analysis.many.experiment.grade import capped, grade
from rtassay.model.experiment import CheckRow, Grade
from rtassay.model.manifest import LoadEntry, WorkPart

from .by_hand import combination, design, numbers


def test_a_ratio_has_students_interval_on_logarithms() -> None:
    a, b = [10.0, 11.0, 12.0], [30.0, 33.0, 36.0, 39.0]
    found = ratio_of(a, b)
    la, lb = ([math.log(value) for value in side] for side in (a, b))
    by_scipy = stats.ttest_ind(lb, la, equal_var=False).confidence_interval(0.95)
    assert found is not None and found.lo is not None and found.hi is not None
    assert found.ratio == pytest.approx(math.exp(sum(lb) / 4 - sum(la) / 3))
    assert (found.lo, found.hi) == (pytest.approx(math.exp(by_scipy.low)), pytest.approx(math.exp(by_scipy.high)))
    single = ratio_of([10.0, 20.0], [30.0])
    assert single is not None and single.lo is None and single.hi is None
    assert ratio_of([1.0], []) is None and ratio_of([1.0, 2.0], [0.0, 1.0]) is None


def test_pairs_differ_in_one_factor_only() -> None:
    rows = [combination(load, kernel=kernel) for kernel in ("stock", "rt") for load in ("idle", "all", "disk")]
    found = pairs(rows, "load", lambda level: level == "idle")
    told = [(a.levels["kernel"], a.levels["load"], b.levels["kernel"], b.levels["load"]) for a, b in found]
    assert told == [(kernel, "idle", kernel, load) for kernel in ("stock", "rt") for load in ("all", "disk")]


def stars(load: str, *values: int | None, **changes: Any) -> Any:
    return combination(load, *(numbers(value) for value in values), **changes)


def test_sensitivity_is_sorted_and_leaves_out_loads_without_d_star() -> None:
    made = design(loads=("idle", "all", "disk", "net"))
    rows = [stars("idle", 10, 10), stars("all", 20, 20), stars("disk", 30, 30, 30), stars("net", 40, None)]
    found = sensitivity(rows, made, 1e-3)
    assert [(row.load, row.baseline, row.where, row.p, row.runs, row.baseline_runs) for row in found] == [
        ("disk", "idle", "", 1e-3, 3, 2),
        ("all", "idle", "", 1e-3, 2, 2),
    ]
    assert [row.ratio for row in found] == [pytest.approx(3.0), pytest.approx(2.0)]
    assert sensitivity(rows, made, None) == () and sensitivity(rows[1:], made, 1e-3) == ()
    named = design(loads=("idle", "all"), levels={"load": ("idle", "all"), "kernel": ("rt", "stock")})
    both = [stars("idle", 10, 10, kernel="rt"), stars("all", 20, 20, kernel="rt")]
    assert [row.where for row in sensitivity(both, named, 1e-3)] == ["rt"]


def test_the_effect_on_d_star_needs_it_of_every_run() -> None:
    found = star_effect(stars("a", 10, 10), stars("b", 40, 40))
    assert found is not None and found.ratio == pytest.approx(4.0)
    assert star_effect(stars("a", 10, None), stars("b", 40)) is None
    assert star_effect(stars("a", 10), stars("b", None)) is None


def graded(*rows: Any, planned: int | None = None, checks: tuple[CheckRow, ...] = ()) -> Any:
    loads = [str(i) for i in range(len(rows) if planned is None else planned)]
    return grade((), rows, design(loads=loads), checks)


def runs(count: int, boots: int | None) -> Any:
    return combination("all", *(numbers() for _ in range(count)), boots=boots)


def test_the_words_of_a_low_grade_name_the_combination_with_the_fewest_boots() -> None:
    low = graded(runs(9, 6), runs(3, 1), runs(4, 2))
    assert (low.letter, low.thin) == ("C", True)
    assert low.because == ("3 runs of 1 boot of a combination; 5 boots are the least for a scatter between them",)
    assert low.next[0] == "1 boot of 8"
    unknown = graded(runs(9, None), runs(6, 6))
    assert unknown.because[0].startswith("6 runs of a combination, of boots that are not known") and not unknown.thin
    assert unknown.next[0] == "boots are not known of 8"
    part = graded(runs(9, 9), planned=3)
    assert part.because == ("2 of 3 combinations were not measured",) and part.thin and part.letter == "C"
    assert graded().because == ("nothing was measured yet",)


def test_grade_b_lacks_boots_loads_or_a_clean_check() -> None:
    made = graded(runs(5, 5))
    assert (made.letter, made.because) == ("B", ("5 boots or more of every combination",))
    assert made.next[0] == "5 boots of 8" and made.next[1].startswith("no load of ")
    assert graded(runs(5, 4)).letter == "C" and graded(runs(8, 8)).next[0].startswith("no load of")
    rows = [CheckRow(name, severity, "optimism", 1, 1, ("x",), "", waived) for name, severity, waived in (
        ("A", "warning", None), ("B", "note", None), ("C", "warning", "so"), ("N-TOO-SMALL", "warning", None), ("D", "invalid", None),
        ("NO-LOAD", "warning", None),
    )]  # fmt: skip
    assert graded(runs(8, 8), checks=tuple(rows)).next[-1] == "warnings: A, D, NO-LOAD"
    spoilt = CheckRow("E", "invalid", "integrity", 1, 1, ("x", "y"), "", None)
    assert graded(runs(8, 8), checks=(spoilt,)).because == ("E at x, y",)


def cell(*loads: LoadEntry, strict: bool = False) -> Any:
    manifest = SimpleNamespace(loads=loads)
    return SimpleNamespace(findings=SimpleNamespace(strict=strict), recording=SimpleNamespace(manifest=manifest))


EVERY = tuple(kind for kinds in COVERAGE.values() for kind in kinds)


def row(name: str, severity: str = "warning", kind: str = "integrity", waived: str | None = None) -> CheckRow:
    return CheckRow(name, severity, kind, 1, 1, ("x",), "", waived)


def of_cells(*cells: Any, checks: tuple[CheckRow, ...] = (), boots: int = 8) -> Any:
    return grade(cells, [runs(boots, boots)], design(), checks)


def test_grade_a_has_boots_loads_and_no_warning() -> None:
    whole = cell(LoadEntry("all", (), classes=EVERY))
    best = of_cells(whole)
    assert (best.letter, best.next, best.thin) == ("A", (), False)
    assert best.because == ("8 boots or more of every combination, every class of load, no warning",)
    assert of_cells(whole, boots=7).next == ("7 boots of 8",) and of_cells(whole, boots=7).letter == "B"
    assert of_cells(whole, checks=(row("X"),)).next == ("warnings: X",)
    assert of_cells(whole, checks=(row("X"), row("Y", "invalid", "optimism"))).next == ("warnings: X, Y",)
    quiet = row("X", waived="so"), row("Y", "unknown"), row("NO-LOAD"), row("N-TOO-SMALL")
    assert of_cells(whole, checks=quiet).letter == "A"


def test_loads_that_are_missing_or_do_not_tell() -> None:
    first = next(iter(COVERAGE))
    rest = tuple(kind for name, kinds in COVERAGE.items() if name != first for kind in kinds)
    assert of_cells(cell(LoadEntry("x", (), classes=rest))).next == (f"no load of {first}",)
    halves = cell(LoadEntry("x", (), classes=rest)), cell(LoadEntry("y", (), classes=COVERAGE[first]))
    assert of_cells(*halves).letter == "A", "cells cover the classes together"
    silent = cell(LoadEntry("zeta", ()), LoadEntry("alpha", ()), LoadEntry("mine", ()), LoadEntry("beta", ()))
    assert of_cells(silent).next == ("what alpha, beta, mine, zeta stresses is not known",)
    assert of_cells(cell(LoadEntry("all", (), classes=EVERY), LoadEntry("mine", ()))).letter == "A"
    assert of_cells(silent, checks=(row("NO-LOAD"),)).next == of_cells(silent).next, "it was loaded with something"
    assert of_cells(cell(), checks=(row("NO-LOAD"),)).next[-1] == "warnings: NO-LOAD"


def test_what_is_no_valid_measurement() -> None:
    spoilt = row("E", "invalid")
    found = of_cells(cell(), checks=(spoilt, row("F", "invalid")))
    assert (found.letter, found.because, found.next) == ("X", ("E at x", "F at x"), ("mend what these checks name",))
    for harmless in (row("E"), row("E", "invalid", "optimism"), row("E", "invalid", waived="so")):
        assert of_cells(cell(), checks=(harmless,)).letter == "B"
    strict = cell(strict=True)
    assert of_cells(cell(), strict, checks=(row("E"),)).letter == "X"
    assert (
        of_cells(strict, checks=(row("E", "unknown"),)).letter
        == of_cells(strict, checks=(row("E", waived="so"),)).letter
        == "B"
    )


@pytest.mark.parametrize(
    ("state", "letter", "thin", "p", "capped_to"),
    [
        ("HOLDS", "X", False, 1e-3, "NOT DEMONSTRATED"),
        ("HOLDS", "C", True, 9e-6, "NOT DEMONSTRATED"),
        ("HOLDS", "C", True, 1e-5, "HOLDS"),
        ("HOLDS", "C", False, 9e-6, "HOLDS"),
        ("HOLDS", "A", False, 1e-9, "HOLDS"),
        ("VIOLATED", "X", True, 1e-9, "VIOLATED"),
        ("INVALID MEASUREMENT", "X", True, 1e-9, "INVALID MEASUREMENT"),
    ],
)
def test_a_grade_caps_what_holds(state: str, letter: str, thin: bool, p: float, capped_to: str) -> None:
    assert capped(state, Grade(letter, (), (), thin), p) == capped_to


def test_few_runs_of_a_combination_are_thin_evidence() -> None:
    assert not graded(runs(5, 4)).thin and graded(runs(4, 4)).thin and graded(runs(9, 4), runs(4, 4)).thin


def working(*parts: WorkPart, name: str = "x") -> Any:
    return cell(LoadEntry(name, (), parts=parts))


def work(part: str, operations: float | None, seconds: float | None = 10.0, unit: str = "op", **more: Any) -> WorkPart:
    return WorkPart(part, operations, unit, seconds, **more)  # type: ignore[arg-type]


def test_throughput_is_the_geometric_mean_of_the_parts_that_all_runs_have() -> None:
    a, b = working(work("cpu", 10), work("io", 40)), working(work("cpu", 20), work("io", 320))
    found = throughput([a], [b])
    assert found is not None and found.ratio == pytest.approx(4.0) and found.lo is None, "2 and 8"
    lacking = throughput([a], [b, working(work("cpu", 20))])
    assert lacking is not None and lacking.ratio == pytest.approx(2.0), "only what all have"
    twice = throughput([a, a], [b, working(work("cpu", 20.2), work("io", 320))])
    assert twice is not None and twice.lo is not None and twice.hi is not None and twice.lo < twice.ratio < twice.hi
    slower = throughput([a], [working(work("cpu", 10, 20.0), work("io", 40, 20.0))])
    assert slower is not None and slower.ratio == pytest.approx(0.5)


@pytest.mark.parametrize(
    "other",
    [
        work("io", 10), work("cpu", 0), work("cpu", None), work("cpu", 10, None), work("cpu", 10, 0.0), work("cpu", 10, unit=""),
        work("cpu", 10, unit="frames"), work("cpu", 10, skipped=True),
    ],
)  # fmt: skip
def test_work_that_was_not_counted_is_none(other: WorkPart) -> None:
    assert throughput([working(work("cpu", 10))], [working(other)]) is None


def test_work_of_other_loads_or_of_nothing_is_not_compared() -> None:
    assert throughput([working(work("cpu", 10))], [working(work("cpu", 10), name="y")]) is None
    assert throughput([], []) is None and throughput([working(work("cpu", 10))], []) is None

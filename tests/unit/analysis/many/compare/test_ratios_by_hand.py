"""The ladder of ratios: intervals against scipy, Holm's correction and what is called a difference, on small samples."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rtassay.analysis.many.compare import inference
from rtassay.analysis.many.compare.ratios import Side, Step, conclusion, corrected, ladder, logs_of, steps
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import (
    A_BETTER,
    B_BETTER,
    CROSSES,
    NO_DIFFERENCE,
    RUNS_BOOTSTRAP,
    RUNS_EXCHANGE,
    RUNS_T,
    WITHIN_RUN,
    QuantileRatio,
)

from ...build import account, block_lane

A3, B5 = (10_000, 11_000, 13_000), (20_000, 21_500, 26_000, 22_000, 24_000)


def constant(value: int, n: int = 200, step_ns: int = 1) -> Sample:
    return Sample([account(block_lane({value: n}))], step_ns)


def side(*values: int, boots: str = "", step_ns: int = 1) -> Side:
    """Runs of one value each, so that every quantile of a run is that value."""
    return Side(
        tuple(constant(value, step_ns=step_ns) for value in values), tuple(boots or map(str, range(len(values))))
    )


def at(q: float, a: Side, b: Side, primary: float = 0.99, **more: Any) -> Step:
    return next(step for step in ladder(a, b, primary, **more) if step.row.q == q)


def test_the_primary_step_has_its_place_in_the_ladder() -> None:
    assert steps(0.7)[:3] == (0.5, 0.7, 0.9) and len(steps(0.5)) == len(steps(0.7)) - 1
    made = ladder(side(*A3), side(*B5), 0.7)
    assert [step.row.q for step in made if step.alone] == [0.7]
    assert not any(step.alone for step in ladder(side(*A3), side(*B5), 0.7, pooled=False))


def test_without_samples_there_is_no_ladder() -> None:
    full, empty = side(*A3), Side((constant(1), Sample([])), ("a", "b"))
    assert ladder(full, empty, 0.5) == ladder(empty, full, 0.5) == []
    assert ladder(full, Side((), ()), 0.5) == ladder(Side((), ()), full, 0.5) == []


def by_scipy(a: tuple[int, ...], b: tuple[int, ...], gap: float | None = None) -> tuple[float, float, float]:
    """(lower, upper end of the wider interval of ln B / A, larger p) of Welch's and Student's test."""
    la, lb = np.log(a), np.log(b)
    tests = [stats.ttest_ind(lb, la, equal_var=equal) for equal in (False, True)]
    ends = [test.confidence_interval(0.95) for test in tests]
    wide = max(ends, key=lambda end: end.high - end.low)
    return wide.low, wide.high, max(test.pvalue for test in tests)


@pytest.mark.parametrize(("a", "b"), [(A3, B5), (B5, A3), ((10_000, 10_100), (10_000, 19_000, 11_000))])
def test_the_interval_is_the_wider_one_of_welch_and_student(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    step = at(0.5, side(*a), side(*b))
    low, high, p = by_scipy(a, b)
    assert (step.row.method == RUNS_T and step.row.p_value is None) or step.row.method == RUNS_T
    assert step.row.ratio == pytest.approx(math.exp(np.mean(np.log(b)) - np.mean(np.log(a))))
    assert (step.row.lo, step.row.hi) == pytest.approx((math.exp(low), math.exp(high)))
    assert step.p == pytest.approx(p)
    above = sum((y > x) + 0.5 * (y == x) for x in a for y in b) / (len(a) * len(b))
    assert (step.row.a12, step.row.cliffs_delta) == pytest.approx((above, 2 * above - 1))


@pytest.mark.parametrize(("a", "b"), [(A3, B5), (B5, A3), (A3, (10_500, 11_100, 12_600))])
def test_bins_widen_the_interval_and_narrow_the_gap(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """A clock of 500 ns: the true values lie up to ln(1 + 500 / value) above, on average over the runs."""
    step = at(0.5, side(*a, step_ns=500), side(*b, step_ns=500))
    wide = [float(np.mean(np.log1p(500 / np.array(values)))) for values in (a, b)]
    low, high, _ = by_scipy(a, b)
    assert (step.row.lo, step.row.hi) == pytest.approx((math.exp(low - wide[0]), math.exp(high + wide[1])))
    la, lb = (np.log(values) for values in (a, b))
    gap = max(lb.mean() - la.mean() - wide[0], la.mean() - lb.mean() - wide[1], 0.0)
    tests = [
        test(la, lb, wide[0] / math.sqrt(12), wide[1] / math.sqrt(12)) for test in (inference.welch, inference.student)
    ]
    assert step.p == pytest.approx(max(test.p_value(gap) for test in tests))
    assert (step.p == 1.0) == bool(gap == 0.0)


def test_two_runs_a_group_have_an_interval_between_runs_and_one_has_not() -> None:
    assert at(0.5, side(10_000, 11_000), side(20_000, 21_000)).row.method == RUNS_T
    for a, b in (((10_000,), (20_000, 21_000)), ((10_000, 11_000), (20_000,))):
        row = at(0.5, side(*a), side(*b)).row
        assert row.method == WITHIN_RUN and row.a12 is None and row.lo is not None and row.hi is not None
        assert row.ratio == pytest.approx(math.exp(np.mean(np.log(b)) - np.mean(np.log(a))))
    single = at(0.5, side(7_001), side(9_007)).row
    assert single.ratio == 9_007 / 7_001 and single.detectable == 1.0
    assert (single.lo, single.hi) == (9_007 / 7_001, 9_007 / 7_001)


def test_values_without_logarithms_have_bounds_at_most() -> None:
    zero = at(0.5, side(0, 0, 0), side(10, 10, 10))
    assert (zero.row.ratio, zero.row.lo, zero.row.hi, zero.row.method, zero.p) == (None, None, None, None, None)
    beyond = at(0.999999, side(10_000), side(20_000))
    assert beyond.row.bound == "at_least" and beyond.row.ratio is None
    assert (beyond.row.lo, beyond.row.hi, beyond.row.method) == (None, None, None), "no rank lies above all samples"


EIGHT = tuple(10_000 + 173 * i * i for i in range(8))
LATER = tuple(round(1.3 * value) + 7 * i for i, value in enumerate(reversed(EIGHT)))


def test_eight_runs_have_a_bootstrap_and_seven_have_not() -> None:
    a, b = side(*EIGHT), side(*LATER)
    assert at(0.5, a, b).row.method == at(0.5, b, a).row.method == RUNS_BOOTSTRAP
    assert at(0.5, side(*EIGHT[:7]), b).row.method == at(0.5, a, side(*LATER[:7])).row.method == RUNS_T
    assert at(0.5, a, b, pooled=False).row.method == RUNS_T
    assert at(0.5, side(*[10_000] * 8), side(*[20_000] * 8)).row.method == RUNS_T, "nothing varies"


def ends(a: Side, b: Side) -> tuple[float, float]:
    row = at(0.99, a, b).row
    assert row.method == RUNS_EXCHANGE and row.lo is not None and row.hi is not None and row.p_value is not None
    return math.log(row.lo), math.log(row.hi)


def test_the_primary_step_has_the_interval_of_exchanges() -> None:
    a, b = side(*EIGHT), side(*LATER)
    exact = inference.exchange_interval(np.log(EIGHT), np.log(LATER))
    assert ends(a, b) == pytest.approx(exact)
    assert at(0.99, side(*A3), side(*B5)).row.method == RUNS_EXCHANGE, "2 / C(8, 3) = 0.036"
    assert at(0.99, side(*A3), side(*A3)).row.method == RUNS_T, "2 / C(6, 3) = 0.1"


@pytest.mark.parametrize("grouped", ["a", "b", "both"])
def test_runs_of_one_boot_make_it_at_least_as_wide_as_the_bootstrap(grouped: str) -> None:
    pairs = "wwxxyyzz"
    a = side(*EIGHT, boots=pairs if grouped in ("a", "both") else "")
    b = side(*LATER, boots=pairs if grouped in ("b", "both") else "")
    exact = inference.exchange_interval(np.log(EIGHT), np.log(LATER))
    boot = at(0.5, a, b).row  # every quantile of a run is the same value, so only the draws differ
    assert boot.method == RUNS_BOOTSTRAP and boot.lo is not None and boot.hi is not None
    low, high = ends(a, b)
    assert low <= exact[0] + 1e-12 and high >= exact[1] - 1e-12
    assert (low, high) != pytest.approx(exact), "the bootstrap of boots is wider here"
    assert (low, high) == pytest.approx((math.log(boot.lo), math.log(boot.hi)), abs=0.05)


def test_unknown_boots_are_not_grouped() -> None:
    a, b = side(*EIGHT), side(*LATER)
    blind = Side(a.samples, (None,) * 8)
    assert ends(blind, b) == pytest.approx(inference.exchange_interval(np.log(EIGHT), np.log(LATER)))


# Holm and the words of a step


def row(q: float, lo: float | None, hi: float | None, method: str | None = RUNS_T, **more: Any) -> QuantileRatio:
    return replace(QuantileRatio(q, 1, 1, 1.0, lo, hi, "exact", method=method), **more)


THREE = side(10, 10, 10)


def shown(*made: Step, a: Side = THREE, b: Side = THREE) -> list[str | None]:
    (rows,) = corrected([(a, b, list(made))])
    return [found.shown for found in rows]


@pytest.mark.parametrize(
    ("lo", "hi", "kind"),
    [
        (1.1, 1.3, A_BETTER),
        (0.8, 0.9, B_BETTER),
        (1.0, 1.3, None),
        (0.8, 1.0, None),
        (0.9, 1.1, None),
        (1.1, None, A_BETTER),
        (None, 0.9, B_BETTER),
        (None, None, None),
    ],
)
def test_an_interval_without_1_shows_a_difference(lo: float | None, hi: float | None, kind: str | None) -> None:
    alone, other = Step(row(0.99, lo, hi), 0.9, alone=True), Step(row(0.5, lo, hi), 0.01)
    assert shown(alone, other) == [kind, kind], "the primary step is not corrected"
    two = side(10, 10)
    for a, b in ((two, THREE), (THREE, two), (two, two)):
        assert shown(alone, other, a=a, b=b) == [None, None], "two runs of a kind are too few"


def test_holm_is_over_all_steps_but_the_primary_one() -> None:
    primary = Step(row(0.99, 1.1, 1.3), 0.9, alone=True)

    def of(*ps: float | None, method: str | None = RUNS_T) -> list[str | None]:
        others = [Step(row(0.1 * i, 1.1, 1.3, method if p is None else RUNS_T), p) for i, p in enumerate(ps)]
        return shown(primary, *others)[1:]

    assert of(0.025, 0.05) == [A_BETTER, A_BETTER], "2 x 0.025 and 0.05"
    assert of(0.026, 0.03) == [None, None]
    assert of(0.01, 0.025, 0.06) == [A_BETTER, A_BETTER, None]
    assert of(0.05) == [A_BETTER] and of(0.0501) == [None]
    assert of(0.03, None) == [None, None], "a step without p is a test, too"
    assert of(0.03, None, method=None) == [A_BETTER, None], "a step without anything is none"


def test_p_values_of_exchanges_are_corrected_among_themselves() -> None:
    alone = Step(row(0.99, 1.1, 1.3, p_value=0.04), 0.01, alone=True)
    first, second = Step(row(0.5, 1.1, 1.3, p_value=0.01), 0.01), Step(row(0.9, 1.1, 1.3, p_value=0.03), 0.01)
    tables = corrected([(THREE, THREE, [first, alone]), (THREE, THREE, [second])])
    assert [[found.q for found in rows] for rows in tables] == [[0.5, 0.99], [0.9]]
    assert [found.p_holm for rows in tables for found in rows] == pytest.approx([0.02, 0.04, 0.03])


def test_within_runs_the_interval_itself_is_corrected() -> None:
    """Values 1 to 100: the ranks of p50 are 40 and 61 at 5 %, 36 and 65 at 0.5 %."""
    a = Side((Sample([account(block_lane({1000 * i: 1 for i in range(1, 101)}))]),), ("a",))
    b = Side((Sample([account(block_lane({1000 * i + 25_000: 1 for i in range(1, 101)}))]),), ("b",))
    step = at(0.5, a, b)
    assert (step.row.lo, step.row.hi) == pytest.approx((65 / 61, 86 / 40)) and step.row.method == WITHIN_RUN
    assert shown(step, a=a, b=b) == [A_BETTER]
    others = [Step(row(0.01 * i, 1.0, 1.0), 0.9) for i in range(9)]
    assert shown(step, *others, a=a, b=b)[0] is None
    alone = replace(step, alone=True)
    assert shown(alone, *others, a=a, b=b)[0] == A_BETTER


def test_the_conclusion_is_that_of_the_primary_step() -> None:
    def of(*kinds: str | None) -> str:
        return conclusion(
            [row(q, None, None, shown=kind) for q, kind in zip((0.5, 0.9, 0.99), kinds, strict=True)], 0.9
        )

    assert of(A_BETTER, None, B_BETTER) == NO_DIFFERENCE
    assert of(None, A_BETTER, A_BETTER) == A_BETTER and of(None, B_BETTER, None) == B_BETTER
    assert of(None, A_BETTER, B_BETTER) == of(A_BETTER, B_BETTER, None) == CROSSES
    assert of(A_BETTER, A_BETTER, B_BETTER) == CROSSES, "every step shows something"
    assert conclusion([], 0.9) == NO_DIFFERENCE


def test_logs_need_every_run() -> None:
    assert logs_of(side(*A3), 0.5) is not None and logs_of(side(*A3), 0.999999) is None
    assert logs_of(Side((constant(5), Sample([])), ("a", "b")), 0.5) is None

"""Known answers of the parts of a comparison: pools, intervals, exchanges of runs, Holm, maxima of equal n, limits of its checks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.distribution import ints
from rtassay.analysis.many.compare import compare
from rtassay.analysis.many.compare.curves import crossover, equal_n, flips, maximum_quantile, rarefied
from rtassay.analysis.many.compare.inference import (
    a12,
    all_exchanges,
    holm,
    permutation_p,
    runs_needed,
    smallest_p,
    welch,
)
from rtassay.analysis.many.compare.sample import Sample
from rtassay.analysis.many.repeats import judge_repeats
from rtassay.model.comparison import A_BETTER, B_BETTER, Comparison, QuantileRatio
from rtassay.model.findings import CheckResult
from rtassay.model.recording import Histogram, Recording

from ...build import US, account, block_lane, cyclictest, recording, skip_lane
from .groups import run


def sample(counts: dict[int, int], step_ns: int = 1) -> Sample:
    return Sample(accounts(recording(block_lane(counts))), step_ns)


def cut(counts_us: dict[int, int], over: int) -> Sample:
    return Sample(accounts(cyclictest(skip_lane(counts_us, over=over, limit_us=400))))


def array(*values: float) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(values, dtype=float)


def test_a_pool_adds_equal_values_of_its_lanes() -> None:
    lanes = accounts(recording(block_lane({10: 2, 20: 1}), block_lane({5: 1, 20: 3}, index=1)))
    pool = Sample(lanes)
    assert (pool.values.tolist(), pool.counts.tolist(), pool.n, pool.over) == ([5, 10, 20], [1, 2, 4], 7, 0)
    assert pool.at(ints([1, 2, 3, 4, 7])).tolist() == [5, 10, 10, 20, 20]
    assert pool.reaching(ints([4, 5, 6, 10, 11, 20, 21])).tolist() == [7, 7, 6, 6, 4, 4, 0]
    assert pool.histogram().counts.tolist() == [1, 2, 4] and pool.histogram().width_ns.tolist() == [1, 1, 1]
    assert pool.same_as(Sample(lanes)) and not pool.same_as(sample({5: 1, 10: 2, 20: 5}))
    assert not sample({5: 1, 6: 1}).same_as(sample({5: 1, 7: 1})) and not sample({5: 2, 6: 1}).same_as(
        sample({5: 1, 6: 2})
    )
    assert not cut({5: 9}, 1).same_as(cut({5: 10}, 0))
    empty = Sample([])
    assert (empty.n, empty.quantile(0.5), empty.resolution_ns(7)) == (0, None, 1)


def test_a_pool_with_overflow() -> None:
    pool = cut({5: 90}, 10)
    assert (pool.n, pool.over, pool.limit_ns) == (100, 10, 400 * US)
    assert pool.at(ints([90, 91, 100])).tolist() == [5 * US, 400 * US, 400 * US]
    half, high = pool.quantile(0.5), pool.quantile(0.99)
    assert half is not None and (half.value_ns, half.lo_ns, half.hi_ns, half.exact) == (5 * US, 5 * US, 5 * US, True)
    assert high is not None and (high.value_ns, high.hi_ns, high.exact) == (400 * US, None, False)


@pytest.mark.parametrize(("n", "exact"), [(99, False), (100, True), (101, True)])
def test_a_quantile_is_exact_when_a_sample_lies_beyond(n: int, exact: bool) -> None:
    found = sample({k: 1 for k in range(1, n + 1)}).quantile(0.99)
    assert found is not None and found.exact is exact


def test_how_finely_a_pool_tells() -> None:
    assert sample({10: 1}).resolution_ns(10) == 1 and sample({10: 1}, 40).resolution_ns(10) == 40
    assert sample({10: 1}, 0).resolution_ns(10) == 1
    assert cut({5: 1, 7: 1}, 0).resolution_ns(5 * US) == US and cut({5: 1}, 0).resolution_ns(1) == US

    uneven = Histogram(np.array([10, 20, 1000]), np.array([1, 5, 1000]), np.array([1, 1, 1]))
    wide = Sample([account(replace(block_lane({10: 3}), histogram=uneven))])
    assert [wide.resolution_ns(value) for value in (9, 10, 19, 20, 999, 1000, 5000)] == [1, 1, 1, 5, 5, 1000, 1000]
    assert wide.histogram().width_ns.tolist() == [1, 5, 1000]


def test_what_overflow_leaves_exact() -> None:
    edge = cut({5: 90}, 10).quantile(0.9)
    assert edge is not None and (edge.value_ns, edge.exact) == (5 * US, True), "the last that is known"
    lanes = (
        skip_lane({5: 90}, over=10, limit_us=100),
        replace(skip_lane({200: 100}), entry=replace(skip_lane({200: 100}).entry, index=1)),
    )
    middle = Sample(accounts(cyclictest(*lanes))).quantile(0.5)
    assert middle is not None and (middle.value_ns, middle.exact) == (100 * US, False), "ten lie anywhere above 100 us"


def test_welch_by_hand() -> None:
    found = welch(array(1, 3), array(4, 6, 8), 0.0, 0.0)  # variances 2 and 4: 1 and 4/3 of the means
    assert found.difference == 4.0 and found.error == pytest.approx(math.sqrt(7 / 3))
    assert found.freedom == pytest.approx((7 / 3) ** 2 / (1 + (4 / 3) ** 2 / 2))
    assert found.p_value(0.0) == 1.0 and found.p_value(-1.0) == 1.0
    assert found.p_value(found.half_width(0.05)) == pytest.approx(0.05)
    # what the resolution hides counts where the values vary less
    assert welch(array(1, 1), array(2, 2), 3.0, 4.0).error == pytest.approx(math.sqrt(9 / 2 + 16 / 2))


def test_exchanges_of_runs_by_hand() -> None:
    assert (
        smallest_p(3, 3) == pytest.approx(0.1)
        and smallest_p(1, 1) == 1.0
        and smallest_p(5, 5) == pytest.approx(2 / 252)
    )
    assert runs_needed(0.1) == 3 and runs_needed(0.099) == 4 and runs_needed(0.05) == 4 and runs_needed(1.0) == 2
    assert permutation_p(array(1, 2, 3), array(4, 5, 6)) == (pytest.approx(0.1), True)
    assert permutation_p(array(1, 2), array(1, 2)) == (1.0, True)
    # of the 10 choices of two among 1 2 3 4 9, the means of {1, 2} and {4, 9} alone lie that far from the rest
    assert permutation_p(array(1, 2), array(3, 4, 9)) == (pytest.approx(0.2), True)
    assert all_exchanges(10, 10) and not all_exchanges(11, 10) and not all_exchanges(10, 11)
    assert a12(array(1, 2), array(2, 3)) == pytest.approx(3.5 / 4) and a12(array(5), array(4)) == 0.0


def test_holm_by_hand() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == [pytest.approx(0.03), None, pytest.approx(0.06), pytest.approx(0.06)]
    assert holm([0.01, None], 5) == [pytest.approx(0.05), None]
    assert holm([0.5, 0.9]) == [1.0, 1.0] and holm([]) == []
    assert holm([0.01, 0.02], 1) == [pytest.approx(0.02), pytest.approx(0.02)]


def test_where_two_curves_cross() -> None:
    a, b = sample({10: 90, 100: 10}), sample({20: 99, 200: 1})
    # both reach 10; at 20 a has 10 % and b all, at 100 b has 1 %, at 200 only b has any
    found = [(flip.value_ns, flip.worse_below, flip.worse_above, flip.q) for flip in flips(a, b)]
    assert found == [(20, "b", "a", pytest.approx(0.9)), (100, "a", "b", pytest.approx(0.99))]
    assert flips(a, a) == [] and flips(Sample([]), a) == flips(a, Sample([])) == []


def test_beyond_the_nearer_limit_no_order_is_known() -> None:
    """Of A a tenth lies at 100 us or above, of B a fifth at 200 us and a twentieth at 400 us or above."""
    near, far = (
        Sample(accounts(cyclictest(skip_lane(counts, over=over, limit_us=limit))))
        for counts, over, limit in (({5: 90}, 10, 100), ({5: 80, 200: 15}, 5, 400))
    )
    assert flips(near, far) == flips(far, near) == []


def test_a_crossover_lies_between_steps_that_show_it() -> None:
    a, b = sample({10: 90, 100: 10}), sample({20: 99, 200: 1})  # b is later up to p90, a up to p99

    def between(low: tuple[float, str], high: tuple[float, str], *more: tuple[float, str | None]) -> tuple[float, bool]:
        rows = tuple(QuantileRatio(q, 1, 1, 1.0, None, None, "exact", shown=kind) for q, kind in (low, *more, high))
        found = crossover(a, b, rows)
        assert found is not None
        return round(found.q, 6), found.shown

    assert (
        between((0.5, A_BETTER), (0.95, B_BETTER))
        == between((0.5, A_BETTER), (0.95, B_BETTER), (0.7, None))
        == (0.9, True)
    )
    assert between((0.95, B_BETTER), (0.999, A_BETTER)) == (0.99, True)
    assert between((0.5, A_BETTER), (0.999, A_BETTER), (0.95, B_BETTER)) == (0.99, True), "the last of two"
    assert between((0.5, B_BETTER), (0.95, A_BETTER)) == (0.99, False), "no flip that way lies between"
    assert between((0.5, A_BETTER), (0.8, B_BETTER)) == between((0.91, A_BETTER), (0.95, B_BETTER)) == (0.99, False)
    assert crossover(a, a, ()) is None


@pytest.mark.parametrize(("n", "m"), [(9, None), (10, 1), (99, 1), (100, 10), (999, 10), (1000, 100)])
def test_maxima_are_compared_at_a_tenth(n: int, m: int | None) -> None:
    assert equal_n(sample({5: n}), sample({5: 10**6})) == m and equal_n(sample({5: 10**6}), sample({5: n})) == m
    found = rarefied(sample({5: n}), sample({7: 10**6}))
    assert (found is None) if m is None else (found is not None and found.m == m and found.b_median_ns == 7)


def test_the_maximum_of_some_of_a_pool_by_hand() -> None:
    pool = sample({1: 5, 2: 3, 3: 2})  # of 2 drawn of 10: both among 5 with 10/45, among 8 with 28/45
    assert [maximum_quantile(pool, 2, p) for p in (0.22, 0.23, 0.62, 0.63, 0.999)] == [1, 2, 2, 3, 3]
    assert maximum_quantile(cut({5: 5}, 5), 2, 0.9) is None
    two = sample({1: 2, 2: 8})  # both drawn are the two smallest with 1/45
    assert [maximum_quantile(two, 2, p) for p in (0.022, 0.023)] == [1, 2]


def checked(result: Comparison, name: str) -> CheckResult:
    return next(check for check in result.checks if check.id == name)


def pair(a: dict[str, Any] | None = None, b: dict[str, Any] | None = None, n: int = 100, m: int = 100) -> Comparison:
    return compare([run("a", {10: n}, **(a or {}))], [run("b", {20: m}, **(b or {}))])


@pytest.mark.parametrize(
    ("celsius", "severity"), [(53.0, "pass"), (53.5, "warning"), (47.0, "pass"), (46.5, "warning")]
)
def test_temperatures_of_the_groups(celsius: float, severity: str) -> None:
    found = checked(pair({"celsius": 50.0}, {"celsius": celsius}, n=2000, m=2000), "TEMP-CONFOUND")
    assert found.severity == severity
    assert found.facts == {"zone": "cpu", "a_mean_c": 50.0, "b_mean_c": celsius}


@pytest.mark.parametrize(("m", "severity"), [(10_000, "note"), (9_900, "note"), (9_899, "warning")])
def test_maxima_of_unequal_numbers_of_samples(m: int, severity: str) -> None:
    found = checked(pair(n=10_000, m=m), "RATIO-OF-MAXIMA")
    assert found.severity == severity
    assert (found.facts["a_n"], found.facts["b_n"], found.facts["a_max_ns"], found.facts["b_max_ns"]) == (
        10_000,
        m,
        10,
        20,
    )


def runs(prefix: str, number: int, hour: int, boots: int | None = None) -> list[Recording]:
    return [
        run(
            f"{prefix}{i}",
            {100 + i + hour: 1000},
            boot=None if boots is None else f"{prefix}-{i % boots}",
            started=f"2026-11-01T{hour + i:02d}:00:00Z",
        )
        for i in range(number)
    ]


@pytest.mark.parametrize(
    ("a", "b", "few", "single"),
    [(5, 5, "pass", "pass"), (4, 5, "warning", "pass"), (5, 4, "warning", "pass"), (1, 5, "warning", "warning")],
)
def test_how_many_runs_there_are(a: int, b: int, few: str, single: str) -> None:
    result = compare(runs("a", a, 0), runs("b", b, 10))
    assert checked(result, "FEW-RUNS").severity == few and checked(result, "SINGLE-RUN").severity == single
    assert checked(result, "FEW-RUNS").facts["a_runs"] == a and checked(result, "FEW-RUNS").facts["b_runs"] == b


@pytest.mark.parametrize(
    ("boots_a", "boots_b", "severity"),
    [(2, 2, "pass"), (1, 2, "warning"), (2, 1, "warning"), (None, 2, "unknown"), (None, 1, "warning")],
)
def test_boots_of_the_groups(boots_a: int | None, boots_b: int | None, severity: str) -> None:
    found = checked(compare(runs("a", 3, 0, boots_a), runs("b", 3, 10, boots_b)), "ONE-BOOT")
    assert found.severity == severity and found.facts == {"a_boots": boots_a, "b_boots": boots_b}


def test_single_runs_of_one_boot_each_are_a_note() -> None:
    assert checked(compare(runs("a", 1, 0, 1), runs("b", 1, 10, 1)), "ONE-BOOT").severity == "note"
    assert checked(compare(runs("a", 1, 0, 1), runs("b", 3, 10, 1)), "ONE-BOOT").severity == "warning"


@pytest.mark.parametrize(
    ("a", "b", "first"),
    [((2, 0), (2, 10), "A"), ((2, 10), (2, 0), "B"), ((3, 0), (2, 1), None), ((2, 0), (2, 1), None)],
)
def test_the_order_of_the_groups(a: tuple[int, int], b: tuple[int, int], first: str | None) -> None:
    found = checked(compare(runs("a", *a), runs("b", *b)), "ORDER-CONFOUND")
    assert found.severity == ("pass" if first is None else "warning") and found.facts.get("first") == first
    assert checked(compare(runs("a", 1, 0), runs("b", 1, 5)), "ORDER-CONFOUND").severity == "note"
    assert checked(pair(), "ORDER-CONFOUND").severity == "unknown"


def test_pairs_of_copies_are_counted() -> None:
    two = checked(compare([run("a", {10: 9}), run("c", {11: 9})], [run("b", {10: 9})]), "DUPLICATE-RESULT")
    assert two.facts["pairs"] == [["a", "b"]] and "more pairs" not in two.message
    three = checked(compare([run("a", {10: 9}), run("c", {10: 9})], [run("b", {10: 9})]), "DUPLICATE-RESULT")
    assert len(three.facts["pairs"]) == 3 and "and 2 more pairs" in three.message


def repeated(
    *counts: dict[int, int], checks: tuple[CheckResult, ...] = (), deadline_ns: int | None = 500, **more: Any
) -> Any:
    made = [recording(block_lane(each)) for each in counts]
    return judge_repeats(made, checks, deadline_ns=deadline_ns, p=1e-3, confidence=0.95, **more)


def test_runs_together_show_what_none_of_them_does() -> None:
    one, three = repeated({100: 1000}), repeated(*[{100: 1000}] * 3)
    assert (one.state, one.runs, one.demonstrated_ns) == ("NOT DEMONSTRATED", 1, None)
    assert (three.state, three.runs, three.due, three.exceedances, three.demonstrated_ns) == ("HOLDS", 3, 3000, 0, 101)
    assert three.p_upper == pytest.approx(-math.expm1(math.log(0.05) / 3000))
    # The order is not known, so the late ones of a run may be one event: 20 of them prove less than 100 do.
    few, many = (repeated({100: 1000, 900: late}, {100: 1000}) for late in (20, 100))
    assert (few.state, few.exceedances, few.due) == ("NOT DEMONSTRATED", 20, 2020)
    assert (many.state, many.exceedances, many.due) == ("VIOLATED", 100, 2100)
    assert repeated({100: 3000}, deadline_ns=None).state is None


@pytest.mark.parametrize(
    ("check", "more", "state"),
    [
        (CheckResult("A", "invalid", "integrity", "so", {}), {}, "INVALID MEASUREMENT"),
        (CheckResult("A", "warning", "optimism", "so", {}), {}, "NOT DEMONSTRATED"),
        (CheckResult("A", "warning", "integrity", "so", {}), {}, "HOLDS"),
        (CheckResult("A", "warning", "integrity", "so", {}), {"strict": True}, "INVALID MEASUREMENT"),
        (CheckResult("N-TOO-SMALL", "warning", "optimism", "so", {}), {}, "HOLDS"),
        (CheckResult("NO-LOAD", "warning", "optimism", "so", {}), {}, "NOT DEMONSTRATED"),
        (CheckResult("NO-LOAD", "warning", "optimism", "so", {}), {"answered": ("NO-LOAD",)}, "HOLDS"),
        (CheckResult("NO-LOAD", "unknown", "optimism", "so", {}), {}, "NOT DEMONSTRATED"),
    ],
)
def test_what_spoils_one_run_spoils_the_sum(check: CheckResult, more: dict[str, Any], state: str) -> None:
    assert repeated({100: 3000}, {100: 3000}, checks=(check,), **more).state == state


def test_a_refused_comparison_shows_the_values_of_single_runs_alone() -> None:
    fine, coarse = run("a", {10_000: 5000}), cyclictest(skip_lane({20: 5000}), id="b")
    fine, coarse = (
        replace(side, manifest=replace(side.manifest, bin_width_ns=width))
        for side, width in ((fine, 1000), (coarse, 1500))
    )
    one = compare([fine], [coarse])
    assert one.conclusion == "refused"
    assert [(row.a_ns, row.b_ns, row.ratio) for row in one.quantiles[:2]] == [(10_000, 20 * US, None)] * 2
    two = compare([fine, replace(fine, manifest=replace(fine.manifest, id="c"))], [coarse])
    assert [(row.a_ns, row.b_ns, row.bound) for row in two.quantiles[:2]] == [(None, 20 * US, "at_least")] * 2

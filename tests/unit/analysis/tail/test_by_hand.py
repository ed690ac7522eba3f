"""The steps of an extrapolation on small numbers worked out by hand: bursts, tests of what is assumed, tables of chance, thresholds."""

from __future__ import annotations

import math
import runpy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

from rtassay.analysis.lane.extremal_index import theta_d_gaps, theta_intervals, theta_k_gaps
from rtassay.analysis.tail import chance_table, doubts
from rtassay.analysis.tail.calibration import CHOICE, p_value, sides
from rtassay.analysis.tail.clusters import Run, Tail
from rtassay.analysis.tail.gpd import Excesses, Profile, excesses, level, log_survival
from rtassay.analysis.tail.shape import PIECES, anderson_darling, two_pieces
from rtassay.analysis.tail.thresholds import chosen

MINUTE_NS = 60_000_000_000


def run(positions: Any, values: Any, n: int = 1000, **changes: Any) -> Run:
    index = None if positions is None else np.array(positions, np.int64)
    return replace(Run("r", n, index, np.array(values, np.int64), 0, 1), **changes)


def test_runs_stand_one_after_the_other() -> None:
    first = run([1, 2, 7], [5, 9, 3], floor_ns=3, tick_ns=2, interval_ns=10)
    second = run([0, 4], [7, 4], 500, floor_ns=4, interval_ns=10)
    tail = Tail((first, second))
    assert (tail.n, tail.floor_ns, tail.tick_ns, tail.ordered, tail.interval_ns) == (1500, 4, 2, True, 10)
    assert (tail.value_ns.tolist(), tail.run.tolist(), tail.index.tolist()) == (
        [5, 9, 7, 4],
        [0, 0, 1, 1],
        [1, 2, 0, 4],
    )
    assert (tail.begin.tolist(), tail.sorted.tolist()) == ([0, 1000, 1500], [4, 5, 7, 9])
    above = tail.above(5)
    assert (above.position.tolist(), above.value_ns.tolist(), above.run.tolist()) == (
        [1, 2, 1000],
        [5, 9, 7],
        [0, 0, 1],
    )
    assert (above.size, above.share, above.threshold_ns) == (3, 3 / 1500, 5)
    unlike = Tail((first, replace(second, interval_ns=20, index=None)))
    assert unlike.interval_ns is None and not unlike.ordered and unlike.index.tolist() == [0, 1, 2, 3]
    assert unlike.above(5).position.tolist() == [0, 1, 2] and unlike.above(5).theta == 1.0


def test_a_threshold_is_the_highest_with_so_many_values() -> None:
    tail = Tail((run([0, 1, 2, 3], [7, 9, 5, 7], floor_ns=2),))
    assert [tail.threshold(size) for size in (1, 2, 3, 4, 5)] == [9, 7, 7, 2, 2]


def test_the_longest_gaps_divide_bursts() -> None:
    rng = np.random.default_rng(3)
    for size in (2, 5, 40):
        gaps = rng.permutation(np.unique(rng.geometric(0.02, 4 * size))[: size - 1])
        position = np.cumsum([3, *gaps])
        found = Tail((run(position, np.arange(position.size), 100_000),)).above(0)
        theta = theta_intervals(position, 100_000)
        longest = np.sort(gaps)[::-1][: math.ceil(theta * position.size) - 1]
        assert found.theta == theta
        assert found.first.tolist() == [0, *(i + 1 for i, gap in enumerate(gaps) if gap in longest)]
    by_hand = Tail((run([10, 11, 12, 500, 501, 900], [3, 9, 4, 8, 2, 7]),)).above(0)
    assert by_hand.theta == pytest.approx(2 * 885**2 / (5 * 394_688))
    assert (by_hand.first.tolist(), by_hand.clusters, by_hand.maxima_ns.tolist()) == ([0, 3, 5], 3, [9, 8, 7])
    assert Tail((run([], []),)).above(0).clusters == 0
    assert Tail((run([10, 20, 30], [1, 1, 1]),)).above(0).clusters == 3, "theta is 1: each is its own burst"


def test_bursts_within_a_minute_where_chance_does_not_join_them() -> None:
    second = 1_000_000_000
    positions = [1, 20, 21, 900]
    found = Tail((run(positions, [1] * 4, 1000, interval_ns=second),)).above(0)
    assert found.theta_at_minutes() == theta_d_gaps(np.array(positions), 1000, 60) != 1.0
    assert found.theta_k() == theta_k_gaps(np.array(positions), 1000, 10) != 1.0
    assert Tail((run([0, 9], [1, 1], 60, interval_ns=second),)).above(0).theta_at_minutes() is not None, "2 in a minute"
    assert Tail((run([0, 5, 9], [1] * 3, 60, interval_ns=second),)).above(0).theta_at_minutes() is None, "3 in a minute"
    slow = Tail((run(positions, [1] * 4, 1000, interval_ns=2 * MINUTE_NS),)).above(0)
    assert slow.theta_at_minutes() == theta_d_gaps(np.array(positions), 1000, 1)
    for blind in (run(positions, [1] * 4), run(None, [1] * 4, interval_ns=second)):
        assert Tail((blind,)).above(0).theta_at_minutes() is None
    assert Tail((run(None, [1] * 4),)).above(0).theta_k() is None


def test_drift_is_the_distance_of_bursts_from_an_even_spread() -> None:
    even = Tail((run(np.arange(100) * 10, [1] * 100),)).above(0)
    found = doubts.drift(even)
    assert (found.code, found.alpha, found.facts) == (
        "DRIFT",
        0.01,
        {"distance": 0.0095, "bursts_by_third": [34, 33, 33]},
    )
    two = Tail((run(np.arange(100) * 10, [1] * 100), run(np.arange(100) * 5, [1] * 100, 500))).above(0)
    assert doubts.drift(two).facts == {"distance": 0.009, "bursts_by_third": [68, 66, 66]}
    late = Tail((run(500 + np.arange(100) * 5, [1] * 100),)).above(0)
    told = doubts.drift(late)
    distance = 0.5005
    assert told.facts == {"distance": distance, "bursts_by_third": [0, 34, 66]}
    some = Tail((run(np.arange(100) * 8, [1] * 100),)).above(0)
    distance = 1 - 792.5 / 1000
    assert doubts.drift(some).p == pytest.approx(scipy.special.kolmogorov((10 + 0.12 + 0.011) * distance), rel=1e-9)
    assert doubts.drift(Tail((run(None, [1]),)).above(0)) == replace(found, p=None, facts={})


def differing(*runs: Run) -> Any:
    lowest = Tail(runs).above(0)
    return doubts.runs_differ(lowest, SimpleNamespace(exceeding=lowest))  # type: ignore[arg-type]


def test_runs_differ_by_the_number_of_their_bursts_or_by_their_sizes() -> None:
    many, few = run(None, [5] * 30), run(None, [5] * 10)
    found = differing(many, few)
    p_count = scipy.stats.chi2.sf(10, 1)
    assert found.facts == {"bursts": [30, 10], "p_count": float(f"{p_count:.3g}"), "p_size": 1.0}
    assert (found.code, found.alpha, found.p) == ("RUNS-DIFFER", 0.02, pytest.approx(2 * p_count))
    assert differing(replace(many, n=1500), replace(few, n=500)).p == 1.0, "in proportion to their length"
    sizes = differing(run(None, np.arange(30)), run(None, 100 + np.arange(30)))
    p_size = scipy.stats.kruskal(np.arange(30), 100 + np.arange(30)).pvalue
    assert sizes.p == pytest.approx(2 * p_size) and sizes.facts["p_count"] == 1.0
    assert sizes.facts["p_size"] == float(f"{p_size:.3g}")
    assert differing(many) == replace(found, p=None, alpha=0.01, facts={})
    of_one = SimpleNamespace(exceeding=Tail((many,)).above(0))
    assert doubts.runs_differ(Tail((many, few)).above(0), of_one).facts["p_size"] == 1.0  # type: ignore[arg-type]


def threshold(xi: float, m: int, threshold_ns: int = 7) -> Any:
    return SimpleNamespace(fit=SimpleNamespace(xi=xi), m=m, exceeding=SimpleNamespace(threshold_ns=threshold_ns))


def test_a_shape_that_moves_is_measured_by_what_fewer_values_explain() -> None:
    rows = [
        threshold(9, 600),
        threshold(0.1, 500),
        threshold(0.31234, 250, 30),
        threshold(0.0, 120, 40),
        threshold(0.9, 89),
    ]
    found = doubts.unstable(rows, 1)
    score = 0.21234 / math.sqrt(1.1**2 * (1 / 250 - 1 / 500) * (1 + 10 / 250))
    assert found.p == pytest.approx(2 * 2 * scipy.stats.norm.cdf(-score))
    assert (found.code, found.alpha) == ("UNSTABLE", 0.01)
    assert found.facts == {"threshold_ns": 30, "xi": 0.312, "xi_chosen": 0.1}
    other = doubts.unstable([threshold(0.1, 500), threshold(0.15, 250, 30), threshold(-0.2, 90, 40)], 0)
    assert other.facts["threshold_ns"] == 40 and other.facts["xi"] == -0.2
    assert doubts.unstable([threshold(0.1, 500), threshold(0.1, 100)], 0).p == 1.0
    for untested in (
        [threshold(0.1, 500), threshold(0.9, 500), threshold(0.9, 89)],
        [threshold(-0.41, 500), threshold(0, 100)],
    ):
        assert doubts.unstable(untested, 0) == replace(found, p=None, facts={})
    assert doubts.unstable([threshold(-0.4, 500), threshold(0, 100)], 0).p is not None


def two_halves(early: int, late: int, factor: float = 1.0, **changes: Any) -> Any:
    rng = np.random.default_rng(4)
    values = rng.exponential(1000, early + late) * np.repeat([1.0, factor], [early, late])
    positions = [*(50_000 // early * np.arange(early)), *(50_000 + 50_000 // late * np.arange(late))]
    exceeding = Tail((run(positions, values, 100_000, **changes),)).above(0)
    data = excesses(exceeding.maxima_ns, 0, 1)
    return SimpleNamespace(exceeding=exceeding, excesses=data, profile=Profile(data))


def test_the_first_half_of_the_time_predicts_the_second() -> None:
    found = doubts.halves(two_halves(100, 100))
    assert (found.code, found.alpha, found.facts["expected"]) == ("HALVES-DISAGREE", 0.01, 5.0)
    assert found.p is not None and found.p > 0.01
    more = doubts.halves(two_halves(100, 100, 3.0))
    assert more.p is not None and more.p < 1e-4 and more.facts["above_upper_limit"] > 10
    fewer = doubts.halves(two_halves(100, 100, 0.2))
    assert (fewer.p, fewer.facts["above_upper_limit"]) == (pytest.approx(2 * math.exp(-5)), 0)
    assert fewer.facts["above_lower_limit"] == 0
    assert doubts.halves(two_halves(25, 25)).p is not None
    for early, late in ((24, 200), (200, 24)):
        assert doubts.halves(two_halves(early, late)) == replace(found, p=None, facts={})
    unordered = Tail((run(None, np.arange(100)),)).above(0)
    assert doubts.halves(SimpleNamespace(exceeding=unordered)).p is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("k", "mean"), [(0, 2.0), (1, 2.0), (7, 2.0), (3, 5.0)])
def test_tails_of_poisson(k: int, mean: float) -> None:
    assert doubts._poisson_at_least(k, mean) == pytest.approx(scipy.stats.poisson.sf(k - 1, mean))
    assert doubts._poisson_at_most(k, mean) == pytest.approx(scipy.stats.poisson.cdf(k, mean))


def test_block_maxima_of_whole_blocks_of_one_run_each() -> None:
    """Two runs of 15.5 blocks of 1000: 15 of each, and what lies in a rest is in none."""
    at = np.arange(15) * 1000
    first = run([*at, 15_200], [*range(100, 115), 900], 15_500)
    second = run(np.sort([*at, *(at + 1)]), [v for i in range(15) for v in (200 + i, 50)], 15_500)
    made = doubts.block_maxima(Tail((first, second)).above(0))
    assert made is not None
    blocks, length = made
    assert (length, blocks.m, blocks.empty, blocks.base) == (1000, 30, 0, 0.0)
    assert blocks.y.tolist() == [*(v + 0.5 for v in range(100, 115)), *(v + 0.5 for v in range(200, 215))]
    assert doubts.block_maxima(Tail((first, replace(second, index=None))).above(0)) is None
    less = run(second.index[2:], second.value_ns[2:], 15_500)  # type: ignore[index]
    assert doubts.block_maxima(Tail((first, less)).above(0)) is None, "29 blocks have a maximum"
    empty = run(np.arange(35) * 1000, np.arange(35), 40_000)
    made = doubts.block_maxima(Tail((empty,)).above(2))
    assert made is not None and (made[0].m, made[0].empty, made[0].base, made[1]) == (33, 7, 2.0, 1000)
    for n, length in ((29_999, None), (30_000, 1000), (250_000, 2500)):
        positions = np.arange(0, n, n // 110)
        made = doubts.block_maxima(Tail((run(positions, np.arange(positions.size), n),)).above(0))
        assert (made and made[1]) == length, n


def test_values_of_one_tick_are_spread_over_it() -> None:
    assert doubts._spread(np.array([5, 5, 7]), 2).tolist() == [5.5, 6.5, 8.0]


def test_bursts_above_a_level_in_an_hour() -> None:
    assert (
        doubts.events_per_h(1e-6, 0.5, 1_000_000) == pytest.approx(1.8) and doubts.events_per_h(1e-6, 0.5, None) is None
    )


def test_a_mixture_is_told_with_its_ratio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubts, "two_pieces", lambda data, profile: 12.3456)
    row = SimpleNamespace(
        excesses=None, profile=None, fit=SimpleNamespace(xi=0.1), m=200, exceeding=SimpleNamespace(threshold_ns=77)
    )
    found = doubts.mixture(row)  # type: ignore[arg-type]
    assert (found.code, found.alpha, found.facts) == ("MIXTURE", 0.03, {"likelihood_ratio": 12.35, "threshold_ns": 77})
    assert found.p == p_value("PIECES", 12.3456, 0.1, 200)


def node(name: str, *at: int) -> Any:
    """The table as numbers, at shape, size and further indices."""
    inner = (3, 12) if name == "ROOTS" else (16,)
    return np.array(getattr(chance_table, name).split(), float).reshape(14, 4, *inner)[at]


def test_the_axes_of_the_table_are_those_it_was_made_with() -> None:
    made = runpy.run_path(str(Path(__file__).parents[4] / "tools" / "build_tail_tables.py"))
    for axis in ("SHAPES", "SIZES", "BEYOND", "TAILS", "UPPER"):
        assert getattr(chance_table, axis) == made[axis], axis


@pytest.mark.parametrize("name", ["ANDERSON_DARLING", "PIECES"])
def test_a_statistic_of_the_table_has_its_chance(name: str) -> None:
    for shape, size in ((0, 0), (7, 2), (13, 3)):
        row = node(name, shape, size)
        xi, m = chance_table.SHAPES[shape], chance_table.SIZES[size]
        for at, share in enumerate(chance_table.UPPER):
            if np.count_nonzero(row == row[at]) == 1:
                assert p_value(name, float(row[at]), xi, m) == pytest.approx(1 - share, rel=1e-6)
        assert p_value(name, float(row[0]) - 99, xi, m) == pytest.approx(math.exp(-0.001))
        beyond = float(row[-1]) + 0.5
        slope = (math.log(0.001) - math.log(0.01)) / (row[-1] - row[-3])
        assert p_value(name, beyond, xi, m) == pytest.approx(max(1e-4, 0.001 * math.exp(0.5 * slope)))
        assert p_value(name, 1e9, xi, m) == 1e-4
    between = (node(name, 7, 1, 10) + node(name, 7, 2, 10)) / 2
    assert p_value(name, between, 0.0, math.sqrt(100 * 200)) == pytest.approx(0.1, rel=1e-6), (
        "between sizes by their logarithm"
    )
    assert p_value(name, (node(name, 7, 1, 10) + node(name, 8, 1, 10)) / 2, 0.05, 100) == pytest.approx(0.1, rel=1e-6)
    for outside, size in ((7, 0), (9999, 3)):
        assert p_value(name, float(node(name, 7, size, 8)), 0.0, outside) == pytest.approx(0.3, rel=1e-6)


def test_falls_of_the_likelihood_are_those_of_the_table() -> None:
    """The error of a side, (1 - confidence) / 2, times CHOICE, is a tail of the table: both ends, at its nodes and between them."""
    shapes = np.array(chance_table.SHAPES)
    for tail in range(6):
        confidence = 1 - 2 * chance_table.TAILS[tail] / CHOICE
        for size, beyond in ((0, 1), (2, 0), (3, 2)):
            m = chance_table.SIZES[size]
            below, above = sides(m, chance_table.BEYOND[beyond] * m, confidence)
            roots = node("ROOTS", slice(None), size, beyond)
            assert below(shapes) == pytest.approx(np.maximum(roots[:, 11 - tail], 0) ** 2 / 2, rel=1e-6, abs=1e-12)
            assert above(shapes) == pytest.approx(np.maximum(-roots[:, tail], 0) ** 2 / 2, rel=1e-6, abs=1e-12)
    below, above = sides(100, 100 * math.sqrt(30), 1 - 2 * 0.05 / CHOICE)
    roots = (node("ROOTS", slice(None), 1, 0) + node("ROOTS", slice(None), 1, 1)) / 2
    assert above(shapes) == pytest.approx(roots[:, 3] ** 2 / 2, rel=1e-6)
    _, above = sides(100, 3, 1 - 2 * 0.05 / CHOICE)
    assert above(shapes) == pytest.approx(node("ROOTS", slice(None), 1, 0)[:, 3] ** 2 / 2, rel=1e-6), (
        "a level within the data"
    )


def test_beyond_the_table_falls_grow_in_proportion_and_coarse_ticks_have_a_least_fall() -> None:
    shapes = np.array(chance_table.SHAPES)
    wanted = scipy.stats.norm.ppf(CHOICE * 0.001 / 2)
    _, above = sides(100, 3000, 0.999)
    roots = node("ROOTS", slice(None), 1, 1)[:, 0] * wanted / scipy.stats.norm.ppf(0.005)
    assert above(shapes) == pytest.approx(roots**2 / 2, rel=1e-6)
    least = scipy.stats.norm.ppf(CHOICE * 0.05 / 2) ** 2 / 2
    below, above = sides(100, 3000, 0.95, fine=False)
    exact = sides(100, 3000, 0.95)
    assert below(shapes) == pytest.approx(np.maximum(exact[0](shapes), least)) and below(shapes).min() == pytest.approx(
        least
    )
    assert above(shapes) == pytest.approx(np.maximum(exact[1](shapes), least))


def chosen_of(*rows: tuple[float, int]) -> int | None:
    return chosen([SimpleNamespace(p_shape=p, m=m) for p, m in rows])  # type: ignore[misc]


def test_forward_stop_takes_the_lowest_threshold_that_is_left() -> None:
    assert chosen_of((0.5, 50)) == 0, "the lowest may be small"
    assert chosen_of((0.001, 500), (0.5, 90)) == 1 and chosen_of((0.001, 500), (0.5, 89)) is None
    assert chosen_of((0.001, 500)) is None is chosen_of((0.001, 500), (0.002, 300))
    # the mean of -log(1 - p) over the first two is 0.048, over three 0.26
    assert chosen_of((0.09, 500), (0.002, 300), (0.5, 200)) == 2
    assert chosen_of((1.0, 500), (0.001, 300)) == 0


def test_excesses_by_their_ticks() -> None:
    made = excesses(np.array([3, 5, 5, 9, 12]), 5, 1.0)
    assert (made.y.tolist(), made.count.tolist(), made.width, made.m) == ([0, 4, 7], [2, 1, 1], 1.0, 4)
    low, high = made.below(4), made.above(4)
    assert (low.y.tolist(), low.count.tolist(), low.cut, low.beyond, low.m, low.width) == ([0], [2], 4, 2, 4, 1.0)
    assert (high.y.tolist(), high.count.tolist(), high.beyond, high.m) == ([0, 3], [1, 1], 0, 2)


def test_another_distribution_above_a_higher_threshold() -> None:
    rng = np.random.default_rng(6)
    data = excesses(np.sort(np.concatenate([rng.exponential(1, 100), 10 + rng.exponential(0.1, 20)])), 0, 0.0)
    whole = Profile(data)
    gains = []
    for size in (10, 20, 40):
        cut = float(np.sort(data.y)[-size])
        parts = Profile(data.below(cut)).fit.log_likelihood + Profile(data.above(cut)).fit.log_likelihood
        gains.append(parts - whole.fit.log_likelihood)
    assert two_pieces(data, whole) == pytest.approx(2 * max(gains)) and max(gains) == gains[1]
    assert PIECES == (10, 20, 40, 80, 160)
    few = excesses(np.repeat(np.arange(4.0), 30), 0, 1.0)
    assert two_pieces(few, Profile(few)) == 0.0, "no piece has three different values"
    small = excesses(rng.exponential(1, 29), 0, 0.0)
    assert two_pieces(small, Profile(small)) == 0.0, "ten of 29 are more than a third"


def test_values_of_one_tick_are_spread_over_it_by_the_fitted_probability() -> None:
    data = Excesses(np.array([0.0, 1.0, 3.0]), np.array([3.0, 2.0, 1.0]), 1.0)
    fit = SimpleNamespace(xi=0.1, sigma=1.5)
    survival = []
    for y, count in zip(data.y, data.count.astype(int), strict=True):
        near, far = (scipy.stats.genpareto.sf(at, 0.1, 0, 1.5) for at in (y, y + 1))
        survival += [near - (i + 0.5) / count * (near - far) for i in range(count)]
    u = np.sort(1 - np.array(survival))
    rank = np.arange(1, 7)
    expected = -6 - ((2 * rank - 1) / 6 * (np.log(u) + np.log(1 - u[::-1]))).sum()
    assert anderson_darling(data, fit) == pytest.approx(expected)  # type: ignore[arg-type]


def test_limits_of_a_gpd_are_where_its_profile_falls_so_far() -> None:
    """Each end by hand: the smallest and largest level over all shapes whose best likelihood is within the fall."""
    for width in (0.0, 1.0):
        values = np.random.default_rng(9).exponential(3.0, 80)
        profile = Profile(excesses(np.floor(values) if width else values, 0, width))

        def fall(xi: Any) -> Any:
            return np.full(xi.shape, 1.5)

        low, high = profile.limits(lambda sigma, tau: level(sigma, tau, 50.0), fall, fall)
        sigma, xi = np.meshgrid(np.linspace(1.5, 6.0, 120), np.linspace(-0.5, 0.9, 120))
        pairs = profile.at(sigma.ravel(), (xi / sigma).ravel())
        inside = pairs >= profile.fit.log_likelihood - 1.5
        levels = level(sigma.ravel()[inside], (xi / sigma).ravel()[inside], 50.0)
        assert (low, high) == (pytest.approx(levels.min(), rel=0.03), pytest.approx(levels.max(), rel=0.03))


def test_beyond_the_end_point_nothing_survives() -> None:
    assert log_survival(np.array([1.0, 2.0, 3.0]), -1.0, 2.0).tolist() == [math.log(0.5), -math.inf, -math.inf]
    assert level(np.array([2.0]), np.array([1e-12]), math.e)[0] == pytest.approx(2.0)

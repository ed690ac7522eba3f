"""Crossover and maxima at equal n against counting by hand and exact fractions."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.many.compare import curves
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import QuantileRatio
from rtassay.model.recording import Lane

from ...build import US, account, block_lane, histogram


def sample(counts, width=1, **more):
    lane = block_lane(counts)
    return Sample(
        [
            account(
                Lane(
                    replace(lane.entry, n=sum(counts.values()) + more.get("over", 0)), histogram(counts, width, **more)
                )
            )
        ]
    )


small = st.dictionaries(st.integers(1, 12), st.integers(1, 5), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(small, small)
def test_flips_are_the_changes_of_sign_of_the_exceedance(a, b):
    x, y = sample(a), sample(b)
    signs = []
    for value in sorted(set(a) | set(b)):
        reach = [Fraction(sum(c for v, c in one.items() if v >= value), sum(one.values())) for one in (a, b)]
        if reach[0] != reach[1]:
            low, high = sorted(map(float, reach))
            signs.append((value, reach[1] > reach[0], high if high <= 1.5 * low else low))
    wanted = [low for low, high in itertools.pairwise(signs) if low[1] != high[1]]
    found = curves.flips(x, y)
    assert [(f.value_ns, f.worse_below == "b") for f in found] == [(v, worse) for v, worse, _ in wanted]
    for flip, (_, _, share) in zip(found, wanted, strict=True):
        assert flip.q == pytest.approx(1 - float(share))
        assert flip.worse_above != flip.worse_below


def test_one_wholly_later_does_not_cross():
    a = {v: 10 for v in range(100, 200)}
    assert curves.flips(sample(a), sample({v + 30: c for v, c in a.items()})) == []
    assert curves.crossover(sample(a), sample(a), ()) is None


def test_the_flip_is_where_the_quantiles_change_order():
    """A is 10 up to q = 0.9 and 50 beyond, B is 20 up to 0.99: B is later up to 0.9, A beyond."""
    turn = curves.crossover(sample({10: 90, 50: 10}), sample({20: 99, 30: 1}), ())
    assert (turn.q, turn.value_ns, turn.worse_below, turn.worse_above) == (pytest.approx(0.9), 20, "b", "a")


def test_ties_between_the_groups_belong_to_neither():
    """Equal exceedance at 20 between two different orders: the flip is at the last value where B was above."""
    a, b = {10: 50, 20: 30, 40: 20}, {10: 40, 15: 10, 20: 30, 30: 20}
    (flip,) = curves.flips(sample(a), sample(b))
    assert (flip.value_ns, flip.worse_below, flip.worse_above) == (15, "b", "a")


def test_the_flip_between_shown_steps_goes_before_one_in_the_noise():
    def step(q, shown):
        return QuantileRatio(q, 1, 1, 1.0, 1.0, 1.0, "exact", shown=shown)

    a = sample({10: 9000, 90: 999, 200: 1})
    b = sample({12: 2000, 18: 7000, 50: 999, 300: 1})
    rows = (step(0.5, "a_better"), step(0.95, "b_better"))
    assert len(curves.flips(a, b)) > 1
    turn = curves.crossover(a, b, rows)
    assert turn.shown and 0.5 <= turn.q <= 0.95 and turn.worse_below == "b"
    # a flip between the steps in the other direction is not what they show
    other = curves.crossover(a, b, (step(0.5, "b_better"), step(0.95, "a_better")))
    assert other.worse_below == "a" or not other.shown
    last = curves.crossover(a, b, ())
    assert not last.shown and last.q == curves.flips(a, b)[-1].q > turn.q


def test_overflow_is_compared_up_to_its_limit_only():
    a = sample({10: 90}, over=10, limit_ns=100)
    b = sample({20: 97, 150: 3})
    (flip,) = curves.flips(a, b)
    assert (flip.value_ns, flip.worse_below) == (20, "b")
    beyond = sample({10: 90, 500: 10}), sample({10: 80, 400: 20}, over=0)
    assert curves.flips(sample({10: 90}, over=10, limit_ns=100), beyond[1]) == []


@settings(max_examples=60, deadline=None)
@given(small, st.integers(1, 40))
def test_the_chance_that_all_drawn_lie_below_is_exact(counts, m):
    one = sample(counts)
    below = np.cumsum(one.counts)
    if m > one.n:
        m = one.n
    found = curves.log_all_below(below, one.n, m)
    for k, log in zip(below.tolist(), found.tolist(), strict=True):
        exact = Fraction(math.comb(k, m), math.comb(one.n, m))
        assert math.exp(log) == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n", [10**6, 10**9, 10**12])
def test_it_keeps_its_digits_for_large_n(n):
    """k of n left out, m drawn: C(n - m, k) / C(n, k), a product of k fractions."""
    m = n // 20
    for k in (1, 5, 40):
        exact = math.prod(Fraction(n - m - i, n - i) for i in range(k))
        assert float(curves.log_all_below(np.array([n - k]), n, m)[0]) == pytest.approx(math.log(exact), rel=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 50), min_size=20, max_size=60), st.integers(0, 2**32))
def test_quantiles_of_the_maximum_agree_with_drawing(values, seed):
    one = sample(dict(Counter(values)))
    m = max(1, len(values) // 10)
    random = np.random.Generator(np.random.PCG64(seed))
    drawn = np.sort([random.choice(values, m, replace=False).max() for _ in range(2000)])
    median = curves.maximum_quantile(one, m, 0.5)
    assert (drawn <= median).mean() >= 0.45
    assert (drawn < median).mean() <= 0.55


def test_equal_n_is_a_power_of_ten_that_rarely_holds_the_maximum():
    big, small = sample({10: 199_999_704}), sample({10: 90_000_000})
    assert curves.equal_n(big, big) == 10_000_000
    assert curves.equal_n(big, small) == 1_000_000
    assert curves.equal_n(sample({10: 9}), big) is None
    assert curves.rarefied(sample({10: 9}), big) is None


def test_a_maximum_in_overflow_is_not_known():
    one = sample({10 * US: 1000}, US, over=500, limit_ns=400 * US)
    found = curves.rarefied(one, one)
    assert found.a_median_ns is None and found.b_hi_ns is None

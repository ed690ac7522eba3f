"""Records of independent samples: how many a half-decade has, and how often chance alone is told as growth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.checks.statistics import MANY_RECORDS_P, late_records


def gumbel(rng: np.random.Generator, length: int) -> np.ndarray:  # type: ignore[type-arg]
    """Maxima of seconds of equally many independent samples, in ns, all different."""
    return (1e6 * rng.gumbel(size=length)).astype(np.int64)


def test_a_half_decade_of_independent_samples_has_ln_sqrt_10_records() -> None:
    found = late_records(np.full(20_000, 1000), np.arange(20_000))
    assert found.expected == pytest.approx(math.log(math.sqrt(10)), abs=1e-3)
    assert found.seen == 20_000 - math.ceil(20_000 / math.sqrt(10))


def test_the_probability_of_so_many_is_that_of_independent_trials() -> None:
    """Ten equal blocks: the last half-decade is blocks 5 to 10 (n / sqrt(10) = 3.16 are done before the fifth), each new with 1 / i."""
    n = np.full(10, 7)
    chances = [1 / i for i in range(5, 11)]
    exactly_none = math.prod(1 - p for p in chances)
    exactly_one = exactly_none * sum(p / (1 - p) for p in chances)
    seen = {
        0: late_records(n, np.array([99, 1, 1, 1, 1, 1, 1, 1, 1, 1])),
        1: late_records(n, np.array([9, 1, 1, 1, 1, 10, 1, 1, 1, 1])),
        2: late_records(n, np.array([9, 1, 1, 1, 1, 10, 1, 11, 11, 1])),
    }
    assert [found.seen for found in seen.values()] == [0, 1, 2]
    assert seen[0].p == 1
    assert seen[1].p == pytest.approx(1 - exactly_none)
    assert seen[2].p == pytest.approx(1 - exactly_none - exactly_one)
    assert seen[0].expected == pytest.approx(sum(chances))


@pytest.mark.parametrize("lanes", [1, 4])
def test_chance_alone_seldom_raises_it_where_two_records_would_most_of_the_time(lanes: int) -> None:
    rng, runs = np.random.default_rng(1), 400
    two = many = 0
    for _ in range(runs):
        found = [late_records(np.full(60, 1000), gumbel(rng, 60)) for _ in range(lanes)]
        two += any(one.seen >= 2 for one in found)
        many += any(one.p * lanes < MANY_RECORDS_P for one in found)
    assert many <= runs * 0.09, "0.05 and four of its standard errors"
    assert two / runs == pytest.approx(1 - (1 - 0.3) ** lanes, abs=0.1)


def test_latencies_that_grow_are_told() -> None:
    rng = np.random.default_rng(2)
    grown = gumbel(rng, 600) + np.linspace(0, 2e7, 600).astype(np.int64)
    assert late_records(np.full(600, 1000), grown).p < 1e-6


@settings(deadline=None, max_examples=150)
@given(st.lists(st.tuples(st.integers(1, 10**6), st.integers(-100, 10**9)), min_size=1, max_size=80))
def test_any_seconds_give_a_probability(rows: list[tuple[int, int]]) -> None:
    n, top = (np.array(column) for column in zip(*rows, strict=True))
    found = late_records(n, top)
    assert 0 <= found.p <= 1 and 0 <= found.seen <= len(rows)
    assert (found.p == 1) is (found.seen == 0) or found.expected > 0

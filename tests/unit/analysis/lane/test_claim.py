"""What a lane shows at a deadline: the bounds against known values, their order in the deadline, and what they assume."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2, gamma
from scipy.stats import t as stats_t

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import (
    burst_lower,
    burst_upper,
    p_lower,
    p_upper,
    poisson_lower,
    poisson_upper,
    samples_needed,
)
from rtassay.analysis.lane.claim import Claim, Evidence, Requirement
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.lane.dispersion import differ, p_value, widening
from rtassay.analysis.lane.distribution import ints
from rtassay.model.recording import Lane

from ..build import MS, US, account, block_lane, histogram, spills_of

HOUR = 3_600_000
LATE = 200 * US
DEADLINE = 100 * US


def lane(n: int, late: dict[int, int] | None = None, ordered: bool = True) -> Account:
    """`n` activations at 1 kHz, all of 10 us but `late`: position -> latency in ns. `ordered`: those are kept with their position."""
    rows = sorted((late or {}).items())
    values, counts = np.unique([latency for _, latency in rows], return_counts=True)
    made = block_lane({10 * US: n - len(rows), **dict(zip(values.tolist(), counts.tolist(), strict=True))}, MS)
    spills = spills_of([(k, latency, 0) for k, latency in rows]) if ordered else None
    return account(Lane(made.entry, made.histogram, None, spills))


def at(*positions: int, latency: int = LATE) -> dict[int, int]:
    return dict.fromkeys(positions, latency)


def spread(number: int, n: int, size: int, latency: int = 50 * US, gap: int = 1) -> dict[int, int]:
    """`number` bursts of `size`, evenly over `n` activations, all of about one latency below the deadline."""
    starts = np.linspace(1000, n - 1000 - size * gap, number).astype(int)
    return {int(start + j * gap): latency - i for i, start in enumerate(starts) for j in range(size)}


def claim(*runs: Account, deadline: int = DEADLINE, lanes: int = 1) -> Claim:
    return Evidence(runs, 0.95, lanes).claim(deadline)


def test_limits_of_bursts_are_those_of_fay_and_feuer() -> None:
    """All sizes equal: the Poisson limit times the size. The table of METHOD: 30 late in one event need 142.3 million."""
    assert burst_upper(ints([1] * 7), 0.95) == pytest.approx(poisson_upper(7, 0.95))
    assert burst_upper(ints([4] * 7), 0.95) == pytest.approx(4 * poisson_upper(7, 0.95))
    assert burst_upper(ints([30]), 0.95) == pytest.approx(142.3, abs=0.05)
    assert (
        burst_lower(ints([4] * 7), 0.95)
        == pytest.approx(4 * chi2.ppf(0.05, 14) / 2)
        == pytest.approx(4 * poisson_lower(7, 0.95))
    )
    weights = np.array([1, 5, 2])
    mean, variance = weights.sum() + 5, (weights**2).sum() + 25
    assert burst_upper(ints(weights), 0.9) == pytest.approx(gamma.ppf(0.9, mean**2 / variance, scale=variance / mean))
    assert (burst_lower(ints([]), 0.95), poisson_lower(0, 0.95)) == (0.0, 0.0)


def test_a_clean_lane_without_a_trace_assumes_that_late_ones_come_singly() -> None:
    found = claim(lane(3_000_000))
    assert (found.upper.assumes, found.upper.basis, found.events, found.trace) == ("singly", "singly", 0, None)
    assert found.upper.p == p_upper(0, 3_000_000, 0.95)
    assert found.rate_upper_per_h == pytest.approx(2.9957 / (3_000_000 / HOUR), rel=1e-4)
    assert found.p_lower == found.rate_lower_per_h == 0.0


def test_a_clean_lane_is_bounded_as_singly_as_the_largest_below_the_deadline() -> None:
    n = 10_000_000
    alone = claim(lane(n, spread(100, n, 1)))
    assert (alone.upper.assumes, alone.upper.basis) == ("as_above", "theta")
    assert alone.trace is not None and alone.trace.theta_lower == 1
    assert alone.upper.p == p_upper(0, n, 0.95)
    burst = claim(lane(n, spread(100, n, 5)))
    assert burst.trace is not None and burst.trace.theta == pytest.approx(0.2)
    assert 0.08 < burst.trace.theta_lower < 0.2
    assert burst.upper.p == pytest.approx(3 / (n * burst.trace.theta_lower), rel=2e-3)
    needed = burst.upper.needed(1e-7, 0.95)
    assert needed == pytest.approx(2.9957e7 / burst.trace.theta_lower, rel=1e-3)


def test_three_late_ones_apart_are_bounded_singly() -> None:
    n = 10_000_000
    found = claim(lane(n, at(10, 4_000_000, 8_000_000)))
    assert (found.events, found.gap, found.upper.assumes) == (3, 0, "as_seen")
    assert found.upper.p == p_upper(3, n, 0.95)
    assert found.p_lower == p_lower(3, n, 0.95)
    two = claim(lane(n, at(10, 4_000_000)))
    assert (two.events, two.upper.assumes) == (2, "singly")


def test_bursts_are_bounded_by_their_sizes() -> None:
    n = 50_000_000
    late = {k: LATE for start in range(10**6, n, 10**7) for k in range(start, start + 5)}
    found = claim(lane(n, late))
    assert (found.seen.certain, found.events, found.gap, found.upper.basis) == (25, 5, 10, "bursts")
    assert found.upper.p > burst_upper(ints([5] * 5), 0.95) / n > p_upper(25, n, 0.95)
    assert found.p_lower == pytest.approx(5 * chi2.ppf(0.05, 10) / 2 / n)
    assert found.rate_upper_per_h == pytest.approx(poisson_upper(5, 0.95) / (n / HOUR))
    assert found.rate_lower_per_h == pytest.approx(poisson_lower(5, 0.95) / (n / HOUR))


def test_eight_late_in_one_burst_are_no_proof() -> None:
    found = claim(lane(3_000_000, at(*range(1000, 1008))))
    assert found.events == 1
    assert found.p_lower < 1e-6 < p_lower(8, 3_000_000, 0.95)


def test_one_event_shows_little_unless_the_trace_tells_how_large_events_are() -> None:
    n = 40_000_000
    burst = at(*range(1000, 1030))
    alone = claim(lane(n, burst)).upper.needed(1e-6, 0.95)
    below = spread(100, n, 30)
    traced = claim(lane(n, {**below, **burst})).upper
    known = traced.needed(1e-6, 0.95)
    assert alone is not None and known is not None
    assert 142_300_000 < known < alone
    assert traced.assumes == "as_above"
    # single ones below the deadline say nothing about the size of bursts
    single = claim(lane(n, {**spread(100, n, 1), **burst})).upper.needed(1e-6, 0.95)
    assert single is not None and single >= alone


def test_without_order_the_late_ones_may_be_one_event() -> None:
    n = 10_000_000
    found = claim(lane(n, at(*range(0, n, n // 40)), ordered=False))
    assert (found.events, found.upper.assumes, found.upper.p) == (None, "singly", p_upper(40, n, 0.95))
    assert found.p_lower == pytest.approx(40 * chi2.ppf(0.05, 2) / 2 / n)
    assert found.rate_upper_per_h == pytest.approx(poisson_upper(40, 0.95) / (n / HOUR))
    assert found.rate_lower_per_h == pytest.approx(poisson_lower(1, 0.95) / (n / HOUR))
    assert found.violates(Requirement(DEADLINE, 1e-8, 0.95)) and not found.violates(Requirement(DEADLINE, 1e-6, 0.95))


def test_violated_is_shown_over_all_lanes() -> None:
    made = lane(10_000_000, at(*range(0, 10_000_000, 10**6)))
    assert claim(made, lanes=4).p_lower == p_lower(10, 10_000_000, 1 - 0.05 / 4)
    assert claim(made, lanes=4).upper == claim(made).upper


def test_a_requirement_in_events() -> None:
    made = claim(lane(HOUR, at(*range(1000, 1008), *range(500_000, 500_003), 2_000_000)))
    assert made.events == 3
    assert made.holds(Requirement(DEADLINE, 0.0, 0.95, per_hour=7.76))
    assert not made.holds(Requirement(DEADLINE, 0.5, 0.95, per_hour=7.75))
    assert made.violates(Requirement(DEADLINE, 0.5, 0.95, per_hour=0.81))
    assert not made.violates(Requirement(DEADLINE, 1e-9, 0.95, per_hour=0.82))
    assert made.needed(Requirement(DEADLINE, 0.5, 0.95, per_hour=1.0), MS) == pytest.approx(7.7537 * HOUR, rel=1e-4)
    unknown = replace(made, rate_upper_per_h=None, rate_lower_per_h=None)
    asked = Requirement(DEADLINE, 0.5, 0.95, per_hour=1e9)
    assert (unknown.holds(asked), unknown.violates(asked), unknown.needed(asked, None)) == (False, False, None)


def test_runs_that_differ_are_bounded_by_the_worst() -> None:
    n = 10_000_000
    clean = [lane(n) for _ in range(9)]
    bad = lane(n, at(*range(0, n, n // 20)))
    found = claim(*clean, bad)
    assert found.runs_differ and found.upper.basis == "worst_run"
    assert found.upper.p == pytest.approx(p_upper(20, n, 0.95))
    assert found.upper.share == 0.1 and found.upper.needed(1e-6, 0.95) == 10 * (samples_needed(1e-6, 0.95, 20) or 0)
    assert found.seen.due == 10 * n
    assert found.rate_upper_per_h == pytest.approx(poisson_upper(20, 0.95) / (n / HOUR))
    assert found.rate_lower_per_h == pytest.approx(burst_lower(ints([20]), 0.95) / (10 * n / HOUR))
    alike = [lane(n, at(1000 * i, 5_000_000 + 1000 * i)) for i in range(10)]
    pooled = claim(*alike)
    assert not pooled.runs_differ and pooled.upper.p == p_upper(20, 10 * n, 0.95)


def test_runs_that_differ_below_the_deadline_differ_above_it_too() -> None:
    """No late one in ten runs, of which one has ten times as many large latencies as the others."""
    n = 1_000_000_000
    for ordered in (True, False):
        one = [lane(n, spread(20, n, 1), ordered) for _ in range(9)]
        other = lane(n, spread(200, n, 1), ordered)
        found = claim(*one, other)
        assert found.runs_differ and found.upper.basis == "unlike_runs"
        wider = widening(ints([20] * 9 + [200]), ints([n] * 10), 0.95)
        assert found.upper.p == pytest.approx(wider * p_upper(0, 10 * n, 0.95))
        assert found.upper.needed(1e-9, 0.95) == pytest.approx(wider * 2.9957e9, rel=1e-3)
        assert found.rate_upper_per_h == pytest.approx(wider * 2.9957 / (10 * n / HOUR), rel=1e-4)
        # too few runs to tell how far others lie from them: the worst one's
        assert claim(*one[:3], other).upper.p == pytest.approx(200 / 65 * p_upper(0, 4 * n, 0.95))


def test_bounds_are_widened_by_a_limit_of_the_mean_of_lognormal_runs() -> None:
    """exp(mean + s^2 / 2 + t(.95, 9) sqrt(s^2 / 10 + s^4 / 18)) of ln rates of 1e5 events a run and more, over their mean."""
    counts = ints(1e5 * np.exp([0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.6]))
    logs = np.log(counts)
    s2 = logs.var(ddof=1)
    limit = np.exp(logs.mean() + s2 / 2 + stats_t.ppf(0.95, 9) * np.sqrt(s2 / 10 + s2**2 / 18))
    assert widening(counts, ints([10**9] * 10), 0.95) == pytest.approx(limit / counts.mean(), rel=1e-4)
    assert widening(ints([100] * 10), ints([10**9] * 10), 0.95) == 1.0


def test_many_late_ones_in_one_run_are_no_burst_of_it() -> None:
    """Independent, but nine times as many in one of ten runs: taken together they would look like a few bursts."""
    n, random = 1_000_000, np.random.default_rng(1)
    runs = [lane(n, at(*random.choice(n, 10 if i else 90, replace=False).tolist(), latency=LATE)) for i in range(10)]
    found = claim(*runs)
    assert found.runs_differ and found.events == 180


def test_a_run_without_large_latencies_does_not_hide_the_trace_of_the_others() -> None:
    n = 10_000_000
    found = claim(lane(n, spread(20, n, 5)), lane(n))
    assert found.upper.assumes == "as_above" and found.trace is not None and found.trace.theta == pytest.approx(0.2)
    assert claim(lane(n), lane(n)).upper.assumes == "singly"


def test_the_test_of_dispersion() -> None:
    ten = ints([10**6] * 10)
    assert differ(ints([20] + [0] * 9), ten) and not differ(ints([2] * 10), ten)
    assert p_value(ints([1] + [0] * 9), ten) == p_value(ints([5]), ints([9])) == 1.0
    # a run of twice the length has twice as many
    assert not differ(ints([200, 100]), ints([2000, 1000])) and differ(ints([100, 200]), ints([2000, 1000]))
    random = np.random.default_rng(5)
    for mean in (0.5, 3, 30):
        hits = sum(differ(random.poisson(mean, 10), ten) for _ in range(500))
        assert hits <= 40, (mean, hits)


BELOW = st.dictionaries(st.integers(0, 2000), st.integers(20, 60), max_size=120)
ABOVE = st.dictionaries(st.integers(0, 2000), st.integers(100, 140), max_size=12)


@settings(max_examples=40, deadline=None)
def everything_above(accounts: list[Account], deadline: int) -> tuple[float, float | None]:
    """The largest limits at the deadline and at every level above it, none left out."""
    found = Evidence(accounts, 0.95)
    claims = [found.at(level) for level in [deadline, *found._levels] if level >= deadline]
    rates = [one.rate_upper_per_h for one in claims if one.rate_upper_per_h is not None]
    return max(one.upper.p for one in claims), max(rates, default=None)


@pytest.mark.parametrize("entry", [{}, {"dropped": 2}, {"truncated": 3}])
@pytest.mark.parametrize("runs", [1, 3])
def test_levels_are_left_out_only_where_none_has_a_larger_limit(runs: int, entry: dict[str, int]) -> None:
    """Late ones that come singly at low deadlines and in a burst at high ones, and the other way round."""
    random = np.random.default_rng(20261123)
    singly = {int(k): int(random.integers(20, 90)) * US for k in random.choice(HOUR, 400, replace=False)}
    for late in (
        singly | spread(1, HOUR, 30, 200 * US) | at(5, latency=300 * US),
        spread(12, HOUR, 25, 60 * US, 40) | at(70_000, 700_000, latency=250 * US),
        spread(3, HOUR, 4, 120 * US),
    ):
        made = lane(HOUR, late)
        told = replace(made.lane, entry=replace(made.entry, **entry, due=HOUR + sum(entry.values())))
        accounts = [account(told), *[lane(HOUR, singly)] * (runs - 1)]
        found = Evidence(accounts, 0.95)
        for deadline in (15 * US, 40 * US, 61 * US, 90 * US, 130 * US, 199 * US, 260 * US, 400 * US):
            one = found.claim(deadline)
            assert (one.upper.p, one.rate_upper_per_h) == everything_above(accounts, deadline)


@given(BELOW, ABOVE, st.booleans(), st.sampled_from([1e-4, 1e-3, 1e-2, 0.2]), st.sampled_from([None, 1000.0]))
def test_d_star_holds_and_what_is_not_below_it_too(
    below: dict[int, int], above: dict[int, int], ordered: bool, p: float, per_hour: float | None
) -> None:
    """Single, clustered, with order and without: HOLDS exactly from D* on, and the limits never rise with the deadline."""
    made = lane(20_000, {k: v * US for k, v in {**below, **above}.items()}, ordered)
    found = demonstrated([made], p, 0.95, per_hour=per_hour).deadline_ns
    one = Evidence([made], 0.95)
    deadlines = [1, 10_001, *range(20 * US, 150 * US, 3 * US)]
    claims = [one.claim(deadline) for deadline in deadlines]
    limits = [(row.upper.p, row.rate_upper_per_h or 0.0) for row in claims]
    assert all(a[0] >= b[0] and a[1] >= b[1] for a, b in itertools.pairwise(limits))
    for deadline, row in zip(deadlines, claims, strict=True):
        assert row.holds(Requirement(deadline, p, 0.95, per_hour)) == (found is not None and deadline >= found)


@settings(max_examples=30, deadline=None)
@given(ABOVE, st.booleans(), st.sampled_from([1e-4, 1e-3, 1e-2]))
def test_so_many_activations_as_are_needed_hold(late: dict[int, int], ordered: bool, p: float) -> None:
    """Unless other late ones are joined in the longer run: it then needs another length."""
    rows = {k: v * US for k, v in late.items()}
    n = claim(lane(20_000, rows, ordered)).upper.needed(p, 0.95)
    assert n is not None
    longer = claim(lane(max(n, 5000), rows, ordered))
    if longer.upper.needed(p, 0.95) == n:
        assert longer.holds(Requirement(DEADLINE, p, 0.95))


def test_independent_data_lose_little_against_clopper_and_pearson() -> None:
    """HOLDS at half the allowed p, in shares of 300 data sets: at most .10 less."""
    random = np.random.default_rng(3)
    p, n = 1e-6, 10_000_000
    held = [0, 0]
    for _ in range(300):
        k = int(random.poisson(n * p / 2))
        late = at(*random.choice(n, k, replace=False).tolist())
        held[0] += claim(lane(n, late)).upper.p <= p
        held[1] += p_upper(k, n, 0.95) <= p
    assert held[0] >= held[1] - 30


def test_one_bin_of_a_wide_histogram() -> None:
    """The deadline inside an occupied bin: all of it is late, without order."""
    made = block_lane({100: 1000}, MS)
    wide = account(Lane(made.entry, histogram({96: 1000}, 16)))
    found = claim(wide, deadline=100)
    assert (found.seen.certain, found.events, found.upper.p) == (1000, None, 1.0)
    assert binom.cdf(0, 1000, found.p_lower) < 1.0


def test_impossible_values() -> None:
    none: Any = claim(lane(10), deadline=1).upper.needed(0.0, 0.95)
    assert none is None

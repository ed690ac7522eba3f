"""Late activations as events: which gaps join them, against one activation at a time and against chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.claim import evidence
from rtassay.analysis.lane.distribution import ints
from rtassay.analysis.lane.events import Kept, Runs, join, kept, merging_gaps
from rtassay.analysis.lane.exceedance import exceedances
from rtassay.model.units import NS_PER_S

from ..build import MS, US, account, counted_lane, cyclictest, skip_lane, spills_of

INTERVAL = MS
DEADLINE = 500 * US


def at(*positions: int) -> Runs:
    """Single late activations."""
    return Runs(ints(positions), np.ones(len(positions), np.int64))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([100 * US, 600 * US, 3 * MS + 600 * US, 12 * MS]), min_size=1, max_size=80),
    st.integers(0, 30),
)
def test_runs_hold_each_late_activation_once(latencies: list[int], truncated: int) -> None:
    lane = account(counted_lane(latencies, INTERVAL, truncated=truncated))
    late: list[int] = []
    for k, latency, missed in zip(
        *(column.tolist() for column in (lane.spills.k, lane.spills.latency_ns, lane.spills.missed)), strict=True
    ):
        late += [k + j for j in range(missed + 1) if latency - j * INTERVAL >= DEADLINE]
    tail = lane.truncated_tail()
    if tail is not None and lane.entry.due is not None:
        late += [lane.entry.due - 1 - t for t in range(tail.count) if tail.least_ns + t * INTERVAL >= DEADLINE]
    runs = Kept(lane).late(DEADLINE)
    assert [k + j for k, n in zip(runs.first.tolist(), runs.count.tolist(), strict=True) for j in range(n)] == sorted(
        late
    )
    assert runs.late == exceedances(lane, DEADLINE).certain


def test_a_stall_is_one_event_without_any_gap() -> None:
    runs = Kept(account(counted_lane([100 * US] * 50 + [20 * MS] + [100 * US] * 50, INTERVAL))).late(DEADLINE)
    assert join([runs], 121, merging_gaps(INTERVAL)).sizes.tolist() == [20]


@pytest.mark.parametrize(
    ("positions", "due", "gap", "sizes"),
    [
        ((1000, 1002, 1004, 900_000), 10**6, 10, [3, 1]),
        ((1000, 1050, 1100, 900_000), 10**7, 1_000, [3, 1]),
        ((10_000, 11_001, 900_000_000), 10**9, 10_000, [2, 1]),
        ((10_000, 70_000, 130_000), 10**9, 60_000, [3]),
        # one in a thousand is late: two of them 900 apart are nothing special
        (tuple(range(900, 50_000, 900)), 50_000, 0, [1] * 55),
        ((5, 500_000), 10**6, 0, [1, 1]),
        ((), 10**6, 0, []),
    ],
)
def test_the_coarsest_gap_that_joins_more_than_chance(
    positions: tuple[int, ...], due: int, gap: int, sizes: list[int]
) -> None:
    found = join([at(*positions)], due, merging_gaps(None))
    assert (found.gap, found.sizes.tolist()) == (gap, sizes)


def test_runs_share_no_event_and_keep_their_number() -> None:
    found = join([at(999_990, 999_991), at(), at(1, 3)], 3 * 10**6, merging_gaps(None))
    assert (found.sizes.tolist(), found.run.tolist(), found.gap) == ([2, 2], [0, 2], 10)


def test_independent_lateness_is_seldom_joined() -> None:
    """At most 2 % of data sets, at every density."""
    random = np.random.default_rng(12)
    for late, due in ((25, 50_000), (25, 5 * 10**7), (300, 10**6), (5, 10_000)):
        hits = sum(
            join([at(*np.unique(random.integers(0, due, late)))], due, merging_gaps(None)).gap > 0 for _ in range(300)
        )
        assert hits <= 16, (late, due, hits)


def test_the_minute_is_a_gap_where_it_is_longer_than_the_others() -> None:
    assert merging_gaps(MS) == merging_gaps(None) == (10, 1_000, 10_000, 60_000)
    assert merging_gaps(100 * US)[-1] == 60 * NS_PER_S // (100 * US)


def test_order_of_a_source_that_skips_is_that_of_its_samples() -> None:
    made = replace(
        skip_lane({5: 90, 700: 2}, limit_us=900, first_due_ns=0, spilled=2),
        spills=spills_of([(50, 700 * US, 0), (3, 700 * US, 0)]),
    )
    runs = Kept(accounts(cyclictest(made))[0]).late(DEADLINE)
    assert (runs.first.tolist(), runs.count.tolist()) == ([3, 50], [1, 1])


def test_many_late_wake_ups_are_in_the_order_of_their_positions_as_a_few_are() -> None:
    """A few of the latest are sorted, of many the others are left out: both give the same runs."""
    random = np.random.default_rng(3)
    latency = random.permutation(2_000) + 1
    rows = [(3 * at, int(ns) * US, 0) for at, ns in enumerate(latency)]
    lane = replace(skip_lane({1: 2_000}, limit_us=9_000, first_due_ns=0, spilled=2_000), spills=spills_of(rows))
    made = Kept(accounts(cyclictest(lane))[0])
    for late in (1, 40, 99, 101, 1_000, 2_000):
        expected = [3 * at for at, ns in enumerate(latency) if ns > 2_000 - late]
        assert made.late((2_001 - late) * US).first.tolist() == expected, late


def test_what_a_lane_shows_is_made_once_for_its_verdict_and_its_d_star() -> None:
    made = accounts(cyclictest(skip_lane({5: 90, 700: 2}, limit_us=900, first_due_ns=0, spilled=2)))[0]
    assert evidence([made], 0.95, 2) is evidence([made], 0.95, 2)
    assert evidence([made], 0.95, 2) is not evidence([made], 0.95)
    assert evidence([made, made], 0.95).accounts == (made, made)
    assert kept(made) is kept(made) and kept(replace(made)) is not kept(made)

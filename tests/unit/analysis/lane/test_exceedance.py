"""Exceedances, events and D* against one activation at a time."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rtassay.analysis.lane.claim import Evidence, Requirement
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.lane.exceedance import Exceedances, exceedances
from rtassay.model.manifest import Plan
from rtassay.model.recording import Histogram, Lane

from ..build import MS, US, account, block_lane, counted_lane, cyclictest, due_lateness, histogram, skip_lane
from ..build import accounts as of

INTERVAL = 1000
latency_lists = st.lists(st.integers(-5, 12_000) | st.integers(0, 400), min_size=1, max_size=60)


@settings(deadline=None)
@given(latency_lists, st.integers(1, 13_000), st.integers(0, 3))
def test_every_late_activation_counts_once(values: list[int], deadline: int, keep: int) -> None:
    lane = counted_lane(values, INTERVAL, cut_last_to=keep)
    found = exceedances(account(lane), deadline)
    oracle = due_lateness(values, INTERVAL, cut_last_to=keep)
    assert found == Exceedances(sum(late >= deadline for late in oracle), 0, len(oracle))


@settings(deadline=None)
@given(latency_lists, st.integers(0, 5), st.integers(0, 1500), st.sets(st.integers(0, 59), max_size=3))
def test_a_longer_deadline_never_has_more(values: list[int], truncated: int, after: int, lost: set[int]) -> None:
    dropped = sorted(i for i in lost if i < len(values))
    lane = counted_lane(values, INTERVAL, truncated=truncated, dropped=dropped, closed_after_last_due=after % INTERVAL)
    seen = account(lane)
    counts = [exceedances(seen, deadline) for deadline in range(1, 14_000, 77)]
    for one, next_one in itertools.pairwise(counts):
        assert next_one.certain <= one.certain
        assert next_one.most <= one.most


@settings(deadline=None)
@given(latency_lists, st.sets(st.integers(0, 59), max_size=4), st.integers(1, 13_000))
def test_dropped_samples_may_be_anything(values: list[int], lost: set[int], deadline: int) -> None:
    dropped = sorted(i for i in lost if i < len(values))
    found = exceedances(account(counted_lane(values, INTERVAL, dropped=dropped)), deadline)
    truth = sum(late >= deadline for late in due_lateness(values, INTERVAL))
    assert found.certain <= truth <= found.most


def test_the_lanes_own_maximum_excludes_dropped_samples() -> None:
    lane = counted_lane([10, 50, 10], INTERVAL, dropped=(1,))
    assert exceedances(account(lane), 50).most == 1
    assert exceedances(account(lane), 51).most == 0
    # without the lane's end mark nobody has seen the maximum of what was dropped
    assert exceedances(account(lane, end={}), 51).most == 1


def test_the_lanes_own_count_covers_dropped_samples() -> None:
    lane = counted_lane([10, 50, 60, 10], INTERVAL, dropped=(1, 2, 3))
    lane = replace(lane, entry=replace(lane.entry, exceedances=2))
    found = exceedances(account(lane, plan=Plan(deadline_ns=50)), 50)
    assert (found.certain, found.possible) == (2, 0)


def test_truncated_activations_exceed_when_they_had_waited_long_enough() -> None:
    lane = counted_lane([10] * 6, INTERVAL, truncated=4, closed_after_last_due=300)
    found = exceedances(account(lane), 1300)
    assert (found.certain, found.possible, found.due) == (3, 1, 10)


def test_a_lane_that_never_ran_exceeds_all_along() -> None:
    lane = counted_lane([], INTERVAL, truncated=100, closed_after_last_due=0)
    found = exceedances(account(lane), 1)
    assert (found.certain, found.possible, found.due) == (99, 1, 100)


def test_a_bin_counts_when_any_of_it_reaches_the_deadline() -> None:
    seen = of(cyclictest(skip_lane({99: 5, 100: 3, 101: 2})))[0]
    assert exceedances(seen, 100 * US).certain == 5
    assert exceedances(seen, 99_001).certain == 10
    assert exceedances(seen, 100_999).certain == 5
    assert exceedances(seen, 101 * US).certain == 2
    assert exceedances(seen, 102 * US).certain == 0


def test_overflow_below_and_above_the_limit() -> None:
    seen = of(cyclictest(skip_lane({5: 90}, over=10, limit_us=400, max_ns=900 * US)))[0]
    assert exceedances(seen, 400 * US).certain == 10
    above = exceedances(seen, 401 * US)
    assert (above.certain, above.possible, above.due) == (1, 9, 100)
    assert exceedances(seen, 900 * US).certain == 1
    assert exceedances(seen, 901 * US).most == 0
    blind = of(cyclictest(skip_lane({5: 90}, over=10, limit_us=400, max_ns=None)))[0]
    found = exceedances(blind, 401 * US)
    assert (found.certain, found.possible) == (0, 10)


def test_a_maximum_above_the_bins_is_an_exceedance() -> None:
    seen = of(cyclictest(skip_lane({5: 90}, max_ns=700 * US)))[0]
    assert exceedances(seen, 700 * US).certain == 1


def test_a_skipping_sources_sample_stands_for_itself() -> None:
    assert exceedances(of(cyclictest(skip_lane({5: 9, 3500: 1}, limit_us=9000)))[0], 100 * US).certain == 1


@settings(deadline=None, max_examples=50)
@given(latency_lists, st.integers(0, 3), st.sampled_from([0.05, 0.2, 0.5]))
@example([0, 0, 0, 0], 3, 0.5)  # the truncated ones are certainly late at short deadlines only
def test_the_lane_holds_at_d_star_and_not_below(values: list[int], truncated: int, p: float) -> None:
    seen = account(counted_lane(values * 3, INTERVAL, truncated=truncated))
    found = demonstrated([seen], p, 0.95).deadline_ns
    lane = Evidence([seen], 0.95)

    def holds(deadline: int) -> bool:
        return lane.claim(deadline).holds(Requirement(deadline, p, 0.95))

    if found is None:
        assert not holds(10**9)
    else:
        assert holds(found)
        assert found == 1 or not holds(found - 1)


def test_demonstrated_of_exact_values_is_one_above_the_worst_allowed() -> None:
    seen = account(block_lane({100: 2_995_731}, MS))
    assert demonstrated([seen], 1e-6, 0.95).deadline_ns == 101
    short = account(block_lane({100: 2_995_730}, MS))
    assert demonstrated([short], 1e-6, 0.95).deadline_ns is None
    assert demonstrated([seen], 0.0, 0.95).deadline_ns is None


def test_demonstrated_of_bins_is_the_upper_edge() -> None:
    lane = block_lane({100: 3_000_000}, MS)
    wide = Lane(lane.entry, histogram({96: 3_000_000}, 16))
    assert demonstrated([account(wide)], 1e-6, 0.95).deadline_ns == 112


def test_pooled_lanes_add_up() -> None:
    half = [account(block_lane({100: 1_500_000}, MS, index=i)) for i in range(2)]
    assert demonstrated(half[:1], 1e-6, 0.95).deadline_ns is None
    assert demonstrated(half, 1e-6, 0.95).deadline_ns == 101


def test_coarse_bins_may_overlap_fine_ones() -> None:
    lane = block_lane({1000: 5}, MS)
    mixed = Histogram(np.array([960, 1000]), np.array([64, 1]), np.array([2, 3]))
    seen = account(Lane(lane.entry, mixed))
    assert [exceedances(seen, deadline).certain for deadline in (960, 1000, 1001, 1023, 1024)] == [5, 5, 2, 2, 0]
    assert demonstrated([seen], 0.9, 0.95).deadline_ns == 1001

"""Quantiles and both views of missed activations, against one activation at a time."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.lane import distribution
from rtassay.analysis.lane.distribution import Distribution, joined, points, progression
from rtassay.analysis.lane.distribution import Parts as P
from rtassay.analysis.lane.missed import UNEXPLAINED, WhyNot, due_view, raw_view
from rtassay.analysis.lane.quantiles import View, ladder
from rtassay.model.findings import LADDER
from rtassay.model.manifest import Source
from rtassay.model.recording import Lane

from ..build import MS, US, account, counted_lane, cyclictest, due_lateness, histogram, skip_lane
from ..build import accounts as of

INTERVAL = 1000
latency_lists = st.lists(st.integers(-5, 12_000) | st.integers(0, 400), min_size=1, max_size=60)


def listed(parts: P) -> list[int]:
    whole = Distribution(parts)
    return [whole.at(rank) for rank in range(1, whole.total + 1)]


def nearest(values: list[int], q: float) -> int:
    return sorted(values)[math.ceil(len(values) * Fraction(str(q))) - 1]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(-50, 500), st.integers(1, 4)), max_size=8),
    st.lists(st.tuples(st.integers(-50, 500), st.integers(1, 90), st.integers(1, 30), st.integers(1, 3)), max_size=5),
    st.sampled_from([0, 25, 10**6]),
)
def test_order_statistics_do_not_depend_on_how_values_are_held(
    bins: list[tuple[int, int]], rows: list[tuple[int, int, int, int]], room: int
) -> None:
    parts = joined(
        [points([v for v, _ in bins], [c for _, c in bins])]
        + [P(points([], []).values, points([], []).counts, (progression(*row),)) for row in rows]
    )
    plain = [v for v, c in bins for _ in range(c)]
    plain += [start + step * i for start, step, length, weight in rows for i in range(length) for _ in range(weight)]
    before = distribution.WRITE_OUT_AT_MOST
    distribution.WRITE_OUT_AT_MOST = room
    try:
        assert listed(parts) == sorted(plain)
    finally:
        distribution.WRITE_OUT_AT_MOST = before


def test_a_rank_outside_is_refused() -> None:
    with pytest.raises(IndexError):
        Distribution(points([1], [1])).at(2)


@settings(deadline=None)
@given(latency_lists)
def test_quantiles_are_nearest_rank_and_never_fall(values: list[int]) -> None:
    rows = ladder(raw_view(account(counted_lane(values, INTERVAL))))
    assert [row.q for row in rows] == list(LADDER)
    assert [row.value_ns for row in rows] == [nearest(values, q) for q in LADDER]
    for row in rows:
        assert row.lo_ns <= row.value_ns
        assert row.hi_ns is None or row.hi_ns >= row.value_ns
        assert row.bound == ("exact" if len(values) * (1 - Fraction(str(row.q))) >= 1 else "at_least")


@settings(deadline=None)
@given(latency_lists, st.integers(0, 3))
def test_due_view_is_every_due_activation(values: list[int], keep: int) -> None:
    lane = counted_lane(values, INTERVAL, cut_last_to=keep)
    found = due_view(account(lane))
    oracle = due_lateness(values, INTERVAL, cut_last_to=keep)
    assert found.view is not None
    assert not found.estimate
    assert found.view.total == lane.entry.due == len(oracle)
    assert listed(found.view.known) == sorted(oracle)


def test_without_missed_activations_both_views_are_one() -> None:
    seen = account(counted_lane([5, 7, 999], INTERVAL))
    view = due_view(seen).view
    assert view is not None
    assert ladder(view) == ladder(raw_view(seen))


def test_a_stall_of_an_hour_is_counted_without_being_written_out() -> None:
    interval, stall = 50_000, 3600 * 1_000_000_000
    found = due_view(account(counted_lane([10] * 1000 + [stall], interval))).view
    assert found is not None
    missed = stall // interval
    assert found.total == 1001 + missed
    middle = ladder(found)[0].value_ns
    # half of all activations lie below: of those the stall missed, and the thousand bulk samples
    assert abs(middle - stall / 2) <= 1001 * interval


def test_truncated_activations_are_at_least_as_late_as_the_end_of_the_run() -> None:
    lane = counted_lane([10] * 96, INTERVAL, truncated=4, closed_after_last_due=300)
    view = due_view(account(lane)).view
    assert view is not None
    assert listed(view.censored) == [300, 1300, 2300, 3300]
    rows = {row.q: row for row in ladder(view)}
    assert (rows[0.9].value_ns, rows[0.9].bound) == (10, "exact")
    assert (rows[0.99].value_ns, rows[0.99].bound, rows[0.99].hi_ns) == (2300, "at_least", None)
    assert rows[0.9999999].value_ns == 3300


def test_a_censored_value_below_the_bulk_does_not_spoil_what_it_cannot_move() -> None:
    rows = {row.q: row for row in ladder(View(points([50], [999]), points([3], [1])))}
    assert (rows[0.5].value_ns, rows[0.5].bound) == (50, "exact")
    assert (rows[0.999].value_ns, rows[0.999].bound) == (50, "exact")
    assert (rows[0.9999].value_ns, rows[0.9999].bound) == (50, "at_least")


def test_overflow_is_a_lower_bound() -> None:
    rows = {row.q: row for row in ladder(View(points([1 * US], [9_990]), points([400 * US], [10])))}
    assert (rows[0.99].value_ns, rows[0.99].bound, rows[0.99].hi_ns) == (US, "exact", US)
    assert rows[0.999].hi_ns is None
    assert (rows[0.9999].value_ns, rows[0.9999].bound, rows[0.9999].hi_ns) == (400 * US, "at_least", None)


def test_dropped_samples_are_left_out_and_their_missed_ones_too() -> None:
    lane = counted_lane([10, 2500, 10, 3500], INTERVAL, dropped=(1,))
    view = due_view(account(lane)).view
    assert view is not None
    assert listed(view.known) == [10, 10, 500, 1500, 2500, 3500]


def test_a_histogram_that_does_not_explain_the_missed_ones_is_not_corrected() -> None:
    lane = counted_lane([10, 2500], INTERVAL)
    for missed in (1, 3):
        found = due_view(account(replace(lane, entry=replace(lane.entry, missed=missed))))
        assert found.view is None
        assert found.why_not == WhyNot(UNEXPLAINED, {"explained": 2, "missed": missed})
        assert found.why_not.words == f"the histogram explains 2 missed activations, the lane counted {missed}"


def test_a_coarse_bin_across_the_interval_keeps_the_count() -> None:
    lane = counted_lane([10, 1040], INTERVAL)
    bins = histogram({0: 1, 960: 1}, 100)
    found = due_view(account(Lane(lane.entry, bins))).view
    assert found is not None
    assert listed(found.known) == [0, 0, 960]


@pytest.mark.parametrize("policy", ["catch_up", "unknown"])
def test_only_counted_and_skip_have_a_due_view(policy: str) -> None:
    lane = counted_lane([10, 2500], INTERVAL)
    assert due_view(account(lane, source=Source("x", None, "x", policy))).view is None


def test_skip_is_estimated_beside_the_raw_view() -> None:
    seen = of(cyclictest(skip_lane({5: 98, 2300: 2}, limit_us=5000)))[0]
    found = due_view(seen)
    assert found.estimate and found.missed == 4
    assert found.view is not None
    assert listed(found.view.known)[-6:] == [300 * US] * 2 + [1300 * US] * 2 + [2300 * US] * 2
    assert raw_view(seen).total == 100


def test_skip_without_interval_or_with_unmeasured_overflow_is_not_estimated() -> None:
    assert due_view(of(cyclictest(skip_lane({5: 98}, interval=None)))[0]).view is None
    blind = skip_lane({5: 98}, over=2, max_ns=2500 * US)
    assert due_view(of(cyclictest(blind))[0]).view is None
    one = due_view(of(cyclictest(skip_lane({5: 98}, over=1, max_ns=2500 * US)))[0])
    assert one.missed == 2 and one.view is not None and one.view.total == 101


def test_skip_below_the_interval_is_the_raw_view() -> None:
    found = due_view(of(cyclictest(skip_lane({5: 98}, interval=MS)))[0])
    assert found.missed == 0 and found.view is not None and found.view.total == 98


def test_no_sample_no_quantile() -> None:
    assert ladder(View(points([], []))) == ()

"""From which latency on the samples kept one by one are complete, so that their order is known."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.lane.account import Account, tails_in_order
from rtassay.model.recording import Histogram, Lane

from ..build import MS, US, account, block_lane, counted_lane, histogram, recording, skip_lane, spills_of

INTERVAL = MS


def lane_of(latencies: list[int], kept: list[bool], width: int = 1, limit: int | None = None) -> Account:
    """A lane whose sample k has latencies[k]; only those marked in `kept` stand in its spills."""
    values = np.array(latencies)
    inside = values if limit is None else values[values < limit]
    lower, counts = np.unique(inside // width * width, return_counts=True)
    bins = Histogram(lower, np.full(lower.size, width), counts, over=values.size - inside.size, limit_ns=limit)
    rows = [(k, value, 0) for k, value in enumerate(latencies) if kept[k]]
    made = counted_lane(latencies, INTERVAL)
    return account(Lane(made.entry, bins, None, spills_of(rows)))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_no_sample_above_the_edge_is_missing_and_no_smaller_edge_would_do(data: st.DataObject) -> None:
    latencies = data.draw(st.lists(st.integers(-3, 40), min_size=1, max_size=60))
    kept = data.draw(st.lists(st.booleans(), min_size=len(latencies), max_size=len(latencies)))
    width = data.draw(st.sampled_from([1, 4]))
    limit = data.draw(st.sampled_from([None, 12, 32]))
    lane = lane_of(latencies, kept, width, limit)
    missing = [value for value, there in zip(latencies, kept, strict=True) if not there]
    # the end of the highest bin that lacks a sample
    edge = max(missing, default=-9) // width * width + width
    if limit is not None and max(missing, default=0) >= limit:
        edge = sys.maxsize
    found = lane.ordered_from_ns
    if not lane.lower.size or not any(value >= edge for value, there in zip(latencies, kept, strict=True) if there):
        assert found is None
    elif missing:
        assert found == edge
    else:
        assert found is not None and found <= 0


def test_samples_below_the_edge_are_harmless_and_so_is_a_gap_of_the_histogram() -> None:
    """Of ten at 10 us three were kept; the one at 50 us was: a deadline of 20 us has its order."""
    lane = lane_of([10 * US] * 10 + [50 * US], [True] * 3 + [False] * 7 + [True])
    assert lane.ordered_from_ns == 10 * US + 1


def test_without_kept_samples_there_is_no_order() -> None:
    assert account(block_lane({10 * US: 99, 50 * US: 1})).ordered_from_ns is None
    assert account(skip_lane({5: 90}, over=10)).ordered_from_ns is None
    assert account(counted_lane([], INTERVAL)).ordered_from_ns is None


def test_one_late_sample_that_was_not_kept_takes_the_order_of_all_smaller_ones() -> None:
    lane = lane_of([60 * US, 70 * US, 80 * US, 90 * US], [True, True, False, True])
    assert lane.ordered_from_ns == 80 * US + 1


def test_overflow_counts_as_samples_above_every_bin() -> None:
    everything = lane_of([10, 20, 900, 800], [False, True, True, True], limit=100)
    assert everything.ordered_from_ns == 11
    assert lane_of([10, 20, 900, 800], [False, True, True, False], limit=100).ordered_from_ns is None


def test_a_coarse_bin_over_fine_ones_counts_whole() -> None:
    """A sample of 1700 ns in the bin [1000, 2000) was not kept: the one at 1500 ns that was does not stand for it."""
    bins = Histogram(np.array([1000, 1500]), np.array([1000, 1]), np.array([1, 1]))
    made = counted_lane([1700, 1500], INTERVAL)
    assert account(Lane(made.entry, bins, None, spills_of([(1, 1500, 0)]))).ordered_from_ns is None
    both = account(Lane(made.entry, bins, None, spills_of([(0, 1700, 0), (1, 1500, 0)])))
    assert both.ordered_from_ns == 0


def test_samples_below_the_first_bin_have_no_known_order() -> None:
    made = counted_lane([50, 60], INTERVAL)
    below = replace(histogram({50: 1, 60: 1}), under=3)
    assert account(Lane(made.entry, below, None, made.spills)).ordered_from_ns == 50


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_tail_is_in_order_if_the_order_is_known_from_its_begin_on(data: st.DataObject) -> None:
    """The short way, which finds it without all that a verdict needs of the lane."""
    latencies = data.draw(st.lists(st.integers(0, 2000), min_size=1, max_size=300))
    kept_from = data.draw(st.integers(0, 2000))
    lost = data.draw(st.sets(st.integers(0, 299), max_size=2))
    kept = [value >= kept_from and k not in lost for k, value in enumerate(latencies)]
    lane = lane_of(latencies, kept, data.draw(st.sampled_from([1, 40])), data.draw(st.sampled_from([None, 1200])))
    known = lane.ordered_from_ns is not None and lane.ordered_from_ns <= lane.tail_from_ns
    told = tails_in_order(recording(lane.lane))
    assert told is known or (known and not told and not lane.counts[lane.reaching(lane.tail_from_ns)].any())

"""Known answers of one lane at its edges: overflow, dropped, clipped and truncated activations, moments, pools, progressions."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.lane import distribution
from rtassay.analysis.lane.account import Account, Truncated, accounts
from rtassay.analysis.lane.bounds import binomial_ppf, most_exceedances, p_lower, p_upper, samples_needed
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.lane.distribution import NOTHING, Distribution, Parts, Progressions, ints, points, progression
from rtassay.analysis.lane.exceedance import Exceedances, cannot_exceed_from, exceedances, total
from rtassay.analysis.lane.measures import comparable_measures, of_one_measure, pooled_measure
from rtassay.analysis.lane.missed import DueView, due_view, raw_view
from rtassay.analysis.lane.summary import lane_findings, moments, pooled_findings, weighted_sum
from rtassay.model.manifest import Clip, Plan
from rtassay.model.recording import Histogram, Lane, Recording

from ..build import MS, US, account, block_lane, counted_lane, cyclictest, histogram, recording, skip_lane

INTERVAL = 1000


def of(made: Recording) -> Account:
    return accounts(made)[0]


def entry(lane: Lane, **changes: Any) -> Lane:
    return replace(lane, entry=replace(lane.entry, **changes))


def over(max_ns: int | None, n: int = 10) -> Account:
    return of(cyclictest(skip_lane({5: 90}, over=n, limit_us=400, max_ns=max_ns)))


@pytest.mark.parametrize(
    ("max_us", "deadline_ns", "expected"),
    [
        (900, 400 * US, Exceedances(10, 0, 100)),
        (900, 400 * US + 1, Exceedances(1, 9, 100, 9)),
        (900, 900 * US, Exceedances(1, 9, 100, 9)),
        (900, 901 * US - 1, Exceedances(1, 9, 100, 9)),
        (900, 901 * US, Exceedances(0, 0, 100)),
        (None, 401 * US, Exceedances(0, 10, 100, 10)),
    ],
)
def test_overflow_against_a_deadline(max_us: int | None, deadline_ns: int, expected: Exceedances) -> None:
    assert exceedances(over(None if max_us is None else max_us * US), deadline_ns) == expected


def test_possible_ones_are_no_more_than_all_that_were_due() -> None:
    assert Exceedances(3, 9, 10).most == 10 and Exceedances(3, 6, 10).most == 9 and Exceedances(3, 9, 2).most == 3
    assert total([Exceedances(1, 2, 30, 1), Exceedances(4, 5, 60, 2)]) == Exceedances(5, 7, 90, 3)


def test_dropped_samples_against_what_the_lane_itself_counted() -> None:
    lane = entry(counted_lane([10, 50, 60, 10], INTERVAL, dropped=(1, 2, 3)), exceedances=2)
    asked = account(lane, plan=Plan(deadline_ns=50))
    assert exceedances(asked, 50) == Exceedances(2, 0, 4)
    # its count is of that deadline only
    assert exceedances(asked, 51) == Exceedances(1, 2, 4, 2)
    # all are told by the maximum, where none of them can have been late
    assert exceedances(asked, 61) == Exceedances(0, 0, 4)
    assert exceedances(asked, 60) == Exceedances(1, 2, 4, 2)
    # more than were dropped cannot be among them
    many = account(replace(lane, entry=replace(lane.entry, exceedances=9)), plan=Plan(deadline_ns=50))
    assert exceedances(many, 50) == Exceedances(3, 0, 4)
    none = account(replace(lane, entry=replace(lane.entry, exceedances=0)), plan=Plan(deadline_ns=5))
    assert exceedances(none, 5) == Exceedances(1, 0, 4)


def test_due_activations_nobody_names_may_all_have_been_late() -> None:
    lane = entry(counted_lane([10] * 4, INTERVAL), due=7)
    assert account(lane).unaccounted == 3
    assert exceedances(account(lane), 50) == Exceedances(0, 3, 7, 3)


def test_missed_ones_that_no_sample_explains_may_all_have_been_late() -> None:
    lane = entry(counted_lane([10, 2500], INTERVAL), missed=5, due=7)
    assert exceedances(account(lane), 2000) == Exceedances(1, 3, 7, 3)
    # the maximum says that nothing was as late as that
    assert exceedances(account(lane), 2501) == Exceedances(0, 0, 7)


def test_the_lane_s_maximum_is_an_exceedance_its_bins_do_not_show() -> None:
    lane = entry(counted_lane([10, 20, 30], INTERVAL, dropped=(2,)), max_ns=30)
    assert exceedances(account(lane), 30) == Exceedances(1, 0, 3)
    assert exceedances(account(lane), 31) == Exceedances(0, 0, 3)


@pytest.mark.parametrize(("deadline_ns", "late"), [(1300, 3), (1301, 2), (300, 4), (301, 3), (3300, 1), (3301, 0)])
def test_truncated_activations_at_their_edges(deadline_ns: int, late: int) -> None:
    assert Truncated(4, 300, 1000).reaching(deadline_ns) == late


def test_the_truncated_tail() -> None:
    lane = counted_lane([10] * 6, INTERVAL, truncated=4, closed_after_last_due=300)
    assert account(lane).truncated_tail() == Truncated(4, 300, INTERVAL)
    for unknown in ("closed_ns", "first_due_ns", "due"):
        assert account(entry(lane, **{unknown: None})).truncated_tail() is None
    assert exceedances(account(entry(lane, closed_ns=None)), 5) == Exceedances(6, 4, 10, 1)


def test_a_clipped_sample_stands_for_no_more_than_it_missed() -> None:
    """A stall of 3.5 intervals at the end of a run in which only one more was due."""
    lane = counted_lane([10, 3500], INTERVAL, cut_last_to=1)
    seen = account(lane)
    assert (seen.clipped_off, lane.entry.missed, lane.entry.due) == (2, 1, 3)
    assert [exceedances(seen, d).certain for d in (500, 1500, 2500, 2501, 3500, 3501)] == [2, 2, 2, 1, 1, 0]
    assert seen.explained is not None and (seen.explained.least, seen.explained.most) == (1, 1)


def test_a_clip_belongs_to_the_bin_that_holds_it() -> None:
    """At the end of a bin begins the next one; of a coarse and a fine bin the fine one has it; none may have it."""
    bins = Histogram(np.array([1000, 2000, 2500]), np.array([1000, 1000, 1]), np.array([1, 1, 1]))
    made = counted_lane([10], INTERVAL)
    for latency, index in ((1000, 0), (1999, 0), (2000, 1), (2499, 1), (2500, 2), (2501, 1), (3000, None), (999, None)):
        lane = Lane(replace(made.entry, clip=Clip(latency, 1)), bins)
        assert account(lane).clip_bin == index, latency
        assert account(lane).clipped_off == (0 if index is None else latency // INTERVAL - 1)
    assert account(Lane(made.entry, bins)).clip_bin is None
    assert account(Lane(replace(made.entry, clip=Clip(10, 1)), histogram({}))).clip_bin is None


def test_what_a_lane_tells_of_its_extremes() -> None:
    plain = of(cyclictest(skip_lane({5: 9, 7: 1}, max_ns=None)))
    assert (plain.min_ns, plain.max_ns, plain.limit_ns) == (5 * US, 7 * US, 400 * US)
    assert over(None).max_ns is None and over(900 * US).max_ns == 900 * US
    low = of(cyclictest(Lane(skip_lane({5: 9}).entry, histogram({5 * US: 9}, US, under=2))))
    assert low.min_ns is None and low.under == 2
    assert low.limit_ns == 6 * US
    told = of(cyclictest(skip_lane({5: 9}, over=None)))
    assert told.stripped and told.over_told is None
    assert account(entry(counted_lane([5], INTERVAL), over=None)).over_told == 0
    assert of(cyclictest(skip_lane({5: 9}, over=3))).over_told == 3


def test_a_deadline_that_nothing_reaches() -> None:
    assert cannot_exceed_from(account(counted_lane([10, 50], INTERVAL))) == 51
    assert cannot_exceed_from(over(900 * US)) == 901 * US
    assert cannot_exceed_from(over(None)) == 400 * US + 1
    assert cannot_exceed_from(account(entry(counted_lane([], INTERVAL), max_ns=None))) == 1


def test_the_smallest_deadline_that_is_shown() -> None:
    lane = account(block_lane({100: 400, 200: 1, 300: 1}))
    assert p_upper(0, 402, 0.95) <= 0.01 < p_upper(1, 402, 0.95)
    assert demonstrated([lane], 0.01, 0.95).deadline_ns == 301
    assert demonstrated([lane], 0.0125, 0.95).deadline_ns == 201
    assert demonstrated([lane], 0.02, 0.95).deadline_ns == 101
    assert demonstrated([lane], 0.001, 0.95).deadline_ns is None
    assert demonstrated([lane], 0.0, 0.95).deadline_ns is None
    assert demonstrated([], 0.01, 0.95).deadline_ns is None
    lost = account(entry(block_lane({100: 400}), truncated=400, due=800, closed_ns=None))
    assert demonstrated([lost], 0.01, 0.95).deadline_ns is None


def test_bounds_at_their_ends() -> None:
    assert p_lower(0, 10, 0.95) == 0.0 and p_lower(3, 0, 0.95) == 0.0 and p_upper(0, 0, 0.95) == 1.0
    assert p_upper(10, 10, 0.95) == 1.0
    assert p_lower(10, 10, 0.95) == pytest.approx(0.05 ** (1 / 10))
    assert p_lower(1, 1, 0.95) == pytest.approx(0.05)
    assert p_upper(0, 1, 0.95) == pytest.approx(0.95)
    assert p_lower(1, 10, 0.95) == pytest.approx(1 - 0.95 ** (1 / 10))
    assert p_upper(9, 10, 0.95) == pytest.approx(0.95 ** (1 / 10))
    assert binomial_ppf(0.5, 0, 0.9) == 0 and binomial_ppf(0.5, 10, 1.0) == 10 and binomial_ppf(0.5, 10, 0.0) == 0
    assert binomial_ppf(0.5, 1, 0.5) == 0 and binomial_ppf(0.51, 1, 0.5) == 1


def test_how_many_are_needed_and_allowed_at_the_ends() -> None:
    assert samples_needed(1.0, 0.95) == 1 and samples_needed(1.0, 0.95, 7) == 7 and samples_needed(1.5, 0.95, 2) == 2
    assert samples_needed(0.5, 0.5) == 1 and samples_needed(0.05, 0.95) == 59
    assert samples_needed(0.99, 0.5) == 1
    assert samples_needed(0.5, 0.95, 1) == 8 and samples_needed(0.99, 0.5, 1) == 2
    assert most_exceedances(58, 0.05, 0.95) is None and most_exceedances(59, 0.05, 0.95) == 0
    assert most_exceedances(92, 0.05, 0.95) == 0 and most_exceedances(93, 0.05, 0.95) == 1


def test_progressions_that_are_counted_and_not_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Progressions(ints([10, 1]), ints([10, 100]), ints([3, 2]), ints([4, 1]))  # 10 20 30 four times, 1 101
    assert rows.total == 14
    values, counts = rows.written_out()
    assert values.tolist() == [10, 20, 30, 1, 101] and counts.tolist() == [4, 4, 4, 1, 1]
    parts = Parts(ints([25]), ints([2]), (rows,))
    assert parts.total == 16 and NOTHING.total == 0
    every = [1, *[10] * 4, *[20] * 4, 25, 25, *[30] * 4, 101]
    for room in (4, 5):
        monkeypatch.setattr(distribution, "WRITE_OUT_AT_MOST", room)
        held = Distribution(parts)
        assert [held.at(rank) for rank in range(1, 17)] == every
        assert [held.at_most(value) for value in (0, 1, 9, 10, 24, 25, 30, 100, 101, 500)] == [
            0, 1, 1, 5, 9, 11, 15, 15, 16, 16,
        ]  # fmt: skip
        for rank in (0, 17):
            with pytest.raises(IndexError):
                held.at(rank)


def test_room_is_for_all_progressions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distribution, "WRITE_OUT_AT_MOST", 5)
    held = Distribution(Parts(ints([]), ints([]), (progression(0, 1, 3), progression(100, 1, 3))))
    assert [held.at(rank) for rank in range(1, 7)] == [0, 1, 2, 100, 101, 102]


def test_moments_of_lanes_of_which_one_has_no_exact_sum() -> None:
    exact = account(block_lane({100: 2}, sum_ns=210))
    assert moments([exact]) == (105.0, 0.0)
    dropped = account(block_lane({300: 2}, dropped=1, sum_ns=999))
    assert moments([dropped]) == (300.0, 0.0)
    assert moments([exact, dropped]) == (200.0, 100.0)
    assert moments([account(block_lane({300: 2}, n=3, sum_ns=999))]) == (300.0, 0.0)
    assert moments([account(block_lane({300: 2}, sum_ns=None))]) == (300.0, 0.0)
    coarse = cyclictest(skip_lane({3: 2}, sum_ns=99))
    assert moments([of(coarse)]) == (3000.0, 0.0)
    assert moments([]) == (None, None)
    assert moments([exact, over(None)]) == (None, None)
    under = of(cyclictest(Lane(skip_lane({5: 9}).entry, histogram({5 * US: 9}, US, under=2))))
    assert moments([under]) == (None, None)


def test_a_sum_is_exact_in_all_its_bits() -> None:
    values, counts = ints([0, 1, (1 << 20) - 1, 1 << 20, 3 * 10**9 + 7]), ints([5, 3, 10**12, 10**12, 10**12])
    assert weighted_sum(values, counts) == 3 + 10**12 * ((1 << 21) - 1 + 3 * 10**9 + 7)


def test_a_pool_of_lanes() -> None:
    made = recording(block_lane({100: 10}), block_lane({50: 20}, index=1), counted_lane([], MS, index=2))
    lanes = accounts(made)
    rows = [lane_findings(lane, 0.2, 0.95) for lane in lanes]
    pool = pooled_findings(list(lanes), rows, 0.2, 0.95)
    assert (pool.name, pool.cpu, pool.n, pool.due, pool.over, pool.dropped) == (None, None, 30, 30, 0, 0)
    # a lane without samples has no extremes to ask for
    assert (pool.min_ns, pool.max_ns, pool.measure) == (50, 100, "wake-up")
    assert pool.demonstrated.deadline_ns == 101
    blind = [replace(rows[0], min_ns=None, missed=None), *rows[1:]]
    part = pooled_findings(list(lanes), blind, 0.2, 0.95)
    assert (part.min_ns, part.max_ns, part.missed) == (None, 100, None)
    nothing = pooled_findings([], [], 0.2, 0.95)
    assert (nothing.n, nothing.due, nothing.min_ns, nothing.measure) == (0, None, None, "unknown")


def test_which_measure_is_pooled() -> None:
    assert pooled_measure([]) is None
    assert pooled_measure(["timer-irq", "timer-user", "timer-thread"]) == "timer-thread"
    assert pooled_measure(["timer-irq", "timer-user"]) == "timer-user"
    assert pooled_measure(["noise", "timer-irq"]) == "noise"
    assert pooled_measure(["job-execution", "job-response"]) == "job-response"
    assert pooled_measure(["noise", "wake-up"]) == "wake-up"
    assert pooled_measure(["wake-up", "response:pipe", "response:pipe-answer"]) == "response:pipe"
    assert comparable_measures(["wake-up", "response:pipe", "response:pipe-answer"]) == (
        "response:pipe",
        "response:pipe-answer",
    )
    assert pooled_measure(["wake-up", "gpio-edge", "gpio-response"]) == "gpio-response"
    assert pooled_measure(["wake-up", "gpio-edge", "gpio-response", "gpio-answer"]) == "gpio-answer"
    assert comparable_measures(["wake-up", "gpio-edge", "gpio-response"]) == ("gpio-edge", "gpio-response")
    assert comparable_measures(["wake-up", "response:pipe"]) == ("wake-up", "response:pipe")
    made = recording(block_lane({1: 1}, measure="noise"), block_lane({1: 1}, index=1))
    assert of_one_measure([lane.entry for lane in made.lanes], ["a", "b"]) == ["b"]


@pytest.mark.parametrize(
    ("made", "code", "facts"),
    [
        (entry(counted_lane([10], INTERVAL), missed=None), "missed-unknown", {}),
        (entry(counted_lane([10], INTERVAL, truncated=2), closed_ns=None), "truncated-when", {"truncated": 2}),
        (entry(counted_lane([10, 2500], INTERVAL), missed=3), "unexplained", {"explained": 2, "missed": 3}),
    ],
)
def test_why_there_is_no_view_per_due_activation(made: Lane, code: str, facts: dict[str, int]) -> None:
    why = due_view(account(made)).why_not
    assert why is not None and (why.code, why.facts) == (code, facts)


def test_an_estimate_needs_the_size_of_what_lies_in_overflow() -> None:
    def estimated(n: int, max_ns: int | None) -> DueView:
        return due_view(of(cyclictest(skip_lane({5: 98}, over=n, limit_us=400, max_ns=max_ns))))

    assert estimated(1, MS - 1).missed == 0 and estimated(2, MS - 1).missed == 0
    assert estimated(1, MS).missed == 1
    why = estimated(2, MS).why_not
    assert why is not None and (why.code, why.facts) == ("in-overflow", {"over": 2})
    assert estimated(1, None).why_not is not None
    one = estimated(1, 2 * MS + 300)
    assert one.view is not None and one.missed == 2 and one.estimate
    assert sorted(one.view.known.progressions[-1].written_out()[0].tolist()) == [300, MS + 300]


def test_a_sample_below_the_first_bin_is_in_the_view() -> None:
    lane = Lane(skip_lane({5: 9}, min_ns=2 * US).entry, histogram({5 * US: 9}, US, under=2))
    view = raw_view(of(cyclictest(lane)))
    assert view.total == 11 and Distribution(view.known).at(2) == 2 * US and Distribution(view.known).at(3) == 5 * US
    blind = raw_view(of(cyclictest(replace(lane, entry=replace(lane.entry, min_ns=None)))))
    assert Distribution(blind.known).at(1) == 5 * US
    assert Distribution(points([3], [2])).at_most(2) == 0


def test_the_standard_deviation_is_that_of_the_population() -> None:
    mean, sd = moments([account(counted_lane([2, 4, 4, 4, 5, 5, 7, 9], INTERVAL))])
    assert mean == 5.0 and sd is not None and math.isclose(sd, 2.0)

"""The steps from a lane's counts to its claim, each on small numbers worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaincinv
from scipy.stats import binom, gamma

from rtassay.analysis.lane.account import Account, Truncated, accounts
from rtassay.analysis.lane.bounds import burst_upper, gamma_deviations, p_lower, p_upper, poisson_lower, poisson_upper
from rtassay.analysis.lane.claim import Bound, Claim, Evidence, Requirement, next_largest
from rtassay.analysis.lane.dispersion import differ, p_value, spread, widening
from rtassay.analysis.lane.distribution import ints, joined, points, rising
from rtassay.analysis.lane.events import (
    Bursts,
    Kept,
    Runs,
    is_unjoined,
    join,
    latest,
    merging_gaps,
    together,
    unjoined,
)
from rtassay.analysis.lane.exceedance import Exceedances, exceedances, most_reaching
from rtassay.analysis.lane.jitter import jitter
from rtassay.analysis.lane.missed import due_view
from rtassay.analysis.lane.summary import lane_findings, pooled_findings
from rtassay.analysis.lane.trace import ordered_from, trace
from rtassay.model.findings import Gap, Noise
from rtassay.model.manifest import Damage, Plan, Source
from rtassay.model.measures import HARDWARE_GAP, JOB_EXECUTION, NOISE_TOTAL, TIMER_IRQ, WINDOWS
from rtassay.model.recording import GapTable, Histogram, Lane, Spills

from ..build import MS, account, block_lane, counted_lane, cyclictest, histogram, skip_lane, spills_of

HOUR_NS = 3_600_000_000_000


def entry(lane: Lane, **changes: Any) -> Lane:
    return replace(lane, entry=replace(lane.entry, **changes))


def test_what_an_account_takes_from_its_run() -> None:
    lane = counted_lane([5, 7], 1000)
    plain = account(lane)
    assert (plain.policy, plain.interval_ns, plain.run_deadline_ns, plain.bin_width_ns) == ("counted", 1000, None, 1)
    assert plain.final and plain.unlimited and plain.counted and plain.top.tolist() == [6, 8]
    unnamed = entry(lane, interval_ns=None)
    assert account(unnamed, plan=Plan(interval_ns=77, deadline_ns=9)).interval_ns == 77
    assert account(unnamed, plan=Plan(interval_ns=77, deadline_ns=9)).run_deadline_ns == 9
    assert account(lane, plan=Plan(interval_ns=77)).interval_ns == 1000
    assert not account(unnamed, plan=Plan()).counted and account(unnamed, plan=Plan()).explained is None
    assert not account(lane, end={}).final and not account(lane, damage=Damage(cut=True)).final
    other = Source("other", "1", "x", "counted")
    assert not account(lane, source=other).unlimited and account(lane, source=other, has_samples=True).unlimited
    assert not account(lane, source=Source("rtprobe", "1", "x", "skip")).counted
    for measure in WINDOWS:
        assert not account(entry(lane, measure=measure)).counted
    assert account(entry(lane, measure=TIMER_IRQ)).counted


def test_a_tail_of_windows_or_without_an_interval_has_no_lateness() -> None:
    lane = counted_lane([5, 7], 1000, truncated=3, closed_after_last_due=40)
    assert account(lane).truncated_tail() == Truncated(3, 40, 1000)
    assert account(entry(lane, closed_ns=0)).truncated_tail() == Truncated(3, 0, 1000), "closed before it was due"
    for unknown in ({"measure": NOISE_TOTAL}, {"measure": HARDWARE_GAP}, {"interval_ns": None}):
        assert account(entry(lane, **unknown), plan=Plan()).truncated_tail() is None


def test_what_was_due_is_told_by_the_clock_or_counted() -> None:
    lane = entry(counted_lane([5, 7], 1000), missed=3, dropped=4, truncated=5, due=20)
    assert (account(lane).accounted, account(lane).exposure, account(lane).unaccounted) == (14, 20, 6)
    told_less = account(entry(lane, due=13))
    assert (told_less.exposure, told_less.unaccounted) == (13, 0)
    blind = account(entry(lane, due=None, missed=None, dropped=None, truncated=None))
    assert (blind.accounted, blind.exposure, blind.unaccounted, blind.dropped, blind.truncated) == (2, 2, 0, 0, 0)


def test_more_samples_above_the_bins_than_the_lane_told_count() -> None:
    lane = counted_lane([5, 7], 1000)
    above = replace(lane, histogram=histogram({5: 1, 7: 1}, over=3))
    for told, expected in ((None, 3), (2, 3), (5, 5)):
        assert account(entry(above, over=told)).over_told == expected
    assert account(entry(lane, over=0)).over_told == 0
    assert account(replace(lane, histogram=histogram({}))).limit_ns == 0
    assert account(replace(lane, histogram=histogram({5: 1, 9: 1}, 4))).limit_ns == 13


def test_bins_that_reach_a_deadline_sorted_or_not() -> None:
    lane = counted_lane([5], 1000)
    fine = account(Lane(lane.entry, histogram({5: 1, 7: 1, 9: 1})))
    assert [fine.counts[fine.reaching(deadline)].size for deadline in (5, 6, 7, 8, 9, 10)] == [3, 2, 2, 1, 1, 0]
    over = account(Lane(lane.entry, Histogram(np.array([0, 5]), np.array([20, 1]), np.array([4, 3]))))
    assert [int(over.counts[over.reaching(deadline)].sum()) for deadline in (5, 6, 19, 20)] == [7, 4, 4, 0]


def test_how_many_missed_ones_wide_bins_explain() -> None:
    wide = Lane(entry(counted_lane([5], 1000)).entry, histogram({-500: 1, 900: 2, 2000: 1}, 200))
    found = account(wide).explained
    assert found is not None and (found.least, found.most) == (2, 4), (
        "900 to 1099 explain none or one, 2000 to 2199 two"
    )
    edge = account(Lane(wide.entry, histogram({800: 1}, 200))).explained
    assert edge is not None and (edge.least, edge.most) == (0, 0), "999 is the last value of the bin"


def test_negative_samples_are_in_order_too() -> None:
    assert account(counted_lane([-5, 7], 1000, spill_from=-9)).ordered_from_ns == -5
    assert account(counted_lane([5, 7], 1000)).ordered_from_ns == 0


def test_the_number_of_activations_that_a_bound_needs() -> None:
    assert (
        Bound(0.1, "x", "y", late=5.0).needed(0.01, 0.95) == 500
        and Bound(0.1, "x", "y", late=5.001).needed(0.01, 0.95) == 501
    )
    assert Bound(0.1, "x", "y", late=math.inf).needed(0.01, 0.95) is None
    assert (
        Bound(0.1, "x", "y", k=0).needed(0.05, 0.95) == 59
        and Bound(0.1, "x", "y", k=0, share=0.5).needed(0.05, 0.95) == 118
    )
    assert Bound(0.1, "x", "y", k=0).needed(0.0, 0.95) is None is Bound(0.1, "x", "y", late=5.0).needed(0.0, 0.95)


def made(**changes: Any) -> Claim:
    blank = Claim(Exceedances(0, 0, 100), 0, 0, Bound(0.01, "x", "y", k=0), 0.0, 2.0, 0.0, None, False)
    return replace(blank, **changes)


def test_a_claim_against_a_requirement_at_its_limits() -> None:
    def asked(p: float, per_hour: float | None = None) -> Requirement:
        return Requirement(10, p, 0.95, per_hour)

    assert made().holds(asked(0.01)) and not made().holds(asked(0.0099))
    assert not made(p_lower=0.01).violates(asked(0.01)) and made(p_lower=0.011).violates(asked(0.01))
    late = Exceedances(1, 0, 100)
    assert (
        made(seen=late).violates(asked(0.0))
        and not made().violates(asked(0.0))
        and not made(seen=late).violates(asked(1e-9))
    )
    assert not made(p_lower=0.02, upper=Bound(0.0, "x", "y")).holds(asked(0.01)), "violated, whatever its upper limit"
    assert not made(seen=Exceedances(0, 0, 0)).holds(asked(1.0)) and made(seen=Exceedances(0, 0, 1)).holds(asked(1.0))
    assert made().holds(asked(0.0, 2.0)) and not made().holds(asked(1.0, 1.99))
    assert not made(rate_lower_per_h=2.0).violates(asked(0.0, 2.0)) and made(rate_lower_per_h=2.1).violates(
        asked(1.0, 2.0)
    )
    assert made().needed(asked(1.0, 4.0), MS) == 50 and made().needed(asked(1.0, 3.0), MS) == 67
    for none in ((asked(1.0, 0.0), MS), (asked(1.0, 4.0), None), (asked(1.0, 4.0), 0)):
        assert made().needed(*none) is None
    assert made().needed(asked(0.05), None) == 59


def test_the_next_event_may_be_larger_the_fewer_there_were() -> None:
    assert [next_largest(events, False) for events in (0, 1, 2, 3, 6)] == [1.0, 10.0, 3.25, 2.0, 1.5]
    assert [next_largest(events, True) for events in (0, 1, 2, 3, 6)] == [1.0, 1.0, 1.0, 2.0, 1.5]


def lane(n: int, late: dict[int, int], ordered: bool = True) -> Account:
    """`n` activations of 10 ns at 1 kHz but `late`: position -> latency."""
    values, counts = np.unique(list(late.values()), return_counts=True)
    block = block_lane({10: n - len(late), **dict(zip(values.tolist(), counts.tolist(), strict=True))}, MS)
    rows = [(k, latency, 0) for k, latency in sorted(late.items())]
    return account(Lane(block.entry, block.histogram, None, spills_of(rows) if ordered else None))


def test_the_levels_that_are_looked_at_are_each_of_the_first_and_then_ever_fewer() -> None:
    n = 300
    one = Evidence([lane(100_000, {k * 300: 1000 + k for k in range(n)})], 0.95)
    rows = list(range(64))
    while rows[-1] * 1.5 < n - 1:
        rows.append(int(rows[-1] * 1.5) + 1)
    assert rows[63:] == [63, 95, 143, 215, 323][: len(rows) - 63]
    assert one._levels == [1000 + n - 1 - row for row in rows if row < n]
    assert Evidence([lane(1000, {5: 77})], 0.95)._levels == [77]
    assert Evidence([lane(1000, {5: 77}, ordered=False)], 0.95)._levels == []


def test_limits_of_higher_levels_hold_below_them_too() -> None:
    """Ten apart at 1000 ns and none between: the limit at 500 ns is that of the ten."""
    evidence = Evidence([lane(10_000_000, {k * 1_000_000: 1000 for k in range(10)})], 0.95)
    assert evidence.claim(1001).upper.p == p_upper(0, 10_000_000, 0.95) and evidence.claim(1000).upper.p == p_upper(
        10, 10_000_000, 0.95
    )
    assert evidence.claim(500).upper == evidence.claim(1000).upper
    assert evidence.claim(500).rate_upper_per_h == evidence.at(1000).rate_upper_per_h
    many = Evidence([lane(10_000_000, {k * 1000: 1000 for k in range(10)})], 0.95)
    hidden = Requirement(500, 1.05e-6, 0.95)
    assert not many.holds(hidden) and many._certain(500) == 10


def test_confidence_of_a_violation_is_shared_among_lanes() -> None:
    found = [Evidence([lane(1000, {5: 77})], 0.95, lanes).confidence_lower for lanes in (0, 1, 2, 10)]
    assert found == pytest.approx([0.95, 0.95, 0.975, 0.995])


def test_without_an_interval_there_is_no_rate() -> None:
    made_ = accounts(cyclictest(skip_lane({5: 98, 300: 2}, interval=None)))[0]
    found = Evidence([made_], 0.95).claim(100_000)
    assert found.rate_upper_per_h is None is found.rate_lower_per_h and found.seen.certain == 2
    assert Evidence([lane(1000, {5: 77})], 0.95)._hours == pytest.approx(1000 * MS / HOUR_NS)


def test_activations_of_unknown_latency_widen_a_limit_of_bursts() -> None:
    """Two bursts of five, and three that were dropped: each of those may be an event of its own."""
    base = lane(10_000_000, {k: 1000 for start in (1000, 5_000_000) for k in range(start, start + 5)})
    lost = account(
        Lane(replace(base.entry, dropped=3, due=10_000_003, max_ns=1000), base.lane.histogram, None, base.lane.spills),
        end={},
    )
    found = Evidence([lost], 0.95).claim(900)
    assert (found.seen.certain, found.seen.possible, found.seen.apart, found.events) == (10, 3, 3, 2)
    late = burst_upper(ints([5, 5, 1, 1, 1]), 0.95, next_largest(2, False))
    assert found.upper.late == pytest.approx(late) and found.upper.p == pytest.approx(late / 10_000_003)
    assert (found.upper.basis, found.upper.assumes) == ("bursts", "as_few")
    assert found.rate_upper_per_h == pytest.approx(poisson_upper(5, 0.95) / (10_000_003 * MS / HOUR_NS))
    assert found.rate_lower_per_h == pytest.approx(poisson_lower(2, 0.95) / (10_000_003 * MS / HOUR_NS))


def test_runs_without_order_count_as_one_event_each() -> None:
    first, second = lane(1_000_000, {5: 1000, 9000: 1000}, False), lane(1_000_000, {7: 1000, 800: 1000}, False)
    found = Evidence([first, second, lane(1_000_000, {}, False)], 0.95).claim(900)
    hours = 3_000_000 * MS / HOUR_NS
    assert (found.events, found.gap, found.seen.certain) == (None, 0, 4)
    assert found.rate_lower_per_h == pytest.approx(poisson_lower(2, 0.95) / hours)
    assert found.rate_upper_per_h == pytest.approx(poisson_upper(4, 0.95) / hours)
    assert found.upper.p == p_upper(4, 3_000_000, 0.95) and 0 < found.p_lower < p_lower(4, 3_000_000, 0.95)


def test_the_scatter_of_runs_is_known_from_two_on() -> None:
    runs = [lane(1_000_000, {k * (1_000_000 // number) + 7: 1000 for k in range(number)}) for number in (400, 40, 40)]
    assert Evidence(runs[:1], 0.95).spread is None and Evidence(runs[:1], 0.95)._widening == 1.0
    found = Evidence(runs, 0.95)
    assert found.spread == pytest.approx(spread(ints([400, 40, 40]), ints([10**6] * 3)), rel=1e-9)
    assert found._widening == pytest.approx(400 / 160)
    assert found._widening == pytest.approx(widening(ints([400, 40, 40]), ints([10**6] * 3), 0.95))


def test_how_many_samples_reach_a_level() -> None:
    first, second = account(block_lane({10: 90, 50: 6, 80: 4})), account(block_lane({10: 98, 60: 2}))
    for wanted, most, found in (
        (4, 1.0, [4, 0]),  # at 80
        (5, 1.0, [4, 2]),  # at 60
        (7, 1.0, [10, 2]),  # at 50
        (13, 1.0, [100, 100]),
        (7, 12 / 200, [10, 2]),
        (7, 11 / 200, [4, 2]),  # 12 are too many: above it there are six
        (7, 5 / 200, None),
        (4, 3 / 200, None),  # above the highest there are none
    ):
        result = most_reaching([first, second], wanted, most)
        assert (None if result is None else result.tolist()) == found, (wanted, most)
    over = account(replace(block_lane({10: 90}), histogram=histogram({10: 90}, over=3)))
    assert most_reaching([over], 3, 1.0) is not None and most_reaching([over], 3, 1.0).tolist() == [3]  # type: ignore[union-attr]


def single(*positions: int) -> Runs:
    return Runs(ints(positions), np.ones(len(positions), np.int64))


def test_late_ones_are_joined_only_where_they_are_twice_as_dense() -> None:
    """Ten spacings of 1 and one of 990: 2 * (sum of the short ones) * 11 <= 10 * (activations that were not late)."""
    for due, sizes in ((12 + 22, [11, 1]), (12 + 21, [1] * 12)):
        found = join([single(*range(11), 1000)], due, (1,))
        assert (found.gap, found.sizes.tolist()) == (int(len(sizes) == 2), sizes)
    dense = join([single(0, 10, 20, 1_000_020)], 10**6 + 100, (10,))
    assert (dense.gap, dense.sizes.tolist(), dense.run.tolist()) == (10, [3, 1], [0, 0])
    apart = join([single(0, 11, 22, 1_000_020)], 10**6 + 100, (10,))
    assert (apart.gap, apart.sizes.tolist()) == (0, [1, 1, 1, 1])


def test_a_long_stall_reaches_over_those_within_it() -> None:
    """Of a stall of 100 activations from 0 on, one that is told again at 50 lies inside; spacings count from its end."""
    found = join([Runs(ints([0, 50, 105]), ints([100, 1, 1]))], 10**9, (10,))
    assert found.gap == 10 and found.sizes.tolist() == [102]


def test_events_of_runs_that_were_joined_each_by_itself() -> None:
    made_ = together(
        [Bursts(ints([2, 3]), ints([0, 0]), 10), Bursts(ints([]), ints([]), 0), Bursts(ints([4]), ints([0]), 1000)]
    )
    assert (made_.sizes.tolist(), made_.run.tolist(), made_.gap) == ([2, 3, 4], [0, 0, 2], 1000)


def test_the_latest_of_several_lanes_fall() -> None:
    first, second = Kept(lane(100, {5: 30, 9: 50})), Kept(lane(100, {3: 40, 7: 20}))
    assert latest([first, second], 20).tolist() == [50, 40, 30, 20] and latest([first, second], 31).tolist() == [50, 40]
    assert latest([first], 30).tolist() == [50, 30] and latest([first], 51).tolist() == []


def test_of_the_latest_of_several_lanes_no_more_than_asked_for() -> None:
    first, second = Kept(lane(100, {5: 30, 9: 50})), Kept(lane(100, {3: 40, 7: 20}))
    assert latest([first, second], 20, 3).tolist() == [50, 40, 30] and latest([first, second], 45, 3).tolist() == [50]
    assert latest([first], 0, 1).tolist() == [50]


@pytest.mark.parametrize("n", [0, 1, 4095, 4096, 50_000])
def test_counted_values_are_sorted_as_others_are(n: int) -> None:
    random = np.random.default_rng(n)
    values = ints(np.round(-300 + random.pareto(1.0, n) * 2000))
    assert rising(values).tolist() == np.sort(values).tolist()


def test_those_that_reach_a_deadline_are_found_whatever_was_asked_before() -> None:
    random = np.random.default_rng(5)
    made = lane(10**6, {int(k): int(random.pareto(2.0) * 1000) for k in np.unique(random.integers(0, 10**6, 6000))})
    wake_ups = Kept(made)
    for deadline in (9000, 5, 2000, 100_000, 300, 1, 10**9):
        late = made.spills.at(made.spills.latency_ns + made.bin_width_ns > deadline)
        assert wake_ups.late(deadline).first.tolist() == late.k.tolist(), deadline


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 300_000), st.integers(1, 12)), min_size=2, max_size=100, unique_by=lambda row: row[0]
    ),
    st.sampled_from([1, 40, 3000]),
    st.sampled_from([300_001, 10**7]),
)
def test_where_none_are_joined_is_found_for_all_levels_at_once(
    rows: list[tuple[int, int]], near: int, due: int
) -> None:
    rows = [(k // near * near if k % 3 else k, value) for k, value in rows]
    late = dict(sorted(rows))
    made = Spills(ints(list(late)), ints(list(late.values())), ints([0] * len(late)))
    levels = sorted(set(late.values()), reverse=True)
    gaps = merging_gaps(None)
    if len(late) < 2:
        return
    for level, number in zip(levels, unjoined(made, levels, due, gaps), strict=True):
        reaching = made.k[made.latency_ns >= level]
        joined = join([single(*reaching.tolist())], due, gaps)
        assert number in (0, reaching.size)
        assert is_unjoined(made.at(made.latency_ns >= level), due, gaps) is (number > 0)
        if number:  # late ones at regular intervals are not joined either: these are left to `join`
            assert joined.gap == 0


@pytest.mark.parametrize("confidence", [0.2, 0.5, 0.6, 0.9, 0.95, 0.99, 0.9999])
def test_no_gamma_distribution_has_its_quantile_farther_above_its_mean(confidence: float) -> None:
    shape = np.exp(np.linspace(-16, 20, 20_000))
    found = (gammaincinv(shape, confidence) - shape) / np.sqrt(shape)
    assert float(found.max()) <= gamma_deviations(confidence) <= math.sqrt(confidence / (1 - confidence))


class _Every(Evidence):
    """Looks at all levels above a deadline."""

    def _smaller(self, late: int, p: float, rate: float | None) -> bool:
        return False

    def _none_above(self, deadline_ns: int, p: float, rate: float | None) -> bool:
        return False


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize("apart", [1, 50])
@pytest.mark.parametrize("confidence", [0.6, 0.95])
def test_the_levels_that_are_left_out_change_no_bound(size: int, apart: int, confidence: float) -> None:
    random = np.random.default_rng(size)
    begins = np.unique(random.integers(0, 10**6 // 500, 2000 if size == 1 else 300)) * 500
    late = {int(k) + j * apart: int(1000 + random.pareto(2.0) * 3000) for k in begins for j in range(size)}
    made = lane(10**6, late)
    looked, every = Evidence([made], confidence), _Every([made], confidence)
    rising_ = sorted(late.values())
    for rank in (1, 2, 3, 600, 10, 60, 64, 65, 150, 250, 1200):
        if rank > len(rising_):
            continue
        found, whole = looked.claim(rising_[-rank]), every.claim(rising_[-rank])
        alone = Evidence([made], confidence).claim(rising_[-rank])
        assert (found.upper.p, found.rate_upper_per_h) == (whole.upper.p, whole.rate_upper_per_h), rank
        assert (found.upper, found.rate_upper_per_h) == (alone.upper, alone.rate_upper_per_h), rank
        assert found.upper.basis == whole.upper.basis


def test_late_activations_behind_a_wake_up_are_at_most_those_it_missed() -> None:
    """2.6 intervals late: three reach a deadline of 0.6 intervals, two one of 0.61; a coarse bin may hold its last value."""
    stalled = account(counted_lane([100, 2600], 1000))
    for deadline, count in ((600, 3), (601, 2), (1600, 2), (1601, 1), (2600, 1)):
        assert Kept(stalled).late(deadline).count.tolist() == [count], deadline
    assert Kept(stalled).late(2601).count.tolist() == []
    tail = account(counted_lane([100, 100], 1000, truncated=3, closed_after_last_due=300))
    runs = Kept(tail).late(1300)
    assert (runs.first.tolist(), runs.count.tolist()) == ([2], [2])
    assert Kept(tail).late(90).first.tolist() == [0, 1, 2] and Kept(tail).late(90).count.tolist() == [1, 1, 3]


def test_a_trace_needs_fifty_in_order_and_no_more_than_a_twentieth() -> None:
    def traced(number: int, n: int) -> Any:
        return trace([Kept(lane(n, {k * (n // number): 1000 + k * 37 % number for k in range(number)}))], 0.95)

    assert traced(49, 1_000_000) is None and traced(50, 1_000_000) is not None
    assert traced(50, 1_000_000).n in (20, 50) and traced(50, 1_000_000).theta == 1.0
    assert traced(50, 399) is None and traced(50, 400).n == 20, "20 are a twentieth of 400"
    neighbours = lane(10_000_000, {start + j: 1000 for start in range(0, 10_000_000, 500_000) for j in range(5)})
    found = trace([Kept(neighbours)], 0.95)
    assert found is not None and (found.n, found.above_ns, found.theta) == (100, 1000, 0.2)
    assert found.theta_lower == pytest.approx(20 / burst_upper(ints([5] * 20), 0.95, 1 + 3 / 20))


def test_the_order_of_several_runs_is_known_from_the_highest_of_their_edges_on() -> None:
    known, none = lane(100, {5: 30, 9: 50}), lane(100, {3: 40}, False)
    assert known.ordered_from_ns == 11 and ordered_from([known]) == 11
    assert ordered_from([known, none]) == 41, "the largest one of a run without kept samples"
    assert ordered_from([none, none]) is None
    mixed = lane(100, {5: 30, 9: 50})
    assert ordered_from([replace(known, ordered_from_ns=20), replace(mixed, ordered_from_ns=35)]) == 35


def test_period_jitter_of_lanes_together() -> None:
    first, second = counted_lane([5]), counted_lane([5], index=1)
    table = histogram({0: 3, 10: 1})
    lanes = [replace(first, jitter=table), replace(second, jitter=histogram({4: 4}))]
    found = jitter(lanes)
    assert found is not None and (found.n, found.mean_ns, found.max_ns) == (8, (10 + 16) / 8, 10)
    assert [(step.q, step.value_ns, step.bound) for step in found.quantiles[:2]] == [
        (0.5, 4, "exact"),
        (0.9, 10, "at_least"),
    ]
    assert jitter([lanes[0], second]) is None is jitter([]) and jitter([replace(first, jitter=table)]) is not None


def test_what_was_taken_from_a_busy_lane() -> None:
    gaps = GapTable(np.arange(12) * 100, np.array([7, 9, 9, 1, 2, 3, 4, 5, 6, 8, 10, 11]))
    busy = entry(block_lane({100: 50}, 1000), measure=NOISE_TOTAL, gaps=40, gaps_kept=12, dropped=0)
    noise = lane_findings(account(replace(busy, gaps=gaps)), 0.1, 0.95).noise
    assert noise is not None and (noise.share, noise.gaps, noise.kept) == (5000 / 50_000, 40, 12)
    assert noise.longest == tuple(
        Gap(start, length)
        for start, length in (
            (1100, 11),
            (1000, 10),
            (100, 9),
            (200, 9),
            (900, 8),
            (0, 7),
            (800, 6),
            (700, 5),
            (600, 4),
            (500, 3),
        )
    )
    assert lane_findings(account(busy), 0.1, 0.95).noise == Noise(0.1, 40, 12, ())
    for unknown in ({"sum_ns": None}, {"dropped": 1}, {"n": 0}, {"interval_ns": None}):
        told = lane_findings(account(entry(busy, **unknown), plan=Plan()), 0.1, 0.95).noise
        assert told is not None and told.share is None, unknown
    assert lane_findings(account(entry(busy, measure=HARDWARE_GAP)), 0.1, 0.95).noise is None


def test_windows_that_were_not_looked_at_and_an_interval_nobody_told() -> None:
    missed = entry(counted_lane([10, 20], 1000), missed=2, truncated=1)
    windows = due_view(account(entry(missed, measure=NOISE_TOTAL)))
    assert windows.view is None and windows.why_not is not None
    assert (windows.why_not.code, windows.why_not.words) == ("not-looked-at", "3 windows were not looked at")
    jobs = due_view(account(entry(missed, measure=JOB_EXECUTION))).why_not
    assert jobs is not None and (jobs.code, jobs.words) == ("not-started", "3 jobs were not started")
    blind = due_view(account(entry(missed, interval_ns=None), plan=Plan())).why_not
    assert blind is not None and (blind.code, blind.words) == ("interval-unknown", "the interval is not known")
    whole = due_view(account(entry(missed, missed=0, truncated=0, interval_ns=None), plan=Plan()))
    assert whole.view is not None and whole.missed == 0 and not whole.estimate
    foreign = due_view(account(missed, source=Source("x", None, "x", "catch_up"))).why_not
    assert (
        foreign is not None and foreign.words == "the source does not say what it does after a late wake-up (catch_up)"
    )
    untold = due_view(account(entry(missed, missed=None))).why_not
    assert untold is not None and untold.words == "the source does not count missed activations"
    ended = due_view(account(entry(missed, closed_ns=None))).why_not
    assert ended is not None and ended.words == "the time of 1 truncated activations is not known"
    above = due_view(accounts(cyclictest(skip_lane({5: 98}, over=2, max_ns=2500_000)))[0]).why_not
    assert (
        above is not None and above.words == "2 samples above the histogram may have missed any number of activations"
    )


def test_due_activations_of_all_lanes_are_pooled_where_every_lane_tells_them() -> None:
    late, early = account(counted_lane([10, 2500], 1000)), account(counted_lane([20, 30], 1000, index=1))
    rows = [lane_findings(one, 0.2, 0.95) for one in (late, early)]
    found = pooled_findings([late, early], rows, 0.2, 0.95)
    assert [row.value_ns for row in found.quantiles[:2]] == [20, 2500]
    assert found.quantiles_due is not None
    # 10 20 30 500 1500 2500
    assert [row.value_ns for row in found.quantiles_due[:2]] == [30, 2500]
    blind = account(entry(counted_lane([20, 30], 1000, index=1), missed=None))
    assert pooled_findings([late, blind], rows, 0.2, 0.95).quantiles_due is None
    assert pooled_findings([], [], 0.2, 0.95).quantiles_due is None


def test_what_was_dropped_or_lies_above_may_have_missed_more() -> None:
    for changes, known in (({}, False), ({"dropped": 1}, True)):
        found = due_view(account(entry(counted_lane([10, 2500], 1000), missed=3, due=6, **changes)))
        assert (found.view is not None) is known and (not known or found.missed == 3)
    over = entry(replace(counted_lane([10, 2500], 1000), histogram=histogram({10: 1, 2500: 1}, over=1)), missed=3)
    assert due_view(account(over)).view is not None
    assert due_view(account(entry(over, missed=1))).view is None, "fewer than the histogram explains"


@pytest.mark.parametrize(("seen", "due"), [((4, 1), (100, 300)), ((0, 6), (500, 100)), ((2, 1), (10, 11))])
def test_chance_of_a_scatter_by_all_that_may_have_happened(seen: tuple[int, int], due: tuple[int, int]) -> None:
    """Mean and variance of Pearson's statistic over every way in which the events may fall, and the gamma distribution that has both."""
    total, share = sum(seen), due[0] / sum(due)

    def statistic(first: int) -> float:
        return (first - total * share) ** 2 / (total * share * (1 - share))

    chance = binom.pmf(np.arange(total + 1), total, share)
    values = np.array([statistic(first) for first in range(total + 1)])
    mean = float((chance * values).sum())
    variance = float((chance * (values - mean) ** 2).sum())
    expected = gamma.sf(statistic(seen[0]), mean**2 / variance, scale=variance / mean)
    assert p_value(ints(seen), ints(due)) == pytest.approx(expected, rel=1e-9)


def test_chance_of_a_scatter_at_its_ends() -> None:
    assert p_value(ints([2, 0]), ints([10, 10])) < 1.0 and p_value(ints([1, 0]), ints([10, 10])) == 1.0
    assert p_value(ints([20, 0]), ints([10, 0])) == 1.0, "nothing was due in the other run"
    assert not differ(ints([5, 5]), ints([10**6, 10**6])) and differ(ints([50, 5]), ints([10**6, 10**6]))
    assert widening(ints([50, 5]), ints([10**6, 10**6]), 0.95) == pytest.approx(50 / 27.5)
    assert widening(ints([50, 5, 0]), ints([10**6, 10**6, 0]), 0.95) == pytest.approx(50 / 27.5)


def test_all_values_of_all_parts() -> None:
    assert joined([]).total == 0 and joined([points([1], [2]), points([5, 7], [1, 3])]).values.tolist() == [1, 5, 7]


def test_timers_of_the_kernel_hide_what_they_lost() -> None:
    """What a tracer lost or skipped is in no maximum of the lane: all of it may have been late, but for what the histogram explains."""
    tracer = entry(counted_lane([10, 2500], 1000), measure=TIMER_IRQ, missed=5, dropped=3, due=12)
    found = exceedances(account(tracer), 5000)
    assert (found.certain, found.possible, found.apart, found.due) == (0, 3 + 3 + 2, 8, 12)
    plain = exceedances(account(entry(tracer, measure="wake-up")), 5000)
    assert (plain.certain, plain.possible) == (0, 2), "the lane's own maximum is below the deadline"


def test_a_counted_lane_that_lost_its_own_count_of_missed_ones() -> None:
    cut = entry(counted_lane([10, 2500], 1000), missed=None, due=4)
    found = exceedances(account(cut, end={}), 2000)
    assert (found.certain, found.possible, found.due) == (1, 2, 4), "the two that nobody names"

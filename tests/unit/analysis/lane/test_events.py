"""Exceedances as events: clusters against one run at a time, and the bound of the rate with what nobody knows in it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from rtassay.analysis.lane.account import Account, accounts
from rtassay.analysis.lane.events import QUIET_PERIODS, events, rate_upper_per_h
from rtassay.analysis.lane.exceedance import Exceedances, exceedances
from rtassay.model.units import NS_PER_H

from ..build import MS, US, account, counted_lane, cyclictest, skip_lane

INTERVAL = MS
DEADLINE = 500 * US


def poisson_upper(events: int, confidence: float) -> float:
    """Upper limit of a Poisson mean: half the chi-squared quantile of 2 (events + 1) degrees of freedom."""
    return float(chi2.ppf(confidence, 2 * (events + 1))) / 2


def rate(lane: Account) -> tuple[Exceedances, int | None, float | None]:
    """What is known of a lane's exceedances of DEADLINE, their clusters, and the bound of their rate at 95 %."""
    seen = exceedances(lane, DEADLINE)
    clusters = events(lane, DEADLINE, seen)
    return seen, clusters, rate_upper_per_h(lane, seen, clusters, 0.95)


def test_the_rate_is_bounded_by_poisson_over_the_hours_that_were_due() -> None:
    lane = account(counted_lane([100 * US, 600 * US, *[100 * US] * 998], INTERVAL))
    seen, clusters, bound = rate(lane)
    assert (seen.certain, seen.apart, clusters) == (1, 0, 1)
    assert bound == pytest.approx(poisson_upper(1, 0.95) / (1000 * INTERVAL / NS_PER_H))


def test_every_sample_nobody_knows_may_be_an_event_of_its_own() -> None:
    """Three dropped samples, and a maximum of the lane that leaves open whether they were late."""
    made = counted_lane(
        [100 * US, 600 * US, *[100 * US] * 995, 700 * US, 800 * US, 900 * US], INTERVAL, dropped=(997, 998, 999)
    )
    lane = account(replace(made, entry=replace(made.entry, exceedances=None)))
    seen, clusters, bound = rate(lane)
    assert seen.possible == seen.apart > 0 and clusters is not None
    assert bound == pytest.approx(poisson_upper(clusters + seen.apart, 0.95) / (1000 * INTERVAL / NS_PER_H))


def test_activations_that_never_ran_are_one_event() -> None:
    """The tail of a starved lane is one stall: fifty activations of which nobody knows how late they were."""
    made = counted_lane([100 * US] * 950, INTERVAL, truncated=50)
    lane = account(replace(made, entry=replace(made.entry, closed_ns=None)))
    seen, clusters, bound = rate(lane)
    assert (seen.possible, seen.apart, clusters) == (50, 1, 0)
    assert bound == pytest.approx(poisson_upper(1, 0.95) / (1000 * INTERVAL / NS_PER_H))


def test_without_order_or_interval_there_is_no_rate() -> None:
    lane = account(counted_lane([100 * US, 600 * US], INTERVAL, spill_from=MS))
    assert rate(lane)[1:] == (None, None)
    blind = cyclictest(skip_lane({5: 9}, interval=None))
    assert rate_upper_per_h(accounts(blind)[0], Exceedances(0, 0, 9), 0, 0.95) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([100 * US, 600 * US, 3 * MS + 600 * US, 12 * MS]), min_size=1, max_size=80),
    st.integers(0, 30),
)
def test_clusters_are_those_of_one_exceedance_after_the_other(latencies: list[int], truncated: int) -> None:
    lane = account(counted_lane(latencies, INTERVAL, truncated=truncated))
    seen = exceedances(lane, DEADLINE)
    late: list[int] = []
    for k, latency, missed in zip(
        *(column.tolist() for column in (lane.spills.k, lane.spills.latency_ns, lane.spills.missed)), strict=True
    ):
        late += [(k + j) * INTERVAL for j in range(missed + 1) if latency - j * INTERVAL >= DEADLINE]
    tail = lane.truncated_tail()
    if tail is not None and lane.entry.due is not None:
        late += [
            (lane.entry.due - 1 - t) * INTERVAL for t in range(tail.count) if tail.least_ns + t * INTERVAL >= DEADLINE
        ]
    quiet = max(QUIET_PERIODS * INTERVAL, lane.max_ns or 0)
    expected = int((np.diff(np.sort(late)) >= quiet).sum()) + 1 if late else 0
    assert len(late) == seen.certain
    assert events(lane, DEADLINE, seen) == expected

"""Small numbers of a lane worked out by hand: where its tail begins, what a clipped sample missed, how far runs scatter."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from rtassay.analysis.lane.dispersion import spread
from rtassay.analysis.lane.distribution import Parts
from rtassay.analysis.lane.exceedance import exceedances
from rtassay.analysis.lane.missed import due_view
from rtassay.model.measures import TIMER_IRQ

from ..build import MS, account, block_lane, counted_lane, cyclictest, histogram, skip_lane


@pytest.mark.parametrize(
    ("counts", "begin"),
    [
        ({10: 998, 20: 1, 30: 1}, 20),  # the 999th of 1000 is their p99.9
        ({10: 997, 20: 1, 30: 2}, 30),  # the 998th is below it
        ({10: 989, 20: 11}, 21),  # 11 of 1000 are more than 1 %: the tail begins behind them
        ({10: 990, 20: 10}, 20),
        ({10: 1}, 11),
    ],
)
def test_where_the_tail_begins(counts: dict[int, int], begin: int) -> None:
    assert account(block_lane(counts)).tail_from_ns == begin


def test_samples_below_the_first_bin_and_above_the_last_count_for_the_tail() -> None:
    lane = block_lane({10: 9, 20: 1})
    below = replace(lane, histogram=replace(histogram({10: 9, 20: 1}), under=990))
    assert account(below).tail_from_ns == 10, "990 lie below: p99.9, the 999th of 1000, is the last of the nine"
    above = replace(lane, histogram=histogram({10: 998}, over=2, limit_ns=500))
    assert account(above).tail_from_ns == 500


def test_a_clipped_sample_missed_what_the_run_had_time_for() -> None:
    """5.5 ms late at an interval of 1 ms, of which two more were due before the end: 4.5 and 3.5 ms late."""
    view = due_view(account(counted_lane([100, 5 * MS + 500_000], MS, cut_last_to=2)))
    assert view.missed == 2 and view.view is not None
    assert sorted(expand(view.view.known)) == [100, 3_500_000, 4_500_000, 5_500_000]


def expand(parts: Parts) -> list[int]:
    rows = np.repeat(parts.values, parts.counts).tolist()
    for one in parts.progressions:
        for row in zip(one.start, one.step, one.length, one.weight, strict=True):
            first, step, length, weight = (int(value) for value in row)
            rows += [first + j * step for j in range(length)] * weight
    return [int(row) for row in rows]


def test_the_scatter_of_runs_without_that_of_chance() -> None:
    counts, due = np.array([10, 200, 400]), np.array([1000, 1000, 1000])
    logs = [math.log((one + 0.5) / 1000) for one in (10, 200, 400)]
    centre = sum(logs) / 3
    variance = sum((one - centre) ** 2 for one in logs) / 2 - sum(1 / (one + 0.5) for one in (10, 200, 400)) / 3
    assert spread(counts, due) == pytest.approx(math.sqrt(variance), rel=1e-12)
    assert spread(np.array([10, 11, 9]), due) == 0.0
    assert spread(np.append(counts, 5), np.append(due, 0)) == pytest.approx(math.sqrt(variance), rel=1e-12), (
        "nothing was due"
    )


def test_what_a_tracer_lost_without_an_interval() -> None:
    made = cyclictest(skip_lane({5: 10}, interval=None, measure=TIMER_IRQ, dropped=3, missed=4, due=17))
    from rtassay.analysis.lane.account import accounts

    found = exceedances(accounts(made)[0], MS)
    assert (found.certain, found.possible) == (0, 7)

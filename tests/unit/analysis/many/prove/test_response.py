"""What a run tells: of its worst lane, with missed activations, never near the maximum."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.many.prove.response import quantile_for, run_of
from rtassay.model.findings import CheckResult
from rtassay.model.proving import Run

from ...build import MS, US, block_lane, counted_lane, recording


def told(*lanes, **changes):  # type: ignore[no-untyped-def]
    return judge(recording(*lanes, **changes))


def test_the_worst_lane_speaks() -> None:
    quiet = block_lane({20 * US: 197_000, 30 * US: 3_000})
    loud = block_lane({20 * US: 199_900, 90 * US: 100}, index=1)
    found = run_of(told(quiet, loud), "all", 3, 0.9999)
    assert isinstance(found, Run)
    assert (found.arm, found.block, found.response) == ("all", 3, math.log(90 * US))
    assert found.resolution == pytest.approx(1 / (90 * US))
    at_99 = run_of(told(quiet, loud), "all", 3, 0.99)
    assert isinstance(at_99, Run) and at_99.response == math.log(30 * US)


def test_missed_activations_count() -> None:
    found = run_of(told(counted_lane([20 * US] * 2_000 + [50 * MS])), "stock", 1, 0.99)
    assert isinstance(found, Run) and found.response > math.log(20 * MS)


def test_too_few_activations_and_invalid_measurements_count_for_nothing() -> None:
    lane = block_lane({20 * US: 5_000})
    assert run_of(told(lane), "stock", 1, 0.9999) == "too few activations of known latency for the quantile 0.9999"
    bad = CheckResult("ACCOUNT", "invalid", "integrity", "the account does not add up")
    whole = told(lane)
    assert run_of(replace(whole, checks=(bad,)), "stock", 1, 0.99) == "an invalid measurement (ACCOUNT)"
    assert isinstance(run_of(replace(whole, checks=(replace(bad, waived="known"),)), "stock", 1, 0.99), Run)
    emulated = replace(bad, id="VM-STEAL")
    assert isinstance(run_of(replace(whole, checks=(emulated,)), "stock", 1, 0.99), Run)


def test_the_quantile_is_chosen_by_the_length_of_the_runs() -> None:
    lengths = {100_000: 0.9999, 99_999: 0.999, 10_000: 0.999, 9_999: 0.99, 1_000: 0.99, 999: None}
    assert {n: quantile_for(n) for n in lengths} == lengths

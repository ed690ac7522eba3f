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


def of_values(**changes):  # type: ignore[no-untyped-def]
    found = told(block_lane({20 * US: 199_900, 90 * US: 100}))
    return replace(found, **changes)


@pytest.mark.parametrize(("bin_ns", "step_ns", "width"), [(1, None, 1), (1, 1, 1), (1000, 40, 1000), (1, 40, 40)])
def test_the_resolution_is_the_wider_of_bin_and_clock(bin_ns: int, step_ns: int | None, width: int) -> None:
    found = run_of(of_values(bin_width_ns=bin_ns, clock_step_ns=step_ns), "on", 1, 0.9999)
    assert isinstance(found, Run) and found.resolution == pytest.approx(width / (90 * US))


def test_d_star_is_that_of_the_worst_lane_and_needs_all_of_them() -> None:
    whole = of_values()
    (lane,) = whole.lanes
    lanes = [replace(lane, demonstrated=replace(lane.demonstrated, deadline_ns=ns)) for ns in (70_000, 80_000, None)]
    both = run_of(replace(whole, lanes=tuple(lanes[:2])), "on", 1, 0.9999)
    part = run_of(replace(whole, lanes=tuple(lanes)), "on", 1, 0.9999)
    assert isinstance(both, Run) and both.star == math.log(80_000)
    assert isinstance(part, Run) and part.star is None and part.recording == whole.id


def test_only_integrity_checks_that_nobody_waived_make_a_run_invalid() -> None:
    bad = CheckResult("A", "invalid", "integrity", "")
    for harmless in (replace(bad, severity="warning"), replace(bad, kind="optimism"), replace(bad, waived="so")):
        assert isinstance(run_of(of_values(checks=(harmless,)), "on", 1, 0.9999), Run)
    two = (bad, replace(bad, id="B"))
    assert run_of(of_values(checks=two), "on", 1, 0.9999) == "an invalid measurement (A, B)"


def test_a_quantile_of_nothing_counts_as_a_nanosecond() -> None:
    found = run_of(told(block_lane({0: 200_000})), "on", 1, 0.9999)
    assert isinstance(found, Run) and found.response == 0.0 and found.resolution == 1.0
    (lane,) = told(block_lane({20 * US: 200_000})).lanes
    assert run_of(of_values(lanes=(lane, replace(lane, quantiles_due=(), quantiles=()))), "on", 1, 0.99) == (
        "too few activations of known latency for the quantile 0.99"
    )
    assert run_of(of_values(lanes=()), "on", 1, 0.99) == "too few activations of known latency for the quantile 0.99"

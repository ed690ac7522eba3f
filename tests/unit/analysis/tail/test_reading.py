"""Recordings to runs: kept samples with their order, the histogram where they do not suffice, and what a tail lacks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rtassay.analysis.lane.account import accounts
from rtassay.analysis.tail import extrapolate_recordings
from rtassay.analysis.tail.reading import run_of
from rtassay.model.errors import UsageError
from rtassay.model.recording import Recording

from ..build import counted_lane, recording


def latencies(seed: int = 4) -> list[int]:
    found: list[int] = (20_000 + np.random.default_rng(seed).exponential(5_000, 20_000)).astype(int).tolist()
    return found


LATENCIES = latencies()


def kept(spill_from: int = 0, values: list[int] = LATENCIES) -> Recording:
    return recording(counted_lane(values, spill_from=spill_from))


def test_kept_samples_have_their_order_and_their_floor() -> None:
    (account,) = accounts(kept(40_000))
    run = run_of(account, "r")
    assert run.index is not None and run.n == 20_000
    high = [(i, value) for i, value in enumerate(LATENCIES) if value >= run.floor_ns]
    assert list(zip(run.index.tolist(), run.value_ns.tolist(), strict=True)) == high
    assert len(high) >= 50 and (run.over, run.lost, run.stripped) == (0, 0, False)


def test_where_too_few_are_kept_the_histogram_is_used_without_order() -> None:
    top = sorted(LATENCIES)
    (account,) = accounts(kept(top[-20]))
    run = run_of(account, "r")
    assert run.index is None
    assert sorted(run.value_ns.tolist()) == top[-run.value_ns.size :] and run.value_ns.size >= 190


def test_each_recording_is_a_run_and_every_lane_has_an_answer() -> None:
    """20 + 5 ln(1e5) us are exceeded with 1e-5."""
    every = [kept(values=latencies(seed)) for seed in (4, 5, 6)]
    runs = [replace(one, manifest=replace(one.manifest, id=f"run{i}")) for i, one in enumerate(every)]
    found = extrapolate_recordings(runs, (1e-5,), 0.95)
    (lane,) = found.lanes
    assert found.ids == lane.runs == ("run0", "run1", "run2") and lane.n == 60_000
    assert lane.answered and lane.levels[0].lo_ns is not None and lane.levels[0].lo_ns < 77_565 < lane.levels[0].hi_ns


def test_an_invalid_recording_gives_no_number() -> None:
    found = extrapolate_recordings([kept()], (1e-5,), 0.95, {"r": ["VM-STEAL"]})
    (lane,) = found.lanes
    assert not lane.answered and lane.band is None
    assert lane.refusals[0].code == "INVALID-MEASUREMENT" and lane.refusals[0].facts["checks"] == {"r": ["VM-STEAL"]}


@pytest.mark.parametrize(("levels", "confidence"), [((0.0,), 0.95), ((1.5,), 0.95), ((1e-6,), 1.0), ((1e-6,), 0.2)])
def test_impossible_levels_and_confidences_are_usage_errors(levels: tuple[float, ...], confidence: float) -> None:
    with pytest.raises(UsageError):
        extrapolate_recordings([kept()], levels, confidence)


def test_no_recording_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="no recording"):
        extrapolate_recordings([], (1e-6,), 0.95)


def test_from_python_by_name_of_the_package() -> None:
    import rtassay

    with pytest.raises(UsageError, match="no recording"):
        rtassay.extrapolate([])

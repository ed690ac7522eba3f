"""One recording in a comparison: what it tells of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.compare.run import Run, prepare
from rtassay.model.findings import CheckResult
from rtassay.model.recording import Lane, Recording, Series

from ...build import MS, SECOND, block_lane, cyclictest, facts, inventory, recording, skip_lane

ONE, TWO = block_lane({10: 90, 30: 10}), block_lane({20: 50}, index=1)


def told(lane: Lane, **changes: Any) -> Lane:
    return replace(lane, entry=replace(lane.entry, **changes))


def made(*lanes: Lane, **changes: Any) -> Run:
    return prepare(recording(*lanes, **changes), None)


def test_a_row_holds_what_the_lanes_hold() -> None:
    zones = tuple(
        Series("temperature", name, "degC", np.array([0, SECOND]), np.array([c, c]))
        for name, c in (("a", 40.0), ("b", 50.0))
    )
    run = made(
        ONE, told(TWO, missed=3), wall_start="2026-11-01T00:00:00Z", inventory=inventory(boot_id="x"), telemetry=zones,
        labels={"load": "l"},
    )  # fmt: skip
    row = run.row()
    assert (row.id, row.n, row.missed, row.over, row.max_ns, row.boot) == (run.id, 150, 3, 0, 30, "x")
    assert (row.started, row.temperature_c, row.labels) == ("2026-11-01T00:00:00Z", 50.0, {"load": "l"})
    assert row.mean_ns == pytest.approx((90 * 10 + 10 * 30 + 50 * 20) / 150) and row.quantiles[0].value_ns == 10
    assert (run.lane_count, run.zones, made(ONE).row().temperature_c) == (2, {"a": 40.0, "b": 50.0}, None)


def test_a_maximum_is_known_where_it_is_of_every_lane_with_samples() -> None:
    beyond = told(skip_lane({5: 9}, over=3, max_ns=None), index=1)
    assert prepare(cyclictest(skip_lane({5: 9}), beyond), None).row().max_ns is None
    assert prepare(cyclictest(beyond), None).row().max_ns is None
    empty = replace(told(TWO, n=0, max_ns=None), histogram=replace(TWO.histogram, counts=TWO.histogram.counts * 0))
    assert made(ONE, empty).row().max_ns == 30


def test_missed_activations_are_known_where_every_lane_counts_them() -> None:
    assert made(told(ONE, missed=2), told(TWO, missed=3)).missed == 5
    assert made(told(ONE, missed=2), told(TWO, missed=None)).missed is None


@pytest.mark.parametrize(
    ("top", "interval", "stalled"), [(MS, MS, True), (MS - 1, MS, False), (MS, None, False), (None, MS, False)]
)
def test_a_latency_that_reaches_the_interval(top: int | None, interval: int | None, stalled: bool) -> None:
    made_ = recording(
        told(ONE, max_ns=top, interval_ns=interval), plan=replace(recording().manifest.plan, interval_ns=None)
    )
    assert prepare(made_, None).stalled is stalled
    assert prepare(replace(made_, lanes=(TWO, *made_.lanes)), None).stalled is stalled


def test_runs_are_the_same_where_every_lane_is() -> None:
    other = block_lane({20: 51}, index=1)
    assert made(ONE, TWO).same_as(made(ONE, TWO, id="again"))
    for lanes in ((ONE, other), (TWO, ONE), (ONE,), (ONE, TWO, block_lane({5: 1}, index=2))):
        assert not made(ONE, TWO).same_as(made(*lanes)) and not made(*lanes).same_as(made(ONE, TWO))


def test_checks_that_spoil_or_weaken_a_run() -> None:
    rows = [("A", "invalid", "integrity", None), ("B", "invalid", "optimism", None), ("C", "invalid", "integrity", "so"), ("D", "warning", "integrity", None), ("E", "note", "integrity", None)]  # fmt: skip
    run = made(ONE)
    checks = tuple(CheckResult(id_, severity, kind, "", waived=waived) for id_, severity, kind, waived in rows)
    run = replace(run, findings=replace(run.findings, checks=checks))
    assert run.invalid == ("A",) and run.weak == ("A", "B", "C", "D")


@pytest.mark.parametrize(("step_ns", "resolution"), [(None, 1), (1, 1), (40, 40)])
def test_the_clock_of_the_source_is_how_finely_it_tells(step_ns: int | None, resolution: int) -> None:
    run = made(ONE, facts=facts(clock={"step_ns": step_ns}))
    assert run.pooled.resolution_ns(10) == run.by_lane["CPU0", 0].resolution_ns(10) == resolution


def test_lanes_of_one_measure_are_taken() -> None:
    both: Recording = recording(ONE, told(TWO, measure="noise"))
    assert [lane.entry.measure for lane in prepare(both, "noise").lanes] == ["noise"]
    assert len(prepare(both, None).lanes) == 2 and prepare(both, "wake-up", 1000).lanes[0].bin_width_ns == 1000

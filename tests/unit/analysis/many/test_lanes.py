"""Lanes of unlike measures: never compared, never pooled, and the verdict says what its numbers are."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay import store
from rtassay.analysis.judge import judge
from rtassay.analysis.many.compare import compare
from rtassay.analysis.many.experiment.cells import Design, Measured, combine
from rtassay.analysis.many.lanes import by_lane, by_lane_of_one_measure, main_measure
from rtassay.analysis.many.repeats import judge_repeats
from rtassay.model import rooms
from rtassay.model.recording import Recording

from ..build import MS, US, block_lane, recording

TABLE = Path(__file__).parents[3] / "data" / "importers" / "table" / "two-cpus.ok.csv"
ROUND_TRIP = "response:futex"


def one_lane(measure: str, latency_ns: int, n: int = 5000) -> Recording:
    return recording(block_lane({latency_ns: n}, measure=measure), id=measure)


def imported(measure: str, home: Path) -> Recording:
    """The same file, as one person and as another may explain it."""
    made = rooms.load("importers", "table")(measure=measure)
    return store.open_recording(store.import_events(home / measure[:4], TABLE, made.source(TABLE), made.read(TABLE)))


def test_an_imported_round_trip_is_not_compared_with_wake_ups(tmp_path: Path) -> None:
    result = compare([imported(ROUND_TRIP, tmp_path)], [imported("wake-up", tmp_path)])
    assert result.conclusion == "refused" and len(result.refusals) == 1
    refusing = [check.id for check in result.checks if check.severity == "invalid"]
    assert refusing == ["MEASURE-DIFFERS"]


def test_the_verdict_of_a_round_trip_says_what_it_judged(tmp_path: Path) -> None:
    findings = judge(imported(ROUND_TRIP, tmp_path), deadline_ns=MS, p_target=0.5)
    assert findings.verdict is not None
    assert {row["measure"] for row in findings.verdict.lanes} == {ROUND_TRIP}
    assert " in 1 run of response by futex (" in findings.verdict.sentence
    assert next(check for check in findings.checks if check.id == "MIXED-MEASURES").severity == "pass"
    own = judge(one_lane("wake-up", 10 * US), deadline_ns=MS, p_target=0.5).verdict
    assert own is not None and " in 1 run (" in own.sentence


@pytest.mark.parametrize("other", [ROUND_TRIP, "noise", "unknown"])
def test_lanes_of_one_cpu_and_unlike_measures_stay_apart(other: str) -> None:
    runs = [one_lane("wake-up", 10 * US), one_lane(other, 900 * US), one_lane("wake-up", 20 * US)]
    assert main_measure(runs) == "wake-up"
    lanes = by_lane(runs)
    assert len(lanes) == 2 and len(set(lanes)) == 2
    assert sorted(sum(part.exposure for part in parts) for parts in lanes.values()) == [5000, 10_000]
    (shown,) = by_lane_of_one_measure(runs).values()
    assert [part.entry.measure for part in shown] == ["wake-up", "wake-up"]


def test_runs_of_unlike_measures_do_not_add_up_their_activations() -> None:
    """Two wake-up runs together show p = 5e-4; a wake-up run and a round trip do not."""
    told = {"checks": (), "deadline_ns": MS, "p": 5e-4, "confidence": 0.95}
    alike = judge_repeats([one_lane("wake-up", 10 * US), one_lane("wake-up", 10 * US)], **told)  # type: ignore[arg-type]
    mixed = judge_repeats([one_lane("wake-up", 10 * US), one_lane(ROUND_TRIP, 10 * US)], **told)  # type: ignore[arg-type]
    assert (alike.state, alike.due) == ("HOLDS", 10_000)
    assert (mixed.state, mixed.due) == ("NOT DEMONSTRATED", 5000)


def test_an_experiment_pools_the_runs_of_one_measure() -> None:
    levels = {"board": "b", "kernel": None, "load": "none", "probe": "rtprobe", "scenario": None}
    runs = [one_lane("wake-up", 10 * US), one_lane(ROUND_TRIP, 900 * US)]
    cells = [Measured(f"c{i}", dict(levels), i, i, run, judge(run)) for i, run in enumerate(runs)]
    (row,) = combine(cells, Design(None, 1e-2, 0.95, "run", {cells[0].combination: 2}), 1e-2)
    assert (row.n, row.quantiles[-1].value_ns) == (5000, 10 * US)
    assert row.star_ns == 10 * US + 1

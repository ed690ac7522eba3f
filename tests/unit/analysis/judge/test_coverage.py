"""The short form of `make coverage`, and the simulation behind it held against what is known of it."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[4] / "tools" / "coverage"))

import cells
import few_runs
import grade
import page
import run
import simulate
import structures
from kept import Kept
from structures import DEADLINE_NS, NO_TRACE, STRUCTURES, TRACE, Process

SEED = 20261122


@pytest.mark.parametrize("cell", cells.short(), ids=lambda cell: cell.name)
def test_no_promise_is_broken_by_the_cases_that_broke_the_first_rule(cell: cells.Cell) -> None:
    # the seed makes the same data sets every time, and 30 of them break a promise only by far
    found = grade.promises(cell, simulate.simulate(cell, 30, 2, SEED))
    assert found
    assert grade.broken(found) == []


@pytest.mark.parametrize("trace", [NO_TRACE, TRACE])
@pytest.mark.parametrize("bursts", STRUCTURES, ids=lambda bursts: bursts.name)
def test_simulated_lanes_have_the_p_and_the_rate_of_events_that_were_asked_for(
    bursts: structures.Bursts, trace: str
) -> None:
    random, p, n, sets = np.random.default_rng(SEED), 1e-4, 1_000_000, 40
    process = Process(bursts, p, trace)
    lanes = [process.lane(random, n) for _ in range(sets)]
    late, events = (np.array(row) for row in zip(*((lane.late, lane.late_bursts) for lane in lanes), strict=True))
    for seen, mean in ((late, n * p), (events, n * process.events_per_activation)):
        assert abs(seen.mean() - mean) < 5 * seen.std() / np.sqrt(sets) + 0.005 * mean
    for lane in lanes:
        assert (np.diff(lane.position) > 0).all()
        assert lane.position[0] >= 0
        assert lane.position[-1] < n
        assert lane.late == (lane.latency_ns >= DEADLINE_NS).sum()


def test_the_rate_of_events_is_bounded_for_every_lane_not_for_the_one_with_the_largest_p() -> None:
    """Three lanes without a late activation, whose largest latencies come in bursts, beside one with two late ones that come singly."""
    cell = cells.Cell(structures.SINGLY, TRACE, cells.ONE_OF_FOUR, 10, 3, cells.MAIN_P, 1)
    assert simulate.simulate(cell, 3, 0, SEED)[simulate.SAMPLES].rate_missed == 0


def promise(seen: int, sets: int, limit: float, least: bool = False) -> grade.Promise:
    return grade.Promise("cell", "samples", "HOLDS", limit, seen, sets, least)


def test_a_promise_is_broken_only_beyond_simulation_error() -> None:
    # P(Binomial(100, .05) >= 12) = .0043, >= 13: .0015
    assert promise(12, 100, 0.05).chance == pytest.approx(0.0042738, rel=1e-3)
    assert grade.broken([promise(12, 100, 0.05)]) == [promise(12, 100, 0.05)]
    assert grade.broken([promise(12, 100, 0.05), promise(0, 100, 0.05), promise(1, 100, 0.05)]) == []
    assert grade.broken([promise(1, 100, 0.0), promise(0, 100, 0.0)]) == [promise(1, 100, 0.0)]
    assert grade.broken([promise(80, 100, 0.9, least=True)]) == [promise(80, 100, 0.9, least=True)]
    assert grade.broken([promise(85, 100, 0.9, least=True)]) == []


def test_the_page_names_the_row_of_each_promise_that_is_nearest_to_breaking_it() -> None:
    far = replace(promise(9, 100, 0.05), cell="far")
    other = replace(promise(3, 1000, 0.0), what="D* contradicts the verdict")
    rows = page.by_promise([promise(6, 100, 0.05), far, promise(80, 100, 0.7, least=True), other])
    assert [(row["what"], row["rows"], row["cell"], row["shares"]) for row in rows] == [
        ("HOLDS", 2, "far", [0.06, 0.09]),
        ("HOLDS", 1, "cell", [0.8, 0.8]),
        ("D* contradicts the verdict", 1, "cell", [0.003, 0.003]),
    ]


@pytest.mark.parametrize("runs", few_runs.RUNS)
@pytest.mark.parametrize("spread", few_runs.SPREADS)
def test_a_bound_over_few_unlike_runs_covers_the_runs_that_were_made(runs: int, spread: float) -> None:
    # fixed seeds; 300 sets of a share of .95 vary by .013
    found = few_runs.row(runs, spread, 300)
    assert found.these >= 0.92
    if runs == 2 and spread >= 1:
        assert found.all_boots < 0.75, "or the decision to claim no more than these runs is out of date"


def test_finished_cases_are_kept_and_only_the_others_are_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [
        "run.py",
        "--only",
        "independent",
        "--only",
        "p 0.0001",
        "--sets",
        "2",
        "--stars",
        "1",
        "--jobs",
        "1",
        "-o",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", [*argv, "--cells", "1"])
    assert run.main() == 3 and "1 of " in capsys.readouterr().out
    file = tmp_path / ".coverage.cells.jsonl"
    first = file.read_text()
    file.write_text(first + '{"torn')
    monkeypatch.setattr(sys, "argv", argv)
    whole = run.main()
    assert "1 of " in capsys.readouterr().err and first in file.read_text()
    monkeypatch.setattr(run.Job, "run", lambda job: pytest.fail("simulated again"))
    assert run.main() == whole
    assert len(Kept(file, "of other code")) == 0 < len(Kept(file, run.code_hash()))

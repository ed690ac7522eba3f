"""Looks planned beforehand: what they spend, what they decide, and that all together are wrong as rarely as one."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.judge import judge, looks
from rtassay.analysis.lane.bounds import most_exceedances
from rtassay.model.looks import spending
from rtassay.model.manifest import Plan
from rtassay.model.recording import Recording

from ..build import MS, SECOND, US, block_lane, recording, spills_of

PLAN = Plan(probe="rtprobe", interval_ns=MS, duration_ns=90 * SECOND, deadline_ns=100 * US, p_target=1e-4, looks=3)


@pytest.mark.parametrize(("confidence", "planned"), [(0.95, 1), (0.95, 3), (0.99, 20)])
def test_the_looks_spend_alpha_and_no_more(confidence: float, planned: int) -> None:
    spent = spending(confidence, planned)
    assert math.fsum(spent) == pytest.approx(1 - confidence) and min(spent) > 0
    assert list(spent) == sorted(spent, reverse=True)


def test_the_table_of_three_looks() -> None:
    """Lan and DeMets 1983: .05 ln(1 + 1.71828 t) at a third, two thirds and the whole."""
    assert np.cumsum(spending(0.95, 3)) == pytest.approx([0.022641, 0.038170, 0.05], abs=2e-6)


@pytest.mark.parametrize("planned", [3, 5])
def test_all_looks_together_are_wrong_as_rarely_as_promised(planned: int) -> None:
    """Late ones with exactly the allowed p: HOLDS at any look is wrong. The same looks at 95 % each are wrong more often."""
    p, n, rounds = 1e-4, 120_000, 20_000
    random = np.random.default_rng(6)
    late = np.cumsum(random.poisson(p * n / planned, (rounds, planned)), axis=1)

    def wrong(confidences: list[float]) -> float:
        most = [most_exceedances(n * (j + 1) // planned, p, sure) for j, sure in enumerate(confidences)]
        held = late <= np.array([-1 if k is None else k for k in most])
        return float(held.any(axis=1).mean())

    assert wrong([1 - spent for spent in spending(0.95, planned)]) <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / rounds)
    assert wrong([0.95] * planned) > 0.06


def looked_at(counts: dict[int, int], **manifest: Any) -> Recording:
    made = recording(block_lane(counts))
    return replace(made, manifest=replace(made.manifest, plan=PLAN, **manifest))


def test_a_verdict_says_which_look_it_is_of_and_is_judged_by_what_that_may_spend() -> None:
    made = looked_at({10 * US: 60_000}, look=2, end_reason="signal")
    verdict = judge(made).verdict
    assert verdict is not None and (verdict.look, verdict.looks) == (2, 3)
    assert verdict.confidence == pytest.approx(1 - 0.015529, abs=1e-5)
    assert verdict.p_upper == pytest.approx(-math.log(0.015529) / 60_000, rel=1e-3)
    assert "Look 2 of 3" in verdict.sentence
    (ended,) = [check for check in judge(made).checks if check.id == "ENDED-EARLY"]
    assert ended.severity == "pass"


def test_a_run_that_a_person_ended_is_judged_as_the_last_look() -> None:
    verdict = judge(looked_at({10 * US: 60_000}, end_reason="signal")).verdict
    assert verdict is not None and verdict.look == 3
    plain = judge(recording(block_lane({10 * US: 60_000})), deadline_ns=100 * US).verdict
    assert plain is not None and (plain.look, plain.looks, plain.confidence) == (None, 1, 0.95)


@pytest.mark.parametrize(
    ("counts", "decided"),
    [
        ({10 * US: 30_000}, False),  # 3.79 / p are needed at the first look
        ({10 * US: 38_000}, True),
        ({10 * US: 29_960, 400 * US: 40}, True),  # violated
        ({10 * US: 37_996, 400 * US: 4}, False),
    ],
)
def test_what_ends_a_run_at_its_first_look(counts: dict[int, int], decided: bool) -> None:
    made = looked_at(counts)
    late = counts.get(400 * US, 0)
    lane = replace(made.lanes[0], spills=spills_of([(701 * i, 400 * US, 0) for i in range(late)]))
    lane = replace(lane, entry=replace(lane.entry, spilled=late))
    assert looks.decides(replace(made, lanes=(lane,)), 1) is decided


def test_looks_need_a_requirement_and_a_length(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from rtassay.cli.main import run

    for argv in (["--duration", "10s"], ["--deadline", "1ms", "--count", "1000"]):
        assert run(["run", "--looks", "3", *argv, "--output", str(tmp_path)]) == 2
        assert "--looks needs a requirement and a length" in capsys.readouterr().err


def test_without_a_requirement_no_look_decides() -> None:
    recorded = looked_at({10: 100_000})
    manifest = recorded.manifest
    for missing in ({"deadline_ns": None}, {"p_target": None}):
        plan = replace(manifest.plan, **missing)
        assert looks.decides(replace(recorded, manifest=replace(manifest, plan=plan)), 1) is False

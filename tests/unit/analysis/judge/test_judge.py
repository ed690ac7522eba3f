"""Whole recordings: the known answers of docs/method/known-answers.md, the object of show --json, the run's own requirement."""

from __future__ import annotations

import json
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from rtassay.analysis.checks import CHECKS, reference_markdown
from rtassay.analysis.judge import findings_dict, judge
from rtassay.analysis.judge.plain import plain
from rtassay.model.errors import UsageError
from rtassay.model.findings import SAFETY_FACTOR, SEVERITIES, Findings
from rtassay.model.manifest import Plan

from ..build import DATA, MS, US, block_lane, counted_lane, cyclictest, published, recording, skip_lane

KNOWN = {
    "std": {
        "n": [50_000_000, 49_999_985, 49_999_902, 49_999_817],
        "max": [382, 156, 125, 375],
        "mean": 13.653,
        "sd": 1.178,
        "quantiles": [14, 17, 27, 41, 51, 96, 146],
        "at_101": 179,
        "at_100": 183,
    },
    "rt": {
        "n": [50_000_000, 49_999_953, 49_999_818, 49_999_669],
        "max": [136, 74, 74, 71],
        "mean": 22.276,
        "sd": 9.017,
        "quantiles": [19, 52, 68, 79, 87, 95, 102],
        "at_101": 39,
        "at_100": 62,
    },
}


@pytest.mark.parametrize("kernel", ["std", "rt"])
def test_published_histograms_of_method_2_1(kernel: str) -> None:
    known = KNOWN[kernel]
    found = judge(published(kernel), deadline_ns=100 * US)
    assert [lane.n for lane in found.lanes] == known["n"]
    assert [(lane.max_ns or 0) // US for lane in found.lanes] == known["max"]
    pooled = found.pooled
    assert pooled.mean_ns == pytest.approx(known["mean"] * US, abs=0.5)
    assert pooled.sd_ns == pytest.approx(known["sd"] * US, abs=0.5)
    by_q = {row.q: row for row in pooled.quantiles}
    ladder = (0.5, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999)
    assert [by_q[q].value_ns // US for q in ladder] == known["quantiles"]
    assert all(row.bound == "exact" for row in pooled.quantiles)
    assert found.verdict is not None
    assert sum(row["exceedances"] for row in found.verdict.lanes) == known["at_100"]
    above = judge(published(kernel), deadline_ns=101 * US).verdict
    assert above is not None
    assert sum(row["exceedances"] for row in above.lanes) == known["at_101"]
    for name in ("due", "missed", "dropped", "truncated", "over"):
        assert getattr(pooled, name) is None


def test_verdict_of_the_rt_file_of_method_2_1() -> None:
    verdict = judge(published("rt"), deadline_ns=100 * US, p_target=1e-6).verdict
    assert verdict is not None
    assert (verdict.state, verdict.lane, verdict.exceedances) == ("NOT DEMONSTRATED", "core1", 62)
    # without order all 62 may be one event: at least 62 ln(1 / (1 - .05 / 4 lanes)) of them were to be expected
    assert verdict.p_lower == pytest.approx(62 * 0.012579 / 5e7, rel=1e-3)
    assert verdict.p_upper == pytest.approx(1.53e-6, abs=0.005e-6)
    assert verdict.events is None
    by_id = {check.id: check.severity for check in judge(published("rt")).checks}
    assert by_id["TRAILER-STRIPPED"] == "warning"
    assert by_id["HIST-TRUNCATED"] == "unknown"


def test_no_exceedance_but_no_trailer_either() -> None:
    verdict = judge(published("rt"), deadline_ns=1000 * US, p_target=1e-6).verdict
    assert verdict is not None
    assert (verdict.state, verdict.exceedances) == ("NOT DEMONSTRATED", 0)
    assert any(reason.facts.get("id") == "HIST-TRUNCATED" for reason in verdict.reasons)


def test_all_published_data_are_here() -> None:
    assert {path.name for path in DATA.glob("*.csv")} == {f"rpi3b-4.14.27-{k}.hist.csv" for k in KNOWN}


def test_the_object_is_plain_json_and_comes_back() -> None:
    lane = counted_lane([100] * 5000 + [3 * MS], MS, truncated=2)
    for made in (recording(lane, lane), published("rt"), recording(), cyclictest(skip_lane({5: 9}, over=1))):
        found = judge(made, deadline_ns=500)
        data = findings_dict(found)
        assert data["schema"] == "rtassay/show/1"
        text = json.dumps(data, allow_nan=False)
        assert msgspec.convert(json.loads(text), Findings) == found


def test_plain_values() -> None:
    given = {1: np.int64(2), "a": (np.float64("nan"), np.array([1, 2]), float("inf")), "b": np.bool_(True)}
    assert plain(given) == {"1": 2, "a": [None, [1, 2], None], "b": True}


def test_keys_of_the_contract() -> None:
    data = findings_dict(judge(recording(block_lane({100: 50})), deadline_ns=500))
    assert {"id", "source", "board", "kernel", "load", "labels", "interval_ns", "bin_width_ns", "clock_step_ns"} <= set(
        data
    )
    assert {"duration_s", "sealed", "lanes", "pooled", "checks", "verdict"} <= set(data)
    assert data["source"] == {
        "tool": "rtprobe",
        "version": "0.1.0",
        "format": "stream",
        "late_policy": "counted",
        "file": None,
    }
    lane = data["lanes"][0]
    assert {"name", "cpu", "due", "n", "missed", "dropped", "truncated", "over", "min_ns", "mean_ns", "max_ns"} <= set(
        lane
    )
    assert lane["quantiles"][0] == {"q": 0.5, "value_ns": 100, "lo_ns": 100, "hi_ns": 100, "bound": "exact"}
    assert lane["quantiles_due"] == lane["quantiles"]
    assert lane["demonstrated"] == {"p": 1e-6, "deadline_ns": None, "per_hour": None}
    assert lane["over"] == 0
    verdict = data["verdict"]
    assert {"state", "lane", "deadline_ns", "p_target", "confidence", "due", "exceedances", "events"} <= set(verdict)
    assert {"p_lower", "p_upper", "rate_upper_per_h", "needed", "reasons"} <= set(verdict)
    assert verdict["needed"] == {"n": 2_995_731, "duration_s": pytest.approx(2995.731)}


def test_every_check_is_listed_in_order() -> None:
    for made in (recording(), recording(block_lane({100: 5})), published("std")):
        checks = judge(made).checks
        assert [check.id for check in checks] == [check.id for check in CHECKS]
        assert all(
            check.severity in SEVERITIES and check.kind in ("integrity", "optimism", "assumption") for check in checks
        )
        assert all(check.message and "\n" not in check.message for check in checks)


def test_the_runs_own_requirement_is_the_default() -> None:
    plan = Plan(interval_ns=MS, priority=90, deadline_ns=400, p_target=1e-2, confidence=0.9)
    made = recording(block_lane({100: 5000}), plan=plan)
    own = judge(made).verdict
    assert own is not None
    assert (own.deadline_ns, own.p_target, own.confidence, own.state) == (400, 1e-2, 0.9, "HOLDS")
    other = judge(made, deadline_ns=300).verdict
    assert other is not None
    assert (other.deadline_ns, other.p_target, other.confidence) == (300, 1e-6, 0.95)
    none = judge(recording(block_lane({100: 5000})))
    assert none.verdict is None


@pytest.mark.parametrize(
    ("deadline", "p", "confidence"),
    [
        (0, 0.1, 0.9),
        (-5, 0.1, 0.9),
        (5, 1.0, 0.9),
        (5, -0.1, 0.9),
        (5, float("nan"), 0.9),
        (5, 0.1, 1.0),
        (5, 0.1, 0.0),
    ],
)
def test_impossible_requirements_are_refused(deadline: int, p: float, confidence: float) -> None:
    with pytest.raises(UsageError):
        judge(recording(), deadline_ns=deadline, p_target=p, confidence=confidence)


def test_moments_are_exact_for_ns_and_null_with_overflow() -> None:
    lane = judge(recording(counted_lane([10, 20, 60], 1000))).lanes[0]
    assert lane.mean_ns == 30
    assert lane.sd_ns == pytest.approx(np.std([10, 20, 60]))
    cut = judge(cyclictest(skip_lane({10: 5}, over=1, max_ns=900 * US))).lanes[0]
    assert (cut.mean_ns, cut.sd_ns, cut.max_ns, cut.over, cut.n) == (None, None, 900 * US, 1, 6)


def test_moments_do_not_overflow() -> None:
    second = 1_000_000_000
    lane = block_lane({second: 10**11, second + 2: 10**11}, 2 * second)
    found = judge(recording(lane)).lanes[0]
    assert found.mean_ns == second + 1
    assert found.sd_ns == pytest.approx(1.0)


def test_pool_knows_only_what_every_lane_knows() -> None:
    one, two = block_lane({100: 10}), block_lane({300: 30}, index=1)
    pooled = judge(recording(one, two)).pooled
    assert (pooled.name, pooled.cpu, pooled.n, pooled.due, pooled.missed) == (None, None, 40, 40, 0)
    assert (pooled.min_ns, pooled.max_ns, pooled.mean_ns) == (100, 300, 250.0)
    blind = replace(two, entry=replace(two.entry, missed=None, due=None))
    pooled = judge(recording(one, blind)).pooled
    assert (pooled.missed, pooled.due, pooled.quantiles_due) == (None, None, None)


def test_chance_of_a_new_record() -> None:
    hour = judge(recording(block_lane({100: 3_600_001}))).new_record
    chance = {row["mission_s"]: row["probability"] for row in hour}
    assert chance[3600.0] == pytest.approx(0.5)
    assert chance[36000.0] == pytest.approx(10 / 11)
    assert judge(cyclictest(skip_lane({5: 9}, interval=None))).new_record == ()


def test_the_sentence_says_what_was_seen_and_what_not() -> None:
    lane = counted_lane([100] * 5000 + [3 * MS] + [100] * 50, MS)
    verdict = judge(recording(lane), deadline_ns=500, p_target=1e-3).verdict
    assert verdict is not None
    text = verdict.sentence
    for part in (
        "kernel 6.12.48",
        "under the factory's own",
        "5054 activations, 3 missed",
        "3 in 1 independent event exceeded D = 500ns",
        "with 95 % confidence",
        "Required: 0.001",
        verdict.state,
        "chance of a new worst case",
        "Not covered:",
    ):
        assert part in text, (part, text)
    assert "guarantee" not in text


def test_the_safety_factor_is_a_number_with_its_caveat() -> None:
    verdict = judge(recording(block_lane({100: 50})), deadline_ns=500).verdict
    assert verdict is not None
    assert verdict.safety_factor == 5.0
    assert any(reason.code == SAFETY_FACTOR and reason.facts["factor"] for reason in verdict.reasons)


def test_reference_page_is_up_to_date() -> None:
    page = DATA.parents[2] / "docs" / "reference" / "checks.md"
    assert page.read_text() == reference_markdown()

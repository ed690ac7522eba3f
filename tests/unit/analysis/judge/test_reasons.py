"""The reasons of a verdict, field by field, and what a lane's judgement says of what is lacking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rtassay.analysis.judge.lane_verdict import LaneVerdict, judge_lane, judge_runs, worst_of
from rtassay.analysis.judge.reasons import about
from rtassay.analysis.judge.verdict import judge_deadline
from rtassay.analysis.lane.claim import Requirement
from rtassay.model.findings import Assumption, Needed, Reason

from ..build import MS, US, account, block_lane, counted_lane

ASKED = Requirement(500, 1e-6, 0.9)
HOURLY = Requirement(500, 1e-6, 0.9, 2.5)
LANE = LaneVerdict(
    name="a", cpu=3, measure="wake-up", state="NOT DEMONSTRATED", due=1000, exceedances=4, possible=2, events=3, gap=5, p_lower=0.1,
    p_upper=0.2, basis="singly", rate_upper_per_h=30.0, rate_lower_per_h=10.0, theta=0.5, theta_lower=0.4, theta_n=7, theta_above_ns=9,
    assumes=(), lacks="activations", needed=Needed(5000, 5.0), runs_differ=False,
)  # fmt: skip


def seen(**changes: Any) -> dict[str, Any]:
    facts = {
        "lane": "a", "cpu": 3, "exceedances": 4, "possible": 2, "due": 1000, "deadline_ns": 500, "bound": 0.2, "bound_is": "upper",
        "allowed": 1e-6, "of": "p", "confidence": 0.9,
    }  # fmt: skip
    return facts | changes


def test_what_was_seen_and_what_it_takes() -> None:
    more = {"n": 5000, "duration_s": 5.0, "exceedances": 4, "lacks": "activations", "events": 3, "theta_lower": 0.4}
    assert about(LANE, ASKED) == [Reason("late_seen", seen()), Reason("more_needed", more)]
    assert about(replace(LANE, needed=None), ASKED)[1] == Reason("never_shown", {"of": "p"})
    assert about(replace(LANE, needed=None), HOURLY)[1] == Reason("never_shown", {"of": "events_per_h"})


@pytest.mark.parametrize(
    ("state", "asked", "bound"),
    [
        ("HOLDS", ASKED, {}),
        ("VIOLATED", ASKED, {"bound": 0.1, "bound_is": "lower"}),
        ("HOLDS", HOURLY, {"bound": 30.0, "allowed": 2.5, "of": "events_per_h"}),
        ("VIOLATED", HOURLY, {"bound": 10.0, "bound_is": "lower", "allowed": 2.5, "of": "events_per_h"}),
    ],
)
def test_a_lane_that_is_decided_lacks_nothing(state: str, asked: Requirement, bound: dict[str, Any]) -> None:
    assert about(replace(LANE, state=state), asked) == [Reason("late_seen", seen(**bound))]


def test_what_is_assumed_and_that_runs_differ() -> None:
    lane = replace(
        LANE, state="HOLDS", assumes=(Assumption("singly"), Assumption("these_runs", {"runs": 3})), runs_differ=True
    )
    assert about(lane, ASKED)[1:] == [
        Reason("assumed", {"assumption": "singly"}),
        Reason("assumed", {"assumption": "these_runs", "runs": 3}),
        Reason("runs_differ", {"basis": "singly"}),
    ]


def test_without_an_activation_there_is_nothing_to_say() -> None:
    assert about(None, ASKED) == [Reason("no_activation")] == about(replace(LANE, due=0), ASKED)


def test_a_verdict_without_lanes_tells_what_a_clean_run_takes() -> None:
    found = judge_deadline([], Requirement(500, 1e-3, 0.95), (), None)
    assert (found.state, found.lane, found.needed, found.safety_factor) == (
        "NOT DEMONSTRATED",
        None,
        Needed(2995, None),
        None,
    )
    assert (found.due, found.assumes, found.lanes, found.basis) == (None, (), (), None)
    assert judge_deadline([], replace(HOURLY), (), None).needed is None
    assert judge_deadline([], ASKED, (), 250).safety_factor == 2.0


@pytest.mark.parametrize(
    ("due", "late", "asked", "state", "lacks"),
    [
        (299, 0, Requirement(500, 1e-2, 0.95), "HOLDS", None),  # ln 0.05 / ln 0.99 = 298.07
        (298, 0, Requirement(500, 1e-2, 0.95), "NOT DEMONSTRATED", "activations"),
        (299, 1, Requirement(500, 1e-2, 0.95), "NOT DEMONSTRATED", "fewer_late"),
        (473, 1, Requirement(500, 1e-2, 0.95), "HOLDS", None),  # 4.744 / 0.01 and a little: its order is not known
        (472, 1, Requirement(500, 1e-2, 0.95), "NOT DEMONSTRATED", "fewer_late"),
        (299, 0, Requirement(500, 0.0, 0.95), "NOT DEMONSTRATED", "activations"),
        (299, 250, Requirement(500, 1e-2, 0.95), "VIOLATED", None),
        # events an hour: 2.9957 / 0.0299 s = 360 360 an hour show that many
        (299, 0, Requirement(500, 1e-2, 0.95, 36_070.0), "HOLDS", None),
        (299, 0, Requirement(500, 1e-2, 0.95, 36_060.0), "NOT DEMONSTRATED", "activations"),
        (299, 1, Requirement(500, 1e-2, 0.95, 36_070.0), "NOT DEMONSTRATED", "fewer_late"),
    ],
)
def test_what_is_lacking(due: int, late: int, asked: Requirement, state: str, lacks: str | None) -> None:
    counts = {100: due - late} | ({900: late} if late else {})
    found = judge_lane(account(block_lane(counts, MS)), asked)
    assert (found.state, found.lacks) == (state, lacks)


def test_the_time_that_is_needed_is_told_where_the_interval_is() -> None:
    asked = Requirement(500, 1e-2, 0.95)
    assert judge_lane(account(block_lane({100: 10}, 2 * MS)), asked).needed == Needed(299, 0.598)
    lane = block_lane({100: 10})
    lane = replace(lane, entry=replace(lane.entry, interval_ns=None))
    from rtassay.model.manifest import Plan

    assert judge_lane(account(lane, plan=Plan()), asked).needed == Needed(299, None)


def test_two_to_seven_runs_are_only_these_runs() -> None:
    from rtassay.analysis.lane.dispersion import FEW_RUNS

    for runs in (1, 2, FEW_RUNS - 1, FEW_RUNS):
        lanes = [account(counted_lane([100] * 500, MS)) for _ in range(runs)]
        codes = [one.code for one in judge_runs(lanes, Requirement(500, 1e-2, 0.95)).assumes]
        assert codes == (["singly", "these_runs"] if 1 < runs < FEW_RUNS else ["singly"])


def test_a_violation_assumes_nothing() -> None:
    assert judge_lane(account(block_lane({100: 100, 900 * US: 90})), Requirement(500, 1e-2, 0.95)).assumes == ()


def test_the_worst_lane_is_of_the_worst_state_then_of_the_largest_bound() -> None:
    rows = [
        replace(LANE, state=state, p_upper=p, name=f"{state}{p}")
        for state in ("HOLDS", "NOT DEMONSTRATED", "VIOLATED")
        for p in (0.1, 0.3, 0.2)
    ]
    asked = Requirement(1000, 1e-6, 0.95)
    assert [worst_of(some, asked) for some in (rows, rows[:6], rows[:3])] == [rows[7], rows[4], rows[1]]
    assert worst_of([], asked) is None
    rates = [replace(row, rate_upper_per_h=rate) for row, rate in zip(rows[:3], (5.0, 2.0, 2.0), strict=True)]
    by_events = replace(asked, per_hour=1.0)
    assert [worst_of(some, by_events) for some in (rates, rates[1:])] == [rates[0], rates[1]]
    unknown = replace(rates[2], rate_upper_per_h=None)
    assert worst_of([*rates, unknown], by_events) == unknown

"""What the checks may do to a state, which of them decide, the words of a verdict, and which late wake-ups are worth explaining."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.judge.judging import load_of, new_record
from rtassay.analysis.judge.lane_verdict import judge_lane
from rtassay.analysis.judge.sentence import sentence
from rtassay.analysis.judge.stalls import Stalls, late_wakeups, worst_apart
from rtassay.analysis.judge.verdict import decides, judge_deadline, too_good, unusable
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.claim import Requirement
from rtassay.analysis.lane.distribution import ints
from rtassay.analysis.lane.summary import lane_findings
from rtassay.model.findings import CHECK, STRICT, WAIVED, Assumption, CheckResult, Needed, Reason, Verdict
from rtassay.model.manifest import LoadEntry, Plan
from rtassay.model.recording import Recording

from ..build import MS, SECOND, US, account, block_lane, counted_lane, cyclictest, recording, skip_lane, spills_of

CLEAN, LATE = {100: 3_000_000}, {100: 3_000_000, 900: 500}


def said(id: str, severity: str, kind: str = "integrity", waived: str | None = None) -> CheckResult:
    return CheckResult(id, severity, kind, "so", {}, waived)


def judged(counts: dict[int, int], *checks: CheckResult, strict: bool = False) -> Verdict:
    return judge_deadline(accounts(recording(block_lane(counts))), Requirement(500, 1e-6, 0.95), checks, 900, strict)


# checks, strict, the state of a run that would hold, of one that violates
STATES: list[tuple[tuple[CheckResult, ...], bool, str, str]] = [
    ((), False, "HOLDS", "VIOLATED"),
    ((said("A", "note"), said("B", "note", "optimism")), True, "HOLDS", "VIOLATED"),
    ((said("A", "pass"), said("B", "pass", "optimism")), True, "HOLDS", "VIOLATED"),
    ((said("A", "warning"),), False, "HOLDS", "VIOLATED"),
    ((said("A", "warning"),), True, "INVALID MEASUREMENT", "INVALID MEASUREMENT"),
    ((said("A", "invalid"),), False, "INVALID MEASUREMENT", "INVALID MEASUREMENT"),
    ((said("A", "invalid", waived="x"),), False, "HOLDS", "VIOLATED"),
    ((said("A", "warning", waived="x"),), True, "HOLDS", "VIOLATED"),
    ((said("A", "warning", "optimism"),), False, "NOT DEMONSTRATED", "VIOLATED"),
    ((said("A", "invalid", "optimism"),), False, "NOT DEMONSTRATED", "VIOLATED"),
    ((said("A", "warning", "optimism", "x"),), False, "HOLDS", "VIOLATED"),
    ((said("A", "warning", "optimism"),), True, "INVALID MEASUREMENT", "VIOLATED"),
    ((said("N-TOO-SMALL", "warning", "optimism"),), True, "NOT DEMONSTRATED", "VIOLATED"),
    ((said("NO-LOAD", "unknown", "optimism"),), False, "NOT DEMONSTRATED", "VIOLATED"),
    ((said("NO-LOAD", "unknown", "optimism", "x"),), False, "HOLDS", "VIOLATED"),
    ((said("GOVERNOR", "unknown"),), True, "HOLDS", "VIOLATED"),
    ((said("D", "warning", "assumption"),), False, "HOLDS", "VIOLATED"),
    ((said("D", "warning", "assumption"),), True, "NOT DEMONSTRATED", "VIOLATED"),
    ((said("D", "warning", "assumption", "x"),), True, "HOLDS", "VIOLATED"),
    ((said("D", "note", "assumption"),), True, "HOLDS", "VIOLATED"),
]


@pytest.mark.parametrize(("checks", "strict", "of_clean", "of_late"), STATES)
def test_what_checks_make_of_a_state(
    checks: tuple[CheckResult, ...], strict: bool, of_clean: str, of_late: str
) -> None:
    assert judged(CLEAN, *checks, strict=strict).state == of_clean
    assert judged(LATE, *checks, strict=strict).state == of_late


@pytest.mark.parametrize(
    ("check", "strict", "expected"),
    [
        (said("A", "invalid"), False, True),
        (said("A", "warning"), False, False),
        (said("A", "warning"), True, True),
        (said("A", "note"), True, False),
        (said("A", "invalid", "optimism"), False, False),
        (said("A", "warning", "optimism"), True, True),
        (said("N-TOO-SMALL", "warning", "optimism"), True, False),
        (said("A", "invalid", waived="x"), True, False),
        (said("A", "invalid", "optimism", "x"), True, False),
    ],
)
def test_when_a_run_without_a_requirement_is_no_measurement(check: CheckResult, strict: bool, expected: bool) -> None:
    assert unusable([check], strict) is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (said("A", "note"), False),
        (said("A", "warning"), True),
        (said("A", "invalid"), True),
        (said("GOVERNOR", "unknown"), False),
        (said("NO-LOAD", "unknown"), True),
        (said("NO-LOAD", "pass"), False),
    ],
)
def test_which_checks_would_have_had_a_say(check: CheckResult, expected: bool) -> None:
    assert decides(check) is expected


def test_each_reason_stands_once_and_in_order_of_weight() -> None:
    checks = (
        said("Q", "warning"),
        said("C", "warning", "optimism"),
        said("I", "invalid"),
        said("W", "warning", waived="it does not matter"),
        said("N", "note", waived="nor this"),
    )
    reasons = judged(CLEAN, *checks).reasons
    assert [reason for reason in reasons if reason.code in (CHECK, WAIVED)] == [
        *(Reason(CHECK, {"id": name, "message": "so"}) for name in ("I", "C", "Q")),
        Reason(WAIVED, {"id": "W", "because": "it does not matter"}),
    ]
    assert Reason(STRICT) not in reasons
    strict = judged(CLEAN, *checks, strict=True).reasons
    assert sum(reason.facts.get("id") == "Q" for reason in strict) == 1
    assert Reason(STRICT) in strict
    assert Reason(STRICT) not in judged(CLEAN, said("I", "invalid"), strict=True).reasons
    assert too_good(checks) == [checks[1]]


def test_what_is_still_needed_counts_what_was_seen_and_what_may_have_been() -> None:
    none = judged({100: 10}).needed
    one = judged({100: 10, 900: 1}).needed
    assert none is not None and (none.n, none.duration_s) == (2_995_731, pytest.approx(2_995.731))
    assert one is not None and one.n == 4_743_863
    lane = counted_lane([100] * 10, MS, dropped=(3,))
    lane = replace(lane, entry=replace(lane.entry, max_ns=900))
    hidden = judge_deadline(accounts(recording(lane)), Requirement(500, 1e-6, 0.95), (), 900).needed
    assert hidden == one


def test_the_row_of_a_lane() -> None:
    row = judge_lane(account(counted_lane([100] * 995 + [3 * MS], MS)), Requirement(500, 1e-2, 0.95))
    assert (row.due, row.exceedances, row.possible, row.events, row.gap) == (999, 3, 0, 1, 0)
    # one event of three: the next may be ten times as large, since nothing tells how large events are
    assert (row.state, row.basis, row.lacks) == ("NOT DEMONSTRATED", "bursts", "single_late")
    assert [one.code for one in row.assumes] == ["as_few"]
    assert row.needed is not None and row.needed.n > 100 * 142.3 / 10
    none = judge_lane(account(counted_lane([100] * 999, MS)), Requirement(500, 1e-2, 0.95))
    assert (none.events, none.basis, none.state) == (0, "singly", "HOLDS")
    assert [one.code for one in none.assumes] == ["singly"]
    few = judge_lane(account(counted_lane([100] * 9, MS)), Requirement(500, 1e-2, 0.95))
    assert (few.state, few.lacks) == ("NOT DEMONSTRATED", "activations")


def about(
    *checks: CheckResult,
    load: str = "stress-ng",
    lanes: int = 1,
    missed: int | None = 2,
    duration_s: float | None = 60.0,
    new_record: tuple[dict[str, float], ...] = (),
    measure: str = "wake-up",
    **changes: Any,
) -> str:
    verdict = Verdict(
        state="NOT DEMONSTRATED",
        lane="0",
        deadline_ns=100 * US,
        p_target=1e-6,
        confidence=0.95,
        due=1000,
        exceedances=0,
        events=0,
        p_lower=0.0,
        p_upper=0.003,
        rate_upper_per_h=12.5,
        needed=Needed(2000, 7200.0),
        reasons=(),
    )
    return sentence(
        replace(verdict, **changes),
        fingerprint="pi",
        load=load,
        duration_s=duration_s,
        missed=missed,
        new_record=new_record,
        checks=checks,
        lanes=lanes,
        worst="CPU0",
        measure=measure,
    )


def test_the_whole_sentence() -> None:
    assert about() == (
        "On pi, under stress-ng for 60s in 1 run (1000 activations, 2 missed), none exceeded D = 100us; with 95 % "
        "confidence the miss probability under these conditions is <= 0.003 per activation (<= 12.5 events/h). "
        "Required: 1e-06 -> NOT DEMONSTRATED: it takes 2000 activations per lane (2 h) without a further exceedance. "
        "Not covered: other kernels and configurations; other loads; other temperatures."
    )


PARTS: list[tuple[dict[str, Any], str, str]] = [  # how it differs, what stands there, what does not
    ({"load": "none"}, "without a load", "other loads"),
    ({"load": ""}, "On pi, without a load", "other loads"),
    ({"load": "unknown"}, "under an unknown load", "other loads"),
    ({"load": "none"}, "any load", "other loads"),
    ({"duration_s": None}, "under stress-ng in 1 run", "for 60s"),
    ({"lanes": 2}, "CPU0, the worst of 2 lanes: 1000 activations", "x1000"),
    ({"lanes": 1}, "(1000 activations", "the worst of"),
    ({"missed": None}, "missed ones not counted by the source", "2 missed"),
    ({"missed": 0}, "0 missed", "not counted"),
    ({"due": None}, "in 1 run, none", "activations,"),
    ({"exceedances": None}, "an unknown number exceeded", "none exceeded"),
    ({"exceedances": 7, "events": None}, "7 (in unknown order) exceeded", "independent"),
    ({"exceedances": 7, "events": 1}, "7 in 1 independent event exceeded", "events exceeded"),
    ({"exceedances": 7, "events": 2}, "7 in 2 independent events exceeded", "unknown order"),
    ({"p_upper": None}, "D = 100us. Required", "confidence"),
    ({"rate_upper_per_h": None}, "per activation. Required", "events/h"),
    ({"measure": "response:futex"}, "in 1 run of ", "wake-up"),
    ({"lanes": 1, "state": "HOLDS"}, "-> HOLDS. Not", "it takes"),
    ({"needed": None}, "NOT DEMONSTRATED. Not", "it takes"),
    ({"due": 2000}, "NOT DEMONSTRATED. Not", "it takes"),
    ({"due": 1999}, "it takes 2000", "(0 h)"),
    ({"needed": Needed(2000, None)}, "per lane without", " h)"),
    ({"new_record": ({"mission_s": 3600.0, "probability": 0.25},)}, "A further 1h has a 25 % chance", "> 99.9"),
    ({"new_record": ({"mission_s": 3600.0, "probability": 0.9995},)}, "> 99.9 % chance", "100 %"),
    ({"new_record": ({"mission_s": 3600.0, "probability": 0.999},)}, "99.9 % chance", "> 99.9"),
]


@pytest.mark.parametrize(("changes", "there", "absent"), PARTS)
def test_parts_of_the_sentence(changes: dict[str, Any], there: str, absent: str) -> None:
    text = about(**changes)
    assert there in text and absent not in text, text


@pytest.mark.parametrize(
    ("assumption", "told"),
    [
        (Assumption("singly"), "<= 0.003 per activation if late activations come singly ("),
        (Assumption("as_above", {"above_ns": 90 * US}), "if late activations come as singly as those above 90us ("),
    ],
)
def test_what_the_bound_assumes_is_told(assumption: Assumption, told: str) -> None:
    assert told in about(assumes=(assumption,))


def test_what_caps_the_verdict_is_told_where_the_numbers_would_do() -> None:
    assert "NOT DEMONSTRATED because of NO-LOAD." in about(capped_by=("NO-LOAD",), needed=None)
    assert "because" not in about(capped_by=("N-TOO-SMALL",), lacks="activations")


def test_what_was_waived_and_what_was_not_covered() -> None:
    checks = [
        said("A", "warning", waived="known"),
        said("B", "note", waived="idle talk"),
        said("SINGLE-RUN", "note"),
        said("NO-LOAD", "pass"),
        said("GOVERNOR", "warning"),
        *(said(f"U{i}", "unknown") for i in range(4)),
        said("V", "unknown", waived="so be it"),
    ]
    text = about(*checks)
    assert "Waived: A (known); V (so be it)." in text
    assert text.endswith(
        "other temperatures; other boots of this board; other CPU frequencies; "
        "what could not be checked (U0, U1, U2 and 1 more)."
    )
    assert about(*checks[-4:-1]).endswith("what could not be checked (U1, U2, U3).")


@pytest.mark.parametrize(
    ("changes", "own", "expected"),
    [
        ({"plan": Plan(load="stress-ng"), "labels": {"load": "x"}}, True, "stress-ng"),
        ({"labels": {"load": "x"}}, True, "x"),
        ({"labels": {}}, True, "none"),
        ({"labels": {}}, False, "unknown"),
        ({"plan": Plan(load=""), "labels": {}}, True, "none"),
        ({"loads": (LoadEntry("a", ()), LoadEntry("b", ())), "labels": {"load": "x"}}, True, "a, b"),
        ({"labels": {}, "facts": {"import": {"load": "hackbench"}}}, False, "hackbench"),
    ],
)
def test_the_load_that_is_told(changes: dict[str, Any], own: bool, expected: str) -> None:
    assert load_of(recording(**changes).manifest, own) == expected


def test_the_interval_that_lanes_share() -> None:
    assert judge(cyclictest(skip_lane({5: 9}), skip_lane({5: 9}))).interval_ns == MS
    mixed = cyclictest(skip_lane({5: 9}), skip_lane({5: 9}, interval=2 * MS), plan=Plan(interval_ns=7))
    assert judge(mixed).interval_ns == 7


def test_a_new_record_where_only_counts_tell_the_length() -> None:
    lanes = accounts(cyclictest(skip_lane({5: 1_800_000}), skip_lane({5: 3_600_000})))
    rows = new_record(None, lanes)
    assert [row["mission_s"] for row in rows] == [3600.0, 36_000.0, 86_400.0, 8766 * 3600.0]
    assert rows[0]["probability"] == pytest.approx(0.5)
    assert new_record(10_800.0, lanes)[0]["probability"] == pytest.approx(0.25)


@pytest.mark.parametrize(("p", "confidence"), [(0.0, 0.95), (0.999, 0.95), (1e-6, 1e-9), (1e-6, 1 - 1e-9)])
def test_possible_requirements_are_judged(p: float, confidence: float) -> None:
    found = judge(recording(block_lane({100: 9})), deadline_ns=1, p_target=p, confidence=confidence).verdict
    assert found is not None and (found.p_target, found.confidence, found.deadline_ns) == (p, confidence, 1)


def test_strict_is_as_the_run_was_asked_for_unless_told() -> None:
    made = recording(block_lane({100: 9}), plan=Plan(interval_ns=MS, strict=True))
    assert judge(made).strict is True and judge(made, strict=False).strict is False
    assert judge(recording()).strict is False


def kept(rows: list[tuple[int, int, int]], deadline_ns: int | None = None, index: int = 0) -> Stalls:
    """Late wake-ups of a lane whose p99.9 is 100 us."""
    lane = block_lane({100 * US: 60_000}, index=index)
    return of_lanes(recording(replace(lane, spills=spills_of(rows))), deadline_ns)


def of_lanes(made: Recording, deadline_ns: int | None = None) -> Stalls:
    lanes = accounts(made)
    return late_wakeups(lanes, [lane_findings(lane, 1e-6, 0.95) for lane in lanes], deadline_ns)


def test_what_is_worth_explaining() -> None:
    rows = [(1, 150 * US, 0), (2, 199_999, 0), (3, 200_000, 0), (4, 10 * US, 1), (5, 160 * US, 0)]
    found = kept(rows)
    assert found.latency_ns.tolist() == [200_000, 10 * US]
    assert found.due_ns.tolist() == [5 * SECOND + 3 * MS, 5 * SECOND + 4 * MS]
    assert found.woken_ns.tolist() == [5 * SECOND + 3 * MS + 200_000, 5 * SECOND + 4 * MS + 10 * US]
    assert found.missed.tolist() == [0, 1]
    for_deadline = kept(rows, 160 * US)
    assert for_deadline.latency_ns.tolist() == [199_999, 200_000, 10 * US, 160 * US]


def test_stalls_of_several_lanes_lie_lane_by_lane_and_know_their_lane() -> None:
    lanes = [
        replace(block_lane({US: 60_000}, index=i), spills=spills_of([(7, (5 + i) * US, 0), (9, (3 + i) * US, 0)]))
        for i in range(2)
    ]
    found = of_lanes(recording(*lanes))
    assert found.latency_ns.tolist() == [5 * US, 3 * US, 6 * US, 4 * US] and found.lane.tolist() == [0, 0, 1, 1]
    assert found.at(ints([3])).latency_ns.tolist() == [4 * US]


@pytest.mark.parametrize(
    ("second_due_ns", "groups"),
    [(0, 1), (SECOND, 1), (SECOND + 100, 1), (SECOND + 101, 2), (-SECOND - 50, 1), (-SECOND - 51, 2)],
)
def test_what_lies_within_a_second_of_a_worse_one_belongs_to_it(second_due_ns: int, groups: int) -> None:
    stalls = Stalls(ints([0, second_due_ns]), ints([100, 50]), ints([0, 0]), ints([0, 0]))
    found = worst_apart(stalls)
    assert len(found) == groups
    assert np.concatenate([near for _, near in found]).tolist() == [0, 1]


def test_the_worst_come_first_wherever_they_lie_and_of_equal_ones_the_first_row() -> None:
    due = ints([0, 10, 20, 30, 30]) * SECOND
    found = worst_apart(Stalls(due, ints([5, 9, 7, 9, 3]), due * 0, due * 0))
    assert [(row, near.tolist()) for row, near in found] == [(1, [1]), (3, [3, 4]), (2, [2]), (0, [0])]
    assert worst_apart(Stalls(*(ints([]) for _ in range(4)))) == []


def test_at_most_eight_are_told() -> None:
    many = ints(range(12))
    found = worst_apart(Stalls(many * 10 * SECOND, 100 - many, many * 0, many * 0))
    assert [row for row, _ in found] == list(range(8))

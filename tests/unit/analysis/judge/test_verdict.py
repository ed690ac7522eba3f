"""The four states, their order of precedence, and what the checks allow to be said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.judge import judge
from rtassay.model.findings import AS_SEEN, ASSUMED, SINGLY, Findings, Verdict
from rtassay.model.manifest import Obtained, Plan, Source
from rtassay.model.recording import Lane, Recording
from rtassay.reports.recording.reasons import words

from ..build import MS, US, block_lane, counted_lane, cyclictest, inventory, recording, skip_lane

ENOUGH = 3_000_000
OK = {100: ENOUGH}
FAILS = {100: ENOUGH, 900: 500}


def verdict(made: Recording, deadline: int = 500, **more: Any) -> Verdict:
    found = judge(made, deadline_ns=deadline, **more).verdict
    assert found is not None
    return found


def severities(found: Findings) -> dict[str, str]:
    return {check.id: check.severity for check in found.checks}


def with_entry(lane: Lane, **changes: Any) -> Lane:
    return replace(lane, entry=replace(lane.entry, **changes))


INVALID = {"lane": {"obtained_start": Obtained("other", 0, (0,), True)}}
OPTIMISTIC: dict[str, Any] = {"labels": {}}
UNKNOWN: dict[str, Any] = {"labels": {}, "plan": Plan(interval_ns=MS), "inventory": {}}
WARNING: dict[str, Any] = {"inventory": inventory(virtualisation="kvm")}


def state(counts: dict[int, int], *conditions: dict[str, Any]) -> str:
    changes: dict[str, Any] = {}
    for condition in conditions:
        changes |= condition
    lane = with_entry(block_lane(counts), **changes.pop("lane", {}))
    return verdict(recording(lane, **changes)).state


@pytest.mark.parametrize(
    ("counts", "conditions", "expected"),
    [
        (OK, (), "HOLDS"),
        (OK, (WARNING,), "HOLDS"),
        (OK, (OPTIMISTIC,), "NOT DEMONSTRATED"),
        (OK, (UNKNOWN,), "NOT DEMONSTRATED"),
        (OK, (INVALID,), "INVALID MEASUREMENT"),
        (OK, (INVALID, OPTIMISTIC), "INVALID MEASUREMENT"),
        ({100: 1000}, (), "NOT DEMONSTRATED"),
        ({100: 1000}, (INVALID,), "INVALID MEASUREMENT"),
        (FAILS, (), "VIOLATED"),
        (FAILS, (WARNING,), "VIOLATED"),
        (FAILS, (OPTIMISTIC,), "VIOLATED"),
        (FAILS, (UNKNOWN,), "VIOLATED"),
        (FAILS, (INVALID,), "INVALID MEASUREMENT"),
    ],
)
def test_precedence(counts: dict[int, int], conditions: tuple[dict[str, Any], ...], expected: str) -> None:
    assert state(counts, *conditions) == expected


def test_the_least_clean_run_that_holds() -> None:
    held = verdict(recording(block_lane({100: 2_995_731})))
    assert (held.state, held.exceedances, held.events, held.p_lower) == ("HOLDS", 0, 0, 0.0)
    assert held.p_upper is not None and held.p_upper <= 1e-6
    short = verdict(recording(block_lane({100: 2_995_730})))
    assert short.state == "NOT DEMONSTRATED"
    assert short.needed is not None and short.needed.n == 2_995_731
    assert short.needed.duration_s == pytest.approx(2_995.731)


def test_p_zero() -> None:
    assert verdict(recording(block_lane(OK)), p_target=0.0).state == "NOT DEMONSTRATED"
    assert verdict(recording(block_lane(OK)), p_target=0.0).needed is None
    assert verdict(recording(block_lane({100: ENOUGH, 900: 1})), p_target=0.0).state == "VIOLATED"


def test_exceedances_without_order_hold_if_they_come_singly() -> None:
    made = recording(block_lane({100: 9_000_000, 900: 1}))
    held = verdict(made)
    assert (held.state, held.events, held.basis, held.capped_by) == ("HOLDS", None, "singly", ())
    assert [one.code for one in held.assumes] == ["singly"] and "if late activations come singly" in held.sentence
    assert severities(judge(made, deadline_ns=500))["DEPENDENCE-UNKNOWN"] == "warning"
    assert severities(judge(made))["DEPENDENCE-UNKNOWN"] == "note"
    clean = recording(block_lane({100 * US: ENOUGH}))
    strict = verdict(clean, 500 * US, strict=True)
    assert (strict.state, strict.capped_by) == ("NOT DEMONSTRATED", ("DEPENDENCE-UNKNOWN",))
    excused = verdict(clean, 500 * US, strict=True, waivers={"DEPENDENCE-UNKNOWN": "a bench with one source"})
    assert excused.state == "HOLDS" and excused.assumes == held.assumes


def test_the_worst_lane_is_the_worst_for_what_was_asked() -> None:
    """One burst of five late ones bounds p worse than three single ones, which are more events."""
    values = [[100] * 100_000 for _ in range(2)]
    values[0][50_000:50_005] = [900] * 5
    for at in (20_000, 50_000, 80_000):
        values[1][at] = 900
    made = recording(*(counted_lane(row, index=i, spill_from=500) for i, row in enumerate(values)))
    by_p, by_events = verdict(made, p_target=5e-5), verdict(made, per_hour=100.0)
    assert {lane["state"] for one in (by_p, by_events) for lane in one.lanes} == {"NOT DEMONSTRATED"}
    burst, single = by_p.lanes
    assert burst["p_upper"] > single["p_upper"] and burst["rate_upper_per_h"] < single["rate_upper_per_h"]
    assert (by_p.lane, by_p.exceedances, by_p.events) == ("0", 5, 1)
    assert (by_events.lane, by_events.exceedances, by_events.events) == ("1", 3, 3)
    assert by_events.rate_upper_per_h == single["rate_upper_per_h"] and by_events.needed != by_p.needed


def stalls(n: int, every: int, burst: int) -> Lane:
    """Samples of 100 ns with bursts of exceedances in a row."""
    values = [100] * n
    for start in range(every, n, every):
        values[start : start + burst] = [900] * burst
    return counted_lane(values, MS, spill_from=500)


def test_events_in_order_can_hold_and_clusters_need_more() -> None:
    single = verdict(recording(stalls(200_000, 50_000, 1)), p_target=1e-4)
    assert (single.state, single.exceedances, single.events) == ("HOLDS", 3, 3)
    assert single.rate_upper_per_h == pytest.approx(7.7537 / (200_000 / 3_600_000), rel=1e-4)
    assert [one.code for one in single.assumes] == ["as_seen"]
    # as many in one burst are one event: they would do if they came singly
    burst = verdict(recording(stalls(200_000, 150_000, 3)), p_target=5e-5)
    assert (burst.exceedances, burst.events, burst.gap) == (3, 1, 10)
    assert (burst.state, burst.lacks, burst.basis) == ("NOT DEMONSTRATED", "single_late", "bursts")
    assert burst.needed is not None and burst.needed.n > 200_000
    assert any("1 event, not singly" in words(reason) for reason in burst.reasons)


def test_the_worst_lane_speaks_and_is_named() -> None:
    good, bad = block_lane(OK, index=0), block_lane(FAILS, index=1)
    found = verdict(recording(good, bad))
    assert (found.state, found.lane, found.exceedances, found.due) == ("VIOLATED", "1", 500, ENOUGH + 500)
    assert [row["state"] for row in found.lanes] == ["HOLDS", "VIOLATED"]
    less = verdict(recording(block_lane({100: 9_000_000}), block_lane(OK, index=1)))
    assert (less.state, less.lane) == ("HOLDS", "1")
    # not demonstrated is worse than a lane that holds with a larger bound
    mixed = verdict(recording(block_lane(OK), block_lane({100: 9_000_000, 900: 20}, index=1)))
    assert (mixed.state, mixed.lane) == ("NOT DEMONSTRATED", "1")


def test_missed_activations_decide() -> None:
    lane = counted_lane([100] * 100_000 + [368 * MS] + [100] * 100, MS)
    found = verdict(recording(lane), p_target=1e-4)
    assert (found.state, found.exceedances, found.due, found.events) == ("VIOLATED", 368, 100_101 + 368, 1)
    ids = severities(judge(recording(lane), deadline_ns=500))
    assert ids["CO-MISSED"] == "warning"
    assert ids["COUNT-MISMATCH"] == "pass"


def test_dropped_samples_widen_the_bound_only() -> None:
    lane = with_entry(block_lane({100: ENOUGH}), dropped=20, due=ENOUGH + 20)
    lane = with_entry(lane, closed_ns=(lane.entry.closed_ns or 0) + 20 * MS, max_ns=900)
    found = verdict(recording(lane))
    assert (found.state, found.exceedances) == ("NOT DEMONSTRATED", 1)
    assert found.p_upper is not None and found.p_upper * found.due > 20 if found.due else False
    seen = with_entry(lane, max_ns=100)
    assert verdict(recording(seen)).state == "HOLDS"


@pytest.mark.parametrize("virtualisation", ["qemu", "tcg"])
def test_an_emulated_board_never_holds(virtualisation: str) -> None:
    assert state(OK, {"inventory": inventory(virtualisation=virtualisation)}) == "NOT DEMONSTRATED"
    assert state(FAILS, {"inventory": inventory(virtualisation=virtualisation)}) == "VIOLATED"


def test_a_lab_board_never_holds() -> None:
    assert state(OK, {"labels": {"load": "x", "lab": "yes"}}) == "NOT DEMONSTRATED"
    assert state(OK, {"labels": {"load": "x", "board": "lab"}}) == "NOT DEMONSTRATED"
    assert state(OK, {"labels": {"load": "x", "room": "lab"}}) == "HOLDS"


def test_a_histogram_of_another_tool_can_hold_once_its_load_is_declared() -> None:
    made = cyclictest(skip_lane({50: ENOUGH}, interval=MS), labels={"load": "hackbench"})
    assert verdict(made, 100 * US).state == "HOLDS"
    assert verdict(cyclictest(skip_lane({50: ENOUGH}, interval=MS)), 100 * US).state == "NOT DEMONSTRATED"
    stripped = cyclictest(skip_lane({50: ENOUGH}, over=None), labels={"load": "hackbench"})
    assert verdict(stripped, 100 * US).state == "NOT DEMONSTRATED"
    late = cyclictest(skip_lane({50: ENOUGH, 1500: 1}, limit_us=9000), labels={"load": "hackbench"})
    assert verdict(late, 2000 * US).state == "NOT DEMONSTRATED"


def test_a_cut_stream_cannot_hold() -> None:
    lane = block_lane(OK)
    made = recording(lane)
    cut = replace(made, manifest=replace(made.manifest, damage=replace(made.manifest.damage, cut=True), end={}))
    assert verdict(made).state == "HOLDS"
    assert verdict(cut).state == "NOT DEMONSTRATED"


def test_a_broken_account_is_invalid() -> None:
    assert verdict(recording(with_entry(block_lane(OK), due=ENOUGH + 7))).state == "INVALID MEASUREMENT"


def test_no_activation_demonstrates_nothing() -> None:
    found = verdict(recording(counted_lane([], MS)))
    assert (found.state, found.p_upper) == ("INVALID MEASUREMENT", 1.0)
    empty = verdict(recording())
    assert (empty.state, empty.lane, empty.due) == ("INVALID MEASUREMENT", None, None)


def test_a_starved_lane_is_violated() -> None:
    lane = counted_lane([], MS, truncated=10_000)
    assert verdict(recording(lane)).state == "VIOLATED"


@settings(deadline=None, max_examples=30)
@given(
    st.dictionaries(st.integers(1, 2000), st.integers(1, 50), min_size=1, max_size=8),
    st.sampled_from([0.0, 1e-5, 1e-3, 0.05]),
)
def test_a_longer_deadline_is_never_judged_worse(tail: dict[int, int], p: float) -> None:
    rank = {"VIOLATED": 0, "NOT DEMONSTRATED": 1, "HOLDS": 2}
    made = recording(block_lane({**tail, 50: 10_000}))
    states = [rank[verdict(made, deadline, p_target=p).state] for deadline in range(1, 2100, 150)]
    assert states == sorted(states)


def test_kind_of_source_decides_the_denominator() -> None:
    found = verdict(cyclictest(skip_lane({50: 1000, 120: 3})), 100 * US, p_target=1e-2)
    assert (found.due, found.exceedances, found.events) == (1003, 3, None)
    assert Source("a", None, "b").late_policy == "unknown"


def test_holds_of_several_lanes_assumes_what_any_of_them_does() -> None:
    """CPU 0 saw five late ones; of CPU 1 nothing is known but that none was late: HOLDS needs both."""
    late = dict.fromkeys((2011, 5303, 9100, 13_007, 18_550), 900)
    seen = [late.get(k, 100) for k in range(20_000)]
    lanes = (counted_lane(seen, spill_from=0), replace(counted_lane([100] * 20_000, index=1), spills=None))
    found = verdict(recording(*lanes), p_target=1e-3)
    assert found.state == "HOLDS" and found.exceedances == 5
    assert [one["assumes"][0]["code"] for one in found.lanes] == [AS_SEEN, SINGLY]
    assert [one.code for one in found.assumes] == [SINGLY]
    assert [one.facts["assumption"] for one in found.reasons if one.code == ASSUMED] == [SINGLY]

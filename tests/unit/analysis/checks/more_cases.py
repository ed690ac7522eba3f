"""More cases for test_checks.py: each condition of a check alone, several findings at once, and what is named when there are many."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rtassay.model import warnings
from rtassay.model.manifest import Clip, Damage, Obtained, Plan, RunWarning, Source, TraceEntry, Untraced
from rtassay.model.measures import APPLICATION
from rtassay.model.recording import Lane, Recording

from ..build import (
    MS,
    SECOND,
    US,
    block_lane,
    counted_lane,
    cyclictest,
    facts,
    inventory,
    recording,
    seconds,
    skip_lane,
    spills_of,
)
from .condition_cases import (
    BEGIN,
    Case,
    booted,
    held,
    ignoring,
    kernel,
    minute,
    servers,
    two_lanes_late,
    watching,
)
from .imported_cases import lane, stream, told

SKIPS = Source("x", None, "x", "skip")
COUNTS = {"lanes": [{"lane": 0, "n": 60_001, "missed": 0, "dropped": 0, "truncated": 0, "due": 60_001}]}


def entry(made: Lane, **changes: Any) -> Lane:
    return replace(made, entry=replace(made.entry, **changes))


def changed(made: Recording, **changes: Any) -> Recording:
    return replace(made, manifest=replace(made.manifest, **changes))


def numbered(n: int, **changes: Any) -> list[Lane]:
    return [minute(i, **changes) for i in range(n)]


def at_end(row: dict[str, Any]) -> Recording:
    """A run whose end mark says this of its lane."""
    return recording(minute(), end={"lanes": [COUNTS["lanes"][0] | row]})


def cut_off(line: int | None = 12) -> Recording:
    return cyclictest(skip_lane({5: 100}), facts={"import": {"torn_line": line}})


COUNTED: list[Case] = [
    ("CO-MISSED", lambda: recording(minute(0), minute(1, missed=None)), "unknown", None, "did not report"),
    ("CO-MISSED", lambda: recording(minute(0, missed=None), minute(1, missed=None)), "unknown", None, "did not report"),
    (  # the histogram of the second lane explains none of its misses
        "CO-MISSED",
        lambda: recording(counted_lane([100] * 98 + [MS]), entry(counted_lane([100] * 90), index=1, cpu=1, missed=9, due=99)),
        "warning",
        "integrity",
        "10 of 199 activations (5.03 %)",
    ),
    (
        "CO-MISSED",
        lambda: cyclictest(skip_lane({5: 10, 2500: 1}, limit_us=9000), lane(1, {5: 10_000}, due=10_007)),
        "invalid",
        None,
        "lane 0: later than the interval, and about 2",
    ),
    (  # one of two lanes has no interval: no estimate for both
        "CO-MISSED",
        lambda: cyclictest(skip_lane({5: 10, 2500: 1}, limit_us=9000), lane(1, {5: 10}, interval=None)),
        "invalid",
        None,
        "an unknown number",
    ),
    ("CO-MISSED", lambda: cyclictest(lane(0, {5: 10_000}, due=10_007), lane(1, {5: 10_000}, due=10_020)), "invalid", None, "27 activations"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10}, over=2, limit_us=1000, max_ns=None)), "invalid", None, "later than"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10}, over=2, limit_us=999, max_ns=None)), "unknown", None, "not known"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10}, over=None)), "unknown", None, "not known"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10}, interval=None)), "unknown", None, "not known"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({}, over=0)), "unknown", None, "not known"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 9}), source=replace(SKIPS, late_policy="catch_up")), "pass", None, "none is missing"),
    ("CO-MISSED", recording, "unknown", None, "no lane"),
    ("NO-ACTIVATION", recording, "invalid", "integrity", "nothing"),
    ("NO-ACTIVATION", lambda: recording(block_lane({9: 1})), "pass", None, "1 activations"),
    ("COUNT-MISMATCH", recording, "unknown", None, "no lane"),
    (  # three of four are told, all are in the facts
        "COUNT-MISMATCH",
        lambda: recording(*numbered(4, missed=1, last_due_ns=None)),
        "invalid",
        None,
        "CPU2: due 60001",
    ),
    (
        "COUNT-MISMATCH",
        lambda: recording(minute(), damage=Damage(lost_frames=1, skipped_bytes=5, cut=True), end=at_end({"n": 7, "due": 8}).manifest.end),
        "warning",
        "optimism",
        "its end mark says n 7, the table 60001; CPU0: its end mark says due 8",
    ),
    ("COUNT-MISMATCH", lambda: recording(minute(), minute(1, due=None, dropped=3)), "warning", "optimism", "was cut before"),
    ("COUNT-MISMATCH", lambda: recording(minute(), damage=Damage(bad_frames=2)), "warning", "integrity", "0 frames and 0 bytes on its way; 2 more were damaged"),
    ("COUNT-MISMATCH", lambda: recording(minute(), damage=Damage(skipped_bytes=3)), "warning", "integrity", "0 frames and 3 bytes"),
    ("COUNT-MISMATCH", cut_off, "warning", "optimism", "line 12, which has no newline"),
    ("COUNT-MISMATCH", lambda: cut_off(None), "unknown", None, "how many"),
    ("COUNT-MISMATCH", lambda: at_end({}), "pass", None, "in every lane"),
    (
        "COUNT-MISMATCH",
        lambda: at_end({"n": 1, "missed": 2, "dropped": 3, "truncated": 4, "due": 5}),
        "warning",
        "integrity",
        "end mark says dropped 3, the table 0",
    ),
    ("COUNT-MISMATCH", lambda: at_end({"missed": None, "due": None}), "pass", None, "in every lane"),
    (  # seconds that hold more missed and dropped than the account
        "COUNT-MISMATCH",
        lambda: recording(replace(minute(), seconds=replace(seconds([9] * 60, n=1000, missed=2), dropped=np.ones(60, int)))),
        "warning",
        None,
        "missed 120, the account says 0; CPU0: its seconds add up to dropped 60",
    ),
    (  # of a traced run the seconds do not belong to one part
        "COUNT-MISMATCH",
        lambda: recording(replace(minute(untraced=Untraced(9, 9)), seconds=seconds([9] * 59))),
        "pass",
        None,
        "in every lane",
    ),
    ("COUNT-MISMATCH", lambda: recording(replace(minute(missed=None), seconds=seconds([9] * 59, n=1017, missed=1))), "warning", None, "n 60003"),
    ("COUNT-MISMATCH", lambda: recording(minute(missed=None, n=60_002)), "invalid", None, "60002 samples, but only 60001"),
    ("COUNT-MISMATCH", lambda: recording(minute(last_due_ns=BEGIN + 60_001 * MS)), "invalid", None, "its last due time"),
    ("COUNT-MISMATCH", lambda: recording(minute(last_due_ns=BEGIN + 59_000 * MS)), "pass", None, "in every lane"),
    ("COUNT-MISMATCH", lambda: recording(minute(first_due_ns=None)), "pass", None, "in every lane"),
    ("COUNT-MISMATCH", lambda: recording(minute(interval_ns=None), plan=Plan()), "pass", None, "in every lane"),
    ("COUNT-MISMATCH", lambda: recording(minute(closed_ns=BEGIN + 60_000 * MS - 1)), "invalid", None, "(60000)"),
    ("COUNT-MISMATCH", lambda: recording(entry(counted_lane([9]), closed_ns=BEGIN - 1, due=1)), "invalid", None, "(0)"),
    (
        "COUNT-MISMATCH",
        lambda: recording(minute(), warnings=tuple(RunWarning(warnings.COUNTS_DIFFER, i, {"of": f"x{i}", "counts": {"a": i}}) for i in (0, 0, 0, 0))),
        "warning",
        None,
        "counts of x0",
    ),
    ("COUNT-MISMATCH", lambda: cyclictest(skip_lane({5: 1_100}), plan=Plan(duration_ns=SECOND), end_reason="duration"), "unknown", None, "how many"),
    ("COUNT-MISMATCH", lambda: cyclictest(skip_lane({5: 1_201}), plan=Plan(duration_ns=SECOND), end_reason="duration"), "invalid", None, "at most 1000"),
    ("COUNT-MISMATCH", lambda: cyclictest(skip_lane({5: 1_201}), plan=Plan(duration_ns=SECOND), end_reason="signal"), "unknown", None, "how many"),
    ("COUNT-MISMATCH", lambda: cyclictest(skip_lane({5: 1_201}, interval=300 * MS), plan=Plan(duration_ns=3 * SECOND)), "invalid", None, "at most 10"),
    ("COUNT-MISMATCH", lambda: cyclictest(skip_lane({5: 12}, interval=300 * MS), plan=Plan(duration_ns=3 * SECOND)), "unknown", None, "how many"),
    ("COUNT-MISMATCH", lambda: cyclictest(skip_lane({5: 13}, interval=300 * MS), plan=Plan(duration_ns=3 * SECOND)), "invalid", None, "at most 10"),
    ("COUNT-MISMATCH", lambda: recording(minute(clip=Clip(5 * MS, 2), truncated=0)), "pass", None, "in every lane"),
    ("ENDED-EARLY", lambda: recording(minute(), end_reason="error", plan=Plan(duration_ns=90 * SECOND)), "warning", None, "an error"),
    ("ENDED-EARLY", lambda: recording(minute(), end_reason="cut"), "warning", None, "the loss of its stream"),
    ("ENDED-EARLY", lambda: recording(minute(), end_reason="gone"), "warning", None, "the end of the program"),
    ("ENDED-EARLY", lambda: recording(minute(), end_reason="duration", look=2, plan=Plan(looks=5, duration_ns=90 * SECOND)), "pass", None, "look 2 of 5"),
    ("ENDED-EARLY", lambda: recording(minute(), plan=Plan(duration_ns=70 * SECOND, count=60_000)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: recording(minute(), plan=Plan(duration_ns=60 * SECOND, count=70_000)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: recording(minute(), end_reason=None, plan=Plan(count=60_001)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: recording(minute(), end_reason="count", plan=Plan()), "pass", None, "planned end"),
    # the lane that is furthest behind: 30 001 of 90 000, not 20 001 of 45 000
    (
        "ENDED-EARLY",
        lambda: recording(
            entry(block_lane({9: 20_001}), interval_ns=2 * MS),
            entry(block_lane({9: 30_001}, index=1), interval_ns=MS),
            plan=Plan(duration_ns=90 * SECOND),
        ),
        "warning",
        None,
        "CPU1: 30001 of 90000",
    ),
    # slack: 0.1 % of a million, 200 ms of 1 ms, and two activations of a second each
    ("ENDED-EARLY", lambda: recording(block_lane({9: 999_000}), plan=Plan(count=1_000_000)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: recording(block_lane({9: 998_999}), plan=Plan(count=1_000_000)), "warning", None, "998999 of"),
    ("ENDED-EARLY", lambda: recording(block_lane({9: 1800}), plan=Plan(count=2000)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: recording(block_lane({9: 1799}), plan=Plan(count=2000)), "warning", None, "1799 of 2000"),
    ("ENDED-EARLY", lambda: recording(block_lane({9: 8}, SECOND), plan=Plan(count=10)), "pass", None, "planned end"),
    ("ENDED-EARLY", lambda: recording(block_lane({9: 7}, SECOND), plan=Plan(count=10)), "warning", None, "7 of 10"),
    ("ENDED-EARLY", lambda: recording(minute(due=None), end_reason=None, plan=Plan(count=9)), "unknown", None, "how long"),
    (  # the activations of the traced part count
        "ENDED-EARLY",
        lambda: replace(
            recording(minute(), plan=Plan(count=90_000)), traced=(entry(minute(), due=30_000), entry(minute(1), due=5))
        ),
        "pass",
        None,
        "planned end",
    ),
    (
        "ENDED-EARLY",
        lambda: replace(recording(minute(), plan=Plan(count=90_000)), traced=(entry(minute(), due=None),)),
        "warning",
        None,
        "60001 of 90000",
    ),
    ("TRACED", lambda: recording(minute(untraced=Untraced(9, 7)), minute(1, untraced=Untraced(9, 5)), trace=TraceEntry(from_ns=1)), "pass", None, "of 60.0 s"),
    ("TRACED", lambda: recording(minute(untraced=Untraced(9, 7)), minute(1), trace=TraceEntry(from_ns=1)), "warning", None, "no untraced"),
    ("TRACED", lambda: recording(minute(untraced=Untraced(9, 7)), minute(1, untraced=Untraced(9, 0)), trace=TraceEntry(from_ns=1)), "warning", None, "no untr"),
    ("TRACED", lambda: recording(minute(untraced=Untraced(9, 7)), trace=TraceEntry(from_ns=1), ended_ns=None), "pass", None, "part; the rest"),
    ("TRACED", lambda: recording(minute(untraced=Untraced(9, 7)), trace=TraceEntry(from_ns=1), started_ns=None), "pass", None, "part; the rest"),
]  # fmt: skip

IMPORTED_MORE: list[Case] = [
    ("HIST-TRUNCATED", cyclictest, "unknown", None, "no lane"),
    (
        "HIST-TRUNCATED",
        lambda: cyclictest(lane(0, {5: 10}, over=2, limit_us=500, max_ns=MS), lane(1, {5: 10}, over=3, limit_us=400, max_ns=MS), lane(2, {5: 9})),
        "warning",
        None,
        "lane 0, lane 1: 5 samples lie above the histogram's last bin, 400us",
    ),
    (  # a deadline that only one of the lanes cannot count
        "HIST-TRUNCATED",
        lambda: cyclictest(lane(0, {5: 10}, over=2, limit_us=500, max_ns=MS), lane(1, {5: 10}, over=3, limit_us=400, max_ns=MS), plan=Plan(deadline_ns=450 * US)),
        "invalid",
        None,
        "the deadline does too",
    ),
    ("HIST-TRUNCATED", lambda: cyclictest(skip_lane({5: 10}, over=2, max_ns=None), plan=Plan(deadline_ns=9 * MS)), "invalid", None, "cannot be counted"),
    ("HIST-TRUNCATED", lambda: told("summary", lane(counts={}, over=10, max_ns=9 * US), max_ns=9 * US, n=10), "warning", None, "only minimum, average"),
    ("HIST-TRUNCATED", lambda: told("histogram", lane(counts={5: 9}, over=10, max_ns=900 * US)), "warning", None, "10 samples lie above"),
    ("HIST-TRUNCATED", lambda: cyclictest(skip_lane({5: 10}, max_ns=9 * US, dropped=3)), "pass", None, "every sample"),
    ("HIST-TRUNCATED", lambda: cyclictest(lane(0, {5: 10}), lane(1, {5: 10}, over=None)), "unknown", None, "stripped"),
    ("TRAILER-STRIPPED", lambda: cyclictest(lane(0, {5: 1}), *(lane(i, {5: 1}, over=None) for i in range(1, 7))), "warning", None, "lane 1, lane 2, lane 3, lane 4 and 2 more: no"),
    ("TRAILER-STRIPPED", lambda: cyclictest(*(lane(i, {5: 1}, over=None) for i in range(4))), "warning", None, "lane 2, lane 3: no"),
    ("TRAILER-STRIPPED", lambda: cyclictest(*(lane(i, {5: 1}, over=None) for i in range(5))), "warning", None, "lane 3 and 1 more: no"),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0, {5: 10}), lane(1, {5: 30}, interval=1500 * US), lane(2, interval=None, counts={5: 2})), "warning", None, "1000/1500 us: 71% of all samples are of lane 1"),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0, {})), "pass", None, "one lane"),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0, {}), lane(1, {}, interval=2 * MS)), "warning", None, "0% of all"),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0, interval=None)), "pass", None, "one lane"),
    ("LOOPS-FIRST-WINS", lambda: recording(block_lane({9: 100}), block_lane({9: 10}, index=1)), "pass", None, "only cyclictest"),
    ("LOOPS-FIRST-WINS", lambda: cyclictest(lane(0, {}), lane(1, {})), "pass", None, "as many"),
    ("LOOPS-FIRST-WINS", lambda: cyclictest(lane(0, {5: 90}, dropped=10), lane(1, {5: 100})), "pass", None, "as many"),
    ("VERBOSE-RING", lambda: stream(backwards=3), "invalid", None, "(0, 3 times)"),
    ("VERBOSE-RING", lambda: stream(told_max_ns=25 * US), "invalid", None, "maximum 25us"),
    ("VERBOSE-RING", lambda: stream(told_max_ns=23 * US), "pass", None, "every cycle"),
    ("VERBOSE-RING", lambda: stream(told_max_ns=90 * US, max_ns=None), "pass", None, "every cycle"),
    ("VERBOSE-RING", lambda: stream(lane=None), "pass", None, "every cycle"),
    ("VERBOSE-RING", lambda: stream(lane=7, undrained=None), "pass", None, "every cycle"),
    ("VERBOSE-RING", lambda: cyclictest(lane(dropped=5), lane(1, dropped=2), facts={"import": {"time_from_stamps": True}}), "warning", None, "7 samples are absent"),
    ("VERBOSE-RING", lambda: cyclictest(lane(), facts={"import": {"time_from_stamps": True}}), "pass", None, "did not come"),
    ("VERBOSE-RING", lambda: cyclictest(lane(dropped=5), facts={"import": {"time_from_stamps": False}}), "pass", None, "did not come"),
    ("VERBOSE-RING", lambda: cyclictest(lane(dropped=5)), "pass", None, "did not come"),
    (
        "VERBOSE-RING",
        lambda: changed(
            cyclictest(*(lane(i) for i in range(4))),
            facts={"import": {"stream": [{"lane": i, "gaps": 1, "lost": i + 1, "duplicates": 0, "backwards": 0} for i in range(4)]}},
        ),
        "invalid",
        None,
        "thread 2: 3 cycles are absent in 1 gaps",
    ),
    (
        "VERBOSE-RING",
        lambda: changed(cyclictest(lane(0), lane(1)), facts={"import": {"stream": [{"lane": 0, "undrained": 3}, {"lane": 1, "undrained": 4}]}}),
        "warning",
        None,
        "7 samples that the summary counts",
    ),
    ("TOOL-VERSION-UNKNOWN", lambda: cyclictest(lane(), source=SKIPS, facts={"import": {"unit_from": "assumed"}}), "warning", None, "the version of x; whether"),
    ("TOOL-VERSION-UNKNOWN", lambda: cyclictest(lane(), source=replace(SKIPS, late_policy="unknown"), facts={"import": {"unit_from": "assumed"}}), "warning", None, "(--tool-version); whether"),
    ("TOOL-VERSION-UNKNOWN", lambda: cyclictest(lane(), facts={"import": {"unit_from": "format"}}), "pass", None, "cyclictest 2.4"),
    ("MIXED-MEASURES", lambda: cyclictest(*(lane(i, {5: 9}, measure=what) for i, what in enumerate(("noise", "hardware-gap", "noise-longest", "wake-up")))), "warning", "optimism", "not wake-up latency"),
    ("QUANTISED", lambda: cyclictest(lane(counts={5: 200}, over=1)), "warning", None, "few bins of 1us"),
    ("QUANTISED", lambda: cyclictest(lane(counts={5: 100, 50: 100}, over=1)), "warning", None, "few bins"),
    ("QUANTISED", lambda: cyclictest(lane(counts={5: 100, 7: 1, 9: 1, 50: 100}, over=1)), "pass", None, "many bins"),
    ("QUANTISED", lambda: cyclictest(lane(counts={5: 200}, over=1, max_ns=None)), "warning", None, "few bins of 1us"),
    ("QUANTISED", lambda: cyclictest(lane(counts={}, n=100, min_ns=3 * US, max_ns=3 * US)), "warning", None, "3us means up to 4us"),
    ("QUANTISED", lambda: cyclictest(lane(counts={}, n=100, min_ns=3 * US, max_ns=4 * US)), "unknown", None, "only a summary"),
    ("QUANTISED", lambda: cyclictest(lane(counts={}, n=100, min_ns=None, max_ns=None)), "unknown", None, "only a summary"),
    ("QUANTISED", lambda: cyclictest(lane(0, counts={1: 300}), lane(1, counts={7: 300}), lane(2)), "warning", None, "lane 0, lane 1: the"),
    ("QUANTISED", lambda: cyclictest(lane(), bin_width_ns=2), "pass", None, "many bins of 2ns"),
    ("QUANTISED", lambda: cyclictest(lane(), bin_width_ns=1), "pass", None, "whole nanoseconds"),
    ("NEGATIVE-OR-ZERO", lambda: cyclictest(replace(lane(min_ns=None), histogram=replace(lane().histogram, under=3))), "warning", None, "below 0"),
    ("NEGATIVE-OR-ZERO", lambda: cyclictest(lane(0, {-3: 1, 5: 9}), lane(1, {-7: 1, 5: 9}), lane(2)), "warning", None, "lane 0, lane 1: a latency of -7us"),
    ("LESS-EQUAL-EDGE", lambda: cyclictest(lane(0, {9: 3, 10: 7}), lane(1, {10: 5}), lane(2, {11: 5}), plan=Plan(deadline_ns=10 * US)), "warning", None, "12 samples of lane 0, lane 1 lie"),
    ("LESS-EQUAL-EDGE", lambda: recording(block_lane({100: 9}), plan=Plan(deadline_ns=100)), "pass", None, "no sample"),
    ("SUMMARY-INCONSISTENT", cyclictest, "unknown", None, "no lane"),
    # ten values with a deviation of 1 us: none is more than 1 us * sqrt(9) from their mean; bins of 1 us leave 1 us * (1 + sqrt(9)) more
    ("SUMMARY-INCONSISTENT", lambda: ten_values(8000), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: ten_values(8001), "invalid", None, "(Samuelson)"),
    ("SUMMARY-INCONSISTENT", lambda: cyclictest(lane(0, {5: 9}), facts={"import": {"doubted": ["a", "b", "c", "d"]}}), "note", None, "a; b; c"),
    ("SUMMARY-INCONSISTENT", lambda: cyclictest(lane(0, {5: 9}), facts={"import": {"inconsistent": ["a", "b", "c", "d", "a"]}}), "invalid", None, "a; b; c"),
    ("SUMMARY-INCONSISTENT", lambda: cyclictest(lane(counts={}, n=0, max_ns=5)), "unknown", None, "no summary"),
    ("SUMMARY-INCONSISTENT", lambda: recording(entry(block_lane({100: 10}), sum_ns=2000)), "invalid", None, "average 200ns above maximum 100ns"),
    ("SUMMARY-INCONSISTENT", lambda: recording(entry(block_lane({100: 10}), sum_ns=2000, dropped=1)), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: recording(entry(block_lane({100: 10}), sum_ns=None)), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: recording(entry(block_lane({100: 5, 200: 5}), min_ns=150)), "invalid", None, "minimum 150ns, but the lowest bin is 100ns"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500}, over=5, limit_us=20, max_ns=15 * US), max_ns=15 * US), "invalid", None, "5 samples beyond the last bin at 20us, but the maximum is 15us"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500}, over=5, limit_us=20, max_ns=20 * US), max_ns=20 * US), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500}, over=5, limit_us=20, max_ns=30 * US), max_ns=30 * US, avg_ns=20 * US), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500}, dropped=3), max_ns=50 * US, min_ns=5 * US, avg_ns=30 * US), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500}, over=None), max_ns=50 * US), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500, 20: 500}), max_ns=20 * US, min_ns=10 * US, avg_ns=9 * US), "invalid", None, "average 9us below minimum 10us"),
    ("SUMMARY-INCONSISTENT", lambda: told("h", lane(counts={10: 500, 20: 500}), max_ns=20 * US, min_ns=10 * US, avg_ns=25 * US, sd_ns=MS), "invalid", None, "average 25us above"),
]  # fmt: skip

BOARD: list[Case] = [
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 1, "step_ns": 1001})), "warning", None, "moves in steps of 1.001us"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 1, "step_ns": 1000})), "pass", None, "resolution 1ns"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 1000, "step_ns": 1})), "pass", None, "resolution 1us"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 1001, "step_ns": None})), "invalid", None, "1.001us, and it moves"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 4000, "step_ns": 2000})), "warning", None, "timers fire at ticks"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 4000, "step_ns": 2001})), "invalid", None, "as coarse"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={}), inventory=inventory(clocksource="dmtimer"), inventory_end={}), "note", None, "is dmtimer"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 52}), inventory=inventory(clocksource="dmtimer"), inventory_end={}), "note", None, "steps of 52ns"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={"getres_ns": 52}), inventory=inventory(clocksource=None), inventory_end={}), "pass", None, "not told, resolution 52ns"),
    ("CLOCK-RES", lambda: watching(facts=facts(clock={}), inventory_end={}), "pass", None, "resolution not told"),
    ("CLOCK-RES", lambda: watching({"clock/realtime.step": [2e9], "clock/boottime.offset": [0, 9e9]}), "warning", None, "suspended for 9s during the run: its clocks stood still meanwhile; the wall clock was stepped by 2s"),
    ("CLOCK-RES", lambda: watching({"clock/realtime.step": [2e9]}, inventory_end={"clocksource": "hpet"}), "invalid", None, "hpet during the run; the wall clock"),
    ("CLOCK-RES", lambda: watching({"clock/boottime.offset": [0, 10e6]}), "pass", None, "tsc"),
    ("CLOCK-RES", lambda: watching({"clock/boottime.offset": [0, 10_000_001]}), "warning", None, "suspended for 10ms"),
    ("CLOCK-RES", lambda: watching({"clock/realtime.step": [1e6]}), "pass", None, "tsc"),
    ("CLOCK-RES", lambda: watching({"clock/realtime.step": [-1_000_001.0]}), "note", None, "stepped by 1ms"),
    ("CLOCK-RES", lambda: watching(facts=facts(wall_ns=100 * SECOND, mono_ns=SECOND), end={"wall_ns": 105 * SECOND, "mono_ns": 2 * SECOND}), "note", None, "stepped by 4s"),
    ("CLOCK-RES", lambda: watching(facts=facts(wall_ns=0, mono_ns=SECOND), end={"wall_ns": 105 * SECOND, "mono_ns": 2 * SECOND}), "pass", None, "tsc"),
    ("CLOCK-RES", lambda: watching(facts=facts(wall_ns=9 * SECOND), end={"wall_ns": 105 * SECOND, "mono_ns": 2 * SECOND}), "pass", None, "tsc"),
    (
        "CLOCK-RES",
        lambda: recording(
            replace(minute(0), seconds=seconds([9] * 60, wall=[7] * 30 + [7 - 5 * SECOND] * 30)),
            replace(minute(1), seconds=seconds([9] * 60, wall=[7] * 30 + [7 + 2 * SECOND] * 30)),
        ),
        "note",
        None,
        "stepped by 5s",
    ),
    ("CLOCK-READ-COST", lambda: watching(facts=facts(clock={"read_cost_ns": 10 * US})), "pass", None, "10us"),
    ("CLOCK-READ-COST", lambda: watching(facts=facts(clock={"read_cost_ns": 10 * US + 1})), "warning", None, "no latency can be told"),
    ("CLOCK-READ-COST", lambda: recording(minute(), block_lane({50 * US: 9}, index=1), facts=facts(clock={"read_cost_ns": 6 * US})), "warning", None, "p50 is 50us"),
    ("OBSERVER-LOAD", lambda: watching(end={"writer": {"cpu_ns_by_cpu": {"0": 3 * SECOND, "1": 6 * SECOND, "3": 9 * SECOND}}}, lanes=numbered(2)), "note", None, "10.0% of measured CPU 1"),
    ("OBSERVER-LOAD", lambda: watching(end={"writer": {"cpu_ns_by_cpu": {"0": SECOND}}}, started_ns=9, ended_ns=9), "unknown", None, "not known"),
    ("OBSERVER-LOAD", lambda: recording(minute(obtained_start=None), end={"writer": {"cpu_ns_by_cpu": {"0": SECOND}}}, facts=facts(writer={"policy": "fifo", "priority": 99})), "note", None, "below"),
    ("OBSERVER-LOAD", lambda: recording(minute(), minute(1, obtained_start=Obtained("fifo", 40)), end={"writer": {"cpu_ns_by_cpu": {"0": SECOND}}}, facts=facts(writer={"policy": "rr", "priority": 40})), "warning", None, "may have delayed"),
    ("OBSERVER-LOAD", lambda: recording(minute(obtained_start=Obtained("fifo", 1)), end={"writer": {"cpu_ns_by_cpu": {"0": SECOND}}}, facts=facts(writer={"policy": "rr", "priority": None})), "note", None, "below"),
    ("OBSERVER-LOAD", lambda: recording(minute(), end={"writer": {"cpu_ns_by_cpu": {"0": SECOND}}}, facts={}), "note", None, "below"),
    ("SELF-INTERFERENCE", lambda: recording(minute(0, measure=APPLICATION), minute(1, measure=APPLICATION, cpu=0)), "pass", None, "the program that was followed"),
    ("SELF-INTERFERENCE", lambda: recording(minute(0, measure=APPLICATION), minute(1, cpu=0), minute(2, cpu=0)), "invalid", None, "CPU 0"),
    ("SELF-INTERFERENCE", lambda: recording(*(minute(i, cpu=i // 2) for i in range(4))), "invalid", None, "CPU 0-1"),
    ("SELF-INTERFERENCE", lambda: recording(*(minute(i, cpu=None) for i in range(2)), inventory=inventory(cpus={"online": [0, 1]})), "unknown", None, "not known"),
    ("SELF-INTERFERENCE", lambda: recording(minute(cpu=None)), "pass", None, "one lane"),
    ("SELF-INTERFERENCE", lambda: recording(minute(), minute(1, cpu=None)), "unknown", None, "not known"),
    ("SELF-INTERFERENCE", recording, "unknown", None, "not known"),
    ("MAIN-ON-MEASURED", lambda: watching(facts=facts(main={"affinity": [0, 1, 2]}, writer={"affinity": [1]}), lanes=numbered(2)), "note", None, "main and writer thread may run on measured CPU 0-1,"),
    ("MAIN-ON-MEASURED", lambda: watching(facts=facts(main={"affinity": [3]}, writer={"affinity": [0]})), "note", None, "the probe's writer thread"),
    ("MAIN-ON-MEASURED", lambda: watching(facts=facts(main={"affinity": []}, writer={"affinity": None})), "unknown", None, "not known"),
    ("MAIN-ON-MEASURED", lambda: recording(minute(cpu=None)), "unknown", None, "not known"),
    ("NOT-PINNED", lambda: recording(minute(measure=APPLICATION, migrations=5)), "pass", None, "followed"),
    ("NOT-PINNED", lambda: recording(minute(0), minute(1, migrations=2), minute(2, migrations=3)), "warning", None, "CPU1, CPU2 may run on several CPUs (5 migrations"),
    ("NOT-PINNED", lambda: recording(minute(0), minute(1, obtained_start=None, obtained_end=None)), "unknown", None, "not read back"),
    ("NOT-PINNED", lambda: recording(minute(migrations=None)), "pass", None, "bound to one"),
    ("NOT-PINNED", recording, "unknown", None, "not read back"),
    ("NOT-PINNED", lambda: recording(minute(migrations=None, obtained_end=Obtained("fifo", 90, (0, 1)))), "warning", None, "(0 migrations"),
    ("NOT-PINNED", lambda: recording(minute(state="moved", obtained_start=None)), "unknown", None, "not read back"),
    ("NOT-RT-POLICY", lambda: recording(minute(measure=APPLICATION, obtained_start=Obtained("other", 0))), "pass", None, "followed"),
    ("NOT-RT-POLICY", lambda: recording(minute(0, obtained_start=Obtained("other", 0)), minute(1, obtained_end=Obtained("idle", 0)), minute(2, obtained_start=Obtained("fifo", 3))), "invalid", None, "CPU0 ran under other and 2 more such: that"),
    ("NOT-RT-POLICY", lambda: recording(minute(0, obtained_start=Obtained("other", 0)), minute(1, obtained_end=Obtained("idle", 0))), "invalid", None, "under other and 1 more such"),
    ("NOT-RT-POLICY", lambda: recording(minute(0, obtained_start=Obtained("other", 0), obtained_end=Obtained("other", 0))), "invalid", None, "CPU0 ran under other: that"),
    ("NOT-RT-POLICY", lambda: recording(minute(0), minute(1, obtained_start=None, obtained_end=Obtained(None, 9))), "unknown", None, "not read back"),
    ("NOT-RT-POLICY", recording, "unknown", None, "not read back"),
    ("NOT-RT-POLICY", lambda: recording(minute(), plan=Plan(interval_ns=MS), facts=facts(requested={"policy": "rr", "priority": 88})), "invalid", None, "88 was asked for"),
    ("NOT-RT-POLICY", lambda: recording(minute(obtained_start=Obtained("fifo", None), obtained_end=Obtained("sched_fifo", 90))), "pass", None, "every lane"),
    ("NOT-RT-POLICY", lambda: recording(minute(obtained_start=Obtained("fixed-priority", 90), obtained_end=None)), "pass", None, "every lane"),
    ("NOT-RT-POLICY", lambda: recording(minute(obtained_start=Obtained("rr", 7)), plan=Plan(), facts={}), "pass", None, "every lane"),
    ("RT-THROTTLE-ON", lambda: recording(minute(0, cpu_ns=6 * SECOND), minute(1, cpu_ns=12 * SECOND), inventory=inventory(rt_runtime_us=950_000, rt_period_us=None)), "note", None, "at most 20.0% of a CPU"),
    ("RT-THROTTLE-ON", lambda: recording(minute(0, cpu_ns=6 * SECOND), minute(1, cpu_ns=None), inventory=inventory(rt_runtime_us=950_000)), "unknown", None, "not known"),
    ("RT-THROTTLE-ON", lambda: watching(inventory=inventory(rt_runtime_us=950_000), started_ns=9, ended_ns=9), "unknown", None, "not known"),
    ("RT-THROTTLE-ON", lambda: recording(inventory=inventory(rt_runtime_us=950_000), started_ns=1, ended_ns=9), "unknown", None, "not known"),
    ("RT-THROTTLE-ON", lambda: watching({"threads/a[1].busy": [0.3, 0.5, 0.4], "threads/b[2].busy": [0.9], "threads/c[3].busy": [0.01], "threads/d[4].priority": [99.0], "threads/e[5].busy": [0.0101]}, inventory=inventory(rt_runtime_us=950_000)), "warning", None, "b[2] used 90%"),
    ("RT-THROTTLE-ON", lambda: watching({f"threads/t{i}[{i}].busy": [0.02 * (i + 1)] for i in range(10)}, inventory=inventory(rt_runtime_us=950_000)), "note", None, "at most 0.0%"),
    ("RT-THROTTLE-ON", lambda: watching(lines=["sched: RT throttling activated " + "x" * 200], inventory=inventory(rt_runtime_us=950_000)), "warning", None, "throttling activated xxx"),
    ("RT-THROTTLE-ON", lambda: watching(inventory=inventory(rt_runtime_us=950_000, throttle_messages=["y" * 200])), "warning", None, "in this boot: yyy"),
    ("PAGE-FAULTS", lambda: recording(minute(0, minor_faults=None, major_faults=None), minute(1, minor_faults=3)), "warning", None, "CPU1: 0 major and 3 minor"),
    ("PAGE-FAULTS", lambda: recording(minute(0, minor_faults=None, major_faults=None), minute(1)), "unknown", None, "not counted"),
    ("PAGE-FAULTS", lambda: recording(minute(0, minor_faults=2, major_faults=1), minute(1, minor_faults=3, major_faults=None), minute(2)), "warning", None, "CPU0, CPU1: 1 major and 5 minor"),
    ("PAGE-FAULTS", recording, "unknown", None, "not counted"),
    ("NOT-MLOCKED", lambda: watching(facts=facts(mlocked=False)), "warning", None, "was not locked: page"),
    ("KERNEL-NOT-RT", lambda: watching(labels={"kernel": "rt", "load": "x", "note": "no rt"}, inventory=inventory(kernel={"release": "6.1", "version": "#1 SMP", "config_rt": False})), "invalid", None, "not PREEMPT_RT (#1 SMP)"),
    ("GOVERNOR", lambda: watching(inventory=inventory(governors={"cpu0": "powersave", "cpu1": "ondemand", "cpu2": "schedutil"}), inventory_end={}, lanes=numbered(2)), "warning", None, "is ondemand, powersave, not"),
    ("GOVERNOR", lambda: recording(minute(cpu=None), inventory=inventory(governors={"cpu3": "ondemand"}), inventory_end={}), "warning", None, "ondemand"),
    ("GOVERNOR", lambda: watching(inventory_end={"governors": {"cpu1": "powersave"}}), "pass", None, "performance"),
    ("GOVERNOR", lambda: watching({"frequency/cpu0.frequency": [1000.0, 950.0], "frequency/cpu1.frequency": [1000.0, 400.0], "frequency/cpu2.frequency": [1000.0, 1.0]}, lanes=numbered(2)), "note", None, "moved by 60%"),
    ("GOVERNOR", lambda: watching({"frequency/cpu0.frequency": [0.0, 0.0]}), "pass", None, "performance"),
    ("GOVERNOR", lambda: watching({"frequency/cpu0.frequency": [5e8]}), "pass", None, "performance"),
    ("GOVERNOR", lambda: watching({"frequency/cpu5.frequency": [1000.0, 500.0]}, lanes=[minute(cpu=None)]), "note", None, "moved by 50%"),
    ("VM-STEAL", lambda: watching({"cpu/cpu0.steal": [0.01]}, inventory=inventory(virtualisation=None)), "warning", None, "a hypervisor is there: 1.00%"),
    ("VM-STEAL", lambda: watching({"cpu/cpu0.steal": [0.0]}, inventory=inventory(virtualisation=None)), "unknown", None, "not known"),
    ("VM-STEAL", lambda: watching({"cpu/cpu0.steal": [0.2], "cpu/cpu1.steal": [0.4], "cpu/cpu2.steal": [1.0], "cpu/cpu0.busy": [0.9]}, lanes=numbered(2), inventory=inventory(virtualisation="kvm")), "warning", None, "30.00% of the time"),
    ("VM-STEAL", lambda: watching({"cpu/cpu2.steal": [0.4]}, lanes=[minute(cpu=None)], inventory=inventory(virtualisation="kvm")), "warning", None, "40.00%"),
    ("VM-STEAL", lambda: watching(labels={"lab": "x", "load": "y"}), "invalid", "optimism", "a board of the lab: its"),
    ("VM-STEAL", lambda: watching(inventory=inventory(virtualisation="tcg", virtual_time={"ns_per_instruction": 8, "seed": 3})), "invalid", "optimism", "virtual time, 8 ns an instruction"),
    ("DEBUG-KERNEL", lambda: watching(inventory=kernel(debug=["A", "B", "C", "D", "PAGE_POISONING", "E", "F"])), "warning", None, "A, B, C, D and 2 more"),
    ("DEBUG-KERNEL", lambda: watching(inventory=kernel(debug=["A", "B", "C", "D", "E"])), "warning", None, "A, B, C, D and 1 more"),
    ("DEBUG-KERNEL", lambda: watching(inventory=kernel(debug=["A", "B", "C", "D"])), "warning", None, "A, B, C, D: that"),
    ("DEBUG-KERNEL", lambda: watching(inventory=inventory(tracing={"current_tracer": "nop", "tracing_on": True, "events_enabled": 7})), "warning", None, "7 trace events"),
    ("DEBUG-KERNEL", lambda: watching(inventory=inventory(tracing={"current_tracer": None, "tracing_on": None, "events_enabled": 7})), "warning", None, "7 trace events"),
    ("DEBUG-KERNEL", lambda: watching(inventory=inventory(tracing={"current_tracer": "function", "tracing_on": False, "events_enabled": 7})), "unknown", None, "configuration"),
    ("CSTATES", lambda: held(5), "pass", None, "held at 5 us, so C6 were not entered"),
    ("CSTATES", lambda: held(133), "pass", None, "held at 133 us"),
    ("CSTATES", lambda: watching(facts=facts(dma_latency_us=None, dma_latency_error="EACCES"), inventory=inventory(**many_states(6))), "warning", None, "not held (EACCES), so idle states were allowed: C1 takes 1 us, C2 takes 2 us, C3 takes 3 us, C4 takes 4 us to leave"),
    ("CSTATES", lambda: held(2, many_states(8)), "pass", None, "so C3, C4, C5, C6 were not entered"),
    ("CSTATES", lambda: held(None, {"idle_states": None, "idle": {"driver": "x", "governor": "menu"}}), "warning", None, "were allowed"),
    ("CSTATES", lambda: held(None, {"idle_states": None, "idle": {"driver": None}, "cpus": {}}), "warning", None, "were allowed"),
    ("CSTATES", lambda: held(None, {"idle_states": {"cpu0": [state("A", 0), state("B", 9, disabled=True)], "cpu1": [state("C", 7)]}}), "pass", None, "no idle state"),
    ("CSTATES", lambda: held(None, {"idle_states": {"cpu2": [state("A", 3)], "cpu3": [state("A", 5), state(None, 4)]}}), "warning", None, "? takes 4 us, A takes 5 us"),
    ("CSTATES", lambda: held(None, {"idle_states": {"cpu0": [state("A", 5)], "cpu1": [state("A", 3), state("B", 2)]}}, lanes=numbered(2)), "warning", None, "A takes 5 us, B takes 2 us"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, many_states(8), labels={"dma-latency": " 2 "}), "pass", None, "(label dma-latency=2)"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, many_states(8), labels={"dma-latency": "0"}), "pass", None, "so does the application"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, many_states(8), labels={"dma-latency": "YES"}), "pass", None, "so does the application"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, many_states(8), labels={"dma-latency": "No"}), "warning", None, "idle states (C3, C4, C5, C6) that"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, many_states(8), labels={"dma-latency": "none"}), "warning", None, "that were never"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, {}), "note", None, "from idle states"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(2, {}, labels={"dma-latency": "off"}), "warning", None, "idle states that were"),
    ("SMI-FIRMWARE", lambda: replace(two_lanes_late([3.0, 17.0]), telemetry=watching({"firmware/cpu0.smi": [2.0, 3.0], "firmware/cpu1.smi": [7.0], "firmware/cpu1.nmi": [99.0]}).telemetry), "warning", None, "7 system management interrupts during the run; 2 times all CPUs were late together"),
    ("SMI-FIRMWARE", lambda: replace(two_lanes_late([3.0]), telemetry=watching({"firmware/cpu0.smi": [0.0]}).telemetry), "pass", None, "no system management"),
    ("SMI-FIRMWARE", lambda: two_lanes_late([3.0], inventory=inventory(virtualisation="Bare-Metal")), "warning", None, "late together 1 times"),
    ("SMI-FIRMWARE", lambda: two_lanes_late([3.0], inventory=inventory(virtualisation=None)), "unknown", None, "nothing on this board"),
    ("SMI-FIRMWARE", lambda: changed(replace(two_lanes_late([3.0, 17.0, 25.0]), lanes=(*two_lanes_late([3.0, 17.0, 25.0]).lanes, third_late(17.0)))), "warning", None, "late together 1 times"),
    ("FAIR-SERVER", lambda: watching({"threads/hog[7].busy": [0.475]}, inventory=inventory(fair_servers=servers(50_000_000))), "warning", None, "hog[7] used 48% of a CPU"),
    ("FAIR-SERVER", lambda: watching({"threads/hog[7].busy": [0.4749]}, inventory=inventory(fair_servers=servers(50_000_000))), "note", None, "at most 0.0%"),
    ("FAIR-SERVER", lambda: recording(minute(cpu_ns=28_500_000_000), inventory=inventory(fair_servers=servers(50_000_000))), "warning", None, "a lane alone used 48%"),
    ("FAIR-SERVER", lambda: recording(minute(cpu_ns=None), inventory=inventory(fair_servers=servers(50_000_000))), "note", None, "CPU time is not known"),
    ("FAIR-SERVER", lambda: recording(minute(cpu_ns=28_400_000_000), inventory=inventory(fair_servers={"cpu0": {"runtime_ns": 25, "period_ns": 1000}, "cpu1": {"runtime_ns": 500, "period_ns": 1000}})), "note", None, "up to 0.025 of the time of CPU 0 "),
    ("FAIR-SERVER", lambda: recording(minute(cpu=None), inventory=inventory(fair_servers={"cpu0": {"runtime_ns": 0, "period_ns": 1000}, "cpu1": {"runtime_ns": 20, "period_ns": 1000}, "cpu2": {"runtime_ns": 10, "period_ns": 1000}})), "note", None, "0.02 of the time of CPU 1-2"),
    ("FAIR-SERVER", lambda: watching(inventory=inventory(fair_servers={"cpu0": {"runtime_ns": None, "period_ns": 1000}})), "unknown", None, "could not be read"),
    ("FAIR-SERVER", lambda: watching(inventory=inventory(fair_servers={"cpu0": {"runtime_ns": 5, "period_ns": 0}})), "unknown", None, "could not be read"),
    ("FAIR-SERVER", lambda: recording(minute(cpu=None), inventory=inventory(fair_servers={})), "unknown", None, "could not be read"),
    ("FAIR-SERVER", lambda: booted("6.11.9"), "pass", None, "has no fair server"),
    ("FAIR-SERVER", lambda: booted("6.12.0-rc1"), "unknown", None, "has fair servers"),
    ("CMDLINE-IGNORED", lambda: booted("6.12.48", cmdline_ignored=ignoring("BOOT=1", "single", "3", "fnord=1", "quuux")), "note", None, "command line: fnord=1 quuux"),
    ("CMDLINE-IGNORED", lambda: booted("6.12.48", cmdline_ignored=ignoring("fnord=1", "nohz_ful=1", "Isolcpus=2", nohz=True)), "warning", None, "nohz_ful=1 (meant: nohz_full?); it did not know Isolcpus=2 (meant: isolcpus?); nohz_full= does nothing"),
    ("CMDLINE-IGNORED", lambda: booted("5.14.0", cmdline_ignored=ignoring()), "pass", None, "every word"),
    ("CMDLINE-IGNORED", lambda: booted("5.13.19", cmdline_ignored=ignoring()), "unknown", None, "before 5.14"),
    ("CMDLINE-IGNORED", lambda: booted("mine", cmdline_ignored=ignoring()), "unknown", None, "before 5.14"),
    ("CMDLINE-IGNORED", lambda: booted("5.10.0", cmdline_ignored=ignoring("fnord")), "note", None, "fnord"),
    ("CMDLINE-IGNORED", lambda: booted("6.12.48", cmdline_ignored={"words": None, "nohz_unsupported": None}), "pass", None, "every word"),
]  # fmt: skip


def state(name: str | None, latency_us: int | None, disabled: bool = False) -> dict[str, Any]:
    return {"name": name, "latency_us": latency_us, "residency_us": 0, "disabled": disabled}


def ten_values(max_ns: int) -> Recording:
    beyond = lane(counts={}, over=10, limit_us=1, max_ns=max_ns)
    return told("summary", beyond, min_ns=US, avg_ns=1000.0, max_ns=max_ns, sd_ns=1000.0, n=10)


def many_states(n: int) -> dict[str, Any]:
    return {"idle_states": {"cpu0": [state(f"C{i}", i) for i in range(1, n + 1)]}}


def third_late(at_s: float) -> Lane:
    made = minute(2, spilled=1)
    return replace(made, spills=spills_of([(int(at_s * 1000), 400 * US, 0)]))

"""Cases of the checks on imported files, for test_checks.py: (check, recording, severity, kind if not the table's, words)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rtassay.model.manifest import Plan, Source
from rtassay.model.recording import Lane, Recording

from ..build import MS, US, block_lane, cyclictest, published, recording, skip_lane

MANY = {us: 50 for us in range(5, 25)}


def lane(index: int = 0, counts: dict[int, int] | None = None, **changes: Any) -> Lane:
    made = skip_lane(MANY if counts is None else counts, **changes)
    return replace(made, entry=replace(made.entry, index=index, name=str(index)))


def told(kind: str = "histogram", *lanes: Lane, stream: dict[str, Any] | None = None, **row: Any) -> Recording:
    """A file whose own summary says `row` of lane 0."""
    about: dict[str, Any] = {"kind": kind, "unit_from": "format"}
    about["lanes"] = [{"lane": 0, "n": None, "min_ns": None, "avg_ns": None, "max_ns": None, "sd_ns": None} | row]
    if stream is not None:
        blank = {"lane": 0, "gaps": 0, "lost": 0, "duplicates": 0, "backwards": 0, "reduced": None, "undrained": 0}
        about["stream"] = [blank | {"max_ns": 24 * US} | stream]
    return cyclictest(*(lanes or (lane(),)), facts={"import": about})


def stream(**row: Any) -> Recording:
    summary = {"max_ns": row.pop("told_max_ns", 24 * US)}
    return told("stream", stream=row, **summary)


def nobody() -> Recording:
    return cyclictest()


def summary_of(**row: Any) -> Recording:
    return told("histogram", lane(counts={10: 500, 20: 500}, max_ns=20 * US, min_ns=10 * US), **row)


def with_count(count: int | None, *counts: int) -> Recording:
    return cyclictest(*(lane(i, {5: n}) for i, n in enumerate(counts)), plan=Plan(count=count))


Case = tuple[str, Callable[[], Recording], str, str | None, str]

IMPORTED: list[Case] = [
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0), lane(1, interval=2 * MS)), "warning", None, "1000/2000 us"),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0), lane(1)), "pass", None, "one interval"),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0), lane(1, interval=None)), "unknown", None, "not known"),
    ("INTERVAL-SPREAD", nobody, "unknown", None, "no lane"),
    (
        "LOOPS-FIRST-WINS",
        lambda: with_count(1_000_000, 1_000_000, 666_667),
        "warning",
        None,
        "1666667 samples in all, not 2000000",
    ),
    ("LOOPS-FIRST-WINS", lambda: with_count(None, 1000, 500), "warning", None, "500 to 1000"),
    ("LOOPS-FIRST-WINS", lambda: with_count(1_000_000, 1_000_000, 999_985), "pass", None, "as many"),
    ("LOOPS-FIRST-WINS", lambda: published("rt"), "pass", None, "as many"),
    (
        "LOOPS-FIRST-WINS",
        lambda: cyclictest(lane(0, {5: 9}), lane(1, {5: 5}), plan=Plan(duration_ns=MS)),
        "pass",
        None,
        "ended by time",
    ),
    ("LOOPS-FIRST-WINS", nobody, "unknown", None, "no lane"),
    ("VERBOSE-RING", lambda: stream(duplicates=2), "invalid", None, "repeat or run backwards"),
    ("VERBOSE-RING", lambda: stream(gaps=1, lost=40), "invalid", None, "40 cycles are absent"),
    ("VERBOSE-RING", lambda: stream(gaps=9, lost=81, reduced=10), "invalid", None, "each 10 samples"),
    ("VERBOSE-RING", lambda: stream(told_max_ns=90 * US), "invalid", None, "is not in the stream"),
    ("VERBOSE-RING", lambda: stream(undrained=7, told_max_ns=90 * US), "warning", None, "7 samples"),
    ("VERBOSE-RING", lambda: stream(undrained=None, told_max_ns=None), "warning", None, "no summary"),
    ("VERBOSE-RING", stream, "pass", None, "every cycle"),
    ("VERBOSE-RING", lambda: cyclictest(lane()), "pass", None, "did not come through a ring"),
    ("VERBOSE-RING", nobody, "unknown", None, "no lane"),
    ("QUANTISED", lambda: cyclictest(lane(counts={1: 50, 2: 60, 3: 1})), "warning", None, "up to 4us"),
    ("QUANTISED", lambda: cyclictest(lane()), "pass", None, "many bins"),
    ("QUANTISED", lambda: recording(block_lane({100: 1000})), "pass", None, "nanoseconds"),
    ("QUANTISED", lambda: cyclictest(lane(counts={1: 5})), "unknown", None, "100 samples"),
    ("NEGATIVE-OR-ZERO", lambda: cyclictest(lane(counts={0: 1, 5: 9})), "warning", None, "0ns"),
    ("NEGATIVE-OR-ZERO", lambda: cyclictest(lane(counts={-3: 1, 5: 9})), "warning", None, "-3us"),
    ("NEGATIVE-OR-ZERO", lambda: cyclictest(lane()), "pass", None, "above 0"),
    ("NEGATIVE-OR-ZERO", nobody, "unknown", None, "no minimum"),
    ("LESS-EQUAL-EDGE", lambda: cyclictest(lane(), plan=Plan(deadline_ns=10 * US)), "warning", None, "50 samples"),
    ("LESS-EQUAL-EDGE", lambda: cyclictest(lane(), plan=Plan(deadline_ns=25 * US)), "pass", None, "no sample"),
    ("LESS-EQUAL-EDGE", lambda: cyclictest(lane()), "pass", None, "no deadline"),
    ("LESS-EQUAL-EDGE", nobody, "unknown", None, "no lane"),
    (
        "TOOL-VERSION-UNKNOWN",
        lambda: cyclictest(lane(), source=Source("cyclictest", None, "cyclictest")),
        "warning",
        None,
        "late wake-up is not known",
    ),
    (
        "TOOL-VERSION-UNKNOWN",
        lambda: cyclictest(lane(), source=Source("jitterdebugger", None, "jitterdebugger", "catch_up")),
        "note",
        None,
        "does not tell the version of jitterdebugger",
    ),
    (
        "TOOL-VERSION-UNKNOWN",
        lambda: cyclictest(lane(), facts={"import": {"unit_from": "assumed"}}),
        "warning",
        None,
        "us is assumed",
    ),
    ("TOOL-VERSION-UNKNOWN", lambda: cyclictest(lane()), "pass", None, "cyclictest 2.4"),
    ("TOOL-VERSION-UNKNOWN", nobody, "unknown", None, "no lane"),
    ("SUMMARY-INCONSISTENT", lambda: summary_of(min_ns=30 * US, max_ns=20 * US), "invalid", None, "above maximum"),
    (
        "SUMMARY-INCONSISTENT",
        lambda: summary_of(min_ns=10 * US, avg_ns=25 * US, max_ns=20 * US),
        "invalid",
        None,
        "average",
    ),
    (
        "SUMMARY-INCONSISTENT",
        lambda: summary_of(min_ns=10 * US, max_ns=90 * US),
        "invalid",
        None,
        "highest bin is 20us",
    ),
    ("SUMMARY-INCONSISTENT", lambda: summary_of(min_ns=3 * US, max_ns=20 * US), "invalid", None, "lowest bin is 10us"),
    (
        "SUMMARY-INCONSISTENT",
        lambda: summary_of(n=7, min_ns=10 * US, max_ns=20 * US),
        "invalid",
        None,
        "7 samples in the summary",
    ),
    (
        "SUMMARY-INCONSISTENT",
        # 36802 us cannot be among 10 values of mean 14.7 and deviation 122 us
        lambda: told(
            "summary",
            lane(counts={}, over=10, max_ns=36802 * US),
            min_ns=US,
            avg_ns=14_694.2,
            max_ns=36802 * US,
            sd_ns=122_080.0,
            n=10,
        ),
        "invalid",
        None,
        "Samuelson",
    ),
    (
        "SUMMARY-INCONSISTENT",
        lambda: told(
            "summary",
            lane(counts={}, over=1000, max_ns=20 * US),
            min_ns=US,
            avg_ns=5_000.0,
            max_ns=20 * US,
            sd_ns=15_000.0,
            n=1000,
        ),
        "invalid",
        None,
        "Bhatia-Davis",
    ),
    (
        "SUMMARY-INCONSISTENT",
        # the row of OSPERT 2024 for the stock Raspberry Pi 5
        lambda: told(
            "summary",
            lane(counts={}, over=41_289_829, max_ns=36802 * US),
            min_ns=US,
            avg_ns=14_694.2,
            max_ns=36802 * US,
            sd_ns=122_080.0,
            n=41_289_829,
        ),
        "pass",
        None,
        "agree",
    ),
    ("SUMMARY-INCONSISTENT", lambda: summary_of(min_ns=10 * US, avg_ns=15 * US, max_ns=20 * US), "pass", None, "agree"),
    ("SUMMARY-INCONSISTENT", lambda: published("rt"), "unknown", None, "no summary"),
]

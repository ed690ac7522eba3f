"""A recording beside published rows: what differs, and where a row says nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.many.against import against
from rtassay.model.published import AgainstRow, Published, PublishedCheck

from ..build import MS, cyclictest, skip_lane

FINDINGS = replace(
    judge(cyclictest(skip_lane({5: 10, 9: 1}), labels={"load": "hackbench"})), duration_s=3600.0, interval_ns=MS
)
ROW = Published(
    id="R", system="a board", cpu="", cores="", kernel="6.1", preempt="RT", isolated="", load="hackbench", tool="cyclictest 2.4",
    command="", interval_us="1000", duration="1 h", samples="", min_us="", avg_us="", max_us="", stdev_us="", scope="", source="a paper",
    locator="", verification="read", notes="", idle=False, duration_s=3600.0, intervals_us=(1000,),
)  # fmt: skip


def beside(findings: object = FINDINGS, **changes: object) -> AgainstRow:
    return against(findings, [replace(ROW, **changes)], (), "x").rows[0]  # type: ignore[arg-type]


def test_a_row_that_states_the_same_does_not_differ() -> None:
    assert beside() == AgainstRow(
        id="R", system="a board", kernel="6.1 (RT)", load="hackbench", tool="cyclictest 2.4", interval="1000", duration="1 h",
        samples="not stated", min_us="-", avg_us="-", max_us="-", source="a paper (read)",
    )  # fmt: skip
    silent = beside(
        preempt="",
        verification="",
        load="",
        idle=None,
        interval_us="",
        intervals_us=(),
        duration="",
        duration_s=None,
        min_us="1",
        avg_us="2",
        max_us="3",
        samples="9",
    )
    assert (silent.kernel, silent.source, silent.samples) == ("6.1", "a paper", "9")
    assert (silent.load, silent.interval, silent.duration) == ("not stated",) * 3
    assert (silent.min_us, silent.avg_us, silent.max_us) == ("1", "2", "3")
    assert silent.differs == ("load not comparable", "duration not comparable", "interval not comparable")


@pytest.mark.parametrize(
    ("duration_s", "words"),
    [
        (3960.0, None),
        (3276.0, None),
        (4020.0, "duration (1.1 times as long)"),
        (3240.0, "duration (0.9 of this one)"),
        (35640.0, "duration (9.9 times as long)"),
        (36000.0, "duration (10 times as long)"),
        (259200.0, "duration (72 times as long)"),
        (8640000.0, "duration (2,400 times as long)"),
        (36.0, "duration (0.01 of this one)"),
        (None, "duration not comparable"),
    ],
)
def test_a_duration_within_a_tenth_is_the_same(duration_s: float | None, words: str | None) -> None:
    assert beside(duration_s=duration_s).differs == (() if words is None else (words,))


@pytest.mark.parametrize(
    ("own", "other", "idle", "words"),
    [
        ("hackbench", "Hackbench", False, None),
        ("hackbench", "stress", False, "load"),
        ("none", "idle", True, None),
        ("idle", "none (idle system)", True, None),
        ("none", "stress", False, "load (none here)"),
        ("stress", "none", True, "load (none there)"),
        ("none", "none stated", None, "load not comparable"),
        ("unknown", "stress", False, "load not comparable"),
        ("unknown", "", None, "load not comparable"),
    ],
)
def test_loads(own: str, other: str, idle: bool | None, words: str | None) -> None:
    assert beside(replace(FINDINGS, load=own), load=other, idle=idle).differs == (() if words is None else (words,))


def test_tools_and_intervals() -> None:
    assert beside(tool="timerlat").differs == ("tool",) and beside(tool="Cyclictest").differs == ()
    assert beside(intervals_us=(100, 100)).differs == ("interval (100 us, here 1000 us)",)
    assert beside(intervals_us=(1000, 1500)).differs == ("interval (1000/1500 us, here 1000 us)",)
    assert beside(intervals_us=(1000, 1000)).differs == ()
    assert beside(replace(FINDINGS, interval_ns=None)).differs == ("interval not comparable",)
    assert beside(replace(FINDINGS, duration_s=None)).differs == ("duration not comparable",)
    assert beside(replace(FINDINGS, source={})).differs == ("tool",)


def test_the_recording_itself_says_what_it_does_not_know() -> None:
    own = against(FINDINGS, [], (), "asked").own
    assert (own.id, own.interval, own.duration, own.samples) == ("this", "1000", "1h", "11")
    assert own.max_us == "9.0" and own.source == FINDINGS.id and own.tool.startswith("cyclictest")
    known = replace(FINDINGS, pooled=replace(FINDINGS.pooled, mean_ns=5_364.0), source={"tool": "timerlat"})
    told = against(known, [], (), "asked").own
    assert (told.avg_us, told.tool, told.min_us) == ("5.4", "timerlat", "5.0")
    blank = replace(
        FINDINGS, interval_ns=None, duration_s=None, kernel=None, pooled=replace(FINDINGS.pooled, mean_ns=None)
    )
    unknown = against(blank, [], (), "asked").own
    assert (unknown.interval, unknown.duration, unknown.kernel, unknown.avg_us) == (
        "not known",
        "not known",
        "not known",
        "-",
    )


def test_checks_of_other_rows_are_left_out_and_each_is_named_once() -> None:
    checks = [
        PublishedCheck(name, "warning", rows, "") for name, rows in (("A", ("R", "S")), ("B", ("S",)), ("A", ("R",)))
    ]
    assert against(FINDINGS, [ROW], checks, "x").rows[0].checks == ("A",)

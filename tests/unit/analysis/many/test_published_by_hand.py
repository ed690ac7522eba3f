"""Filters and checks of published rows, from rows written by hand: every bound, and the whole text of what is found."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace
from typing import Any

import pytest

from rtassay.analysis.many.published import check, choose, intervals
from rtassay.model.published import Published

BLANK = Published(**{field.name: "" for field in fields(Published) if field.default is MISSING})
ROW = replace(BLANK, id="X", system="B", kernel="6.1")


def found(**changes: Any) -> list[tuple[str, str, str]]:
    """(id, severity, text) of what is found in one row; every finding names the row."""
    results = check([replace(ROW, **changes)])
    assert all(one.rows == ("X",) for one in results)
    return [(one.id, one.severity, one.message) for one in results]


def ids(**changes: Any) -> list[str]:
    return [name for name, _, _ in found(**changes)]


def fits(row: Published, **wanted: Any) -> bool:
    return choose([row], **wanted) == (row,)


PI = replace(BLANK, id="R1", system="Raspberry Pi 3 Model B+", kernel="6.1-rt7", preempt="PREEMPT_RT", load="stress -c 4", tool="cyclictest 2.4", idle=False)  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "yes"),
    [
        ({}, True),
        ({"board": "rpi3b+"}, True),
        ({"board": "RPi 3"}, True),
        ({"board": "rpi4"}, False),
        ({"tool": "CyclicTest"}, True),
        ({"tool": "timerlat"}, False),
        ({"load": "STRESS"}, True),
        ({"load": "hackbench"}, False),
        ({"load": "none"}, False),
        ({"text": ("-c 4",)}, True),
        ({"text": ("rpi3",)}, True),
        ({"text": ("rpi3", "Stress")}, True),
        ({"text": ("rpi3", "hackbench")}, False),
        ({"text": ("rpi4",)}, False),
        ({"board": "rpi3", "load": "hackbench"}, False),
    ],
)
def test_a_row_is_chosen_by_all_that_is_given(wanted: dict[str, Any], yes: bool) -> None:
    assert fits(PI, **wanted) is yes


@pytest.mark.parametrize(
    ("preempt", "wanted", "yes"),
    [
        ("PREEMPT_RT", "RT", True),
        ("PREEMPT_RT", "preempt_rt", True),
        ("rt-tree", "rt", False),
        ("", "rt", False),
        ("PREEMPT_RT", "stock", False),
        ("stock", "stock", True),
        ("mainline", "stock", True),
        ("PREEMPT", "stock", True),
        ("non-RT", "stock", True),
        ("lowlatency", "stock", False),
        ("lowlatency", "latency", True),
        ("lowlatency", "6.1-RT", True),
        ("lowlatency", "6.2", False),
    ],
)
def test_kernels_by_their_kind_or_name(preempt: str, wanted: str, yes: bool) -> None:
    assert fits(replace(PI, preempt=preempt), kernel=wanted) is yes


def test_idle_rows_are_those_that_say_so() -> None:
    for word in ("none", "idle", "None"):
        assert fits(replace(BLANK, idle=True), load=word)
        assert not fits(replace(BLANK, idle=None, load="none stated"), load=word)
        assert not fits(replace(BLANK, idle=False, load="idle tasks"), load=word)


COUNTS = {"duration_s": 1.0, "intervals_us": (1000,)}
"""A thousand activations."""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"counted": 1001}, None),
        ({"counted": 999}, None),
        ({"counted": 1002}, "expected 1000); more by 0.2%, they imply 1 s"),
        ({"counted": 998}, "expected 1000); fewer by 0.2%"),
        ({"counted": 2000}, "expected 1000); more by 100.0%, they imply 2 s"),
        ({"counted": 1100, "duration_about": True}, None),
        ({"counted": 1101, "duration_about": True}, "expected 1000); more by 10.1%, they imply 1.1 s"),
        ({"counted": None}, None),
        ({"counted": 5, "duration_s": None}, None),
        ({"counted": 5, "intervals_us": ()}, None),
    ],
)
def test_samples_that_the_stated_time_cannot_hold(changes: dict[str, Any], words: str | None) -> None:
    told = [text for _, _, text in found(**{**COUNTS, **changes})]
    begin = f"B: {changes['counted']} samples cannot come from 1 s at 1000 us ("
    assert told == ([] if words is None else [begin + words])


def test_the_threads_that_were_counted_have_intervals_of_their_own() -> None:
    unequal = {"duration_s": 1.0, "intervals_us": (1000, 500)}
    assert ids(**unequal, counted=3000, counted_lanes=2) == ["INTERVAL-SPREAD"]
    assert ids(**unequal, counted=1000, counted_lanes=1) == ["INTERVAL-SPREAD"]
    assert ids(**unequal, counted=3000, counted_lanes=1) == ["COUNT-MISMATCH", "INTERVAL-SPREAD"]
    assert ids(duration_s=1.0, intervals_us=(1000, 0), counted=5) == ["INTERVAL-SPREAD"], (
        "an interval of 0 tells nothing"
    )
    assert intervals(replace(ROW, intervals_us=(200, 200))) == "200"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (59.0, "59 s"),
        (60.0, "1 min"),
        (3599.0, "60 min"),
        (3600.0, "1 h"),
        (86399.0, "24 h"),
        (86400.0, "1 d"),
        (129600.0, "1.5 d"),
    ],
)
def test_lengths_in_words(seconds: float, words: str) -> None:
    ((_, _, text),) = found(duration_s=seconds, intervals_us=(1000,), counted=1)
    assert f"cannot come from {words} at 1000 us" in text


def test_threads_of_one_run_that_are_off_by_one_factor_are_one_finding() -> None:
    rows = [replace(ROW, id=name, duration_s=100.0, intervals_us=(1000,), counted=n) for name, n in (("a", 150_010), ("b", 150_020), ("c", 151_000))]  # fmt: skip
    assert [one.rows for one in check(rows)] == [("a", "b"), ("c",)]
    assert [one.rows for one in check([rows[0], replace(rows[1], source="another")])] == [("a",), ("b",)]


SUMMARY = {"min_us": "1", "avg_us": "4", "max_us": "12", "stdev_us": "6"}
"""Bhatia and Davis, whole us: (12 + 1 - 4) (4 + 1 - 1) = 36, so a deviation of 6 is the largest."""


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"stdev_us": "6.01"}, "a deviation of 6.01 us is impossible between 1 and 12 us"),
        ({"stdev_us": ">7"}, None),
        ({"stdev_us": "7", "avg_us": "~4"}, None),
        ({"stdev_us": "7", "min_us": "<1"}, None),
        ({"stdev_us": "7", "max_us": "<12"}, None),
        ({"min_us": "5", "avg_us": "5", "max_us": "5", "stdev_us": ""}, "quantised"),
        ({"min_us": "5.1", "avg_us": "5", "max_us": "20"}, "the minimum 5.1 us is above the average 5 us"),
        ({"avg_us": "12.1"}, "the average 12.1 us is above the maximum 12 us"),
        ({"avg_us": "75-100", "max_us": "74"}, "the average 75-100 us is above the maximum 74 us"),
        # Samuelson: 4 + 2 sqrt(10 - 1) + 1 = 11
        ({"max_us": "11", "stdev_us": "2", "counted": 10}, None),
        (
            {"max_us": "11.1", "stdev_us": "2", "counted": 10},
            "a maximum of 11.1 us is impossible with that deviation and 10 samples",
        ),
        ({"max_us": "11.1", "stdev_us": "2"}, None),
    ],
)
def test_summaries_at_the_bounds_that_all_samples_obey(changes: dict[str, Any], words: str | None) -> None:
    told = found(**{**SUMMARY, **changes})
    if words == "quantised":
        assert [name for name, _, _ in told] == ["QUANTISED"]
    else:
        assert told == ([] if words is None else [("SUMMARY-INCONSISTENT", "invalid", f"B, 6.1: {words}")])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"max_us": "51", "cpu_max_us": (51.0, 40.0)}, None),
        ({"max_us": "51", "cpu_max_us": (50.0, 40.0)}, "the maximum is 51 us, of the CPUs the largest is 50 us"),
        ({"max_us": "<60", "cpu_max_us": (50.0, 40.0)}, None),
        ({"max_us": "", "cpu_max_us": (50.0, 40.0)}, None),
        ({"cores": "2", "cpu_max_us": (50.0, 40.0)}, None),
        ({"cores": "4", "cpu_max_us": (50.0, 40.0)}, "2 values per line for a part with 4 cores"),
        ({"cores": "4", "cpu_max_us": ()}, None),
        ({"cores": "2+2", "cpu_max_us": (50.0, 40.0)}, None),
    ],
)
def test_values_of_each_cpu(changes: dict[str, Any], words: str | None) -> None:
    told = found(**changes)
    assert told == ([] if words is None else [("SUMMARY-INCONSISTENT", "invalid", f"B, 6.1: {words}")])


def test_a_text_against_its_table() -> None:
    assert found(text_max_us=125.0, max_us="124", source="a paper") == [
        ("SUMMARY-INCONSISTENT", "invalid", "a paper: the text says 125 us, the table 124 us")
    ]


RAW = replace(ROW, id="raw", system="RPi 4", kernel="6.1 (own build)", verification="recomputed from published raw histogram", avg_us="10", max_us="100")  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "name", "words"),
    [
        ({}, None, ""),
        ({"max_us": "101"}, None, ""),
        ({"max_us": "99"}, None, ""),
        ({"max_us": "101.5"}, "a maximum", "101.5 us, the raw data hold 100"),
        ({"max_us": "98.5"}, "a maximum", "98.5 us, the raw data hold 100"),
        ({"max_us": "<98.9"}, "a maximum", "<98.9 us, the raw data hold 100"),
        ({"max_us": "<99"}, None, ""),
        ({"max_us": ">101"}, None, ""),
        ({"avg_us": "12"}, "an average", "12 us, the raw data hold 10"),
        ({"avg_us": ""}, None, ""),
        ({"max_us": "500", "kernel": "6.2"}, None, ""),
        ({"max_us": "500", "system": "Raspberry Pi 5"}, None, ""),
        ({"max_us": "500", "kernel": "6.1 (Debian)"}, "a maximum", "500 us, the raw data hold 100"),
    ],
)
def test_a_table_beside_the_raw_data_that_it_cites(changes: dict[str, str], name: str | None, words: str) -> None:
    cited = replace(
        RAW, **{"id": "cited", "system": "Raspberry Pi 4", "kernel": "6.1", "verification": "read", **changes}
    )  # type: ignore[arg-type]
    told = [(one.id, one.severity, one.rows, one.message) for one in check([cited, RAW])]
    text = f"{cited.system}, {cited.kernel}: cited with {name} of {words} us"
    assert told == ([] if name is None else [("SUMMARY-INCONSISTENT", "invalid", ("cited", "raw"), text)])


def test_a_value_that_one_side_does_not_state_is_no_contradiction() -> None:
    silent = replace(RAW, avg_us="", max_us="")
    assert check([replace(RAW, id="cited", verification="read"), silent]) == ()
    assert check([replace(silent, id="cited", verification="read"), RAW]) == ()


def test_one_vector_for_two_boards() -> None:
    one = replace(ROW, id="a", min_us="1", avg_us="2", cpu_max_us=(30.0, 40.5))
    other = replace(one, id="b", system="C")
    (result,) = check([one, other])
    assert (result.id, result.severity, result.rows) == ("DUPLICATE-RESULT", "warning", ("a", "b"))
    assert result.message == "min 1, avg 2, max 30/40.5 us stands for 2 results: B, 6.1; C, 6.1"
    assert check([one, replace(one, id="b")]) == (), "the same result, listed twice"
    assert check([one, replace(other, avg_us="3")]) == ()
    single = [replace(row, cpu_max_us=(30.0,)) for row in (one, other)]
    assert check(single) == (), "three numbers may agree by chance"


@pytest.mark.parametrize(
    ("top", "beyond"),
    [
        ("99", False),
        ("100", True),
        ("50/120", True),
        ("50/99", False),
        ("60-130", False),
        ("80-120", True),
        ("~99", False),
        ("", False),
    ],
)
def test_a_maximum_beyond_the_histogram(top: str, beyond: bool) -> None:
    text = f"B, 6.1: a maximum of {top} us lies beyond the histogram (-h 100); its tail was not seen"
    told = found(command="cyclictest -p98 -h100 -q", max_us=top)
    assert told == ([("HIST-TRUNCATED", "warning", text)] if beyond else [])
    assert found(command="cyclictest -p98 -q", max_us=top) == []


@pytest.mark.parametrize(
    ("command", "other"),
    [
        ("cyclictest -m -i1000", True),
        ("cyclictest -p99 -m", False),
        ("cyclictest -m -Sp98", False),
        ("cyclictest --prio=90", False),
        ("cyclictest -m --policy=fifo", False),
        ("cyclictest", False),
        ("cyclictest results", False),
        ("chrt -p 1 cyclictest -m", True),
        ("./rt-test -m", False),
    ],
)
def test_threads_without_a_priority(command: str, other: bool) -> None:
    text = "B, 6.1: no -p on the command line, so the threads ran as SCHED_OTHER"
    assert found(command=command) == ([("NOT-RT-POLICY", "invalid", text)] if other else [])


def test_threads_of_two_intervals() -> None:
    text = "B, 6.1: the threads have different intervals (1000/500 us); pooled figures are mostly the first thread's"
    assert found(intervals_us=(1000, 500)) == [("INTERVAL-SPREAD", "warning", text)]
    assert found(intervals_us=(500, 500)) == []


@pytest.mark.parametrize(
    ("low", "top", "few"),
    [
        ("1", "4", True),
        ("1", "5", False),
        ("1", "4.5", False),
        ("~1", "4", False),
        ("1", "~4", False),
        ("1", "", False),
    ],
)
def test_fewer_than_five_steps(low: str, top: str, few: bool) -> None:
    text = f"B, 6.1: {low} to {top} us is fewer than five steps of the 1 us histogram"
    assert found(min_us=low, max_us=top) == ([("QUANTISED", "warning", text)] if few else [])


@pytest.mark.parametrize(("low", "told"), [("0", True), ("-1.5", True), ("1", False), ("<1", False), ("", False)])
def test_a_minimum_of_nothing(low: str, told: bool) -> None:
    text = f"B, 6.1: a minimum of {low} us"
    assert found(min_us=low) == ([("NEGATIVE-OR-ZERO", "warning", text)] if told else [])

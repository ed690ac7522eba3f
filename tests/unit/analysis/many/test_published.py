"""Published results: their checks find the known errors and nothing in sound rows; filters; a recording beside them."""

from __future__ import annotations

from dataclasses import MISSING, fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.analysis.judge import judge
from rtassay.analysis.many.against import against
from rtassay.analysis.many.published import check, choose, number
from rtassay.model.published import Published, PublishedCheck
from rtassay.published import load

from ..build import US, cyclictest, skip_lane

AS_PRINTED = [field.name for field in fields(Published) if field.default is MISSING]
BLANK = Published(**dict.fromkeys(AS_PRINTED, ""))


def of(*rows: Published, name: str) -> list[PublishedCheck]:
    return [found for found in check(rows) if found.id == name]


def found(name: str) -> dict[tuple[str, ...], str]:
    return {result.rows: result.message for result in check(load()) if result.id == name}


def test_every_row_is_whole() -> None:
    rows = load()
    assert [row.id for row in rows] == [f"R{i:03}" for i in range(1, len(rows) + 1)] and len(rows) >= 111
    assert all(row.system and row.source and row.locator and row.verification for row in rows)


def test_the_rk3562_counts_cannot_be_three_days() -> None:
    counts = found("COUNT-MISMATCH")
    text = counts[("R025", "R026", "R027", "R028")]
    assert "420738794" in text and "expected 259200000" in text and "4.87 d" in text
    assert not any({"R029", "R033"} & set(rows) for rows in counts), "RK3568 and RK3588 have the right counts"


def test_the_ospert_rows_lack_an_eighth_of_their_samples() -> None:
    assert "41289829" in found("COUNT-MISMATCH")[("R001",)] and "13.1%" in found("COUNT-MISMATCH")[("R001",)]


def test_the_two_ospert_maxima_are_found() -> None:
    assert "the text says 125 us, the table 124 us" in found("SUMMARY-INCONSISTENT")[("R002",)]


def test_the_repeated_ti_rows_are_found() -> None:
    duplicates = found("DUPLICATE-RESULT")
    assert {("R049", "R110", "R111"), ("R073", "R109")} == set(duplicates)
    assert "AM64x" in duplicates[("R073", "R109")] and "AM62A" in duplicates[("R073", "R109")]
    assert "2 values per line for a part with 4 cores" in found("SUMMARY-INCONSISTENT")[("R109",)]


def test_a_table_that_contradicts_the_raw_data_it_cites_is_found() -> None:
    texts = [result.message for result in check(load()) if result.rows == ("R012", "R018")]
    assert len(texts) == 2 and any("22.276" in text for text in texts) and any("136" in text for text in texts)


def test_what_command_lines_give_away() -> None:
    assert set(found("NOT-RT-POLICY")) == {("R098",), ("R099",)}
    assert ("R021",) in found("HIST-TRUNCATED") and ("R099",) in found("HIST-TRUNCATED")
    assert {("R001",), ("R102",)} <= set(found("INTERVAL-SPREAD"))
    assert set(found("QUANTISED")) == {("R039",), ("R040",), ("R102",)}
    assert set(found("NEGATIVE-OR-ZERO")) == {("R102",), ("R105",)}


def test_every_published_deviation_is_possible() -> None:
    assert not [m for rows, m in found("SUMMARY-INCONSISTENT").items() if "impossible" in m]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"min_us": "9", "avg_us": "5", "max_us": "20"}, "above the average"),
        ({"min_us": "1", "avg_us": "50-60", "max_us": "20"}, "above the maximum"),
        ({"min_us": "1", "avg_us": "2", "max_us": "11", "stdev_us": "9"}, "impossible between"),
        ({"min_us": "1", "avg_us": "2", "max_us": "900", "stdev_us": "1", "counted": 1000}, "1000 samples"),
        ({"max_us": "50", "cpu_max_us": (40.0, 51.0)}, "of the CPUs the largest is 51"),
    ],
)
def test_summaries_that_cannot_be(changes: dict[str, str], words: str) -> None:
    (result,) = of(replace(BLANK, id="X", **changes), name="SUMMARY-INCONSISTENT")
    assert words in result.message and result.severity == "invalid" and result.rows == ("X",)


def test_sound_rows_are_left_alone() -> None:
    sound = replace(
        BLANK,
        id="X",
        system="B",
        min_us="1",
        avg_us="5.9",
        max_us="124",
        stdev_us="3.2",
        counted=3600000,
        intervals_us=(1000,),
        duration_s=3600.0,
        command="cyclictest -m -Sp98 -i1000 -h400 -q",
    )
    assert check([sound, replace(sound, id="Y", system="C", max_us="125")]) == ()
    assert of(replace(sound, counted=3596399), name="COUNT-MISMATCH")
    assert not of(replace(sound, counted=3596401), name="COUNT-MISMATCH"), "0.1 % is start and stop"
    assert not of(replace(sound, counted=3300000, duration_about=True), name="COUNT-MISMATCH"), "about an hour"


@pytest.mark.parametrize(
    ("text", "low", "high", "exact"),
    [
        ("124", 124, 124, True),
        ("-1.576", -1.576, -1.576, True),
        ("5/5/4/4", 4, 5, True),
        ("<50", 0, 50, False),
        (">260", 260, float("inf"), False),
        ("75-100", 75, 100, False),
        ("~500", 400, 600, False),
    ],
)
def test_figures_as_printed(text: str, low: float, high: float, exact: bool) -> None:
    figure = number(text)
    assert figure is not None and (figure.low, figure.high, figure.exact) == (low, high, exact)


def test_what_is_no_figure() -> None:
    assert number("") is None and number("n/a") is None and number('~500 (read "almost 500us")') is None


@given(
    st.lists(
        st.builds(
            Published,
            **{name: st.text("0159.,-/<>~ dhPT()naegrx", max_size=12) for name in AS_PRINTED},
            idle=st.none() | st.booleans(),
            duration_s=st.none() | st.floats(0.1, 1e9),
            intervals_us=st.lists(st.integers(0, 10**6), max_size=5).map(tuple),
            counted=st.none() | st.integers(0, 10**12),
            cpu_max_us=st.lists(st.floats(0, 1e9), max_size=5).map(tuple),
            text_max_us=st.none() | st.floats(0, 1e9),
        ),
        max_size=4,
    )
)
def test_no_text_breaks_the_checks(rows: list[Published]) -> None:
    for result in check(rows):
        assert result.rows and "\n" not in result.message
    choose(rows, board="pi", kernel="rt", load="none", tool="x", text=("a",))


@pytest.mark.parametrize(
    ("board", "ids"),
    [
        ("pi5", {"R001", "R002", "R095"}),
        ("rpi5", {"R001", "R002", "R095"}),
        ("RK3562", {"R025", "R026", "R027", "R028"}),
    ],
)
def test_boards_as_people_name_them(board: str, ids: set[str]) -> None:
    assert {row.id for row in choose(load(), board=board)} == ids


def test_filters_narrow() -> None:
    assert {row.id for row in choose(load(), board="pi5", kernel="rt")} == {"R002", "R095"}
    assert {row.id for row in choose(load(), board="pi5", kernel="stock")} == {"R001"}
    assert all(row.load.startswith(("none", "idle")) for row in choose(load(), load="none"))
    assert choose(load(), text=("no such word",)) == ()


def test_a_recording_beside_them_says_what_differs() -> None:
    findings = judge(cyclictest(skip_lane({5: 10, 9: 1}), labels={"load": "hackbench"}))
    rows = choose(load(), board="pi5", kernel="rt")
    table = against(findings, rows, check(load()), "published:pi5")
    assert table.own.max_us == "9.0" and table.own.load == "hackbench" and table.own.samples == "11"
    first, second = table.rows
    assert (first.id, first.max_us, first.checks) == (
        "R002",
        "124",
        ("COUNT-MISMATCH", "SUMMARY-INCONSISTENT", "INTERVAL-SPREAD"),
    )
    assert "load" in first.differs and "duration not comparable" in first.differs and "tool" not in first.differs
    assert "interval (100/600/1100/1600 us, here 1000 us)" in first.differs
    assert "load not comparable" not in second.differs or second.load == "not stated"
    assert findings.interval_ns == 1000 * US

"""Tables for papers: the numbers of the published files as awk counts them, and the same cells as Markdown and CSV."""

from __future__ import annotations

import csv
import io

import pytest
from figure_examples import overflowing, own, published, relabelled, shots

from rtassay.figures import tables
from rtassay.model.errors import UsageError


def rows(kind: str, recordings: list) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(tables.render(kind, shots(recordings), "csv").decode())))


def test_cores_has_every_core_as_cyclictest_would_print_it() -> None:
    found = rows("cores", [published("std")])
    assert [(row["CPU"], row["Total"], row["Min [us]"], row["Max [us]"]) for row in found] == [
        ("core1", "50000000", "5", "382"),
        ("core2", "49999985", "5", "156"),
        ("core3", "49999902", "5", "125"),
        ("core4", "49999817", "5", "375"),
    ]
    assert found[0]["Avg [us]"] == "13.49"
    assert all(row["Overflow"] == row["Missed"] == "" for row in found), "unknown is not 0"


def test_summary_is_that_of_method_md() -> None:
    stock, rt = rows("summary", [published("std"), published("rt")])
    assert (stock["Total"], rt["Total"]) == ("199999704", "199999440")
    assert [f"{float(row['Mean [us]']):.1f} {float(row['SD [us]']):.1f} {row['Max [us]']}" for row in (stock, rt)] == [
        "13.7 1.2 382",
        "22.3 9.0 136",
    ]


def test_tail_carries_the_interval_and_says_what_the_data_do_not_reach() -> None:
    (stock,) = rows("tail", [published("std")])
    assert [stock[f"99.9999 %{part}"] for part in (" [us]", " low", " high", " bound")] == ["96", "89", "102", "exact"]
    (short,) = rows("tail", [own(1)])
    assert short["99.99999 % bound"] == "at_least"
    assert short["99.99999 % high"] == ""
    page = tables.render("tail", shots([published("std"), own(1)]), "md").decode()
    assert "96 [89, 102]" in page
    assert "∞]" in page
    assert "≥ 4,250.00" in page


def test_overflow_leaves_mean_and_sd_open_and_is_counted() -> None:
    (row,) = rows("summary", [overflowing()])
    assert (row["Mean [us]"], row["SD [us]"], row["Overflow"], row["Max [us]"]) == ("", "", "7", "544")


@pytest.mark.parametrize("kind", tables.KINDS)
def test_markdown_has_one_rule_and_equal_rows_whatever_the_names(kind: str) -> None:
    recordings = [own(1), relabelled(own(2), "20261121T100000-00000f", kernel="a | b\nc")]
    lines = [
        line for line in tables.render(kind, shots(recordings), "md").decode().splitlines() if line.startswith("|")
    ]
    assert lines[1].startswith("| :-- |")
    assert len({line.replace("\\|", "").count("|") for line in lines}) == 1
    assert "a \\| b c" in "\n".join(lines)


@pytest.mark.parametrize("kind", tables.KINDS)
@pytest.mark.parametrize("name", tables.FORMATS)
def test_one_and_twenty_recordings_reproducibly(kind: str, name: str) -> None:
    for count in (1, 20):
        recordings = [own(seed, run=str(seed)) for seed in range(1, count + 1)]
        once = tables.render(kind, shots(recordings), name)
        assert once == tables.render(kind, shots(recordings), name)
        assert once.count(b"\n") > count


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(UsageError, match="no table 'pie'"):
        tables.render("pie", shots([own(1)]), "md")
    with pytest.raises(UsageError, match="no table format"):
        tables.render("cores", shots([own(1)]), "xlsx")
    with pytest.raises(UsageError, match="no recording"):
        tables.render("cores", [], "md")


@pytest.mark.parametrize(
    "name", ["=cmd|' /C calc'!A0", "@SUM(A1)", "+1+1", "-1-1", "<script>alert(1)</script>", "[a](b)"]
)
@pytest.mark.parametrize("kind", tables.KINDS)
def test_a_name_is_no_formula_and_no_markup(name: str, kind: str) -> None:
    recordings = [own(1), relabelled(own(2), "20261121T100000-00000f", kernel=name)]
    cells = [row["Recording"] for row in rows(kind, recordings)]
    assert any(name in cell for cell in cells)
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    page = tables.render(kind, shots(recordings), "md").decode()
    assert "<script>" not in page and "[a](b)" not in page

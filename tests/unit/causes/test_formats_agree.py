"""Terminal, Markdown, HTML and JSON of one ranking: the same causes in the same order with the same numbers."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from rtassay.model import causes as kinds
from rtassay.model.causes import Cause
from rtassay.model.ranking import Ranking
from rtassay.reports.causes import causes_text as text
from rtassay.reports.causes.html import HtmlCauses
from rtassay.reports.causes.json import JsonCauses
from rtassay.reports.causes.markdown import MarkdownCauses
from rtassay.reports.causes.terminal import TerminalCauses

from ...support.attributions import IRQ, TIMER, UNKNOWN, US, attribution, ranked, run

HOG = Cause(kinds.THREAD, "hog", None, 77, 4)
Rows = list[tuple[str, ...]]


def one_run() -> Ranking:
    late = [attribution(30 * (i + 1), (IRQ, 250 * US + i), (TIMER, 240 * US), (HOG, 33_333 * i)) for i in range(40)]
    return ranked(run(*late))


def two_runs() -> Ranking:
    second = run(attribution(10, (IRQ, 1_234_567), (UNKNOWN, 50 * US), stall=True), name="b")
    return ranked(run(*(attribution(9 * (i + 1), (IRQ, 650 * US), (HOG, 140 * US)) for i in range(40))), second)


def of_a_program() -> Ranking:
    return replace(two_runs(), followed=True, demonstrated_ns=None)


SUBJECTS = {"one run": one_run, "two runs": two_runs, "a program": of_a_program}


class _FirstTable(HTMLParser):
    """Cells of the first table of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._open, self._done = False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._done:
            return
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._open = True

    def handle_endtag(self, tag: str) -> None:
        self._open = self._open and tag not in ("td", "th")
        self._done = self._done or tag == "table"

    def handle_data(self, data: str) -> None:
        if self._open and not self._done:
            self.rows[-1][-1] += data


def in_html(ranking: Ranking) -> Rows:
    page = _FirstTable()
    page.feed(HtmlCauses().render(ranking).decode())
    return [tuple(row) for row in page.rows]


def in_markdown(ranking: Ranking) -> Rows:
    table = re.search(r"^\|.*(?:\n\|.*)*", MarkdownCauses().render(ranking).decode(), re.M)
    assert table is not None
    rows = [tuple(cell.strip().replace("\\", "") for cell in line.split("|")[1:-1]) for line in table[0].splitlines()]
    return [rows[0], *rows[2:]]


def in_terminal(ranking: Ranking) -> Rows:
    printed = TerminalCauses(None).render(ranking).decode().splitlines()
    begin = next(at for at, line in enumerate(printed) if line.startswith(text.COLUMNS[0]))
    rows = [tuple(re.split(r" {2,}", line.strip())) for line in printed[begin:]]
    return rows[: 1 + len(text.rows(ranking))]


@pytest.mark.parametrize("made", SUBJECTS.values(), ids=SUBJECTS)
def test_every_format_has_the_same_table(made: Any) -> None:
    ranking = made()
    table = [text.columns(ranking), *text.rows(ranking)]
    assert len(table) > 2
    assert in_terminal(ranking) == in_markdown(ranking) == in_html(ranking) == table


@pytest.mark.parametrize("made", SUBJECTS.values(), ids=SUBJECTS)
def test_the_table_has_the_numbers_of_the_json(made: Any) -> None:
    ranking = made()
    data = json.loads(JsonCauses().render(ranking))
    printed = TerminalCauses(None).render(ranking).decode()
    for row, share in zip(in_terminal(ranking)[1:], data["causes"], strict=True):
        cells = dict(zip(text.columns(ranking), row, strict=True))
        assert share["cause"]["name"] in cells["Cause"]
        (percent, *of_runs) = map(float, re.findall(r"([\d.]+) %", cells["Share of lateness"]))
        spread = share["spread"]
        assert percent == pytest.approx(100 * share["share_of_lateness"], abs=0.5)
        assert of_runs == (
            [] if spread is None else pytest.approx([100 * spread["low"], 100 * spread["high"]], abs=0.5)
        )
        assert cells["Largest (us)"] == f"{share['largest_ns'] / 1000:.1f}"
        for column, field in (
            ("Main cause of", "owned"),
            ("Stall possible", "stall_possible"),
            ("Exceedances", "exceedances"),
        ):
            assert cells[column] == f"{share[field]:,}"
        without = share["without"]
        assert cells["without it"] == ("-" if without is None else f"{without['exceedances']:,}")
        if "D* without it (us)" in cells and without is not None:
            told = cells["D* without it (us)"]
            assert told.removeprefix("≤ ").split()[0] == f"{without['demonstrated_ns'] / 1000:.1f}"
            assert told.startswith("≤ ") == without["at_most"]
            assert ("(" in told) == (without["spread"] is not None)
    assert f"{data['attributed']:,} late wake-ups" in printed and f"{data['exceedances']:,} of them reach" in printed


def test_a_prediction_is_called_one_and_has_an_interval_over_runs() -> None:
    """Of one run there is no interval; of two and more the smallest and the largest, and what they enclose."""
    one, two = one_run(), two_runs()
    for render in (TerminalCauses(None).render, MarkdownCauses().render, HtmlCauses().render):
        alone, both = (" ".join(render(ranking).decode().split()) for ranking in (one, two))
        assert "rediction, until a run without the cause confirms it" in alone
        assert "rediction, until a run without the cause confirms it" in both
        assert "smallest to largest of 2 runs" in both and "smallest to largest" not in alone
    for share in two.causes:
        if share.without is not None:
            assert share.without.spread is not None and share.without.spread.runs == 2

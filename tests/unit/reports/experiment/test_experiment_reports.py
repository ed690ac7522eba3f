"""Reports of an experiment of known numbers: every part is there, foreign text is harmless, the same input gives the same bytes."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from rtassay import reports
from rtassay.model.errors import UsageError
from rtassay.model.experiment import ExperimentReport, Kpi, KpiRow
from rtassay.reports.experiment import drawings, experiment_text

from ...analysis.many.experiment.synthetic import COST, make

made = functools.cache(make)


def page(**how: object) -> str:
    return reports.load(ExperimentReport, "html").render(made(**how).report).decode()  # type: ignore[arg-type]


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.skip = 0
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        self.skip += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self.skip -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self.skip:
            self.parts.append(data)


def text_of(html: str) -> str:
    parser = Text()
    parser.feed(html)
    return " ".join(" ".join(parser.parts).split())


def test_the_page_answers_the_five_questions_first() -> None:
    said = text_of(page())
    places = [
        said.index(question)
        for question in (
            "Does it hold?",
            "Which load is worst?",
            "Is A better than B, and where?",
            "What was not covered?",
            "How do I repeat it?",
        )
    ]
    assert places == sorted(places) and places[-1] < said.index("Every combination")
    assert "HOLDS" in said[: places[0]]


def test_the_page_shows_what_the_experiment_holds() -> None:
    said = text_of(page(deadline="60us", sealed=15))
    assert "VIOLATED" in said
    for part in (
        "15 of 20 cells sealed",
        "1 failed",
        "1 recording superseded",
        "the board is away",
        "20261122T000000-gone00",
    ):
        assert part in said, part
    for part in ("A B B A", "Scorecard:", "not measured", "Evidence grade", "D1 Load sensitivity", "F Trust"):
        assert part in said, part
    assert "rtassay experiment run /x/experiment.toml" in said
    assert 'run = ["builtin:cpu"]' in said  # the file as it was


def test_the_worst_wake_ups_stand_above_the_charts_and_words_are_explained() -> None:
    text = page()
    order = [text.index(f'id="{part}"') for part in ("combinations", "worst", "loads", "tail", "plots", "comparisons")]
    assert order == sorted(order)
    plain = text_of(text)
    for words in ("An activation is one due wake-up", "The ladder compares", "A12: ", "Holm: ", "Dashed outline: "):
        assert words in plain, words
    assert text.count('class="narrow"') == text.count('class="roomy"') >= 3


def test_foreign_text_stays_text() -> None:
    html = page()
    assert "everything <b>" not in html and "everything &lt;b&gt;" in html
    assert "rtassay run </pre>" not in html
    assert html.count("<script") == 3
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None and "default-src 'none'" in unescape(policy[1])
    assert not re.findall(r'(?:src|href)="(?!#|data:)', html)


def test_load_sensitivity_is_drawn_where_it_lies() -> None:
    rows = made().scorecard.sensitivity
    svg = drawings.sensitivity(rows)
    assert svg.count('<rect class="shown"') == 2 and svg.count('class="whisker"') == 2
    assert f"{COST:.2f} [" in svg
    single = drawings.sensitivity(made(repeats=1).scorecard.sensitivity)
    assert single.count('<rect class="open"') == 2 and "whisker" not in single
    assert drawings.sensitivity(()) == ""


def test_tail_bars_have_a_point_a_run_and_outlines_for_lower_bounds() -> None:
    svg = drawings.tail(made().scorecard.combinations)
    steps = 2 + len(drawings.TAIL)
    assert svg.count('<circle class="run"') == 4 * 5 * steps
    # 800,000 samples a run do not reach p99.9999
    assert svg.count('class="least') == 4
    assert drawings.tail(()) == ""


def test_markdown_and_json_hold_the_same_answers() -> None:
    report = made().report
    markdown = reports.load(ExperimentReport, "markdown").render(report).decode()
    data = json.loads(reports.load(ExperimentReport, "json").render(report))
    assert data == json.loads(json.dumps(report.result))
    for answer in report.scorecard.answers:
        assert answer.question in markdown
    tables = [line for line in markdown.splitlines() if line.startswith("|")]
    assert tables and all(line.endswith("|") for line in tables)
    for one in report.scorecard.combinations:
        assert any(line.startswith(f"| {one.title} | 5 | 5 |") for line in tables)


def test_every_value_of_the_scorecard_has_words() -> None:
    for kpi in made().scorecard.kpis:
        for row in kpi.rows:
            assert experiment_text.kpi_value(kpi, row) not in ("", "-"), kpi
            interval = experiment_text.kpi_interval(kpi, row)
            assert interval == "" or interval[0] == "["


def test_the_same_input_gives_the_same_bytes_and_no_report_is_missing() -> None:
    for name in reports.formats(ExperimentReport):
        member = reports.load(ExperimentReport, name)
        assert member.name == f"experiment.{name}" and member.summary
        assert member.render(made().report) == member.render(made().report)
    with pytest.raises(UsageError) as caught:
        reports.load(ExperimentReport, "htm")
    assert "did you mean 'html'" in str(caught.value.hint)


@pytest.mark.parametrize("sealed", [0, 1, 20])
def test_an_unfinished_experiment_has_a_report_too(sealed: int) -> None:
    said = text_of(page(sealed=sealed))
    assert f"{sealed} of 20 cells sealed" in said
    assert len(page(sealed=sealed).encode()) < 500_000


def test_the_worst_run_of_every_combination_says_what_held_it_up_and_where_to_read_on() -> None:
    report = made().report
    worst = {
        one.title: max(one.runs, key=lambda run: run.max_ns or 0) for one in report.scorecard.combinations if one.runs
    }
    one = next(iter(worst.values()))
    told = replace(report, told={one.id: ("9ms on CPU1, with <script>", "stress-ng 5 bogo ops")})
    rows = experiment_text.worst_rows(told)
    assert [row[0] for row in rows] == list(worst)
    assert [row[-1] for row in rows] == [run.id for run in worst.values()]
    assert [row[1:3] for row in rows if row[-1] == one.id] == [("9ms on CPU1, with <script>", "stress-ng 5 bogo ops")]
    html, markdown = (reports.load(ExperimentReport, name).render(told).decode() for name in ("html", "markdown"))
    assert "9ms on CPU1, with &lt;script&gt;" in html and "with <script>" not in html
    assert "stress-ng 5 bogo ops" in markdown


@pytest.mark.parametrize(
    ("unit", "value", "expected"),
    [
        ("per_second", 1003.2, "1,003 a second"),
        ("per_degC", 0.0213, "+2.1 % per degC"),
        ("per_degC", -0.004, "-0.4 % per degC"),
    ],
)
def test_rates_and_slopes_have_their_units(unit: str, value: float, expected: str) -> None:
    one = Kpi("E5", "x", "y", unit, "up")
    assert experiment_text.kpi_value(one, KpiRow("", value)) == expected
    assert experiment_text.kpi_value(one, KpiRow("", value, at_least=True)) == f"≥ {expected}"

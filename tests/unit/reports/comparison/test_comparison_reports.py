"""Reports of a comparison: every fact in every format, hostile words harmless, same input same bytes."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from rtassay import reports
from rtassay.model.comparison import Comparison
from rtassay.model.errors import UsageError
from rtassay.reports.comparison import comparison_text

from ..test_html import Page
from .comparisons import EXAMPLES, crossing

ALL = pytest.mark.parametrize("name", sorted(EXAMPLES))
FORMATS = pytest.mark.parametrize("kind", sorted(reports.formats(Comparison)))


def render(kind, name):
    return reports.load(Comparison, kind).render(EXAMPLES[name]()).decode()


@ALL
@FORMATS
def test_same_input_same_bytes_in_every_format(kind, name):
    text = render(kind, name)
    assert text == render(kind, name)
    assert text.endswith("\n") and len(text) < 400_000
    assert "nan" not in text.lower().replace("nanosec", "").split() and "None" not in text.replace("None,", "")


@FORMATS
def test_members_are_named_as_the_user_types_them(kind):
    member = reports.load(Comparison, kind)
    assert member.name == f"comparison.{kind}" and member.suffix.startswith(".") and member.summary


def test_an_unknown_format_names_the_known():
    with pytest.raises(UsageError, match="markdwon") as caught:
        reports.load(Comparison, "markdwon")
    assert "did you mean 'markdown'" in caught.value.hint


@pytest.mark.parametrize("kind", ["html", "markdown", "terminal"])
def test_the_page_holds_conclusion_ladder_crossover_checks_and_what_is_not_covered(kind):
    text = render(kind, "crossing").replace("\\", "")
    for wanted in (
        "THE ORDER CHANGES ALONG THE TAIL",
        "p99.9999",
        "1.400",
        "40us",
        "FEW-RUNS",
        "MEAN-SD-MISLEADS",
        "other boots",
    ):
        assert wanted in text, wanted
    assert re.search(r"\[1\.33\d?, 1\.47\d?\]", text)


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_confounds_and_conditions_of_both_groups_are_told(kind):
    text = render(kind, "crossing")
    for wanted in ("frequency governor", "powersave", "differs", "the factor", "not known of both", "operating system"):
        assert wanted in text, wanted
    assert "ab" * 32 not in text and "abababababab…" in text
    assert "run-A0" in text and "run-B1" in text


def test_the_terminal_keeps_its_width_and_colours_only_when_asked():
    from rtassay.reports.comparison.terminal import TerminalComparison

    for width in (80, 100, 140):
        plain = TerminalComparison(width).render(crossing()).decode()
        assert max(map(len, plain.splitlines())) <= width
        assert "\x1b" not in plain
        assert "p (Holm)" in plain and "Visible above" in plain, "what a narrow terminal has no room for is named"
    piped = TerminalComparison(None).render(crossing()).decode()
    assert "no room" not in piped and " ..." not in piped and piped.count("Visible above") == 1
    assert "\x1b[" in TerminalComparison(100, color=True).render(crossing()).decode()


@ALL
def test_json_is_one_object_with_the_pools(name):
    data = json.loads(render("json", name))
    assert next(iter(data)) == "schema" and data["schema"] == "rtassay/compare/1"
    assert [g["group"] for g in data["histograms"]] == ["A", "B"]
    for side in ("a", "b"):
        assert "histogram" not in data[side]


@ALL
def test_html_nests_and_asks_nothing_of_anybody(name):
    text = render("html", name)
    page = Page(text)
    for tag, attributes in page.tags:
        assert not {k for k in attributes if k.startswith("on")}
        for key in ("src", "href"):
            if attributes.get(key):
                assert attributes[key].startswith(("#", "data:")), attributes
        assert tag != "img"
    (policy,) = [a["content"] for t, a in page.tags if t == "meta" and a.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy


def test_hostile_words_stay_words():
    html = render("html", "hostile")
    assert "<img" not in html and "\u202e" not in html
    markdown = render("markdown", "hostile")
    assert not re.search(r"(?<!\\)<(?!/?(details|summary)>)", markdown) and "\u202e" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("| run") or line.startswith("| A")]
    head = next(line for line in markdown.splitlines() if line.startswith("| Run"))
    assert all(len(re.findall(r"(?<!\\)\|", row)) == head.count("|") for row in rows)
    assert "\u202e" not in render("terminal", "hostile")


def test_tables_hold_every_number_without_javascript():
    page = Page(render("html", "crossing"))
    ladder = [row for row in page.rows if row and re.fullmatch(r"p[0-9.]+( \*)?", row[0])]
    assert [row[0] for row in ladder] == ["p50", "p90", "p99", "p99.9 *", "p99.99", "p99.999", "p99.9999", "p99.99999"]
    assert ladder[0][5] == "A better" and ladder[6][5] == "B better" and ladder[5][5] == "not shown"
    assert ladder[7][1].startswith("≥")
    lanes = [row for row in page.rows if row and row[0].startswith("CPU")]
    assert len(lanes) == 2 and "[" in lanes[0][1]


def test_the_drawn_ladder_keeps_every_interval_and_stays_inside():
    text = render("html", "crossing")
    svg = text[text.index('<svg class="plot ladder"') :]
    svg = svg[: svg.index("</svg>")]
    assert svg.count('class="dot') == 7 and svg.count('class="bar') == 7
    assert all(0 <= float(x) <= 960 for x in re.findall(r'cx="([\d.]+)"', svg))
    dots = re.findall(r'class="dot (\w+)"', svg)
    assert dots == ["a_better"] * 5 + ["open", "b_better"]


def test_a_phone_gets_a_drawing_of_its_own_width_with_all_numbers():
    """390 px: the wide drawing had to be scrolled there, and showed no ratio."""
    text = render("html", "crossing")
    narrow = text[text.index('<div class="narrow"><svg class="plot ladder" viewBox="0 0 380') :]
    narrow = narrow[: narrow.index("</svg>")]
    assert narrow.count('class="dot') == 7 and narrow.count("1.400 [1.330, 1.470]") == 5
    assert all(0 <= float(x) <= 380 for x in re.findall(r'c?x="([\d.]+)"', narrow))
    for one in re.findall(r'<text class="end" x="([\d.]+)"[^>]*>← B earlier', narrow):
        assert float(one) >= 80
    assert text.index('class="roomy"') < text.index('class="narrow"')


@pytest.mark.parametrize("kind", ["html", "markdown"])
def test_words_are_explained_where_the_ladder_stands(kind):
    text = unescape(render(kind, "crossing").replace("\\", ""))
    for word in (
        "The ladder compares",
        "An activation is one",
        "a lane one measuring",
        "Holm: ",
        "A12: ",
        "Visible above: ",
    ):
        assert text.count(word) == 1, word
    assert "stock (A) against rt (B)" in text, "the groups are named in the title"
    assert "The ladder compares" not in render(kind, "refused")


def test_a_factor_has_no_exponent():
    assert [comparison_text.change(x) for x in (1.036, 1.97, 2.4, 33.4, 123.4, 12345)] == [
        "3.6 %", "97 %", "factor 2.4", "factor 33", "factor 120", "factor 12,000",
    ]  # fmt: skip
    assert comparison_text.change(3e9) == "factor more than 1,000,000"


def test_a_refusal_draws_no_ladder_and_says_why():
    text = render("html", "refused")
    assert "NOT COMPARED" in text and "the bins differ" in text
    assert '<svg class="plot ladder"' not in text


def test_a_crossing_in_the_noise_is_not_marked():
    text = render("html", "nothing")
    assert '"rules":[]' in text
    assert "no difference is shown on both sides" in text
    assert "NO DIFFERENCE SHOWN" in text

"""Meaning of the text formats: counts are kept, screens fit, foreign text stays text."""

import csv
import io
import json
import re
from dataclasses import replace

import examples
import numpy as np
import pytest

from rtassay.model import warnings
from rtassay.model.findings import CheckResult
from rtassay.model.foreign import markdown
from rtassay.model.manifest import RunWarning
from rtassay.model.recording import Histogram, Lane
from rtassay.reports import wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording.answer import answer
from rtassay.reports.recording.csv import CsvRecording
from rtassay.reports.recording.cyclictest import CyclictestRecording
from rtassay.reports.recording.json import JsonRecording
from rtassay.reports.recording.markdown import MarkdownRecording
from rtassay.reports.recording.terminal import TerminalRecording

EXAMPLES = examples.EXAMPLES
ALL = pytest.mark.parametrize("name", sorted(EXAMPLES))


@ALL
def test_csv_keeps_every_sample(name):
    findings, recording = EXAMPLES[name]
    rows = list(csv.DictReader(io.StringIO(CsvRecording().render(JudgedRecording(findings, recording)).decode())))
    for lane in recording.lanes:
        mine = [row for row in rows if row["lane"] == lane.entry.name]
        assert sum(int(row["count"]) for row in mine) == lane.entry.n
        beyond = [row for row in mine if row["width_ns"] == ""]
        assert [int(row["count"]) for row in beyond] == ([lane.histogram.over] if lane.histogram.over else [])
        assert {row["cpu"] for row in mine} == {"" if lane.entry.cpu is None else str(lane.entry.cpu)}


@ALL
def test_json_is_findings_with_histograms(name):
    findings, recording = EXAMPLES[name]
    data = json.loads(JsonRecording().render(JudgedRecording(findings, recording)))
    assert data["schema"] == "rtassay/show/1"
    assert data["id"] == findings.id
    assert [lane["n"] for lane in data["lanes"]] == [lane.n for lane in findings.lanes]
    assert (data["verdict"] or {}).get("state") == (findings.verdict.state if findings.verdict else None)
    for lane, histogram in zip(recording.lanes, data["histograms"], strict=True):
        assert sum(histogram["count"]) + histogram["over"] + histogram["under"] == lane.entry.n
        assert histogram["lower_ns"] == lane.histogram.lower_ns.tolist()


def parse_cyclictest(text):
    rows = [re.fullmatch(r"(\d{6}) ([\d\t]+)", line) for line in text.splitlines() if line and not line.startswith("#")]
    assert all(rows)
    trailer = dict(re.findall(r"^# ([A-Z][\w ]+): (.+)$", text, re.M))
    return [[int(cell) for cell in row[2].split("\t")] for row in rows], {k: v.split() for k, v in trailer.items()}


@ALL
def test_cyclictest_rows_and_trailer_account_for_every_sample(name):
    findings, recording = EXAMPLES[name]
    rows, trailer = parse_cyclictest(CyclictestRecording().render(JudgedRecording(findings, recording)).decode())
    assert len(rows) <= 1000
    for i, lane in enumerate(findings.lanes):
        total, over = int(trailer["Total"][i]), int(trailer["Histogram Overflows"][i])
        assert sum(row[i] for row in rows) == total
        assert total + over == lane.n
        assert int(trailer["Max Latencies"][i]) == lane.max_ns // 1000
        assert int(trailer["Min Latencies"][i]) == lane.min_ns // 1000
    exact = recording.lanes[0].histogram
    inside = exact.lower_ns // 1000 == 12
    assert rows[12][0] == int(exact.counts[inside].sum())


def test_cyclictest_rows_are_capped_and_the_rest_is_overflow_with_its_cycles():
    findings, recording = examples.violated()
    rows, trailer = parse_cyclictest(
        CyclictestRecording(max_rows=100).render(JudgedRecording(findings, recording)).decode()
    )
    text = CyclictestRecording(max_rows=100).render(JudgedRecording(findings, recording)).decode()
    assert len(rows) == 100
    assert [int(v) for v in trailer["Histogram Overflows"]] == [2, 1, 0, 3]
    assert "# Thread 1: 300000\n" in text  # nothing missed there: the activation is the cycle
    assert "# Thread 3: # 00003 others\n" in text
    with pytest.raises(ValueError, match="at least 1"):
        CyclictestRecording(max_rows=0)


@ALL
@pytest.mark.parametrize("width", [60, 100, 160])
def test_terminal_fits(name, width):
    lines = TerminalRecording(width=width).render(JudgedRecording(*EXAMPLES[name])).decode().splitlines()
    assert max(map(len, lines)) <= width
    assert width < 100 or len(lines) <= 24
    assert "\x1b" not in "".join(lines)


@ALL
@pytest.mark.parametrize("width", [60, 100])
def test_the_verdict_is_never_cut_off(name, width):
    """Neither its line nor its reasons, however long, nor the advice."""
    findings, recording = EXAMPLES[name]
    long = " ".join(f"word{i}" for i in range(120))
    said = answer(findings, recording)
    said = replace(
        said, said=f"{said.said} {long}", scope=long, because=(long, f"second {long}"), advice=f"{said.advice} {long}"
    )
    terminal = TerminalRecording(width=width)
    lines = terminal._lines(JudgedRecording(findings, recording), said, [])
    text = " ".join(" ".join(lines).split())
    assert text.count("word119") == 5 and max(map(len, lines)) <= width
    head = text.partition("Checks:")[0]
    assert head.count(long) == 4


@ALL
def test_what_the_run_warned_of_is_told(name):
    """That its monitors ended stood on its page alone. Doubts of counts are told by their check."""
    findings, recording = EXAMPLES[name]
    seen = (RunWarning(warnings.MONITORS_ENDED_EARLY), RunWarning(warnings.HISTOGRAM_DIFFERS), RunWarning("\x1b]0;new"))
    told = replace(recording, manifest=replace(recording.manifest, warnings=seen))
    text = TerminalRecording(width=100).render(JudgedRecording(findings, told)).decode()
    assert "\nNote: the monitors ended before the run did; " in text and "HISTOGRAM frames" not in text
    assert "\x1b" not in text and len(text.splitlines()) <= 24


@ALL
def test_a_pipe_gets_every_column_and_nothing_cut(name):
    findings, recording = EXAMPLES[name]
    text = TerminalRecording(width=None).render(JudgedRecording(findings, recording)).decode()
    assert {"p50", "p99", "p99.9", "p99.99", "p99.999"} <= set(text.split()) and "..." not in text.partition("Checks:")[
        0
    ]
    narrow = TerminalRecording(width=60).render(JudgedRecording(findings, recording)).decode()
    for title in ("p50", "p99", "p99.9", "p99.99", "p99.999"):
        assert title in narrow, "what a narrow terminal has no room for is named"


@ALL
def test_terminal_colour_changes_no_word(name):
    coloured = TerminalRecording(color=True).render(JudgedRecording(*EXAMPLES[name])).decode()
    assert "\x1b[" in coloured
    assert (
        re.sub(r"\x1b\[[\d;]*m", "", coloured) == TerminalRecording().render(JudgedRecording(*EXAMPLES[name])).decode()
    )


def test_one_screen_for_findings_as_analysis_makes_them():
    from rtassay.analysis.judge import judge

    recording = examples.violated()[1]
    findings = judge(recording, deadline_ns=100_000, p_target=1e-6)
    lines = TerminalRecording().render(JudgedRecording(findings, recording)).decode().splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 100
    for check in findings.checks:
        if check.severity in ("invalid", "warning"):
            assert any(line.startswith(f"  {check.severity:<7} {check.id}:") for line in lines)
    assert any(line.startswith("Next: ") for line in lines[-4:])


def test_terminal_with_many_lanes_keeps_the_worst():
    findings, recording = examples.holds()
    lanes = tuple(replace(findings.lanes[0], name=f"cpu{i}", cpu=i, max_ns=50_000 + i) for i in range(64))
    text = TerminalRecording().render(JudgedRecording(replace(findings, lanes=lanes), recording)).decode()
    assert "CPU63 " in text and "CPU48 " in text and "CPU47 " not in text
    assert "48 lanes with smaller maxima" in text


@ALL
def test_markdown_holds_every_check_and_whole_tables(name):
    findings, recording = EXAMPLES[name]
    text = MarkdownRecording().render(JudgedRecording(findings, recording)).decode()
    for check in findings.checks:
        assert markdown(check.id) in text and markdown(check.message) in text
    widths = []
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        counts = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(counts) == 1, block
        widths.append(counts)
    assert len(widths) >= 3


def test_markdown_leaves_no_markup_of_others():
    findings, recording = examples.holds()
    hostile = replace(
        findings,
        labels={"a|b": "<img src=x onerror=alert(1)> @team [x](http://e.example) `c`\n# h"},
        note="```\n</details><script>x</script>",
        checks=(CheckResult("X", "warning", "optimism", "*a* | b\n\n# c"),),
    )
    text = MarkdownRecording().render(JudgedRecording(hostile, recording)).decode()
    assert "\\<img" in text and "a\\|b" in text and "@\u2060team" in text and "\\[x\\]" in text
    assert "````\n```\n</details>" in text  # the note is fenced with a longer fence than it holds


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0"), (1e-6, "1e-6"), (2.9957e-6, "3.0e-6"), (0.05, "0.05"), (1.0, "1")]
)
def test_probability(value, text):
    shown = wording.probability(value)
    assert shown in (text, text.replace(".0e", "e"))


def test_quantile_names_and_spans():
    assert [wording.quantile_name(q) for q in (0.5, 0.999, 0.9999999)] == ["p50", "p99.9", "p99.99999"]
    assert [wording.span(s) for s in (None, 60, 1000, 3600, 604800)] == ["-", "60 s", "16.7 min", "1 h", "7 d"]
    assert wording.percent(0.9999) == "> 99.9 %" and wording.percent(1.0) == "100 %" and wording.percent(0.0) == "0 %"


def empty_example():
    """A lane that was starved from its first activation on: nothing in it at all."""
    findings, recording = examples.holds()
    none = np.zeros(0, dtype=np.int64)
    lane = replace(
        findings.lanes[0],
        n=0,
        min_ns=None,
        mean_ns=None,
        max_ns=None,
        sd_ns=None,
        quantiles=(),
        quantiles_due=None,
        demonstrated=replace(findings.lanes[0].demonstrated, deadline_ns=None),
    )
    entry = replace(recording.lanes[0].entry, n=0, min_ns=None, max_ns=None, sum_ns=None, first_due_ns=None, missed=0)
    return (
        replace(
            findings,
            lanes=(lane,),
            pooled=replace(lane, name=None, cpu=None),
            verdict=None,
            duration_s=None,
            new_record=(),
        ),
        replace(recording, lanes=(Lane(entry, Histogram(none, none, none)),), telemetry=(), events=()),
    )


@pytest.mark.parametrize(
    "report",
    [TerminalRecording(), MarkdownRecording(), CsvRecording(), JsonRecording(), CyclictestRecording()],
    ids=lambda r: r.name,
)
def test_a_lane_without_a_sample(report):
    assert report.render(JudgedRecording(*empty_example()))
    no_lanes = replace(empty_example()[0], lanes=()), replace(empty_example()[1], lanes=())
    assert report.render(JudgedRecording(*no_lanes))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([0, 1, 2, 5], "0-2,5"),
        ([4, 4, 1, 7], "4, 4, 1, 7"),
        ([], "none"),
        ({"online": [0, 1], "isolated": [], "smt": False}, "online=0-1, isolated=none, smt=no"),
        ([{"tid": 18, "comm": "a"}, {"tid": 21, "comm": "b"}], "tid=18, comm=a; tid=21, comm=b"),
        ({"24": {"name": "eth0", "cpus": [0, 1]}, "25": {"name": "x"}}, "24: name=eth0, cpus=0-1; 25: name=x"),
        ({"cpu0": [{"name": "POLL"}, {"name": "C1"}]}, "cpu0: name=POLL; name=C1"),
    ],
)
def test_what_belongs_together_in_an_inventory_can_be_told(value: object, said: str) -> None:
    assert wording.describe(value) == said

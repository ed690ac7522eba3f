"""What a report says of counters of jobs: means, and why one was not counted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from examples import EXAMPLES

from rtassay.model.findings import Findings
from rtassay.model.manifest import Counter
from rtassay.reports import load
from rtassay.reports.base import JudgedRecording
from rtassay.reports.recording import counters

COUNTED = (
    Counter("cycles", error="this machine has no <such> counter"),
    Counter("instructions", error="this machine has no <such> counter"),
    Counter("cache-misses", user_only=True, jobs=4, estimated=2, sum=4000, min=900, max=1200),
    Counter("page-faults", jobs=4, sum=10, min=2, max=4),
    Counter("context-switches"),
)


def counted() -> Findings:
    findings = EXAMPLES["holds"][0]
    return replace(findings, lanes=(replace(findings.lanes[0], counters=COUNTED), *findings.lanes[1:]))


def test_the_sentence_has_the_means_and_what_was_not_counted() -> None:
    said = counters.in_words(counted())
    assert said is not None and said.startswith("1,000 cache misses, 2.5 page faults per job (")
    assert (
        "; no cycles, instructions: this machine has no <such> counter; no context switches: no job was counted" in said
    )
    assert counters.in_words(EXAMPLES["holds"][0]) is None and counters.rows(EXAMPLES["holds"][0]) == []


def test_a_row_never_has_a_count_that_was_not_taken() -> None:
    told = {row[1]: row[2:] for row in counters.rows(counted())}
    assert told["cycles"] == ("0", "-", "-", "-", "this machine has no <such> counter")
    assert told["cache misses"] == (
        "4",
        "1,000",
        "900",
        "1,200",
        "user mode only: the rest is refused; 2 jobs estimated",
    )
    assert told["page faults"] == ("4", "2.5", "2", "4", "")


@pytest.mark.parametrize(
    ("measures", "title"),
    [
        (("unknown", "wake-up"), "Wake-up latency per lane"),
        (("job-response", "job-execution"), "Values per lane"),
        (("stall", "stall"), "Gaps in a busy loop per lane"),
    ],
)
def test_the_table_of_lanes_is_called_by_what_it_holds(measures: tuple[str, ...], title: str) -> None:
    findings, *rest = EXAMPLES["holds"]
    lanes = tuple(replace(lane, measure=measures[at % 2]) for at, lane in enumerate(findings.lanes))
    findings = replace(findings, lanes=lanes)
    page, mark = (
        load(JudgedRecording, kind).render(JudgedRecording(findings, *rest)).decode() for kind in ("html", "markdown")
    )
    assert f'<h2 id="lanes">{title} (us)</h2>' in page and f"### {title} (us)" in mark


def test_what_counting_added_to_each_response_is_told() -> None:
    kept = tuple(replace(one, free_ns=12_000_000) if one.jobs else one for one in COUNTED)
    findings = EXAMPLES["holds"][0]
    findings = replace(findings, lanes=(replace(findings.lanes[0], counters=kept), *findings.lanes[1:]))
    assert str(counters.in_words(findings)).endswith(
        "; the kernel took 24 ms of each response to free these counters; without them it is shorter by that"
    )
    assert [row[-1] for row in counters.rows(findings)][3] == "lengthens each response by 12 ms"
    assert "of each response" not in str(counters.in_words(counted()))


def test_every_page_has_them_and_escapes_them() -> None:
    subject = JudgedRecording(counted(), *EXAMPLES["holds"][1:])
    page, text, mark = (
        load(JudgedRecording, kind).render(subject).decode() for kind in ("html", "terminal", "markdown")
    )
    assert 'id="counters"' in page and "no &lt;such&gt; counter" in page and "<such>" not in page
    assert "Counters: 1,000 cache misses" in text
    assert "### Counters of the jobs" in mark and "| 2.5 | 2 | 4 |" in mark

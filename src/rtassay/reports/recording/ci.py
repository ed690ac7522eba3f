"""A recording as test cases: one for each lane's verdict, one for each check that makes the measurement invalid."""

from __future__ import annotations

from rtassay.model.findings import Findings, assumptions, condition_words
from rtassay.model.foreign import markdown
from rtassay.model.units import format_time
from rtassay.reports import ci, wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.ci import BY_STATE, ERROR, FAILED, PASSED, Case, Suite
from rtassay.reports.markdown_text import code_block, document, text_table
from rtassay.reports.recording import recording_text
from rtassay.reports.recording.answer import answer


class JunitRecording:
    """JUnit XML."""

    name = "recording.junit"
    suffix = ".xml"
    summary = "JUnit XML for CI"

    def render(self, subject: JudgedRecording) -> bytes:
        return ci.junit(suite(subject))


class KtapRecording:
    """KTAP version 1."""

    name = "recording.ktap"
    suffix = ".ktap"
    summary = "KTAP for CI of kernels"

    def render(self, subject: JudgedRecording) -> bytes:
        return ci.ktap(suite(subject))


class SummaryRecording:
    """A few lines of Markdown for a pull request or a job's summary page."""

    name = "recording.summary"
    suffix = ".md"
    summary = "a few lines of Markdown for a pull request"

    def render(self, subject: JudgedRecording) -> bytes:
        return document(_summary(subject))


def suite(subject: JudgedRecording) -> Suite:
    """Without activations the one case is an error; without a requirement what was measured passes if no check makes it invalid."""
    findings, recording = subject.findings, subject.recording
    lane = recording_text.demonstrated(findings)
    star = None if lane is None else lane.demonstrated.deadline_ns
    properties = [
        ("id", findings.id),
        ("board", findings.board),
        ("kernel", findings.kernel or "not known"),
        ("load", findings.load),
    ]
    if lane is not None:
        properties.append(
            (f"D* ({recording_text.star_is_for(lane, '<=')})", "none" if star is None else format_time(star))
        )
    if findings.pooled.max_ns is not None:
        properties.append(("max", format_time(findings.pooled.max_ns)))
    measured = bool(findings.pooled.n)
    said = answer(findings, recording)
    cases = (_whole(findings, said.line), *_lanes(findings), *_checks(findings)) if measured else ()
    name = f"{findings.board}, {findings.kernel or 'kernel not known'}, {findings.load}"
    return Suite(name, cases, findings.duration_s, findings.created, tuple(properties))


def _whole(findings: Findings, line: str) -> Case:
    verdict = findings.verdict
    if verdict is None:
        return Case("measurement", PASSED, message=line)
    name = f"deadline {format_time(verdict.deadline_ns)}"
    outcome = BY_STATE[verdict.state]
    return Case(name, outcome, "" if outcome == PASSED else verdict.state, line)


def _lanes(findings: Findings) -> list[Case]:
    """The state of each lane by its numbers alone; none of a run with one lane, which the first case is about."""
    verdict = findings.verdict
    if verdict is None or len(verdict.lanes) < 2:
        return []
    cases = []
    for label, row in zip(recording_text.lane_labels(findings), verdict.lanes, strict=False):
        seen = f"{wording.count(row['exceedances'])} of {wording.count(row['due'])} late"
        outcome = PASSED if row["state"] == "HOLDS" else FAILED
        condition = condition_words(assumptions(row["assumes"]), verdict.per_hour) if outcome == PASSED else ""
        seen += f", {condition}" if condition else ""
        cases.append(Case(f"{label} by its numbers", outcome, "" if outcome == PASSED else row["state"], seen))
    return cases


def _checks(findings: Findings) -> list[Case]:
    grave = [check for check in findings.checks if check.severity == "invalid" and check.waived is None]
    return [Case(f"check {check.id}", ERROR, "INVALID", check.message) for check in grave]


def _summary(subject: JudgedRecording) -> list[str]:
    findings, said = subject.findings, answer(subject.findings, subject.recording)
    where = f"{recording_text.board(findings, 60)}, {findings.kernel or 'kernel not known'}, load {findings.load}"
    places = recording_text.digits(findings)
    rows = []
    for label, lane in zip(recording_text.lane_labels(findings), findings.lanes, strict=True):
        steps = {q.q: q for q in lane.quantiles}
        cells = [wording.quantile_cell(steps.get(q), places).text for q in (0.5, 0.999, 0.99999)]
        rows.append((label, wording.count(lane.n), *cells, wording.us(lane.max_ns, places), wording.count(lane.missed)))
    return [
        f"### {markdown(said.heading)}",
        f"{markdown(where)}",
        markdown(said.said),
        markdown(said.scope),
        "\n".join(f"- because {markdown(reason)}" for reason in said.because),
        text_table(("Lane", "Activations", "p50 us", "p99.9 us", "p99.999 us", "max us", "missed"), rows, numbers=True)
        if rows
        else "",
        f"Next: {markdown(said.advice)}",
        code_block(said.command) if said.command else "",
    ]

"""Reports and export formats: one table, keyed by what a report is about and by its format."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, TypeVar

from rtassay.model import rooms
from rtassay.model.errors import UsageError

if TYPE_CHECKING:
    from rtassay.reports.base import Report

# SUBJECT.FORMAT -> class. Entry points of the group `rtassay.reports` have names of the same form.
MEMBERS: dict[str, str] = {
    "recording.html": "rtassay.reports.recording.html:HtmlRecording",
    "recording.markdown": "rtassay.reports.recording.markdown:MarkdownRecording",
    "recording.perfetto": "rtassay.reports.recording.perfetto:PerfettoRecording",
    "recording.json": "rtassay.reports.recording.json:JsonRecording",
    "recording.csv": "rtassay.reports.recording.csv:CsvRecording",
    "recording.cyclictest": "rtassay.reports.recording.cyclictest:CyclictestRecording",
    "recording.terminal": "rtassay.reports.recording.terminal:TerminalRecording",
    "recording.junit": "rtassay.reports.recording.ci:JunitRecording",
    "recording.ktap": "rtassay.reports.recording.ci:KtapRecording",
    "recording.summary": "rtassay.reports.recording.ci:SummaryRecording",
    "comparison.html": "rtassay.reports.comparison.html:HtmlComparison",
    "comparison.markdown": "rtassay.reports.comparison.markdown:MarkdownComparison",
    "comparison.json": "rtassay.reports.comparison.json:JsonComparison",
    "comparison.terminal": "rtassay.reports.comparison.terminal:TerminalComparison",
    "comparison.junit": "rtassay.reports.comparison.ci:JunitComparison",
    "comparison.ktap": "rtassay.reports.comparison.ci:KtapComparison",
    "comparison.summary": "rtassay.reports.comparison.ci:SummaryComparison",
    "experiment.html": "rtassay.reports.experiment.html:HtmlExperiment",
    "experiment.markdown": "rtassay.reports.experiment.markdown:MarkdownExperiment",
    "experiment.json": "rtassay.reports.experiment.json:JsonExperiment",
    "experiment.junit": "rtassay.reports.experiment.ci:JunitExperiment",
    "experiment.ktap": "rtassay.reports.experiment.ci:KtapExperiment",
    "experiment.summary": "rtassay.reports.experiment.ci:SummaryExperiment",
    "extrapolation.html": "rtassay.reports.extrapolation.html:HtmlExtrapolation",
    "extrapolation.markdown": "rtassay.reports.extrapolation.markdown:MarkdownExtrapolation",
    "extrapolation.json": "rtassay.reports.extrapolation.json:JsonExtrapolation",
    "extrapolation.terminal": "rtassay.reports.extrapolation.terminal:TerminalExtrapolation",
    "causes.html": "rtassay.reports.causes.html:HtmlCauses",
    "causes.markdown": "rtassay.reports.causes.markdown:MarkdownCauses",
    "causes.json": "rtassay.reports.causes.json:JsonCauses",
    "causes.terminal": "rtassay.reports.causes.terminal:TerminalCauses",
    "examination.terminal": "rtassay.reports.examination.terminal:TerminalExamination",
    "examination.json": "rtassay.reports.examination.json:JsonExamination",
    "examination.junit": "rtassay.reports.examination.ci:JunitExamination",
    "examination.ktap": "rtassay.reports.examination.ci:KtapExamination",
    "examination.summary": "rtassay.reports.examination.ci:SummaryExamination",
    "proof.html": "rtassay.reports.proof.html:HtmlProof",
    "proof.markdown": "rtassay.reports.proof.markdown:MarkdownProof",
    "proof.json": "rtassay.reports.proof.json:JsonProof",
    "proof.terminal": "rtassay.reports.proof.terminal:TerminalProof",
    "proof.plan": "rtassay.reports.proof.exports:PlanProof",
    "proof.sysctl": "rtassay.reports.proof.exports:SysctlProof",
    "proof.systemd": "rtassay.reports.proof.exports:SystemdProof",
    "proof.cmdline": "rtassay.reports.proof.exports:CmdlineProof",
    "proof.tuned": "rtassay.reports.proof.exports:TunedProof",
    "proof.rt-conf": "rtassay.reports.proof.exports:RtConfProof",
    "proof.ansible": "rtassay.reports.proof.exports:AnsibleProof",
    "throughput.html": "rtassay.reports.throughput.html:HtmlThroughput",
    "throughput.markdown": "rtassay.reports.throughput.markdown:MarkdownThroughput",
    "throughput.json": "rtassay.reports.throughput.json:JsonThroughput",
    "throughput.terminal": "rtassay.reports.throughput.terminal:TerminalThroughput",
    "explanation.json": "rtassay.reports.explanation.json:JsonExplanation",
    "gate.terminal": "rtassay.reports.gate.terminal:TerminalGate",
    "gate.markdown": "rtassay.reports.gate.markdown:MarkdownGate",
    "gate.json": "rtassay.reports.gate.json:JsonGate",
    "gate.junit": "rtassay.reports.gate.ci:JunitGate",
    "gate.ktap": "rtassay.reports.gate.ci:KtapGate",
    "gate.summary": "rtassay.reports.gate.markdown:SummaryGate",
    "explanation.terminal": "rtassay.reports.explanation.terminal:TerminalExplanation",
}
# Class of a subject -> its word in the table. By name, so that --help loads none of them.
SUBJECTS: Final = {
    "JudgedRecording": "recording",
    "Comparison": "comparison",
    "ExperimentReport": "experiment",
    "Extrapolation": "extrapolation",
    "Ranking": "causes",
    "Examination": "examination",
    "Explanation": "explanation",
    "Gate": "gate",
    "Proof": "proof",
    "Throughput": "throughput",
}

S = TypeVar("S")


def formats(subject: type[object]) -> list[str]:
    """Names of the formats that this class of subject has, built in and installed, in the order of the table."""
    word = SUBJECTS[subject.__name__]
    return [name.partition(".")[2] for name in rooms.table("reports") if name.partition(".")[0] == word]


def load(subject: type[S], format_name: str) -> Report[S]:
    """The report of this class of subject in one format. Raises UsageError with the known formats for an unknown one."""
    word, known = SUBJECTS[subject.__name__], formats(subject)
    if format_name not in known:
        close = difflib.get_close_matches(format_name, known, n=1)
        hint = (f"did you mean '{close[0]}'? " if close else "") + f"known: {', '.join(known)}"
        article = "an" if word[0] in "aeiou" else "a"
        raise UsageError(f"there is no report of {article} {word} in the format '{format_name}'", hint=hint)
    report: Report[S] = rooms.load("reports", f"{word}.{format_name}")()
    return report


def format_of(subject: type[object], file: str) -> str:
    """The format that the suffix of a file name stands for. Raises UsageError with the known suffixes."""
    suffixes: dict[str, str] = {}
    for name in formats(subject):
        suffixes.setdefault(load(subject, name).suffix, name)
    for suffix, name in suffixes.items():
        if file.lower().endswith(suffix):
            return name
    raise UsageError(
        f"the suffix of '{file}' names no format", hint=f"end it in {', '.join(suffixes)}, or give --format"
    )

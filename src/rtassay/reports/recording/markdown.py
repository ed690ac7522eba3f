"""Markdown: the same facts as the HTML report as tables, fit for an issue or a mailing list."""

from __future__ import annotations

from collections.abc import Iterable

from rtassay.model.findings import Findings
from rtassay.model.foreign import clean, markdown
from rtassay.model.published import Against
from rtassay.model.recording import Recording
from rtassay.model.units import format_time
from rtassay.reports import wording
from rtassay.reports.base import JudgedRecording
from rtassay.reports.causes import markdown as causes_markdown
from rtassay.reports.markdown_text import code_block, document, folded, pipe_table
from rtassay.reports.recording import (
    conditions,
    counters,
    jitter,
    load_work,
    noise,
    outliers,
    published,
    reasons,
    recording_text,
)
from rtassay.reports.recording.answer import answer


class MarkdownRecording:
    """GitHub-flavoured Markdown: verdict, per-lane table in us, checks, conditions, inventory, commands."""

    name = "recording.markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, subject: JudgedRecording) -> bytes:
        findings, recording = subject.findings, subject.recording
        return document(
            [
                *_head(findings, recording),
                *_causes(subject),
                *_lanes(findings, recording),
                *(_against(subject.published) if subject.published is not None else ()),
                *_jitter(findings),
                *_noise(findings, recording),
                *_counters(findings),
                *_outliers(findings, recording),
                *_checks(findings),
                *_conditions(findings, recording),
            ]
        )


def _head(findings: Findings, recording: Recording) -> list[str]:
    verdict = findings.verdict
    lane = recording_text.demonstrated(findings)
    rows: list[tuple[str, str]] = []
    if lane is not None:
        deadline = lane.demonstrated.deadline_ns
        text = "none" if deadline is None else f"**{format_time(deadline)}**"
        where = recording_text.label_of(findings, lane.name)
        sure = wording.percent(recording_text.confidence(findings, recording))
        rows.append(
            (
                "D\\*, smallest demonstrated deadline",
                f"{text} ({recording_text.star_is_for(lane)}, {sure} confidence, {markdown(where)}){recording_text.trust(findings)}",
            )
        )
    if verdict is not None:
        rows += [
            ("Requirement", recording_text.requirement(verdict)),
            ("Judged lane", markdown(recording_text.label_of(findings, verdict.lane))),
            (
                "Exceedances / events",
                f"{wording.count(verdict.exceedances)} / {wording.count(verdict.events)} in {wording.count(verdict.due)} due",
            ),
            ("p lower, upper", f"{wording.probability(verdict.p_lower)}, {wording.probability(verdict.p_upper)}"),
            (
                "Events per hour, at most",
                wording.rate(verdict.rate_upper_per_h),
            ),
        ]
        if verdict.safety_factor is not None:
            rows.append(("Safety factor", f"{wording.factor(verdict.safety_factor)}. {recording_text.SAFETY_CAVEAT}"))
        if (needed := recording_text.needed(verdict)) is not None:
            rows.append(
                (
                    "Needed",
                    f"{wording.count(needed.n)} activations per lane ({wording.span(needed.duration_s)}) with no further exceedance",
                )
            )
    missions = recording_text.new_record(findings)
    if missions:
        rows.append(
            ("Probability of a new maximum", "; ".join(f"{chance} in the next {time}" for time, chance in missions))
        )
    said = answer(findings, recording)
    return [
        f"## {markdown(said.heading)}",
        markdown(said.said),
        markdown(said.scope),
        "\n".join(f"- because {markdown(reason)}" for reason in said.because),
        f"Next: {markdown(said.advice)}",
        code_block(said.command) if said.command else "",
        pipe_table(("", "Result"), rows) if rows else "",
        f"In full: {markdown(recording_text.sentence(findings))}" if verdict else "",
        "\n".join(f"- {markdown(reasons.words(reason))}" for reason in (verdict.reasons if verdict else ())),
    ]


def _causes(subject: JudgedRecording) -> list[str]:
    if subject.causes is None:
        return []
    return ["### Causes of late wake-ups, by the kernel's trace", *causes_markdown.sections(subject.causes)]


def _lanes(findings: Findings, recording: Recording) -> list[str]:
    parts = [f"### {recording_text.lanes_title(findings)} (us)"]
    parts += [_lane_table(findings, due=False)]
    parts.append(
        "In brackets: 95 % interval of the quantile. `≥`: the data hold only a lower bound. `∞)`: too few samples for an upper limit."
    )
    if recording_text.has_due_view(findings):
        parts += [
            "### Latency per due activation (us)",
            _lane_table(findings, due=True),
            "Each activation that was due counts once; one that was missed counts with its own lateness.",
        ]
    parts += [f"> {markdown(note)}" for note in conditions.notes(findings, recording)]
    return parts


def _lane_table(findings: Findings, *, due: bool) -> str:
    table = recording_text.lane_table(findings, due=due)
    rows = [[markdown(row[0].text), *(f"{c.text} {c.detail}".strip() for c in row[1:])] for row in table.rows]
    return pipe_table(table.columns, rows, numbers=True)


def _against(against: Against) -> list[str]:
    rows = [tuple(markdown(cell) for cell in row) for row in published.rows(against)]
    return [f"### {markdown(published.title(against))}", pipe_table(published.COLUMNS, rows), published.CAVEAT]


def _jitter(findings: Findings) -> list[str]:
    rows = jitter.rows(findings)
    if not rows:
        return [] if findings.lanes and findings.lanes[0].noise is not None else [jitter.NOT_KNOWN]
    table = pipe_table(jitter.COLUMNS, [tuple(markdown(cell) for cell in row) for row in rows])
    return ["### Period jitter", table, jitter.CAVEAT]


def _noise(findings: Findings, recording: Recording) -> list[str]:
    said, rows = noise.in_words(findings, recording), noise.rows(findings, recording)
    if said is None:
        return []
    table = [pipe_table(noise.COLUMNS, [tuple(markdown(cell) for cell in row) for row in rows])] if rows else []
    return ["### Noise", markdown(said), *table]


def _counters(findings: Findings) -> list[str]:
    rows = counters.rows(findings)
    if not rows:
        return []
    table = pipe_table(counters.COLUMNS, [tuple(markdown(cell) for cell in row) for row in rows])
    return ["### Counters of the jobs", table, counters.CAVEAT]


def _outliers(findings: Findings, recording: Recording) -> list[str]:
    found = outliers.rows(findings, watched=bool(recording.telemetry))
    if not found:
        return []
    cells = [(*(markdown(cell) for cell in row[:4]), "<br>".join(markdown(text) for text in row[4])) for row in found]
    return ["### The worst wake-ups and what coincided with them", pipe_table(outliers.COLUMNS, cells), outliers.CAVEAT]


def _checks(findings: Findings) -> list[str]:
    shown, unlooked = recording_text.told_checks(findings), recording_text.unlooked(findings)
    passed = [c for c in findings.checks if c.severity == "pass" and c.waived is None]
    parts = [f"### Checks: {recording_text.check_summary(findings)}"]
    if shown:
        parts.append(
            pipe_table(
                ("Severity", "Check", "Message"),
                [(f"**{c.severity}**", markdown(c.id), markdown(recording_text.check_text(c))) for c in shown],
            )
        )
    for checks, words in ((unlooked, "could not be looked at"), (passed, "passed")):
        if checks:
            rows = [(c.severity, markdown(c.id), markdown(c.message)) for c in checks]
            table = pipe_table(("Severity", "Check", "Message"), rows)
            parts.append(folded(f"{len(checks)} {words}", table))
    return parts


def _conditions(findings: Findings, recording: Recording) -> list[str]:
    parts = ["### Conditions", _pairs(("", "Value"), conditions.conditions(findings, recording))]
    if findings.labels:
        parts.append(_pairs(("Label", "Value"), findings.labels.items()))
    if findings.note:
        parts.append("Note:\n\n" + code_block(clean(findings.note)))
    plan = [[markdown(cell) for cell in row] for row in conditions.plan_rows(recording)]
    if plan:
        parts += ["### Asked and obtained", pipe_table(("", "Asked", "Obtained", "Remark"), plan)]
    of_loads = [[markdown(cell) for cell in row] for row in load_work.rows(recording)]
    if of_loads:
        parts += ["### Loads", pipe_table(load_work.COLUMNS, of_loads)]
    of_parts = [[markdown(cell) for cell in row] for row in load_work.part_rows(recording)]
    if of_parts:
        parts += ["### Work by part", pipe_table(load_work.PART_COLUMNS, of_parts)]
    damage = conditions.damage_rows(recording)
    if damage:
        parts += ["### Damage to the stream", _pairs(("", "Lost"), damage)]
    monitors = conditions.monitor_rows(recording)
    if monitors:
        parts.append(folded("What was watched", _pairs(("Monitor", "It gave"), monitors)))
    inventory = conditions.inventory_rows(recording)
    if inventory:
        parts.append(folded("Inventory", _pairs(("Item", "Value"), inventory)))
    for title, command in conditions.commands(findings, recording):
        parts.append(f"{title}:\n\n{code_block(command)}")
    versions = ", ".join(f"{name} {value}" for name, value in conditions.version_rows(findings, recording))
    parts.append(markdown(versions))
    return parts


def _pairs(columns: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    return pipe_table(columns, [(markdown(name), markdown(value)) for name, value in rows])

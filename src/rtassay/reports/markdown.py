"""Markdown: the same facts as the HTML report as tables, fit for an issue or a mailing list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rtassay.model.findings import Findings
from rtassay.model.published import Against
from rtassay.model.recording import Recording
from rtassay.model.units import format_time
from rtassay.reports import against as beside
from rtassay.reports import details, loads, outliers, view

# What GitHub would read as markup, a mention or a table border in text that came from elsewhere.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&@])")


class MarkdownReport:
    """GitHub-flavoured Markdown: verdict, per-lane table in us, checks, conditions, inventory, commands."""

    name = "markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def __init__(self, against: Against | None = None) -> None:
        """`against`: published results to show beside the recording."""
        self.against = against

    def render(self, findings: Findings, recording: Recording) -> bytes:
        parts = [
            *_head(findings, recording),
            *_lanes(findings, recording),
            *(_against(self.against) if self.against is not None else ()),
            *_outliers(findings, recording),
            *_checks(findings),
            *_conditions(findings, recording),
        ]
        return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "backslashreplace")


def escape(text: str) -> str:
    """Foreign text as plain words on one line: no markup, no mention, no table border."""
    return _SPECIAL.sub(r"\\\1", view.one_line(text)).replace("\\@", "@\u2060")


def pipe_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False) -> str:
    """A table in pipes; `numbers`: all but the first column to the right. Cells are escaped by the caller."""
    rule = ["---", *(("---:" if numbers else "---") for _ in columns[1:])]
    lines = ["| " + " | ".join(columns) + " |", "| " + " | ".join(rule) + " |"]
    lines += ["| " + " | ".join(cell or " " for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def _code(text: str) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"


def _head(findings: Findings, recording: Recording) -> list[str]:
    verdict = findings.verdict
    lane, p = view.demonstrated(findings)
    rows: list[tuple[str, str]] = []
    if lane is not None:
        deadline = lane.demonstrated.deadline_ns
        text = "none" if deadline is None else f"**{format_time(deadline)}**"
        where = view.label_of(findings, lane.name)
        sure = view.percent(view.confidence(findings, recording))
        rows.append(
            (
                "D\\*, smallest demonstrated deadline",
                f"{text} (p ≤ {view.probability(p)}, {sure} confidence, {escape(where)}){view.trust(findings)}",
            )
        )
    if verdict is not None:
        rows += [
            ("Requirement", view.requirement(verdict)),
            ("Judged lane", escape(view.label_of(findings, verdict.lane))),
            (
                "Exceedances / events",
                f"{view.count(verdict.exceedances)} / {view.count(verdict.events)} in {view.count(verdict.due)} due",
            ),
            ("p lower, upper", f"{view.probability(verdict.p_lower)}, {view.probability(verdict.p_upper)}"),
            (
                "Events per hour, at most",
                view.rate(verdict.rate_upper_per_h),
            ),
        ]
        if verdict.safety_factor is not None:
            rows.append(("Safety factor", f"{view.factor(verdict.safety_factor)}. {view.SAFETY_CAVEAT}"))
        if (needed := view.needed(verdict)) is not None:
            rows.append(
                (
                    "Needed",
                    f"{view.count(needed.n)} activations per lane ({view.span(needed.duration_s)}) with no further exceedance",
                )
            )
    missions = view.new_record(findings)
    if missions:
        rows.append(
            ("Probability of a new maximum", "; ".join(f"{chance} in the next {time}" for time, chance in missions))
        )
    reasons = "\n".join(f"- {escape(reason)}" for reason in (verdict.reasons if verdict else ()))
    return [
        f"## {view.state(findings)}",
        escape(view.sentence(findings)),
        pipe_table(("", "Result"), rows) if rows else "",
        reasons,
        f"Next: {escape(view.next_step(findings))}",
    ]


def _lanes(findings: Findings, recording: Recording) -> list[str]:
    parts = ["### Wake-up latency per lane (us)"]
    parts += [_lane_table(findings, due=False)]
    parts.append(
        "In brackets: 95 % interval of the quantile. `≥`: the data hold only a lower bound. `∞)`: too few samples for an upper limit."
    )
    if view.has_due_view(findings):
        parts += [
            "### Latency per due activation (us)",
            _lane_table(findings, due=True),
            "Each activation that was due counts once; one that was missed counts with its own lateness.",
        ]
    parts += [f"> {escape(note)}" for note in details.notes(findings, recording)]
    return parts


def _lane_table(findings: Findings, *, due: bool) -> str:
    table = view.lane_table(findings, due=due)
    rows = [[escape(row[0].text), *(f"{c.text} {c.detail}".strip() for c in row[1:])] for row in table.rows]
    return pipe_table(table.columns, rows, numbers=True)


def _against(against: Against) -> list[str]:
    rows = [tuple(escape(cell) for cell in row) for row in beside.rows(against)]
    return [f"### {escape(beside.title(against))}", pipe_table(beside.COLUMNS, rows), beside.CAVEAT]


def _outliers(findings: Findings, recording: Recording) -> list[str]:
    found = outliers.rows(findings, watched=bool(recording.telemetry))
    if not found:
        return []
    cells = [(*(escape(cell) for cell in row[:4]), "<br>".join(escape(text) for text in row[4])) for row in found]
    return ["### The worst wake-ups and what coincided with them", pipe_table(outliers.COLUMNS, cells), outliers.CAVEAT]


def _checks(findings: Findings) -> list[str]:
    shown, unlooked = view.told_checks(findings), view.unlooked(findings)
    passed = [c for c in findings.checks if c.severity == "pass" and c.waived is None]
    parts = [f"### Checks: {view.check_summary(findings)}"]
    if shown:
        parts.append(
            pipe_table(
                ("Severity", "Check", "Message"),
                [(f"**{c.severity}**", escape(c.id), escape(view.check_text(c))) for c in shown],
            )
        )
    for folded, words in ((unlooked, "could not be looked at"), (passed, "passed")):
        if folded:
            rows = [(c.severity, escape(c.id), escape(c.message)) for c in folded]
            table = pipe_table(("Severity", "Check", "Message"), rows)
            parts.append(f"<details><summary>{len(folded)} {words}</summary>\n\n{table}\n\n</details>")
    return parts


def _conditions(findings: Findings, recording: Recording) -> list[str]:
    parts = ["### Conditions", _pairs(("", "Value"), details.conditions(findings, recording))]
    if findings.labels:
        parts.append(_pairs(("Label", "Value"), findings.labels.items()))
    if findings.note:
        parts.append("Note:\n\n" + _code(view.clean(findings.note)))
    plan = [[escape(cell) for cell in row] for row in details.plan_rows(recording)]
    if plan:
        parts += ["### Asked and obtained", pipe_table(("", "Asked", "Obtained", "Remark"), plan)]
    of_loads = [[escape(cell) for cell in row] for row in loads.rows(recording)]
    if of_loads:
        parts += ["### Loads", pipe_table(loads.COLUMNS, of_loads)]
    of_parts = [[escape(cell) for cell in row] for row in loads.part_rows(recording)]
    if of_parts:
        parts += ["### Work by part", pipe_table(loads.PART_COLUMNS, of_parts)]
    damage = details.damage_rows(recording)
    if damage:
        parts += ["### Damage to the stream", _pairs(("", "Lost"), damage)]
    monitors = details.monitor_rows(recording)
    if monitors:
        parts.append(
            "<details><summary>What was watched</summary>\n\n"
            + _pairs(("Monitor", "It gave"), monitors)
            + "\n\n</details>"
        )
    inventory = details.inventory_rows(recording)
    if inventory:
        parts.append(
            "<details><summary>Inventory</summary>\n\n" + _pairs(("Item", "Value"), inventory) + "\n\n</details>"
        )
    for title, command in details.commands(findings, recording):
        parts.append(f"{title}:\n\n{_code(command)}")
    versions = ", ".join(f"{name} {value}" for name, value in details.version_rows(findings, recording))
    parts.append(escape(versions))
    return parts


def _pairs(columns: tuple[str, str], rows: Iterable[tuple[str, str]]) -> str:
    return pipe_table(columns, [(escape(name), escape(value)) for name, value in rows])

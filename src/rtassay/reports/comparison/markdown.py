"""Markdown: a comparison as tables, fit for an issue or a mailing list."""

from __future__ import annotations

from rtassay.model.comparison import Comparison
from rtassay.model.foreign import markdown
from rtassay.reports import severities
from rtassay.reports.comparison import comparison_text
from rtassay.reports.markdown_text import document, folded, pipe_table


class MarkdownComparison:
    """GitHub-flavoured Markdown: conclusion, ladder, runs, lanes, checks, conditions of both groups."""

    name = "comparison.markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, subject: Comparison) -> bytes:
        comparison = subject
        parts = [
            f"# {markdown(comparison_text.title(comparison))}",
            f"## {markdown(comparison_text.headline(comparison))}",
            markdown(comparison.sentence),
            f"Next: {markdown(comparison_text.next_step(comparison))}",
            *_ladder(comparison),
            *_runs(comparison),
            *_lanes(comparison),
            *_checks(comparison),
            *_conditions(comparison),
            "### Not covered",
            "\n".join(f"- {markdown(row)}" for row in comparison.not_covered),
        ]
        return document(parts)


def _ladder(comparison: Comparison) -> list[str]:
    if not comparison.quantiles:
        return []
    keep = comparison_text.ladder_columns(comparison)
    columns = [comparison_text.LADDER_COLUMNS[i] for i in keep]
    rows = [[markdown(row[i]) for i in keep] for row in comparison_text.ladder_rows(comparison)]
    return [
        "### Ladder of quantiles (ratio B / A: above 1, B is later)",
        pipe_table(columns, rows, numbers=True),
        markdown(comparison_text.crossover(comparison)),
        markdown(comparison_text.tests(comparison)),
        markdown(comparison_text.explained(comparison)),
        pipe_table(
            ("Pooled", f"A: {markdown(comparison.a.title)}", f"B: {markdown(comparison.b.title)}"),
            [tuple(map(markdown, row)) for row in comparison_text.maxima_rows(comparison)],
            numbers=True,
        ),
    ]


def _runs(comparison: Comparison) -> list[str]:
    rows = [[markdown(cell) for cell in row] for row in comparison_text.run_rows(comparison)]
    boots = comparison_text.boot_rows(comparison)
    return [
        "### Runs (us, all lanes pooled)",
        pipe_table(comparison_text.run_columns(), rows, numbers=True),
        *(["### Boots and runs", pipe_table(comparison_text.BOOT_COLUMNS, boots, numbers=True)] if boots else []),
    ]


def _lanes(comparison: Comparison) -> list[str]:
    if not comparison.lanes:
        return []
    marks = {"a_better": " **A**", "b_better": " **B**", "": ""}
    rows = [
        [
            markdown(lane.name),
            *(f"{r} {markdown(i)}{marks[shown]}".strip() for r, i, shown in comparison_text.lane_cells(lane)),
        ]
        for lane in comparison.lanes
    ]
    return [
        "### Ratio B / A per lane",
        pipe_table(comparison_text.lane_columns(comparison), rows, numbers=True),
        "**A**, **B**: that group is shown to be better, after Holm's correction over all lanes and steps.",
    ]


def _checks(comparison: Comparison) -> list[str]:
    shown = [c for c in severities.by_severity(comparison.checks) if c.severity != "pass"]
    passed = [c for c in comparison.checks if c.severity == "pass"]
    parts = [f"### Checks: {comparison_text.check_summary(comparison)}"]
    if shown:
        rows = [(f"**{c.severity}**", markdown(c.id), markdown(c.message)) for c in shown]
        parts.append(pipe_table(("Severity", "Check", "Message"), rows))
    if passed:
        rows = [(c.severity, markdown(c.id), markdown(c.message)) for c in passed]
        inner = pipe_table(("Severity", "Check", "Message"), rows)
        parts.append(folded(f"{len(passed)} passed", inner))
    return parts


def _conditions(comparison: Comparison) -> list[str]:
    rows = [[markdown(cell) for cell in row] for row in comparison_text.condition_rows(comparison)]
    unknown = comparison_text.unknown_conditions(comparison)
    return [
        "### Conditions",
        pipe_table(("", f"A: {markdown(comparison.a.title)}", f"B: {markdown(comparison.b.title)}", "Remark"), rows),
        f"Not known of either: {markdown(unknown)}." if unknown else "",
    ]

"""Markdown: a comparison as tables, fit for an issue or a mailing list."""

from __future__ import annotations

from rtassay.model.comparison import Comparison
from rtassay.reports.comparison import words
from rtassay.reports.markdown import escape, pipe_table


class MarkdownComparison:
    """GitHub-flavoured Markdown: conclusion, ladder, runs, lanes, checks, conditions of both groups."""

    name = "markdown"
    suffix = ".md"
    summary = "tables for an issue or a mail"

    def render(self, comparison: Comparison) -> bytes:
        parts = [
            f"## {escape(words.headline(comparison))}",
            escape(comparison.sentence),
            f"Next: {escape(words.next_step(comparison))}",
            *_ladder(comparison),
            *_runs(comparison),
            *_lanes(comparison),
            *_checks(comparison),
            *_conditions(comparison),
            "### Not covered",
            "\n".join(f"- {escape(row)}" for row in comparison.not_covered),
        ]
        return ("\n\n".join(part for part in parts if part) + "\n").encode("utf-8", "backslashreplace")


def _ladder(comparison: Comparison) -> list[str]:
    if not comparison.quantiles:
        return []
    keep = words.ladder_columns(comparison)
    columns = [words.LADDER_COLUMNS[i] for i in keep]
    rows = [[escape(row[i]) for i in keep] for row in words.ladder_rows(comparison)]
    return [
        "### Ladder of quantiles (ratio B / A: above 1, B is later)",
        pipe_table(columns, rows, numbers=True),
        escape(words.crossover(comparison)),
        escape(words.tests(comparison)),
        pipe_table(
            ("Pooled", f"A: {escape(comparison.a.title)}", f"B: {escape(comparison.b.title)}"),
            [tuple(map(escape, row)) for row in words.maxima_rows(comparison)],
            numbers=True,
        ),
    ]


def _runs(comparison: Comparison) -> list[str]:
    rows = [[escape(cell) for cell in row] for row in words.run_rows(comparison)]
    boots = words.boot_rows(comparison)
    return [
        "### Runs (us, all lanes pooled)",
        pipe_table(words.run_columns(), rows, numbers=True),
        *(["### Boots and runs", pipe_table(words.BOOT_COLUMNS, boots, numbers=True)] if boots else []),
    ]


def _lanes(comparison: Comparison) -> list[str]:
    if not comparison.lanes:
        return []
    marks = {"a_better": " **A**", "b_better": " **B**", "": ""}
    rows = [
        [
            escape(lane.name),
            *(f"{r} {escape(i)}{marks[shown]}".strip() for r, i, shown in words.lane_cells(lane)),
        ]
        for lane in comparison.lanes
    ]
    return [
        "### Ratio B / A per lane",
        pipe_table(words.lane_columns(comparison), rows, numbers=True),
        "**A**, **B**: that group is shown to be better, after Holm's correction over all lanes and steps.",
    ]


def _checks(comparison: Comparison) -> list[str]:
    shown = [c for c in words.sorted_checks(comparison) if c.severity != "pass"]
    passed = [c for c in comparison.checks if c.severity == "pass"]
    parts = [f"### Checks: {words.check_summary(comparison)}"]
    if shown:
        rows = [(f"**{c.severity}**", escape(c.id), escape(c.message)) for c in shown]
        parts.append(pipe_table(("Severity", "Check", "Message"), rows))
    if passed:
        rows = [(c.severity, escape(c.id), escape(c.message)) for c in passed]
        inner = pipe_table(("Severity", "Check", "Message"), rows)
        parts.append(f"<details><summary>{len(passed)} passed</summary>\n\n{inner}\n\n</details>")
    return parts


def _conditions(comparison: Comparison) -> list[str]:
    rows = [[escape(cell) for cell in row] for row in words.condition_rows(comparison)]
    unknown = words.unknown_conditions(comparison)
    return [
        "### Conditions",
        pipe_table(("", f"A: {escape(comparison.a.title)}", f"B: {escape(comparison.b.title)}", "Remark"), rows),
        f"Not known of either: {escape(unknown)}." if unknown else "",
    ]

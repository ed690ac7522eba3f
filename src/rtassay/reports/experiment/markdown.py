"""Markdown: an experiment for issues, wikis and commit messages; the same words and tables as the page."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.model.experiment import ExperimentReport
from rtassay.reports.experiment import words


class MarkdownExperiment:
    """Answers, combinations, scorecard, checks, comparisons, repeat."""

    name = "markdown"
    suffix = ".md"
    summary = "tables to paste"

    def render(self, report: ExperimentReport) -> bytes:
        result, card = report.result, report.scorecard
        what, corrected = words.lead(report)
        lines = [f"# Experiment {result['name']}: {words.state(report)}", "", what, ""]
        lines += [f"{words.form(report)}; {words.states_summary(report)}; evidence grade {card.grade.letter}.", ""]
        for answer in card.answers:
            lines += [f"**{answer.question}** {_text(answer.text)}", ""]
        lines += ["## Every combination", "", *_table(words.ANSWER_COLUMNS, words.answer_rows(report)), ""]
        latency = [
            tuple(" ".join(part for part in cell if part) for cell in row)
            for row in words.latency_rows(card.combinations)
        ]
        lines += ["Latency in us, all runs and CPUs pooled:", "", *_table(words.LATENCY_COLUMNS, latency), ""]
        lines += _comparisons(report)
        lines += ["## Scorecard", "", *_table(("KPI", "Where", "Value", "95 % interval", "Remark"), _kpis(report)), ""]
        lines += ["## What held it up", "", *_table(words.WORST_COLUMNS, words.worst_rows(report)), ""]
        spread = words.spread_rows(card.combinations)
        if spread:
            lines += ["## Between runs (us)", "", *_table(words.SPREAD_COLUMNS, spread), ""]
        lines += [f"## Checks over all cells: {words.check_summary(report)}", ""]
        lines += [*_table(words.CHECK_COLUMNS, words.check_rows(report, unknown=False)), ""]
        lines += [f"## Matrix: {words.states_summary(report)}", "", f"Order: {words.order(report)}.", ""]
        lines += [*_table(words.CELL_COLUMNS, words.cell_rows(report)), ""]
        lines += ["## Not covered", "", *(f"- {_text(row)}" for row in card.not_covered), ""]
        lines += ["## Repeat it", "", "```", result["repeat"], "```", ""]
        if corrected:
            lines += [f"Corrected: {_text(corrected)}", ""]
        versions = ", ".join(f"{name} {version}" for name, version in card.versions.items())
        lines += [f"{versions}; plan {result['plan']}."]
        return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")


def _kpis(report: ExperimentReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for kpi in report.scorecard.kpis:
        title = words.kpi_title(kpi)
        if not kpi.rows:
            rows.append((title, "", "not measured", "", kpi.why))
        for row in kpi.rows:
            rows.append((title, row.where, words.kpi_value(kpi, row), words.kpi_interval(kpi, row), row.note))
    return rows


def _comparisons(report: ExperimentReport) -> list[str]:
    lines = ["## Comparisons", ""] if report.compared else []
    for one in report.compared:
        where = f", at {one.where}" if one.where else ""
        lines += [
            f"- {one.factor} {_text(one.a)} (A) against {_text(one.b)} (B){_text(where)}: {_text(one.comparison.sentence)}"
        ]
    return [*lines, ""] if lines else []


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    head = [" | ".join(("", *columns, "")).strip(), " | ".join(("", *("---" for _ in columns), "")).strip()]
    return [*head, *(" | ".join(("", *(_text(cell) for cell in row), "")).strip() for row in rows)]


def _text(text: str) -> str:
    """Foreign text inside a table cell or paragraph."""
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")

"""Markdown: an experiment for issues, wikis and commit messages; the same words and tables as the page."""

from __future__ import annotations

from rtassay.model.experiment import ExperimentReport
from rtassay.model.foreign import clean, markdown
from rtassay.reports.experiment import experiment_text as texts
from rtassay.reports.markdown_text import code_block, document, text_table
from rtassay.reports.throughput import throughput_text


class MarkdownExperiment:
    """Answers, combinations, scorecard, checks, comparisons, repeat."""

    name = "experiment.markdown"
    suffix = ".md"
    summary = "tables to paste"

    def render(self, subject: ExperimentReport) -> bytes:
        return document([*_head(subject), *_results(subject), *_runs(subject), *_end(subject)])


def _head(report: ExperimentReport) -> list[str]:
    what, _ = texts.lead(report)
    form, states, grade = texts.form(report), texts.states_summary(report), report.scorecard.grade.letter
    return [
        f"# Experiment {markdown(report.result['name'])}: {texts.heading(report)}",
        markdown(what),
        f"{markdown(form)}; {states}; evidence grade {grade}.",
        *(f"**{markdown(answer.question)}** {markdown(answer.text)}" for answer in report.scorecard.answers),
    ]


def _results(report: ExperimentReport) -> list[str]:
    latency = [
        tuple(" ".join(part for part in cell if part) for cell in row)
        for row in texts.latency_rows(report.scorecard.combinations)
    ]
    return [
        "## Every combination",
        text_table(texts.ANSWER_COLUMNS, texts.answer_rows(report)),
        "Latency in us, all runs and CPUs pooled:",
        text_table(texts.LATENCY_COLUMNS, latency),
        *_comparisons(report),
        *_costs(report),
        "## Scorecard",
        text_table(("KPI", "Where", "Value", "95 % interval", "Remark"), _kpis(report)),
    ]


def _costs(report: ExperimentReport) -> list[str]:
    parts: list[str] = []
    for cost in report.costs:
        rows = throughput_text.texts(throughput_text.rows(cost), markdown)
        parts += ["## What real time costs", markdown(cost.sentence), text_table(throughput_text.columns(cost), rows)]
    return parts


def _runs(report: ExperimentReport) -> list[str]:
    spread = texts.spread_rows(report.scorecard.combinations)
    return [
        "## What held it up",
        text_table(texts.WORST_COLUMNS, texts.worst_rows(report)),
        *(["## Between runs (us)", text_table(texts.SPREAD_COLUMNS, spread)] if spread else []),
        f"## Checks over all cells: {texts.check_summary(report)}",
        text_table(texts.CHECK_COLUMNS, texts.check_rows(report, unknown=False)),
        f"## Matrix: {texts.states_summary(report)}",
        f"Order: {texts.order(report)}.",
        text_table(texts.CELL_COLUMNS, texts.cell_rows(report)),
    ]


def _end(report: ExperimentReport) -> list[str]:
    _, corrected = texts.lead(report)
    versions = ", ".join(f"{name} {version}" for name, version in report.scorecard.versions.items())
    return [
        "## Not covered",
        "\n".join(f"- {markdown(row)}" for row in report.scorecard.not_covered),
        "## Repeat it",
        code_block(clean(report.result["repeat"])),
        f"Corrected: {markdown(corrected)}" if corrected else "",
        f"{markdown(versions)}; plan {report.result['plan']}.",
    ]


def _kpis(report: ExperimentReport) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for kpi in report.scorecard.kpis:
        title = texts.kpi_title(kpi)
        if not kpi.rows:
            rows.append((title, "", "not measured", "", kpi.why))
        for row in kpi.rows:
            rows.append((title, row.where, texts.kpi_value(kpi, row), texts.kpi_interval(kpi, row), row.note))
    return rows


def _comparisons(report: ExperimentReport) -> list[str]:
    lines = []
    for one in report.compared:
        where = f", at {one.where}" if one.where else ""
        groups = f"{one.factor} {one.a} (A) against {one.b} (B){where}"
        lines.append(f"- {markdown(groups)}: {markdown(one.comparison.sentence)}")
    return ["## Comparisons", "\n".join(lines)] if lines else []

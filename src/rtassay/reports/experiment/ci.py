"""An experiment as test cases: the acceptance, and every run of the plan."""

from __future__ import annotations

from typing import Any

from rtassay.model.experiment import ExperimentReport
from rtassay.model.foreign import markdown
from rtassay.model.units import format_time
from rtassay.reports import ci
from rtassay.reports.ci import BY_STATE, ERROR, PASSED, SKIPPED, Case, Suite
from rtassay.reports.experiment import experiment_text
from rtassay.reports.markdown_text import document, text_table


class JunitExperiment:
    """JUnit XML."""

    name = "experiment.junit"
    suffix = ".xml"
    summary = "JUnit XML for CI"

    def render(self, subject: ExperimentReport) -> bytes:
        return ci.junit(suite(subject))


class KtapExperiment:
    """KTAP version 1."""

    name = "experiment.ktap"
    suffix = ".ktap"
    summary = "KTAP for CI of kernels"

    def render(self, subject: ExperimentReport) -> bytes:
        return ci.ktap(suite(subject))


class SummaryExperiment:
    """A few lines of Markdown for a pull request or a job's summary page."""

    name = "experiment.summary"
    suffix = ".md"
    summary = "a few lines of Markdown for a pull request"

    def render(self, subject: ExperimentReport) -> bytes:
        return document(_summary(subject))


def suite(report: ExperimentReport) -> Suite:
    """A run that failed or measured nothing is an error, one that is still planned is skipped."""
    result = report.result
    sealed = [row for row in result["cells"] if row["state"] == "sealed"]
    cases = [] if not sealed else [*_acceptance(result), *(_cell(result, row) for row in result["cells"])]
    properties = (("plan", str(result["plan"])), ("runs", f"{result['cells_sealed']} of {result['cells_total']}"))
    seconds = [row["duration_s"] for row in sealed if row.get("duration_s") is not None]
    return Suite(
        f"experiment {result['name']}", tuple(cases), sum(seconds) if seconds else None, report.created, properties
    )


def _acceptance(result: dict[str, Any]) -> list[Case]:
    accepted, asked = result["acceptance"], result["requirement"]
    if accepted is None:
        return []
    state = str(accepted["state"])
    outcome = BY_STATE.get(state, ERROR)
    return [
        Case(
            f"acceptance, deadline {format_time(asked['deadline_ns'])}",
            outcome,
            "" if outcome == PASSED else state,
            experiment_text.in_words(result, state, accepted["assumes"]),
        )
    ]


def _cell(result: dict[str, Any], row: dict[str, Any]) -> Case:
    levels = (str(row[key]) for key in ("board", "kernel", "load") if row.get(key))
    name = f"{row['id']}: {', '.join(levels)}, repeat {row['repeat']}"
    if row["state"] == "planned":
        return Case(name, SKIPPED, message="not run yet")
    if row["state"] == "skipped":
        return Case(name, SKIPPED, message=str(row["why"]))
    if row["state"] != "sealed":
        return Case(name, ERROR, str(row["state"]).upper(), str(row.get("why") or row["state"]))
    if not row["n"]:
        return Case(name, ERROR, "NOTHING MEASURED", "no activation was measured")
    worst = "" if row["max_ns"] is None else f"max {format_time(row['max_ns'])}"
    if row["invalid"]:
        return Case(name, ERROR, "INVALID MEASUREMENT", worst)
    state = row["verdict"]
    outcome = PASSED if state is None else BY_STATE.get(state, ERROR)
    said = [experiment_text.in_words(result, state, row["assumes"])] if state == "HOLDS" else []
    return Case(name, outcome, "" if outcome == PASSED else state, "; ".join([*said, *([worst] if worst else [])]))


def _summary(report: ExperimentReport) -> list[str]:
    result = report.result
    rows = experiment_text.answer_rows(report)
    return [
        f"### Experiment {markdown(result['name'])}: {markdown(experiment_text.heading(report))}",
        f"{result['cells_sealed']} of {result['cells_total']} runs; requirement: {markdown(experiment_text.requirement(report))}",
        text_table(experiment_text.ANSWER_COLUMNS, rows) if rows else "",
    ]

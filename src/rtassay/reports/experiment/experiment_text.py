"""Text and tables that all reports of an experiment share. Standard library only."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

from rtassay.model.experiment import (
    NS,
    PER_BILLION,
    PER_DAY,
    PER_DEGREE,
    PER_SECOND,
    PROBABILITY,
    RATIO,
    SHARE,
    WORDS,
    CheckRow,
    Combination,
    ExperimentReport,
    Kpi,
    KpiRow,
    Scorecard,
)
from rtassay.model.findings import Quantile, assumptions, state_words
from rtassay.model.foreign import one_line
from rtassay.model.units import NS_PER_US, format_time
from rtassay.reports import severities, wording

STEPS = (0.5, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
_ARROWS = {"down": "↓", "up": "↑", "": ""}


def heading(report: ExperimentReport) -> str:
    """The state with its condition: `HOLDS of these 3 runs, if late ones come singly`."""
    accepted = report.result["acceptance"]
    return (
        wording.NO_REQUIREMENT if accepted is None else in_words(report.result, accepted["state"], accepted["assumes"])
    )


def in_words(result: dict[str, Any], state: str | None, assumes: Sequence[dict[str, Any]] | None) -> str:
    """A state of this experiment with what it assumes; `-` where nothing was judged."""
    return "-" if state is None else state_words(state, assumptions(assumes or ()), result["requirement"]["per_hour"])


def state(report: ExperimentReport) -> str:
    accepted = report.result["acceptance"]
    return wording.NO_REQUIREMENT if accepted is None else str(accepted["state"])


def requirement(report: ExperimentReport) -> str:
    """`latency < 1 ms, p ≤ 1e-5, 95 % confidence, all runs of a combination together`."""
    asked = report.result["requirement"]
    if asked["deadline_ns"] is None:
        return "none"
    per = "all runs of a combination together" if asked["per"] == "combination" else "every run alone"
    rate = asked["per_hour"]
    misses = (
        f"p ≤ {wording.probability(asked['p'])} per activation"
        if rate is None
        else f"at most {wording.rate(rate)} events per hour"
    )
    return (
        f"latency < {format_time(asked['deadline_ns'])}, {misses}, "
        f"{wording.percent(asked['confidence'])} confidence, {per}"
        + (f", {asked['looks']} planned looks" if asked["looks"] > 1 else "")
    )


def lead(report: ExperimentReport) -> tuple[str, str]:
    """(purpose of the experiment, changes of its corrected form)."""
    return one_line(str(report.result["what"])), one_line(str(report.result["correction"]))


def form(report: ExperimentReport) -> str:
    """`as written`, `corrected form`, with the scale."""
    said = "corrected form" if report.result["corrected"] else "as written"
    scale = report.result["scale"]
    return said if scale == "1" else f"{said}, shortened to {scale} of its length"


def digits(combinations: Sequence[Combination]) -> int:
    """Decimals of microseconds worth showing."""
    medians = [q.value_ns for one in combinations for q in one.quantiles if q.q == 0.5]
    if not medians or all(ns % NS_PER_US == 0 for ns in medians):
        return 0
    return 2 if min(medians) < 10 * NS_PER_US else 1


def quantile(step: Quantile | None, places: int) -> str:
    if step is None:
        return "-"
    return ("" if step.bound == "exact" else "≥ ") + wording.us(step.value_ns, places)


ANSWER_COLUMNS = ("", "Runs", "Boots", "Hours", "Due", "Missed", "D*", "Verdict", "p at most")


def answer_rows(report: ExperimentReport) -> list[tuple[str, ...]]:
    """One row a combination: exposure, D*, verdict."""
    judged = {_key(row): row for row in report.result["combinations"] if row["runs"]}
    each = {cell["recording"]: _of_cell(report, cell) for cell in report.result["cells"]}
    rows: list[tuple[str, ...]] = []
    for one in report.scorecard.combinations:
        row = judged.get(_key(one.levels), {})
        runs = str(len(one.runs)) if len(one.runs) == one.planned else f"{len(one.runs)} of {one.planned}"
        boots = "-" if one.boots is None else str(one.boots)
        verdict = in_words(report.result, row.get("state"), row.get("assumes"))
        if row.get("look") is not None:
            verdict += f" at look {row['look']} of {row['looks']}"
        if report.result["requirement"]["per"] == "cell" and report.result["acceptance"] is not None:
            verdict = ", ".join(dict.fromkeys(each.get(run.id, "-") for run in one.runs))
        cells = (f"{one.hours:.3g}", wording.count(one.due), wording.count(one.missed), star(report, one))
        rows.append((one.title, runs, boots, *cells, verdict, wording.probability(row.get("p_upper"))))
    return rows


def _of_cell(report: ExperimentReport, cell: dict[str, Any]) -> str:
    return in_words(report.result, cell.get("verdict"), cell.get("assumes"))


def _key(levels: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(levels.get(name) for name in ("board", "kernel", "load", "probe", "scenario"))


def asked(card: Scorecard) -> str:
    """`p ≤ 1e-6` or `at most 0.1 events per hour`: what D* of a combination is for."""
    return (
        f"p ≤ {wording.probability(card.p)}"
        if card.per_hour is None
        else f"at most {wording.rate(card.per_hour)} events per hour"
    )


def star(report: ExperimentReport, one: Combination) -> str:
    """D*, with its p if that is not the p asked for."""
    card = report.scorecard
    if one.star_ns is not None:
        return wording.spaced(one.star_ns)
    if one.star_each_ns is not None and card.p_each is not None:
        return f"{wording.spaced(one.star_each_ns)} (p {wording.probability(card.p_each)})"
    return "none"


LATENCY_COLUMNS = ("", "Samples", "Min", "Mean", "SD", *(wording.quantile_name(q) for q in STEPS), "Max", "Over")


def latency_rows(combinations: Sequence[Combination]) -> list[tuple[tuple[str, str], ...]]:
    """(text, interval below it) cells in us, all runs and CPUs pooled."""
    places = digits(combinations)
    rows: list[tuple[tuple[str, str], ...]] = []
    for one in combinations:
        by_q = {step.q: step for step in one.quantiles}
        steps = [wording.quantile_cell(by_q.get(q), places) for q in STEPS]
        head = [one.title, wording.count(one.n), wording.us(one.min_ns, places)]
        head += [wording.us(value, max(places, 2)) for value in (one.mean_ns, one.sd_ns)]
        tail = [wording.us(one.max_ns, places), wording.count(one.over)]
        rows.append(
            (*((text, "") for text in head), *((c.text, c.detail) for c in steps), *((text, "") for text in tail))
        )
    return rows


RUN_COLUMNS = (
    "",
    "Repeat",
    "Order",
    "Samples",
    "p50",
    "p99.9",
    "p99.99",
    "p99.999",
    "Max",
    "Missed",
    "D*",
    "degC",
    "Begun",
    "Boot",
    "Recording",
)


def run_rows(report: ExperimentReport) -> list[tuple[str, ...]]:
    """Every run, in us."""
    places = digits(report.scorecard.combinations)
    rows: list[tuple[str, ...]] = []
    for one in report.scorecard.combinations:
        for run in one.runs:
            by_q = {step.q: step for step in run.quantiles}
            steps = [quantile(by_q.get(q), places) for q in (0.5, 0.999, 0.9999, 0.99999)]
            begun = "-" if run.started is None else run.started[:19].replace("T", " ")
            place = (one.title, str(run.repeat), str(run.order), wording.count(run.n))
            ends = (wording.us(run.max_ns, places), wording.count(run.missed), wording.us(run.star_ns, places))
            degrees = "-" if run.temperature_c is None else f"{run.temperature_c:.1f}"
            rows.append((*place, *steps, *ends, degrees, begun, (run.boot or "-")[:8], run.id))
    return rows


WORST_COLUMNS = ("", "Worst wake-up of its worst run", "Work of the loads in that run", "Recording")


def worst_rows(report: ExperimentReport) -> list[tuple[str, ...]]:
    """The run with the largest maximum of every combination: its own report's words about that moment, and the path to that report."""
    rows: list[tuple[str, ...]] = []
    for one in report.scorecard.combinations:
        run = max((run for run in one.runs if run.max_ns is not None), key=lambda run: run.max_ns or 0, default=None)
        if run is not None:
            moment, work = report.told.get(run.id, ("", ""))
            rows.append((one.title, moment or "no wake-up stood out, or its moment is not known", work or "-", run.id))
    return rows


SPREAD_COLUMNS = ("", "Runs", "Boots", "Of", "Lowest run", "Highest run", "Highest / lowest", "CV", "ICC of boots")


def spread_rows(combinations: Sequence[Combination]) -> list[tuple[str, ...]]:
    """How far the runs of each combination lie apart: their common highest quantile, and the maxima."""
    places = digits(combinations)
    rows: list[tuple[str, ...]] = []
    for one in combinations:
        if len(one.runs) < 2:
            continue
        icc = "-"
        if one.boot_variance:
            found = one.boot_variance[-1]
            icc = f"{wording.percent(found.icc)} [{wording.percent(found.lo)}, {wording.percent(found.hi)}] at {wording.quantile_name(found.q)}"
        head = (one.title, str(len(one.runs)), "-" if one.boots is None else str(one.boots))
        if one.cv_q is not None:
            values = [step.value_ns for run in one.runs for step in run.quantiles if step.q == one.cv_q]
            rows.append(
                (*head, wording.quantile_name(one.cv_q), *_apart(values, places), wording.percent(one.cv or 0.0), icc)
            )
        maxima = [run.max_ns for run in one.runs if run.max_ns is not None]
        if len(maxima) == len(one.runs):
            rows.append((*head, "maximum", *_apart(maxima, places), "-", "-"))
    return rows


def _apart(values: Sequence[int], places: int) -> tuple[str, str, str]:
    low, high = min(values), max(values)
    return wording.us(low, places), wording.us(high, places), "-" if low <= 0 else wording.ratio(high / low)


KPI_COLUMNS = ("KPI", "", "Value", "Interval", "")


def kpi_title(kpi: Kpi) -> str:
    arrow = _ARROWS[kpi.better]
    return f"{kpi.id} {kpi.name}" + (f" {arrow}" if arrow else "")


def kpi_value(kpi: Kpi, row: KpiRow) -> str:
    if row.words:
        return row.words
    return ("≥ " if row.at_least else "") + _number(kpi.unit, row.value)


def kpi_interval(kpi: Kpi, row: KpiRow) -> str:
    """`[12.1 us, 13.9 us]`; empty where there is none."""
    if row.at_least or (row.lo is None and row.hi is None):
        return ""
    low = _number(kpi.unit, row.lo) if row.lo is not None else "0"
    return f"[{low}, ∞)" if row.hi is None else f"[{low}, {_number(kpi.unit, row.hi)}]"


def _number(unit: str, value: float | None) -> str:
    if value is None:
        return "-"
    if unit == NS:
        return ("−" if value < 0 else "") + wording.spaced(round(abs(value)))
    if unit == RATIO:
        return wording.ratio(value)
    if unit == PROBABILITY:
        return wording.probability(value)
    if unit == SHARE:
        return wording.percent(value)
    if unit == PER_DAY:
        return f"{wording.hundredths(value, '+')} in 24 h"
    if unit == PER_DEGREE:
        return f"{wording.hundredths(value, '+')} per degC"
    if unit == PER_SECOND:
        return f"{value:,.0f} a second"
    if unit == PER_BILLION:
        return f"{value:,.0f}"
    assert unit != WORDS
    return f"{value:.3g}"


CHECK_COLUMNS = ("Severity", "Check", "Cells", "Where", "One of the messages")


def check_rows(report: ExperimentReport, *, unknown: bool) -> list[tuple[str, ...]]:
    """Checks that fired in the cells; with `unknown` also the checks that lacked data."""
    return [
        (row.severity, row.id, f"{row.cells} of {row.of}", _where(report, row.where), _message(row))
        for row in report.scorecard.checks
        if (row.severity == "unknown") == unknown
    ]


def _message(row: CheckRow) -> str:
    said = one_line(row.message)
    return said if row.waived is None else f"[waived: {one_line(row.waived, 400)}] {said}"


def _where(report: ExperimentReport, where: Sequence[str]) -> str:
    return "all" if len(where) == len(report.scorecard.combinations) > 1 else "; ".join(where)


def check_summary(report: ExperimentReport) -> str:
    """`1 invalid, 4 warnings, 11 unknown`."""
    return severities.counts(report.scorecard.checks) or "all passed in every cell"


CELL_COLUMNS = ("Order", "Block", "Repeat", "Cell", "State", "Attempts", "Recording", "Max (us)", "Verdict", "Remark")


def cell_rows(report: ExperimentReport) -> list[tuple[str, ...]]:
    """Every planned cell in the order of the runs."""
    result = report.result
    titles = {_key(one.levels): one.title for one in report.scorecard.combinations}
    rows: list[tuple[str, ...]] = []
    for cell in sorted(result["cells"], key=lambda cell: cell["order"]):
        title = titles.get(_key(cell)) or ", ".join(str(v) for v in _key(cell) if v)
        remark = [str(cell["why"])] if cell["why"] and cell["state"] != "sealed" else []
        remark += [f"superseded: {', '.join(cell['superseded'])}"] if cell["superseded"] else []
        numbers = (
            str(cell["attempts"]),
            cell["recording"] or "-",
            wording.us(cell.get("max_ns"), 1),
            _of_cell(report, cell),
        )
        head = (str(cell["order"]), str(cell["block"]), str(cell["repeat"]), title, cell["state"])
        rows.append((*head, *numbers, one_line("; ".join(remark), 300)))
    return rows


def states_summary(report: ExperimentReport) -> str:
    """`28 of 30 cells sealed, 2 failed, 1 recording superseded`."""
    result = report.result
    said = f"{result['cells_sealed']} of {result['cells_total']} cells sealed"
    for name in ("failed", "planned", "running", "skipped"):
        number = sum(cell["state"] == name for cell in result["cells"])
        said += f", {number} {name}" if number else ""
    gone = len(result["superseded"])
    return said + (f", {gone} {'recording' if gone == 1 else 'recordings'} superseded and not counted" if gone else "")


def order(report: ExperimentReport) -> str:
    """The rule for the order of the runs."""
    said = {
        "abba": "A B B A: every second block runs backwards",
        "random-blocks": f"each block shuffled, seed {report.seed}",
        "as-written": "all repeats of a combination before the next: drift falls on one of them",
    }
    return said.get(report.order, "not recorded")


def figure_commands(report: ExperimentReport) -> list[str]:
    """Commands that draw this experiment for a paper: bars of the tail, curves, the latency plot, the table of a summary."""
    combinations = report.scorecard.combinations
    varying = [
        f for f in ("kernel", "load", "scenario", "probe") if len({one.levels.get(f) for one in combinations}) > 1
    ]
    by = f" --by {varying[0]}" if varying else " --by load"
    panels = f" --panels {varying[1]}" if len(varying) > 1 else ""
    where = wording.shell_line([f"{report.result['path']}/recordings"])
    return [
        f"rtassay figure tail {where}{by}{panels} -o tail.pdf",
        f"rtassay figure cdf {where} -o cdf.pdf",
        f"rtassay table summary {where} -o summary.md",
    ]


def fingerprints(report: ExperimentReport) -> list[tuple[str, list[tuple[str, str]]]]:
    """(board and kernel, its facts)."""
    return [
        (
            f"{one_line(str(told['board']), 60)}, {one_line(str(told['kernel']), 80)}",
            wording.pairs((key, value) for key, value in told.items() if key not in ("board", "kernel")),
        )
        for told in report.scorecard.boards
    ]


def wrapped(text: str, width: int = 100) -> str:
    return "\n".join(textwrap.wrap(text, width))

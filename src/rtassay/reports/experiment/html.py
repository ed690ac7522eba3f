"""HTML: an experiment as one self-contained page, in the style of a recording's report."""

from __future__ import annotations

from typing import Any

from rtassay.model.comparison import REFUSED
from rtassay.model.experiment import Compared, ExperimentReport
from rtassay.model.foreign import clean, one_line
from rtassay.model.throughput import Throughput
from rtassay.model.units import NS_PER_US
from rtassay.reports import curves, page, wording
from rtassay.reports.comparison import comparison_text
from rtassay.reports.comparison import drawings as ladders
from rtassay.reports.experiment import drawings, experiment_text
from rtassay.reports.page import Tile
from rtassay.reports.throughput import drawings as costs
from rtassay.reports.throughput import throughput_text

_HISTOGRAM_POINTS = 4000
_CURVE_POINTS = 800
_MOST_LINES = 16
_OPEN = 3


class HtmlExperiment:
    """The page for people: answers first, then combinations, bars, curves, comparisons, scorecard, runs, checks, matrix, repeat."""

    name = "experiment.html"
    suffix = ".html"
    summary = "self-contained page with plots"

    def render(self, subject: ExperimentReport) -> bytes:
        given = {**_words(subject), **_tables(subject), **_plots(subject)}
        return page.render("experiment.html.j2", ("report.css", "comparison.css", "experiment.css"), given)


def _words(report: ExperimentReport) -> dict[str, Any]:
    result, card = report.result, report.scorecard
    what, corrected = experiment_text.lead(report)
    said = experiment_text.state(report)
    return {
        "name": one_line(result["name"], 60),
        "what": what,
        "corrected": corrected,
        "form": experiment_text.form(report),
        "summary": experiment_text.states_summary(report),
        "created": one_line(report.created, 40),
        "boards": [f"{told['board']}, kernel {told['kernel']}" for told in card.boards],
        "state": said,
        "heading": experiment_text.heading(report),
        "tone": wording.TONES.get(said, "none"),
        "icon": wording.ICONS.get(said, "–"),
        "answers": card.answers,
        "requirement": experiment_text.requirement(report),
        "tiles": _tiles(report),
        "grade": card.grade,
        "notes": [one_line(note) for note in result["notes"]],
        "order": experiment_text.order(report),
        "p_each": wording.probability(card.p_each),
        "confidence": wording.percent(card.confidence),
        "asked": experiment_text.asked(card),
        "levels": [tuple(one_line(text, 400) for text in row) for row in report.levels],
        "repeat": result["repeat"],
        "figures": experiment_text.figure_commands(report),
        "plan": result["plan"],
        "path": result["path"],
        "file": clean(report.file, 40_000),
        "commands": report.commands,
        "versions": list(card.versions.items()),
        "fingerprints": experiment_text.fingerprints(report),
        "not_covered": card.not_covered,
        "superseded": result["superseded"],
        "schema": result["schema"],
    }


def _tables(report: ExperimentReport) -> dict[str, Any]:
    card = report.scorecard
    return {
        "answer_columns": experiment_text.ANSWER_COLUMNS,
        "answer_rows": experiment_text.answer_rows(report),
        "latency_columns": experiment_text.LATENCY_COLUMNS,
        "latency_rows": experiment_text.latency_rows(card.combinations),
        "run_columns": experiment_text.RUN_COLUMNS,
        "run_rows": experiment_text.run_rows(report),
        "worst_columns": experiment_text.WORST_COLUMNS,
        "worst_rows": experiment_text.worst_rows(report),
        "spread_columns": experiment_text.SPREAD_COLUMNS,
        "spread_rows": experiment_text.spread_rows(card.combinations),
        "kpis": [
            (
                experiment_text.kpi_title(kpi),
                kpi.definition,
                [
                    (row.where, experiment_text.kpi_value(kpi, row), experiment_text.kpi_interval(kpi, row), row.note)
                    for row in kpi.rows
                ],
                kpi.why,
            )
            for kpi in card.kpis
        ],
        "measured": sum(bool(kpi.rows) for kpi in card.kpis),
        "check_columns": experiment_text.CHECK_COLUMNS,
        "check_rows": experiment_text.check_rows(report, unknown=False),
        "check_unknown": experiment_text.check_rows(report, unknown=True),
        "check_summary": experiment_text.check_summary(report),
        "cell_columns": experiment_text.CELL_COLUMNS,
        "cell_rows": experiment_text.cell_rows(report),
        "explained": next((text for one in report.compared if (text := comparison_text.explained(one.comparison))), ""),
        "comparisons": [_comparison(one, index) for index, one in enumerate(report.compared)],
        "sensitivity_svg": page.drawn(lambda narrow: drawings.sensitivity(card.sensitivity, narrow=narrow)),
        "costs": [_cost(cost) for cost in report.costs],
        "sensitivity_runs": min((min(row.runs, row.baseline_runs) for row in card.sensitivity), default=0),
        "tail_svg": page.drawn(lambda narrow: drawings.tail(card.combinations, narrow=narrow)),
        "tail_left_out": max(0, len(card.combinations) - drawings.MOST_BARS),
        "several_runs": any(len(one.runs) > 1 for one in card.combinations),
    }


def _cost(cost: Throughput) -> dict[str, Any]:
    return {
        "a": one_line(cost.a, 60),
        "b": None if cost.b is None else one_line(cost.b, 60),
        "sentence": one_line(cost.sentence, 600),
        "figure": page.drawn(lambda narrow: costs.cost(cost, narrow=narrow)),
        "columns": throughput_text.columns(cost),
        "rows": throughput_text.rows(cost),
        "explained": throughput_text.explained(cost),
        "notes": [one_line(note, 400) for note in cost.notes],
    }


def _tiles(report: ExperimentReport) -> list[Tile]:
    card, result = report.scorecard, report.result
    tiles = []
    known = [one for one in card.combinations if one.star_ns is not None]
    each = [one for one in card.combinations if one.star_each_ns is not None]
    if known and len(known) == len(card.combinations):
        worst = max(known, key=lambda one: one.star_ns or 0)
        why = (
            f"smallest deadline every combination demonstrates for {experiment_text.asked(card)}; worst: {worst.title}"
        )
        tiles.append(Tile("D*, demonstrated deadline", wording.spaced(worst.star_ns or 0), why))
    elif each and len(each) == len(card.combinations):
        worst = max(each, key=lambda one: one.star_each_ns or 0)
        why = f"for p ≤ {wording.probability(card.p_each)} only, too short for {experiment_text.asked(card)}; worst: {worst.title}"
        tiles.append(Tile("D*, demonstrated deadline", wording.spaced(worst.star_each_ns or 0), why))
    else:
        tiles.append(Tile("D*, demonstrated deadline", "none", "a combination demonstrates no deadline at all"))
    tiles.append(
        Tile(
            "Requirement",
            experiment_text.requirement(report).partition(",")[0],
            experiment_text.requirement(report).partition(", ")[2],
        )
    )
    after = f"; for a better one: {'; '.join(card.grade.next)}" if card.grade.next else ""
    tiles.append(Tile("Evidence grade", card.grade.letter, "; ".join(card.grade.because) + after))
    tops = [one for one in card.combinations if one.max_ns is not None]
    if tops:
        top = max(tops, key=lambda one: one.max_ns or 0)
        tiles.append(
            Tile(
                "Largest latency seen",
                wording.spaced(top.max_ns or 0),
                f"{top.title}; it grows with every further hour",
            )
        )
    hours = sum(one.hours for one in card.combinations)
    tiles.append(
        Tile("Measured", wording.span(hours * 3600), f"{result['cells_sealed']} of {result['cells_total']} cells")
    )
    return tiles


def _comparison(one: Compared, index: int) -> dict[str, Any]:
    comparison = one.comparison
    keep = comparison_text.ladder_columns(comparison)
    title = f"{one.factor}: {one.a} (A) against {one.b} (B)" + (f", at {one.where}" if one.where else "")
    rows = zip(comparison_text.ladder_rows(comparison), comparison.quantiles, strict=True)
    return {
        "title": one_line(title, 160),
        "open": index < _OPEN,
        "headline": comparison_text.headline(comparison),
        "sentence": one_line(comparison.sentence),
        "crossover": comparison_text.crossover(comparison),
        "tests": comparison_text.tests(comparison),
        "refused": comparison.conclusion == REFUSED,
        "ladder": page.drawn(lambda narrow: ladders.ladder(comparison, narrow=narrow)),
        "columns": [comparison_text.LADDER_COLUMNS[i] for i in keep],
        "rows": [([row[i] for i in keep], step.shown or "") for row, step in rows],
        "checks": [
            f"{check.id}: {one_line(check.message)}"
            for check in comparison.checks
            if check.severity in ("invalid", "warning")
        ],
    }


def _plots(report: ExperimentReport) -> dict[str, Any]:
    shown = [one for one in report.scorecard.combinations if one.histogram is not None and one.n][:_MOST_LINES]
    histograms = [one.histogram for one in shown if one.histogram is not None]
    typical = max((step.value_ns for one in shown for step in one.quantiles if step.q == 0.99), default=100_000)
    places = experiment_text.digits(shown)
    unit = NS_PER_US if places == 0 or typical >= 20 * NS_PER_US else NS_PER_US // 10
    unit, lines = curves.histogram_lines(histograms, unit, _HISTOGRAM_POINTS)
    worst = max(range(len(shown)), key=lambda i: shown[i].max_ns or 0, default=0)
    deadline = report.result["requirement"]["deadline_ns"]
    data = {
        "labels": [one_line(one.title, 60) for one in shown],
        "maxima": [wording.us(one.max_ns, places) for one in shown],
        "digits": places,
        "typical_ns": typical,
        "judged": worst,
        "deadline_ns": deadline,
        "p_target": report.scorecard.p if deadline is not None else None,
        "histogram": lines,
        "curves": [
            curves.curve_line(histogram, _CURVE_POINTS, one.n) for histogram, one in zip(histograms, shown, strict=True)
        ],
        "over": [histogram.over for histogram in histograms],
        "limit_ns": [histogram.limit_ns for histogram in histograms],
    }
    return {
        "data": page.plot_data(data),
        "has_plots": bool(shown),
        "bin_words": curves.unit_words(unit),
        "judged": shown[worst].title if shown else "-",
        "judged_n": wording.count(shown[worst].n) if shown else "-",
        "lines_left_out": max(0, len(report.scorecard.combinations) - len(shown)),
    }

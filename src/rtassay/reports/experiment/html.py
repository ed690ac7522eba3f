"""HTML: an experiment as one self-contained page, in the dress of a recording's report."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rtassay.model.comparison import REFUSED
from rtassay.model.experiment import Compared, ExperimentReport
from rtassay.model.units import NS_PER_US
from rtassay.reports import series, svg, view
from rtassay.reports.comparison import drawings as ladders
from rtassay.reports.comparison import words as comparing
from rtassay.reports.experiment import drawings, words
from rtassay.reports.html import Tile, asset, content_policy, embed

_HISTOGRAM_POINTS = 4000
_CURVE_POINTS = 800
_MOST_LINES = 16
_OPEN = 3


class HtmlExperiment:
    """The page for people: answers first, then combinations, bars, curves, comparisons, scorecard, runs, checks, matrix, repeat."""

    name = "html"
    suffix = ".html"
    summary = "self-contained page with plots"

    def render(self, report: ExperimentReport) -> bytes:
        style = "".join(asset(name) for name in ("uPlot.min.css", "report.css", "comparison.css", "experiment.css"))
        uplot, script = asset("uPlot.iife.min.js"), asset("report.js")
        page: str = _template().render(
            style=Markup(style),
            uplot=Markup(uplot),
            script=Markup(script),
            csp=content_policy(style, uplot, script),
            line=view.one_line,
            **_words(report),
            **_tables(report),
            **_plots(report),
        )
        return f"{page}\n".encode("utf-8", "backslashreplace")


@functools.cache
def _template() -> Template:
    environment = Environment(loader=PackageLoader("rtassay.reports"), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("experiment.html.j2")


def _words(report: ExperimentReport) -> dict[str, Any]:
    result, card = report.result, report.scorecard
    what, corrected = words.lead(report)
    said = words.state(report)
    return {
        "name": view.one_line(result["name"], 60),
        "what": what,
        "corrected": corrected,
        "form": words.form(report),
        "summary": words.states_summary(report),
        "created": view.one_line(report.created, 40),
        "boards": [f"{told['board']}, kernel {told['kernel']}" for told in card.boards],
        "state": said,
        "tone": view.TONES.get(said, "none"),
        "icon": view.ICONS.get(said, "–"),
        "answers": card.answers,
        "requirement": words.requirement(report),
        "tiles": _tiles(report),
        "grade": card.grade,
        "notes": [view.one_line(note) for note in result["notes"]],
        "order": words.order(report),
        "p_each": view.probability(card.p_each),
        "confidence": view.percent(card.confidence),
        "p": view.probability(card.p),
        "levels": [tuple(view.one_line(text, 400) for text in row) for row in report.levels],
        "repeat": result["repeat"],
        "figures": words.figure_commands(report),
        "plan": result["plan"],
        "path": result["path"],
        "file": view.clean(report.file, 40_000),
        "commands": report.commands,
        "versions": list(card.versions.items()),
        "fingerprints": words.fingerprints(report),
        "not_covered": card.not_covered,
        "superseded": result["superseded"],
        "schema": result["schema"],
    }


def _tables(report: ExperimentReport) -> dict[str, Any]:
    card = report.scorecard
    return {
        "answer_columns": words.ANSWER_COLUMNS,
        "answer_rows": words.answer_rows(report),
        "latency_columns": words.LATENCY_COLUMNS,
        "latency_rows": words.latency_rows(card.combinations),
        "run_columns": words.RUN_COLUMNS,
        "run_rows": words.run_rows(report),
        "worst_columns": words.WORST_COLUMNS,
        "worst_rows": words.worst_rows(report),
        "spread_columns": words.SPREAD_COLUMNS,
        "spread_rows": words.spread_rows(card.combinations),
        "kpis": [
            (
                words.kpi_title(kpi),
                kpi.definition,
                [(row.where, words.kpi_value(kpi, row), words.kpi_interval(kpi, row), row.note) for row in kpi.rows],
                kpi.why,
            )
            for kpi in card.kpis
        ],
        "measured": sum(bool(kpi.rows) for kpi in card.kpis),
        "check_columns": words.CHECK_COLUMNS,
        "check_rows": words.check_rows(report, unknown=False),
        "check_unknown": words.check_rows(report, unknown=True),
        "check_summary": words.check_summary(report),
        "cell_columns": words.CELL_COLUMNS,
        "cell_rows": words.cell_rows(report),
        "comparisons": [_comparison(one, index) for index, one in enumerate(report.compared)],
        "sensitivity_svg": Markup(
            drawings.sensitivity(card.sensitivity)
        ),  # drawings.py escapes what came from elsewhere
        "sensitivity_runs": min((min(row.runs, row.baseline_runs) for row in card.sensitivity), default=0),
        "tail_svg": Markup(drawings.tail(card.combinations)),
        "tail_left_out": max(0, len(card.combinations) - drawings.MOST_BARS),
        "several_runs": any(len(one.runs) > 1 for one in card.combinations),
    }


def _tiles(report: ExperimentReport) -> list[Tile]:
    card, result = report.scorecard, report.result
    tiles = []
    known = [one for one in card.combinations if one.star_ns is not None]
    each = [one for one in card.combinations if one.star_each_ns is not None]
    if known and len(known) == len(card.combinations):
        worst = max(known, key=lambda one: one.star_ns or 0)
        why = (
            f"smallest deadline every combination demonstrates for p ≤ {view.probability(card.p)}; worst: {worst.title}"
        )
        tiles.append(Tile("D*, demonstrated deadline", view.spaced(worst.star_ns or 0), why))
    elif each and len(each) == len(card.combinations):
        worst = max(each, key=lambda one: one.star_each_ns or 0)
        why = f"for p ≤ {view.probability(card.p_each)} only, too short for {view.probability(card.p)}; worst: {worst.title}"
        tiles.append(Tile("D*, demonstrated deadline", view.spaced(worst.star_each_ns or 0), why))
    else:
        tiles.append(Tile("D*, demonstrated deadline", "none", "a combination demonstrates no deadline at all"))
    tiles.append(
        Tile("Requirement", words.requirement(report).partition(",")[0], words.requirement(report).partition(", ")[2])
    )
    after = f"; for a better one: {'; '.join(card.grade.next)}" if card.grade.next else ""
    tiles.append(Tile("Evidence grade", card.grade.letter, "; ".join(card.grade.because) + after))
    tops = [one for one in card.combinations if one.max_ns is not None]
    if tops:
        top = max(tops, key=lambda one: one.max_ns or 0)
        tiles.append(
            Tile("Largest latency seen", view.spaced(top.max_ns or 0), f"{top.title}; it grows with every further hour")
        )
    hours = sum(one.hours for one in card.combinations)
    tiles.append(
        Tile("Measured", view.span(hours * 3600), f"{result['cells_sealed']} of {result['cells_total']} cells")
    )
    return tiles


def _comparison(one: Compared, index: int) -> dict[str, Any]:
    comparison = one.comparison
    keep = comparing.ladder_columns(comparison)
    title = f"{one.factor}: {one.a} (A) against {one.b} (B)" + (f", at {one.where}" if one.where else "")
    rows = zip(comparing.ladder_rows(comparison), comparison.quantiles, strict=True)
    return {
        "title": view.one_line(title, 160),
        "open": index < _OPEN,
        "headline": comparing.headline(comparison),
        "sentence": view.one_line(comparison.sentence),
        "crossover": comparing.crossover(comparison),
        "tests": comparing.tests(comparison),
        "refused": comparison.conclusion == REFUSED,
        "ladder": Markup(ladders.ladder(comparison)),
        "columns": [comparing.LADDER_COLUMNS[i] for i in keep],
        "rows": [([row[i] for i in keep], step.shown or "") for row, step in rows],
        "checks": [
            f"{check.id}: {view.one_line(check.message)}"
            for check in comparison.checks
            if check.severity in ("invalid", "warning")
        ],
    }


def _plots(report: ExperimentReport) -> dict[str, Any]:
    shown = [one for one in report.scorecard.combinations if one.histogram is not None and one.n][:_MOST_LINES]
    histograms = [one.histogram for one in shown if one.histogram is not None]
    typical = max((step.value_ns for one in shown for step in one.quantiles if step.q == 0.99), default=100_000)
    places = words.digits(shown)
    unit = NS_PER_US if places == 0 or typical >= 20 * NS_PER_US else NS_PER_US // 10
    while True:
        lines = [series.coalesce(histogram, unit) for histogram in histograms]
        if sum(len(line[0]) for line in lines) <= _HISTOGRAM_POINTS or unit > 10**9:
            break
        unit *= 2
    curves = [series.exceedance_curve(histogram, _CURVE_POINTS) for histogram in histograms]
    worst = max(range(len(shown)), key=lambda i: shown[i].max_ns or 0, default=0)
    deadline = report.result["requirement"]["deadline_ns"]
    data = {
        "labels": [view.one_line(one.title, 60) for one in shown],
        "maxima": [view.us(one.max_ns, places) for one in shown],
        "digits": places,
        "typical_ns": typical,
        "judged": worst,
        "deadline_ns": deadline,
        "p_target": report.scorecard.p if deadline is not None else None,
        "histogram": [{"x": series.deltas(x), "w": series.run_lengths(w), "n": n.tolist()} for x, w, n in lines],
        "curves": [
            {"x": series.deltas(x), "k": k.tolist(), "n": one.n} for (x, k), one in zip(curves, shown, strict=True)
        ],
        "over": [histogram.over for histogram in histograms],
        "limit_ns": [histogram.limit_ns for histogram in histograms],
        "time": None,
        "marks": [],
        "telemetry": [],
        "worst": [],
        "rules": [],
    }
    return {
        "data": embed(data),
        "has_plots": bool(shown),
        "bin_words": svg.unit_words(unit),
        "judged": shown[worst].title if shown else "-",
        "judged_n": view.count(shown[worst].n) if shown else "-",
        "lines_left_out": max(0, len(report.scorecard.combinations) - len(shown)),
    }

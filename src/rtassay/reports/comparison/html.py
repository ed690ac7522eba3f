"""HTML: a comparison as one self-contained page, in the dress of a recording's report."""

from __future__ import annotations

import functools
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from rtassay.model.comparison import CROSSES, REFUSED, Comparison
from rtassay.model.units import NS_PER_US, format_time
from rtassay.reports import series, svg, view
from rtassay.reports.comparison import drawings, words
from rtassay.reports.html import Tile, asset, content_policy, embed

_HISTOGRAM_POINTS = 3000
_CURVE_POINTS = 1200


class HtmlComparison:
    """The page for people: conclusion, ladder drawn and in numbers, curves of both groups, runs, lanes, checks, conditions."""

    name = "html"
    suffix = ".html"
    summary = "self-contained page with plots"

    def render(self, comparison: Comparison) -> bytes:
        style = asset("uPlot.min.css") + asset("report.css") + asset("comparison.css")
        uplot, script = asset("uPlot.iife.min.js"), asset("report.js")
        plots = _plots(comparison)
        page: str = _template().render(
            style=Markup(style),
            uplot=Markup(uplot),
            script=Markup(script),
            csp=content_policy(style, uplot, script),
            line=view.one_line,
            **_words(comparison),
            **plots,
        )
        return f"{page}\n".encode("utf-8", "backslashreplace")


@functools.cache
def _template() -> Template:
    environment = Environment(loader=PackageLoader("rtassay.reports"), autoescape=True, undefined=StrictUndefined)
    return environment.get_template("comparison.html.j2")


def _words(comparison: Comparison) -> dict[str, Any]:
    checks = words.sorted_checks(comparison)
    keep = words.ladder_columns(comparison)
    return {
        "headline": words.headline(comparison),
        "tone": words.TONES[comparison.conclusion],
        "icon": {CROSSES: "×", REFUSED: "!"}.get(comparison.conclusion, "="),
        "sentence": view.one_line(comparison.sentence),
        "next_step": words.next_step(comparison),
        "a": words.called(comparison.a),
        "b": words.called(comparison.b),
        "a_runs": len(comparison.a.runs),
        "b_runs": len(comparison.b.runs),
        "factor": ", ".join(comparison.factor),
        "refused": comparison.conclusion == REFUSED,
        "tiles": _tiles(comparison),
        "ladder_columns": [words.LADDER_COLUMNS[i] for i in keep],
        "ladder_rows": [([row[i] for i in keep], shown) for row, shown in _ladder_rows(comparison)],
        "crossover": words.crossover(comparison),
        "tests": words.tests(comparison),
        "maxima": words.maxima_rows(comparison),
        "run_columns": words.run_columns(),
        "run_rows": words.run_rows(comparison),
        "boot_columns": words.BOOT_COLUMNS,
        "boot_rows": words.boot_rows(comparison),
        "weak": [
            (f"{group.name} {view.one_line(run.id, 60)}", ", ".join(run.weak))
            for group in (comparison.a, comparison.b)
            for run in group.runs
            if run.weak
        ],
        "lane_columns": words.lane_columns(comparison),
        "lanes": [(view.one_line(lane.name, 40), words.lane_cells(lane)) for lane in comparison.lanes],
        "check_summary": words.check_summary(comparison),
        "checks_shown": [check for check in checks if check.severity != "pass"],
        "checks_passed": [check for check in checks if check.severity == "pass"],
        "conditions": words.condition_rows(comparison),
        "unknown": words.unknown_conditions(comparison),
        "not_covered": comparison.not_covered,
        "bins": format_time(comparison.bin_width_ns) if comparison.bin_width_ns > 1 else "",
        "schema": comparison.schema,
    }


def _ladder_rows(comparison: Comparison) -> list[tuple[tuple[str, ...], str]]:
    rows = zip(words.ladder_rows(comparison), comparison.quantiles, strict=True)
    return [(row, step.shown or "") for row, step in rows]


def _tiles(comparison: Comparison) -> list[Tile]:
    """The far end of the ladder, the crossover, maxima at equal n, replication."""
    tiles = []
    steps = [row for row in comparison.quantiles if row.ratio is not None]
    for row in dict.fromkeys((*(s for s in steps if s.q == 0.5), *steps[-1:])):
        name = f"B / A at {view.quantile_name(row.q)}"
        tiles.append(
            Tile(
                name, words.ratio(row.ratio), f"95 % interval {words.interval(row) or 'not known'}; {words.better(row)}"
            )
        )
    turn = comparison.crossover
    if turn is not None and turn.shown:
        later = comparison.b if turn.worse_below == "b" else comparison.a
        why = f"exceeded with {view.probability(1 - turn.q)}; below it {words.called(later)} is later, beyond it the other"
        tiles.append(Tile("Crossover", view.spaced(turn.value_ns), why))
    fair = comparison.rarefied
    if fair is not None:
        sides = " / ".join("overflow" if ns is None else format_time(ns) for ns in (fair.a_median_ns, fair.b_median_ns))
        tiles.append(
            Tile(f"Maximum of {fair.m:,} samples, A / B", sides, "median over draws from each pool: maxima at equal n")
        )
    tiles.append(
        Tile(
            "Runs, A / B",
            f"{len(comparison.a.runs)} / {len(comparison.b.runs)}",
            f"boots: {_boots(comparison.a.boots)} / {_boots(comparison.b.boots)}; the run is what is repeated, not the sample",
        )
    )
    return tiles


def _boots(number: int | None) -> str:
    return "not known" if number is None else str(number)


def _plots(comparison: Comparison) -> dict[str, Any]:
    groups = [group for group in (comparison.a, comparison.b) if group.histogram is not None and group.n]
    histograms = [group.histogram for group in groups if group.histogram is not None]
    p99 = [row.quantiles[2].value_ns for group in groups for row in group.runs if len(row.quantiles) > 2]
    typical = max(p99, default=100_000)
    unit = _bin_unit(comparison.bin_width_ns, typical)
    while True:
        lines = [series.coalesce(histogram, unit) for histogram in histograms]
        if sum(len(line[0]) for line in lines) <= _HISTOGRAM_POINTS or unit > 10**9:
            break
        unit *= 2
    curves = [series.exceedance_curve(histogram, _CURVE_POINTS) for histogram in histograms]
    turn = comparison.crossover
    rules = []
    if turn is not None and turn.shown:
        rules.append({"ns": turn.value_ns, "text": f"crossover {view.spaced(turn.value_ns)}"})
    places = words.digits(comparison)
    data = {
        "labels": [words.called(group) for group in groups],
        "maxima": [view.us(group.max_ns, places) for group in groups],
        "digits": places,
        "typical_ns": typical,
        "judged": 0,
        "deadline_ns": None,
        "p_target": None,
        "histogram": [{"x": series.deltas(x), "w": series.run_lengths(w), "n": n.tolist()} for x, w, n in lines],
        "curves": [
            {"x": series.deltas(x), "k": k.tolist(), "n": group.n} for (x, k), group in zip(curves, groups, strict=True)
        ],
        "over": [histogram.over for histogram in histograms],
        "limit_ns": [histogram.limit_ns for histogram in histograms],
        "time": None,
        "marks": [],
        "telemetry": [],
        "worst": [],
        "rules": rules,
    }
    return {
        "data": embed(data),
        "has_plots": bool(groups),
        "bin_words": svg.unit_words(unit),
        "ladder_svg": Markup(drawings.ladder(comparison)),  # drawings.py escapes what came from elsewhere
        "exceedance_svg": Markup(drawings.exceedance(comparison)),
    }


def _bin_unit(width_ns: int, typical_ns: int) -> int:
    """The finest bin of the latency plot, as for one recording: 1 us, 0.1 us where the bulk is below 20 us."""
    if typical_ns >= 20 * NS_PER_US or width_ns > NS_PER_US // 10:
        return max(NS_PER_US, width_ns)
    return NS_PER_US // 10

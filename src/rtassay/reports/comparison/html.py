"""HTML: a comparison as one self-contained page, in the style of a recording's report."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from rtassay.model.comparison import CROSSES, REFUSED, Comparison
from rtassay.model.foreign import one_line
from rtassay.model.units import NS_PER_US, format_time
from rtassay.reports import curves, page, severities, wording
from rtassay.reports.comparison import comparison_text, drawings
from rtassay.reports.page import Tile

_HISTOGRAM_POINTS = 3000
_CURVE_POINTS = 1200


class HtmlComparison:
    """The page for people: conclusion, ladder drawn and in numbers, curves of both groups, runs, lanes, checks, conditions."""

    name = "comparison.html"
    suffix = ".html"
    summary = "self-contained page with plots"

    def render(self, subject: Comparison) -> bytes:
        given = {**_words(subject), **_plots(subject)}
        return page.render("comparison.html.j2", ("report.css", "comparison.css"), given)


def _words(comparison: Comparison) -> dict[str, Any]:
    checks = severities.by_severity(comparison.checks)
    keep = comparison_text.ladder_columns(comparison)
    return {
        "headline": comparison_text.headline(comparison),
        "tone": comparison_text.TONES[comparison.conclusion],
        "icon": {CROSSES: "×", REFUSED: "!"}.get(comparison.conclusion, "="),
        "sentence": one_line(comparison.sentence),
        "next_step": comparison_text.next_step(comparison),
        "a": comparison_text.called(comparison.a),
        "b": comparison_text.called(comparison.b),
        "a_runs": len(comparison.a.runs),
        "b_runs": len(comparison.b.runs),
        "factor": ", ".join(comparison.factor),
        "refused": comparison.conclusion == REFUSED,
        "tiles": _tiles(comparison),
        "ladder_columns": [comparison_text.LADDER_COLUMNS[i] for i in keep],
        "ladder_rows": [([row[i] for i in keep], shown) for row, shown in _ladder_rows(comparison)],
        "crossover": comparison_text.crossover(comparison),
        "tests": comparison_text.tests(comparison),
        "explained": comparison_text.explained(comparison),
        "maxima": comparison_text.maxima_rows(comparison),
        "run_columns": comparison_text.run_columns(),
        "run_rows": comparison_text.run_rows(comparison),
        "boot_columns": comparison_text.BOOT_COLUMNS,
        "boot_rows": comparison_text.boot_rows(comparison),
        "weak": [
            (comparison_text.run_called(group, run), ", ".join(run.weak))
            for group in (comparison.a, comparison.b)
            for run in group.runs
            if run.weak
        ],
        "lane_columns": comparison_text.lane_columns(comparison),
        "lanes": [(one_line(lane.name, 40), comparison_text.lane_cells(lane)) for lane in comparison.lanes],
        "check_summary": comparison_text.check_summary(comparison),
        "checks_shown": [check for check in checks if check.severity != "pass"],
        "checks_passed": [check for check in checks if check.severity == "pass"],
        "conditions": [
            (row, difference.kind)
            for row, difference in zip(
                comparison_text.condition_rows(comparison), comparison_text.known_conditions(comparison), strict=True
            )
        ],
        "unknown": comparison_text.unknown_conditions(comparison),
        "not_covered": comparison.not_covered,
        "bins": format_time(comparison.bin_width_ns) if comparison.bin_width_ns > 1 else "",
        "schema": comparison.schema,
    }


def _ladder_rows(comparison: Comparison) -> list[tuple[tuple[str, ...], str]]:
    rows = zip(comparison_text.ladder_rows(comparison), comparison.quantiles, strict=True)
    return [(row, step.shown or "") for row, step in rows]


def _tiles(comparison: Comparison) -> list[Tile]:
    """The primary step, the far end of the ladder, the crossover, maxima at equal n, replication."""
    tiles = []
    steps = [row for row in comparison.quantiles if row.ratio is not None]
    for row in dict.fromkeys((*(s for s in steps if s.q == comparison.primary_q), *steps[-1:])):
        name = f"B / A at {wording.quantile_name(row.q)}"
        tiles.append(
            Tile(
                name,
                wording.ratio(row.ratio),
                f"95 % interval {comparison_text.interval(row) or 'not known'}; {comparison_text.better(row)}",
            )
        )
    turn = comparison.crossover
    if turn is not None and turn.shown:
        later = comparison.b if turn.worse_below == "b" else comparison.a
        why = f"exceeded with {wording.probability(1 - turn.q)}; below it {comparison_text.called(later)} is later, beyond it the other"
        tiles.append(Tile("Crossover", wording.spaced(turn.value_ns), why))
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
    unit, lines = curves.histogram_lines(histograms, unit, _HISTOGRAM_POINTS)
    turn = comparison.crossover
    rules = []
    if turn is not None and turn.shown:
        rules.append({"ns": turn.value_ns, "text": f"crossover {wording.spaced(turn.value_ns)}"})
    places = comparison_text.digits(comparison)
    data = {
        "labels": [comparison_text.called(group) for group in groups],
        "maxima": [wording.us(group.max_ns, places) for group in groups],
        "digits": places,
        "typical_ns": typical,
        "judged": 0,
        "deadline_ns": None,
        "p_target": None,
        "histogram": lines,
        "curves": [
            curves.curve_line(histogram, _CURVE_POINTS, group.n)
            for histogram, group in zip(histograms, groups, strict=True)
        ],
        "over": [histogram.over for histogram in histograms],
        "limit_ns": [histogram.limit_ns for histogram in histograms],
        "rules": rules,
    }
    return {
        "data": page.plot_data(data),
        "has_plots": bool(groups),
        "bin_words": curves.unit_words(unit),
        "ladder_svg": page.drawn(lambda narrow: drawings.ladder(comparison, narrow=narrow)),
        "exceedance_svg": Markup(drawings.exceedance(comparison)),
    }


def _bin_unit(width_ns: int, typical_ns: int) -> int:
    """The finest bin of the latency plot, as for one recording: 1 us, 0.1 us where the bulk is below 20 us."""
    if typical_ns >= 20 * NS_PER_US or width_ns > NS_PER_US // 10:
        return max(NS_PER_US, width_ns)
    return NS_PER_US // 10

"""A panel for each measure: what several tools on one board found, each by its own measure, on one axis of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.figures import data, paper
from rtassay.figures.data import Options, Shot
from rtassay.model.measures import measure_words
from rtassay.model.recording import Histogram
from rtassay.model.units import NS_PER_US

_TITLE_LETTERS = 46
_NAME_LETTERS = 30
# Part of a panel's height that a line of its legend takes; with more lines than these one legend stands below all panels.
_LINE, _LINES_MOST = 0.085, 6


@dataclass(frozen=True, slots=True)
class _Curve:
    """The lanes of one recording that have one measure. `index`: of its recording, which decides the colour."""

    name: str
    index: int
    histogram: Histogram
    n: int
    max_ns: int | None


def draw(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """Share of values at or above x in each panel, log-log; lanes of unlike measures never share one.

    The last step of a curve ends in a marker at the maximum. Where values lie beyond the histogram, or a tool keeps minimum and maximum alone, a
    dotted line leads on from an arrow head: nothing is known in between.
    """
    panels = _panels(shots)
    crowded = max(map(len, panels.values())) > _LINES_MOST
    columns = 1 if options.width == "column" or len(panels) == 1 else 2
    rows = -(-len(panels) // columns)
    with paper.drawing():
        figure, axes = paper.sheet(options, rows, columns, (2.2 if columns == 1 else 1.75) * rows, sharex=True)
        flat = axes.ravel()
        curves = [curve for panel in panels.values() for curve in panel]
        low = min([_lowest(curve) for curve in curves], default=NS_PER_US)
        high = max([_top(curve) for curve in curves] + [1000])
        for (measure, panel), one in zip(panels.items(), flat, strict=False):
            _panel(one, panel, legend=not crowded)
            one.set_title(_title(measure), loc="left", fontsize=7.5)
            paper.latency_axis(one.xaxis, options.scale != "linear", low, high, options, "")
            if options.deadline_ns is not None:
                one.axvline(options.deadline_ns / NS_PER_US, color="#333333", linewidth=0.8, linestyle="-.", zorder=2)
        for unused in flat[len(panels) :]:
            unused.remove()
        for index in range(len(panels)):
            if index + columns >= len(panels):
                flat[index].xaxis.set_label_text("Time [µs]")
                flat[index].tick_params(labelbottom=True)
            if index % columns == 0:
                flat[index].set_ylabel("Share of values ≥ x")
        handles = [_handle(paper.look(index), paper.marker(index)) for index in range(len(shots))] if crowded else []
        names = [_name(shot) for shot in shots] if crowded else []
        line = [] if options.deadline_ns is None else [f"the vertical line: D = {data.us(options.deadline_ns)}"]
        paper.foot(figure, options, handles, names, [*line, *data.missing_words(shots)])
    return figure  # type: ignore[no-any-return]


def _panels(shots: list[Shot]) -> dict[str, list[_Curve]]:
    """Measure -> its curves, in the order in which recordings and lanes first have it."""
    found: dict[str, list[_Curve]] = {}
    for index, shot in enumerate(shots):
        for measure in dict.fromkeys(lane.measure for _, lane in shot.lanes):
            lanes = [(lane, told) for lane, told in shot.lanes if told.measure == measure]
            histogram = data.pool([lane.histogram for lane, _ in lanes])
            tops = [told.max_ns for _, told in lanes if told.max_ns is not None]
            curve = _Curve(shot.name, index, histogram, sum(told.n for _, told in lanes), max(tops, default=None))
            found.setdefault(measure, []).append(curve)
    return found


def _title(measure: str) -> str:
    words = measure_words(measure)
    return f"{words} ({measure})" if len(words) + len(measure) <= _TITLE_LETTERS else words


def _short(name: str) -> str:
    return name if len(name) <= _NAME_LETTERS else f"{name[: _NAME_LETTERS - 1]}…"


def _name(shot: Shot) -> str:
    tops = [told.max_ns for _, told in shot.lanes if told.max_ns is not None]
    return f"{shot.name}: max {data.us(max(tops, default=None))}"


def _lowest(curve: _Curve) -> float:
    """The start of a logarithmic axis: the lowest value that is not 0."""
    edges = [float(edge) for edge in curve.histogram.lower_ns[:2] if edge > 0]
    return min(edges, default=float(curve.histogram.limit_ns or NS_PER_US) if curve.histogram.over else NS_PER_US)


def _top(curve: _Curve) -> int:
    return max(curve.max_ns or 0, curve.histogram.limit_ns or 0 if curve.histogram.over else 0)


def _panel(axes: Any, curves: list[_Curve], *, legend: bool) -> None:
    handles = [_step(axes, curve) for curve in curves]
    names = [f"{_short(curve.name)}: {data.counted(curve.n, 'value')}, max {data.us(curve.max_ns)}" for curve in curves]
    if all(curve.max_ns == 0 for curve in curves):
        axes.text(0.5, 0.6, "all values are 0", transform=axes.transAxes, ha="center", fontsize=7, color="#333333")
    axes.set_yscale("log")
    # the legend stands below the lowest step
    decades = 0.6 + np.log10(max(curve.n for curve in curves))
    axes.set_ylim(2.2 / 10 ** (decades / (1 - (_LINE * len(curves) if legend else 0))), 2.2)
    paper.power_axis(axes.yaxis)
    if legend:
        made = axes.legend(
            handles, names, loc="lower left", fontsize=6, handlelength=2.0, labelspacing=0.2, frameon=True, framealpha=0.85,
            edgecolor="none", borderpad=0.15,
        )  # fmt: skip
        made.set_in_layout(False)  # a long name would leave no room for the axes


def _step(axes: Any, curve: _Curve) -> Any:
    """The curve's share of values at or above x; its handle for the legend."""
    style, shape, n, histogram = paper.look(curve.index), paper.marker(curve.index), max(curve.n, 1), curve.histogram
    x, k = data.thinned(*data.exceedances(histogram))
    if histogram.over and histogram.limit_ns is not None:
        x, k = np.append(x, histogram.limit_ns), np.append(k, histogram.over)
        edge = histogram.limit_ns / NS_PER_US
        axes.plot([edge], [histogram.over / n], ">", color=style["color"], markersize=5, zorder=6)
        if curve.max_ns is not None:
            ends = [edge, curve.max_ns / NS_PER_US], [histogram.over / n, 1 / n]
            axes.plot(*ends, ":", color=style["color"], linewidth=0.7)
    axes.step(x / NS_PER_US, k / n, where="pre", **style)
    if curve.max_ns is not None:
        top = [curve.max_ns / NS_PER_US], [1 / n]
        axes.plot(*top, shape, color=style["color"], markersize=5, markerfacecolor="white", zorder=7)
    return _handle(style, shape)


def _handle(style: dict[str, Any], shape: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=shape, markersize=3.5, **style)

"""The OSADL latency plot: samples per latency, log counts, a step line per CPU, its maximum in the legend, overflow at the edge."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtassay.figures import data, paper
from rtassay.figures.data import Options, Shot
from rtassay.model.findings import LaneFindings
from rtassay.model.recording import Histogram, Lane
from rtassay.model.units import NS_PER_US

_BOTTOM = 0.7
_LEGEND_IN_PANEL = 10


def draw(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """One panel per recording on shared axes."""
    log, unit = data.is_log(shots, options), data.unit_ns(shots)
    columns = 1 if options.width == "column" or len(shots) == 1 else 2 if len(shots) <= 8 else 3
    rows = -(-len(shots) // columns)
    small = len(shots) > 6 or any(len(shot.lanes) > _LEGEND_IN_PANEL for shot in shots)
    with paper.drawing():
        each = 1.5 if len(shots) > 6 else 2.1 if len(shots) > 2 else 2.5 if columns == 1 else 2.7
        figure, axes = paper.sheet(options, rows, columns, each * rows, sharex=True, sharey=True)
        flat = axes.ravel()
        edges = data.grid([lane.histogram for shot in shots for lane, _ in shot.lanes], unit, log)
        low, high = _span(shots)
        for shot, one in zip(shots, flat, strict=False):
            _panel(one, shot, edges, small)
            if len(shots) > 1:
                one.set_title(_title(shot, small, columns), loc="left", fontsize=7.5)
            paper.deadline_line(one, options, vertical=True)
        for unused in flat[len(shots) :]:
            unused.remove()
        for one in flat[: len(shots)]:
            one.set_yscale("log")
            paper.power_axis(one.yaxis)
            paper.latency_axis(one.xaxis, log, low, high, options, "")
        flat[0].set_ylim(bottom=_BOTTOM)
        for index in range(len(shots)):
            if index + columns >= len(shots):
                flat[index].xaxis.set_label_text("Latency [µs]")
                flat[index].tick_params(labelbottom=True)
        per = f"per {data.us(unit)}" if not log else "per bin"
        for row in axes[:, 0]:
            row.set_ylabel(f"Samples {per}")
        handles, names = _lanes_legend(shots) if small else ([], [])
        paper.foot(figure, options, handles, names, data.missing_words(shots))
    return figure  # type: ignore[no-any-return]


def _span(shots: list[Shot]) -> tuple[float, float]:
    """Lowest and highest latency of all lanes, the maxima of overflow and its limit included."""
    low = data.lowest_ns([lane.histogram for shot in shots for lane, _ in shot.lanes])
    tops = [_top(lane.histogram, found) for shot in shots for lane, found in shot.lanes]
    return low, max(tops, default=1000)


def _top(histogram: Histogram, found: LaneFindings) -> int:
    last = int(histogram.lower_ns[-1] + histogram.width_ns[-1]) if len(histogram.lower_ns) else 0
    return max(last, found.max_ns or 0, histogram.limit_ns or 0 if histogram.over else 0)


def _panel(axes: Any, shot: Shot, edges: Any, small: bool) -> None:
    handles, names = [], []
    for index, (lane, found) in enumerate(shot.lanes):
        style = paper.look(index)
        counts = data.rebin(lane.histogram, edges).astype(float)
        low, high = _filled(counts)
        # an empty bin between two others is shown as a gap down to the floor, as in OSADL's plots
        heights = np.where(counts > 0, counts, _BOTTOM / 10)[low:high]
        (line,) = axes.step(
            edges[low : high + 1] / NS_PER_US, np.append(heights, _BOTTOM / 10), where="post", linewidth=0.9, **style
        )
        _extremes(axes, lane, found, index, style["color"])
        handles.append(line)
        names.append(_name(found))
    if not small:
        axes.legend(
            handles,
            names,
            loc="upper right",
            handlelength=2.2,
            labelspacing=0.25,
            frameon=True,
            framealpha=0.85,
            edgecolor="none",
            borderpad=0.15,
        )


def _filled(counts: Any) -> tuple[int, int]:
    held = np.flatnonzero(counts)
    return (int(held[0]), int(held[-1]) + 1) if len(held) else (0, 1)


def _extremes(axes: Any, lane: Lane, found: LaneFindings, index: int, colour: str) -> None:
    """A marker on the axis at the maximum. For samples beyond the histogram, an arrow head at its edge; its height is their count."""
    if found.max_ns is not None:
        axes.plot(
            [found.max_ns / NS_PER_US], [_BOTTOM * 1.35], paper.marker(index), color=colour, markersize=4.8, clip_on=False,
            markeredgecolor="white", markeredgewidth=0.25, zorder=5,
        )  # fmt: skip
    if lane.histogram.over and lane.histogram.limit_ns:
        limit = lane.histogram.limit_ns / NS_PER_US
        axes.plot([limit], [lane.histogram.over], ">", color=colour, markersize=5, zorder=6, markerfacecolor="none")
        reach = max(found.max_ns or 0, lane.histogram.limit_ns) / NS_PER_US
        axes.plot([limit, reach], [lane.histogram.over] * 2, color=colour, linewidth=0.7, linestyle=":", zorder=3)
        axes.axvline(limit, color="#777777", linewidth=0.6, zorder=1)


def _name(found: LaneFindings) -> str:
    text = f"{data.lane_name(found)}  max {data.us(found.max_ns)}"
    return f"{text}, {data.count(found.over)} over" if found.over else text


def _title(shot: Shot, small: bool, columns: int) -> str:
    """Name and samples; also the maximum, if panels have no legend of their own."""
    pooled = shot.findings.pooled
    letters = {1: 60, 2: 44, 3: 30}[columns]
    name = shot.name if len(shot.name) <= letters else shot.name[: letters - 1] + "…"
    if not small:
        return f"{name}: {data.counted(pooled.n, 'sample')}"
    return f"{name}\n{data.counted(pooled.n, 'sample')}, max {data.us(pooled.max_ns)}"


def _lanes_legend(shots: list[Shot]) -> tuple[list[Any], list[str]]:
    """One legend for all panels: with the maximum if there is one panel, else lane names alone (titles hold the maximum)."""
    from matplotlib.lines import Line2D

    most = max(shots, key=lambda shot: len(shot.lanes))
    handles = [Line2D([], [], marker=paper.marker(i), markersize=3.5, **paper.look(i)) for i in range(len(most.lanes))]
    if len(shots) == 1:
        return handles, [_name(found) for _, found in most.lanes]
    return handles, [data.lane_name(found) for _, found in most.lanes]

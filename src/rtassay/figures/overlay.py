"""Latency histograms of several recordings over each other: pooled over their lanes, as shares, so that runs of any length compare."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtassay.figures import data, paper
from rtassay.figures.data import Options, Shot
from rtassay.model.units import NS_PER_US


def draw(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """Share of samples per microsecond, log; a marker at each maximum, an arrow head where samples lie beyond the histogram."""
    log, unit = data.is_log(shots, options), data.unit_ns(shots)
    pooled = [shot.pooled for shot in shots]
    edges = data.grid(pooled, unit, log)
    width_us = np.diff(edges) / NS_PER_US
    with paper.drawing():
        figure, axes = paper.sheet(options, height_in=2.3 if options.width == "column" else 3.1)
        one = axes[0, 0]
        handles, names = [], []
        floor = min(1 / max(histogram.total, 1) for histogram in pooled) / max(float(width_us.max()), 1e-3) / 2
        for index, (shot, histogram) in enumerate(zip(shots, pooled, strict=True)):
            handles.append(_one(one, shot, histogram, edges, width_us, floor, index, fill=len(shots) <= 4))
            names.append(_name(shot))
        one.set_yscale("log")
        one.set_ylim(bottom=floor)
        paper.power_axis(one.yaxis)
        one.set_ylabel("Share of samples per µs")
        paper.latency_axis(one.xaxis, log, data.lowest_ns(pooled), data.highest_ns(shots, pooled), options)
        paper.deadline_line(one, options, vertical=True)
        paper.foot(figure, options, handles, names, data.missing_words(shots))
    return figure  # type: ignore[no-any-return]


def _one(
    axes: Any, shot: Shot, histogram: Any, edges: Any, width_us: Any, floor: float, index: int, *, fill: bool
) -> Any:
    from matplotlib.lines import Line2D

    n = max(histogram.total, 1)
    share = np.maximum(data.rebin(histogram, edges) / n / width_us, floor / 10)
    held = np.flatnonzero(share > floor)
    style = paper.look(index)
    if len(held):
        first, last = int(held[0]), int(held[-1]) + 1
        x, y = edges[first : last + 1] / NS_PER_US, np.append(share[first:last], floor / 10)
        if fill:
            axes.fill_between(x, y, floor / 10, step="post", color=style["color"], alpha=0.13, linewidth=0)
        axes.step(np.concatenate((x[:1], x)), np.concatenate(([floor / 10], y)), where="post", **style)
    top = shot.findings.pooled.max_ns
    if top is not None:
        axes.plot(
            [top / NS_PER_US], [floor * 1.6], paper.marker(index), color=style["color"], clip_on=False, markersize=4.5,
            markeredgecolor="white", markeredgewidth=0.4, zorder=6,
        )  # fmt: skip
    if histogram.over and histogram.limit_ns:
        axes.plot([histogram.limit_ns / NS_PER_US], [histogram.over / n], ">", color=style["color"], markersize=5)
        axes.axvline(histogram.limit_ns / NS_PER_US, color="#777777", linewidth=0.6, zorder=1)
    return Line2D([], [], marker=paper.marker(index), markersize=3.5, **style)


def _name(shot: Shot) -> str:
    pooled = shot.findings.pooled
    over = f", {data.count(pooled.over)} over" if pooled.over else ""
    return f"{shot.name}: max {data.us(pooled.max_ns)}{over}, n {data.count(pooled.n)}"

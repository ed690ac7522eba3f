"""CCDF and CDF of several recordings in one plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rtassay.figures import data, paper
from rtassay.figures.data import Options, Shot
from rtassay.model.recording import Histogram
from rtassay.model.units import NS_PER_US


def draw_ccdf(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """Share of samples at or above x, log-log, down to one sample of the largest recording.

    Quantiles of the ladder are points with their 95 % interval; an open end of an interval is an arrow. The last step ends in a marker
    at the maximum; where samples lie beyond the histogram it ends in an arrow head at the histogram's limit.
    """
    with paper.drawing():
        figure, axes = paper.sheet(options, height_in=2.5 if options.width == "column" else 3.3)
        one = axes[0, 0]
        handles, names = [], []
        for index, shot in enumerate(shots):
            handles.append(_ccdf(one, shot, index, len(shots)))
            names.append(_name(shot))
        one.set_yscale("log")
        smallest = min(1 / max(shot.findings.pooled.n, 1) for shot in shots)
        one.set_ylim(smallest * 0.45, 1.6)
        paper.power_axis(one.yaxis)
        one.set_ylabel("Share of samples ≥ latency")
        low, high = _span(shots)
        paper.latency_axis(one.xaxis, options.scale != "linear", low, high, options)
        paper.deadline_line(one, options, vertical=True)
        paper.foot(figure, options, handles, names, data.missing_words(shots))
    return figure  # type: ignore[no-any-return]


def draw_cdf(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """Share of samples below the end of x's bin, linear from 0 to 1, with the maximum marked on the upper edge. It hides the tail."""
    with paper.drawing():
        figure, axes = paper.sheet(options, height_in=2.3 if options.width == "column" else 3.0)
        one = axes[0, 0]
        handles, names = [], []
        for index, shot in enumerate(shots):
            histogram, n = shot.pooled, max(shot.findings.pooled.n, 1)
            x, above = data.exceedances(histogram)
            ends = np.append(above[1:], histogram.over) if len(x) else above
            share = 1 - ends / n
            style = paper.look(index)
            held_x, held = _cdf_thinned(x, share)
            one.step(held_x / NS_PER_US, held, where="post", marker=None, **style)
            top = shot.findings.pooled.max_ns
            if len(x) and top is not None and not histogram.over:
                one.plot([held_x[-1] / NS_PER_US, top / NS_PER_US], [1, 1], **style)
            if histogram.over:
                _overflow(one, histogram, 1 - histogram.over / n, (top, 1.0), style["color"])
            if top is not None:
                one.plot([top / NS_PER_US], [1.0], paper.marker(index), color=style["color"], clip_on=False, zorder=6)
            handles.append(_handle(style, paper.marker(index)))
            names.append(_name(shot))
        one.set_ylim(0, 1.03)
        one.set_ylabel("Share of samples ≤ latency")
        low, high = _span(shots)
        paper.latency_axis(
            one.xaxis, options.scale == "log" or (options.scale == "auto" and high > 8 * low), low, high, options
        )
        paper.deadline_line(one, options, vertical=True, height=0.5)
        paper.foot(figure, options, handles, names, data.missing_words(shots))
    return figure  # type: ignore[no-any-return]


def _cdf_thinned(x: Any, share: Any, points: int = 1500) -> tuple[Any, Any]:
    if len(x) <= points:
        return x, share
    keep = np.unique(
        np.concatenate(
            (
                [0, len(x) - 1],
                np.searchsorted(share, np.linspace(0, 1, points // 2)).clip(0, len(x) - 1),
                np.linspace(0, len(x) - 1, points // 2).astype(int),
            )
        )
    )
    return x[keep], share[keep]


def _ccdf(axes: Any, shot: Shot, index: int, of: int) -> Any:
    histogram, pooled = shot.pooled, shot.findings.pooled
    n = max(pooled.n, 1)
    x, k = data.thinned(*data.exceedances(histogram))
    style = paper.look(index)
    limit = histogram.limit_ns or (int(x[-1]) if len(x) else 0)
    if histogram.over:
        x, k = np.append(x, limit), np.append(k, histogram.over)
    share = k / n
    # k samples are >= x: the curve stands at k / n until x, and falls behind it.
    axes.step(x / NS_PER_US, share, where="pre", **style)
    colour, shape = style["color"], paper.marker(index)
    if of <= 8:
        _quantiles(axes, shot, colour, shape, n)
    if histogram.over:
        _overflow(axes, histogram, histogram.over / n, (pooled.max_ns, 1 / n), colour)
    if pooled.max_ns is not None:
        axes.plot(
            [pooled.max_ns / NS_PER_US], [1 / n], shape, color=colour, markersize=5, markerfacecolor="white", zorder=7
        )
    return _handle(style, shape)


def _overflow(axes: Any, histogram: Histogram, share: float, top: tuple[int | None, float], colour: str) -> None:
    """An arrow head at the histogram's end, and a dotted line on to the maximum: the source has no data in between."""
    if histogram.limit_ns is None:
        return
    edge = histogram.limit_ns / NS_PER_US
    axes.plot([edge], [share], ">", color=colour, markersize=5, zorder=6)
    if top[0] is not None:
        axes.plot([edge, top[0] / NS_PER_US], [share, top[1]], ":", color=colour, linewidth=0.7)


def _quantiles(axes: Any, shot: Shot, colour: str, shape: str, n: int) -> None:
    """The ladder's points with horizontal 95 % intervals, as far as the data reach."""
    for quantile in shot.findings.pooled.quantiles:
        share = 1 - quantile.q
        if share * n < 1 or quantile.bound != "exact":
            continue
        low, value = quantile.lo_ns / NS_PER_US, quantile.value_ns / NS_PER_US
        high = None if quantile.hi_ns is None else quantile.hi_ns / NS_PER_US
        reach = value if high is None else high
        axes.plot([low, reach], [share, share], color=colour, linewidth=1.1, solid_capstyle="butt", zorder=5)
        axes.plot([value], [share], shape, color=colour, zorder=6)
        if high is None:
            axes.plot([value * 1.12], [share], ">", color=colour, markersize=3, markerfacecolor="none")


def _handle(style: dict[str, Any], shape: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=shape, markersize=3.5, **style)


def _name(shot: Shot) -> str:
    pooled = shot.findings.pooled
    over = f", {data.count(pooled.over)} over" if pooled.over else ""
    return f"{shot.name}: max {data.us(pooled.max_ns)}{over}, n {data.count(pooled.n)}"


def _span(shots: Sequence[Shot]) -> tuple[float, float]:
    histograms = [shot.pooled for shot in shots]
    return data.lowest_ns(histograms), data.highest_ns(shots, histograms)

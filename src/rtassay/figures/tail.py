"""Tail-latency bars: average, 99 ... 99.99999 % and maximum, a bar per kernel, a panel per scenario, with 95 % intervals."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from rtassay.figures import data, paper
from rtassay.figures.data import Options, Shot
from rtassay.model.findings import LADDER, Quantile
from rtassay.model.units import NS_PER_US

_STEPS = tuple(q for q in LADDER if q >= 0.99)
NAMES = ("avg", *(f"{100 * q:.9g} %" for q in _STEPS), "max")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its height, its whisker, the value of each run. `at_least`: the data do not reach this quantile; it is higher than shown."""

    value_ns: float | None
    lo_ns: float | None = None
    hi_ns: float | None = None
    open_above: bool = False
    at_least: bool = False
    runs: tuple[float, ...] = ()


def bars(shots: list[Shot]) -> list[Bar]:
    """The bars of one group in the order of NAMES. One run: its values and order-statistic intervals. Several: the median run, the
    range of the runs as whisker, and every run as a point."""
    if len(shots) == 1:
        return _of_one(shots[0])
    columns = zip(*(_of_one(shot) for shot in shots), strict=True)
    return [_of_many(list(column)) for column in columns]


def _of_one(shot: Shot) -> list[Bar]:
    pooled = shot.findings.pooled
    by_q = {quantile.q: quantile for quantile in pooled.quantiles}
    return [Bar(pooled.mean_ns), *(_quantile(by_q.get(q)) for q in _STEPS), Bar(pooled.max_ns)]


def _quantile(quantile: Quantile | None) -> Bar:
    if quantile is None:
        return Bar(None)
    at_least = quantile.bound == "at_least"
    return Bar(quantile.value_ns, quantile.lo_ns, quantile.hi_ns, quantile.hi_ns is None, at_least)


def _of_many(column: list[Bar]) -> Bar:
    values = [bar.value_ns for bar in column if bar.value_ns is not None]
    if len(values) < len(column):
        return Bar(None)
    weak = any(bar.at_least for bar in column)
    return Bar(median(values), min(values), max(values), weak, weak, tuple(values))


def draw(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """A panel per `Shot.panel`, in it a cluster of bars per step of the ladder, a bar per `Shot.group`; log y."""
    panels = list(dict.fromkeys(shot.panel for shot in shots))
    groups = list(dict.fromkeys(shot.group for shot in shots))
    narrow = options.width == "column"
    columns = 1 if narrow or len(panels) == 1 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    with paper.drawing():
        figure, axes = paper.sheet(options, rows, columns, (2.2 if narrow else 2.7) * rows, sharey=True)
        flat = axes.ravel()
        several = False
        every: list[float] = []
        for panel, one in zip(panels, flat, strict=False):
            for place, group in enumerate(groups):
                members = [shot for shot in shots if shot.panel == panel and shot.group == group]
                if members:
                    several |= len(members) > 1
                    found = bars(members)
                    _draw_group(one, found, place, len(groups), 1 if narrow else 3 // columns)
                    every += [v for bar in found for v in (bar.value_ns, bar.lo_ns, bar.hi_ns) if v]
            one.set_xticks(
                range(len(NAMES)),
                NAMES,
                rotation=40 if narrow or columns > 1 else 0,
                ha="right" if narrow or columns > 1 else "center",
            )
            one.set_xlim(-0.6, len(NAMES) - 0.4)
            one.grid(False, axis="x")
            if panel:
                one.set_title(panel, loc="left", fontsize=7.5)
            paper.deadline_line(one, options, vertical=False)
        for unused in flat[len(panels) :]:
            unused.remove()
        low, high = min(every, default=1000.0) * 0.6, max(every, default=1000.0) * 1.5
        for one in flat[: len(panels)]:
            paper.latency_axis(one.yaxis, options.scale != "linear", low, high, options, "")
        for row in axes[:, 0]:
            row.set_ylabel("Latency [µs]")
        paper.foot(figure, options, _handles(len(groups)), [_name(g, shots) for g in groups], _notes(shots, several))
    return figure  # type: ignore[no-any-return]


def _draw_group(axes: Any, found: list[Bar], place: int, of: int, most_labels: int) -> None:
    width = 0.82 / of
    colour, hatch = paper.COLOURS[place % len(paper.COLOURS)], paper.HATCHES[place % len(paper.HATCHES)]
    for step, bar in enumerate(found):
        if bar.value_ns is None:
            continue
        x = step + (place - (of - 1) / 2) * width
        value = bar.value_ns / NS_PER_US
        face = "white" if bar.at_least else colour
        axes.bar(
            x, value, width * 0.92, facecolor=face, edgecolor=colour if bar.at_least else "white", hatch=None if bar.at_least else hatch,
            linewidth=0.9 if bar.at_least else 0, zorder=2, linestyle="--" if bar.at_least else "-",
        )  # fmt: skip
        if bar.lo_ns is not None:
            low = bar.lo_ns / NS_PER_US
            high = value if bar.hi_ns is None else bar.hi_ns / NS_PER_US
            axes.errorbar(
                x, value, [[max(value - low, 0)], [max(high - value, 0)]], color="#222222", linewidth=0.8, capsize=min(2.2, 11 * width),
                capthick=0.8, zorder=3,
            )  # fmt: skip
        if bar.open_above:
            top = max(value, (bar.hi_ns or 0) / NS_PER_US)
            axes.plot([x, x], [top, top * 1.28], color="#222222", linewidth=0.8, zorder=3)
            axes.plot([x], [top * 1.28], "^", color="#222222", markersize=2.6, zorder=3)
        for run in bar.runs:
            axes.plot(
                [x],
                [run / NS_PER_US],
                "o",
                color="white",
                markeredgecolor="#222222",
                markeredgewidth=0.5,
                markersize=2.2,
                zorder=4,
            )
        if of <= most_labels and step in (0, len(found) - 1):
            top = max(value, (bar.hi_ns or 0) / NS_PER_US)
            axes.annotate(
                _short(bar.value_ns),
                (x, top),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                fontsize=5.6,
            )


def _short(ns: float) -> str:
    value = ns / NS_PER_US
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def _handles(groups: int) -> list[Any]:
    from matplotlib.patches import Patch

    return [
        Patch(
            facecolor=paper.COLOURS[i % len(paper.COLOURS)], edgecolor="white", linewidth=0,
            hatch=paper.HATCHES[i % len(paper.HATCHES)],
        )
        for i in range(groups)
    ]  # fmt: skip


def _name(group: str, shots: list[Shot]) -> str:
    members = [shot for shot in shots if shot.group == group]
    tops = [shot.findings.pooled.max_ns for shot in members]
    known = [top for top in tops if top is not None]
    top = max(known) if known and len(known) == len(tops) else None
    runs = f" in {len(members)} runs" if len(members) > 1 else ""
    return f"{group}: max {data.us(top)}{runs}"


def _notes(shots: list[Shot], several: bool) -> list[str]:
    found = [bar for shot in shots for bar in _of_one(shot)]
    notes = []
    if several:
        notes.append("groups of runs: bar = median run, points = runs, whisker = their range")
    if not several or any(sum(s.group == t.group and s.panel == t.panel for s in shots) == 1 for t in shots):
        notes.append("whiskers of one run: 95 % interval of the quantile, an arrow where it has no upper end")
    if any(bar.at_least for bar in found):
        notes.append("outlined bar: the data do not reach this quantile, it is at least this")
    if any(shot.findings.pooled.mean_ns is None for shot in shots):
        notes.append("no average where samples lie outside the histogram")
    return [*notes, *data.missing_words(shots)]

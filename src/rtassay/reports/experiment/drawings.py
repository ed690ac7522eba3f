"""Load-sensitivity bars and tail-latency bars as static drawings: complete without JavaScript, and on paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from statistics import median

from rtassay.model.experiment import Combination, Sensitivity
from rtassay.model.findings import Quantile
from rtassay.model.foreign import one_line
from rtassay.model.units import NS_PER_US
from rtassay.reports import svg, wording

_WIDTH, _LEFT, _RIGHT, _TOP = 960, 210, 170, 26
_ROW, _FOOT = 32, 44
_NARROW = 380
_TICKS = (0.1, 0.2, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
TAIL = (0.99, 0.999, 0.9999, 0.99999, 0.999999)
MOST_BARS = 8


def sensitivity(rows: Sequence[Sensitivity], *, narrow: bool = False) -> str:
    """A bar a load from 1 (idle) to D*(load) / D*(idle), its interval as a whisker, on a logarithmic axis.

    `narrow`: for a screen of 390 px, with names and numbers above the bars.
    """
    if not rows:
        return ""
    known = [v for row in rows for v in (row.ratio, row.lo, row.hi) if v is not None and v > 0]
    low, high = max(min([0.8, *known]), 1e-3) / 1.05, min(max([1.25, *known]), 1e5) * 1.05
    width, left, step = (_NARROW, 12, 46) if narrow else (_WIDTH, _LEFT, _ROW)
    end, foot = width - (12 if narrow else _RIGHT), _TOP + step * len(rows)
    x_of = svg.scale(low, high, left, end)

    parts = [
        f'<svg class="plot bars" viewBox="0 0 {width} {foot + _FOOT}" role="img" '
        'aria-label="How many times the D* of idle each load takes; the numbers are in the scorecard, D1">'
    ]
    for tick in svg.ratio_ticks(_TICKS, low, high, most=7 if narrow else 14):
        kind = "one" if tick == 1 else "grid"
        x = x_of(tick)
        parts.append(
            f'<path class="{kind}" d="M{x:.1f} {_TOP - 6}V{foot}"/><text class="mid" x="{x:.1f}" y="{foot + 16}">{tick:g}</text>'
        )
    parts.append(f'<text class="mid" x="{(left + end) / 2:.0f}" y="{foot + 36}">D*(load) / D*(idle)</text>')
    for index, row in enumerate(rows):
        y = _TOP + step * index + (32 if narrow else step // 2)
        parts += _bar(row, y, x_of)
        name = escape(one_line(row.load + (f" ({row.where})" if row.where else ""), 34))
        text = wording.ratio(row.ratio)
        if row.lo is not None and row.hi is not None:
            text += f" [{wording.ratio(row.lo)}, {wording.ratio(row.hi)}]"
        if narrow:
            parts.append(f'<text class="name" x="{left}" y="{y - 15}">{name}</text>')
            parts.append(f'<text class="end" x="{end}" y="{y - 15}">{escape(text)}</text>')
        else:
            parts.append(f'<text class="end name" x="{left - 10}" y="{y + 4}">{name}</text>')
            parts.append(f'<text x="{end + 10}" y="{y + 4}">{escape(text)}</text>')
    return "".join(parts) + "</svg>"


def _bar(row: Sensitivity, y: int, x_of: Callable[[float], float]) -> list[str]:
    apart = row.lo is not None and row.hi is not None and (row.lo > 1 or row.hi < 1)
    begin, stop = sorted((x_of(1.0), x_of(row.ratio)))
    parts = [
        f'<rect class="{"shown" if apart else "open"}" x="{begin:.1f}" y="{y - 9}" width="{max(stop - begin, 1):.1f}" height="18"/>',
    ]
    if row.lo is not None and row.hi is not None:
        a, b = x_of(row.lo), x_of(row.hi)
        parts.append(f'<path class="whisker" d="M{a:.1f} {y}H{b:.1f}M{a:.1f} {y - 5}v10M{b:.1f} {y - 5}v10"/>')
    return parts


def tail(combinations: Sequence[Combination], *, narrow: bool = False) -> str:
    """Clusters average, 99 % ... maximum, a bar a combination: the median run, every run as a point, their range as whisker; log y.

    `narrow`: for a screen of 390 px.
    """
    shown = [one for one in combinations if one.runs][:MOST_BARS]
    names = ["mean", *(wording.quantile_name(q) for q in TAIL), "max"]
    bars = [[_heights(one, index) for index in range(len(names))] for one in shown]
    values = [v for row in bars for heights in row for v in heights[0] if v > 0]
    if not values:
        return ""
    low = 10.0 ** math.floor(math.log10(min(values)))
    high = max(10.0 ** math.ceil(math.log10(max(values) * 1.05)), low * 10)
    page, columns = (_NARROW, 1) if narrow else (_WIDTH, 3)
    left, right, top, height = 58 if narrow else 84, 10, 30 + 18 * -(-len(shown) // columns), 300
    bottom = top + height
    y_of = svg.scale(low, high, bottom, top)

    parts = [
        f'<svg class="plot bars" viewBox="0 0 {page} {bottom + 44}" role="img" '
        'aria-label="Mean, tail quantiles and maximum of every combination; the numbers are in the table of latencies">'
    ]
    for power in range(round(math.log10(low)), round(math.log10(high)) + 1):
        y = y_of(10.0**power)
        parts.append(
            f'<path class="grid" d="M{left} {y:.1f}H{page - right}"/><text class="end" x="{left - 6}" y="{y + 4:.1f}">{_short(10.0**power / NS_PER_US)}</text>'
        )
    parts.append(f'<text x="4" y="{top - 14}">Latency (us)</text>')
    for place, one in enumerate(shown):
        at, y = left + (place % columns) * 290, 12 + 18 * (place // columns)
        parts.append(
            f'<rect class="f{place}" x="{at}" y="{y - 9}" width="14" height="10"/><text x="{at + 20}" y="{y}">{escape(one_line(one.title, 40))}</text>'
        )
    cluster = (page - right - left) / len(names)
    width = min(cluster * 0.82 / len(shown), 40)
    for index, name in enumerate(names):
        middle = left + cluster * (index + 0.5)
        parts.append(
            f'<text class="mid" x="{middle:.1f}" y="{bottom + (34 if narrow and index % 2 else 18)}">{name}</text>'
        )
        for place, row in enumerate(bars):
            x = middle + (place - len(shown) / 2) * width
            parts += _tail_bar(row[index], x, width * 0.9, place, y_of, bottom)
    return "".join(parts) + "</svg>"


def _tail_bar(
    heights: tuple[list[int], bool], x: float, width: float, place: int, y_of: Callable[[float], float], bottom: int
) -> list[str]:
    found, open_ = heights
    values = [value for value in found if value > 0]
    if not values:
        return []
    y = y_of(median(values))
    kind = f"least o{place}" if open_ else f"f{place}"
    parts = [f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{max(bottom - y, 0.5):.1f}"/>']
    if len(values) > 1:
        centre = x + width / 2
        parts.append(f'<path class="whisker" d="M{centre:.1f} {y_of(min(values)):.1f}V{y_of(max(values)):.1f}"/>')
        parts += [f'<circle class="run" cx="{centre:.1f}" cy="{y_of(value):.1f}" r="2.2"/>' for value in values]
    return parts


def _heights(one: Combination, index: int) -> tuple[list[int], bool]:
    """(a value a run, whether one of them is only a lower bound); no values where a run has none."""
    if index == 0:
        found: list[float | None] = [run.mean_ns for run in one.runs]
        weak = False
    elif index <= len(TAIL):
        steps = [_step(run.quantiles, TAIL[index - 1]) for run in one.runs]
        found = [None if step is None else step.value_ns for step in steps]
        weak = any(step is None or step.bound != "exact" for step in steps)
    else:
        found, weak = [run.max_ns for run in one.runs], False
    return ([] if None in found else [round(value or 0) for value in found], weak)


def _step(quantiles: Sequence[Quantile], q: float) -> Quantile | None:
    return next((step for step in quantiles if step.q == q), None)


def _short(us: float) -> str:
    return f"{us:,.0f}" if us >= 1 else f"{us:g}"

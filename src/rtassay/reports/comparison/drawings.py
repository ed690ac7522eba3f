"""The ladder of ratios and both exceedance curves as static drawings: complete without JavaScript, and on paper."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from rtassay.model.comparison import Comparison, QuantileRatio
from rtassay.model.units import NS_PER_US
from rtassay.reports import curves as reduced
from rtassay.reports import svg, wording
from rtassay.reports.comparison import comparison_text

_WIDTH, _LEFT, _RIGHT, _TOP = 960, 92, 150, 30
_ROW, _FOOT = 34, 44
_NARROW, _NARROW_LEFT, _NARROW_ROW = 380, 82, 46
_HEIGHT, _BOTTOM = 400, 46
_POINTS = 600
# Room for "B earlier" and "B later" on either side.
_WORDS = 90
_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20, 50, 100)


def ladder(comparison: Comparison, *, narrow: bool = False) -> str:
    """One row a quantile: the ratio as a dot, its 95 % interval as a bar, on a logarithmic axis around 1.

    `narrow`: for a screen of 390 px, with the numbers below the bars.
    """
    rows = [row for row in comparison.quantiles if row.ratio is not None or row.lo is not None or row.hi is not None]
    if not rows:
        return ""
    low, high = comparison_text.log_range(comparison)
    width, left, step = (_NARROW, _NARROW_LEFT, _NARROW_ROW) if narrow else (_WIDTH, _LEFT, _ROW)
    end = width - (8 if narrow else _RIGHT)
    x_of = svg.scale(low, high, left, end)

    foot = _TOP + step * len(rows)
    parts = [
        f'<svg class="plot ladder" viewBox="0 0 {width} {foot + _FOOT}" role="img" '
        'aria-label="Ratio of B to A at each quantile with its 95 percent interval; the numbers are in the table">'
    ]
    for tick in svg.ratio_ticks(_TICKS, low, high, most=6 if narrow else 14):
        x = x_of(tick)
        kind = "one" if tick == 1 else "grid"
        parts.append(
            f'<path class="{kind}" d="M{x:.1f} {_TOP - 8}V{foot}"/><text class="mid" x="{x:.1f}" y="{foot + 16}">{tick:g}</text>'
        )
    # The words stand beside the line, as far as the drawing has room for them there.
    one = min(max(x_of(1), _WORDS), width - _WORDS)
    parts.append(f'<text class="end" x="{one - 8:.1f}" y="{_TOP - 14}">← B earlier</text>')
    parts.append(f'<text x="{one + 8:.1f}" y="{_TOP - 14}">B later →</text>')
    parts.append(f'<text class="mid" x="{(left + end) / 2:.0f}" y="{foot + 36}">latency of B / latency of A</text>')
    for index, row in enumerate(rows):
        name = wording.quantile_name(row.q) + (" *" if row.q == comparison.primary_q else "")
        y = _TOP + step * index + (14 if narrow else step // 2)
        parts += _row(row, name, y, x_of, left, end)
        text = escape(f"{wording.ratio(row.ratio)} {comparison_text.interval(row)}".strip())
        at = f'class="end" x="{end}" y="{y + 22}"' if narrow else f'x="{end + 10}" y="{y + 4}"'
        parts.append(f"<text {at}>{text}</text>")
    return "".join(parts) + "</svg>"


def _row(row: QuantileRatio, name: str, y: int, x_of: Any, left: int, end: int) -> list[str]:
    kind = row.shown or "open"
    begin = left if row.lo is None else x_of(row.lo)
    stop = end if row.hi is None else x_of(row.hi)
    parts = [f'<text class="end name" x="{left - 12}" y="{y + 4}">{name}</text>']
    if row.lo is not None or row.hi is not None:
        caps = ("" if row.lo is None else f"M{begin:.1f} {y - 6}v12") + (
            "" if row.hi is None else f"M{stop:.1f} {y - 6}v12"
        )
        parts.append(f'<path class="bar {kind}" d="M{begin:.1f} {y}H{max(stop, begin + 1):.1f}{caps}"/>')
    if row.ratio is not None:
        parts.append(f'<circle class="dot {kind}" cx="{x_of(row.ratio):.1f}" cy="{y}" r="5"/>')
    return parts


def exceedance(comparison: Comparison) -> str:
    """P(latency >= x) of both pools on logarithmic axes, with the crossover."""
    curves = []
    for group in (comparison.a, comparison.b):
        if group.histogram is None or group.n == 0:
            return ""
        x, k = reduced.exceedance_curve(group.histogram, _POINTS)
        curves.append((x.tolist(), [count / group.n for count in k.tolist()]))
    if not all(x for x, _ in curves):
        return ""
    # the bulk of the first samples is of no interest, and a latency of 0 has no place on a logarithmic axis
    low = max(min(x[0] for x, _ in curves), 100)
    high = max(max(x[-1] for x, _ in curves), low + 1) * 1.05
    floor = 10.0 ** math.floor(math.log10(min(p[-1] for _, p in curves)))
    x_of = svg.scale(low, high, _LEFT - 20, _WIDTH - 12)
    y_of = svg.scale(floor, 1.0, _HEIGHT - _BOTTOM, 14)
    parts = [
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Exceedance probability over latency of both groups">'
    ]
    for power in range(round(math.log10(floor)), 1):
        y = y_of(10.0**power)
        parts.append(
            f'<path class="grid" d="M{_LEFT - 20} {y:.1f}H{_WIDTH - 12}"/><text class="end" x="{_LEFT - 26}" y="{y + 4:.1f}">1e{power}</text>'
        )
    for tick in svg.decade_ticks(low, high):
        x = x_of(tick)
        parts.append(
            f'<path class="grid" d="M{x:.1f} 14V{_HEIGHT - _BOTTOM}"/>'
            f'<text class="mid" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}">{tick / NS_PER_US:g}</text>'
        )
    for index, (x, p) in enumerate(curves):
        steps = "".join(f"H{x_of(v):.1f}V{y_of(s):.1f}" for v, s in zip(x, [*p[1:], floor], strict=True))
        parts.append(f'<path class="s{index}" d="M{_LEFT - 20} {y_of(1.0):.1f}{steps}"/>')
    parts += _legend(comparison)
    turn = comparison.crossover
    if turn is not None and turn.shown:
        parts.append(f'<path class="turn" d="M{x_of(turn.value_ns):.1f} 14V{_HEIGHT - _BOTTOM}"/>')
    parts.append(f'<text class="mid" x="{_WIDTH / 2:.0f}" y="{_HEIGHT - 8}">Latency (us)</text>')
    return "".join(parts) + "</svg>"


def _legend(comparison: Comparison) -> list[str]:
    parts = []
    for index, group in enumerate((comparison.a, comparison.b)):
        x, y = _WIDTH - 240, 30 + 18 * index
        parts.append(
            f'<path class="s{index}" d="M{x} {y - 4}h18"/><text x="{x + 24}" y="{y}">{escape(comparison_text.called(group))}</text>'
        )
    return parts

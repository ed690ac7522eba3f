"""One picture: latency gained and throughput lost, as ratios B / A on one logarithmic axis."""

from __future__ import annotations

from html import escape

from rtassay.model.foreign import one_line
from rtassay.model.throughput import Throughput
from rtassay.reports import svg, wording
from rtassay.reports.throughput.throughput_text import bars, interval

_WIDTH, _LEFT, _RIGHT, _TOP = 960, 210, 190, 26
_ROW, _FOOT, _NARROW = 32, 44, 380
_TICKS = (
    0.001,
    0.01,
    0.02,
    0.05,
    0.1,
    0.2,
    0.5,
    0.7,
    0.8,
    0.9,
    0.95,
    1,
    1.05,
    1.1,
    1.25,
    1.5,
    2,
    5,
    10,
    20,
    50,
    100,
    1000,
)


def cost(subject: Throughput, *, narrow: bool = False) -> str:
    """A bar for the D* of each load and one for each work, from 1 (as A) to B / A, with the interval as a whisker; '' without two groups."""
    rows = bars(subject)
    if not rows:
        return ""
    known = [v for _, _, change in rows for v in (change.ratio, change.lo, change.hi) if v is not None and v > 0]
    low, high = max(min([0.9, *known]), 1e-4) / 1.03, min(max([1.1, *known]), 1e4) * 1.03
    width, left, step = (_NARROW, 12, 46) if narrow else (_WIDTH, _LEFT, _ROW)
    end, foot = width - (12 if narrow else _RIGHT), _TOP + step * len(rows)
    x_of = svg.scale(low, high, left, end)
    parts = [
        f'<svg class="plot bars" viewBox="0 0 {width} {foot + _FOOT}" role="img" '
        'aria-label="D* and throughput of B over those of A; the numbers are in the tables">'
    ]
    for tick in svg.ratio_ticks(_TICKS, low, high, most=7 if narrow else 14):
        kind, x = "one" if tick == 1 else "grid", x_of(tick)
        parts.append(
            f'<path class="{kind}" d="M{x:.1f} {_TOP - 6}V{foot}"/><text class="mid" x="{x:.1f}" y="{foot + 16}">{tick:g}</text>'
        )
    parts.append(f'<text class="mid" x="{(left + end) / 2:.0f}" y="{foot + 36}">B / A</text>')
    for index, (kind, called, change) in enumerate(rows):
        y = _TOP + step * index + (32 if narrow else step // 2)
        begin, stop = sorted((x_of(1.0), x_of(change.ratio)))
        colour = "f0" if kind == "gain" else "f1"
        parts.append(
            f'<rect class="{colour}" x="{begin:.1f}" y="{y - 9}" width="{max(stop - begin, 1):.1f}" height="18"/>'
        )
        if change.lo is not None and change.hi is not None:
            x, x2 = x_of(change.lo), x_of(change.hi)
            parts.append(f'<path class="whisker" d="M{x:.1f} {y}H{x2:.1f}M{x:.1f} {y - 5}v10M{x2:.1f} {y - 5}v10"/>')
        name = escape(one_line(called, 34))
        text = escape(f"{wording.ratio(change.ratio)} {interval(change)}".strip())
        if narrow:
            parts.append(
                f'<text class="name" x="{left}" y="{y - 15}">{name}</text><text class="end" x="{end}" y="{y - 15}">{text}</text>'
            )
        else:
            parts.append(
                f'<text class="end name" x="{left - 10}" y="{y + 4}">{name}</text><text x="{end + 10}" y="{y + 4}">{text}</text>'
            )
    return "".join(parts) + "</svg>"

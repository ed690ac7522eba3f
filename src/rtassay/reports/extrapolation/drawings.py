"""Return levels as a static drawing: measured values, the band beyond them, the thresholds, and where the data end."""

from __future__ import annotations

import math

from rtassay.model.extrapolation import LaneExtrapolation
from rtassay.model.units import NS_PER_US
from rtassay.reports import svg

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 960, 420, 74, 14, 18, 48
_NARROW = 380


def return_levels(lane: LaneExtrapolation, *, narrow: bool = False) -> str:
    """Latency over probability (falling to the right, logarithmic); '' without kept values. `narrow`: for a screen of 390 px."""
    width, left = (_NARROW, 44) if narrow else (_WIDTH, _LEFT)
    seen = [(p, ns) for p, ns in zip(lane.seen_p, lane.seen_ns, strict=True) if p <= 0.01]
    if not seen:
        return ""
    band = lane.band
    far = [level.hi_ns for level in lane.levels if level.hi_ns is not None]
    top = max(ns for _, ns in seen)
    if band is not None:
        # a band without a useful end must not flatten the rest
        top = max(top, min(max(*band.hi_ns, *far), 3 * max(band.level_ns)))
    low = min(ns for _, ns in seen)
    last = min([1 / lane.n, *(band.p if band else ())])
    x_of = svg.scale(last / 1.5, max(p for p, _ in seen), width - _RIGHT, left)
    y_of = svg.scale(low * 0.98, top * 1.03, _HEIGHT - _BOTTOM, _TOP, logarithmic=False)
    parts = [
        f'<svg class="plot levels" viewBox="0 0 {width} {_HEIGHT}" role="img" '
        'aria-label="Latency that a share of wake-ups exceeds: measured, and extrapolated with its interval">'
    ]
    for power in range(math.ceil(math.log10(last / 1.5)), math.floor(math.log10(max(p for p, _ in seen))) + 1):
        x = x_of(10.0**power)
        parts.append(
            f'<path class="grid" d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/><text class="mid" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 18}">1e{power}</text>'
        )
    for tick in svg.even_ticks(low / NS_PER_US, top / NS_PER_US):
        y = y_of(tick * NS_PER_US)
        parts.append(
            f'<path class="grid" d="M{left} {y:.1f}H{width - _RIGHT}"/><text class="end" x="{left - 8}" y="{y + 4:.1f}">{tick:g}</text>'
        )
    if band is not None:
        upper = " ".join(f"{x_of(p):.1f},{y_of(ns):.1f}" for p, ns in zip(band.p, band.hi_ns, strict=True))
        lower = " ".join(
            f"{x_of(p):.1f},{y_of(ns):.1f}" for p, ns in zip(reversed(band.p), reversed(band.lo_ns), strict=True)
        )
        parts.append(f'<polygon class="band" points="{upper} {lower}"/>')
        line = " ".join(f"{x_of(p):.1f},{y_of(ns):.1f}" for p, ns in zip(band.p, band.level_ns, strict=True))
        parts.append(f'<polyline class="fit" points="{line}"/>')
    parts += [f'<circle class="seen" cx="{x_of(p):.1f}" cy="{y_of(ns):.1f}" r="2.2"/>' for p, ns in seen]
    end = x_of(1 / lane.n)
    parts.append(
        f'<path class="turn" d="M{end:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/><text class="end" x="{end - 8:.1f}" y="{_HEIGHT - _BOTTOM - 8}">the data end: 1/n</text>'
    )
    for row in lane.thresholds:
        y = y_of(row.threshold_ns)
        name = "threshold chosen" if row.chosen else "threshold"
        parts.append(f'<path class="{name}" d="M{left} {y:.1f}h{26 if row.chosen else 14}"/>')
        if row.levels_ns:
            parts += [
                f'<path class="{name}" d="M{x_of(level.p) - 5:.1f} {y_of(ns):.1f}h10"/>'
                for level, ns in zip(lane.levels, row.levels_ns, strict=True)
                if level.level_ns is not None
            ]
    middle = (left + width - _RIGHT) / 2
    parts.append(
        f'<text class="mid" x="{middle:.0f}" y="{_HEIGHT - 10}">share of wake-ups above</text><text x="{max(left - 60, 2)}" y="{_TOP - 5}">Latency (us)</text>'
    )
    return "".join(parts) + "</svg>"

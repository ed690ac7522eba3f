"""The latency plot as a static drawing, for readers without JavaScript and for the README. Standard library and numpy only."""

from __future__ import annotations

import math
from html import escape
from typing import Any

from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_US
from rtassay.reports import curves, svg

_WIDTH, _HEIGHT = 960, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 12, 14, 46
_MOST_LANES = 16
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def latency_plot(recording: Recording, labels: list[str], maxima: list[str], typical_ns: int, unit_ns: int) -> str:
    """One SVG: x latency in us (log where the maximum is far out), y log count, one step line a lane, coloured by CSS class."""
    bins = [curves.coalesce(lane.histogram, unit_ns) for lane in recording.lanes[:_MOST_LANES]]
    bins = [line for line in bins if len(line[0])]
    if not bins:
        return ""
    low = min(int(x[0]) for x, _, _ in bins)
    high = max(int(x[-1] + w[-1]) for x, w, _ in bins)
    top = max(int(n.max()) for _, _, n in bins)
    logarithmic = high > 20 * typical_ns
    low = max(low, 100) if logarithmic else min(low, 0)
    x_of = svg.scale(low, high, _LEFT, _WIDTH - _RIGHT, logarithmic=logarithmic)
    y_of = svg.scale(0.5, 10 ** math.ceil(math.log10(top + 1)), _HEIGHT - _BOTTOM, _TOP)
    parts = [
        f'<svg class="plot" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="Latency histogram, one line per lane">'
    ]
    parts += _axes(low, high, top, x_of, y_of, logarithmic)
    for index, line in enumerate(bins):
        parts.append(f'<path class="s{index % 8}" d="{_steps(line, x_of, y_of)}"/>')
    for index, (label, maximum) in enumerate(zip(labels[: len(bins)], maxima, strict=False)):
        column, row = divmod(index, 8)
        x, y = _WIDTH - _RIGHT - 170 - 180 * column, _TOP + 14 + 17 * row
        parts.append(
            f'<path class="s{index % 8}" d="M{x} {y - 4}h18"/><text x="{x + 24}" y="{y}">{escape(label)} max {escape(maximum)} us</text>'
        )
    return "".join(parts) + "</svg>"


def _axes(low: float, high: float, top: int, x_of: Any, y_of: Any, logarithmic: bool) -> list[str]:
    parts = []
    for power in range(0, math.ceil(math.log10(top + 1)) + 1):
        y = y_of(10**power)
        parts.append(
            f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/><text class="end" x="{_LEFT - 6}" y="{y + 4:.1f}">{_short(10**power)}</text>'
        )
    for tick in svg.decade_ticks(low, high) if logarithmic else svg.even_ticks(low, high):
        x = x_of(tick)
        parts.append(
            f'<path class="grid" d="M{x:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>'
            f'<text class="mid" x="{x:.1f}" y="{_HEIGHT - _BOTTOM + 16}">{tick / NS_PER_US:g}</text>'
        )
    parts.append(f'<text class="mid" x="{(_LEFT + _WIDTH) / 2:.0f}" y="{_HEIGHT - 8}">Latency (us)</text>')
    return parts


def _short(power: int) -> str:
    """A power of ten as a label: 10,000, and from a million on 10⁶, as the figures have it."""
    return f"{power:,}" if power < 1_000_000 else f"10{str(len(str(power)) - 1).translate(_RAISED)}"


def _steps(line: tuple[Any, Any, Any], x_of: Any, y_of: Any) -> str:
    """The step line at pixel resolution: bins that share a pixel show their largest count, so nothing rare is lost."""
    floor = y_of(0.5)
    columns: dict[int, tuple[int, int]] = {}
    for x, w, n in zip(*(part.tolist() for part in line), strict=True):
        begin, end = round(x_of(max(x, 1))), round(x_of(x + w))
        size, reach = columns.get(begin, (0, begin + 1))
        columns[begin] = (max(size, n), max(reach, end))
    path, last = [], None
    for begin in sorted(columns):
        n, end = columns[begin]
        y = f"{y_of(n):.0f}"
        if last is None or begin > last:
            path.append(("" if last is None else f"V{floor:.0f}") + f"M{begin} {floor:.0f}")
        path.append(f"V{y}H{end}")
        last = end
    return "".join(path) + f"V{floor:.0f}"

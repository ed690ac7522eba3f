"""Latency over the time of a run, the "flowchart": the extremes of every second as a band, outliers one by one."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtassay.figures import data, paper
from rtassay.figures.data import Envelope, Options, Shot
from rtassay.model.errors import UsageError
from rtassay.model.units import NS_PER_US

_PANELS = 8
_BUCKETS = 1200
_UNITS = (("s", 1.0, 600.0), ("min", 60.0, 7200.0), ("h", 3600.0, float("inf")))


def draw(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """One recording: a panel per lane. Several: a panel per recording, all lanes in one band.

    Raises UsageError that names a recording without order (a histogram).
    """
    for shot in shots:
        if not shot.envelopes:
            source = shot.findings.source
            raise UsageError(
                f"{shot.name} ({shot.findings.id}) has no latency over time",
                f"its source, {source['tool']} as {source['format']}, tells how often each latency occurred, not when",
                "rtassay figure ccdf, latency and overlay need no order; rtprobe, cyclictest -v and jitterdebugger samples keep it",
            )
    units = {envelope.unit for shot in shots for envelope in shot.envelopes}
    if len(units) > 1:
        raise UsageError("one recording counts seconds, another only activations", "they have no time axis in common")
    panels = _panels(shots)
    unit = units.pop()
    end = max(float(e.start[-1]) + e.step for _, _, envelopes in panels for e in envelopes)
    word, per = _time_unit(end) if unit == "s" else ("activations", 1.0)
    log = options.scale == "log" or (options.scale == "auto" and _wide(panels))
    with paper.drawing():
        each = 1.9 if len(panels) == 1 else 1.15 if len(panels) <= 4 else 0.85
        figure, axes = paper.sheet(options, len(panels), 1, each * len(panels) + 0.3, sharex=True, sharey=True)
        lows, tops = [], []
        for index, (name, shot, envelopes) in enumerate(panels):
            one = axes[index, 0]
            low, top = _band(one, envelopes, end, per)
            lows.append(low)
            tops.append(top)
            one.set_title(f"{name}: max {data.us(_maximum(shot, envelopes))}", loc="left", fontsize=7, pad=2)
            paper.deadline_line(one, options, vertical=False)
        for index in range(len(panels)):
            paper.latency_axis(axes[index, 0].yaxis, log, max(min(lows), 100), max(tops), options, "")
        axes[0, 0].set_xlim(0, end / per)
        axes[-1, 0].set_xlabel(f"Time [{word}]" if unit == "s" else "Activations")
        figure.supylabel("Latency [µs]", fontsize=8)
        paper.foot(figure, options, [], [], _notes(shots, panels))
    return figure  # type: ignore[no-any-return]


def _panels(shots: list[Shot]) -> list[tuple[str, Shot, list[Envelope]]]:
    if len(shots) > 1:
        return [(shot.name, shot, [e for e in shot.envelopes if e.lane in shot.alike]) for shot in shots]
    (shot,) = shots
    if len(shot.envelopes) > _PANELS:
        return [(f"{len(shot.envelopes)} lanes", shot, list(shot.envelopes))]
    names = [data.lane_name(found) for found in shot.findings.lanes]
    return [(names[envelope.lane], shot, [envelope]) for envelope in shot.envelopes]


def _maximum(shot: Shot, envelopes: list[Envelope]) -> int | None:
    """The lanes' maximum as judged. It is larger than the envelope's if samples were not kept."""
    tops = [shot.findings.lanes[e.lane].max_ns for e in envelopes]
    known = [top for top in tops if top is not None]
    return max(known) if known and len(known) == len(tops) else None


def _time_unit(end_s: float) -> tuple[str, float]:
    return next((word, size) for word, size, limit in _UNITS if end_s < limit)


def _wide(panels: list[tuple[str, Shot, list[Envelope]]]) -> bool:
    tops = np.concatenate([e.max_ns for _, _, envelopes in panels for e in envelopes])
    return bool(len(tops)) and float(tops.max()) > 6 * float(np.median(tops))


def _band(axes: Any, envelopes: list[Envelope], end: float, per: float) -> tuple[float, float]:
    step = max(envelopes[0].step, end / _BUCKETS)
    size = int(np.ceil(end / step))
    low, high = np.full(size, np.inf), np.full(size, -np.inf)
    for envelope in envelopes:
        place = np.minimum((envelope.start // step).astype(int), size - 1)
        np.minimum.at(low, place, envelope.min_ns / NS_PER_US)
        np.maximum.at(high, place, envelope.max_ns / NS_PER_US)
    held = np.isfinite(low)
    # two points a bucket, so that the last one before a gap has its width too
    x = np.minimum(np.arange(size + 1) * step, end) / per
    ends = np.column_stack((x[:-1], x[1:])).ravel()
    floor, roof = (np.repeat(np.where(held, y, np.nan), 2) for y in (low, high))
    colour = paper.COLOURS[0]
    axes.fill_between(ends, floor, roof, color=colour, alpha=0.28, linewidth=0)
    axes.plot(ends, roof, color=colour, linewidth=0.7)
    axes.plot(ends, floor, color=colour, linewidth=0.5)
    usual = float(np.median(high[held])) if held.any() else 0.0
    marks = [(t / per, v / NS_PER_US) for e in envelopes for t, v in e.marks if v / NS_PER_US > 1.5 * usual and t >= 0]
    if marks:
        axes.plot(*zip(*marks, strict=True), "o", color=paper.COLOURS[1], markersize=2.2, linestyle="none", zorder=4)
    top = int(np.argmax(high))
    exact = [t for t, v in marks if v >= high[top]]
    axes.plot(
        [exact[0] if exact else (x[top] + x[top + 1]) / 2], [high[top]], "D", markersize=4, markerfacecolor="none", zorder=5,
        clip_on=False, color="#000000", markeredgewidth=0.8,
    )  # fmt: skip
    return float(low[held].min() * NS_PER_US), float(high[held].max() * NS_PER_US)


def _notes(shots: list[Shot], panels: list[tuple[str, Shot, list[Envelope]]]) -> list[str]:
    steps = {(e.step, e.unit) for shot in shots for e in shot.envelopes}
    step, unit = max(steps)
    each = (
        "second"
        if unit == "s" and step == 1
        else f"{step * 1000:.3g} ms"
        if unit == "s"
        else f"{step:,.0f} activations"
    )
    notes = [f"band: lowest and highest latency of each {each}; diamond: the maximum"]
    if any(e.marks for shot in shots for e in shot.envelopes):
        notes.append("dots: outliers kept one by one")
    return [*notes, *data.missing_words(shots)]

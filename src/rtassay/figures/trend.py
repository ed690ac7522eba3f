"""Maximum per run over dates: has this board, with this kernel, got worse?"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rtassay.figures import data, paper
from rtassay.figures.data import Options, Shot
from rtassay.model.errors import UsageError
from rtassay.model.findings import VIRTUAL_BOARD
from rtassay.model.units import NS_PER_US


def draw(shots: list[Shot], options: Options) -> paper.PaperFigure:
    """A point per run, a colour, marker and line per `Shot.group`; hollow if only the date of the import is known.

    Raises UsageError if no run has both a date and a maximum.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num

    dated = [(moment(shot.when), shot) for shot in shots]
    drawn = [(when, shot) for when, shot in dated if when is not None and shot.findings.pooled.max_ns is not None]
    if not drawn:
        raise UsageError(
            "no run has both a date and a maximum", hint="rtassay import --label date=2026-11-21 says when it ran"
        )
    groups = list(dict.fromkeys(shot.group for shot in shots))
    with paper.drawing():
        figure, axes = paper.sheet(options, height_in=2.2 if options.width == "column" else 2.8)
        one = axes[0, 0]
        handles, names = [], []
        for index, group in enumerate(groups):
            rows = sorted(((w, s) for w, s in drawn if s.group == group), key=lambda row: row[0])
            if not rows:
                continue
            x = [
                date2num(when)  # type: ignore[no-untyped-call]
                for when, _ in rows
            ]
            tops = [shot.findings.pooled.max_ns or 0 for _, shot in rows]
            handles.append(_line(one, x, tops, [shot.when_known for _, shot in rows], index))
            names.append(
                f"{group}: {len(rows)} runs, {_range(tops)}" if len(rows) > 1 else f"{group}: {data.us(tops[0])}"
            )
        locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        one.xaxis.set_major_locator(locator)
        one.xaxis.set_major_formatter(ConciseDateFormatter(locator, tz=UTC))  # type: ignore[no-untyped-call]
        days = [date2num(when) for when, _ in drawn]  # type: ignore[no-untyped-call]
        room = max((max(days) - min(days)) * 0.06, 0.5 / 24)
        one.set_xlim(min(days) - room, max(days) + room)
        one.set_xlabel("Date of the run (UTC)")
        every = [shot.findings.pooled.max_ns or 0 for _, shot in drawn]
        log = options.scale == "log" or (options.scale == "auto" and max(every) > 5 * max(min(every), 1))
        paper.latency_axis(one.yaxis, log, min(every), max(every), options, "Maximum latency [µs]")
        paper.deadline_line(one, options, vertical=False)
        paper.foot(figure, options, handles, names, _notes(shots, drawn))
    return figure  # type: ignore[no-any-return]


def moment(text: str | None) -> datetime | None:
    """An ISO date or time as a UTC moment; None for anything else."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def _line(axes: Any, x: list[float], tops: list[int], known: list[bool], index: int) -> Any:
    from matplotlib.lines import Line2D

    style, shape = paper.look(index), paper.marker(index)
    y = [top / NS_PER_US for top in tops]
    axes.plot(x, y, linewidth=0.7, **style)
    for sure in (True, False):
        at = [i for i, told in enumerate(known) if told == sure]
        axes.plot(
            [x[i] for i in at], [y[i] for i in at], shape, color=style["color"], markersize=4,
            markerfacecolor=style["color"] if sure else "white",
        )  # fmt: skip
    return Line2D([], [], marker=shape, markersize=3.5, **style)


def _range(tops: list[int]) -> str:
    low, high = min(tops), max(tops)
    return f"max {data.us(high)}" if low == high else f"max {data.us(low)} to {data.us(high)}"


def _notes(shots: list[Shot], drawn: list[tuple[datetime, Shot]]) -> list[str]:
    sizes = [shot.findings.pooled.n for _, shot in drawn]
    notes = []
    if min(sizes) * 1.5 < max(sizes):
        notes.append(
            f"a maximum grows with the number of samples, here {data.count(min(sizes))} to {data.count(max(sizes))} a run"
        )
    unsure = sum(not shot.when_known for _, shot in drawn)
    if unsure:
        notes.append(f"hollow: {unsure} imported without a date of their own, drawn at the time of their import")
    left = len(shots) - len(drawn)
    if left:
        notes.append(f"{left} left out: no date or no maximum")
    virtual = [VIRTUAL_BOARD] if any(shot.findings.virtual_board for shot in shots) else []
    return [*notes, *(data.missing_words(shots) if len(shots) <= 4 else virtual)]

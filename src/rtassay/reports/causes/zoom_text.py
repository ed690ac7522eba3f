"""A run that was repeated with stacks, beside the run that it repeats, in words."""

from __future__ import annotations

from rtassay.model.foreign import one_line
from rtassay.model.units import format_time
from rtassay.model.zoom import RunPart, Zoomed
from rtassay.reports import wording


def columns(zoomed: Zoomed) -> tuple[str, ...]:
    """Of the table of `rows`."""
    return ("", "p50 (us)", "p99 (us)", "Largest (us)", f"From {format_time(zoomed.above_ns)} on", "Samples")


def rows(zoomed: Zoomed) -> list[tuple[str, ...]]:
    """A row a part of the two runs."""
    return [_row(part) for part in zoomed.parts]


def _row(part: RunPart) -> tuple[str, ...]:
    times = ("-" if ns is None else wording.us(ns, 1) for ns in (part.p50_ns, part.p99_ns, part.max_ns))
    return (part.name, *times, wording.count(part.late), wording.count(part.n))


def headline(zoomed: Zoomed) -> str:
    """Whether the two runs compare."""
    of = one_line(zoomed.of, 80)
    if zoomed.alike is None:
        return f"Beside {of}: one of the two has no samples without a trace."
    if zoomed.alike:
        return f"Beside {of}: as many wake-ups were late without a trace, within chance."
    return f"Beside {of}: other numbers of wake-ups were late without a trace, beyond chance. The functions are of this run; the conditions may differ."


def notes(zoomed: Zoomed) -> list[str]:
    """What differs, and what stacks cost."""
    told = [
        f"Differs: {name}: {one_line(then, 120)} in the recording, {one_line(now, 120)} now."
        for name, (then, now) in zoomed.differs.items()
    ]
    return [
        *told,
        "Stacks make each wake-up longer: causes and D* are those of runs without stacks, functions those of this one.",
    ]

"""What counters say of the jobs of exec (cycles, page faults ...): a sentence, and a table. Standard library only."""

from __future__ import annotations

from rtassay.model.findings import Findings
from rtassay.model.foreign import one_line
from rtassay.model.manifest import Counter
from rtassay.model.units import NS_PER_MS
from rtassay.reports import wording
from rtassay.reports.recording import recording_text

LONGER = "the kernel took {:.0f} ms of each response to free these counters; without them it is shorter by that"
COLUMNS = ("Lane", "Counter", "Jobs", "Mean per job", "Min", "Max", "Note")
CAVEAT = (
    "Events of one job, from its exec to its exit, with all threads and programs that it starts. A counter that other users of the processor had "
    "meanwhile is estimated from the part of the time that it counted."
)


def in_words(findings: Findings) -> str | None:
    """What was counted, each as the mean per job of the first lane, and what was not; None where no lane starts jobs."""
    told = _lanes(findings)
    if not told:
        return None
    label, counters = told[0]
    counted = [f"{_number(one.mean)} {_name(one)}" for one in counters if one.mean is not None]
    said = f"{', '.join(counted)} per job ({label})" if counted else "nothing was counted"
    absent: dict[str, list[str]] = {}
    for one in counters:
        if one.mean is None:
            absent.setdefault(_why_not(one), []).append(_name(one))
    said += "".join(f"; no {', '.join(names)}: {why}" for why, names in absent.items())
    longer_ns = sum(one.free_ns or 0 for one in counters if one.mean is not None)
    return said if longer_ns < NS_PER_MS else f"{said}; {LONGER.format(longer_ns / NS_PER_MS)}"


def rows(findings: Findings) -> list[tuple[str, ...]]:
    """One row a counter and lane."""
    return [_row(label, one) for label, counters in _lanes(findings) for one in counters]


def _row(label: str, one: Counter) -> tuple[str, ...]:
    if one.mean is None:
        return (label, _name(one), "0", "-", "-", "-", _why_not(one))
    notes = ["user mode only: the rest is refused"] if one.user_only else []
    if one.estimated:
        notes.append(f"{wording.count(one.estimated)} jobs estimated")
    if (one.free_ns or 0) >= NS_PER_MS:
        notes.append(f"lengthens each response by {(one.free_ns or 0) / NS_PER_MS:.0f} ms")
    return (
        label,
        _name(one),
        wording.count(one.jobs),
        _number(one.mean),
        wording.count(one.min),
        wording.count(one.max),
        "; ".join(notes),
    )


def _lanes(findings: Findings) -> list[tuple[str, tuple[Counter, ...]]]:
    labels = recording_text.lane_labels(findings)
    return [(label, lane.counters) for label, lane in zip(labels, findings.lanes, strict=True) if lane.counters]


def _name(one: Counter) -> str:
    return one_line(one.name, 40).replace("-", " ")


def _why_not(one: Counter) -> str:
    return one_line(one.error, 120) if one.error else "no job was counted"


def _number(mean: float) -> str:
    return wording.count(round(mean)) if mean >= 100 else f"{mean:.1f}"

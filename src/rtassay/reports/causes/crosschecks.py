"""Our attribution beside the kernel's own tracer, in words and a table; every report takes them from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rtassay.model import ranking as codes
from rtassay.model.foreign import one_line
from rtassay.model.ranking import Analysis, Below, Beside, Compared, CrossCheck, Ranking
from rtassay.model.units import format_time
from rtassay.reports import wording
from rtassay.reports.causes import causes_text as text

COLUMNS = ("Late time", "by rtassay (us)", "by the tracer (us)", "the same in", "Largest difference (us)", "at")
_PARTS: Final[Mapping[str, str]] = {
    codes.TIMER_INTERRUPT: "until the timer woke the thread",
    codes.INTERRUPTS: "interrupts after that",
    codes.SOFTIRQS: "softirqs after that",
    codes.THREADS: "threads after that",
}


def notes(ranking: Ranking) -> list[str]:
    """Whether both say the same, a sentence a run; and where they differ most."""
    told = [_note(one, several=len(ranking.runs) > 1) for one in ranking.crosschecks]
    return [*told, *map(_beside, ranking.beside), *map(_below, ranking.below)]


def _note(one: CrossCheck, *, several: bool) -> str:
    where = f"{one_line(one.id)}: " if several else ""
    if not one.compared:
        return f"{where}The kernel's {one.tracer} has no record of the late wake-ups: nothing to compare with."
    seen = f"{wording.count(one.compared)} of {wording.count(one.hits)} late wake-ups"
    if one.agrees:
        return f"{where}The kernel's {one.tracer} AGREES: {seen} compared, each part the same but for the ordinary path of a wake-up."
    worst = min(one.parts, key=lambda part: (part.agreed, -abs(part.worst_ns)))
    return (
        f"{where}The kernel's {one.tracer} DISAGREES: {seen} compared; "
        f"{_PARTS[worst.part]}: the same in {wording.count(worst.agreed)}, {format_time(abs(worst.worst_ns))} "
        f"{'more' if worst.worst_ns > 0 else 'less'} by rtassay in activation {wording.count(worst.worst_k)} of lane {worst.worst_lane}."
    )


def _beside(one: Beside) -> str:
    """rtla's word on one sample and ours on all late wake-ups of that CPU."""
    told = f"rtla on CPU {one.analysis.cpu}, one sample of {format_time(one.analysis.latency_ns)}: {_largest(one.analysis)}."
    if one.largest is None:
        return f"{told} rtassay has no late wake-up of this CPU: nothing to compare with."
    share = text.share_of(one.parts_ns[one.largest] / one.latency_ns)
    ours = f"rtassay, {wording.count(one.hits)} late wake-ups of this CPU: {_PARTS[one.largest]} {share}"
    verdict = "no part to compare" if one.agrees is None else "the same" if one.agrees else "they DISAGREE"
    return f"{told} {ours}: {verdict}."


def _largest(analysis: Analysis) -> str:
    part = analysis.largest
    if part is None:
        return "it names no part"
    who = f" ({', '.join(one_line(name, 60) for name in analysis.names[:3])})" if analysis.names else ""
    return f"{_PARTS[part]} {text.share_of(analysis.parts[part] / analysis.latency_ns)}{who}"


def _below(one: Below) -> str:
    """hwlat's gaps and our stalls, and whether they fit."""
    level = format_time(one.level_ns)
    found = (
        f"hwlat ({one_line(one.id)}) looked for {format_time(one.looked_ns)}: {wording.count(one.gaps)} of {wording.count(one.windows)} windows "
        f"with a gap of {level} or more, the longest {format_time(one.longest_ns)}."
    )
    ours = (
        f"rtassay traced for {format_time(one.traced_ns)}: {wording.count(one.stalls)} late wake-ups in which firmware or a hypervisor "
        f"owned as much, the most {format_time(one.largest_ns)}"
    )
    if one.agrees:
        return f"{found} {ours}: they agree."
    if one.agrees is None:
        why = "possible stalls may be these gaps" if one.gaps and one.possible else "too short a time to tell"
        possible = f", {wording.count(one.possible)} marked as a possible stall" if one.possible else ""
        return f"{found} {ours}{possible}: {why}."
    if one.gaps:
        return f"{found} {ours}, and {one.stalls_expected:.0f} were to be expected: they DISAGREE."
    return f"{found} {ours}, so that hwlat should have found {one.gaps_expected:.0f}: they DISAGREE."


def rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """A row a part and run: COLUMNS."""
    several = len(ranking.crosschecks) > 1
    return [
        _row(part, one.compared, f"{one_line(one.id)}, " if several else "")
        for one in ranking.crosschecks
        for part in one.parts
    ]


def _row(part: Compared, compared: int, where: str) -> tuple[str, ...]:
    return (
        f"{where}{_PARTS[part.part]}",
        wording.us(part.ours_ns, 1),
        wording.us(part.tracer_ns, 1),
        f"{wording.count(part.agreed)} of {wording.count(compared)}",
        wording.us(part.worst_ns, 1),
        f"lane {part.worst_lane}, k {wording.count(part.worst_k)}",
    )

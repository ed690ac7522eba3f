"""Our attribution beside the kernel's own tracer, in words and a table; every report takes them from here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rtassay.model import ranking as codes
from rtassay.model.foreign import one_line
from rtassay.model.ranking import Compared, CrossCheck, Ranking
from rtassay.model.units import format_time
from rtassay.reports import wording

COLUMNS = ("Late time", "by rtassay (us)", "by the tracer (us)", "the same in", "Largest difference (us)", "at")
_PARTS: Final[Mapping[str, str]] = {
    codes.TIMER_INTERRUPT: "until the timer woke the thread",
    codes.INTERRUPTS: "interrupts after that",
    codes.SOFTIRQS: "softirqs after that",
    codes.THREADS: "threads after that",
}


def notes(ranking: Ranking) -> list[str]:
    """Whether both say the same, a sentence a run; and where they differ most."""
    return [_note(one, several=len(ranking.runs) > 1) for one in ranking.crosschecks]


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

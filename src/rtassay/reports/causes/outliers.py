"""The worst wake-ups with their owners on a time axis: one bar each, and each once more in full width with its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from rtassay.model import causes as kinds
from rtassay.model.causes import Attribution, Cause, Part
from rtassay.model.foreign import one_line
from rtassay.model.ranking import Ranking
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S, NS_PER_US, format_time
from rtassay.reports import svg, wording
from rtassay.reports.causes import causes_text as text
from rtassay.reports.causes import functions

MOST = 24
_COLOURS = 7
_WIDTH, _BAR, _WIDE_HEIGHT = 960, 16, 92
_LABEL_ROOM = 46

Key = tuple[str, str, int | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One late wake-up of a page. `bar` and `wide` are SVG of ours, `parts` rows of PART_COLUMNS."""

    id: str
    at: str
    where: str
    latency: str
    owner: str
    bar: str
    wide: str
    parts: list[tuple[str, ...]]
    notes: tuple[str, ...]


PART_COLUMNS = ("Phase", "From (us)", "Time (us)", "Owner")

_EVIDENCE = {
    kinds.NO_EVENT: "no event was recorded in that time",
    kinds.INSIDE: "between the begin and the end event of the owner",
    kinds.PREEMPT_COUNT: "the preemption count of the timer interrupt's record was above 0",
    kinds.BH_FLAG: "the record says that bottom halves were off",
    kinds.PRIORITY_ABOVE: "the thread had a higher priority at switch-out",
    kinds.PRIORITY_BELOW: "the thread had a lower priority, and was not preempted",
    kinds.CHOSEN_INSTEAD: "the scheduler ran it while the measured thread could run",
    kinds.NOT_TO_LEAVE: "the next interrupt found the CPU idle and not asked to run anything",
    kinds.OWN_THREAD: "the measured thread ran",
    kinds.PAGE_FAULT_EVENT: "it had a page fault since it was switched to",
    kinds.FROM_IDLE: "the CPU came out of idle",
    kinds.HOLE_ON_ALL_CPUS: "all CPUs were silent at once",
    kinds.SMI_COUNT: "the count of SMIs rose",
    kinds.STEAL_TIME: "stolen time rose",
    kinds.SWITCHED_MEANWHILE: "the timer's interrupt came late although interrupts were on: threads were switched meanwhile",
    kinds.EVENTS_LOST: "events were lost",
    kinds.NO_PAGES: "no page of this CPU was kept",
    kinds.BEGINS_LATE: "the trace begins after the due time",
    kinds.NO_WAKING: "no event of the waking was found",
    kinds.NO_SWITCH: "no switch to the measured thread was found",
    kinds.WOKEN_ELSEWHERE: "it was woken by another CPU",
    kinds.WOKEN_OUTSIDE_INTERRUPT: "it was woken outside of the timer interrupt",
    kinds.NEVER_SLEPT: "the measured thread never slept",
}


def evidence(one: Attribution) -> str:
    """What an attribution rests on, in words."""
    return "; ".join(_EVIDENCE.get(code, one_line(code, 40)) for code in one.evidence)


def hit_id(one: Attribution) -> str:
    """The anchor of a wake-up on the page."""
    return f"hit-{one.hit.lane}-{one.hit.k}"


def worst(recording: Recording) -> list[Attribution]:
    """The attributed wake-ups of a recording that a page shows, the worst first."""
    return sorted(recording.causes, key=lambda one: (-one.hit.latency_ns, one.hit.lane, one.hit.k))[:MOST]


def moments(recording: Recording) -> list[list[float | int | str]]:
    """[seconds since the run's origin, latency_ns, anchor] of those, for the time line."""
    origin_ns = recording.manifest.probe_facts.origin_ns
    if origin_ns is None:
        return []
    return [
        [round((one.hit.woke_ns - origin_ns) / NS_PER_S, 3), one.hit.latency_ns, hit_id(one)]
        for one in worst(recording)
    ]


def colours(ranking: Ranking) -> dict[Key, str]:
    """CSS class of each cause: a colour for the largest, one grey for the wake-up itself, one for what nobody owns, one for all others."""
    found: dict[Key, str] = {}
    free = 0
    for share in ranking.causes:
        cause = share.cause
        if cause.kind == kinds.WAKE_UP:
            found[_key(cause)] = "ow"
        elif cause.kind == kinds.UNATTRIBUTED:
            found[_key(cause)] = "ou"
        elif free < _COLOURS:
            found[_key(cause)] = f"o{free}"
            free += 1
    return found


def legend(ranking: Ranking) -> list[tuple[str, str]]:
    """(CSS class, words) of each colour."""
    chosen = colours(ranking)
    told = [(chosen[_key(one.cause)], text.name(one.cause)) for one in ranking.causes if _key(one.cause) in chosen]
    return [*told, ("ox", "other causes")] if len(told) < len(ranking.causes) else told


def rows(recording: Recording, ranking: Ranking) -> list[Row]:
    """The worst wake-ups, at most MOST."""
    shown, chosen = worst(recording), colours(ranking)
    longest = max((one.hit.latency_ns for one in shown), default=1)
    origin_ns = recording.manifest.probe_facts.origin_ns
    return [_row(one, chosen, longest, origin_ns) for one in shown]


def _row(one: Attribution, chosen: dict[Key, str], longest_ns: int, origin_ns: int | None) -> Row:
    hit = one.hit
    notes = [f"Evidence: {evidence(one)}."] if one.evidence else []
    notes += [told for part in one.parts if (told := functions.stack(part)) is not None]
    if not one.complete:
        notes.append("The trace of it is incomplete.")
    if one.stall_possible:
        notes.append("Stall possible: the board is virtual, and most of this time has no event.")
    notes.append(f"Activation {hit.k} of lane {hit.lane}: rtassay export --to trace.dat --hit {hit.lane}:{hit.k}.")
    return Row(
        id=hit_id(one),
        at="-" if origin_ns is None else f"{(hit.woke_ns - origin_ns) / NS_PER_S:.3f} s",
        where=f"CPU{hit.cpu}",
        latency=format_time(hit.latency_ns),
        owner=text.name(one.top) + (" (stall possible)" if one.stall_possible else ""),
        bar=_bar(one.parts, hit.due_ns, longest_ns, chosen),
        wide=_wide(one, chosen),
        parts=[_part(part, hit.due_ns) for part in one.parts],
        notes=tuple(notes),
    )


def _part(part: Part, due_ns: int) -> tuple[str, ...]:
    return (
        f"{part.phase}, {text.PHASES[part.phase]}" if part.phase in text.PHASES else one_line(part.phase, 8),
        wording.us(part.start_ns - due_ns, 1),
        wording.us(part.ns, 1),
        text.name(part.cause) + ("" if part.place is None else f", in {functions.function_of(part.place.function)}"),
    )


def _bar(parts: Sequence[Part], due_ns: int, longest_ns: int, chosen: dict[Key, str]) -> str:
    scale = svg.scale(0, max(longest_ns, 1), 0, _WIDTH, logarithmic=False)
    inner = "".join(_rect(part, due_ns, scale, chosen, 1, _BAR - 2) for part in parts)
    return (
        f'<svg class="owners" viewBox="0 0 {_WIDTH} {_BAR}" preserveAspectRatio="none" aria-hidden="true">{inner}</svg>'
    )


def _rect(part: Part, due_ns: int, scale: object, chosen: dict[Key, str], top: int, height: int) -> str:
    assert callable(scale)
    left, right = scale(part.start_ns - due_ns), scale(part.start_ns - due_ns + part.ns)
    name = chosen.get(_key(part.cause), "ox")
    title = escape(f"{text.name(part.cause)}: {format_time(part.ns)}")
    return f'<rect class="{name}" x="{left:.1f}" y="{top}" width="{max(right - left, 0.5):.1f}" height="{height}"><title>{title}</title></rect>'


def _wide(one: Attribution, chosen: dict[Key, str]) -> str:
    """The wake-up alone: its phases above the bar, a time axis in us below. report.js zooms it by `data-us` and `data-x`."""
    due_ns, latency = one.hit.due_ns, max(one.hit.latency_ns, 1)
    scale = svg.scale(0, latency, 0, _WIDTH, logarithmic=False)
    rects = "".join(_rect(part, due_ns, scale, chosen, 24, 30) for part in one.parts)
    phases, last = "", float(-_LABEL_ROOM)
    for phase in kinds.PHASES:
        inside = [part for part in one.parts if part.phase == phase]
        if not inside:
            continue
        left = scale(inside[0].start_ns - due_ns)
        room = left - last >= _LABEL_ROOM / 3
        last = left if room else last
        phases += _mark(left, f'<path d="M0 18V58"/><text x="2" y="16"{"" if room else " hidden"}>{phase}</text>')
    ticks = "".join(
        _mark(scale(tick), f'<path d="M0 58V64"/><text class="mid" y="80">{tick / NS_PER_US:g}</text>')
        for tick in svg.even_ticks(0, latency)
    )
    return (
        f'<svg class="owners wide" data-us="{latency / NS_PER_US:.3f}" viewBox="-8 0 {_WIDTH + 60} {_WIDE_HEIGHT}" role="img" aria-label="Owners over time">'
        f'<svg width="{_WIDTH}" height="{_WIDE_HEIGHT}"><g class="parts">{rects}</g></svg>'
        f'<g class="phases">{phases}</g><g class="ticks">{ticks}</g><text x="{_WIDTH + 14}" y="80">us</text></svg>'
    )


def _mark(x: float, inner: str) -> str:
    return f'<g data-x="{x:.1f}" transform="translate({x:.1f} 0)">{inner}</g>'


def _key(cause: Cause) -> Key:
    return cause.kind, cause.name, cause.number

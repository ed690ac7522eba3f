"""What every report of a recording says, as text and tables, made once so that formats cannot disagree. Standard library only."""

from __future__ import annotations

from rtassay.model import measures
from rtassay.model.findings import (
    SEVERITIES,
    VIRTUAL_BOARD,
    CheckResult,
    Findings,
    LaneFindings,
    Needed,
    Verdict,
)
from rtassay.model.foreign import LIMIT, one_line
from rtassay.model.manifest import LaneEntry, Manifest
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_US, format_time
from rtassay.reports import severities, wording

SAFETY_CAVEAT = (
    "Deadline divided by the largest latency seen. It shrinks as more samples are taken, is not comparable between runs of "
    "different length, and decides nothing here."
)
_ALWAYS_SHOWN = 0.999999


def started(manifest: Manifest, created: str | None) -> str | None:
    """When it was measured. When a file of another tool was imported says nothing of that, and is said to be that."""
    if manifest.wall_start is None and "import" in manifest.facts:
        return f"not known (imported {created})" if created else None
    return manifest.wall_start or created


def board(findings: Findings, limit: int = LIMIT) -> str:
    """The board's name; one that is no hardware says so wherever it is named."""
    return one_line(findings.board, limit) + (f" ({VIRTUAL_BOARD})" if findings.virtual_board else "")


def digits(findings: Findings) -> int:
    """Decimals of microseconds worth showing: none for 1 us bins, two where the median is under 10 us, else one."""
    if findings.bin_width_ns >= NS_PER_US:
        return 0
    median = next((q.value_ns for q in findings.pooled.quantiles if q.q == 0.5), None)
    return 2 if median is not None and median < 10 * NS_PER_US else 1


def lane_labels(findings: Findings) -> list[str]:
    """Labels of all lanes, told apart by the source's name where two lanes share a CPU."""
    short = [wording.lane_label(lane.name, lane.cpu) for lane in findings.lanes]
    return [
        text if short.count(text) == 1 or lane.name is None else f"{text} {one_line(lane.name, 40)}"
        for text, lane in zip(short, findings.lanes, strict=True)
    ]


def label_of(findings: Findings, name: str | None) -> str:
    """The label of the lane with this name, as the tables and plots call it."""
    for label, lane in zip(lane_labels(findings), findings.lanes, strict=True):
        if lane.name == name:
            return label
    return wording.lane_label(name, None) if name else "-"


def shown_quantiles(findings: Findings) -> list[float]:
    """Ladder steps worth a column: up to p99.9999 always, beyond where some lane supports it."""
    lanes = (*findings.lanes, findings.pooled)
    steps = sorted({q.q for lane in lanes for q in lane.quantiles})
    return [
        q
        for q in steps
        if q <= _ALWAYS_SHOWN or any(s.q == q and s.bound == "exact" for lane in lanes for s in lane.quantiles)
    ]


def lane_table(findings: Findings, *, due: bool = False) -> wording.Table:
    """Per-lane results in us: counts and moments with the ladder per wake-up, or (`due`) the ladder per due activation."""
    steps = shown_quantiles(findings)
    places = digits(findings)
    named = list(zip(lane_labels(findings), findings.lanes, strict=True))
    pooled = len(findings.lanes) > 1
    if pooled:
        named.append(("all", findings.pooled))
    optional = [
        column for column in ("over", "dropped", "truncated") if column != "over" or any(lane.over for _, lane in named)
    ]
    head = ("Lane", "Due", "Missed") if due else ("Lane", "Total", "Min", "Avg", "Max")
    tail: tuple[str, ...] = () if due else ("Missed", *(name.capitalize() for name in optional))
    rows = []
    for label, lane in named:
        chosen = lane.quantiles_due if due else lane.quantiles
        if chosen is None and lane.missed == 0:
            chosen = lane.quantiles  # without a missed activation the two views are one
        ladder = {q.q: q for q in chosen or ()}
        if due:
            first = [
                wording.Cell(label),
                wording.Cell(wording.count(lane.due)),
                wording.Cell(wording.count(lane.missed)),
            ]
        else:
            first = [wording.Cell(label), wording.Cell(wording.count(lane.n))]
            first += [wording.Cell(wording.us(v, places)) for v in (lane.min_ns, lane.mean_ns, lane.max_ns)]
        last = [] if due else [wording.Cell(wording.count(getattr(lane, name))) for name in ("missed", *optional)]
        rows.append((*first, *(wording.quantile_cell(ladder.get(q), places) for q in steps), *last))
    return wording.Table((*head, *(wording.quantile_name(q) for q in steps), *tail), tuple(rows), pooled)


def has_due_view(findings: Findings) -> bool:
    """Whether the view per due activation differs from the one per wake-up and can be told."""
    return any(lane.quantiles_due is not None for lane in findings.lanes) and any(
        lane.missed for lane in findings.lanes
    )


def wakes(findings: Findings) -> bool:
    """Whether all that was measured is wake-ups, as far as the source tells."""
    return all(lane.measure in (measures.WAKE_UP, measures.UNKNOWN) for lane in findings.lanes)


def lanes_title(findings: Findings) -> str:
    """What the table of lanes holds: `Wake-up latency per lane`, or `Values per lane` of several measures."""
    if wakes(findings):
        return "Wake-up latency per lane"
    told = {measures.measure_words(lane.measure) for lane in findings.lanes}
    words = told.pop() if len(told) == 1 else "values"
    return f"{words[0].upper()}{words[1:]} per lane"


def of_works(findings: Findings) -> bool:
    """Whether all that was measured is the time of fixed works, which is no latency, and differs between works."""
    return bool(findings.lanes) and all(measures.is_work(lane.measure) for lane in findings.lanes)


def demonstrated(findings: Findings) -> LaneFindings | None:
    """The lane that decides D*: the worst; the first without one. None where no time is a latency (a work)."""
    worst: LaneFindings | None = None
    if of_works(findings):
        return None
    for lane in findings.lanes:
        if lane.demonstrated.deadline_ns is None:
            return lane
        if worst is None or lane.demonstrated.deadline_ns > (worst.demonstrated.deadline_ns or 0):
            worst = lane
    return worst


def star_is_for(lane: LaneFindings, sign: str = "≤") -> str:
    """What the lane's D* is for: `p ≤ 1e-6`, or `at most 0.1 events per hour`."""
    star = lane.demonstrated
    if star.per_hour is not None:
        return f"at most {wording.rate(star.per_hour)} events per hour"
    return f"p {sign} {wording.probability(star.p)}"


def confidence(findings: Findings, recording: Recording) -> float:
    """The confidence of the verdict, else the one planned."""
    return findings.verdict.confidence if findings.verdict else recording.manifest.plan.confidence


def called(findings: Findings) -> str:
    """`before-isolation (20261122T195912-0a1b2c)`: the name or the imported file, with the id; the id alone without one."""
    identity = one_line(findings.id, 60)
    return f"{one_line(findings.called, 60)} ({identity})" if findings.called else identity


def state(findings: Findings) -> str:
    """The verdict's state, or that no requirement was stated."""
    return findings.verdict.state if findings.verdict else wording.NO_REQUIREMENT


def needed(verdict: Verdict) -> Needed | None:
    """What is missing for an answer; nothing where there is one."""
    return verdict.needed if verdict.state == "NOT DEMONSTRATED" else None


def trust(findings: Findings) -> str:
    """What to add to a headline number of a measurement that is not valid."""
    return "; not to be used: the measurement is invalid" if state(findings) == "INVALID MEASUREMENT" else ""


def no_demonstration(lane: LaneFindings) -> str:
    """Why the data of this lane demonstrate no deadline at all."""
    return "samples beyond the last bin could be of any length" if lane.over else "too few samples"


def requirement(verdict: Verdict) -> str:
    """`L < 100us with p <= 1e-6 at 95 % confidence`."""
    return (
        f"latency < {format_time(verdict.deadline_ns)}, {misses_allowed(verdict)}, "
        f"{wording.percent(verdict.confidence)} confidence{at_look(verdict)}"
    )


def at_look(verdict: Verdict) -> str:
    """` at look 2 of 3`; empty for a run without looks."""
    return "" if verdict.look is None else f" at look {verdict.look} of {verdict.looks}"


def misses_allowed(verdict: Verdict) -> str:
    """`p ≤ 1e-6 per activation`, or `at most 0.1 events per hour`."""
    if verdict.per_hour is not None:
        return f"at most {wording.rate(verdict.per_hour)} events per hour"
    return f"p ≤ {wording.probability(verdict.p_target)} per activation"


def sentence(findings: Findings) -> str:
    """The verdict in one sentence with all it rests on; empty without a requirement. Analysis words it, this is the plain form where it did not."""
    verdict = findings.verdict
    if verdict is None:
        return ""
    if verdict.sentence:
        return one_line(verdict.sentence)
    seen = "an unknown number" if verdict.exceedances is None else wording.count(verdict.exceedances)
    return f"{seen} of {wording.count(verdict.due)} activations of the worst lane exceeded {format_time(verdict.deadline_ns)}."


def check_summary(findings: Findings) -> str:
    """`1 invalid, 2 warnings, 18 pass`; `1 waived` and `strict` where that is so."""
    waived = sum(check.waived is not None for check in findings.checks)
    parts = [severities.counts(findings.checks), f"{waived} waived" if waived else ""]
    said = ", ".join(part for part in parts if part) or "no checks"
    return f"{said}; strict" if findings.strict else said


def check_text(check: CheckResult) -> str:
    """The message on one line. The reason of a waiver stands before it, so that a cut line still shows it."""
    text = one_line(check.message)
    return text if check.waived is None else f"[waived: {one_line(check.waived, 400)}] {text}"


def unlooked(findings: Findings) -> list[CheckResult]:
    """Checks that could not run and were not waived. Reports list them together, because there may be many."""
    return [check for check in findings.checks if check.severity == "unknown" and check.waived is None]


def told_checks(findings: Findings) -> list[CheckResult]:
    """Checks worth a line of their own: what fired, worst first, what was waived beside the warnings; no passes, nothing unknown."""
    told = [c for c in findings.checks if c.severity not in ("pass", "unknown") or c.waived is not None]
    grave = SEVERITIES.index("warning")
    return sorted(
        told, key=lambda c: min(SEVERITIES.index(c.severity), SEVERITIES.index("pass") if c.waived is None else grave)
    )


def new_record(findings: Findings) -> list[tuple[str, str]]:
    """(mission, probability) rows as text; none for works."""
    return (
        []
        if of_works(findings)
        else [(wording.span(row["mission_s"]), wording.percent(row["probability"])) for row in findings.new_record]
    )


def entry_of(recording: Recording, index: int) -> LaneEntry | None:
    """The account of findings' lane `index`: analysis keeps the recording's order."""
    return recording.lanes[index].entry if index < len(recording.lanes) else None

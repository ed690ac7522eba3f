"""What every report says, as text: words, numbers and tables, made once so that formats cannot disagree.

Standard library only: the terminal report stands on it and has to start fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from rtassay.model.findings import (
    SEVERITIES,
    VIRTUAL_BOARD,
    CheckResult,
    Findings,
    LaneFindings,
    Needed,
    Quantile,
    Verdict,
    part_of_cpu,
)
from rtassay.model.manifest import LaneEntry, Manifest
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S, NS_PER_US, format_time

TONES = {"VIOLATED": "bad", "HOLDS": "good", "NOT DEMONSTRATED": "open", "INVALID MEASUREMENT": "void"}
ICONS = {"VIOLATED": "✗", "HOLDS": "✓", "NOT DEMONSTRATED": "?", "INVALID MEASUREMENT": "!"}
NO_REQUIREMENT = "NO REQUIREMENT STATED"
SAFETY_CAVEAT = (
    "Deadline divided by the largest latency seen. It shrinks as more samples are taken, is not comparable between runs of "
    "different length, and decides nothing here."
)
_ALWAYS_SHOWN = 0.999999
_TEXT_LIMIT = 4000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Cell:
    """One table cell: the value and, for quantiles, the interval below it."""

    text: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Column headings and rows of equal length. The last row is the pooled one where `pooled` says so."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    pooled: bool = False


def clean(text: str, limit: int = _TEXT_LIMIT) -> str:
    """Foreign text without control, bidi and surrogate characters, cut at `limit` with the cut stated."""
    plain = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n"))
    return plain if len(plain) <= limit else f"{plain[:limit]} … ({len(plain) - limit:,} more characters)"


def started(manifest: Manifest, created: str | None) -> str | None:
    """When it was measured. When a file of another tool was imported says nothing of that, and is said to be that."""
    if manifest.wall_start is None and "import" in manifest.facts:
        return f"not known (imported {created})" if created else None
    return manifest.wall_start or created


def one_line(text: str, limit: int = _TEXT_LIMIT) -> str:
    """`clean` on a single line."""
    return clean(" ".join(text.split()), limit)


def board(findings: Findings, limit: int = _TEXT_LIMIT) -> str:
    """The board's name; one that is no hardware says so wherever it is named."""
    return one_line(findings.board, limit) + (f" ({VIRTUAL_BOARD})" if findings.virtual_board else "")


def digits(findings: Findings) -> int:
    """Decimals of microseconds worth showing: none for 1 us bins, two where the median is under 10 us, else one."""
    if findings.bin_width_ns >= NS_PER_US:
        return 0
    median = next((q.value_ns for q in findings.pooled.quantiles if q.q == 0.5), None)
    return 2 if median is not None and median < 10 * NS_PER_US else 1


def us(ns: float | None, places: int) -> str:
    """Microseconds without the unit; `-` where the source cannot tell."""
    return "-" if ns is None else f"{ns / NS_PER_US:.{places}f}"


def count(value: int | None) -> str:
    """A count with thousands separators; `-` where the source cannot tell."""
    return "-" if value is None else f"{value:,}"


def probability(p: float | None) -> str:
    """`1e-6`, `0.05`, `2.9e-6`, `0`; `-` for None."""
    if p is None:
        return "-"
    if p == 0:
        return "0"
    text = f"{p:.2g}" if p >= 0.001 else f"{p:.1e}"
    return re.sub(r"(?:\.0)?e([+-])0*(\d)", lambda m: f"e{m[1].replace('+', '')}{m[2]}", text)


def percent(fraction: float) -> str:
    """`91 %`, `0.4 %`; never rounded to 0 or 100 unless it is."""
    value = 100 * fraction
    if 0 < value < 0.1 or 99.9 < value < 100:
        return "< 0.1 %" if value < 1 else "> 99.9 %"
    return f"{value:.3g} %"


def span(seconds: float | None) -> str:
    """A duration a person would say: `60 s`, `16.6 min`, `24 h`, `31 d`."""
    if seconds is None:
        return "-"
    for unit, size, limit in (("s", 1.0, 600.0), ("min", 60.0, 3600.0), ("h", 3600.0, 3 * 86400.0)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 86400:.3g} d" if seconds < 1000 * 86400 else f"{seconds / 86400:,.0f} d"


def quantile_name(q: float) -> str:
    """`p50`, `p99.99`."""
    return f"p{(Decimal(str(q)) * 100).normalize():f}"


def lane_label(name: str | None, cpu: int | None) -> str:
    """What a reader calls the lane: `CPU3`, else the source's own name; pooled lanes are `all`."""
    if cpu is not None:
        return one_line(f"CPU{cpu}{part_of_cpu(name, cpu)}", 40)
    if name is None:
        return "all"
    return f"lane {name}" if name.isdigit() else one_line(name, 40)


def lane_labels(findings: Findings) -> list[str]:
    """Labels of all lanes, told apart by the source's name where two lanes share a CPU."""
    short = [lane_label(lane.name, lane.cpu) for lane in findings.lanes]
    return [
        text if short.count(text) == 1 or lane.name is None else f"{text} {one_line(lane.name, 40)}"
        for text, lane in zip(short, findings.lanes, strict=True)
    ]


def label_of(findings: Findings, name: str | None) -> str:
    """The label of the lane with this name, as the tables and plots call it."""
    for label, lane in zip(lane_labels(findings), findings.lanes, strict=True):
        if lane.name == name:
            return label
    return lane_label(name, None) if name else "-"


def shown_quantiles(findings: Findings) -> list[float]:
    """Ladder steps worth a column: up to p99.9999 always, beyond where some lane supports it."""
    lanes = (*findings.lanes, findings.pooled)
    steps = sorted({q.q for lane in lanes for q in lane.quantiles})
    return [
        q
        for q in steps
        if q <= _ALWAYS_SHOWN or any(s.q == q and s.bound == "exact" for lane in lanes for s in lane.quantiles)
    ]


def quantile_cell(quantile: Quantile | None, places: int) -> Cell:
    """`34.2` with `[34.1, 34.4]`, or `≥ 81.3` where the data hold only a lower bound; `∞`: no upper limit from this n."""
    if quantile is None:
        return Cell("-")
    if quantile.bound != "exact":
        return Cell(f"≥ {us(quantile.value_ns, places)}")
    high = "∞)" if quantile.hi_ns is None else f"{us(quantile.hi_ns, places)}]"
    return Cell(us(quantile.value_ns, places), f"[{us(quantile.lo_ns, places)}, {high}")


def lane_table(findings: Findings, *, due: bool = False) -> Table:
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
            first = [Cell(label), Cell(count(lane.due)), Cell(count(lane.missed))]
        else:
            first = [Cell(label), Cell(count(lane.n))]
            first += [Cell(us(v, places)) for v in (lane.min_ns, lane.mean_ns, lane.max_ns)]
        last = [] if due else [Cell(count(getattr(lane, name))) for name in ("missed", *optional)]
        rows.append((*first, *(quantile_cell(ladder.get(q), places) for q in steps), *last))
    return Table((*head, *(quantile_name(q) for q in steps), *tail), tuple(rows), pooled)


def has_due_view(findings: Findings) -> bool:
    """Whether the view per due activation differs from the one per wake-up and can be told."""
    return any(lane.quantiles_due is not None for lane in findings.lanes) and any(
        lane.missed for lane in findings.lanes
    )


def demonstrated(findings: Findings) -> tuple[LaneFindings | None, float | None]:
    """The lane that decides D* (the worst; the first without one) and the p it is for."""
    worst: LaneFindings | None = None
    for lane in findings.lanes:
        if lane.demonstrated.deadline_ns is None:
            return lane, lane.demonstrated.p
        if worst is None or lane.demonstrated.deadline_ns > (worst.demonstrated.deadline_ns or 0):
            worst = lane
    return worst, None if worst is None else worst.demonstrated.p


def confidence(findings: Findings, recording: Recording) -> float:
    """The confidence of the verdict, else the one planned."""
    return findings.verdict.confidence if findings.verdict else recording.manifest.plan.confidence


def state(findings: Findings) -> str:
    """The verdict's state, or that no requirement was stated."""
    return findings.verdict.state if findings.verdict else NO_REQUIREMENT


def factor(value: float) -> str:
    """A safety factor: two decimals, or two figures where it is tiny."""
    return f"{value:.2f}" if value >= 0.1 else f"{value:.2g}"


def rate(per_hour: float | None) -> str:
    """Events per hour: three figures, whole from 100 on."""
    if per_hour is None:
        return "-"
    return f"{per_hour:,.0f}" if per_hour >= 100 else f"{per_hour:.3g}"


def needed(verdict: Verdict) -> Needed | None:
    """What is missing for an answer; nothing where there is one."""
    return verdict.needed if verdict.state == "NOT DEMONSTRATED" else None


def spaced(ns: int) -> str:
    """`97.3 us`: format_time with a space, for headlines."""
    return re.sub(r"(?<=\d)(?=[a-z])", " ", format_time(ns))


def trust(findings: Findings) -> str:
    """What to add to a headline number of a measurement that is not valid."""
    return "; not to be used: the measurement is invalid" if state(findings) == "INVALID MEASUREMENT" else ""


def no_demonstration(lane: LaneFindings) -> str:
    """Why the data of this lane demonstrate no deadline at all."""
    return "samples beyond the last bin could be of any length" if lane.over else "too few samples for this p"


def requirement(verdict: Verdict) -> str:
    """`L < 100us with p <= 1e-6 at 95 % confidence`."""
    return (
        f"latency < {format_time(verdict.deadline_ns)}, p ≤ {probability(verdict.p_target)} per activation, "
        f"{percent(verdict.confidence)} confidence"
    )


def sentence(findings: Findings) -> str:
    """The verdict in one sentence; analysis words it, this is the plain form where it did not."""
    verdict = findings.verdict
    if verdict is None:
        return "No deadline was stated, so there is no verdict: the tables below describe what was measured."
    if verdict.sentence:
        return one_line(verdict.sentence)
    seen = "an unknown number" if verdict.exceedances is None else count(verdict.exceedances)
    return f"{seen} of {count(verdict.due)} activations of the worst lane exceeded {format_time(verdict.deadline_ns)}."


def next_step(findings: Findings) -> str:
    """What to do now, in one line."""
    verdict = findings.verdict
    if verdict is None:
        return f"state a requirement: rtassay show {findings.id} --deadline 100us --p 1e-6"
    if verdict.state == "INVALID MEASUREMENT":
        grave = [c for c in sorted_checks(findings) if c.severity in ("invalid", "warning") and c.waived is None]
        bad = next((c.id for c in grave if c.severity == "invalid" or findings.strict), None)
        return (
            f"mend {bad} (see its message), then measure again"
            if bad
            else "mend what the reasons name, then measure again"
        )
    if verdict.state == "VIOLATED":
        return f"find the cause: repeat with --break-above {exact_time(verdict.deadline_ns)} to keep a trace of the first hit"
    if verdict.state == "NOT DEMONSTRATED":
        if verdict.needed is not None and verdict.needed.n > (verdict.due or 0):
            time = f" ({span(verdict.needed.duration_s)})" if verdict.needed.duration_s is not None else ""
            return (
                f"{count(verdict.needed.n)} activations per lane{time} with no further exceedance would demonstrate it"
            )
        cap = next(
            (
                c.id
                for c in findings.checks
                if c.kind == "optimism" and c.severity in ("invalid", "warning") and c.waived is None
            ),
            None,
        )
        return (
            f"mend {cap} (see its message), then measure again"
            if cap
            else "measure longer, or state what could not be checked"
        )
    return "the answer is for these conditions only: repeat after a change of kernel, load, firmware or temperature"


def exact_time(ns: int) -> str:
    """A duration option that means exactly `ns`."""
    for unit, factor in (("s", NS_PER_S), ("ms", 1_000_000), ("us", NS_PER_US)):
        if ns and ns % factor == 0:
            return f"{ns // factor}{unit}"
    return f"{ns}ns"


def sorted_checks(findings: Findings) -> list[CheckResult]:
    """Checks by severity, worst first, in their own order within one."""
    return sorted(findings.checks, key=lambda check: SEVERITIES.index(check.severity))


def check_summary(findings: Findings) -> str:
    """`1 invalid, 2 warning, 18 pass`; `1 waived` and `strict` where that is so."""
    counts = [(name, sum(check.severity == name for check in findings.checks)) for name in SEVERITIES]
    counts.append(("waived", sum(check.waived is not None for check in findings.checks)))
    said = ", ".join(f"{number} {name}" for name, number in counts if number) or "no checks"
    return f"{said}; strict" if findings.strict else said


def check_text(check: CheckResult) -> str:
    """The message on one line, with the reason of a waiver before it, where nobody cuts it off."""
    text = one_line(check.message)
    return text if check.waived is None else f"[waived: {one_line(check.waived, 400)}] {text}"


def unlooked(findings: Findings) -> list[CheckResult]:
    """Checks that could not be looked at and that nobody waived: told together, since there may be many."""
    return [check for check in findings.checks if check.severity == "unknown" and check.waived is None]


def told_checks(findings: Findings) -> list[CheckResult]:
    """Checks worth a line of their own: what fired, worst first, what was waived beside the warnings; no passes, nothing unknown."""
    told = [c for c in findings.checks if c.severity not in ("pass", "unknown") or c.waived is not None]
    grave = SEVERITIES.index("warning")
    return sorted(
        told, key=lambda c: min(SEVERITIES.index(c.severity), SEVERITIES.index("pass") if c.waived is None else grave)
    )


def new_record(findings: Findings) -> list[tuple[str, str]]:
    """(mission, probability) rows as text."""
    return [(span(row["mission_s"]), percent(row["probability"])) for row in findings.new_record]


def describe(value: Any, limit: int = 400) -> str:
    """A JSON value as one line: lists with commas, objects as `key=value`, None as `not known`."""
    if value is None:
        return "not known"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        text = ", ".join(f"{key}={describe(item, 80)}" for key, item in value.items()) or "none"
    elif isinstance(value, list | tuple):
        text = ", ".join(describe(item, 80) for item in value) or "none"
    else:
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return one_line(text, limit)


def pairs(items: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """(name, value) rows as text."""
    return [(one_line(str(name), 80), describe(value)) for name, value in items]


def entry_of(recording: Recording, index: int) -> LaneEntry | None:
    """The account of findings' lane `index`: analysis keeps the recording's order."""
    return recording.lanes[index].entry if index < len(recording.lanes) else None


def shell_line(argv: Iterable[str]) -> str:
    """A command line that a shell splits into the same words."""
    import shlex

    return clean(shlex.join(list(argv)), 2000)

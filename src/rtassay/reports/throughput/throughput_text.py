"""Words and table cells that all reports of throughput share."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.model.foreign import one_line
from rtassay.model.throughput import (
    FASTER,
    NO_DIFFERENCE,
    NOT_COMPARED,
    SLOWER,
    Change,
    EnergyRow,
    LatencyRow,
    Pace,
    PartRow,
    Throughput,
)
from rtassay.model.units import NS_PER_S
from rtassay.reports import wording

HEADLINES = {
    SLOWER: "B GETS LESS DONE",
    FASTER: "B GETS MORE DONE",
    NO_DIFFERENCE: "NO DIFFERENCE SHOWN",
    NOT_COMPARED: "NOT COMPARED",
}
TONES = {SLOWER: "open", FASTER: "open", NO_DIFFERENCE: "open", NOT_COMPARED: "void"}
ALONE = ("Work", "Amount", "Per second", "Time (s)", "CPU time (s)", "Rounds", "Scatter")
COMPARED = ("Work", "Amount", "A per second", "B per second", "Throughput B / A", "95 % interval", "CPU time B / A")
ENERGY_ALONE = ("Work", "Energy of a round (J)")
ENERGY = ("Work", "A, a round (J)", "B, a round (J)", "Energy B / A", "95 % interval")
LATENCY = ("Load", "p", "A D* (us)", "B D* (us)", "D* B / A", "95 % interval")


def headline(subject: Throughput) -> str:
    """What was found, in capitals; of one group alone, that it was measured."""
    return "THROUGHPUT" if subject.b is None else HEADLINES[subject.conclusion]


def called(work: str, part: str) -> str:
    """`builtin switch`."""
    return one_line(f"{work} {part}".strip(), 60)


def rate(value: float | None) -> str:
    """Four figures, thousands with their commas."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def interval(change: Change | None) -> str:
    """`[0.93, 0.98]`; empty where there is none."""
    if change is None or change.lo is None or change.hi is None:
        return ""
    return f"[{wording.ratio(change.lo)}, {wording.ratio(change.hi)}]"


def columns(subject: Throughput) -> tuple[str, ...]:
    """Of the table of parts."""
    return ALONE if subject.b is None else COMPARED


def rows(subject: Throughput) -> list[tuple[str, ...]]:
    """A row for each part; of two groups, one for each work of several parts and one for all works."""
    if subject.b is None:
        return [_alone(row, row.a) for row in subject.parts]
    found: list[tuple[str, ...]] = []
    for at, row in enumerate(subject.parts):
        found.append(_compared(row))
        last = at + 1 == len(subject.parts) or subject.parts[at + 1].work != row.work
        several = sum(other.work == row.work for other in subject.parts) > 1
        whole = next((work for work in subject.works if work.work == row.work), None)
        if last and several and whole is not None:
            found.append(
                (called(row.work, "together"), "", "", "", _ratio(whole.throughput), interval(whole.throughput), "")
            )
    if subject.total is not None:
        found.append(("all works together", "", "", "", _ratio(subject.total), interval(subject.total), ""))
    return found


def _alone(row: PartRow, pace: Pace | None) -> tuple[str, ...]:
    head = (called(row.work, row.part), f"{row.amount:,.0f} {one_line(row.unit, 40)}")
    if pace is None:
        return (*head, "-", "-", "-", "-", "-")
    cpu = "-" if pace.cpu_ns is None else f"{pace.cpu_ns / NS_PER_S:.4f}"
    scatter = "-" if pace.sd is None else wording.percent(pace.sd)
    return (*head, rate(pace.rate), f"{pace.ns / NS_PER_S:.4f}", cpu, str(pace.rounds), scatter)


def _compared(row: PartRow) -> tuple[str, ...]:
    return (
        called(row.work, row.part),
        f"{row.amount:,.0f} {one_line(row.unit, 40)}",
        rate(None if row.a is None else row.a.rate),
        rate(None if row.b is None else row.b.rate),
        _ratio(row.throughput),
        interval(row.throughput),
        _ratio(row.cpu) + (f" {interval(row.cpu)}" if interval(row.cpu) else ""),
    )


def _ratio(change: Change | None) -> str:
    return "-" if change is None else wording.ratio(change.ratio)


def latency_rows(subject: Throughput) -> list[tuple[str, ...]]:
    """D* of both groups by load."""
    return [_latency(row) for row in subject.latency]


def _latency(row: LatencyRow) -> tuple[str, ...]:
    values = ("-" if ns is None else wording.us(ns, 1) for ns in (row.a_ns, row.b_ns))
    return (one_line(row.load, 60), wording.probability(row.p), *values, _ratio(row.change), interval(row.change))


def energy_columns(subject: Throughput) -> tuple[str, ...]:
    """Of the table of energies."""
    return ENERGY_ALONE if subject.b is None else ENERGY


def energy_rows(subject: Throughput) -> list[tuple[str, ...]]:
    """Energy of a round of each work; none where no board tells its power."""
    return [_energy(row, subject.b is None) for row in subject.energy]


def _energy(row: EnergyRow, alone: bool) -> tuple[str, ...]:
    a, b = (rate(value) for value in (row.a_j, row.b_j))
    name = one_line(row.work, 60)
    return (name, a) if alone else (name, a, b, _ratio(row.change), interval(row.change))


def explained(subject: Throughput) -> str:
    """What the numbers are."""
    value = f"Each value is of one of the {subject.unit_of}: the median round."
    if subject.energy:
        value += " Energy: mean power of the run, times the time of a round."
    if subject.b is None:
        return f"{value} Scatter: standard deviation between them."
    return (
        f"{value} Throughput below 1: B gets less done. Works count alike, whatever parts they have. The conclusion rests on all works together; "
        "intervals of single rows are not corrected for being many. D* below 1: B demonstrates the shorter deadline."
    )


def bars(subject: Throughput) -> list[tuple[str, str, Change]]:
    """(kind, name, B / A) for the picture: `gain` is better below 1 (D*), `cost` better above 1 (throughput)."""
    found = [("gain", f"D*, {row.load}", row.change) for row in subject.latency if row.change is not None]
    found += [("cost", row.work, row.throughput) for row in subject.works]
    return found + ([("cost", "all works", subject.total)] if subject.total is not None else [])


def texts(rows: Sequence[tuple[str, ...]], clean: object) -> list[list[str]]:
    """Cells through a filter."""
    assert callable(clean)
    return [[clean(cell) for cell in row] for row in rows]

"""Tables for papers, in us with the unit in the header: as Markdown to paste and as CSV to compute with."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rtassay.figures.data import Shot, lane_name
from rtassay.model.errors import UsageError
from rtassay.model.findings import VIRTUAL_BOARD, Findings, LaneFindings
from rtassay.model.foreign import csv_cell, markdown
from rtassay.model.units import NS_PER_US

KINDS: Final = {
    "cores": "Total, Min, Avg and Max of every CPU, as cyclictest users print them",
    "summary": "min, mean, max and standard deviation per recording",
    "tail": "average, 99 ... 99.99999 % and maximum per recording, with 95 % intervals",
}
FORMATS: Final = ("md", "csv")
_TAIL = 0.99
# Cells that are numbers of ours. Any other may be a name from a file or a person.
_OURS = re.compile(r"(?:≥ )?-?[0-9.,]*(?: \[[0-9., ∞-]*\])?")


@dataclass(frozen=True, slots=True)
class Table:
    """Headings, rows of numbers or text of equal length, and notes below."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def table(kind: str, shots: Sequence[Shot], *, raw: bool) -> Table:
    """A table of one of KINDS. `raw`: for programs, an interval in columns of its own and nothing but numbers in cells."""
    if kind not in KINDS:
        raise UsageError(f"there is no table '{kind}'", hint=f"known: {', '.join(KINDS)}")
    if not shots:
        raise UsageError("there is no recording to tabulate")
    made = {"cores": _cores, "summary": _summary, "tail": _tail}[kind](list(shots), raw)
    return Table(made.columns, made.rows, (*made.notes, *_notes(shots)))


def render(kind: str, shots: Sequence[Shot], format_name: str) -> bytes:
    """The table as `md` or `csv` bytes."""
    if format_name == "csv":
        return _csv(table(kind, shots, raw=True))
    if format_name == "md":
        return _markdown(table(kind, shots, raw=False))
    raise UsageError(f"there is no table format '{format_name}'", hint=f"known: {', '.join(FORMATS)}")


def _cores(shots: list[Shot], raw: bool) -> Table:
    rows = []
    for shot in shots:
        places = _places(shot.findings)
        for _, found in shot.lanes:
            rows.append((shot.name, lane_name(found), *_account(found, places, raw)))
    several = len(shots) > 1 or raw
    columns = ("Recording", "CPU", "Total", "Min [us]", "Avg [us]", "Max [us]", "Missed", "Overflow")
    return Table(columns if several else columns[1:], tuple(row if several else row[1:] for row in rows))


def _account(found: LaneFindings, places: int, raw: bool) -> tuple[str, ...]:
    return (
        _count(found.n, raw),
        _us(found.min_ns, places, raw),
        _us(found.mean_ns, max(places, 2), raw),
        _us(found.max_ns, places, raw),
        _count(found.missed, raw),
        _count(found.over, raw),
    )


def _summary(shots: list[Shot], raw: bool) -> Table:
    rows = []
    for shot in shots:
        pooled, places = shot.findings.pooled, _places(shot.findings)
        rows.append(
            (
                shot.name,
                _count(pooled.n, raw),
                _us(pooled.min_ns, places, raw),
                _us(pooled.mean_ns, 4, raw),
                _us(pooled.max_ns, places, raw),
                _us(pooled.sd_ns, 4, raw),
                _count(pooled.missed, raw),
                _count(pooled.over, raw),
            )
        )
    columns = ("Recording", "Total", "Min [us]", "Mean [us]", "Max [us]", "SD [us]", "Missed", "Overflow")
    return Table(columns, tuple(rows), ("mean and SD say nothing about the tail: see the table tail",))


def _tail(shots: list[Shot], raw: bool) -> Table:
    steps = [q.q for q in max((s.findings.pooled.quantiles for s in shots), key=len) if q.q >= _TAIL]
    heads: list[str] = []
    for q in steps:
        name = f"{100 * q:.9g} %"
        heads += [f"{name} [us]", f"{name} low", f"{name} high", f"{name} bound"] if raw else [f"{name}"]
    columns = ("Recording", "n", "Avg [us]" if raw else "Avg", *heads, "Max [us]" if raw else "Max")
    rows = []
    for shot in shots:
        pooled, places = shot.findings.pooled, _places(shot.findings)
        by_q = {quantile.q: quantile for quantile in pooled.quantiles}
        cells = [shot.name, _count(pooled.n, raw), _us(pooled.mean_ns, max(places, 2), raw)]
        for q in steps:
            quantile = by_q.get(q)
            if quantile is None:
                cells += ["", "", "", ""] if raw else ["-"]
                continue
            at_least = quantile.bound == "at_least"
            low, high = _us(quantile.lo_ns, places, raw), _us(quantile.hi_ns, places, raw)
            value = _us(quantile.value_ns, places, raw)
            if raw:
                cells += [value, low, high, quantile.bound]
            else:
                cells.append(
                    f"{'≥ ' if at_least else ''}{value} [{low}, {high if quantile.hi_ns is not None else '∞'}]"
                )
        rows.append((*cells, _us(pooled.max_ns, places, raw)))
    notes = (
        () if raw else ("us; in brackets the distribution-free 95 % interval; ≥: the data do not reach this quantile",)
    )
    return Table(columns, tuple(rows), notes)


def _notes(shots: Sequence[Shot]) -> tuple[str, ...]:
    """Notes on facts that the numbers do not show: invalid recordings, unknown overflow, coarse bins."""
    notes = []
    for shot in shots:
        if shot.findings.virtual_board:
            notes.append(f"{shot.name}: {VIRTUAL_BOARD}")
        bad = [check.id for check in shot.findings.checks if check.severity == "invalid"]
        if bad:
            notes.append(f"{shot.name}: invalid ({', '.join(bad)})")
        if any(found.over is None for _, found in shot.lanes):
            notes.append(f"{shot.name}: overflow unknown, the source tells none; the maximum is that of the histogram")
    return tuple(notes)


def _places(findings: Findings) -> int:
    return 0 if findings.bin_width_ns >= NS_PER_US else 2


def _us(ns: float | None, places: int, raw: bool) -> str:
    if ns is None:
        return "" if raw else "-"
    return f"{ns / NS_PER_US:.{places}f}" if raw else f"{ns / NS_PER_US:,.{places}f}"


def _count(value: int | None, raw: bool) -> str:
    if value is None:
        return "" if raw else "-"
    return str(value) if raw else f"{value:,}"


def _csv(made: Table) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(made.columns)
    writer.writerows([cell if _OURS.fullmatch(cell) else csv_cell(cell) for cell in row] for row in made.rows)
    return out.getvalue().encode("utf-8", "backslashreplace")


def _markdown(made: Table) -> bytes:
    rule = [":--" if i == 0 else "--:" for i in range(len(made.columns))]
    cells = [[cell if _OURS.fullmatch(cell) else markdown(cell) for cell in row] for row in made.rows]
    rows = [made.columns, rule, *cells]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    if made.notes:
        lines += ["", *(f"{markdown(note)}.  " for note in made.notes)]
    return ("\n".join(lines) + "\n").encode("utf-8", "backslashreplace")

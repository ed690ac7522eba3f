"""The words and tables of a gate, made once for every report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rtassay.model.causes import Cause
from rtassay.model.foreign import one_line
from rtassay.model.gate import (
    HONEST,
    MEASURED,
    NAMED,
    NO_TRACE,
    NOT_COMPARED,
    NOT_REGRESSED,
    NOTHING_LATER,
    REGRESSED,
    TOO_LATE,
    BootPair,
    Difference,
    Gate,
    GatedKernel,
    HeldFunction,
    Holder,
    Load,
    Seed,
    Verified,
)
from rtassay.model.units import format_time
from rtassay.reports import wording
from rtassay.reports.causes import causes_text

WORDS: Final[Mapping[str, str]] = {
    REGRESSED: "LATER",
    TOO_LATE: "TOO LATE",
    NOT_COMPARED: "NOT COMPARED",
    NOT_REGRESSED: "no regression seen",
    MEASURED: "measured",
}
_HEADLINES: Final[Mapping[str, str]] = {
    REGRESSED: "LATENCY REGRESSION",
    TOO_LATE: "DEADLINE EXCEEDED",
    NOT_COMPARED: "NOT COMPARED",
    NOT_REGRESSED: "NO REGRESSION SEEN",
    MEASURED: "MEASURED",
}
_SEARCH: Final[Mapping[str, str]] = {
    NO_TRACE: "The kernel has no events to trace (CONFIG_FTRACE with events), so nobody can say who holds the time.",
    NOTHING_LATER: "Traced, no wake-up was later than those of the base, so nobody can say who holds the time.",
}
_CALLERS = 3
COLUMNS: Final = ("load", "seed", "p99.9 us", "largest us", "base us", "grown us", "allowed us", "missed", "result")
FUNCTIONS: Final = "Where the time of the latest wake-up goes"
FUNCTION_COLUMNS: Final = ("load", "function", "called by", "now us", "before us", "counts")
HOLDER_COLUMNS: Final = ("load", "who holds the time now", "function", "most us", "before us", "wake-ups", "before")
FIRST_COLUMNS: Final = (
    "load",
    "seed",
    "first that differs",
    "base us",
    "now us",
    "first beyond",
    "base us ",
    "now us ",
)


def headline(gate: Gate) -> str:
    """The answer in one line."""
    words = _HEADLINES[gate.state]
    named = ", ".join(load.load for load in gate.loads if load.state == gate.state)
    against = "" if gate.base is None else f" against {called(gate.base)}"
    loads = f" under {named}" if gate.state in (REGRESSED, TOO_LATE, NOT_COMPARED) and named else ""
    return f"{words}{loads}: {called(gate.kernel)}{against}"


def called(kernel: GatedKernel) -> str:
    """A kernel as a reader knows it: the name it was given, and its release."""
    release = f" ({one_line(kernel.release, 80)})" if kernel.release and kernel.release not in kernel.name else ""
    return f"{one_line(kernel.name, 120)}{release}"


def conditions(gate: Gate) -> list[str]:
    """What was measured, what limits it, and the honest words last."""
    seeds = ", ".join(map(str, gate.seeds))
    told = [
        f"{gate.count:,} activations each {format_time(gate.interval_ns)}, seeds {seeds}; {one_line(gate.qemu, 120)}; "
        f"{gate.ns_per_instruction} ns an instruction."
    ]
    if gate.deadline_ns is not None:
        told.append(f"Deadline {format_time(gate.deadline_ns)}, in virtual time.")
    if gate.left_out:
        told.append("Left out: " + "; ".join(f"{load} needs CONFIG_{option}" for load, option in gate.left_out) + ".")
    for kernel in (gate.kernel, gate.base):
        if kernel is not None and kernel.lacks:
            told.append(f"{called(kernel)} lacks {', '.join(f'CONFIG_{option}' for option in kernel.lacks)}.")
        if kernel is not None and kernel.lacks is None:
            told.append(f"The configuration of {called(kernel)} is not known.")
    return [*told, HONEST]


def rows(gate: Gate) -> list[tuple[str, ...]]:
    """One row a load and seed: COLUMNS."""
    return [_row(load, seed) for load in gate.loads for seed in load.seeds]


def _row(load: Load, seed: Seed) -> tuple[str, ...]:
    return (
        load.load,
        str(seed.seed),
        wording.us(seed.new.p999_ns, 1),
        wording.us(seed.new.tail_ns, 1),
        wording.us(None if seed.base is None else seed.base.tail_ns, 1),
        "-" if seed.growth_ns is None else f"{seed.growth_ns / 1000:+.1f}",
        wording.us(seed.allowed_ns, 1),
        str(seed.new.missed) if seed.base is None else f"{seed.base.missed} -> {seed.new.missed}",
        result(load, seed),
    )


def result(load: Load, seed: Seed) -> str:
    """What one seed says; a load regresses only if all its seeds say so."""
    if load.state == NOT_COMPARED:
        return "the load did not run to the end"
    late = "" if seed.new.exceedances is None else f"; {_exceeded(seed)}"
    if seed.grown is None:
        return WORDS[MEASURED] + late
    alone = seed.grown and load.state != REGRESSED
    return ("later, not in every seed" if alone else WORDS[REGRESSED] if seed.grown else WORDS[NOT_REGRESSED]) + late


def _exceeded(seed: Seed) -> str:
    before = "" if seed.base is None else f", {seed.base.exceedances} before"
    return f"{seed.new.exceedances} over the deadline{before}"


def function_rows(gate: Gate) -> list[tuple[str, ...]]:
    """Where the time of the latest wake-ups went: FUNCTION_COLUMNS."""
    return [_function(load, one) for load in gate.loads for one in load.functions]


def _function(load: Load, one: HeldFunction) -> tuple[str, ...]:
    callers = " < ".join(one_line(name, 80) for name in one.callers[:_CALLERS])
    return (
        load.load,
        one_line(one.function, 80),
        callers or "-",
        wording.us(one.new_ns, 1),
        wording.us(one.base_ns, 1),
        "with what it calls" if one.with_callees else "alone",
    )


def holds_now(load: Load) -> str:
    """Who holds the time of a load that regressed, in a few words; "" if nobody knows."""
    if load.functions:
        return " < ".join(one_line(name, 80) for name in (load.functions[0].function, *load.functions[0].callers[:1]))
    return f"{holder(load.holders[0])} {one_line(load.holders[0].function, 80)}".rstrip() if load.holders else ""


def holder_rows(gate: Gate) -> list[tuple[str, ...]]:
    """Who holds the time of loads that regressed: HOLDER_COLUMNS."""
    return [_holder(load, one) for load in gate.loads if load.search == NAMED for one in load.holders]


def _holder(load: Load, one: Holder) -> tuple[str, ...]:
    return (
        load.load,
        holder(one),
        one_line(one.function, 120) or "-",
        wording.us(one.new_ns, 1),
        wording.us(one.base_ns, 1),
        str(one.new_hits),
        str(one.base_hits),
    )


def holder(one: Holder) -> str:
    """Its cause in words."""
    return causes_text.name(Cause(one.kind, one.name))


def why_nobody(gate: Gate) -> list[str]:
    """Why a load that regressed names no function, or nobody."""
    unfollowed = [
        f"{load.load}: the latest wake-up was not followed: {one_line(load.unfollowed, 400)}"
        for load in gate.loads
        if load.unfollowed
    ]
    return unfollowed + [f"{load.load}: {_SEARCH[load.search]}" for load in gate.loads if load.search in _SEARCH]


def first_rows(gate: Gate) -> list[tuple[str, ...]]:
    """The first activations that differ: FIRST_COLUMNS. No rows without a base that was booted."""
    return [
        (load.load, str(seed.seed), *_difference(seed.first), *_difference(seed.first_beyond))
        for load in gate.loads
        for seed in load.seeds
        if seed.first is not None
    ]


def _difference(found: Difference | None) -> tuple[str, str, str]:
    return ("-", "-", "-") if found is None else (str(found.k), _latency(found.base_ns), _latency(found.new_ns))


def _latency(ns: int | None) -> str:
    return "missed" if ns is None else wording.us(ns, 1)


def verified_headline(found: Verified) -> str:
    """The answer of --verify in one line."""
    if found.same:
        return f"THE SAME BYTES: {called(found.kernel)}, {len(found.cells)} cells twice; {one_line(found.qemu, 120)}"
    parted = [cell for cell in found.cells if not cell.same]
    return f"NOT THE SAME BYTES in {len(parted)} of {len(found.cells)} cells: {called(found.kernel)}"


def pair(cell: BootPair) -> str:
    """Where two boots of one cell part."""
    where = f"{cell.load}, seed {cell.seed}"
    if cell.same:
        return f"{where}: the same {cell.bytes:,} bytes"
    activation = "no activation differs"
    if cell.first is not None:
        activation = (
            f"activation {cell.first.k}: {_latency(cell.first.base_ns)} us, then {_latency(cell.first.new_ns)} us"
        )
    return f"{where}: part at byte {cell.first_byte:,}; {activation}"

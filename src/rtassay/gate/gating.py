"""One gate from its plan to its result: boots, states, and who holds the time of loads that regressed."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rtassay.gate import functions, holders, judging, needs
from rtassay.gate.boots import Cell, Make, Measured
from rtassay.gate.kernels import Opened
from rtassay.gate.streams import first_difference
from rtassay.lab import following
from rtassay.lab.script import SHIFT
from rtassay.model.causes import Attribution
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.gate import (
    NAMED,
    NO_TRACE,
    NOTHING_LATER,
    REGRESSED,
    TOO_LATE,
    Boot,
    BootPair,
    Gate,
    HeldFunction,
    Load,
    Verified,
)

INTERVAL_NS = 997_000
COUNT = 5000
SEEDS = (1, 2, 3)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure. `interval_ns` has no common multiple with ticks, so that wake-ups meet them at every phase."""

    loads: tuple[str, ...]
    seeds: tuple[int, ...] = SEEDS
    count: int = COUNT
    interval_ns: int = INTERVAL_NS
    deadline_ns: int | None = None

    def cells(self, kernel: Opened, load: str) -> list[Cell]:
        return [Cell(kernel, load, seed, self.interval_ns, self.count) for seed in self.seeds]


@dataclass(frozen=True, slots=True)
class Tools:
    """What decides a result beside the kernels and the plan."""

    qemu: str
    programs: bytes
    probe: bytes


def left_out(plan: Plan, kernels: Sequence[Opened]) -> tuple[tuple[str, str], ...]:
    """Loads that a kernel cannot run, each with the option that the kernel lacks."""
    found = [(load, needs.lacked_by(load, kernel.options)) for kernel in kernels for load in plan.loads]
    return tuple(dict.fromkeys((load, option) for load, option in found if option is not None))


def require_one_arch(new: Opened, base: Opened | Gate | None) -> None:
    """Raises InputFileError for kernels of two architectures."""
    if base is not None and base.kernel.arch != new.kernel.arch:
        raise InputFileError(
            f"{new.kernel.name} is a kernel for {new.kernel.arch}, {base.kernel.name} one for {base.kernel.arch}",
            "their instructions are not the same work",
            "compare kernels of one architecture",
        )


def gate(new: Opened, base: Opened | Gate | None, plan: Plan, tools: Tools, make: Make) -> Gate:
    """Raises InputFileError for a base of another architecture or a saved one that was measured otherwise, BoardError if a boot fails."""
    require_one_arch(new, base)
    booted = base if isinstance(base, Opened) else None
    out = left_out(plan, [new] if booted is None else [new, booted])
    plan = replace(plan, loads=tuple(load for load in plan.loads if load not in dict(out)))
    if not plan.loads:
        raise UsageError("no load is left", "; ".join(f"{load} needs CONFIG_{option}" for load, option in out))
    result = _empty(new, base, plan, tools, out)
    saved = _saved(base, result) if isinstance(base, Gate) else {}
    wanted = [cell for load in plan.loads for kernel in (booted, new) if kernel for cell in plan.cells(kernel, load)]
    wanted = list(dict.fromkeys(wanted))
    made = dict(zip(wanted, make(wanted), strict=True))
    loads = []
    for load in plan.loads:
        seeds = []
        for cell in plan.cells(new, load):
            mine = made[cell]
            other = made[replace(cell, kernel=booted)] if booted else None
            before = other.boot(plan.deadline_ns) if other else saved.get((load, cell.seed))
            pair = (other.series, mine.series) if other else None
            seeds.append(judging.seed_of(cell.seed, mine.boot(plan.deadline_ns), before, pair))
        found = judging.load_of(load, seeds)
        if booted and found.state in (REGRESSED, TOO_LATE):
            cell = plan.cells(new, load)[0]
            found = _followed(found, cell, booted, tools.probe, make)
            found = found if found.functions else _searched(found, cell, booted, make)
        loads.append(found)
    return replace(result, loads=tuple(loads))


def _empty(new: Opened, base: Opened | Gate | None, plan: Plan, tools: Tools, out: tuple[tuple[str, str], ...]) -> Gate:
    return Gate(
        kernel=new.kernel,
        base=None if base is None else base.kernel,
        qemu=tools.qemu,
        userland_sha256=hashlib.sha256(tools.programs).hexdigest(),
        probe_sha256=hashlib.sha256(tools.probe).hexdigest(),
        ns_per_instruction=1 << SHIFT,
        interval_ns=plan.interval_ns,
        count=plan.count,
        deadline_ns=plan.deadline_ns,
        seeds=plan.seeds,
        loads=(),
        left_out=out,
    )


_MUST_AGREE: Mapping[str, Callable[[Gate], object]] = {
    "version of QEMU": lambda one: one.qemu,
    "userland": lambda one: one.userland_sha256,
    "rtprobe": lambda one: one.probe_sha256,
    "interval": lambda one: (one.interval_ns, one.count),
    "deadline": lambda one: one.deadline_ns,
}


def _saved(base: Gate, now: Gate) -> dict[tuple[str, int], Boot]:
    """The boots of a saved result by load and seed. Raises InputFileError where it was not measured as this one is."""
    unlike = [what for what, of in _MUST_AGREE.items() if of(base) != of(now)]
    if unlike:
        raise InputFileError(
            f"the saved base was measured with another {', '.join(unlike)}",
            "such results are not compared",
            "measure the base again: rtassay gate BASE --output FILE",
        )
    return {(load.load, seed.seed): seed.new for load in base.loads for seed in load.seeds}


def _followed(load: Load, cell: Cell, base: Opened, probe: bytes, make: Make) -> Load:
    """With the functions that hold the time of the latest wake-up, or why they are not known."""
    try:
        return replace(load, search=NAMED, functions=_functions(cell, base, probe, make))
    except BoardError as error:
        return replace(load, unfollowed=str(error))


def _functions(cell: Cell, base: Opened, probe: bytes, make: Make) -> tuple[HeldFunction, ...]:
    """Each kernel is booted twice with the same inputs: the first boot tells which wake-up is the latest, the second is followed to it.

    Raises BoardError where a kernel has no names, there is no compiler, this QEMU cannot follow, or no wake-up is later than those of the base.
    """
    if cell.kernel.kernel.arch not in needs.FOLLOWED:
        raise BoardError(not_followed(cell.kernel.kernel.arch))
    marker = following.marker_of(probe)
    if marker is None:
        raise BoardError("this rtprobe has no tracepoint")
    if shutil.which(following.COMPILER) is None:
        raise BoardError(f"there is no {following.COMPILER}, which compiles the plugin of QEMU")
    for kernel in (cell.kernel, base):
        if not kernel.named:
            raise BoardError(f"{kernel.kernel.name} lacks CONFIG_{needs.NAMES}, the names of its functions")
    cells = [replace(cell, kernel=kernel, symbols=True) for kernel in (cell.kernel, base)]
    first = make(cells)
    latest = [int(np.argmax(one.series.latency_ns)) for one in first]
    second = make([replace(one, follow=following.Follow(marker, hit)) for one, hit in zip(cells, latest, strict=True)])
    now, then = [functions.seen(*pair) for pair in zip(first, second, latest, strict=True)]
    new, before = (int(one.series.latency_ns[hit]) for one, hit in zip(first, latest, strict=True))
    found = functions.compared(now, then, new - before) if new > before else ()
    if not found:
        raise BoardError("with the names of its functions read, no wake-up is later than those of the base")
    return found


def not_followed(arch: str) -> str:
    """Why no function is followed on an architecture."""
    return f"QEMU's plugin follows kernels for {', '.join(needs.FOLLOWED)} only, since rtprobe has its tracepoint there, and this one is for {arch}"


def _searched(load: Load, cell: Cell, base: Opened, make: Make) -> Load:
    """With the holders. The base is traced first, for the latest wake-up that it has while it is traced; then both from there on."""
    if not (cell.kernel.traceable and base.traceable):
        return replace(load, search=NO_TRACE)
    traced = replace(cell, count=2 * cell.count, traced_above_ns=holders.NEVER_NS)
    (first,) = make([replace(traced, kernel=base)])
    level_ns = holders.level_ns(first.series)
    if not level_ns:
        return replace(load, search=NO_TRACE)
    traced = replace(traced, traced_above_ns=level_ns)
    new, before = make([traced, replace(traced, kernel=base)])
    late = _attributed(new)
    if not late:
        return replace(load, search=NOTHING_LATER)
    found = holders.compared(late, _attributed(before))
    return replace(load, search=NAMED if found else NOTHING_LATER, holders=found)


def _attributed(made: Measured) -> tuple[Attribution, ...]:
    return holders.attributions(made.events, realtime=made.series.realtime)


def verify(kernel: Opened, plan: Plan, tools: Tools, make: Make) -> Verified:
    """Every cell twice: where do two boots with the same inputs part?"""
    cells = [cell for load in plan.loads for cell in plan.cells(kernel, load)]
    first, second = make(cells), make(cells)
    found = tuple(_pair(cell, a, b) for cell, a, b in zip(cells, first, second, strict=True))
    return Verified(kernel.kernel, tools.qemu, found)


def _pair(cell: Cell, first: Measured, second: Measured) -> BootPair:
    one, other = first.stream, second.stream
    if one == other:
        return BootPair(cell.load, cell.seed, True, len(one))
    shorter = min(len(one), len(other))
    at = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    return BootPair(cell.load, cell.seed, False, len(one), at, first_difference(first.series, second.series))


def boots_of(plan: Plan, kernels: int) -> int:
    """Boots that a gate makes when nothing regresses."""
    return len(plan.loads) * len(plan.seeds) * kernels

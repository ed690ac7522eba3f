"""What the gate finds: a kernel in virtual time, alone or beside another one.

Its numbers are virtual: path lengths and sections that cannot be preempted, on one CPU. No state says that a deadline holds on a board.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

HONEST: Final = (
    "Virtual microseconds at 125 million instructions a second: path lengths and sections that cannot be preempted, on one CPU; "
    "no caches, DMA, SMP, firmware. Passing says nothing about your board."
)
"""The words of every report of the gate."""

IDLE: Final = "idle"
LOADS: Final = (IDLE, "builtin", "hackbench", "stress-ng", "dd", "forks", "mmap", "timers", "printk")
QUICK: Final = (IDLE, "hackbench", "stress-ng")

REGRESSED: Final = "regressed"
TOO_LATE: Final = "too-late"
NOT_REGRESSED: Final = "not-regressed"
MEASURED: Final = "measured"
NOT_COMPARED: Final = "not-compared"
STATES: Final = (REGRESSED, TOO_LATE, NOT_COMPARED, NOT_REGRESSED, MEASURED)
"""Of a load, the worst first. `regressed`: the tail grew by more than the threshold in every seed. `too-late`: the deadline is newly exceeded.
`not-compared`: the load did not run on one side. `measured`: there is nothing to compare with."""

NAMED: Final = "named"
NO_TRACE: Final = "no-trace"
NOTHING_LATER: Final = "nothing-later"
NOT_LOOKED_FOR: Final = "not-looked-for"
HOLDERS: Final = (NAMED, NO_TRACE, NOTHING_LATER, NOT_LOOKED_FOR)
"""What became of the search for who holds the time: `no-trace`: the kernel has no events. `nothing-later`: no traced wake-up was later than those
of the base. `not-looked-for`: the load did not regress, or there is no base kernel to boot."""


@dataclass(frozen=True, slots=True)
class GatedKernel:
    """A kernel as it was booted.

    `arch`: as Debian says it. `sha256`: of the image that QEMU got. `lacks`: options that its configuration lacks, and that the gate can do without; None: nobody knows it.
    """

    name: str
    release: str | None
    version: str | None
    sha256: str
    config_sha256: str | None
    lacks: tuple[str, ...] | None
    arch: str = "amd64"


@dataclass(frozen=True, slots=True)
class Boot:
    """One measurement of one kernel. Quantiles are nearest rank; `tail_ns` is the largest latency. `exceedances` None: no deadline was stated.

    `load_ran`: the load ran until the measurement ended. `stream_sha256`: of what rtprobe sent.
    """

    n: int
    missed: int
    p50_ns: int
    p99_ns: int
    p999_ns: int
    tail_ns: int
    exceedances: int | None
    load_ran: bool
    virtual_ns: int
    initrd_sha256: str
    stream_sha256: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Activation k in both streams. None: it was missed there."""

    k: int
    base_ns: int | None
    new_ns: int | None


@dataclass(frozen=True, slots=True)
class Seed:
    """One seed of one load.

    `allowed_ns`: the growth of the tail that a change without effect may show. `first`: the first activation that differs at all;
    `first_beyond`: the first one that is later than the tail of the base by more than `allowed_ns`.
    """

    seed: int
    new: Boot
    base: Boot | None = None
    growth_ns: int | None = None
    allowed_ns: int | None = None
    grown: bool | None = None
    newly_exceeded: bool | None = None
    first: Difference | None = None
    first_beyond: Difference | None = None


@dataclass(frozen=True, slots=True)
class Holder:
    """Who held the time of late wake-ups: a cause of `model.causes`, and the function where a stack names one.

    `new_ns`, `base_ns`: the most in one wake-up; `new_hits`, `base_hits`: late wake-ups with a part of it. Traced, with stacks.
    """

    kind: str
    name: str
    function: str
    new_ns: int
    base_ns: int
    new_hits: int
    base_hits: int


@dataclass(frozen=True, slots=True)
class HeldFunction:
    """A function that held the time of the latest wake-up, by the instructions that ran.

    `callers`: the nearest first, where it had most of its time. `with_callees`: the time counts what it called, too. `new_ns`, `base_ns`: in the
    latest wake-up of each kernel.
    """

    function: str
    callers: tuple[str, ...]
    with_callees: bool
    new_ns: int
    base_ns: int


@dataclass(frozen=True, slots=True)
class Load:
    """One load on both kernels.

    `search`: one of HOLDERS. `functions`: where the time went, instruction by instruction; the one under which most of the growth lies is the
    first. `unfollowed`: why that could not be seen. `holders`: then, by a trace, those that hold more time than before, the largest growth first.
    """

    load: str
    state: str
    seeds: tuple[Seed, ...]
    search: str = NOT_LOOKED_FOR
    functions: tuple[HeldFunction, ...] = ()
    unfollowed: str = ""
    holders: tuple[Holder, ...] = ()


@dataclass(frozen=True, slots=True)
class Gate:
    """The answer of `rtassay gate`. The same inputs give the same object: it holds no wall time.

    `userland_sha256`, `probe_sha256`, `qemu`: what decides the result beside the kernels. `left_out`: loads that a kernel cannot run, with the
    option it lacks.
    """

    kernel: GatedKernel
    base: GatedKernel | None
    qemu: str
    userland_sha256: str
    probe_sha256: str
    ns_per_instruction: int
    interval_ns: int
    count: int
    deadline_ns: int | None
    seeds: tuple[int, ...]
    loads: tuple[Load, ...]
    left_out: tuple[tuple[str, str], ...] = ()
    honest: str = HONEST
    schema: str = field(default="rtassay/gate/1")

    @property
    def state(self) -> str:
        """The worst of all loads; a load that was left out counts as not compared."""
        found = {load.state for load in self.loads} | ({NOT_COMPARED} if self.left_out or not self.loads else set())
        return next(state for state in STATES if state in found)


def gate_dict(gate: Gate) -> dict[str, Any]:
    """The JSON object, schema and state first."""
    data = asdict(gate)
    return {"schema": data.pop("schema"), "state": gate.state, **data}


@dataclass(frozen=True, slots=True)
class BootPair:
    """Two boots with the same inputs.

    `same`: byte for byte. Else where they differ first: the byte of the streams, and the activation, if one does.
    """

    load: str
    seed: int
    same: bool
    bytes: int
    first_byte: int | None = None
    first: Difference | None = None


@dataclass(frozen=True, slots=True)
class Verified:
    """The answer of `rtassay gate --verify`."""

    kernel: GatedKernel
    qemu: str
    cells: tuple[BootPair, ...]
    honest: str = HONEST
    schema: str = field(default="rtassay/gate-verify/1")

    @property
    def same(self) -> bool:
        """Whether all cells are."""
        return all(cell.same for cell in self.cells)


def verified_dict(verified: Verified) -> dict[str, Any]:
    """The JSON object, the schema first."""
    data = asdict(verified)
    return {"schema": data.pop("schema"), "same": verified.same, **data}

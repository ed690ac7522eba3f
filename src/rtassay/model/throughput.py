"""What two groups of runs get done of the same fixed works, and what latency each demonstrates: `rtassay throughput --json` (schema rtassay/throughput/1; docs/method/throughput.md).

A ratio of throughput is B / A: below 1, B gets less done. A ratio of D* is B / A: below 1, B demonstrates the shorter deadline.
"""

from __future__ import annotations

from dataclasses import dataclass

SLOWER, FASTER, NO_DIFFERENCE, NOT_COMPARED = "b_slower", "b_faster", "no_difference_shown", "not_compared"
CONCLUSIONS = (SLOWER, FASTER, NO_DIFFERENCE, NOT_COMPARED)


@dataclass(frozen=True, slots=True)
class Pace:
    """One part of a work in one group. `rate` in units of the part per second and `ns`, `cpu_ns` for its amount: geometric means over boots of the median round.

    `units`: how many values there are, boots, or runs where the boots are fewer than two; `sd`: standard deviation of ln of them (0.1 is about 10 %), None for one.
    """

    rate: float
    ns: int
    cpu_ns: int | None
    units: int
    runs: int
    rounds: int
    sd: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """B / A with its 95 % interval; `lo`, `hi` and `method` None with one value in a group."""

    ratio: float
    lo: float | None = None
    hi: float | None = None
    method: str | None = None


@dataclass(frozen=True, slots=True)
class PartRow:
    """One part of a work in both groups. `throughput`: work per second, B / A. `cpu`: CPU time for the same work, B / A."""

    work: str
    part: str
    amount: float
    unit: str
    a: Pace | None
    b: Pace | None
    throughput: Change | None = None
    cpu: Change | None = None


@dataclass(frozen=True, slots=True)
class WorkRow:
    """A work over its parts, geometric mean."""

    work: str
    throughput: Change


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """D* for `p` under one load, geometric mean over the group; `change`: B / A."""

    load: str
    p: float
    a_ns: int | None
    b_ns: int | None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class EnergyRow:
    """Energy of one round of a work in J, where the board tells its power: geometric mean over the group; `change`: energy for the same work, B / A."""

    work: str
    a_j: float | None
    b_j: float | None
    change: Change | None = None


@dataclass(frozen=True, slots=True)
class Throughput:
    """`b` None: one group alone. `total`: throughput B / A, geometric mean over works; the conclusion rests on it."""

    a: str
    b: str | None
    unit_of: str
    parts: tuple[PartRow, ...]
    works: tuple[WorkRow, ...]
    total: Change | None
    latency: tuple[LatencyRow, ...]
    conclusion: str
    sentence: str
    notes: tuple[str, ...] = ()
    energy: tuple[EnergyRow, ...] = ()
    schema: str = "rtassay/throughput/1"

"""Results that others published, as they were printed, and a recording beside them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One row of `published/results.csv`. All text is as printed; "" is what the source does not state. Latencies are in us.

    `verification`: how near to the original it was read (published/README.md).
    """

    id: str
    system: str
    cpu: str
    cores: str
    kernel: str
    preempt: str
    isolated: str
    load: str
    tool: str
    command: str
    interval_us: str
    duration: str
    samples: str
    min_us: str
    avg_us: str
    max_us: str
    stdev_us: str
    scope: str
    source: str
    locator: str
    verification: str
    notes: str


@dataclass(frozen=True, slots=True)
class PublishedCheck:
    """What a validity check found in published rows. `rows` are their ids; the message is one line."""

    id: str
    severity: str
    rows: tuple[str, ...]
    message: str


@dataclass(frozen=True, slots=True)
class AgainstRow:
    """One column of facts of the comparison, ready to print; `differs` names what is not the same as in the recording."""

    id: str
    system: str
    kernel: str
    load: str
    tool: str
    interval: str
    duration: str
    samples: str
    min_us: str
    avg_us: str
    max_us: str
    differs: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Against:
    """A recording and the published rows beside it. `asked`: the filter, for the heading."""

    asked: str
    own: AgainstRow
    rows: tuple[AgainstRow, ...]

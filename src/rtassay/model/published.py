"""Results that others published, as they were printed, and a recording beside them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One row of `published/results.csv`. Text is as printed; "" is what the source does not state. Latencies are in us.

    `verification`: how near to the original it was read (published/README.md). What the checks compute with was read from the text by hand:

    - `idle`: whether the source says that there was no load; None where it says nothing.
    - `duration_s`: seconds of the run, > 0; `duration_about`: the source gives them roughly.
    - `intervals_us`: the interval of each thread, first thread first.
    - `counted`: activations that the source counted, over the first `counted_lanes` threads.
    - `cpu_max_us`: the maximum of each CPU, where the source lists them.
    - `text_max_us`: a maximum in the source's text that differs from its table's (`max_us`).
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
    idle: bool | None = None
    duration_s: float | None = None
    duration_about: bool = False
    intervals_us: tuple[int, ...] = ()
    counted: int | None = None
    counted_lanes: int = 1
    cpu_max_us: tuple[float, ...] = ()
    text_max_us: float | None = None


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

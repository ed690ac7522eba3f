"""A recording in memory: the manifest and the small tables, without the samples.

Number columns are one-dimensional numpy int64 arrays, typed as `Any` here because the model imports the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rtassay.model.manifest import LaneEntry, Manifest
from rtassay.model.values import Value

if TYPE_CHECKING:
    # Few recordings have causes, and their classes take milliseconds to make.
    from rtassay.model.causes import Attribution


class Histogram(Value):
    """Counts of one lane: bin i holds `counts[i]` samples in [lower_ns[i], lower_ns[i] + width_ns[i]). Sorted, no empty bins.

    `over` samples lie above the last possible bin and are in no bin; `limit_ns` is where that begins, if the source has a limit.
    """

    lower_ns: Any
    width_ns: Any
    counts: Any
    over: int = 0
    under: int = 0
    limit_ns: int | None = None

    @property
    def total(self) -> int:
        """All samples, in bins or not."""
        return int(self.counts.sum()) + self.over + self.under


class Seconds(Value):
    """One-second rollups of one lane (columns of `seconds.parquet`); `second` counts from the run's origin."""

    second: Any
    n: Any
    missed: Any
    dropped: Any
    exceedances: Any
    min_ns: Any
    max_ns: Any
    sum_ns: Any
    wall_offset_ns: Any


@dataclass(frozen=True, slots=True, eq=False)
class Spills:
    """Samples of one lane that were kept one by one, as int64 columns of one length, in the order of rising `k`.

    Sample i was due at first_due_ns + k[i] * interval_ns of its lane, woke `latency_ns[i]` later, and `missed[i]` activations were
    due before that.
    """

    k: Any
    latency_ns: Any
    missed: Any

    def __len__(self) -> int:
        return len(self.k)

    def at(self, which: Any) -> Spills:
        """Those that `which` selects: a mask of as many truth values, or positions."""
        return Spills(self.k[which], self.latency_ns[which], self.missed[which])

    def rows(self) -> Iterator[tuple[int, int, int]]:
        """(k, latency_ns, missed) as plain integers, one sample after the other: for a few, since each costs an object."""
        return zip(self.k.tolist(), self.latency_ns.tolist(), self.missed.tolist(), strict=True)


@dataclass(frozen=True, slots=True, eq=False)
class GapTable:
    """Gaps that a busy lane found and that were kept one by one, as int64 columns of one length, in the order of their start on the probe's clock."""

    start_ns: Any
    length_ns: Any

    def __len__(self) -> int:
        return len(self.start_ns)


class EventRow(Value):
    """Something that happened at a moment, with its fields (STREAM.md, EVENT)."""

    kind: str
    lane: int | None
    mono_ns: int | None
    fields: dict[str, Any] = field(default_factory=dict)


class Series(Value):
    """One telemetry quantity over time on the probe's clock."""

    monitor: str
    name: str
    unit: str
    mono_ns: Any
    values: Any


class Message(Value):
    """A line of text that a monitor saw (a line of the kernel's log), at its own moment on the probe's clock."""

    monitor: str
    mono_ns: int
    text: str


class Lane(Value):
    """One lane with its tables.

    `spills`: the latest samples with their positions, as far as the source kept them; None where it kept none. `gaps`: of a busy lane. `jitter`: how often
    two consecutive runs lay so far from an interval apart; None where their order is not known.
    """

    entry: LaneEntry
    histogram: Histogram
    seconds: Seconds | None = None
    spills: Spills | None = None
    gaps: GapTable | None = None
    jitter: Histogram | None = None


class Recording(Value):
    """What analysis works on. `path` is where it lies, for messages and for the store.

    Of a traced run, `lanes` (and the manifest's lanes and end) are the untraced part, by which it is judged; `traced` is the rest.
    `causes`: the late wake-ups of the traced part and who owned their time.
    """

    manifest: Manifest
    lanes: tuple[Lane, ...]
    events: tuple[EventRow, ...] = ()
    telemetry: tuple[Series, ...] = ()
    messages: tuple[Message, ...] = ()
    path: str | None = None
    traced: tuple[Lane, ...] = ()
    causes: tuple[Attribution, ...] = ()

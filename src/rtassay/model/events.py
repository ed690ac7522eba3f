"""The events of a stream of any tool: parsers yield them, session and store consume them.

Arrays are one-dimensional numpy arrays (typed Any: the model imports the standard library only).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from rtassay.model.manifest import Damage


@dataclass(frozen=True, slots=True)
class Facts:
    """The first frame: what was asked and obtained (STREAM.md, FACTS)."""

    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Samples:
    """A block of one lane in order: latency_ns int64[n]; missed and dropped int64[n] lie between sample i and the next.

    `gap_missed` and `gap_dropped` lie before the first sample, whose activation index is `first_k`.
    """

    lane: int
    first_k: int
    latency_ns: Any
    missed: Any
    dropped: Any
    gap_missed: int = 0
    gap_dropped: int = 0


@dataclass(frozen=True, slots=True)
class Second:
    """Rollup of one lane and one second, with the running view for progress (None where the tool cannot tell)."""

    lane: int
    second: int
    n: int
    missed: int
    dropped: int
    exceedances: int
    min_ns: int
    max_ns: int
    sum_ns: int
    total_n: int
    max_so_far_ns: int
    p50_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None
    p99_99_ns: int | None = None
    wall_offset_ns: int | None = None


@dataclass(frozen=True, slots=True)
class Spill:
    """Samples kept one by one: columns k, latency_ns, missed; `suppressed` more were over the limit."""

    lane: int
    suppressed: int
    k: Any
    latency_ns: Any
    missed: Any


@dataclass(frozen=True, slots=True)
class Gaps:
    """Gaps that a busy lane found, kept one by one: columns start_ns, length_ns; `left_out` more were over the limit."""

    lane: int
    left_out: int
    start_ns: Any
    length_ns: Any


@dataclass(frozen=True, slots=True)
class HistogramPart:
    """Counts to add to a lane's histogram. `over` of a source with a limit at `limit_ns`. `traced`: from the traced part of a run."""

    lane: int
    lower_ns: Any
    width_ns: Any
    counts: Any
    over: int = 0
    limit_ns: int | None = None
    traced: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """An EVENT frame."""

    name: str
    lane: int | None
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class FileContent:
    """What a board file held at a moment (rtprobe watch). `content` None: unchanged since the last one of this path."""

    mono_ns: int
    path: str
    error: int
    content: bytes | None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Output:
    """What a guarded command wrote to fd 1 or 2."""

    mono_ns: int
    fd: int
    data: bytes


@dataclass(frozen=True, slots=True)
class TraceText:
    """A text of the board's tracefs (or /proc/kallsyms) that pages are decoded with; names in STREAM.md, "TRACE_TEXT"."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class TracePage:
    """A page of the trace ring of one CPU, as the kernel gave it."""

    cpu: int
    page: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The last frame: results and read-backs (STREAM.md, END)."""

    data: dict[str, Any]


class Parser(Protocol):
    """Bytes of a stream to events. Feed any pieces; finish once. Never raises on damaged input: it counts `damage`.

    A parser of a stream that cannot be damaged unseen derives from this class and leaves `damage` as it is.
    """

    @property
    def damage(self) -> Damage:
        """The losses in the bytes so far."""
        return Damage()

    def feed(self, data: bytes) -> list[Event]:
        """Events that these bytes complete."""
        ...

    def finish(self) -> list[Event]:
        """Events still held back at the end of the bytes."""
        ...


Event = (
    Facts | Samples | Second | Spill | Gaps | HistogramPart | Note | FileContent | Output | TraceText | TracePage | End
)

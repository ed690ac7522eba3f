"""What a run tells its caller (progress, a result or an error), and how the caller asks it to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.model.errors import EXIT_INTERRUPTED, RtassayError
from rtassay.model.events import Second
from rtassay.model.facts import LaneFacts
from rtassay.model.units import NS_PER_S


class Interrupted(RtassayError):
    """The run was stopped before there was anything to seal, or aborted by a second request (exit 130)."""

    exit_code = EXIT_INTERRUPTED


class StopRequest:
    """A request to stop, made from the event loop's thread (a signal handler of asyncio). The first ends the run in order, the second aborts it.

    `look`: the planned look that asked for it; None: a person did.
    """

    def __init__(self) -> None:
        self.look: int | None = None
        self.asked = asyncio.Event()
        self.aborted = asyncio.Event()

    def request(self) -> None:
        (self.aborted if self.asked.is_set() else self.asked).set()


@dataclass(frozen=True, slots=True)
class LaneProgress:
    """One lane so far. Times are None where the probe does not tell while it runs (cyclictest)."""

    lane: int
    cpu: int | None
    n: int
    missed: int
    dropped: int
    worst_ns: int | None
    p50_ns: int | None
    p99_ns: int | None
    p99_9_ns: int | None
    p99_99_ns: int | None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is. phase: inventory, load, warm-up, measure, collect, seal; set-up of one that another host prepares. `path` is the recording's, once there is one.

    `elapsed_ns` and `planned_ns` are those of the phase. Without `connected` the board goes on, and its data arrive later.
    """

    phase: str
    elapsed_ns: int = 0
    planned_ns: int | None = None
    lanes: tuple[LaneProgress, ...] = ()
    path: Path | None = None
    connected: bool = True

    @property
    def worst_ns(self) -> int | None:
        return max((lane.worst_ns for lane in self.lanes if lane.worst_ns is not None), default=None)

    @property
    def missed(self) -> int:
        return sum(lane.missed for lane in self.lanes)

    @property
    def dropped(self) -> int:
        return sum(lane.dropped for lane in self.lanes)


@dataclass(frozen=True, slots=True)
class RunResult:
    """A sealed recording at `path`. `stopped`: on request, before its planned end."""

    path: Path
    id: str
    end_reason: str
    stopped: bool


class LiveLanes:
    """Rollups of the lanes, kept for progress."""

    def __init__(self) -> None:
        self._cpus: dict[int, int | None] = {}
        self._last: dict[int, Second] = {}
        self._sums: dict[int, tuple[int, int]] = {}

    def start(self, lanes: Iterable[LaneFacts]) -> None:
        """`lanes`: those of FACTS."""
        self._cpus = {entry.lane or 0: entry.cpu for entry in lanes}

    def start_on(self, cpus: Sequence[int]) -> None:
        """One lane on each of these CPUs."""
        self._cpus = dict(enumerate(cpus))

    def add(self, second: Second) -> None:
        missed, dropped = self._sums.get(second.lane, (0, 0))
        self._sums[second.lane] = (missed + second.missed, dropped + second.dropped)
        self._last[second.lane] = second

    @property
    def measured_ns(self) -> int:
        """From the start of the lanes to the end of the newest second, by the board's clock."""
        return max((last.second + 1 for last in self._last.values()), default=0) * NS_PER_S

    def snapshot(self) -> tuple[LaneProgress, ...]:
        """Every lane that has told a second, in order."""
        return tuple(self._lane(lane) for lane in sorted(self._last))

    def _lane(self, lane: int) -> LaneProgress:
        last, (missed, dropped) = self._last[lane], self._sums[lane]
        return LaneProgress(
            lane=lane,
            cpu=self._cpus.get(lane),
            n=last.total_n,
            missed=missed,
            dropped=dropped,
            worst_ns=last.max_so_far_ns if last.total_n else None,
            p50_ns=last.p50_ns,
            p99_ns=last.p99_ns,
            p99_9_ns=last.p99_9_ns,
            p99_99_ns=last.p99_99_ns,
        )

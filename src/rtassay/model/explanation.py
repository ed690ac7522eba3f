"""Why threads of the user's own program ran late (schema rtassay/explanation/1). Times are integer ns."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from rtassay.model.causes import Attribution
from rtassay.model.ranking import Ranking

_REAL_TIME = ("fifo", "rr", "deadline")


@dataclass(frozen=True, slots=True)
class FollowedThread:
    """One thread: its delays from waking to running, exact, nearest rank; None without a wake-up.

    `late`: wake-ups at or above the level that have an attribution. `waited_ns`, `turns`: how long it waited for a CPU in all and how often it
    got one, by /proc/PID/task/TID/schedstat, preemptions included; None where the kernel does not tell. `minor_faults`, `major_faults`: page faults, without and with a wait for a disk. `gone`: it ended meanwhile.
    """

    lane: int
    name: str
    tid: int | None
    policy: str | None
    priority: int | None
    wake_ups: int
    min_ns: int | None
    p50_ns: int | None
    p99_ns: int | None
    max_ns: int | None
    late: int
    gone: bool
    waited_ns: int | None
    turns: int | None
    minor_faults: int | None = None
    major_faults: int | None = None

    @property
    def real_time(self) -> bool:
        """Whether its policy is one that comes before those of ordinary threads."""
        return self.policy in _REAL_TIME


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer of `rtassay explain`.

    `target`: `pid 123` or the name. `above_ns`: the level that was asked for; None: each thread's own. `end`: why it ended (`duration`,
    `signal`, `gone`: the process ended). `losses`: how often events of the wake-ups were lost, so that wake-ups are missing; `left_out`: threads
    beyond the limit. `late`: late wake-ups with their owners, the longest first. `ranking`: their causes; its run says why there is no trace.
    `ordinary_late`: those of `late` that are of threads without a real-time policy; where a real-time thread was late too, `ranking` leaves them out.
    """

    id: str
    board: str
    kernel: str | None
    target: str
    duration_ns: int | None
    above_ns: int | None
    end: str | None
    losses: int
    left_out: int
    threads: tuple[FollowedThread, ...]
    late: tuple[Attribution, ...]
    ranking: Ranking
    ordinary_late: int = 0
    schema: str = field(default="rtassay/explanation/1")

    @property
    def real_time_late(self) -> tuple[Attribution, ...]:
        """Those of `late` that are of real-time threads."""
        real = {thread.lane for thread in self.threads if thread.real_time}
        return tuple(one for one in self.late if one.hit.lane in real)

    @property
    def wake_ups(self) -> int:
        """Of all threads."""
        return sum(thread.wake_ups for thread in self.threads)

    @property
    def seen_late(self) -> int:
        """Late wake-ups, those without an attribution included."""
        return sum(run.hits or 0 for run in self.ranking.runs)

    def name_of(self, lane: int) -> str:
        """The thread of a lane."""
        return next((thread.name for thread in self.threads if thread.lane == lane), str(lane))


def explanation_dict(found: Explanation) -> dict[str, Any]:
    """The JSON object, the schema first. `late` has one object a late wake-up: its thread, its delay, its main cause and all parts."""
    data = asdict(found)
    late = [
        {"thread": found.name_of(one.hit.lane), "delay_ns": one.hit.latency_ns, **asdict(one)} for one in found.late
    ]
    return {
        "schema": data.pop("schema"),
        "answered": found.ranking.answered,
        "wake_ups": found.wake_ups,
        "seen_late": found.seen_late,
        **data,
        "late": late,
    }

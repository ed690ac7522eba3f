"""A work as a probe: its rounds are measured on the same path as wake-ups, so an experiment repeats it over boots and kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.model.events import End, Event, Facts, Note, Parser, Samples
from rtassay.model.manifest import Damage, Plan, Source
from rtassay.model.measures import work_measure
from rtassay.model.notes import RoundNote
from rtassay.model.units import format_cpu_list
from rtassay.model.views import view_of
from rtassay.probes.base import Probe

if TYPE_CHECKING:
    from rtassay.works.base import Part, Work

DEFAULT_DURATION_NS = 20_000_000_000
DEFAULT_WORK = "builtin"
_SETTINGS = ("arguments", "rounds")
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "truncated", "exceedances"))


class WorkProbe(Probe):
    """`work:NAME` (`work` alone: the built-in one): `rtprobe repeat --tell` does NAME again and again for the duration, on the CPUs of the plan; the round that is under way at the end may finish.

    Each part of the work has two lanes: the time of its fixed amount as the tool tells it (`work:NAME`), and its CPU time (`work-cpu:NAME`). Settings: `arguments` of the work, `rounds` after which the
    run ends earlier. The work runs as SCHED_OTHER: what real-time threads leave to others is what is asked for.
    """

    name = "work"
    program: str | None = None
    stream_file = "stream.work"
    late_policy = "unknown"
    own_threads = False

    def __init__(self, work: str | None = None) -> None:
        """`work`: a name of the room `works`; None: the built-in one. Raises UsageError for another one."""
        self.name = "work" if work is None else f"work:{work}"
        self.work: Work = rooms.load("works", DEFAULT_WORK if work is None else work)()
        self.needs = self.work.program

    def check(self, plan: Plan) -> None:
        """Raise UsageError for settings that a work does not have, arguments it cannot read, and what means nothing to it."""
        for setting in plan.settings:
            if setting not in _SETTINGS:
                raise UsageError(f"{self.name} has no setting '{setting}'", hint=f"it has {', '.join(_SETTINGS)}")
        if plan.deadline_ns is not None:
            raise UsageError(f"{self.name} has no deadline: it is no latency", hint="leave --deadline out")
        if plan.break_above_ns is not None or plan.trace_above_ns is not None:
            raise UsageError(f"{self.name} has no late wake-ups", hint="leave --break-above and --trace-above out")
        if plan.count is not None:
            raise UsageError(
                f"{self.name} counts rounds, not activations", hint="give it a --duration, or --set rounds=N"
            )
        _rounds(plan)
        self.work.parts(_argument(plan))

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        duration_ns = plan.duration_ns or DEFAULT_DURATION_NS
        bounds = ["--cpus", format_cpu_list(cpus), "--duration", f"{duration_ns}ns", "--rounds", str(_rounds(plan))]
        return [program, "repeat", "--tell", *bounds, "--", *self.work.command(_argument(plan), program)]

    def parser(self, plan: Plan) -> Parser:
        return WorkRounds(
            self.work, _argument(plan), {"requested": {"duration_ns": plan.duration_ns, "policy": "other"}}
        )

    def source(self, version: str | None) -> Source:
        return Source(self.name, version, "rtw/1", self.late_policy)


def _argument(plan: Plan) -> str | None:
    return plan.settings.get("arguments")


def _rounds(plan: Plan) -> int:
    """0: by the duration alone."""
    text = plan.settings.get("rounds", "0")
    if not text.isdigit() or len(text) > 6:
        raise UsageError(f"rounds={text} is no number from 0 to 999999")
    return int(text)


class WorkRounds(Parser):
    """The stream of `rtprobe repeat --tell` to samples: one of each lane for each round that ended and could be read whole."""

    def __init__(self, work: Work, argument: str | None, facts: dict[str, Any]) -> None:
        from rtassay.wire.stream import StreamParser

        self._stream = StreamParser()
        self._work = work
        self._argument = argument
        self._parts: tuple[Part, ...] = work.parts(argument)
        self._facts = facts
        self._told: dict[str, Any] | None = None
        self._end: dict[str, Any] | None = None
        self._rounds: list[list[int]] = []
        self._unread = 0

    @property
    def damage(self) -> Damage:
        return self._stream.damage

    def feed(self, data: bytes) -> list[Event]:
        self._take(self._stream.feed(data))
        return []

    def finish(self) -> list[Event]:
        """All events: FACTS tell how many rounds there were, so they wait for the end."""
        import numpy as np

        self._take(self._stream.finish())
        if self._told is None:
            return []
        columns = np.array(self._rounds, dtype=np.int64).reshape(-1, 2 * len(self._parts)).T
        nothing = np.zeros(len(self._rounds), np.int64)
        events: list[Event] = [Facts({**self._told, **self._facts, "lanes": self._lanes(), "work": self._amounts()})]
        if self._rounds:
            events += [Samples(lane, 0, column.copy(), nothing, nothing) for lane, column in enumerate(columns)]
        if self._end is not None:
            events.append(
                End({**self._end, "lanes": [self._account(lane, column) for lane, column in enumerate(columns)]})
            )
        return events

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, Facts):
                self._told = event.data
            elif isinstance(event, End):
                self._end = event.data
            elif isinstance(event, Note) and event.name == "round":
                self._round(view_of(RoundNote, event.data))

    def _round(self, told: RoundNote) -> None:
        done = {part.part: part for part in self._work.read(self._argument, told.output or "")}
        used = None if told.user_ns is None or told.system_ns is None else told.user_ns + told.system_ns
        took = None if told.mono_ns is None or told.started_ns is None else told.mono_ns - told.started_ns
        row: list[int] = []
        for part in self._parts:
            found = done.get(part.name)
            ns = None if found is None else found.ns if found.ns is not None else took
            cpu_ns = None if found is None else found.cpu_ns if found.cpu_ns is not None else used
            if ns is None or cpu_ns is None or not 0 < ns < 2**62 or not 0 <= cpu_ns < 2**62:
                self._unread += 1
                return
            row += [ns, cpu_ns]
        self._rounds.append(row)

    def _lanes(self) -> list[dict[str, Any]]:
        blank = {"cpu": None, "first_due_ns": None, "obtained": None}
        lanes: list[dict[str, Any]] = []
        for part in self._parts:
            for cpu in (False, True):
                name = part.name or self._work.name
                lanes.append(
                    {
                        "lane": len(lanes),
                        "name": f"{name} CPU time" if cpu else name,
                        "measure": work_measure(self._work.name, part.name, cpu=cpu),
                        **blank,
                    }
                )
        return lanes

    def _amounts(self) -> dict[str, Any]:
        return {
            "name": self._work.name,
            "argument": self._argument,
            "parts": [
                {"lane": 2 * at, "part": part.name, "amount": part.amount, "unit": part.unit}
                for at, part in enumerate(self._parts)
            ],
            "rounds": len(self._rounds),
            "unread": self._unread,
            "cut": (self._end or {}).get("cut"),
        }

    def _account(self, lane: int, column: Any) -> dict[str, Any]:
        n = len(column)
        least, most = (int(column.min()), int(column.max())) if n else (None, None)
        known = {"over": 0, "min_ns": least, "max_ns": most, "sum_ns": int(column.sum()) if n else None, "dropped": 0}
        return {"lane": lane, "n": n, **known, **_UNKNOWN}

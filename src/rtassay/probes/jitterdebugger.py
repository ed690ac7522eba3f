"""jitterdebugger as a live probe, on the same path as our own."""

from __future__ import annotations

from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.settings import DEFAULT_DURATION_NS, default
from rtassay.model.units import NS_PER_S, NS_PER_US, format_cpu_list
from rtassay.probes.base import Probe, count_ends_first
from rtassay.probes.whole_text import WholeText

_HIGHEST = 98
# It writes its result into a directory, as a file. A tmpfs in a mount namespace of its own goes away with it, however it ends.
_SCRIPT: Final = (
    "trap : INT TERM; mount -t tmpfs -o size=4m tmpfs /tmp || exit 3; "
    '"$@" -o /tmp >/dev/null; code=$?; cat /tmp/results.json; exit $code'
)


class JitterdebuggerProbe(Probe):
    """`jitterdebugger -i I -p P -a LIST -D S -o DIR`: one SCHED_FIFO thread per CPU, memory locked; its results.json is what is read.

    It keeps whole microseconds up to 1 ms and no order. After a late wake-up the activations that were due meanwhile run one after the
    other (late policy `catch_up`). It needs root, for its priority and for the directory that goes away with it.
    """

    name = "jitterdebugger"
    program: str | None = "jitterdebugger"
    stream_file = "stream.txt"
    late_policy = "catch_up"
    as_cyclictest = True

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what jitterdebugger cannot do."""
        if plan.settings:
            raise UsageError("jitterdebugger has no settings for --set")
        if plan.sleep is not None or plan.clock is not None:
            raise UsageError(
                "jitterdebugger has no --sleep and no --clock", hint="leave them out, or use the probe rtprobe"
            )
        if plan.trace_above_ns is not None:
            raise UsageError(
                "jitterdebugger keeps no trace of late samples", hint="--trace-above needs the probe rtprobe"
            )
        for what, value in (("interval", plan.interval_ns), ("--break-above", plan.break_above_ns)):
            if value is not None and (value % NS_PER_US or value <= 0):
                raise UsageError(f"jitterdebugger takes the {what} in whole microseconds", f"{value} ns asked for")
        if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
            raise UsageError(
                "jitterdebugger takes the duration in whole seconds", hint="use --count, or the probe rtprobe"
            )
        if plan.policy not in (None, "fifo"):
            raise UsageError(f"jitterdebugger has no policy '{plan.policy}'", hint="its threads run as SCHED_FIFO")
        if plan.priority is not None and not 1 <= plan.priority <= _HIGHEST:
            raise UsageError(f"priority {plan.priority} is not in 1..{_HIGHEST}, as jitterdebugger takes it")
        if plan.mlock is False:
            raise UsageError("jitterdebugger always locks its memory", hint="leave the option out")
        if plan.aligned:
            raise UsageError("jitterdebugger cannot start its threads at one moment", hint="leave --aligned out")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        argv = [program, "-i", str(_interval_ns(plan) // NS_PER_US), "-p", str(_priority(plan))]
        argv += ["-a", format_cpu_list(cpus)]
        if count_ends_first(plan):
            argv += ["-l", str(plan.count)]
        else:
            argv += ["-D", f"{(plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S}s"]
        if plan.break_above_ns is not None:
            argv += ["-b", str(plan.break_above_ns // NS_PER_US)]
        return ["unshare", "-m", "sh", "-c", _SCRIPT, "sh", *argv]

    def parser(self, plan: Plan) -> Parser:
        requested = {
            "policy": "fifo",
            "priority": _priority(plan),
            "interval_ns": _interval_ns(plan),
            "duration_ns": plan.duration_ns,
            "count": plan.count,
            "deadline_ns": plan.deadline_ns,
            "mlock": True,
            "break_above_ns": plan.break_above_ns,
            "cpus": list(plan.cpus or ()),
        }
        # Thread i runs on the i-th CPU of -a; the file does not say so.
        lanes = [
            {"lane": i, "name": str(i), "measure": WAKE_UP, "cpu": cpu, "interval_ns": _interval_ns(plan)}
            for i, cpu in enumerate(sorted(plan.cpus or ()))
        ]
        facts = {"probe": self.name, "requested": requested, "interval_ns": _interval_ns(plan), "lanes": lanes}
        return WholeText("jitterdebugger", facts)

    def source(self, version: str | None) -> Source:
        return Source(self.name, version, "jitterdebugger", self.late_policy)


def _priority(plan: Plan) -> int:
    return plan.priority or int(default("priority"))


def _interval_ns(plan: Plan) -> int:
    return int(default("interval") if plan.interval_ns is None else plan.interval_ns)

"""cyclicdeadline of rt-tests as a live probe, on the same path as our own."""

from __future__ import annotations

from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS, default
from rtassay.model.units import NS_PER_S, NS_PER_US
from rtassay.probes.base import Probe
from rtassay.probes.whole_text import WholeText

# Each thread gets 60 % of its interval as run time, and less than 2 ms need a feature of the scheduler that is off as a rule.
_LEAST_US: Final = 3334
# Its result goes into a file: here the stream, while what it prints goes where messages go. Small systems have no /dev/fd.
_SCRIPT: Final = 'exec "$@" --json=/proc/self/fd/3 3>&1 >&2'


class CyclicdeadlineProbe(Probe):
    """`cyclicdeadline -q -i I -s 0 -t N -D S --json=FILE`: one thread of SCHED_DEADLINE per measured CPU, each with 60 % of its interval as run time.

    The threads are not pinned: `--cpus` says how many there are. The result is minimum, average and maximum in whole microseconds. It needs root.
    """

    name = "cyclicdeadline"
    program: str | None = "cyclicdeadline"
    stream_file = "stream.txt"
    late_policy = "unknown"
    policy: str | None = "deadline"

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what cyclicdeadline cannot do."""
        if plan.settings:
            raise UsageError("cyclicdeadline has no settings for --set")
        if plan.sleep is not None or plan.clock is not None:
            raise UsageError(
                "cyclicdeadline has no --sleep and no --clock", hint="leave them out, or use the probe rtprobe"
            )
        if plan.trace_above_ns is not None or plan.break_above_ns is not None:
            raise UsageError(
                "cyclicdeadline runs to its end here, without a trace",
                hint="--trace-above and --break-above need the probe rtprobe",
            )
        if plan.count is not None:
            raise UsageError(
                "cyclicdeadline ends after a time, not after a number of samples", hint="give it a --duration"
            )
        if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
            raise UsageError("cyclicdeadline takes the duration in whole seconds")
        interval_ns = default("interval") if plan.interval_ns is None else plan.interval_ns
        if interval_ns % NS_PER_US or interval_ns < _LEAST_US * NS_PER_US:
            raise UsageError(
                "cyclicdeadline needs an interval of 3334us or more, in whole microseconds",
                "it gives each thread 60 % of it as run time, and the kernel takes no less than 2 ms",
                "--interval 5ms",
            )
        if plan.policy not in (None, "deadline"):
            raise UsageError(f"cyclicdeadline has no policy '{plan.policy}'", hint="its threads run as SCHED_DEADLINE")
        if plan.mlock is False:
            raise UsageError("cyclicdeadline always locks its memory", hint="leave the option out")
        if plan.aligned:
            raise UsageError("cyclicdeadline cannot start its threads at one moment", hint="leave --aligned out")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        interval_us = int(default("interval") if plan.interval_ns is None else plan.interval_ns) // NS_PER_US
        argv = [program, "-q", "-i", str(interval_us), "-s", "0", "-t", str(len(cpus))]
        return ["sh", "-c", _SCRIPT, "sh", *argv, "-D", str((plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S)]

    def parser(self, plan: Plan) -> Parser:
        requested = {
            "policy": "deadline",
            "priority": 0,
            "interval_ns": plan.interval_ns,
            "duration_ns": plan.duration_ns,
            "deadline_ns": plan.deadline_ns,
            "mlock": True,
        }
        return WholeText(self.name, {"probe": self.name, "requested": requested, "interval_ns": plan.interval_ns})

    def source(self, version: str | None) -> Source:
        return Source(self.name, version, self.name, self.late_policy)

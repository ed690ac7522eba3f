"""oslat of rt-tests as a live probe, on the same path as our own."""

from __future__ import annotations

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.measures import STALL
from rtassay.model.settings import DEFAULT_DURATION_NS
from rtassay.model.units import NS_PER_S, format_cpu_list
from rtassay.probes.base import Probe
from rtassay.probes.whole_text import WholeText

_BUCKETS = 1024


class OslatProbe(Probe):
    """`oslat -q -b 1024 -c LIST -D S [-f P]`: a busy loop per CPU; every gap between two readings of the cycle counter is a sample of the measure `stall`.

    Gaps of 1 us to 1 ms stand in buckets of 1 us, longer ones are counted above them. The loop runs as SCHED_OTHER unless a priority is asked
    for: with one, nothing of a lower priority runs on its CPUs for the whole time.
    """

    name = "oslat"
    program: str | None = "oslat"
    stream_file = "stream.txt"
    late_policy = "unknown"
    own_threads = False  # there are no activations, so no interval

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what oslat cannot do."""
        if plan.settings:
            raise UsageError("oslat has no settings for --set")
        if plan.sleep is not None or plan.clock is not None:
            raise UsageError("oslat has no --sleep and no --clock", hint="leave them out, or use the probe rtprobe")
        if plan.trace_above_ns is not None:
            raise UsageError("oslat keeps no trace of late samples", hint="--trace-above needs the probe rtprobe")
        if plan.count is not None:
            raise UsageError("oslat counts turns of a loop, not activations", hint="give it a --duration")
        if plan.break_above_ns is not None:
            raise UsageError("oslat that stops at a threshold prints no result", hint="leave --break-above out")
        if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
            raise UsageError("oslat takes the duration in whole seconds")
        if plan.policy not in (None, "fifo", "other"):
            raise UsageError(f"oslat has no policy '{plan.policy}'", hint="fifo or other")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        seconds = (plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S
        argv = [program, "-q", "-b", str(_BUCKETS), "-c", format_cpu_list(cpus), "-D", str(seconds)]
        return [*argv, "-f", str(plan.priority)] if plan.priority else argv

    def parser(self, plan: Plan) -> Parser:
        policy = "fifo" if plan.priority else "other"
        requested = {
            "policy": policy,
            "priority": plan.priority or 0,
            "duration_ns": plan.duration_ns,
            "deadline_ns": plan.deadline_ns,
            "cpus": list(plan.cpus or ()),
        }
        lanes = [
            {"lane": i, "name": f"cpu{cpu}", "measure": STALL, "cpu": cpu}
            for i, cpu in enumerate(sorted(plan.cpus or ()))
        ]
        return WholeText("oslat", {"probe": self.name, "requested": requested, "lanes": lanes})

    def source(self, version: str | None) -> Source:
        return Source(self.name, version, "oslat", self.late_policy)

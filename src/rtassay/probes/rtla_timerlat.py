"""rtla timerlat as a live probe, on the same path as our own."""

from __future__ import annotations

from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS, default
from rtassay.model.units import NS_PER_S, NS_PER_US, format_cpu_list
from rtassay.probes.base import Probe
from rtassay.probes.kernel_tracer import refuse_what_rtla_lacks, script
from rtassay.probes.whole_text import WholeText

_ENTRIES: Final = 10_000
# rtla refuses more.
_ENTRIES_MOST: Final = 9_999_998
# What the kernel's tracer takes.
_INTERVAL_LEAST_US, _INTERVAL_MOST_US = 100, 1_000_000


class RtlaTimerlatProbe(Probe):
    """`rtla timerlat hist -p I -b 1 -E N -c LIST -d S -P f:P [--dma-latency US]`: per CPU the latency of the timer's interrupt and of the kernel's thread.

    It keeps whole microseconds and no order. After a late wake-up the tracer skips the activations that were due meanwhile, and does not
    count them (late policy `skip`). It needs root and a kernel with the tracer timerlat. The histogram reaches 10 ms, or twice the deadline.
    """

    name = "rtla-timerlat"
    program: str | None = "rtla"
    stream_file = "stream.txt"
    late_policy = "skip"

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what rtla timerlat cannot do."""
        refuse_what_rtla_lacks("rtla timerlat", plan)
        interval_ns = plan.interval_ns
        if interval_ns is not None and not (
            interval_ns % NS_PER_US == 0 and _INTERVAL_LEAST_US <= interval_ns // NS_PER_US <= _INTERVAL_MOST_US
        ):
            raise UsageError(
                "rtla timerlat takes the interval in whole microseconds, 100us to 1s", f"{interval_ns} ns asked for"
            )
        if plan.policy not in (None, "fifo", "rr"):
            raise UsageError(f"rtla timerlat has no policy '{plan.policy}' here", hint="fifo or rr")
        if plan.aligned:
            raise UsageError("rtla timerlat cannot start its threads at one moment", hint="leave --aligned out")
        if plan.deadline_ns is not None and 2 * plan.deadline_ns > _ENTRIES_MOST * NS_PER_US:
            raise UsageError("the histogram of rtla timerlat ends at 9.9 s", "twice the deadline lies beyond it")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        policy = "r" if plan.policy == "rr" else "f"
        argv = [program, "timerlat", "hist", "-p", str(_interval_us(plan)), "-b", "1", "-E", str(_entries(plan))]
        argv += ["-c", format_cpu_list(cpus), "-d", f"{(plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S}s"]
        argv += ["-P", f"{policy}:{plan.priority or default('priority')}"]
        argv += [] if plan.dma_latency_us is None else ["--dma-latency", str(plan.dma_latency_us)]
        return script("timerlat", "timerlat_hist", argv)

    def parser(self, plan: Plan) -> Parser:
        interval_ns = _interval_us(plan) * NS_PER_US
        requested = {
            "policy": plan.policy or "fifo",
            "priority": plan.priority or default("priority"),
            "interval_ns": interval_ns,
            "duration_ns": plan.duration_ns,
            "deadline_ns": plan.deadline_ns,
            "cpus": list(plan.cpus or ()),
        }
        return WholeText(self.name, {"probe": self.name, "requested": requested, "interval_ns": interval_ns})

    def source(self, version: str | None) -> Source:
        return Source("rtla timerlat", version, self.name, self.late_policy)


def _interval_us(plan: Plan) -> int:
    return int(default("interval") if plan.interval_ns is None else plan.interval_ns) // NS_PER_US


def _entries(plan: Plan) -> int:
    return max(_ENTRIES, -(-2 * (plan.deadline_ns or 0) // NS_PER_US))

"""rtla osnoise as a live probe, on the same path as our own."""

from __future__ import annotations

from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS
from rtassay.model.units import NS_PER_S, format_cpu_list
from rtassay.probes.base import Probe
from rtassay.probes.kernel_tracer import refuse_what_rtla_lacks, script
from rtassay.probes.whole_text import WholeText

_PERIOD_US: Final = 1_000_000
# With a priority its threads would leave nothing of their CPUs to the board.
_RUNTIME_RT_US: Final = 950_000
_ENTRIES: Final = 100_000


class RtlaOsnoiseProbe(Probe):
    """`rtla osnoise hist -p 1000000 -r R -b 1 -E 100000 -c LIST -d S [-P f:P]`: a busy thread of the kernel per CPU; every gap of 5 us or more is a sample of the measure `noise`.

    Its threads are ordinary ones unless a priority is asked for; then they look at 0.95 s of each second. It keeps whole microseconds and no
    order, and needs root and a kernel with the tracer osnoise.
    """

    name = "rtla-osnoise"
    program: str | None = "rtla"
    stream_file = "stream.txt"
    late_policy = "unknown"
    own_threads = False  # there are no activations, so no interval

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what rtla osnoise cannot do."""
        refuse_what_rtla_lacks("rtla osnoise", plan)
        if plan.policy not in (None, "fifo", "rr", "other"):
            raise UsageError(f"rtla osnoise has no policy '{plan.policy}' here", hint="fifo, rr or other")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        runtime_us = _RUNTIME_RT_US if plan.priority else _PERIOD_US
        argv = [
            program,
            "osnoise",
            "hist",
            "-p",
            str(_PERIOD_US),
            "-r",
            str(runtime_us),
            "-b",
            "1",
            "-E",
            str(_ENTRIES),
        ]
        argv += ["-c", format_cpu_list(cpus), "-d", f"{(plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S}s"]
        if plan.priority:
            argv += ["-P", f"{'r' if plan.policy == 'rr' else 'f'}:{plan.priority}"]
        return script("osnoise", "osnoise_hist", argv)

    def parser(self, plan: Plan) -> Parser:
        requested = {
            "policy": (plan.policy or "fifo") if plan.priority else "other",
            "priority": plan.priority or 0,
            "duration_ns": plan.duration_ns,
            "deadline_ns": plan.deadline_ns,
            "cpus": list(plan.cpus or ()),
        }
        return WholeText(self.name, {"probe": self.name, "requested": requested})

    def source(self, version: str | None) -> Source:
        return Source("rtla osnoise", version, self.name, self.late_policy)

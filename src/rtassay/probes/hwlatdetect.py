"""hwlatdetect of rt-tests as a live probe, on the same path as our own."""

from __future__ import annotations

from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS
from rtassay.model.units import NS_PER_S, format_cpu_list
from rtassay.probes.base import Probe
from rtassay.probes.kernel_tracer import script
from rtassay.probes.whole_text import WholeText

# It makes no trace instance: it takes the kernel's own one.
_NO_INSTANCE: Final = "hwlat_detect"


class HwlatdetectProbe(Probe):
    """`hwlatdetect --duration=S --threshold=10us --window=1s --width=500ms --cpu-list=LIST`: gaps in a loop of the kernel with interrupts off, half of each second.

    One thread goes from CPU to CPU; which one had a gap is not told. It needs root, Python on the board, and a kernel with the tracer
    hwlat. Beside it no other tracer of the kernel should run: it takes the trace of the whole kernel, which is put back afterwards.
    """

    name = "hwlatdetect"
    program: str | None = "hwlatdetect"
    stream_file = "stream.txt"
    late_policy = "unknown"
    own_threads = False  # windows of a second, no activations

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what hwlatdetect cannot do."""
        if plan.settings:
            raise UsageError(
                "hwlatdetect has no settings for --set", hint="--probe hwlat has --set threshold and width"
            )
        if plan.sleep is not None or plan.clock is not None:
            raise UsageError(
                "hwlatdetect has no --sleep and no --clock", hint="leave them out, or use the probe rtprobe"
            )
        if plan.trace_above_ns is not None or plan.break_above_ns is not None:
            raise UsageError(
                "hwlatdetect runs to its end, without a trace", hint="leave --trace-above and --break-above out"
            )
        if plan.count is not None:
            raise UsageError(
                "hwlatdetect ends after a time, not after a number of samples", hint="give it a --duration"
            )
        if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
            raise UsageError("hwlatdetect takes the duration in whole seconds")
        if plan.priority or plan.policy not in (None, "other"):
            raise UsageError("hwlatdetect has no policy and no priority: interrupts are off", hint="leave them out")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        seconds = (plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S
        argv = [program, f"--duration={seconds}", "--threshold=10us", "--window=1000000us", "--width=500000us"]
        return script("hwlat", _NO_INSTANCE, [*argv, f"--cpu-list={format_cpu_list(cpus)}"])

    def parser(self, plan: Plan) -> Parser:
        requested = {
            "duration_ns": plan.duration_ns,
            "deadline_ns": plan.deadline_ns,
            "cpus": list(plan.cpus or ()),
        }
        return WholeText(self.name, {"probe": self.name, "requested": requested})

    def source(self, version: str | None) -> Source:
        return Source(self.name, version, self.name, self.late_policy)

"""rteval as a live probe, on the same path as our own: cyclictest under the loads that rteval brings along."""

from __future__ import annotations

from typing import Final

from rtassay.model import foreign
from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS, default
from rtassay.model.units import NS_PER_S, NS_PER_US, format_cpu_list
from rtassay.probes.base import Probe
from rtassay.probes.whole_text import WholeText

# rteval leaves all statistics out of its report if one latency lies beyond its last bucket.
_BUCKETS, _BUCKETS_MOST = 200_000, 1_000_000
_HIGHEST: Final = 98
_CONFIG: Final = "config"
# Its report is a file, and its loads are built beside it (a kernel: gigabytes). All of it goes away, however rteval ends.
_SCRIPT: Final = """
d=$(mktemp -d) || exit 3
trap : INT TERM HUP
"$@" --workdir="$d" >&2
code=$?
for f in "$d"/rteval-*/summary.xml; do [ ! -f "$f" ] || cat "$f"; done
rm -rf "$d"
exit $code
"""


class RtevalProbe(Probe):
    """`rteval --duration=S --measurement-cpulist=LIST --cyclictest-interval=I --cyclictest-priority=P --cyclictest-buckets=N [-f FILE]`: its summary.xml is what is read.

    The loads are rteval's own, by its configuration on the board or by that of `--set config=FILE`; they run on all CPUs. Another load beside them is refused. It
    keeps whole microseconds and no order, and needs root.
    """

    name = "rteval"
    program: str | None = "rteval"
    stream_file = "stream.txt"
    late_policy = "skip"
    beyond_ns: int = 300 * NS_PER_S  # it unpacks and configures a kernel before it measures

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what rteval cannot do."""
        if unknown := set(plan.settings) - {_CONFIG}:
            raise UsageError(
                f"rteval has no setting '{min(unknown)}'", hint=f"--set {_CONFIG}=FILE, a file of the board"
            )
        config = _config(plan)
        if config is not None and not foreign.is_path(config):
            raise UsageError(f"--set {_CONFIG}={config}: not the absolute path of a file of the board")
        if (plan.loads or (plan.load,)) != ("none",):
            raise UsageError("rteval brings its own loads", f"{plan.load} would run beside them", "--load none")
        if plan.sleep is not None or plan.clock is not None:
            raise UsageError("rteval has no --sleep and no --clock", hint="leave them out, or use the probe rtprobe")
        if plan.trace_above_ns is not None or plan.break_above_ns is not None:
            raise UsageError(
                "rteval runs to its end here", hint="--trace-above and --break-above need the probe rtprobe"
            )
        if plan.count is not None:
            raise UsageError("rteval ends after a time, not after a number of samples", hint="give it a --duration")
        if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
            raise UsageError("rteval takes the duration in whole seconds")
        if plan.interval_ns is not None and (plan.interval_ns % NS_PER_US or plan.interval_ns <= 0):
            raise UsageError("rteval takes the interval in whole microseconds", f"{plan.interval_ns} ns asked for")
        if plan.policy not in (None, "fifo"):
            raise UsageError(f"rteval has no policy '{plan.policy}'", hint="its threads run as SCHED_FIFO")
        if plan.priority is not None and not 1 <= plan.priority <= _HIGHEST:
            raise UsageError(f"priority {plan.priority} is not in 1..{_HIGHEST}, as rteval takes it")
        if plan.mlock is False or plan.aligned:
            raise UsageError(
                "rteval always locks its memory, and does not align its threads", hint="leave the option out"
            )
        if plan.deadline_ns is not None and plan.deadline_ns > _BUCKETS_MOST * NS_PER_US:
            raise UsageError("the histogram of rteval ends at 1 s", "the deadline lies beyond it")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        argv = [program, f"--duration={(plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S}"]
        argv += [f"--measurement-cpulist={format_cpu_list(cpus)}", f"--cyclictest-interval={_interval_us(plan)}"]
        argv += [f"--cyclictest-priority={_priority(plan)}", f"--cyclictest-buckets={_buckets(plan)}"]
        config = _config(plan)
        return ["sh", "-c", _SCRIPT, "sh", *argv, *([] if config is None else ["-f", config])]

    def parser(self, plan: Plan) -> Parser:
        interval_ns = _interval_us(plan) * NS_PER_US
        requested = {
            "policy": "fifo",
            "priority": _priority(plan),
            "interval_ns": interval_ns,
            "duration_ns": plan.duration_ns,
            "deadline_ns": plan.deadline_ns,
            "mlock": True,
            "cpus": list(plan.cpus or ()),
        }
        return WholeText(self.name, {"probe": self.name, "requested": requested, "interval_ns": interval_ns})

    def source(self, version: str | None) -> Source:
        return Source("rteval cyclictest", version, self.name, self.late_policy)


def _config(plan: Plan) -> str | None:
    return plan.settings.get(_CONFIG)


def _interval_us(plan: Plan) -> int:
    return int(default("interval") if plan.interval_ns is None else plan.interval_ns) // NS_PER_US


def _priority(plan: Plan) -> int:
    return plan.priority or int(default("priority"))


def _buckets(plan: Plan) -> int:
    return min(_BUCKETS_MOST, max(_BUCKETS, -(-2 * (plan.deadline_ns or 0) // NS_PER_US)))

"""cyclictest of rt-tests as a live probe, on the same path as our own probe."""

from __future__ import annotations

from fractions import Fraction

from rtassay.model.cyclictest import CLOCKS, SLEEPS
from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS, default
from rtassay.model.units import NS_PER_S, NS_PER_US, format_cpu_list
from rtassay.probes import cyclictest_verbatim
from rtassay.probes.base import Probe, count_ends_first
from rtassay.probes.cyclictest_text import CyclictestText

_LIMIT_US = 10_000
# cyclictest refuses a larger -h.
_LIMIT_MOST_US = 1_000_000


class CyclictestProbe(Probe):
    """`cyclictest -q -m -p P -i I -h H -a LIST -t N -D S`: one thread per CPU, all with the same interval (because of -h).

    It keeps whole microseconds and no order. After a late wake-up it skips the activations that were due meanwhile, and does not
    count them (late policy `skip`): `missed` and `due` are unknown, never 0. The histogram reaches 10 ms, or twice the deadline.
    """

    name = "cyclictest"
    program: str | None = "cyclictest"
    stream_file = "stream.txt"
    late_policy = "skip"
    as_cyclictest = True

    def check(self, plan: Plan) -> None:
        """Raise UsageError for what cyclictest cannot do: parts of a microsecond, parts of a second."""
        if plan.settings:
            raise UsageError("cyclictest has no settings for --set", hint="its own options: --cyclictest-line")
        if plan.trace_above_ns is not None:
            raise UsageError("cyclictest keeps no trace of late samples", hint="--trace-above needs the probe rtprobe")
        if plan.cyclictest_line is not None:
            return
        for what, value in (("interval", plan.interval_ns), ("--break-above", plan.break_above_ns)):
            if value is not None and (value % NS_PER_US or value <= 0):
                raise UsageError(f"cyclictest takes the {what} in whole microseconds", f"{value} ns asked for")
        if plan.duration_ns is not None and (plan.duration_ns % NS_PER_S or plan.duration_ns <= 0):
            raise UsageError("cyclictest takes the duration in whole seconds", hint="use --count, or the probe rtprobe")
        if plan.policy not in (None, "fifo", "rr", "other"):
            raise UsageError(f"cyclictest has no policy '{plan.policy}'", hint="fifo, rr or other")
        if plan.policy == "other" and plan.priority:
            raise UsageError("policy other has no priority", hint="leave --priority out, or ask for fifo")
        if plan.sleep not in (None, *SLEEPS):
            raise UsageError(
                f"cyclictest has no --sleep {plan.sleep}", hint=f"{' or '.join(SLEEPS)}, or the probe rtprobe"
            )
        if plan.clock not in (None, *CLOCKS):
            raise UsageError(
                f"cyclictest has no --clock {plan.clock}", hint=f"{' or '.join(CLOCKS)}, or the probe rtprobe"
            )
        if plan.priority is not None and not 0 <= plan.priority <= 99:
            raise UsageError(f"priority {plan.priority} is not in 1..99")
        if plan.deadline_ns is not None and plan.deadline_ns > _LIMIT_MOST_US * NS_PER_US:
            raise UsageError("cyclictest's histogram ends at 1 s", "the deadline lies beyond it")

    def of_line(self, plan: Plan, line: str, scale: Fraction = Fraction(1)) -> tuple[Plan, tuple[str, ...]]:
        """`plan` changed to measure exactly this line, with loops and duration times `scale`; and the dropped options, in words."""
        return cyclictest_verbatim.of_line(plan, line, scale)

    def doubts(self, plan: Plan) -> tuple[tuple[str, str], ...]:
        """(id of a check, words) for each known weakness of the plan's line, before the run."""
        return () if plan.cyclictest_line is None else cyclictest_verbatim.doubts(plan.cyclictest_line)

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        if plan.cyclictest_line is not None:
            return cyclictest_verbatim.board_argv(plan.cyclictest_line, program)
        argv = [program, "-q"]
        if plan.mlock is not False:
            argv.append("-m")
        if plan.policy == "other":
            argv.append("--policy=other")
        else:
            argv += ["-p", str(plan.priority or default("priority"))]
            argv += ["--policy=rr"] if plan.policy == "rr" else []
        argv += ["-i", str(_interval_us(plan)), "-h", str(_limit_us(plan))]
        argv += ["-a", format_cpu_list(cpus), "-t", str(len(cpus))]
        if count_ends_first(plan):
            argv += ["-l", str(plan.count)]
        else:
            argv += ["-D", f"{(plan.duration_ns or DEFAULT_DURATION_NS) // NS_PER_S}s"]
        if plan.break_above_ns is not None:
            argv += ["-b", str(plan.break_above_ns // NS_PER_US)]
        argv += [*SLEEPS[plan.sleep or default("sleep")], *CLOCKS[plan.clock or default("clock")]]
        if plan.aligned:
            argv.append("--aligned=0")
        argv.append("--default-system" if plan.dma_latency_us is None else f"--latency={plan.dma_latency_us}")
        return argv

    def parser(self, plan: Plan) -> Parser:
        if plan.cyclictest_line is not None:
            return cyclictest_verbatim.parser(plan)
        policy = plan.policy or "fifo"
        requested = {
            "policy": policy,
            "priority": 0 if policy == "other" else plan.priority or default("priority"),
            "interval_ns": _interval_us(plan) * NS_PER_US,
            "duration_ns": plan.duration_ns,
            "count": plan.count,
            "deadline_ns": plan.deadline_ns,
            "aligned": bool(plan.aligned),
            "mlock": plan.mlock is not False,
            "break_above_ns": plan.break_above_ns,
            "cpus": list(plan.cpus or ()),
        }
        # Thread i runs on the i-th CPU of -a; cyclictest's text does not say so.
        lanes = [{"lane": i, "name": str(i), "cpu": cpu} for i, cpu in enumerate(sorted(plan.cpus or ()))]
        facts = {"requested": requested, "interval_ns": requested["interval_ns"], "lanes": lanes}
        return CyclictestText(facts)

    def source(self, version: str | None) -> Source:
        return Source("cyclictest", version, "cyclictest-text", self.late_policy)


def _interval_us(plan: Plan) -> int:
    return (default("interval") if plan.interval_ns is None else plan.interval_ns) // NS_PER_US


def _limit_us(plan: Plan) -> int:
    deadline_us = -(-(plan.deadline_ns or 0) // NS_PER_US)
    return min(_LIMIT_MOST_US, max(_LIMIT_US, 2 * deadline_us))

"""rtprobe, our own probe: every activation counted, exact nanoseconds, the account closed by the clock."""

from __future__ import annotations

from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan, Source
from rtassay.model.units import NS_PER_US, format_cpu_list
from rtassay.probes.base import Parser, count_ends_first

POLICIES = ("fifo", "rr", "other")
_INTERVAL_LEAST_NS = 10 * NS_PER_US


class RtprobeProbe:
    """`rtprobe cyclic`. Where the plan asks for no policy it may fall back to what the board permits, and says so (FACTS).

    It is not `--attached` itself: it runs under an attached guard, which gives it no stdin and ends it.
    """

    name = "rtprobe"
    program: str | None = None
    stream_file = "stream.rtw"
    late_policy = "counted"

    def check(self, plan: Plan) -> None:
        """Raise UsageError for a plan rtprobe would refuse, before anything is started."""
        if plan.policy is not None and plan.policy not in POLICIES:
            raise UsageError(f"there is no policy '{plan.policy}'", hint=", ".join(POLICIES))
        if plan.policy == "other" and plan.priority:
            raise UsageError("policy other has no priority", hint="leave --priority out, or ask for fifo")
        if plan.policy != "other" and plan.priority is not None and not 1 <= plan.priority <= 99:
            raise UsageError(f"priority {plan.priority} is not in 1..99")
        if plan.interval_ns is not None and plan.interval_ns < _INTERVAL_LEAST_NS:
            raise UsageError(f"an interval of {plan.interval_ns} ns is too short", hint="10us at least")
        for what, value in (
            ("duration", plan.duration_ns),
            ("count", plan.count),
            ("deadline", plan.deadline_ns),
            ("--break-above", plan.break_above_ns),
        ):
            if value is not None and value <= 0:
                raise UsageError(f"the {what} must be more than 0", f"{value} asked for")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        argv = [program, "cyclic", "--cpus", format_cpu_list(cpus)]
        if plan.policy is None and plan.priority is None:
            argv.append("--fallback")
        if plan.policy is not None:
            argv += ["--policy", plan.policy]
        if plan.priority is not None and plan.policy != "other":
            argv += ["--priority", str(plan.priority)]
        if plan.priority == 1 and plan.policy != "other":
            argv += ["--writer-priority", "0"]  # it must be below the lanes'
        count = plan.count if count_ends_first(plan) else None
        for option, value_ns in (
            ("--interval", plan.interval_ns),
            ("--duration", plan.duration_ns if count is None else None),
            ("--deadline", plan.deadline_ns),
            ("--break-above", plan.break_above_ns),
        ):
            if value_ns is not None:
                argv += [option, f"{value_ns}ns"]
        if count is not None:
            argv += ["--count", str(count)]
        argv += ["--dma-latency", "off" if plan.dma_latency_us is None else str(plan.dma_latency_us)]
        if plan.aligned:
            argv.append("--aligned")
        if plan.mlock is False:
            argv.append("--no-mlock")
        if not plan.keep_samples:
            argv.append("--no-samples")
        return argv

    def parser(self, plan: Plan) -> Parser:
        from rtassay.wire.stream import StreamParser

        return StreamParser()

    def source(self, facts: dict[str, object]) -> Source:
        version = facts.get("version")
        return Source("rtprobe", None if version is None else str(version), "rtw/1", self.late_policy)

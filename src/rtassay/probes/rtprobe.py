"""rtprobe, our own probe: it counts every activation in exact nanoseconds, and the clock checks the count."""

from __future__ import annotations

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source
from rtassay.model.methods import DEFAULT_METHOD, settings_argv
from rtassay.model.settings import SETTINGS, has_priority
from rtassay.model.units import format_cpu_list
from rtassay.probes.base import Probe, count_ends_first


class RtprobeProbe(Probe):
    """`rtprobe METHOD`. If the plan asks for no policy it may use the best that the board permits, and FACTS say so.

    It is not `--attached`: it runs under an attached guard, which gives it no stdin and ends it.
    """

    name = "rtprobe"
    program: str | None = None
    stream_file = "stream.rtw"
    late_policy = "counted"
    joins = True

    def __init__(self, method: str = DEFAULT_METHOD) -> None:
        """`method`: a name of `rtprobe describe`."""
        self.method = method
        self.as_cyclictest = method == DEFAULT_METHOD

    def check(self, plan: Plan) -> None:
        """Raise UsageError for a plan that rtprobe would refuse, before anything starts."""
        if not has_priority(plan.policy) and plan.priority:
            raise UsageError(f"policy {plan.policy} has no priority", hint="leave --priority out, or ask for fifo")
        if plan.policy == "deadline" and self.method != DEFAULT_METHOD:
            raise UsageError(f"--policy deadline is for the method {DEFAULT_METHOD}", f"{self.method} has no periods")
        for setting in SETTINGS:
            value = getattr(plan, setting.field) if setting.probe else None
            if value is not None and not (setting.name == "priority" and not has_priority(plan.policy)):
                setting.check(value)
                if setting.of_method not in (None, self.method):
                    raise UsageError(
                        f"{setting.option} is for the method {setting.of_method}", f"{self.method} does not sleep by it"
                    )
        if plan.sleep == "poll" and plan.clock not in (None, "monotonic"):
            raise UsageError(
                f"--sleep poll has no --clock {plan.clock}",
                "the kernel counts the time-out of a poll by monotonic",
                "leave --clock out, or use --sleep clock_nanosleep",
            )

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        argv = [program, self.method, "--cpus", format_cpu_list(cpus)]
        if plan.policy is None and plan.priority is None:
            argv.append("--fallback")
        if plan.priority == 1 and has_priority(plan.policy):
            argv += ["--writer-priority", "0"]  # it must be below the lanes'
        left_out = {"cpus", "duration" if count_ends_first(plan) else "count"}
        if not has_priority(plan.policy):
            left_out.add("priority")
        for setting in SETTINGS:
            if setting.probe and setting.name not in left_out:
                value = getattr(plan, setting.field)
                argv += [] if value is None and "off" not in setting.words else setting.argv(value)
        return argv + settings_argv(plan.settings)

    def parser(self, plan: Plan) -> Parser:
        from rtassay.wire.stream import StreamParser

        return StreamParser()

    def source(self, version: str | None) -> Source:
        return Source("rtprobe", version, "rtw/1", self.late_policy)

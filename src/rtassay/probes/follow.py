"""Threads of the user's own programs: from their waking until they run, by the kernel's trace. `rtassay explain` uses it."""

from __future__ import annotations

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.foreign import number
from rtassay.model.manifest import Plan, Source
from rtassay.model.settings import DEFAULT_DURATION_NS
from rtassay.probes.base import Probe

_TARGETS = ("pid", "comm")
_MOST_PID = 1 << 22


class FollowProbe(Probe):
    """`rtprobe follow`. `plan.settings` has `pid` or `comm`; `plan.trace_above_ns` None stands for auto."""

    name = "follow"
    program: str | None = None
    stream_file = "stream.rtw"
    late_policy = "unknown"
    own_threads = False

    def check(self, plan: Plan) -> None:
        """Raise UsageError unless the settings name one process or one name."""
        settings = plan.settings
        if len(settings) != 1 or not set(settings) <= set(_TARGETS):
            raise UsageError(
                "the probe follow needs one process or one name to follow",
                hint="rtassay explain --pid PID, or --comm NAME",
            )
        if "pid" in settings and not 0 < (number(settings["pid"]) or 0) <= _MOST_PID:
            raise UsageError(f"'{settings['pid']}' is no number of a process")
        if "comm" in settings and (not settings["comm"] or "\0" in settings["comm"]):
            raise UsageError("--comm needs a name")

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        ((target, value),) = plan.settings.items()
        above = plan.trace_above_ns if isinstance(plan.trace_above_ns, int) else None
        return [
            *(program, "follow", f"--{target}", value),
            *("--above", "auto" if above is None else f"{above}ns"),
            *("--duration", f"{plan.duration_ns or DEFAULT_DURATION_NS}ns"),
        ]

    def parser(self, plan: Plan) -> Parser:
        from rtassay.wire.stream import StreamParser

        return StreamParser()

    def source(self, version: str | None) -> Source:
        return Source("rtprobe", version, "rtw/1", self.late_policy)

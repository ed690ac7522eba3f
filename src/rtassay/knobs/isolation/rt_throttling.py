"""The limit on time that real-time threads may use."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import HIGH, MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_RUNTIME = "/proc/sys/kernel/sched_rt_runtime_us"
_FAIR_SERVER_SINCE = (6, 12)


class RtThrottling(Knob):
    """From 6.12 on without group scheduling it bounds admission only."""

    name = "rt-throttling"
    title = "real-time throttling (sched_rt_runtime_us)"
    why = "The kernel stops real-time threads that use more than their share, by default 95 % of each second; from 6.12 on only where group scheduling is built in."
    effect = "removes stalls of 50 ms in each second, for threads that are nearly always busy"
    harm = "with -1 a real-time thread that spins hangs its CPU"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("kernel commits 5f6bd380, d741f297, b1536481", "https://github.com/seapath/ansible/pull/32")
    reads = (_RUNTIME, "/proc/sys/kernel/sched_rt_period_us", "@kmsg")
    needs = ("fair-server",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        board = seen.inventory
        runtime, period = seen.told(board.rt_runtime_us, _RUNTIME), board.rt_period_us or 1_000_000
        write = Action(WRITE, _RUNTIME, "-1")
        if runtime == -1 or runtime >= period:
            earlier = "; the kernel throttled real-time threads earlier in this boot" if board.throttle_messages else ""
            return ok(f"off{earlier}")
        now = f"{runtime / period:.0%} of the time"
        if board.throttle_messages:
            text = f"{now}, and the kernel throttled real-time threads in this boot"
            return wrong(text, "-1, or less work at real-time priority", write, severity=HIGH)
        if seen.version is None:
            raise seen.not_read("/proc/sys/kernel/osrelease")
        if seen.version >= _FAIR_SERVER_SINCE and seen.symbol("CONFIG_RT_GROUP_SCHED") != "y":
            return ok(f"{now}, which from 6.12 on bounds admission only: see fair-server")
        return wrong(now, "-1, if a real-time thread may be busy for long", write)

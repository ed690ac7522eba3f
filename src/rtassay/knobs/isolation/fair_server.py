"""Time that the kernel keeps for ordinary threads, from 6.12 on."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, wrong
from rtassay.model.knobs import MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_RUNTIME = "/sys/kernel/debug/sched/fair_server/cpu[0-9]*/runtime"
_SINCE = (6, 12)


class FairServer(Knob):
    """Under lockdown its files are not readable, even for root: unknown then."""

    name = "fair-server"
    title = "fair server (time for ordinary threads)"
    why = "From 6.12 on it runs ordinary threads before real-time ones if they starve, by default 50 ms of each second. sched_rt_runtime_us=-1 does not stop it."
    effect = (
        "without it interrupts on a nohz_full CPU fell from about 1000/s to 0; a busy real-time thread is never stopped"
    )
    harm = "a real-time thread that spins starves everything else on its CPU"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/NVIDIA/NV-Kernels/pull/400", "kernel commits 5f6bd380, fc975cfb")
    reads = (_RUNTIME, "/sys/kernel/debug/sched/fair_server/cpu[0-9]*/period", "/sys/kernel/debug/sched/features")

    def look(self, seen: Seen, goal: Goal) -> Look:
        version = seen.version
        servers = seen.inventory.fair_servers
        if servers is None and version is not None and version < _SINCE:
            return absent(f"kernel {seen.inventory.kernel.release} has none: see rt-throttling")
        wanted = goal.isolated if goal.isolated is not None else ()
        known = {
            int(name.removeprefix("cpu")): server.runtime_ns
            for name, server in seen.told(servers, _RUNTIME).items()
            if server.runtime_ns is not None and name.removeprefix("cpu").isdigit()
        }
        here = {cpu: runtime for cpu, runtime in known.items() if not wanted or cpu in wanted}
        if not here or set(wanted) - set(known):
            raise seen.not_read(_RUNTIME)
        on = {cpu: runtime for cpu, runtime in here.items() if runtime}
        if not on:
            return ok("off")
        writes = [Action(WRITE, f"/sys/kernel/debug/sched/fair_server/cpu{cpu}/runtime", "0") for cpu in on]
        return wrong(
            f"on, {max(on.values()) / 1e6:.3g} ms on {len(on)} CPUs",
            "off, if a real-time thread may be busy for long",
            *writes,
        )

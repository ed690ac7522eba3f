"""The cyclictest line equivalent to a plan, for people who want to check us with the tool they know."""

from __future__ import annotations

from typing import Final

from rtassay.model.manifest import Plan
from rtassay.model.settings import default
from rtassay.model.units import NS_PER_S, NS_PER_US, format_cpu_list

# What cyclictest has of our --sleep and --clock, and its words for it.
SLEEPS: Final = {"clock_nanosleep": (), "signal": ("-x",)}
CLOCKS: Final = {"monotonic": (), "realtime": ("-c1",)}


def equivalent(plan: Plan) -> str:
    """The cyclictest line that measures most nearly what a complete plan measures: same CPUs, priority, length; intervals equal by -d0."""
    cpus = list(plan.cpus or ())
    parts = ["cyclictest"]
    if plan.mlock is not False:
        parts.append("-m")
    parts += [f"-t{len(cpus)}", f"-a{format_cpu_list(cpus)}"]
    if (plan.policy or default("policy")) == "other":
        parts.append("--policy=other")
    else:
        parts.append(f"-p{plan.priority or default('priority')}")
        if plan.policy == "rr":
            parts.append("--policy=rr")
    parts += [f"-i{max(1, round((plan.interval_ns or 0) / NS_PER_US))}", "-d0"]
    if plan.count is not None:
        parts.append(f"-l{plan.count}")
    else:
        parts.append(f"-D{max(1, round((plan.duration_ns or 0) / NS_PER_S))}")
    parts += [*SLEEPS.get(plan.sleep or "", ()), *CLOCKS.get(plan.clock or "", ())]
    if plan.break_above_ns is not None:
        parts.append(f"-b{plan.break_above_ns // NS_PER_US}")
    parts += ["-h400", "-q"]
    return " ".join(parts)

"""How much CPU time of the measured CPUs the recorder used (the part of the probe that writes)."""

from __future__ import annotations

from rtassay.analysis.checks.base import INTEGRITY, NOTE, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.checks.context import Context
from rtassay.model.units import NS_PER_S


@check(
    id="OBSERVER-LOAD",
    condition="the recorder used more than 1 % of a measured CPU",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Recording costs time too. It is harmless while the lanes preempt it; a warning if its priority is not below theirs.",
    remedy="Leave one CPU unmeasured (--cpus), or measure at a longer interval.",
    proof=SYNTHETIC,
)
def observer_load(context: Context) -> Outcome:
    """The CPU time that recording used on the measured CPUs."""
    writer = context.manifest.probe_end.writer
    by_cpu = writer.cpu_ns_by_cpu if writer is not None else None
    duration_s = context.duration_s
    if by_cpu is None or not duration_s:
        return unknown("the recorder's CPU time is not known")
    shares = {int(cpu): float(ns) / (duration_s * NS_PER_S) for cpu, ns in by_cpu.items()}
    on_measured = {cpu: share for cpu, share in shares.items() if cpu in context.measured_cpus and share > 0.01}
    facts = {"share_by_cpu": {str(cpu): round(share, 6) for cpu, share in sorted(shares.items())}}
    if not on_measured:
        return passed("the recorder used at most 1 % of any measured CPU", **facts)
    cpu = max(on_measured, key=lambda cpu: on_measured[cpu])
    text = f"the recorder used {on_measured[cpu]:.1%} of measured CPU {cpu}"
    if recorder_above_lanes(context):
        return Outcome(WARNING, f"{text} at a priority not below the lanes': it may have delayed them", facts)
    return Outcome(NOTE, f"{text}, below the lanes' priority", facts)


def recorder_above_lanes(context: Context) -> bool:
    """Whether the recorder runs at a real-time priority that a lane does not preempt."""
    writer = context.manifest.probe_facts.writer
    if writer is None or writer.policy not in ("fifo", "rr"):
        return False
    priorities = [
        lane.entry.obtained_start.priority
        for lane in context.accounts
        if lane.entry.obtained_start is not None and lane.entry.obtained_start.priority is not None
    ]
    return bool(priorities) and (writer.priority or 0) >= min(priorities)

"""The work of the loads during the measurement: how much, on which parts of the board, and how evenly."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from rtassay.analysis.checks import series
from rtassay.analysis.checks.base import (
    INTEGRITY,
    LIVE,
    NOTE,
    OPTIMISM,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context
from rtassay.analysis.checks.load_window import declared, planned
from rtassay.model.manifest import LoadEntry
from rtassay.model.units import NS_PER_S

# The guard counts threads of real-time classes, but does not name the class.
REAL_TIME = ("fifo", "rr", "deadline", "real-time")
_NAME = re.compile(r"(?P<index>\d+)\.(?P<load>.*)\.(?P<what>cpus|processes|work)", re.DOTALL)
# The classes a load may stress, and the classes that a complete test needs.
CPU, MEMORY, DISK, NETWORK, GPU = ("cpu",), ("memory", "vm", "cache"), ("io", "hdd"), ("network",), ("gpu",)
COVERAGE = {"cpu": CPU, "memory": MEMORY, "disk": DISK, "network": NETWORK}
DRIFT = 0.1
DRIFT_FROM_S = 30.0
LEAST_POINTS = 9
SURE = 4.0
LEAST_CPUS = 0.01
CPU_TIME = "CPU seconds"


def telemetry_of(context: Context, what: str) -> dict[int, series.Inside]:
    """Series `<i>.<load>.<what>` by the load's index."""
    found = {}
    for row in series.of(context, "load"):
        match = _NAME.fullmatch(row.name)
        if match is not None and match["what"] == what:
            found[int(match["index"])] = row
    return found


def _not_ours(context: Context) -> Outcome | None:
    """The outcome if rtassay started no load."""
    if planned(context):
        return None
    if (text := declared(context)) is not None:
        return unknown(f"the load '{text}' was declared: what it did was not recorded")
    if not context.own_run:
        return unknown("what load ran is not known")
    return passed("no load was planned")


@check(
    id="LOAD-UNKNOWN",
    condition="a load did no work, or part of it was skipped or did none; it ended by itself with an error; or neither its work nor its CPU time is known; or nothing shows that a load of the GPU reached it",
    kind=OPTIMISM,
    severity=WARNING,
    explanation="A stressor that was skipped loads nothing. Failed parts qualify the verdict (integrity); a load without any work caps it. A load that counts no work but used CPU time is a note. A load of the GPU is proven by its work with engine time of the GPU, interrupts of the device, or CPU time where it said that the CPU renders.",
    remedy="See the load's log in the recording; leave out what this board cannot run.",
    proof=LIVE,
)
def load_unknown(context: Context) -> Outcome:
    """Whether the load did anything: its own count of work, its parts, its exit code."""
    if (answer := _not_ours(context)) is not None:
        return answer
    loads = context.manifest.loads
    if not loads:
        return unknown("nothing of the load was recorded")
    use = telemetry_of(context, "cpus")
    idle: list[str] = []
    partly: list[str] = []
    silent: list[str] = []
    for index, load in enumerate(loads):
        if (text := _bad_exit(load)) is not None:
            partly.append(text)
        dead = [part for part in load.parts if part.skipped or part.operations == 0]
        for part in dead:
            why = f" ({part.why})" if part.why else ""
            partly.append(f"{load.name} {part.name} {'did not run' if part.skipped else 'did no work'}{why}")
        if "gpu" in load.classes and not (_on_a_gpu(load) or _rendered_by_the_cpu(load)):
            unproven = f"nothing shows that {load.name} kept the GPU busy"
            (idle if load.classes == GPU else partly).append(unproven)
        if (load.parts and len(dead) == len(load.parts)) or load.operations == 0:
            idle.append(f"{load.name} did no work at all")
        elif _tells_no_work(load):
            used = float(use[index].values.mean()) if index in use else None
            by_cpu = used if used is not None else _cpu_used(load)
            if by_cpu is None or by_cpu < LEAST_CPUS:
                idle.append(f"{load.name} does not tell what work it did, and no CPU time of it was seen")
            else:
                silent.append(f"{load.name} does not tell what work it did; it used {by_cpu:.2g} CPUs")
    facts = {"idle": idle, "partly": partly, "silent": silent}
    if idle:
        return Outcome(WARNING, "; ".join((*idle, *partly)[:3]), facts, OPTIMISM)
    if partly:
        more = f" and {len(partly) - 4} more" if len(partly) > 4 else ""
        return Outcome(WARNING, f"{'; '.join(partly[:4])}{more}", facts, INTEGRITY)
    if silent:
        return Outcome(NOTE, "; ".join(silent[:3]), facts, INTEGRITY)
    return passed("every load, and each of its parts, did work", **facts)


def _on_a_gpu(load: LoadEntry) -> bool:
    return not _tells_no_work(load) and bool(load.gpu_ns or load.gpu_interrupts)


def _rendered_by_the_cpu(load: LoadEntry) -> bool:
    return not _tells_no_work(load) and load.software is True and (_cpu_used(load) or 0) >= LEAST_CPUS


def _tells_no_work(load: LoadEntry) -> bool:
    """CPU time shows that a load ran, not that it did work."""
    return load.operations_unit == CPU_TIME or (
        load.operations is None and not any(part.operations for part in load.parts)
    )


def _bad_exit(load: LoadEntry) -> str | None:
    """An error with which the load ended by itself; its exit code after we asked it to end does not count."""
    asked = load.stop_asked_ns
    by_itself = load.ended_ns is not None and (asked is None or load.ended_ns < asked)
    if not by_itself:
        return None
    if load.exit_code:
        return f"{load.name} ended with exit code {load.exit_code}"
    return f"{load.name} was ended by signal {load.signal}" if load.signal else None


def _cpu_used(load: LoadEntry) -> float | None:
    """Mean number of CPUs it used over its life."""
    if load.started_ns is None or load.ended_ns is None or load.user_ns is None or load.ended_ns <= load.started_ns:
        return None
    return (load.user_ns + (load.system_ns or 0)) / (load.ended_ns - load.started_ns)


@check(
    id="LOAD-PARTIAL",
    condition="CPUs without a load, or no load of memory, disk or network",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="The part that was not loaded may delay most: usually storage and network drivers. The facts hold the matrix of covered CPUs and classes.",
    remedy="Add loads (--load several times) until they cover what the product does.",
    proof=LIVE,
)
def load_partial(context: Context) -> Outcome:
    """Parts of the board that no load reached: CPUs without a stressor, or no load of disk, network or memory."""
    if (answer := _not_ours(context)) is not None:
        return answer
    loads = context.manifest.loads
    if not loads:
        return unknown("nothing of the load was recorded")
    classes = {name for load in loads for name in load.classes}
    cpus = {cpu for load in loads for cpu in load.cpus or ()}
    online = context.manifest.board_start.cpus.online
    facts: dict[str, Any] = {"classes": sorted(classes), "cpus": sorted(cpus)}
    found = []
    if online is not None and cpus and (left := set(online) - cpus):
        found.append(f"{len(left)} of {len(online)} CPUs had no load")
        facts["cpus_without"] = sorted(left)
    if classes:
        facts["coverage"] = {name: bool(classes & set(kinds)) for name, kinds in COVERAGE.items()}
        if missing := [name for name, there in facts["coverage"].items() if not there]:
            found.append(f"no load of {', '.join(missing)}")
    few = [
        f"{load.name} {part.name} on {part.instances} of {len(load.cpus)} CPUs"
        for load in loads
        for part in load.parts
        if load.cpus and part.instances is not None and part.instances < len(load.cpus) and part.name in CPU
    ]
    found += few[:2]
    if found:
        return Outcome(NOTE, f"{'; '.join(found)}: what they would have cost is not in the numbers", facts)
    if not classes:
        return unknown("what the load stresses is not known", **facts)
    return passed("CPU, memory, disk and network were loaded, on every CPU", **facts)


@check(
    id="LOAD-DRIFT",
    condition="the load's work per second in the last third of the run differs from the first third by more than 10 % and by more than its scatter",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="If the load slows down (heat, a full disk, other tenants) or speeds up, the run mixes several conditions.",
    remedy="Look at temperature, frequency and the load's log at that time; declare a warm-up.",
    proof=SYNTHETIC,
)
def load_drift(context: Context) -> Outcome:
    """The load did more or less work per second at the end than at the begin."""
    if (answer := _not_ours(context)) is not None:
        return answer
    work, use = telemetry_of(context, "work"), telemetry_of(context, "cpus")
    found: list[str] = []
    facts: dict[str, Any] = {}
    looked = 0
    for index, load in enumerate(context.manifest.loads):
        row, what = (work[index], "work") if index in work else (use.get(index), "CPU time")
        if row is None or (change := _drift(row)) is None:
            continue
        looked += 1
        ratio, sure = change
        facts[f"{index}.{load.name}"] = {"of": what, "last_third_over_first": round(ratio, 4)}
        if abs(ratio - 1) > DRIFT and sure:
            found.append(f"{load.name}: {what} per second in the last third was {ratio:.0%} of that in the first")
    if found:
        return Outcome(WARNING, "; ".join(found[:3]), facts)
    if not looked:
        return unknown(f"the loads' work per second is not known (or for less than {DRIFT_FROM_S:.0f} s)")
    return passed("the loads did as much work per second at the end as at the begin, to 10 %", **facts)


def _drift(row: series.Inside) -> tuple[float, bool] | None:
    """(mean of the last third / mean of the first, whether that is more than the scatter explains); None for too short a run."""
    span_s = float(row.times[-1] - row.times[0]) / NS_PER_S
    if row.values.size < LEAST_POINTS or span_s < DRIFT_FROM_S:
        return None
    first, last = np.array_split(row.values, 3)[0], np.array_split(row.values, 3)[2]
    if first.mean() <= 0:
        return None
    error = float(np.sqrt(first.var(ddof=1) / first.size + last.var(ddof=1) / last.size))
    return float(last.mean() / first.mean()), abs(float(last.mean() - first.mean())) > SURE * error


@check(
    id="LOAD-RT",
    condition="a thread of a load runs under a real-time policy",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Such a load does not yield to lanes at its priority or below: the latency then shows this competition, not the kernel.",
    remedy="Run loads as ordinary threads, unless the product has such threads.",
    proof=LIVE,
)
def load_rt(context: Context) -> Outcome:
    """A load in a real-time class, which competes with the lanes."""
    if (answer := _not_ours(context)) is not None:
        return answer
    loads = context.manifest.loads
    found = [f"{load.name} ran under {load.policy}" for load in loads if load.policy in REAL_TIME]
    if found:
        return Outcome(
            WARNING, f"{'; '.join(found)}: it competes with the lanes, as no ordinary load does", {"loads": found}
        )
    if not telemetry_of(context, "processes") and not any(load.policy for load in loads):
        return unknown("the scheduling classes of the load's threads were not looked at")
    return passed("no thread of the load was seen in a real-time class")

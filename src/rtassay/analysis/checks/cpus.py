"""Other work on the measured CPUs: real-time threads, device interrupts and ticks, and whether isolation worked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

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
from rtassay.model.own import is_guard, job_names
from rtassay.model.units import NS_PER_S, format_cpu_list

REAL_TIME = ("fifo", "rr", "deadline")
# These belong to the kernel's stop class (shown as FIFO 99): they move threads and stop machines, and run only on request.
_STOPPERS = re.compile(r"(migration|stopper)/\d+")
_THREAD = re.compile(r"(?P<comm>.*)\[(?P<tid>\d+)\]\.(?P<what>\w+)", re.DOTALL)
# On Arm and RISC-V the CPU's own timers have numbers like devices.
_CPU_TIMER = re.compile(r"arch_timer|arm_global_timer|twd|riscv-timer|vtimer|local.?timer|arm-pmu|clint", re.IGNORECASE)
OFTEN_PER_S = 1.0
TICKS_PER_S = 50.0
IDLE_SHARE = 0.05
SHARED = ("cache", "memory", "vm")


@dataclass(slots=True)
class _Thread:
    """One real-time thread of the board that is not ours."""

    comm: str
    priority: float
    policy: str | None
    cpus: set[int]
    busy: float | None = None

    @property
    def words(self) -> str:
        return f"{self.comm} ({self.policy or 'real-time'} {self.priority:g})"


def _own_threads(context: Context) -> set[int]:
    told = context.manifest.probe_facts
    tids = {lane.entry.tid for lane in context.accounts}
    tids |= {thread.tid for thread in (told.main, told.writer) if thread is not None}
    return {tid for tid in tids if tid is not None}


def _others(context: Context) -> dict[int, _Thread] | None:
    """Real-time threads by tid, from the inventory before the run and the monitor during it; None if neither was recorded."""
    tasks = context.manifest.board_start.rt_tasks
    found: dict[int, _Thread] = {}
    for task in tasks or ():
        tid = task.tid if task.tid is not None else task.pid
        if tid is not None:
            cpus = set() if task.cpu is None else {task.cpu}
            found[tid] = _Thread(task.comm or "?", float(task.priority or 0), task.policy, cpus)
    watched = _watched_threads(context)
    for tid, (comm, values) in watched.items():
        thread = found.setdefault(tid, _Thread(comm, 0.0, None, set()))
        if "priority" in values:
            thread.priority = max(thread.priority, float(values["priority"].max()))
        if "cpu" in values:
            thread.cpus |= {int(cpu) for cpu in values["cpu"]}
    busy = _busy(context)
    if series.watched(context, "threads"):
        for tid, thread in found.items():
            thread.busy = busy.get(tid, 0.0)
    own = _own_threads(context)
    jobs = job_names(context.manifest.plan.settings, {lane.entry.measure for lane in context.accounts})
    # The guards of probe and loads have the highest priority by design, and sleep.
    others = {
        t: x
        for t, x in found.items()
        if t not in own and x.comm not in jobs and not _STOPPERS.fullmatch(x.comm) and not is_guard(x.comm)
    }
    return others if tasks is not None or watched else None


def _watched_threads(context: Context) -> dict[int, tuple[str, dict[str, series.Floats]]]:
    """By tid: the name of every thread that existed during the measurement, and its readings (priority, CPU ...)."""
    found: dict[int, tuple[str, dict[str, series.Floats]]] = {}
    for name, values in series.held(context, "threads"):
        if (match := _THREAD.fullmatch(name)) is not None:
            found.setdefault(int(match["tid"]), (match["comm"], {}))[1][match["what"]] = values
    return found


def _busy(context: Context) -> dict[int, float]:
    """By tid: the mean share of a CPU over the measurement."""
    rows = [(row, _THREAD.fullmatch(row.name)) for row in series.of(context, "threads")]
    return {int(match["tid"]): row.per_s for row, match in rows if match is not None and match["what"] == "busy"}


@check(
    id="PRIO-TIE",
    condition="another thread of the lanes' real-time priority or above runs, or may run, on a measured CPU (the kernel's migration threads, our guards and the measured job of exec apart)",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A lane does not preempt a thread of its own priority: the latency then contains the time that thread ran. All such threads are listed, also those that slept during the whole run: they may wake up in the next run.",
    remedy="Measure at a priority above them (--priority), as the application will run; or move or lower them.",
    proof=LIVE,
)
def prio_tie(context: Context) -> Outcome:
    """Other threads that a lane does not preempt, on its own CPU."""
    others = _others(context)
    priorities = [
        (lane.entry.cpu, seen.priority)
        for lane in context.accounts
        if (seen := lane.entry.obtained_start or lane.entry.obtained_end) is not None and seen.policy in REAL_TIME
    ]
    if others is None:
        return unknown("which other real-time threads the board runs is not known")
    if not priorities or any(cpu is None or priority is None for cpu, priority in priorities):
        return unknown("the lanes' CPUs and real-time priorities are not known")
    by_cpu = {cpu: priority for cpu, priority in priorities if cpu is not None and priority is not None}
    ties: list[dict[str, Any]] = []
    for tid, thread in sorted(others.items(), key=lambda row: (-row[1].priority, row[0])):
        where = sorted(cpu for cpu in thread.cpus if cpu in by_cpu)
        above = [cpu for cpu in where if thread.priority >= by_cpu[cpu] or thread.policy == "deadline"]
        if above:
            ties.append(
                {"comm": thread.comm, "tid": tid, "priority": thread.priority, "cpus": above, "busy": thread.busy}
            )
            ties[-1]["words"] = thread.words
    if not ties:
        return passed("no other thread of the lanes' priority or above was seen on a measured CPU")
    names = ", ".join(f"{row['words']} on CPU {format_cpu_list(row['cpus'])}{_use(row['busy'])}" for row in ties[:3])
    more = f" and {len(ties) - 3} more" if len(ties) > 3 else ""
    text = f"the lanes do not preempt {names}{more}: their latency holds the time these ran"
    return Outcome(WARNING, text, {"threads": ties[:20]})


def _use(busy: float | None) -> str:
    return "" if busy is None else " (slept all along)" if busy == 0 else f" ({busy:.1%} busy)"


@check(
    id="IRQ-ON-MEASURED",
    condition="devices interrupted a measured CPU that is isolated; a note below one interrupt a second",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Isolation does not move interrupts: a device that interrupts an isolated CPU delays the threads there.",
    remedy="Move them (irqaffinity=, /proc/irq/N/smp_affinity, irqbalance off).",
    proof=SYNTHETIC,
)
def irq_on_measured(context: Context) -> Outcome:
    """Device interrupts on CPUs that are isolated from the rest of the system."""
    isolated = series.isolated_cpus(context)
    if isolated is None:
        return unknown("whether measured CPUs are isolated is not known")
    if not isolated:
        return passed("no measured CPU is isolated: devices may interrupt it like any other")
    rates: dict[str, float] = {}
    seen = False
    for cpu, what, found in series.of_cpus(context, "interrupts"):
        if cpu not in isolated:
            continue
        seen = True
        number, _, name = what.partition(":")
        rate = found.per_s
        if number.isdigit() and rate > 0 and not _CPU_TIMER.search(name):
            rates[f"{name.strip() or number} on CPU {cpu}"] = round(rate, 3)
    if not seen and not series.watched(context, "interrupts"):
        return unknown(f"interrupts of isolated CPU {format_cpu_list(isolated)} were not counted")
    if not rates:
        return passed(f"no device interrupted isolated CPU {format_cpu_list(isolated)}")
    ranked = sorted(rates.items(), key=lambda row: -row[1])
    text = "device interrupts on isolated CPUs: " + ", ".join(f"{name} ({_per_s(rate)})" for name, rate in ranked[:3])
    return Outcome(WARNING if ranked[0][1] >= OFTEN_PER_S else NOTE, text, {"per_s": dict(ranked[:20])})


def _per_s(rate: float) -> str:
    return f"{rate:,.0f}/s" if rate >= 100 else f"{rate:.3g}/s"


@check(
    id="ISOL-NOT-EFFECTIVE",
    condition="a measured CPU is isolated (isolcpus, nohz_full, a cpuset partition), but it still ticked, the scheduler still balances it, or something other than the lanes and the load used more than 5 % of it",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="This CPU is isolated in name only: its latency is not that of an isolated CPU.",
    remedy="Look at what runs there (kworkers, RCU callbacks: rcu_nocbs=, workqueue cpumask); a busy FIFO thread keeps the tick alive.",
    proof=SYNTHETIC,
)
def isol_not_effective(context: Context) -> Outcome:
    """isolcpus or nohz_full is set, but something else still ran there."""
    isolated = series.isolated_cpus(context)
    if isolated is None:
        return unknown("whether measured CPUs are isolated is not known")
    if not isolated:
        return passed("no measured CPU is isolated")
    cpus = context.manifest.board_start.cpus
    nohz = set(cpus.nohz_full or ())
    found: list[str] = []
    looked: set[int] = set()
    facts: dict[str, Any] = {"cpus": list(isolated)}
    for cpu, what, row in series.of_cpus(context, "interrupts"):
        number, _, name = what.partition(":")
        if cpu in isolated and cpu in nohz and (number == "LOC" or _CPU_TIMER.search(name)):
            looked.add(cpu)
            ticks = row.per_s - _own_wakeups_per_s(context, cpu)
            if ticks >= TICKS_PER_S:
                found.append(f"CPU {cpu} of nohz_full still ticked {ticks:.0f} times a second")
    facts["unbalanced"] = None if cpus.unbalanced is None else list(cpus.unbalanced)
    found += [
        f"the scheduler still balances isolated CPU {cpu}"
        for cpu in isolated
        if cpus.unbalanced is not None and cpu in (cpus.kept_free or ()) and cpu not in cpus.unbalanced
    ]
    shares = _foreign_shares(context, isolated)
    facts["busy_by_others"] = {str(cpu): round(share, 4) for cpu, share in shares.items()}
    meant = _load_cpus(context)
    for cpu, share in shares.items():
        looked.add(cpu)
        if share > IDLE_SHARE and cpu not in meant:
            found.append(f"something else kept isolated CPU {cpu} {share:.0%} busy")
    if found:
        return Outcome(WARNING, "; ".join(found[:3]), facts | {"found": found})
    if set(isolated) - looked:
        return unknown(
            f"what ran on isolated CPU {format_cpu_list(sorted(set(isolated) - looked))} is not known", **facts
        )
    return passed(f"nothing else ran on isolated CPU {format_cpu_list(isolated)}", **facts)


def _own_wakeups_per_s(context: Context, cpu: int) -> float:
    return sum(NS_PER_S / lane.interval_ns for lane in context.accounts if lane.entry.cpu == cpu and lane.interval_ns)


def _foreign_shares(context: Context, cpus: tuple[int, ...]) -> dict[int, float]:
    """Busy share of those CPUs without the share of their lanes, where both are known."""
    shares = {}
    for cpu, what, found in series.of_cpus(context, "cpu"):
        own = series.own_share(context, cpu)
        if cpu in cpus and what == "busy" and own is not None:
            shares[cpu] = max(0.0, float(found.values.mean()) - own)
    return shares


def _load_cpus(context: Context) -> set[int]:
    """CPUs that loads were put on."""
    return {cpu for load in context.manifest.loads for cpu in load.cpus or ()} | set(
        context.manifest.plan.load_cpus or ()
    )


@check(
    id="ISOLATED-NOT-STRESSED",
    condition="nothing but the probe ran on isolated CPUs that were measured, and no load of shared caches or memory ran elsewhere",
    kind=OPTIMISM,
    severity=WARNING,
    explanation="Isolation moves the load away: an improvement may be the absence of load. CPUs share caches, memory and interconnect, which must be loaded to show the effect of isolation.",
    remedy="Add a load of caches and memory (stress-ng's cache, vm or memory classes), or load the isolated CPU itself (--load-cpus).",
    proof=SYNTHETIC,
)
def isolated_not_stressed(context: Context) -> Outcome:
    """Nothing loaded the isolated CPUs or the memory and caches that all CPUs share: the gain may be the absence of load."""
    isolated = series.isolated_cpus(context)
    if isolated is None:
        return unknown("whether measured CPUs are isolated is not known")
    if not isolated:
        return passed("no measured CPU is isolated")
    loads = context.manifest.loads
    classes = sorted({name for load in loads for name in load.classes})
    shares = _foreign_shares(context, isolated)
    facts: dict[str, Any] = {"cpus": list(isolated), "classes": classes, "busy_by_others": shares}
    if set(SHARED) & set(classes):
        return passed("a load of what all CPUs share (memory, caches) ran", **facts)
    if set(isolated) <= _load_cpus(context):
        return passed("the isolated CPUs were loaded themselves", **facts)
    idle = [cpu for cpu, share in shares.items() if share <= IDLE_SHARE]
    if not shares or (loads and not any(load.classes for load in loads)):
        return unknown("whether isolated CPUs, or what they share with others, were loaded is not known", **facts)
    if idle:
        text = f"isolated CPU {format_cpu_list(idle)} ran nothing but the probe, and no load of shared memory or caches ran"
        return Outcome(WARNING, f"{text}: a better latency there may be the absence of load", facts, OPTIMISM)
    return passed("something else ran on the isolated CPUs", **facts)

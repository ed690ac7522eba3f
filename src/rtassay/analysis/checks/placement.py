"""Did the measuring threads run where and how they were meant to?"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from rtassay.analysis.checks import series
from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    LIVE,
    NOTE,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context, named
from rtassay.analysis.checks.recorder import recorder_above_lanes
from rtassay.analysis.lane.account import Account
from rtassay.model.findings import lane_words
from rtassay.model.manifest import Obtained
from rtassay.model.measures import WINDOWS
from rtassay.model.units import NS_PER_S, format_cpu_list, format_time

# fixed-priority: the policy of most RTOSes, as rtprobe-lite tells it.
REAL_TIME = ("fifo", "rr", "deadline", "sched_fifo", "fixed-priority")
_FOLLOWED = "the threads are those of the program that was followed: nothing was asked of them"
_THROTTLED = re.compile(r"(RT|DL) (runtime )?(throttling|replenish)|throttling activated", re.IGNORECASE)


def _read_backs(lane: Account) -> list[Obtained]:
    return [seen for seen in (lane.entry.obtained_start, lane.entry.obtained_end) if seen is not None]


def _affinities(lane: Account) -> list[tuple[int, ...]]:
    """While it measured: a starved lane is closed before it is moved to other CPUs to end there."""
    seen = [lane.entry.obtained_start] if lane.entry.state == "moved" else _read_backs(lane)
    return [back.affinity for back in seen if back is not None and back.affinity]


@check(
    id="SELF-INTERFERENCE",
    condition="more than one measuring thread on a CPU",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="Threads of one priority on one CPU queue behind each other: the tool measures itself.",
    remedy="Measure with one lane per CPU.",
    proof=SYNTHETIC,
)
def self_interference(context: Context) -> Outcome:
    """More measuring threads than CPUs to run them."""
    if context.followed:
        return passed(_FOLLOWED)
    cpus = [lane.entry.cpu for lane in context.accounts]
    known = [cpu for cpu in cpus if cpu is not None]
    # rtla's irq, thread and user are readings of one thread; sender and receiver of a response take turns.
    places = [(lane.entry.cpu, lane.entry.measure) for lane in context.accounts if lane.entry.cpu is not None]
    twice = sorted({cpu for cpu, measure in places if cpu is not None and places.count((cpu, measure)) > 1})
    if twice:
        text = f"more than one lane on CPU {format_cpu_list(twice)}: they queue behind each other"
        return Outcome(INVALID, text, {"cpus": twice})
    online = context.manifest.board_start.cpus.online
    alike = max(Counter(lane.entry.measure for lane in context.accounts).values(), default=0)
    if online is not None and alike > len(online):
        text = f"{alike} lanes on {len(online)} CPUs queue behind each other"
        return Outcome(INVALID, text, {"lanes": alike, "cpus": len(online)})
    if not cpus or (len(known) < len(cpus) and len(cpus) > 1):
        return unknown("the lanes' CPUs are not known")
    return passed("one lane per CPU")


@check(
    id="MAIN-ON-MEASURED",
    condition="the probe's main or writer thread may run on a measured CPU",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Usual on boards with few CPUs, and harmless while the lanes preempt it; a warning if its priority is not below theirs.",
    remedy="Leave one CPU unmeasured (--cpus).",
    proof=LIVE,
)
def main_on_measured(context: Context) -> Outcome:
    """The probe's own other threads may run on a measured CPU."""
    told = context.manifest.probe_facts
    threads = {name: thread for name, thread in (("main", told.main), ("writer", told.writer)) if thread is not None}
    known = {name: set(thread.affinity) for name, thread in threads.items() if thread.affinity}
    if not known or not context.measured_cpus:
        return unknown("where the probe's other threads may run is not known")
    shared = sorted(set().union(*known.values()) & set(context.measured_cpus))
    if not shared:
        return passed("the probe's other threads keep off the measured CPUs")
    who = " and ".join(name for name, cpus in known.items() if cpus & set(context.measured_cpus))
    text = f"the probe's {who} thread may run on measured CPU {format_cpu_list(shared)}"
    if recorder_above_lanes(context):
        return Outcome(WARNING, f"{text} at a priority not below the lanes'", {"cpus": shared})
    return Outcome(NOTE, f"{text}, below the lanes' priority", {"cpus": shared})


@check(
    id="NOT-PINNED",
    condition="a lane is allowed on several CPUs, or migrated; a note for lanes of the policy deadline, which the kernel does not let be bound to one",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Wake-up latency then contains the cost of migration, and belongs to no single CPU.",
    remedy="Measure with one pinned lane per CPU (cyclictest -a -t).",
    proof=LIVE,
)
def not_pinned(context: Context) -> Outcome:
    """A lane allowed on several CPUs, or seen to move."""
    if context.followed:
        return passed(_FOLLOWED)
    loose = [
        lane
        for lane in context.accounts
        if (lane.entry.migrations or 0) > 0 or any(len(cpus) > 1 for cpus in _affinities(lane))
    ]
    if loose:
        moves = sum(lane.entry.migrations or 0 for lane in loose)
        if all(back.policy == "deadline" for lane in loose for back in _read_backs(lane)):
            return _by_deadline(context, loose, moves)
        text = f"{named(loose)} may run on several CPUs ({moves} migrations seen): a lane is no verdict of one CPU"
        return Outcome(WARNING, text, {"migrations": moves, "lanes": [lane.entry.name for lane in loose]})
    blind = [lane for lane in context.accounts if not _affinities(lane)]
    if blind or not context.accounts:
        return unknown("the lanes' affinity was not read back")
    return passed("every lane is bound to one CPU")


def _by_deadline(context: Context, loose: list[Account], moves: int) -> Outcome:
    """The kernel shares such lanes out among the CPUs by itself."""
    got = _read_backs(loose[0])[0]
    overruns = context.manifest.probe_end.overruns
    share = ""
    if got.runtime_ns and got.period_ns:
        share = f", {format_time(got.runtime_ns)} in each {format_time(got.period_ns)}"
    if overruns:
        share += f", {overruns} overruns signalled"
    text = f"{named(loose)} ran under SCHED_DEADLINE{share} ({moves} migrations seen): a lane is no verdict of one CPU"
    facts = {"migrations": moves, "runtime_ns": got.runtime_ns, "period_ns": got.period_ns, "overruns": overruns}
    return Outcome(NOTE, text, facts)


@check(
    id="NOT-RT-POLICY",
    condition="a lane's policy, read back from the kernel, is not fifo, rr, deadline or fixed-priority, or its priority is not the one asked for; a note for a busy loop that was not asked to be real-time",
    kind=INTEGRITY,
    severity=INVALID,
    explanation="An ordinary thread waits for its turn: its latency says nothing about a real-time thread. A busy loop (noise, osnoise) is an ordinary thread unless it is asked "
    "for a policy: then what other ordinary threads took from it counts as noise.",
    remedy="Run as root, or with CAP_SYS_NICE or a real-time limit (ulimit -r).",
    proof=LIVE,
)
def not_rt_policy(context: Context) -> Outcome:
    """Lanes without a real-time policy, or at another priority than asked for."""
    if context.followed:
        return passed(_FOLLOWED)
    manifest = context.manifest
    asked = manifest.probe_facts.requested
    priority = manifest.plan.priority if manifest.plan.priority is not None else asked.priority
    wrong: list[str] = []
    blind = []
    busy = []
    for lane in context.accounts:
        seen = [back for back in _read_backs(lane) if back.policy is not None]
        if lane.entry.measure in WINDOWS and asked.policy == "other":
            busy += [lane_words(lane.entry.name, lane.entry.cpu) for back in seen[:1] if back.policy == "other"]
            continue
        if not seen:
            blind.append(lane)
        for back in seen:
            real_time = str(back.policy).lower() in REAL_TIME
            moved = priority is not None and back.priority is not None and back.priority != priority
            if not real_time:
                wrong.append(f"{lane_words(lane.entry.name, lane.entry.cpu)} ran under {back.policy}")
            elif moved and back.policy != "deadline":
                wrong.append(
                    f"{lane_words(lane.entry.name, lane.entry.cpu)} ran at priority {back.priority}, {priority} was asked for"
                )
    facts: dict[str, Any] = {
        "requested_policy": manifest.plan.policy or asked.policy,
        "requested_priority": priority,
    }
    if wrong:
        fallback = manifest.probe_facts.fallback
        why = f" ({fallback})" if fallback else ""
        more = f" and {len(set(wrong)) - 1} more such" if len(set(wrong)) > 1 else ""
        text = f"{wrong[0]}{more}{why}: that is not the latency of a real-time thread"
        return Outcome(INVALID, text, facts | {"wrong": sorted(set(wrong))})
    if blind or not context.accounts:
        return unknown("the lanes' policy was not read back", **facts)
    if busy:
        return Outcome(
            NOTE,
            f"{busy[0]} was busy under other: what ordinary threads took from it is noise too",
            facts | {"busy": busy},
        )
    return passed("every lane ran under the policy and priority asked for", **facts)


@check(
    id="RT-THROTTLE-ON",
    condition="sched_rt_runtime_us is not -1 (note), and lanes or other real-time threads use half of it or more, or the kernel reported throttling (warning)",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="The kernel stops real-time threads that use their share of a second, by default 95 %. A measurement rarely comes "
    "near; a busy real-time application may.",
    remedy="Before 6.12: sysctl kernel.sched_rt_runtime_us=-1, if the application is deployed so. From 6.12 on this limit is only that of "
    "groups (CONFIG_RT_GROUP_SCHED), and the fair server acts instead: see FAIR-SERVER.",
    proof=LIVE,
)
def rt_throttle_on(context: Context) -> Outcome:
    """The kernel's limit on real-time time, and whether the run came near it."""
    board = context.manifest.board_start
    runtime, period = board.rt_runtime_us, board.rt_period_us or 1_000_000
    before, after = board.throttle_messages, context.manifest.board_end.throttle_messages
    fresh = [text for text in after or () if text not in (before or ())]
    fresh += [message.text for message in series.log_lines(context, _THROTTLED)]
    facts: dict[str, Any] = {"rt_runtime_us": runtime, "rt_period_us": period, "throttled_before": list(before or ())}
    if fresh:
        return Outcome(WARNING, f"the kernel throttled real-time threads during the run: {fresh[0][:120]}", facts)
    # The kernel reports it once in a boot. After that only the threads' CPU time can show throttling in this run.
    if before and not series.watched(context, "threads"):
        return Outcome(WARNING, f"the kernel reported real-time throttling in this boot: {before[0][:120]}", facts)
    if runtime is None:
        return unknown("the real-time throttling limit could not be read")
    if runtime == -1 or runtime >= period:
        return passed(
            "real-time throttling is off; from 6.12 on see FAIR-SERVER, which this does not turn off", **facts
        )
    share, limit = busiest(context), runtime / period
    others = busy_others(context)
    facts |= {"share": share, "limit": limit, "other_threads": others}
    text = f"real-time throttling is on at {limit:.0%}"
    if (worst := max(others, key=lambda name: others[name], default=None)) and others[worst] >= limit / 2:
        return Outcome(WARNING, f"{text}; {worst} used {others[worst]:.0%} of a CPU", facts)
    if share is None:
        return unknown(f"{text}, and the lanes' CPU time is not known", **facts)
    if share >= limit / 2:
        return Outcome(WARNING, f"{text}; a lane alone used {share:.0%} of its CPU", facts)
    old = "; it was reported earlier in this boot" if before else ""
    return Outcome(NOTE, f"{text}; the lanes used at most {share:.1%} of a CPU{old}", facts)


def busy_others(context: Context) -> dict[str, float]:
    """Largest share of a CPU in any second, by watched real-time thread (lanes included)."""
    found = {
        row.name.removesuffix(".busy"): float(row.values.max())
        for row in series.of(context, "threads")
        if row.name.endswith(".busy")
    }
    return {
        name: round(share, 4) for name, share in sorted(found.items(), key=lambda item: -item[1])[:8] if share > 0.01
    }


def busiest(context: Context) -> float | None:
    """Largest share of a CPU that a lane used; None if not known of every lane."""
    duration_s = context.duration_s
    used = [lane.entry.cpu_ns for lane in context.accounts if lane.entry.cpu_ns is not None]
    if not duration_s or len(used) < len(context.accounts) or not used:
        return None
    return max(used) / (duration_s * NS_PER_S)


@check(
    id="NOT-MLOCKED",
    condition="the probe's memory was not locked",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Memory that is not locked can be paged out; the page fault then adds to a latency.",
    remedy="Run as root or raise RLIMIT_MEMLOCK (ulimit -l).",
    proof=LIVE,
)
def not_mlocked(context: Context) -> Outcome:
    """Memory that could be paged out."""
    locked = context.manifest.probe_facts.mlocked
    if locked is None:
        return unknown("whether the probe's memory was locked is not known")
    if locked:
        return passed("the probe's memory was locked")
    why = context.manifest.probe_facts.mlock_error
    return Outcome(
        WARNING, f"the probe's memory was not locked{f' ({why})' if why else ''}: page faults can enter the tail"
    )


@check(
    id="PAGE-FAULTS",
    condition="a measuring thread had page faults after its first due time",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A page fault in the loop is latency of the probe, not of the board.",
    remedy="Lock memory; look for memory pressure.",
    proof=LIVE,
)
def page_faults(context: Context) -> Outcome:
    """Page faults in the measuring threads after their first due time."""
    rows = [(lane, lane.entry.major_faults, lane.entry.minor_faults) for lane in context.accounts]
    if not rows or any(major is None and minor is None for _, major, minor in rows):
        hit = [lane for lane, major, minor in rows if major or minor]
        if not hit:
            return unknown("the lanes' page faults were not counted")
    major = sum(count or 0 for _, count, _ in rows)
    minor = sum(count or 0 for _, _, count in rows)
    facts = {"major": major, "minor": minor}
    if not major and not minor:
        return passed("no page fault in a measuring thread", **facts)
    lanes = [lane for lane, some_major, some_minor in rows if some_major or some_minor]
    return Outcome(WARNING, f"{named(lanes)}: {major} major and {minor} minor page faults while measuring", facts)

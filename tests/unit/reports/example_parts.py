"""Building blocks of the examples: latencies from a seed, and their figures computed here without rtassay.analysis."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.stats import beta, binom

from rtassay.model.findings import (
    LADDER,
    CheckResult,
    Demonstrated,
    Findings,
    LaneFindings,
    Quantile,
)
from rtassay.model.manifest import LaneEntry, Obtained
from rtassay.model.measures import WAKE_UP
from rtassay.model.recording import Histogram, Lane, Recording, Seconds, Spills

INTERVAL_NS = 997_000
SAMPLES = 1_000_000
STEP_NS = 52
Pair = tuple[Findings, Recording]


def latencies(seed: int, n: int, *, base_ns: int, scale_ns: float, stalls: dict[int, int], heavy: float = 1e-4) -> Any:
    """Latencies in ns on the clock step: a floor, an exponential bulk, a rare slower mode, and given stalls (index -> ns)."""
    random = np.random.Generator(np.random.PCG64(seed))
    u = random.random(n)
    v = random.random(n)
    bulk = base_ns - scale_ns * np.log1p(-u) ** 1 * 0.35 + 900 * np.sin(np.arange(n) / 30_000)
    slow = np.where(v < heavy, 9_000 - 3_500 * np.log1p(-u), 0.0)
    values = ((bulk + slow) // STEP_NS * STEP_NS).astype(np.int64)
    for index, stall in stalls.items():
        values[index] = stall
    return values


def histogram_of(values: Any) -> Histogram:
    """Exact counts."""
    lower, counts = np.unique(values, return_counts=True)
    return Histogram(lower, np.ones_like(lower), counts.astype(np.int64))


def lane_of(
    index: int, values: Any, *, deadline_ns: int | None, origin_ns: int = 1_000_000_000, planned: int | None = None
) -> Lane:
    """A lane as rtprobe would record it: every sample late by whole intervals misses that many activations."""
    n = len(values)
    first_due = origin_ns + index * INTERVAL_NS // 4
    missed = values // INTERVAL_NS
    k = np.arange(n) + np.concatenate(([0], np.cumsum(missed)[:-1]))
    second = (first_due + k * INTERVAL_NS - origin_ns) // 1_000_000_000
    length = int(second[-1]) + 1
    exceed = values >= deadline_ns if deadline_ns is not None else np.zeros(n, dtype=bool)
    low = np.full(length, np.iinfo(np.int64).max)
    high = np.zeros(length, dtype=np.int64)
    np.minimum.at(low, second, values)
    np.maximum.at(high, second, values)
    count = np.bincount(second, minlength=length)
    low[count == 0] = 0
    seconds = Seconds(
        second=np.arange(length),
        n=count,
        missed=np.bincount(second, missed, length).astype(np.int64),
        dropped=np.zeros(length, dtype=np.int64),
        exceedances=np.bincount(second, exceed, length).astype(np.int64),
        min_ns=low,
        max_ns=high,
        sum_ns=np.bincount(second, values, length).astype(np.int64),
        wall_offset_ns=np.full(length, 1_795_000_000_000_000_000),
    )
    kept = exceed if deadline_ns is not None else values > np.quantile(values, 0.9999)
    kept = np.flatnonzero(kept | (missed > 0))[:2000]
    spills = Spills(k[kept], values[kept], missed[kept])
    total_missed = int(missed.sum())
    obtained = Obtained("fifo", 90, (index,), True)
    entry = LaneEntry(
        index=index,
        name=f"cpu{index}",
        measure=WAKE_UP,
        cpu=index,
        interval_ns=INTERVAL_NS,
        n=n,
        due=n + total_missed,
        missed=total_missed,
        dropped=0,
        truncated=0,
        over=0,
        under=0,
        exceedances=int(exceed.sum()),
        min_ns=int(values.min()),
        max_ns=int(values.max()),
        sum_ns=int(values.sum()),
        first_due_ns=first_due,
        last_due_ns=first_due + int(k[-1]) * INTERVAL_NS,
        closed_ns=first_due + (n + total_missed) * INTERVAL_NS,
        tid=4300 + index,
        state="ended",
        obtained_start=obtained,
        obtained_end=obtained,
        migrations=0,
        minor_faults=0,
        major_faults=0,
        voluntary_switches=n,
        involuntary_switches=3,
        cpu_ns=4_100 * n,
        spilled=len(spills),
        suppressed=0,
        coarsened=0,
    )
    return Lane(entry, histogram_of(values), seconds, spills)


def quantiles_of(lower: Any, counts: Any, over: int, limit_ns: int | None) -> tuple[Quantile, ...]:
    """The ladder by nearest rank with order-statistic intervals, straight from the rule of docs/method/quantiles.md."""
    n = int(counts.sum()) + over
    ends = np.cumsum(counts)

    def at(rank: int) -> tuple[int, bool]:
        if rank > int(counts.sum()):
            return int(limit_ns or lower[-1]), False
        return int(lower[np.searchsorted(ends, rank)]), True

    rows = []
    for q in LADDER:
        value, known = at(max(1, math.ceil(round(n * q, 6))))
        low, _ = at(max(1, int(binom.ppf(0.025, n, q))))
        high_rank = int(binom.ppf(0.975, n, q)) + 1
        high, high_known = at(min(high_rank, n))
        unbounded = high_rank > n or not high_known
        bound = "exact" if known and n * (1 - q) >= 1 - 1e-9 else "at_least"
        rows.append(Quantile(q, value, low, None if unbounded else high, bound))
    return tuple(rows)


def demonstrated_of(lower: Any, counts: Any, over: int, p: float) -> Demonstrated:
    """Smallest deadline whose upper 95 % exceedance bound is at most p."""
    n = int(counts.sum()) + over
    at_or_above = np.concatenate((np.cumsum(counts[::-1])[::-1] + over, [over]))
    edges = np.concatenate((lower, [int(lower[-1]) + 1]))
    for edge, k in zip(edges.tolist(), at_or_above.tolist(), strict=True):
        if k < n and k <= p * n and beta.ppf(0.95, k + 1, n - k) <= p:
            return Demonstrated(p, int(edge))
    return Demonstrated(p, None)


def due_counts(lower: Any, counts: Any) -> tuple[Any, Any]:
    """Every missed activation with its own lateness L - j I."""
    extra: dict[int, int] = dict(zip(lower.tolist(), counts.tolist(), strict=True))
    for value, number in zip(lower.tolist(), counts.tolist(), strict=True):
        for j in range(1, value // INTERVAL_NS + 1):
            extra[value - j * INTERVAL_NS] = extra.get(value - j * INTERVAL_NS, 0) + number
    keys = sorted(extra)
    return np.array(keys), np.array([extra[key] for key in keys])


def lane_findings(lane: Lane | None, histogram: Histogram, entry: LaneEntry | None, p: float) -> LaneFindings:
    """Findings of one lane, or pooled without an entry's name."""
    lower, counts, over = histogram.lower_ns, histogram.counts, histogram.over
    n = histogram.total
    mean = float((lower * counts).sum() / counts.sum()) if not over else None
    sd = float(np.sqrt(((lower - (mean or 0)) ** 2 * counts).sum() / counts.sum())) if not over else None
    missed = entry.missed if entry else None
    due_view = None
    if missed:
        due_view = quantiles_of(*due_counts(lower, counts), 0, None)
    return LaneFindings(
        name=entry.name if entry and lane else None,
        cpu=entry.cpu if entry and lane else None,
        due=entry.due if entry else None,
        n=n,
        missed=missed,
        dropped=entry.dropped if entry else None,
        truncated=entry.truncated if entry else None,
        over=entry.over if entry else over,
        min_ns=int(lower[0]),
        mean_ns=mean,
        max_ns=entry.max_ns if entry else int(lower[-1]),
        sd_ns=sd,
        quantiles=quantiles_of(lower, counts, over, histogram.limit_ns),
        quantiles_due=due_view,
        demonstrated=demonstrated_of(lower, counts, over, p),
    )


def pooled_findings(lanes: tuple[Lane, ...], p: float) -> LaneFindings:
    """All lanes together, for display."""
    lower = np.concatenate([lane.histogram.lower_ns for lane in lanes])
    counts = np.concatenate([lane.histogram.counts for lane in lanes])
    keys, where = np.unique(lower, return_inverse=True)
    merged = np.bincount(where, counts).astype(np.int64)
    over = sum(lane.histogram.over for lane in lanes)

    def total(name: str) -> int | None:
        values = [getattr(lane.entry, name) for lane in lanes]
        return None if any(v is None for v in values) else sum(values)

    entry = replace(
        lanes[0].entry,
        due=total("due"),
        missed=total("missed"),
        dropped=total("dropped"),
        truncated=total("truncated"),
        over=total("over"),
        max_ns=max(lane.entry.max_ns or 0 for lane in lanes),
    )
    return lane_findings(
        None, Histogram(keys, np.ones_like(keys), merged, over, 0, lanes[0].histogram.limit_ns), entry, p
    )


CHECKS = (
    CheckResult(
        "COUNT-MISMATCH",
        "pass",
        "integrity",
        "Every due activation is accounted for in all 4 lanes.",
        {"due": 4_000_000},
    ),
    CheckResult("NOT-RT-POLICY", "pass", "integrity", "All lanes ran as fifo 90 at start and end."),
    CheckResult("NOT-PINNED", "pass", "integrity", "Every lane was pinned to its CPU; no migrations."),
    CheckResult("SELF-INTERFERENCE", "pass", "integrity", "One lane per CPU."),
    CheckResult("NOT-MLOCKED", "pass", "integrity", "Memory was locked."),
    CheckResult("PAGE-FAULTS", "pass", "integrity", "No page faults in the measuring threads."),
    CheckResult(
        "RT-THROTTLE-ON",
        "warning",
        "optimism",
        "RT throttling is on (950000/1000000 us): a busy application would be stopped for 50 ms each second.",
        {"runtime_us": 950_000},
    ),
    CheckResult(
        "GOVERNOR", "warning", "optimism", "Governor is ondemand on CPU0-3: measure with the governor of the product."
    ),
    CheckResult("KERNEL-NOT-RT", "pass", "integrity", "The kernel is PREEMPT_RT, as claimed."),
    CheckResult("CLOCK-RES", "pass", "integrity", "The clock steps by 52 ns.", {"step_ns": 52}),
    CheckResult("VM-STEAL", "pass", "optimism", "No hypervisor."),
    CheckResult(
        "SINGLE-RUN", "note", "optimism", "One run of one boot: variation between boots is not in these intervals."
    ),
    CheckResult("OBSERVER-LOAD", "unknown", "optimism", "The writer's CPU time per CPU is not known."),
    CheckResult(
        "PERCENTILE-UNSUPPORTED", "note", "optimism", "p99.99999 needs 10 M samples per lane; shown as a lower bound."
    ),
)

INVENTORY: dict[str, Any] = {
    "model": "Raspberry Pi 5 Model B Rev 1.0",
    "kernel_release": "6.12.47-rt14+",
    "preemption": "PREEMPT_RT",
    "kernel_config_sha256": "7b1e2c90d5a4",
    "command_line": "console=serial0,115200 root=/dev/mmcblk0p2 rootwait isolcpus=3",
    "clocksource": "arch_sys_counter",
    "cpus": {"online": "0-3", "isolated": "3", "smt": False},
    "governor": ["ondemand"] * 4,
    "rt_runtime_us": 950_000,
    "irq_threads": {"irq/39-mmc0": 50, "irq/106-eth0": 50},
    "printk": "4 4 1 7",
    "overcommit_memory": 0,
    "desktop": None,
    "hypervisor": "none",
    "memory_mib": 8064,
    "microcode": None,
}

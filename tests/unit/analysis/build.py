"""Recordings for the tests of analysis, and the same facts worked out one activation at a time, as an oracle."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rtassay.analysis.lane.account import Account, accounts
from rtassay.model.manifest import Clip, LaneEntry, Manifest, Obtained, Plan, Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.recording import Histogram, Lane, Recording, Seconds, Spills

DATA = Path(__file__).parents[2] / "data" / "histograms"
MS = 1_000_000
US = 1_000
SECOND = 1_000_000_000


def spills_of(rows: Iterable[tuple[int, int, int]]) -> Spills | None:
    """(k, latency_ns, missed) as a lane holds them; None where there is none."""
    columns = np.array(list(rows), np.int64).reshape(-1, 3).T
    return Spills(*columns) if columns.size else None


def histogram(counts: Mapping[int, int], width: int = 1, **more: Any) -> Histogram:
    """Bins from lower edge -> count."""
    kept = sorted((lower, count) for lower, count in counts.items() if count)
    lower = np.array([row[0] for row in kept], dtype=np.int64)
    return Histogram(
        lower, np.full(len(kept), width, dtype=np.int64), np.array([row[1] for row in kept], dtype=np.int64), **more
    )


def counted_lane(
    latencies: Sequence[int],
    interval: int = MS,
    *,
    index: int = 0,
    truncated: int = 0,
    cut_last_to: int | None = None,
    first_due: int = 5 * SECOND,
    spill_from: int = 0,
    dropped: Sequence[int] = (),
    closed_after_last_due: int = 0,
) -> Lane:
    """A lane as rtprobe would account for these samples in order. `dropped`: positions of samples that are not in the stream.

    `truncated` activations follow the last sample; `cut_last_to`: the run ended when so many of its missed ones were due.
    """
    k, missed_total, spills, seen, clip = 0, 0, [], Counter[int](), None
    for position, latency in enumerate(latencies):
        missed = max(0, latency) // interval
        if cut_last_to is not None and position == len(latencies) - 1 and cut_last_to < missed:
            missed = cut_last_to
            clip = Clip(latency, missed)
        if position not in dropped:
            seen[latency] += 1
            if latency >= spill_from:
                spills.append((k, latency, missed))
        missed_total += missed
        k += 1 + missed
    due = k + truncated
    n = len(latencies) - len(dropped)
    obtained = Obtained("fifo", 90, (index,), True)
    entry = LaneEntry(
        index=index,
        name=str(index),
        measure=WAKE_UP,
        cpu=index,
        interval_ns=interval,
        n=n,
        due=due,
        missed=missed_total,
        dropped=len(dropped),
        truncated=truncated,
        exceedances=None,
        min_ns=min(latencies, default=None),
        max_ns=max(latencies, default=None),
        sum_ns=sum(latencies),
        first_due_ns=first_due,
        last_due_ns=first_due + (due - 1) * interval if due else None,
        closed_ns=first_due + (due - 1) * interval + closed_after_last_due,
        clip=clip,
        state="ended",
        obtained_start=obtained,
        obtained_end=obtained,
        migrations=0,
        minor_faults=0,
        major_faults=0,
        cpu_ns=1000 * n,
        spilled=len(spills),
        suppressed=0,
    )
    return Lane(entry, histogram(seen), None, spills_of(spills))


def due_lateness(latencies: Sequence[int], interval: int = MS, cut_last_to: int | None = None) -> list[int]:
    """The oracle: how late every due activation was, missed ones included."""
    rows = []
    for position, latency in enumerate(latencies):
        missed = max(0, latency) // interval
        if cut_last_to is not None and position == len(latencies) - 1:
            missed = min(missed, cut_last_to)
        rows += [latency - j * interval for j in range(missed + 1)]
    return rows


def block_lane(counts: Mapping[int, int], interval: int = MS, *, index: int = 0, **changes: Any) -> Lane:
    """A lane of many samples without missed activations, from its histogram."""
    n = sum(counts.values())
    lane = counted_lane([], interval, index=index)
    first = lane.entry.first_due_ns or 0
    entry = replace(
        lane.entry,
        n=n,
        due=n,
        min_ns=min(counts),
        max_ns=max(counts),
        sum_ns=sum(value * count for value, count in counts.items()),
        last_due_ns=first + (n - 1) * interval,
        closed_ns=first + (n - 1) * interval,
        spilled=0,
    )
    return Lane(replace(entry, **changes), histogram(counts))


def inventory(**changes: Any) -> dict[str, Any]:
    """A board with nothing to complain of."""
    return {
        "kernel": {
            "release": "6.12.48",
            "version": "#1 SMP PREEMPT_DYNAMIC",
            "realtime_file": None,
            "preempt_model": "PREEMPT_DYNAMIC",
            "config_rt": False,
        },
        "clocksource": "tsc",
        "cpus": {"online": [0, 1, 2, 3]},
        "governors": {"cpu0": "performance", "cpu1": "performance"},
        "rt_runtime_us": -1,
        "rt_period_us": 1_000_000,
        "virtualisation": "none",
        "throttle_messages": None,
    } | changes


def facts(**changes: Any) -> dict[str, Any]:
    """FACTS of a run with nothing to complain of."""
    return {
        "requested": {"policy": "fifo", "priority": 90},
        "clock": {"id": "monotonic", "getres_ns": 1, "step_ns": 1, "read_cost_ns": 20},
        "mlocked": True,
        "writer": {"tid": 2, "policy": "other", "priority": 0, "affinity": [3]},
        "main": {"tid": 1, "affinity": [3]},
    } | changes


def seconds(maxima: Sequence[int], n: int = 1000, wall: Sequence[int] | None = None, missed: int = 0) -> Seconds:
    """Rollups of a lane: the maximum of each second."""
    length = len(maxima)
    zeros = np.zeros(length, dtype=np.int64)
    return Seconds(
        second=np.arange(length),
        n=np.full(length, n),
        missed=np.full(length, missed),
        dropped=zeros,
        exceedances=zeros,
        min_ns=zeros,
        max_ns=np.array(maxima, dtype=np.int64),
        sum_ns=zeros,
        wall_offset_ns=np.array(wall if wall is not None else [7] * length, dtype=np.int64),
    )


def recording(*lanes: Lane, **changes: Any) -> Recording:
    """A sealed run of rtprobe under a declared load, in which every check passes or is a note."""
    telemetry, events, messages = (changes.pop(name, ()) for name in ("telemetry", "events", "messages"))
    starts = [lane.entry.first_due_ns for lane in lanes if lane.entry.first_due_ns is not None]
    ends = [lane.entry.closed_ns for lane in lanes if lane.entry.closed_ns is not None]
    manifest = Manifest(
        id="20261121T120000-abcdef",
        created="2026-11-21T12:00:00Z",
        source=Source("rtprobe", "0.1.0", "stream", "counted"),
        plan=Plan(interval_ns=MS, priority=90, policy="fifo", argv=("rtassay", "run")),
        lanes=tuple(lane.entry for lane in lanes),
        sealed=True,
        started_ns=min(starts, default=None),
        ended_ns=max(ends, default=None),
        end_reason="duration",
        facts=facts(),
        end={"writer": {"cpu_ns_by_cpu": {"3": 1000}}},
        inventory=inventory(),
        inventory_end={"clocksource": "tsc", "governors": {"cpu0": "performance", "cpu1": "performance"}},
        labels={"load": "the factory's own"},
    )
    return Recording(replace(manifest, **changes), tuple(lanes), tuple(events), tuple(telemetry), tuple(messages))


def account(lane: Lane, **changes: Any) -> Account:
    """The lane of a recording as analysis sees it."""
    return accounts(recording(lane, **changes))[0]


def cyclictest(*lanes: Lane, **changes: Any) -> Recording:
    """An imported cyclictest histogram in whole us, of which only the file is known."""
    base = Manifest("i", "now", Source("cyclictest", "2.4", "cyclictest-text", "skip"), bin_width_ns=US)
    return Recording(replace(base, lanes=tuple(lane.entry for lane in lanes), **changes), tuple(lanes))


def skip_lane(
    counts_us: Mapping[int, int],
    *,
    interval: int | None = MS,
    over: int | None = 0,
    limit_us: int = 400,
    **changes: Any,
) -> Lane:
    """A thread of cyclictest: bins of 1 us, the trailer's maximum and overflow."""
    rows = histogram({us * US: count for us, count in counts_us.items()}, US, over=over or 0, limit_ns=limit_us * US)
    entry = LaneEntry(
        index=0,
        name="0",
        measure=WAKE_UP,
        cpu=None,
        interval_ns=interval,
        n=rows.total,
        over=over,
        max_ns=None if over is None or not counts_us else max(counts_us) * US,
    )
    return Lane(replace(entry, **changes), rows)


def published(kernel: str) -> Recording:
    """`std` or `rt`: the histograms of a Raspberry Pi 3B (tests/data/histograms)."""
    with (DATA / f"rpi3b-4.14.27-{kernel}.hist.csv").open() as file:
        rows = [[int(cell) for cell in row] for row in list(csv.reader(file))[1:]]
    lanes = []
    for column in range(1, 5):
        bins = histogram({row[0] * US: row[column] for row in rows}, US)
        lanes.append(Lane(LaneEntry(column - 1, f"core{column}", None, None, bins.total, WAKE_UP), bins))
    return cyclictest(*lanes)

"""Makes the golden streams of wire version 1. Run once per version; the files it wrote are then never changed.

    .venv/bin/python wire/golden/make.py [--real probe/build/rtprobe]

Synthetic files come from `rtassay.wire.encode` with a fixed seed; `real-<arch>.rtw` is what rtprobe itself wrote.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
from pathlib import Path

import numpy as np

from rtassay.model.events import (
    End,
    Event,
    Facts,
    FileContent,
    Gaps,
    HistogramPart,
    Note,
    Output,
    Samples,
    Second,
    Spill,
    TracePage,
    TraceText,
)
from rtassay.wire.encode import StreamEncoder

INTERVAL_NS = 997_000
ORIGIN_NS = 1_000_000_000_000
DEADLINE_NS = 100_000
OUT = Path(__file__).parent / "v1"


def lane_events(lane: int, rng: np.random.Generator, n: int, block: int) -> tuple[list[Event], dict[str, object]]:
    """One lane with a stall (missed), a drop, a negative and a very long latency; and its END entry."""
    latency = rng.lognormal(9.0, 0.5, n).astype(np.int64)
    missed, dropped = np.zeros(n, np.int64), np.zeros(n, np.int64)
    latency[5] = -37
    latency[17] = 4 * INTERVAL_NS + 1234
    missed[17] = 4
    dropped[block - 1] = 3  # at the end of a block
    latency[n - 2] = 5_000_000_000  # more than 2^32 ns
    missed[n - 2] = 5_000_000_000 // INTERVAL_NS
    latency[30] = DEADLINE_NS + 1
    events: list[Event] = []
    k = 2
    for start in range(0, n, block):
        part = slice(start, min(start + block, n))
        gap = 2 if start == 0 else 0
        events.append(Samples(lane, k, latency[part], missed[part], dropped[part], gap_missed=gap))
        k += len(latency[part]) + int(missed[part].sum() + dropped[part].sum())
    over = latency >= DEADLINE_NS
    total = {"n": n, "missed": int(missed.sum()) + 2, "dropped": int(dropped.sum()), "exceedances": int(over.sum())}
    extremes = (int(latency.min()), int(latency.max()), int(latency.sum()))
    events.append(Second(lane, 0, *total.values(), *extremes, n, extremes[1], 8000, 20000, 30000, 40000, 10**18))
    values, counts = np.unique(latency, return_counts=True)
    events.append(HistogramPart(lane, values, np.ones(len(values), np.int64), counts))
    spilled = np.flatnonzero(over)
    spill_k = 2 + spilled + np.array([int(missed[:i].sum() + dropped[:i].sum()) for i in spilled])
    events.append(Spill(lane, 0, spill_k, latency[spilled], missed[spilled]))
    due = n + total["missed"] + total["dropped"]
    first_due_ns = ORIGIN_NS + lane * INTERVAL_NS // 2
    end = {
        "lane": lane,
        "due": due,
        "first_due_ns": first_due_ns,
        "last_due_ns": first_due_ns + (due - 1) * INTERVAL_NS,
    }
    end |= {"closed_ns": first_due_ns + (due - 1) * INTERVAL_NS + 10, **total, "truncated": 0}
    end |= {"min_ns": extremes[0], "max_ns": extremes[1], "sum_ns": extremes[2], "clip": None, "state": "ended"}
    end |= {"spilled": len(spilled), "suppressed": 0, "coarsened": 0, "obtained": OBTAINED, "migrations": 0}
    return events, end


OBTAINED = {"policy": "fifo", "priority": 90, "affinity": [0], "reset_on_fork": False}


def cyclic(lanes: int = 2, n: int = 120, block: int = 40, seed: int = 45) -> list[Event]:
    """A whole run of `rtprobe cyclic` with every frame type it can send."""
    rng = np.random.default_rng(seed)
    made = [lane_events(lane, rng, n, block) for lane in range(lanes)]
    facts = {"stream": 1, "probe": "rtprobe", "version": "0.1.0", "command": "cyclic", "argv": ["rtprobe", "cyclic"]}
    facts |= {"pid": 4242, "mono_ns": ORIGIN_NS - 10_000_000, "wall_ns": ORIGIN_NS - 10_000_000 + 10**18}
    facts |= {"boot_id": "00000000-0000-0000-0000-000000000000", "origin_ns": ORIGIN_NS, "planned_end_ns": None}
    facts |= {"requested": {"policy": "fifo", "priority": 90, "interval_ns": INTERVAL_NS, "deadline_ns": DEADLINE_NS}}
    facts |= {
        "interval_ns": INTERVAL_NS,
        "clock": {"id": "monotonic", "getres_ns": 1, "step_ns": 1, "read_cost_ns": 25},
    }
    entries = [(lane, ORIGIN_NS + lane * INTERVAL_NS // 2) for lane in range(lanes)]
    facts["lanes"] = [
        {"lane": lane, "cpu": lane, "measure": "wake-up", "tid": 4243 + lane, "first_due_ns": due, "obtained": OBTAINED}
        for lane, due in entries
    ]
    events: list[Event] = [Facts(facts)]
    for lane_made, _ in made:
        events += lane_made
    events.append(Note("signal", None, {"event": "signal", "mono_ns": ORIGIN_NS + 10**9, "number": 15}))
    end = {"mono_ns": ORIGIN_NS + 6 * 10**9, "wall_ns": ORIGIN_NS + 6 * 10**9 + 10**18, "reason": "signal", "exit": 143}
    events.append(End({**end, "lanes": [entry for _, entry in made]}))
    return events


def noise() -> list[Event]:
    """A run of `rtprobe noise` of one CPU: three windows, four gaps, two of them not kept; one reaches into two windows."""
    first_ns, ms = ORIGIN_NS, 1_000_000
    names = (("total", "noise-total"), ("longest", "noise-longest"))
    facts = {"stream": 1, "probe": "rtprobe", "version": "0.1.0", "command": "noise", "interval_ns": 10 * ms}
    facts |= {"origin_ns": ORIGIN_NS, "settings": {"threshold": 5000}}
    common = {
        "cpu": 0,
        "tid": 4243,
        "first_due_ns": first_ns,
        "obtained": OBTAINED | {"policy": "other", "priority": 0},
    }
    facts["lanes"] = [
        {"lane": i, "name": f"cpu0 {name}", "measure": measure, **common} for i, (name, measure) in enumerate(names)
    ]
    values = ([4_011_000, 1_000_000, 5_000], [5_000_000, 5_000_000, 5_000])
    none = np.zeros(3, np.int64)
    events: list[Event] = [Facts(facts)]
    lanes = []
    for i, latency in enumerate(np.array(values)):
        events.append(Samples(i, 0, latency, none, none))
        unique, counts = np.unique(latency, return_counts=True)
        events.append(HistogramPart(i, unique, np.ones(len(unique), np.int64), counts))
        told = (int(latency.min()), int(latency.max()), int(latency.sum()))
        events.append(Second(i, 0, 3, 0, 0, 0, *told, 3, told[1], 0, 0, 0, 0, 10**18))
        end = {"lane": i, "due": 3, "first_due_ns": first_ns, "n": 3, "missed": 0, "dropped": 0, "truncated": 0}
        end |= {
            "min_ns": told[0],
            "max_ns": told[1],
            "sum_ns": told[2],
            "closed_ns": first_ns + 20 * ms,
            "state": "ended",
        }
        lanes.append(end | ({} if i else {"gaps": 4, "gaps_kept": 2}))
    kept = np.array([[first_ns + 6 * ms, 5_000_000], [first_ns + 25 * ms, 5_000]], np.int64).T
    events.append(Gaps(0, 2, *kept))
    events.append(End({"mono_ns": first_ns + 31 * ms, "wall_ns": 10**18, "reason": "count", "exit": 0, "lanes": lanes}))
    return events


def watch() -> list[Event]:
    paths = ["/proc/stat", "/sys/class/thermal/thermal_zone0/temp"]
    facts = {"stream": 1, "probe": "rtprobe", "version": "0.1.0", "command": "watch", "every_ns": 10**9, "paths": paths}
    return [
        Facts(facts),
        FileContent(1, paths[0], 0, b"cpu  1 2 3\n"),
        FileContent(2, paths[1], 2, b""),
        FileContent(3, paths[0], 0, None),
        FileContent(4, paths[1], 0, b"4200", truncated=True),
        End({"mono_ns": 5, "wall_ns": 6, "reason": "signal", "exit": 0}),
    ]


def guard() -> list[Event]:
    """OUTPUT that itself holds a stream, as that of `rtprobe load` does."""
    inner = StreamEncoder().encode_all(cyclic(1, 60, 30, seed=7)[:3])
    facts = {
        "stream": 1,
        "probe": "rtprobe",
        "version": "0.1.0",
        "command": "guard",
        "command_argv": ["x"],
        "child_pid": 9,
    }
    return [
        Facts(facts),
        Note("child_started", None, {"event": "child_started", "mono_ns": 1, "pid": 9}),
        Output(2, 1, inner),
        Output(3, 2, b"stress-ng: info\n"),
        Note("child_exited", None, {"event": "child_exited", "mono_ns": 4, "pid": 9, "exit_code": 0}),
        End({"mono_ns": 5, "wall_ns": 6, "reason": "child", "exit": 0}),
    ]


def traced() -> list[Event]:
    """The end of a traced run of one lane: 4 untraced samples, 3 traced ones, the last a hit with two pages."""
    until_ns = ORIGIN_NS + 4 * INTERVAL_NS
    due_ns, woke_ns = ORIGIN_NS + 6 * INTERVAL_NS, ORIGIN_NS + 6 * INTERVAL_NS + 250_000
    latency = np.array([9000, 9100, 9200, 9300, 19_000, 19_100, 250_000])
    none = np.zeros(7, np.int64)
    facts = {"stream": 1, "probe": "rtprobe", "version": "0.1.0", "command": "cyclic", "interval_ns": INTERVAL_NS}
    lane = {"lane": 0, "cpu": 0, "measure": "wake-up", "tid": 4243, "first_due_ns": ORIGIN_NS, "obtained": OBTAINED}
    begin = {"event": "trace_begin", "mono_ns": until_ns + 10, "above_ns": 100_000, "events": ["sched/sched_switch"]}
    begin |= {"missing": ["nmi/nmi_handler"], "buffer_kb": 1024, "untraced_until_ns": until_ns}
    begin |= {"stacks": ["timer/hrtimer_expire_entry", "sched/sched_switch"], "stacks_error": None}
    hit = {"event": "trace_hit", "mono_ns": woke_ns, "lane": 0, "k": 6, "due_ns": due_ns, "woke_ns": woke_ns}
    hit |= {"tid": 4243, "cpu": 0, "above_ns": 100_000, "captured": True}
    page = [
        (due_ns - 3_000_000 * (1 - i)).to_bytes(8, "little") + (16).to_bytes(8, "little") + bytes(48) for i in (0, 1)
    ]
    untraced = {"due": 4, "n": 4, "missed": 0, "dropped": 0, "truncated": 0, "exceedances": 0}
    untraced |= {"min_ns": 9000, "max_ns": 9300, "sum_ns": 36_600}
    trace = {
        "hits": 1,
        "captured": 1,
        "not_captured": 0,
        "pages": 2,
        "bytes": 128,
        "lost_pages": 0,
        "cpu_ns": 5,
        "error": None,
    }
    whole = {"lane": 0, "due": 7, "n": 7, "missed": 0, "dropped": 0, "truncated": 0, "min_ns": 9000, "max_ns": 250_000}
    whole |= {"sum_ns": int(latency.sum()), "exceedances": 1, "clip": None, "untraced": untraced}
    end = {"mono_ns": woke_ns + 10, "wall_ns": 10**18, "reason": "count", "exit": 0, "lanes": [whole], "trace": trace}
    return [
        Facts({**facts, "lanes": [lane]}),
        Samples(0, 0, latency, none, none),
        HistogramPart(0, latency[:4], np.ones(4, np.int64), np.ones(4, np.int64)),
        TraceText("header_page", b"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"),
        TraceText("format/sched/sched_switch", b"name: sched_switch\nID: 316\n"),
        Note("trace_begin", None, begin),
        *(TracePage(0, data) for data in page),
        Note("trace_hit", 0, hit),
        TraceText("kallsyms", b"ffffffff81000000 T _stext\n"),
        TraceText("stats/cpu0", b"entries: 3\noverrun: 0\n"),
        HistogramPart(0, latency[4:], np.ones(3, np.int64), np.ones(3, np.int64), traced=True),
        End(end),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--real", type=Path, help="an rtprobe to take a short real stream from")
    parser.add_argument("--force", action="store_true", help="overwrite synthetic files that exist")
    options = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    for name, events in (
        ("cyclic", cyclic()),
        ("watch", watch()),
        ("guard", guard()),
        ("traced", traced()),
        ("noise", noise()),
    ):
        target = OUT / f"{name}.rtw"
        if options.force or not target.exists():
            target.write_bytes(StreamEncoder().encode_all(events))
            print(f"{target}: {target.stat().st_size} bytes")
    if options.real is not None:
        target = OUT / f"real-{platform.machine()}.rtw"
        argv = [str(options.real), "cyclic", "--duration", "1s", "--interval", "997us", "--cpus", "0,1"]
        done = subprocess.run(argv, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=True, timeout=30)
        target.write_bytes(done.stdout)
        print(f"{target}: {len(done.stdout)} bytes from {json.dumps(argv)}")


if __name__ == "__main__":
    main()

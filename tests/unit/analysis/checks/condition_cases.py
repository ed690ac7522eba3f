"""Cases of the checks on conditions (other threads, interrupts, loads, heat, power, memory) and on patterns, for test_checks.py."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rtassay.model.manifest import LoadEntry, MonitorEntry, Plan, WorkPart
from rtassay.model.recording import Lane, Message, Recording, Seconds, Series

from ..build import MS, SECOND, US, block_lane, cyclictest, facts, inventory, recording, seconds, skip_lane, spills_of

Case = tuple[str, Callable[[], Recording], str, str | None, str]
BEGIN = 5 * SECOND
MINUTE = 60
WATCHED = MonitorEntry("watched")


def minute(index: int = 0, length_s: int = MINUTE, **changes: Any) -> Lane:
    lane = block_lane({100 * US: length_s * 1000 + 1}, index=index)
    return replace(lane, entry=replace(lane.entry, **changes))


def bare() -> Recording:
    return cyclictest(skip_lane({5: 100}, interval=None, over=None))


def watching(
    series: Mapping[str, Sequence[float]] | None = None,
    *,
    lines: Sequence[str] = (),
    watched: Sequence[str] = (),
    before: Mapping[str, float] | None = None,
    length_s: int = MINUTE,
    lanes: Sequence[Lane] = (),
    **changes: Any,
) -> Recording:
    """A run with telemetry `monitor/name` -> a value a second from its begin, with one more a second before it (`before`)."""
    telemetry, monitors = [], {name: WATCHED for name in watched}
    for key, values in (series or {}).items():
        monitor, _, name = key.partition("/")
        first = (before or {}).get(key)
        kept = [*([] if first is None else [first]), *values]
        start = BEGIN + SECOND // 2 - (0 if first is None else SECOND)
        step = SECOND * max(1, length_s // max(1, len(values)))
        times = start + np.arange(len(kept), dtype=np.int64) * (step if first is None else SECOND)
        unit = "degC" if monitor == "temperature" else "1/s"
        telemetry.append(Series(monitor, name, unit, times, np.array(kept, dtype=float)))
        monitors[monitor] = WATCHED
    messages = [Message("kernel-log", BEGIN + (10 + i) * SECOND, text) for i, text in enumerate(lines)]
    if lines:
        monitors["kernel-log"] = WATCHED
    made = tuple(lanes) or (minute(length_s=length_s),)
    return recording(*made, telemetry=telemetry, messages=messages, monitors=monitors, **changes)


def isolated(**changes: Any) -> dict[str, Any]:
    return inventory(cpus={"online": [0, 1, 2, 3], "isolated": [0], "nohz_full": [0]} | changes)


def booted(release: str, **changes: Any) -> Recording:
    """A run on a board with this kernel."""
    board = inventory()
    return recording(minute(), inventory={**board, "kernel": board["kernel"] | {"release": release}, **changes})


def servers(runtime_ns: int, cpus: int = 4) -> dict[str, dict[str, int]]:
    return {f"cpu{cpu}": {"runtime_ns": runtime_ns, "period_ns": SECOND} for cpu in range(cpus)}


def ignoring(*words: str, nohz: bool = False) -> dict[str, Any]:
    return {"words": list(words), "nohz_unsupported": nohz}


def rt_thread(comm: str = "irq/39-dwc_otg", priority: int = 95, cpu: int = 0, **changes: Any) -> dict[str, Any]:
    return {"tid": 85, "pid": 85, "comm": comm, "policy": "fifo", "priority": priority, "cpu": cpu} | changes


def under(*loads: LoadEntry, telemetry: Mapping[str, Sequence[float]] | None = None, **changes: Any) -> Recording:
    """A run under these loads, alive all along."""
    plan = Plan(interval_ns=MS, priority=90, policy="fifo", load="stress-ng", argv=("rtassay", "run"))
    made = watching(telemetry, plan=plan, labels={}, **changes)
    begin, end = made.manifest.started_ns or 0, made.manifest.ended_ns or 0
    placed = tuple(
        replace(
            load,
            started_ns=begin - 2 * SECOND,
            ended_ns=load.ended_ns or end + 2 * SECOND,
            stop_asked_ns=end + SECOND,
        )
        for load in loads
    )
    return replace(made, manifest=replace(made.manifest, loads=placed))


def load(*parts: WorkPart, **changes: Any) -> LoadEntry:
    fields: dict[str, Any] = {
        "operations": 1000.0,
        "classes": ("cpu", "cache", "memory"),
        "cpus": (0, 1, 2, 3),
        "exit_code": 0,
        "parts": parts,
    }
    return LoadEntry("stress-ng", ("stress-ng",), **(fields | changes))


WHOLE = ("cpu", "cache", "memory", "vm", "io", "hdd", "network", "timer", "scheduler", "fork")


def late_at(*k: int, latency: int = 500 * US) -> Recording:
    """A lane of ten minutes with these activations late."""
    late = sorted(set(k))
    lane = block_lane({100 * US: 600_000 - len(late), latency: len(late)}, max_ns=latency)
    rows = [(at, latency, 0) for at in late]
    return recording(replace(lane, entry=replace(lane.entry, spilled=len(rows)), spills=spills_of(rows)))


def scattered(n: int) -> list[int]:
    return [int(k) for k in np.random.default_rng(7).choice(600_000, n, replace=False)]


def minutes(means_us: Sequence[float], **changes: Any) -> Recording:
    """A lane whose seconds have these mean latencies, with a maximum at twice that; a little scatter on both."""
    rng = np.random.default_rng(3)
    mean = np.array(means_us) * US * (1 + rng.normal(0, 0.01, len(means_us)))
    rolled: Seconds = seconds([int(x) for x in 2 * mean * (1 + rng.normal(0, 0.02, len(means_us)))])
    rolled = replace(rolled, sum_ns=(mean * 1000).astype(np.int64))
    return recording(replace(minute(length_s=len(means_us), **changes), seconds=rolled))


def with_tail(*extremes: int) -> Recording:
    """An exponential tail of 2000 samples, and these."""
    body = np.random.default_rng(5).exponential(5 * US, 2000).astype(int) + 50 * US
    counts: dict[int, int] = {}
    for value in [*body.tolist(), *extremes]:
        counts[value] = counts.get(value, 0) + 1
    return recording(block_lane(counts))


def two_lanes_late(at_s: Sequence[float], **changes: Any) -> Recording:
    lanes = []
    for index in (0, 1):
        rows = [(int(at * 1000), 400 * US, 0) for at in at_s]
        lanes.append(replace(minute(index, spilled=len(rows)), spills=spills_of(rows)))
    return recording(*lanes, **changes)


IDLE_STATES = {
    "idle": {"driver": "intel_idle", "governor": "menu"},
    "idle_states": {
        "cpu0": [
            {"name": "POLL", "latency_us": 0, "residency_us": 0, "disabled": False},
            {"name": "C6", "latency_us": 133, "residency_us": 600, "disabled": False},
        ]
    },
}
NO_IDLE_STATES = {"idle": {"driver": None, "governor": None}, "idle_states": None}


def held(us: int | None, idle: Mapping[str, Any] = IDLE_STATES, **changes: Any) -> Recording:
    return watching(facts=facts(dma_latency_us=us), inventory=inventory(**idle), **changes)


def kernel(**changes: Any) -> dict[str, Any]:
    return inventory(kernel=inventory()["kernel"] | changes)


STEADY = [50.0 + 0.5 * (i % 2) for i in range(MINUTE)]
PERIODIC = [int(i * 1003 + 40 * np.sin(i)) for i in range(500)]
BURSTS = [int(k) + j for k in np.random.default_rng(2).choice(50_000, 30, replace=False) * 12 for j in range(5)]

CONDITIONS: list[Case] = [
    ("FAIR-SERVER", lambda: booted("6.1.0-56-rt-amd64"), "pass", None, "has no fair server"),
    ("FAIR-SERVER", lambda: booted("6.12.48"), "unknown", None, "could not be read"),
    ("FAIR-SERVER", lambda: booted("mine"), "unknown", None, "neither"),
    (
        "FAIR-SERVER",
        lambda: booted("6.12.48", fair_servers=servers(50_000_000)),
        "note",
        "integrity",
        "0.05 of the time of CPU 0",
    ),
    ("FAIR-SERVER", lambda: booted("6.12.48", fair_servers=servers(0)), "pass", None, "is off"),
    (
        "FAIR-SERVER",
        lambda: booted("6.12.48", fair_servers={"cpu3": {"runtime_ns": 0, "period_ns": 1}}),
        "unknown",
        None,
        "measured",
    ),
    (
        "FAIR-SERVER",
        lambda: recording(minute(cpu_ns=50 * SECOND), inventory=inventory(fair_servers=servers(50_000_000))),
        "warning",
        None,
        "used 83%",
    ),
    ("FAIR-SERVER", bare, "unknown", None, "neither"),
    ("CMDLINE-IGNORED", lambda: booted("6.12.48", cmdline_ignored=ignoring()), "pass", None, "every word"),
    (
        "CMDLINE-IGNORED",
        lambda: booted("6.12.48", cmdline_ignored=ignoring("BOOT_IMAGE=/boot/vmlinuz", "splash")),
        "pass",
        None,
        "every word",
    ),
    ("CMDLINE-IGNORED", lambda: booted("6.12.48", cmdline_ignored=ignoring("fnord=1")), "note", None, "fnord=1"),
    (
        "CMDLINE-IGNORED",
        lambda: booted("6.12.48", cmdline_ignored=ignoring("isolcpu=2-3")),
        "warning",
        "integrity",
        "isolcpu=2-3 (meant: isolcpus?)",
    ),
    (
        "CMDLINE-IGNORED",
        lambda: booted("6.12.48", cmdline_ignored=ignoring(nohz=True)),
        "warning",
        None,
        "CONFIG_NO_HZ_FULL",
    ),
    ("CMDLINE-IGNORED", lambda: booted("5.10.0", cmdline_ignored=ignoring()), "unknown", None, "before 5.14"),
    ("CMDLINE-IGNORED", lambda: booted("6.12.48"), "unknown", None, "beginning"),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: watching(
            {"cpu/cpu0.busy": [0.4] * 60}, inventory=isolated(isolated=[], nohz_full=[], cgroup_isolated=[0])
        ),
        "warning",
        None,
        "isolated CPU 0 40% busy",
    ),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: watching(
            {"cpu/cpu0.busy": [0.0] * 60}, inventory=isolated(isolated=[], cgroup_isolated=[0], unbalanced=[])
        ),
        "warning",
        None,
        "still balances isolated CPU 0",
    ),
    ("TRAILER-STRIPPED", cyclictest, "unknown", None, "no lane"),
    ("MIXED-MEASURES", cyclictest, "unknown", None, "no lane"),
    ("CLOCK-RES", lambda: watching({"clock/realtime.step": [2e9]}), "note", None, "stepped by 2s"),
    (
        "CLOCK-RES",
        lambda: watching(
            {"clock/realtime.step": [2e9]}, facts=facts(clock={"id": "realtime", "getres_ns": 1, "step_ns": 1})
        ),
        "invalid",
        "integrity",
        "the clock that measured",
    ),
    ("CLOCK-RES", lambda: watching({"clock/boottime.offset": [0, 0, 9e9]}), "warning", None, "suspended for 9s"),
    ("CLOCK-READ-COST", watching, "pass", None, "takes 20ns"),
    (
        "CLOCK-READ-COST",
        lambda: watching(facts=facts(clock={"read_cost_ns": 12 * US})),
        "warning",
        "integrity",
        "takes 12us, p50 is 100us",
    ),
    ("CLOCK-READ-COST", bare, "unknown", None, "not known"),
    ("PRIO-TIE", lambda: watching(inventory=inventory(rt_tasks=[])), "pass", None, "no other thread"),
    (
        "PRIO-TIE",
        lambda: watching(inventory=inventory(rt_tasks=[rt_thread()])),
        "warning",
        "integrity",
        "irq/39-dwc_otg (fifo 95) on CPU 0",
    ),
    ("PRIO-TIE", lambda: watching(inventory=inventory(rt_tasks=[rt_thread(priority=90)])), "warning", None, "fifo 90"),
    ("PRIO-TIE", lambda: watching(inventory=inventory(rt_tasks=[rt_thread(priority=89)])), "pass", None, "no other"),
    ("PRIO-TIE", lambda: watching(inventory=inventory(rt_tasks=[rt_thread(cpu=1)])), "pass", None, "no other"),
    (
        "PRIO-TIE",
        lambda: watching(inventory=inventory(rt_tasks=[rt_thread("migration/0", 99), rt_thread("rtprobe", 99)])),
        "pass",
        None,
        "no other",
    ),
    (
        "PRIO-TIE",  # a guard on a board, where the probe's file is named by its content
        lambda: watching(inventory=inventory(rt_tasks=[rt_thread("rtprobe-d1b41b7", 99)])),
        "pass",
        None,
        "no other",
    ),
    (
        "PRIO-TIE",  # a lane of another measurement is no guard
        lambda: watching(inventory=inventory(rt_tasks=[rt_thread("rtprobe-lane", 99)])),
        "warning",
        None,
        "rtprobe-lane (fifo 99)",
    ),
    *(
        (
            "PRIO-TIE",  # the job of exec, its children and a lane that becomes it are what is measured; nothing else is
            lambda comm=comm: watching(
                inventory=inventory(rt_tasks=[rt_thread(comm, 90)]),
                lanes=[block_lane({100_000: 60_000}, measure="job-response")],
                plan=Plan(settings={"command": "/usr/bin/sh -c 'gzip -c a-name-longer-than-the-kernel-keeps'"}),
            ),
            *(("pass", None, "no other") if job else ("warning", None, f"{comm} (fifo 90)")),
        )
        for comm, job in {"sh": True, "gzip": True, "a-name-longer-t": True, "rtprobe-lane": True, "hog": False}.items()
    ),
    (
        "PRIO-TIE",
        lambda: watching(inventory=inventory(rt_tasks=[rt_thread(priority=0, policy="deadline")])),
        "warning",
        None,
        "deadline",
    ),
    (
        "PRIO-TIE",
        lambda: watching(
            {"threads/hog[77].busy": [0.5] * 60, "threads/hog[77].priority": [], "threads/hog[77].cpu": []},
            before={"threads/hog[77].priority": 99.0, "threads/hog[77].cpu": 0.0},
        ),
        "warning",
        None,
        "hog (real-time 99) on CPU 0 (50.0% busy)",
    ),
    (
        "PRIO-TIE",
        lambda: watching({"threads/x[1].busy": [0.0]}, inventory=inventory(rt_tasks=[rt_thread()])),
        "warning",
        None,
        "slept all along",
    ),
    ("PRIO-TIE", watching, "unknown", None, "not known"),
    (
        "RT-THROTTLE-ON",
        lambda: watching(lines=["sched: RT throttling activated"], inventory=inventory(rt_runtime_us=950_000)),
        "warning",
        None,
        "throttled real-time threads during the run",
    ),
    (
        "RT-THROTTLE-ON",
        lambda: watching(
            inventory=inventory(rt_runtime_us=950_000, throttle_messages=["[1.0] old"]),
            inventory_end={"throttle_messages": ["[1.0] old", "[99.0] sched: RT throttling activated"]},
        ),
        "warning",
        None,
        "during the run: [99.0]",
    ),
    (
        "RT-THROTTLE-ON",
        lambda: watching(
            watched=["threads"],
            inventory=inventory(rt_runtime_us=950_000, throttle_messages=["[1.0] old"]),
            inventory_end={"throttle_messages": ["[1.0] old"]},
        ),
        "note",
        None,
        "earlier in this boot",
    ),
    (
        "RT-THROTTLE-ON",
        lambda: watching({"threads/hog[7].busy": [0.9] * 9}, inventory=inventory(rt_runtime_us=950_000)),
        "warning",
        None,
        "hog[7] used 90%",
    ),
    ("DEBUG-KERNEL", lambda: watching(inventory=kernel(debug=[])), "pass", None, "no costly"),
    (
        "DEBUG-KERNEL",
        lambda: watching(inventory=kernel(debug=["PROVE_LOCKING", "KASAN"])),
        "warning",
        "integrity",
        "PROVE_LOCKING, KASAN",
    ),
    ("DEBUG-KERNEL", lambda: watching(inventory=kernel(debug=["PAGE_POISONING"])), "pass", None, "no costly"),
    ("DEBUG-KERNEL", lambda: watching(inventory=kernel(debug=["slub_debug=FZ"])), "warning", None, "slub_debug=FZ"),
    (
        "DEBUG-KERNEL",
        lambda: watching(
            inventory=kernel(debug=[])
            | {"tracing": {"current_tracer": "function", "tracing_on": True, "events_enabled": 0}}
        ),
        "warning",
        None,
        "the tracer function",
    ),
    (
        "DEBUG-KERNEL",
        lambda: watching(
            inventory=kernel(debug=[]) | {"tracing": {"current_tracer": "nop", "tracing_on": True, "events_enabled": 0}}
        ),
        "pass",
        None,
        "no costly",
    ),
    ("DEBUG-KERNEL", bare, "unknown", None, "could not be read"),
    ("GOVERNOR", lambda: watching({"frequency/cpu0.limit": [1e9, 2e9]}), "pass", None, "performance"),
    ("GOVERNOR", lambda: watching({"frequency/cpu3.frequency": [1e9, 2e9]}), "pass", None, "performance"),
    ("CSTATES", lambda: held(0), "pass", None, "held at 0 us"),
    ("CSTATES", lambda: held(None), "warning", "integrity", "C6 takes 133 us to leave"),
    ("CSTATES", lambda: held(None, NO_IDLE_STATES), "pass", None, "no idle state"),
    ("CSTATES", lambda: held(None, {}), "warning", None, "was not held"),
    ("CSTATES", bare, "unknown", None, "not known"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(0), "note", "optimism", "held cpu_dma_latency at 0 us"),
    (
        "DMA-LATENCY-SIDE-EFFECT",
        lambda: held(0, labels={"dma-latency": "off"}),
        "warning",
        "optimism",
        "the application will not",
    ),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(0, labels={"dma-latency": "held"}), "pass", None, "so does the"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(None), "pass", None, "was not held"),
    ("DMA-LATENCY-SIDE-EFFECT", lambda: held(0, NO_IDLE_STATES), "pass", None, "no idle state"),
    ("DMA-LATENCY-SIDE-EFFECT", bare, "unknown", None, "not known"),
    ("IRQ-ON-MEASURED", lambda: watching(inventory=isolated(isolated=[], nohz_full=[])), "pass", None, "no measured"),
    (
        "IRQ-ON-MEASURED",
        lambda: watching({"interrupts/cpu0.39:dwc_otg": [8000.0] * 60}, inventory=isolated()),
        "warning",
        "integrity",
        "dwc_otg on CPU 0",
    ),
    (
        "IRQ-ON-MEASURED",
        lambda: watching({"interrupts/cpu0.39:mmc0": [2.0]}, inventory=isolated()),
        "note",
        None,
        "mmc0 on CPU 0 (0.033/s)",
    ),
    (
        "IRQ-ON-MEASURED",
        lambda: watching(
            {
                "interrupts/cpu0.LOC": [250.0] * 60,
                "interrupts/cpu0.11:arch_timer": [250.0] * 60,
                "interrupts/cpu1.39:dwc_otg": [8000.0] * 60,
            },
            inventory=isolated(),
        ),
        "pass",
        None,
        "no device",
    ),
    ("IRQ-ON-MEASURED", lambda: watching(watched=["interrupts"], inventory=isolated()), "pass", None, "no device"),
    ("IRQ-ON-MEASURED", lambda: watching(inventory=isolated()), "unknown", None, "were not counted"),
    ("IRQ-ON-MEASURED", bare, "unknown", None, "not known"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching(inventory=isolated(isolated=[], nohz_full=[])), "pass", None, "no measu"),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: watching({"interrupts/cpu0.LOC": [1250.0] * 60}, inventory=isolated()),
        "warning",
        "integrity",
        "still ticked 250 times",
    ),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: watching({"cpu/cpu0.busy": [0.3] * 60}, inventory=isolated()),
        "warning",
        None,
        "kept isolated CPU 0 30% busy",
    ),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: watching({"interrupts/cpu0.LOC": [1001.0] * 60, "cpu/cpu0.busy": [0.01] * 60}, inventory=isolated()),
        "pass",
        None,
        "nothing else ran",
    ),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: under(load(), telemetry={"cpu/cpu0.busy": [0.9] * 60}, inventory=isolated()),
        "pass",
        None,
        "nothing else",
    ),
    ("ISOL-NOT-EFFECTIVE", lambda: watching(inventory=isolated()), "unknown", None, "is not known"),
    ("ISOL-NOT-EFFECTIVE", bare, "unknown", None, "not known"),
    ("SMI-FIRMWARE", lambda: watching({"firmware/cpu0.smi": [0.0] * 60}), "pass", None, "no system management"),
    ("SMI-FIRMWARE", lambda: watching({"firmware/cpu0.smi": [0.0, 2.0, 1.0]}), "warning", "integrity", "3 system man"),
    ("SMI-FIRMWARE", lambda: two_lanes_late([3.0, 17.0]), "warning", None, "late together 2 times"),
    (
        "SMI-FIRMWARE",
        lambda: two_lanes_late([3.0], inventory=inventory(virtualisation="kvm")),
        "unknown",
        None,
        "nothing on this board",
    ),
    ("SMI-FIRMWARE", watching, "unknown", None, "nothing on this board"),
]

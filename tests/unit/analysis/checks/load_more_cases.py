"""More cases of the checks on other threads, loads, heat, power, memory and time, for test_checks.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rtassay.model.manifest import LoadEntry, Obtained, Plan, WorkPart
from rtassay.model.recording import Message, Recording, Series

from ..build import (
    MS,
    SECOND,
    US,
    block_lane,
    counted_lane,
    cyclictest,
    facts,
    inventory,
    recording,
    seconds,
    spills_of,
)
from .condition_cases import BEGIN, Case, isolated, late_at, load, minute, scattered, under, watching

NAN = float("nan")


def tasks(*rows: Mapping[str, Any], **changes: Any) -> Recording:
    return watching(inventory=inventory(rt_tasks=list(rows)), **changes)


def thread(tid: int, comm: str = "x", priority: int | None = 95, cpu: int | None = 0, **changes: Any) -> dict[str, Any]:
    return {"tid": tid, "pid": 1, "comm": comm, "policy": "fifo", "priority": priority, "cpu": cpu} | changes


def lines_at(*at_s: float, text: str) -> Recording:
    made = watching(watched=["kernel-log"])
    return replace(made, messages=tuple(Message("kernel-log", BEGIN + round(s * SECOND), text) for s in at_s))


def named_load(name: str, *parts: WorkPart, **changes: Any) -> LoadEntry:
    return replace(load(*parts, **changes), name=name)


def per_10s(name: str, values: Sequence[float], made: Recording, monitor: str = "load") -> Recording:
    """With this series, a value every ten seconds of a minute."""
    times = [BEGIN + 10 * SECOND * i for i in range(len(values))]
    row = Series(monitor, name, "1/s", np.array(times), np.array(values, dtype=float))
    return replace(made, telemetry=(*made.telemetry, row))


def skipped(n: int, did: int = 1) -> list[WorkPart]:
    return [WorkPart(f"s{i}", skipped=True) for i in range(n)] + [WorkPart(f"d{i}", 5.0) for i in range(did)]


def spilled(at_ms: Sequence[float], index: int = 0, **changes: Any) -> Any:
    rows = [(int(at), round((at - int(at)) * MS), 0) for at in at_ms]
    return replace(minute(index, spilled=len(rows), **changes), spills=spills_of(rows))


def in_step(apart_ns: int) -> Recording:
    """Two lanes at 10 ms, due so long after each other, with one outlier each."""
    lanes = (spilled([100.4 + 200 * i], i, interval_ns=10 * MS, first_due_ns=BEGIN + i * apart_ns) for i in range(2))
    return recording(*lanes)


def of_tops(*rows: Sequence[int]) -> Recording:
    """Lanes with these maxima of their seconds."""
    return recording(*(replace(minute(i), seconds=seconds(row)) for i, row in enumerate(rows)))


PEAK_LATE = [1] * 48 + [9] + [1] * 11
FREQUENCY = {"frequency/cpu0.limit": [1.5e9, 0.6e9], "frequency/cpu0.rated": [1.5e9]}

MORE_OF_LOADS: list[Case] = [
    (  # the four highest of five threads, by priority, then by tid; two are ours
        "PRIO-TIE",
        lambda: tasks(thread(9, "e", 91), thread(7, "b", 95), thread(5, "a", 95), thread(6, "d", 92), thread(8, "c", 93), thread(1, "main", 99), thread(2, "writer", 99)),
        "warning",
        None,
        "a (fifo 95) on CPU 0, b (fifo 95) on CPU 0, c (fifo 93) on CPU 0 and 2 more: their",
    ),
    ("PRIO-TIE", lambda: tasks(*(thread(10 + i, f"t{i:02}") for i in range(22))), "warning", None, "t02 (fifo 95) on CPU 0 and 19 more"),
    ("PRIO-TIE", lambda: tasks(*(thread(5 + i, f"t{i}") for i in range(4))), "warning", None, "t2 (fifo 95) on CPU 0 and 1 more: their"),
    ("PRIO-TIE", lambda: tasks(thread(5, "a"), thread(6, "b"), thread(7, "c")), "warning", None, "c (fifo 95) on CPU 0: their"),
    ("PRIO-TIE", lambda: tasks(thread(5, "a", cpu=None), thread(6, "b", None)), "pass", None, "no other thread"),
    ("PRIO-TIE", lambda: tasks(thread(None, "a") | {"pid": 7}, thread(None, "b") | {"pid": None}, thread(8, None)), "warning", None, "a (fifo 95) on CPU 0, ? (fifo 95) on CPU 0: their"),
    ("PRIO-TIE", lambda: tasks(thread(5, "stopper/3", 99), thread(6, "migration/12", 99), thread(7, "migration/x", 99)), "warning", None, "preempt migration/x (fifo 99) on CPU 0: their"),
    (
        "PRIO-TIE",  # watched at two places and priorities: all its CPUs, its highest priority
        lambda: watching(
            {"threads/hog[77].priority": [10.0, 95.0, 20.0], "threads/hog[77].cpu": [1.0, 0.0, 2.0], "threads/hog[77].busy": [0.25] * 60, "threads/odd": [1.0]},
            lanes=[minute(0), minute(1)],
        ),
        "warning",
        None,
        "hog (real-time 95) on CPU 0-1 (25.0% busy)",
    ),
    (
        "PRIO-TIE",  # known before the run at 40, seen at 92 in it
        lambda: watching({"threads/x[5].priority": [92.0], "threads/x[5].cpu": [0.0]}, inventory=inventory(rt_tasks=[thread(5, "x", 40, cpu=3)])),
        "warning",
        None,
        "x (fifo 92) on CPU 0 (slept all along)",
    ),
    ("PRIO-TIE", lambda: watching({"threads/x[5].priority": [92.0], "threads/x[5].cpu": [0.0]}, inventory=inventory(rt_tasks=[thread(5, "x", 99, cpu=0)])), "warning", None, "x (fifo 99)"),
    ("PRIO-TIE", lambda: tasks(thread(5), lanes=[minute(obtained_start=Obtained("other", 0), obtained_end=None)]), "unknown", None, "priorities are not known"),
    ("PRIO-TIE", lambda: tasks(thread(5), lanes=[minute(obtained_start=None)]), "warning", None, "x (fifo 95)"),
    ("PRIO-TIE", lambda: tasks(thread(5), lanes=[minute(obtained_start=None, obtained_end=None)]), "unknown", None, "priorities are not known"),
    ("PRIO-TIE", lambda: tasks(thread(5), lanes=[minute(), minute(1, cpu=None)]), "unknown", None, "priorities are not known"),
    ("PRIO-TIE", lambda: tasks(thread(5), lanes=[minute(), minute(1, obtained_start=Obtained("rr", None))]), "unknown", None, "priorities are not known"),
    ("PRIO-TIE", lambda: tasks(thread(5), lanes=[minute(obtained_start=Obtained("deadline", 96))]), "pass", None, "no other thread"),
    ("PRIO-TIE", lambda: tasks(thread(77), lanes=[minute(tid=77)]), "pass", None, "no other thread"),
    ("IRQ-ON-MEASURED", lambda: watching({"interrupts/cpu0.39:a": [1.0] * 60, "interrupts/cpu0.40:b": [3.0] * 60, "interrupts/cpu0.41:": [2.0] * 60, "interrupts/cpu0.42:d": [4.0] * 60, "interrupts/cpu0.43:e": [0.0] * 60}, inventory=isolated()), "warning", None, "d on CPU 0 (4/s), b on CPU 0 (3/s), 41 on CPU 0 (2/s)"),
    ("IRQ-ON-MEASURED", lambda: watching({"interrupts/cpu0.39:a": [0.99] * 60}, inventory=isolated()), "note", None, "a on CPU 0 (0.99/s)"),
    ("IRQ-ON-MEASURED", lambda: watching({"interrupts/cpu0.39:a": [1.0] * 60}, inventory=isolated()), "warning", None, "(1/s)"),
    ("IRQ-ON-MEASURED", lambda: watching({"interrupts/cpu0.39:a": [99.96] * 60}, inventory=isolated()), "warning", None, "(100/s)"),
    ("IRQ-ON-MEASURED", lambda: watching({f"interrupts/cpu0.{i}:i{i}": [float(i)] * 60 for i in range(1, 24)}, inventory=isolated()), "warning", None, "i23 on CPU 0 (23/s)"),
    ("IRQ-ON-MEASURED", lambda: watching({"interrupts/cpu0.RES": [99.0] * 60}, inventory=isolated()), "pass", None, "no device"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"interrupts/cpu0.LOC": [1049.9] * 60, "cpu/cpu0.busy": [0.05]}, inventory=isolated()), "pass", None, "nothing else"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"interrupts/cpu0.LOC": [1050.0] * 60}, inventory=isolated()), "warning", None, "ticked 50 times"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"interrupts/cpu0.LOC": [9999.0] * 60}, inventory=isolated(nohz_full=[])), "unknown", None, "isolated CPU 0 is not known"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"interrupts/cpu0.17:arch_timer": [1250.0] * 60}, inventory=isolated(isolated=[])), "warning", None, "ticked 250"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"interrupts/cpu1.LOC": [9999.0] * 60, "interrupts/cpu0.17:eth": [9999.0] * 60, "cpu/cpu0.busy": [0.01]}, inventory=isolated()), "pass", None, "nothing else"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"cpu/cpu0.busy": [0.0501], "cpu/cpu0.idle": [0.9]}, inventory=isolated()), "warning", None, "CPU 0 5% busy"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"cpu/cpu0.busy": [0.01]}, lanes=[minute(0), minute(1)], inventory=isolated(isolated=[0, 1])), "unknown", None, "isolated CPU 1 is not known"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"cpu/cpu0.busy": [0.1]}, lanes=[minute(cpu_ns=12 * SECOND)], inventory=isolated()), "pass", None, "nothing else"),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"cpu/cpu0.busy": [0.9]}, inventory=isolated(), plan=Plan(interval_ns=MS, load_cpus=(0,))), "pass", None, "nothing else"),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda: watching({f"cpu/cpu{i}.busy": [0.5] for i in range(4)} | {"interrupts/cpu0.LOC": [2000.0] * 60}, lanes=[minute(i) for i in range(4)], inventory=isolated(isolated=[0, 1, 2, 3], nohz_full=[0])),
        "warning",
        None,
        "ticked 1000 times a second; something else kept isolated CPU 0 50% busy; something else kept isolated CPU 1 50% busy",
    ),
    ("ISOLATED-NOT-STRESSED", lambda: watching({"cpu/cpu0.busy": [0.05]}, inventory=isolated()), "warning", None, "CPU 0 ran nothing"),
    ("ISOLATED-NOT-STRESSED", lambda: watching({"cpu/cpu0.busy": [0.06]}, inventory=isolated()), "pass", None, "something else ran"),
    ("ISOLATED-NOT-STRESSED", lambda: watching({"cpu/cpu0.busy": [0.5], "cpu/cpu1.busy": [0.0]}, lanes=[minute(0), minute(1)], inventory=isolated(isolated=[0, 1])), "warning", None, "isolated CPU 1 ran nothing"),
    ("ISOLATED-NOT-STRESSED", lambda: watching(inventory=isolated()), "unknown", None, "not known"),
    ("ISOLATED-NOT-STRESSED", lambda: under(load(classes=()), telemetry={"cpu/cpu0.busy": [0.0]}, inventory=isolated()), "pass", None, "themselves"),
    ("ISOLATED-NOT-STRESSED", lambda: under(load(classes=(), cpus=(1,)), telemetry={"cpu/cpu0.busy": [0.0]}, inventory=isolated()), "unknown", None, "not known"),
    ("ISOLATED-NOT-STRESSED", lambda: under(load(classes=("cpu",), cpus=(1,)), named_load("b", classes=("vm",), cpus=(2,)), inventory=isolated()), "pass", None, "all CPUs share"),
    ("NO-LOAD", lambda: watching({"cpu/all.busy": [0.1999]}, labels={}), "warning", None, "20% busy: says"),
    ("NO-LOAD", lambda: watching({"cpu/all.busy": [0.2]}, labels={}), "pass", None, "20% busy"),
    ("NO-LOAD", lambda: under(load(), telemetry={"cpu/all.busy": [0.1999]}), "note", None, "was declared, but"),
    ("NO-LOAD", lambda: under(load(), telemetry={"cpu/all.busy": [0.2]}), "pass", None, "under load stress-ng"),
    ("NO-LOAD", lambda: watching(labels={"load": " None "}), "warning", None, "CPU use is not known"),
    ("NO-LOAD", lambda: watching(labels={"load": "idle"}), "warning", None, "no load was started"),
    ("NO-LOAD", lambda: cyclictest(minute(), facts={"import": {"load": " a fair "}}), "pass", None, "declared: a fair"),
    ("NO-LOAD", lambda: cyclictest(minute(), facts={"import": {"load": "unknown"}}), "unknown", None, "--label"),
    ("NO-LOAD", lambda: cyclictest(minute(), facts={"import": {"load": "a"}}, labels={"load": " b "}), "pass", None, "declared: b"),
    ("NO-LOAD", lambda: watching(labels={}, plan=Plan(load="")), "warning", None, "no load was started"),
    ("NO-LOAD", lambda: watching(labels={}, plan=Plan(), inventory={}), "unknown", None, "whether the board was under load"),
    ("NO-LOAD", lambda: watching(labels={}, plan=Plan(argv=("rtassay",)), inventory={}, facts={"import": {"live": True}}), "warning", None, "no load was started"),
    ("NO-LOAD", lambda: watching(labels={}, facts={"import": {"live": False}}), "unknown", None, "whether the board"),
    ("NO-LOAD", lambda: replace(under(load()), manifest=replace(under(load()).manifest, plan=Plan())), "pass", None, "under load stress-ng"),
    ("LOAD-WINDOW", lambda: replace(under(load()), lanes=(), manifest=replace(under(load()).manifest, started_ns=None, ended_ns=None, lanes=())), "unknown", None, "begin and end"),
    ("LOAD-WINDOW", lambda: under(replace(load(error="bad"), ended_ns=BEGIN + 9 * SECOND), named_load("b", error="worse")), "invalid", None, "stress-ng ended 51s before"),
    ("LOAD-WINDOW", lambda: under(load(error="bad"), named_load("b", error="worse")), "warning", None, "as meant: stress-ng: bad"),
    ("LOAD-WINDOW", lambda: under(load(), named_load("b")), "pass", None, "stress-ng, b ran from"),
    ("LOAD-WINDOW", lambda: under(replace(load(exit_code=None, signal=9), ended_ns=BEGIN + 9 * SECOND)), "invalid", None, "60s, signal 9"),
    ("LOAD-WINDOW", lambda: under(replace(load(exit_code=0, signal=None), ended_ns=BEGIN + 9 * SECOND)), "invalid", None, "of 60s"),
    ("LOAD-WINDOW", lambda: under(*(replace(named_load(f"n{i}"), ended_ns=BEGIN + 9 * SECOND) for i in range(4))), "invalid", None, "n2 ended"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"cpu/all.busy": [0.5] * 20 + [0.0999] * 3 + [0.5] * 37}), "warning", None, "idle from 19.5s into the run for 3s"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"cpu/all.busy": [0.5] * 20 + [0.1] * 9 + [0.5] * 31}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"cpu/all.busy": [0.5] * 20 + [0.0] * 2 + [0.5] * 38}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"cpu/all.busy": [0.49] * 20 + [0.0] * 9 + [0.49] * 31}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"cpu/all.busy": [0.9] * 55 + [0.0] * 5}), "warning", None, "idle from 54.5s into the run for 5s"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"cpu/all.busy": [0.0] * 5 + [0.9] * 20 + [0.0] * 9 + [0.9] * 26}), "warning", None, "idle from 500ms into the run for 4s"),
    ("LOAD-WINDOW", lambda: per_10s("all.busy", [0.9, 0.9, 0.9, 0.0], under(load()), "cpu"), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: per_10s("all.busy", [0.9, 0.9, 0.9, 0.9, 0.0], under(load()), "cpu"), "warning", None, "from 30s into the run for 10s"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [2.0] * 30 + [0.0999] * 4 + [2.0] * 26}), "warning", None, "did nothing from 29.5s into the run for 4s"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [2.0] * 30 + [0.1] * 4 + [2.0] * 26}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [2.0] + [0.0] * 59}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [0.1, 0.1] + [0.0] * 58}), "warning", None, "from 1.5s into the run for 58s"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [0.0999] * 2 + [0.0] * 58}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: per_10s("0.stress-ng.cpus", [2.0, 2.0, 0.0, 0.0], under(load())), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: per_10s("0.stress-ng.cpus", [2.0, 2.0, 0.0, 0.0, 0.0], under(load())), "warning", None, "from 10s into the run for 30s"),
    ("LOAD-WINDOW", lambda: per_10s("0.stress-ng.work", [2.0, 2.0, 2.0, 2.0], under(load())), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: per_10s("0.stress-ng.work", [2.0, 2.0, NAN, 2.0, 2.0, 2.0], under(load())), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.work": [2.0] * 20 + [NAN] * 5 + [2.0] * 35}), "warning", None, "did no work from 19.5s into the run for 6s"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.work": [2.0] * 20 + [NAN] * 4 + [2.0] * 36}), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: under(load(), telemetry={"load/0.stress-ng.work": [2.0] * 20 + [0.0] * 5 + [2.0] * 35}), "warning", None, "did no work from 19.5s into the run for 5s"),
    ("LOAD-WINDOW", lambda: under(load(), named_load("b"), telemetry={"load/0.stress-ng.cpus": [2.0] * 60, "load/1.b.cpus": [2.0] * 20 + [0.0] * 40}), "warning", None, "b did nothing from 19.5s"),
    ("LOAD-UNKNOWN", lambda: replace(watching(plan=Plan(load="x"), labels={})), "unknown", None, "nothing of the load"),
    ("LOAD-UNKNOWN", lambda: cyclictest(minute()), "unknown", None, "what load ran"),
    ("LOAD-UNKNOWN", lambda: under(load(*skipped(6))), "warning", "integrity", "s3 did not run and 2 more"),
    ("LOAD-UNKNOWN", lambda: under(load(*skipped(4))), "warning", "integrity", "s3 did not run"),
    ("LOAD-UNKNOWN", lambda: under(load(*skipped(5))), "warning", "integrity", "s3 did not run and 1 more"),
    ("LOAD-UNKNOWN", lambda: under(load(*skipped(3, 0), operations=None)), "warning", "optimism", "did no work at all; stress-ng s0"),
    ("LOAD-UNKNOWN", lambda: under(*(named_load(f"n{i}", operations=0.0) for i in range(4))), "warning", "optimism", "n2 did no work at all"),
    ("LOAD-UNKNOWN", lambda: under(*(named_load(f"n{i}", operations=None, user_ns=64 * SECOND) for i in range(4))), "note", "integrity", "n2 does not tell"),
    ("LOAD-UNKNOWN", lambda: under(load(operations=None, user_ns=32 * SECOND, system_ns=32 * SECOND)), "note", "integrity", "it used 1 CPUs"),
    ("LOAD-UNKNOWN", lambda: under(load(operations=None, user_ns=639 * MS)), "warning", "optimism", "no CPU time"),
    ("LOAD-UNKNOWN", lambda: under(load(operations=None, user_ns=640 * MS)), "note", "integrity", "it used 0.01 CPUs"),
    ("LOAD-UNKNOWN", lambda: under(load(operations=None, user_ns=64 * SECOND), telemetry={"load/0.stress-ng.cpus": [0.0, 0.0198]}), "warning", "optimism", "no CPU time"),
    ("LOAD-UNKNOWN", lambda: under(load(operations=None, user_ns=0), telemetry={"load/0.stress-ng.cpus": [0.0, 0.02], "load/1.stress-ng.cpus": [9.0]}), "note", "integrity", "it used 0.01 CPUs"),
    ("LOAD-UNKNOWN", lambda: under(load(WorkPart("a", 5.0), operations=None)), "pass", None, "did work"),
    ("LOAD-UNKNOWN", lambda: under(load(WorkPart("a"), operations=None)), "warning", None, "does not tell what work"),
    ("LOAD-UNKNOWN", lambda: under(load(exit_code=None, signal=11, ended_ns=BEGIN + 9 * SECOND)), "warning", "integrity", "was ended by signal 11"),
    ("LOAD-UNKNOWN", lambda: under(load(exit_code=0, signal=None, ended_ns=BEGIN + 9 * SECOND)), "pass", None, "did work"),
    ("LOAD-UNKNOWN", lambda: under(load(classes=("gpu",), software=True, user_ns=639 * MS)), "warning", "optimism", "GPU busy"),
    ("LOAD-UNKNOWN", lambda: under(load(classes=("gpu",), software=True, user_ns=640 * MS)), "pass", None, "did work"),
    ("LOAD-UNKNOWN", lambda: under(load(classes=("gpu",), software=True)), "warning", "optimism", "GPU busy"),
    ("LOAD-UNKNOWN", lambda: under(load(classes=("gpu",), software=True, operations=None, user_ns=64 * SECOND)), "warning", "optimism", "GPU busy"),
    ("LOAD-PARTIAL", lambda: watching(plan=Plan(load="x"), labels={}), "unknown", None, "nothing of the load"),
    ("LOAD-PARTIAL", lambda: under(load(classes=("cpu", "io", "network", "cache"), cpus=None)), "pass", None, "on every CPU"),
    ("LOAD-PARTIAL", lambda: under(load(WorkPart("cpu", 9.0, instances=4), classes=("cpu", "vm", "hdd", "network"))), "pass", None, "on every CPU"),
    ("LOAD-PARTIAL", lambda: under(load(WorkPart("vm", 9.0, instances=1), classes=("cpu", "vm", "hdd", "network"))), "pass", None, "on every CPU"),
    ("LOAD-PARTIAL", lambda: under(*(named_load(f"n{i}", WorkPart("cpu", 9.0, instances=3), classes=("cpu", "vm", "hdd", "network")) for i in range(3))), "note", None, "n0 cpu on 3 of 4 CPUs; n1 cpu on 3 of 4 CPUs: what"),
    ("LOAD-PARTIAL", lambda: under(load(classes=("io",), cpus=(0,)), inventory=inventory(cpus={"online": None})), "note", None, "no load of cpu, memory, network: what"),
    ("LOAD-PARTIAL", lambda: under(load(classes=("cpu",), cpus=(0, 1)), named_load("b", classes=("vm", "io", "network"), cpus=(1, 2))), "note", None, "1 of 4 CPUs had no load: what"),
    ("LOAD-PARTIAL", lambda: under(load(classes=(), cpus=(0, 1))), "note", None, "2 of 4 CPUs had no load"),
    ("LOAD-DRIFT", watching, "unknown", None, "was declared"),
    ("LOAD-DRIFT", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [2.0] * 30 + [1.0] * 30}), "warning", None, "CPU time per second in the last third was 50%"),
    ("LOAD-DRIFT", lambda: under(load(), telemetry={"load/0.stress-ng.cpus": [2.0] * 60, "load/0.stress-ng.work": [1.0] * 20 + [2.0] * 20 + [3.0] * 20}), "warning", None, "work per second in the last third was 300%"),
    ("LOAD-DRIFT", lambda: under(load(), telemetry={"load/0.stress-ng.work": [0.0] * 20 + [2.0] * 40}), "unknown", None, "not known"),
    ("LOAD-DRIFT", lambda: under(*(named_load(f"n{i}") for i in range(4)), telemetry={f"load/{i}.n{i}.work": [2.0] * 30 + [1.0] * 30 for i in range(4)}), "warning", None, "n2: work per second"),
    ("LOAD-DRIFT", lambda: per_10s("0.stress-ng.work", [2.0, 2.0, 2.0, 1.0, 1.0, 1.0], under(load())), "unknown", None, "30 s"),
    ("LOAD-RT", watching, "unknown", None, "was declared"),
    ("LOAD-RT", lambda: under(load(policy="deadline"), named_load("b", policy="other"), named_load("c", policy="real-time")), "warning", None, "stress-ng ran under deadline; c ran under real-time: it"),
    ("LOAD-RT", lambda: under(load(policy="batch")), "pass", None, "no thread"),
    ("LOAD-RT", lambda: under(load(policy="rr")), "warning", None, "ran under rr"),
    ("OOM-SWAP", lambda: watching({"memory/oom_kills": [2.0, 4.0], "memory/swap_in": [0.0, 7.0, 3.0], "pressure/memory.full": [0.005, 0.0]}, lines=["Out of memory: Killed"]), "warning", None, "killed 2 processes for want of memory; up to 7 pages a second were read back from swap; every task waited for memory for up to 0.50%"),
    ("OOM-SWAP", lambda: watching({"memory/oom_kills": [2.0, 2.0]}, lines=["oom_reaper: reaped"]), "warning", None, "10.0 s into the run: oom_reaper"),
    ("OOM-SWAP", lambda: watching(watched=["kernel-log"]), "pass", None, "no process"),
    ("OOM-SWAP", lambda: watching({"memory/swap_in": [0.0]}), "pass", None, "no process"),
    ("OOM-SWAP", lambda: watching({"memory/oom_kills": [0.0]}), "pass", None, "no process"),
    ("OOM-SWAP", lambda: watching({"memory/free": [5.0]}), "unknown", None, "not watched"),
    ("OOM-SWAP", lambda: watching({"pressure/memory.full": [0.0]}), "pass", None, "no process"),
    ("OOM-SWAP", lambda: watching(lines=["Out of memory: " + "z" * 120]), "warning", None, "Out of memory: zzz"),
    ("DISK-FULL", lambda: lines_at(3, 9, 12, text="mmc0: error " + "z" * 200), "warning", None, "storage gave errors 3.0 s into the run: mmc0: error zzz"),
    ("DISK-FULL", lambda: lines_at(3, 9, text="I/O error"), "warning", None, "I/O error and 1 more"),
    ("THERMAL-THROTTLE", lambda: watching({"cooling/a": [1.0], "cooling/b": [3.0], "cooling/pump": [9.0], **FREQUENCY}, lines=["CPU1: clock throttled " + "z" * 120, "CPU2: clock throttled", "CPU3: clock throttled"]), "invalid", None, "cooling device a at state 1; cooling device b at state 3; CPU 0 was limited"),
    ("THERMAL-THROTTLE", lambda: watching(lines=["CPU1: clock throttled " + "z" * 120, "CPU2: clock throttled", "CPU3: clock throttled"]), "invalid", None, "11.0 s into the run: CPU2"),
    ("THERMAL-THROTTLE", lambda: watching({"frequency/cpu0.limit": [1.5e9], "frequency/cpu0.rated": [1.5e9], "frequency/cpu1.limit": [1.0]}), "pass", None, "no throttling"),
    ("THERMAL-THROTTLE", lambda: watching({"frequency/cpu1.limit": [1.0], "frequency/cpu0.rated": [1.5e9]}), "unknown", None, "nothing on this"),
    ("THERMAL-THROTTLE", lambda: watching({"frequency/cpu0.max": [1.0], "frequency/cpu0.rated": [1.5e9]}), "unknown", None, "nothing on this"),
    ("THERMAL-THROTTLE", lambda: watching({f"frequency/cpu{i}.{what}": [value] for i in range(4) for what, value in (("limit", 1e9), ("rated", 2e9))}), "warning", None, "CPU 2 was limited to 1000 of 2000 MHz"),
    ("THERMAL-THROTTLE", lambda: watching({"raspberry/throttled": [float(0x80000)]}), "warning", None, "soft temperature limit at some time"),
    ("THERMAL-THROTTLE", lambda: watching({"raspberry/throttled": [float(0x80000)]}, before={"raspberry/throttled": 0.0}), "warning", None, "firmware: soft temperature limit"),
    ("THERMAL-THROTTLE", lambda: watching({"raspberry/throttled": [2.0, float(0x40000), float(0x60000)]}, before={"raspberry/throttled": float(0x40000)}), "invalid", None, "during the run: firmware: frequency capped"),
    ("THERMAL-THROTTLE", lambda: watching({"raspberry/throttled": [6.0]}), "invalid", None, "firmware: frequency capped; firmware: throttled"),
    ("THERMAL-THROTTLE", lambda: watching({"raspberry/throttled": [1.0]}), "pass", None, "no throttling"),
    ("UNDERVOLTAGE", lambda: watching({"raspberry/throttled": [float(0x10000)]}, before={"raspberry/throttled": 0.0}), "invalid", None, "during the run"),
    ("UNDERVOLTAGE", lambda: watching({"raspberry/throttled": [14.0]}), "pass", None, "no under-voltage"),
    ("UNDERVOLTAGE", lambda: watching({"raspberry/throttled": [0.0], "raspberry/undervoltage": [0.0]}), "pass", None, "since power-on"),
    ("UNDERVOLTAGE", lambda: watching({"raspberry/throttled": [1.0], "raspberry/undervoltage": [1.0]}), "invalid", None, "alarm was on"),
    ("UNDERVOLTAGE", lambda: lines_at(2, 4, text="Under-voltage detected! " + "z" * 120), "invalid", None, "2.0 s into the run"),
    ("TEMP-DRIFT", lambda: watching({"temperature/cpu-a": [40.0, 46.0], "temperature/cpu-b": [40.0, 50.0], "temperature/soc": [40.0, 48.0]}), "warning", None, "cpu-b went from 40.0 to 50.0"),
    ("TEMP-DRIFT", lambda: watching({"temperature/board": [40.0, 50.0]}), "warning", None, "board went from"),
    ("TEMP-DRIFT", lambda: watching({"temperature/cpu": [40.0]}), "unknown", None, "no temperature"),
    ("TEMP-DRIFT", lambda: watching({"raspberry/throttled": [0.0, 9.0]}), "unknown", None, "no temperature"),
    ("TEMP-DRIFT", lambda: watching({"temperature/cpu": [60 - i / 60 for i in range(120)]}, length_s=120), "warning", None, "-1 degC a minute"),
    ("TEMP-DRIFT", lambda: watching({"temperature/cpu": [60 - i / 120 for i in range(120)]}, length_s=120), "pass", None, "within 5"),
    ("TEMP-DRIFT", lambda: watching({"temperature/cpu": [50 + i / 3 for i in range(9)]}, length_s=120), "pass", None, "within 5"),
    ("TEMP-DRIFT", lambda: watching({"temperature/cpu": [50 + i / 3 for i in range(10)]}, length_s=120), "warning", None, "degC a minute"),
    ("N-TOO-SMALL", lambda: recording(minute(), plan=Plan(interval_ns=MS, deadline_ns=500, p_target=1e-3, confidence=0.9)), "pass", None, "2302 needed for p <= 0.001 at 90%"),
    ("N-TOO-SMALL", lambda: recording(minute(interval_ns=None), plan=Plan(deadline_ns=500)), "warning", None, "without an exceedance"),
    ("N-TOO-SMALL", lambda: recording(minute(), plan=Plan(interval_ns=MS, deadline_ns=500, per_hour=10.0)), "warning", None, "at most 10/h at 95% needs 1078464 without an exceedance (18min"),
    ("N-TOO-SMALL", lambda: recording(minute(), plan=Plan(interval_ns=MS, deadline_ns=500, per_hour=200.0)), "pass", None, "53924 needed for at most 200/h"),
    ("N-TOO-SMALL", lambda: recording(minute(), plan=Plan(interval_ns=MS, deadline_ns=500, per_hour=0.0)), "warning", None, "no number of activations"),
    ("N-TOO-SMALL", lambda: recording(minute(interval_ns=None), plan=Plan(deadline_ns=500, per_hour=9.0)), "warning", None, "no number of activations"),
    ("PERCENTILE-UNSUPPORTED", lambda: recording(minute(0), block_lane({9: 10}, index=1), block_lane({9: 10**9}, index=2)), "note", None, "from 90 % on, percentiles of 2 lanes"),
    ("RECORD-LATE", lambda: of_tops(PEAK_LATE), "note", None, "CPU0: the maximum came in the last fifth"),
    ("RECORD-LATE", lambda: of_tops([1] * 47 + [9] + [1] * 12), "pass", None, "did not come"),
    ("RECORD-LATE", lambda: of_tops(PEAK_LATE, PEAK_LATE, [1] * 60), "note", None, "CPU0, CPU1: the maximum"),
    ("RECORD-LATE", lambda: of_tops([*range(60)], [1] * 59 + [99]), "note", None, "CPU1: the maximum came in the last fifth of the run, so it was still growing; CPU0: 41 new maxima"),
    ("RECORD-LATE", lambda: of_tops([9] * 20 + [10, 9, 20, 9, 30, 9, 40, 9, 90] + [9] * 31, [99] * 60, [99] * 60), "note", None, "5 new maxima"),
    ("RECORD-LATE", lambda: of_tops([9] * 20 + [10, 9, 20, 9, 30, 9, 40, 9, 90] + [9] * 31, *([99] * 60 for _ in range(9))), "pass", None, "did not come"),
    ("RECORD-LATE", lambda: of_tops([1] * 48 + [9] + [1] * 12), "pass", None, "did not come"),
    ("STARTUP-MAX", lambda: of_tops([9] + [1] * 59, [1] * 60, [1] * 59 + [9], [1] * 30 + [9] + [1] * 29), "warning", None, "CPU0, CPU2: the maximum came"),
    ("STARTUP-MAX", lambda: of_tops([9] + [1] * 38), "unknown", None, "too short"),
    ("STARTUP-MAX", lambda: of_tops([9] + [1] * 39), "unknown", None, "too short"),
    ("STARTUP-MAX", lambda: of_tops([9] + [1] * 40), "warning", None, "in 0.049 of 1 lanes"),
    ("STARTUP-MAX", lambda: of_tops([9] + [1] * 58 + [9]), "warning", None, "first or last"),
    ("STARTUP-MAX", lambda: of_tops([9] + [1] * 30 + [9] + [1] * 28), "pass", None, "no more"),
    ("STARTUP-MAX", lambda: recording(replace(minute(), seconds=seconds([])), replace(minute(1), seconds=None)), "unknown", None, "does not tell"),
    ("STARTUP-MAX", lambda: recording(replace(minute(), seconds=seconds([5] * 60, n=0))), "unknown", None, "does not tell"),
    ("SIMULTANEOUS", lambda: recording(*(spilled([1000.4, 9000.4], i) for i in range(3))), "note", None, "6 outliers of different lanes"),
    ("SIMULTANEOUS", lambda: recording(*(spilled([1000.4], i) for i in range(8))), "note", None, "28 outliers"),
    ("SIMULTANEOUS", lambda: recording(spilled([1000.4]), spilled([1001.4], 1)), "note", None, "1 outliers"),
    ("SIMULTANEOUS", lambda: recording(spilled([1000.4]), spilled([1001.41], 1)), "pass", None, "do not come"),
    ("SIMULTANEOUS", lambda: recording(spilled([1001.41]), spilled([1000.4], 1)), "pass", None, "do not come"),
    ("SIMULTANEOUS", lambda: recording(spilled([1000.4]), replace(minute(1), spills=None, entry=replace(minute(1).entry, spilled=3))), "unknown", None, "not known"),
    ("SIMULTANEOUS", lambda: recording(spilled([1000.4]), spilled([1000.4], 1), started_ns=None, ended_ns=None), "note", None, "(3.3e-05 by chance)"),
    # in step at 10 ms, but due apart: an outlier of one meets 2 ms of the other, not a whole period
    ("SIMULTANEOUS", lambda: in_step(MS), "pass", None, "more than by chance"),
    ("SIMULTANEOUS", lambda: in_step(MS + 1), "pass", None, "more than by chance"),
    ("SIMULTANEOUS", lambda: in_step(9 * MS), "pass", None, "more than by chance"),
    ("SIMULTANEOUS", lambda: in_step(5 * MS), "pass", None, "more than by chance"),
    ("SIMULTANEOUS", lambda: recording(spilled([]), spilled([5.4], 1)), "pass", None, "do not come"),
    (  # two long lanes in step, at 10 s: any other outlier falls in one period in six
        "SIMULTANEOUS",
        lambda: recording(*(replace(block_lane({9: 6, 2 * MS: 1}, 10 * SECOND, index=i, spilled=1), spills=spills_of([(3, 2 * MS, 0)])) for i in range(2))),
        "pass",
        None,
        "more than by chance",
    ),
    ("CLUSTERED", lambda: late_at(*range(0, 50 * 12_000, 12_000)), "pass", None, "one by one"),
    ("DEPENDENCE-UNKNOWN", lambda: recording(block_lane({9: 9}), block_lane({9: 9}, index=1)), "note", None, "CPU0, CPU1: nothing tells"),
    ("DEPENDENCE-UNKNOWN", lambda: recording(late_at(*scattered(60)).lanes[0], block_lane({9: 9}, index=1), plan=Plan(interval_ns=MS, deadline_ns=300 * US)), "warning", None, "CPU1: nothing tells"),
    ("SINGLE-RUN", recording, "note", None, "one run"),
    ("OBSERVER-LOAD", lambda: recording(counted_lane([9])), "unknown", None, "not known"),
    ("MAIN-ON-MEASURED", lambda: watching(facts=facts(main={"affinity": [8, 1]}), lanes=[minute(0, cpu=1), minute(1, cpu=8)]), "note", None, "CPU 1,8"),
    ("MAIN-ON-MEASURED", lambda: watching(facts=facts(main=None, writer={"affinity": [0]})), "note", None, "writer thread"),
]  # fmt: skip

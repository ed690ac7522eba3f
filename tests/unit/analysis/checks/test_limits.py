"""The exact limits of the checks: what each says one below, at, and one above its threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.checks import CHECKS
from rtassay.analysis.checks.context import Context
from rtassay.analysis.checks.patterns import trend_p
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.summary import lane_findings
from rtassay.model.findings import CheckResult
from rtassay.model.manifest import Damage, LoadEntry, Obtained, Plan, WorkPart
from rtassay.model.recording import Recording

from ..build import (  # fmt: skip
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
    skip_lane,
    spills_of,
)
from .condition_cases import BEGIN, held, isolated, kernel, late_at, load, minute, scattered, under, watching
from .imported_cases import lane, told, with_count

BY_ID = {check.id: check for check in CHECKS}
Limits = Sequence[tuple[Any, str]]


def looked(name: str, made: Recording, deadline_ns: int | None = None, p: float = 1e-6) -> CheckResult:
    """What one check says of a recording."""
    lanes = accounts(made)
    rows = tuple(lane_findings(each, p, 0.95) for each in lanes)
    return BY_ID[name].run(Context(made, lanes, rows, deadline_ns, p, 0.95))


def clock(**told_of_it: Any) -> Recording:
    return watching(facts=facts(clock={"id": "monotonic", "getres_ns": 1, "step_ns": 1} | told_of_it))


def source_clock(name: str | None) -> Recording:
    return watching(inventory=inventory(clocksource=name), inventory_end={"clocksource": name})


def stated(duration_s: int, n: int, **plan: Any) -> Recording:
    return cyclictest(skip_lane({5: n}), plan=Plan(duration_ns=duration_s * SECOND, **plan))


def of_seconds(*maxima: int) -> Recording:
    made = minute()
    return recording(replace(made, seconds=seconds(maxima)))


def peak_at(second: int, length: int = 60) -> Recording:
    return of_seconds(*[9 if i == second else 1 for i in range(length)])


def several_peaks(at_begin: int, lanes: int) -> Recording:
    """So many lanes with their maximum in the first second of a minute, the others in the middle of it."""
    rows = [[9 if i == (0 if lane < at_begin else 30) else 1 for i in range(60)] for lane in range(lanes)]
    return recording(*[replace(minute(i), seconds=seconds(row)) for i, row in enumerate(rows)])


def meeting(together: int, due_apart_ns: int = 0) -> Recording:
    """Two lanes of a minute at 10 ms with 100 outliers each, so many of them in the same activation."""
    lanes = []
    for i in range(2):
        at = [60 * j + (10 if i == 0 or j < together else 40) for j in range(100)]
        lane = minute(i, interval_ns=10 * MS, first_due_ns=BEGIN + i * due_apart_ns, spilled=100)
        lanes.append(replace(lane, spills=spills_of([(k, 400 * US, 0) for k in at])))
    return recording(*lanes)


def apart(ns: int, **changes: Any) -> Recording:
    """Two lanes with one outlier each, so far apart."""
    rows = [[(1000, 400 * US, 0)], [(1000 + ns // MS, 400 * US + ns % MS, 0)]]
    lanes = [replace(minute(i, spilled=1), spills=spills_of(row)) for i, row in enumerate(rows)]
    return recording(*lanes, **changes)


def timed_load(started: int = -2 * SECOND, ended: int | None = 2 * SECOND, asked: int | None = None) -> Recording:
    """A load that starts so long after the measurement begins and ends so long after its end."""
    made = under(load())
    begin, end = made.manifest.started_ns or 0, made.manifest.ended_ns or 0
    row = LoadEntry("stress-ng", ("stress-ng",), started_ns=begin + started)
    row = replace(
        row, ended_ns=None if ended is None else end + ended, stop_asked_ns=None if asked is None else end + asked
    )
    return replace(made, manifest=replace(made.manifest, loads=(row,)))


def loaded(name: str, values: Sequence[float], **changes: Any) -> Recording:
    return under(load(**changes), telemetry={name: values})


def throttled(runtime_us: int | None, cpu_ns: int = 0, busy: float = 0.0) -> Recording:
    return watching(
        {"threads/hog[7].busy": [busy] * 60},
        lanes=[minute(cpu_ns=cpu_ns)],
        inventory=inventory(rt_runtime_us=runtime_us),
    )


def recorder(cpu_ns: int, policy: str = "other", priority: int = 0) -> Recording:
    writer = {"tid": 2, "policy": policy, "priority": priority, "affinity": [0]}
    return watching(facts=facts(writer=writer), end={"writer": {"cpu_ns_by_cpu": {"0": cpu_ns}}})


def temperature(*values: float, length_s: int = 60) -> Recording:
    return watching({"temperature/cpu-thermal": values}, length_s=length_s)


def rising(c_per_min: float, length_s: int) -> Recording:
    return temperature(*(50 + c_per_min * i / 60 for i in range(length_s)), length_s=length_s)


def idle_state(latency_us: int, held_us: int | None) -> Recording:
    state = {"name": "C1", "latency_us": latency_us, "residency_us": 0, "disabled": False}
    return held(held_us, {"idle": {"driver": "x", "governor": "menu"}, "idle_states": {"cpu0": [state]}})


def moved_at_end(state: str) -> Recording:
    """A starved lane is closed, then moved to CPUs where it can end."""
    start, end = (Obtained("fifo", 90, cpus, True) for cpus in ((0,), (1, 2)))
    return watching(lanes=[minute(obtained_start=start, obtained_end=end, migrations=0, state=state)])


def obtained(policy: str = "fifo", priority: int = 90, affinity: tuple[int, ...] = (0,), **changes: Any) -> Recording:
    seen = Obtained(policy, priority, affinity, True)
    return watching(lanes=[minute(obtained_start=seen, obtained_end=seen, **changes)])


def steady_seconds(length: int) -> Recording:
    made = seconds([100 * US + i % 7 for i in range(length)])
    return recording(replace(minute(length_s=length), seconds=replace(made, sum_ns=made.max_ns * 1000)))


def thirds(first: float, last: float, points: int = 60, length_s: int = 60) -> Recording:
    third = points // 3
    values = [first] * third + [first] * (points - 2 * third) + [last] * third
    return under(load(), telemetry={"load/0.stress-ng.work": values}, length_s=length_s)


def bins(*counts: int) -> Recording:
    return cyclictest(lane(0, {us: n for us, n in enumerate(counts, 3)}))


def one_bin(avg_ns: float) -> Recording:
    return told("histogram", lane(counts={20: 1000}, min_ns=20 * US, max_ns=20 * US), avg_ns=avg_ns, max_ns=20 * US,
                min_ns=20 * US)  # fmt: skip


def of_bins(**row: Any) -> Recording:
    made = lane(counts={10: 500, 20: 500}, max_ns=20 * US, min_ns=10 * US)
    return told("histogram", made, **({"min_ns": 10 * US, "avg_ns": 15 * US, "max_ns": 20 * US} | row))


def wall(step: int) -> Recording:
    return recording(replace(minute(), seconds=seconds([1] * 60, wall=[7] * 30 + [7 + step] * 30)))


def virtual(kind: str | None, **labels: str) -> Recording:
    return watching(inventory=inventory(virtualisation=kind), labels={"load": "x"} | labels)


def raised(**changes: Any) -> Recording:
    return recording(minute(**changes))


Row = tuple[str, Callable[[Any], Recording], Limits]
LIMITS: list[Row] = [
    ("CO-MISSED", lambda ns: cyclictest(skip_lane({5: 10}, max_ns=ns)), [(MS - 1, "pass"), (MS, "invalid")]),
    ("CO-MISSED", lambda due: cyclictest(skip_lane({5: 10_000}, due=due)), [(10_002, "pass"), (10_003, "invalid")]),
    (
        "CO-MISSED",
        lambda lost: cyclictest(skip_lane({5: 3_000_000}, due=3_000_000 + lost)),
        [(3, "pass"), (4, "invalid")],
    ),
    (
        "CO-MISSED",
        lambda lost: cyclictest(skip_lane({5: 10_000}, due=10_010, dropped=lost, truncated=4)),
        [(3, "invalid"), (4, "pass")],
    ),
    ("CO-MISSED", lambda n: stated(1000, n), [(999_000, "pass"), (998_999, "invalid")]),
    ("CO-MISSED", lambda n: stated(10, n), [(9_800, "pass"), (9_799, "invalid")]),
    ("CO-MISSED", lambda n: stated(10, n, count=10_000), [(9_799, "pass")]),
    ("COUNT-MISMATCH", lambda n: stated(1000, n), [(1_001_000, "unknown"), (1_001_001, "invalid")]),
    ("COUNT-MISMATCH", lambda n: stated(10, n), [(10_200, "unknown"), (10_201, "invalid")]),
    ("COUNT-MISMATCH", lambda n: stated(10, n, count=99_999), [(10_201, "unknown")]),
    (
        "COUNT-MISMATCH",
        lambda after: raised(closed_ns=65 * SECOND + after),
        [(-1, "invalid"), (0, "pass"), (MS, "pass")],
    ),
    (
        "COUNT-MISMATCH",
        lambda last: raised(last_due_ns=65 * SECOND + last),
        [(-MS, "pass"), (-1, "invalid"), (0, "pass"), (1, "invalid"), (MS, "invalid")],
    ),
    (
        "COUNT-MISMATCH",
        lambda due: raised(missed=None, due=due, last_due_ns=None, closed_ns=None),
        [(60_000, "invalid"), (60_001, "pass"), (60_002, "pass")],
    ),
    ("COUNT-MISMATCH", lambda n: recording(minute(), damage=Damage(lost_frames=n)), [(0, "pass"), (1, "warning")]),
    ("COUNT-MISMATCH", lambda n: recording(minute(), damage=Damage(bad_frames=n)), [(0, "pass"), (1, "warning")]),
    ("COUNT-MISMATCH", lambda n: recording(minute(), damage=Damage(skipped_bytes=n)), [(0, "pass"), (1, "warning")]),
    ("CLOCK-RES", lambda ns: clock(getres_ns=ns), [(1000, "pass"), (1001, "warning")]),
    ("CLOCK-RES", lambda ns: clock(getres_ns=ns, step_ns=None), [(1000, "pass"), (1001, "invalid")]),
    ("CLOCK-RES", lambda ns: clock(getres_ns=2000, step_ns=ns), [(1000, "warning"), (1001, "invalid")]),
    ("CLOCK-RES", lambda ns: clock(step_ns=ns), [(1000, "pass"), (1001, "warning")]),
    (
        "CLOCK-RES",
        source_clock,
        [("tsc", "pass"), ("hpet", "warning"), ("acpi_pm", "warning"), ("mystery", "note"), (None, "pass")],
    ),
    (
        "CLOCK-RES",
        lambda ns: watching({"clock/boottime.offset": [0, ns]}),
        [(10 * MS, "pass"), (10 * MS + 1, "warning")],
    ),
    (
        "CLOCK-RES",
        lambda ns: watching({"clock/realtime.step": [0, ns]}),
        [(MS, "pass"), (MS + 1, "note"), (-MS, "pass"), (-MS - 1, "note")],
    ),
    ("CLOCK-RES", wall, [(MS, "pass"), (MS + 1, "note"), (-MS - 1, "note")]),
    ("CLOCK-READ-COST", lambda ns: clock(read_cost_ns=ns), [(10 * US, "pass"), (10 * US + 1, "warning")]),
    ("STARTUP-MAX", peak_at, [(0, "warning"), (1, "pass"), (58, "pass"), (59, "warning")]),
    ("STARTUP-MAX", lambda length: peak_at(0, length), [(40, "unknown"), (41, "warning")]),
    ("STARTUP-MAX", lambda top: of_seconds(9, *[1] * 30, top, *[1] * 28), [(8, "warning"), (9, "pass")]),
    ("STARTUP-MAX", lambda lanes: several_peaks(lanes, 4), [(1, "pass"), (2, "warning")]),
    ("RECORD-LATE", lambda second: peak_at(second, 10), [(7, "pass"), (8, "note")]),
    # 1.67 meet by chance where both are due together
    ("SIMULTANEOUS", meeting, [(7, "pass"), (8, "note")]),
    ("SIMULTANEOUS", lambda together: meeting(together, MS), [(7, "pass"), (8, "note")]),
    ("SIMULTANEOUS", apart, [(0, "note"), (MS, "note"), (MS + 1, "pass"), (-MS, "note"), (-MS - 1, "pass")]),
    ("SMI-FIRMWARE", apart, [(0, "warning"), (MS, "warning"), (MS + 1, "unknown"), (-MS, "warning"), (-MS - 1, "unknown")]),
    (
        "IRQ-ON-MEASURED",
        lambda events: watching({"interrupts/cpu0.39:mmc0": [1.0] * events}, inventory=isolated()),
        [(59, "note"), (60, "warning")],
    ),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda rate: watching({"interrupts/cpu0.LOC": [rate] * 60}, inventory=isolated()),
        [(1049.9, "pass"), (1050.0, "warning")],
    ),
    (
        "ISOL-NOT-EFFECTIVE",
        lambda busy: watching({"cpu/cpu0.busy": [busy] * 60}, lanes=[minute(cpu_ns=0)], inventory=isolated()),
        [(0.05, "pass"), (0.0625, "warning")],
    ),
    (
        "ISOLATED-NOT-STRESSED",
        lambda busy: watching(
            {"cpu/cpu0.busy": [busy] * 60}, lanes=[minute(cpu_ns=0)], inventory=isolated(), labels={}
        ),
        [(0.046875, "warning"), (0.0625, "pass")],
    ),
    (
        "NO-LOAD",
        lambda busy: watching({"cpu/all.busy": [busy] * 4}, labels={}),
        [(0.1875, "warning"), (0.2, "pass"), (0.25, "pass")],
    ),
    ("NO-LOAD", lambda busy: loaded("cpu/all.busy", [busy] * 4), [(0.1875, "note"), (0.2, "pass")]),
    (
        "NO-LOAD",
        lambda text: watching(labels={"load": text}),
        [("none", "warning"), ("No", "warning"), ("idle", "warning"), ("unknown", "warning"), ("pump", "pass")],
    ),
    ("LOAD-WINDOW", lambda ns: timed_load(started=ns), [(SECOND, "pass"), (SECOND + 1, "invalid")]),
    ("LOAD-WINDOW", lambda ns: timed_load(ended=ns), [(-SECOND, "pass"), (-SECOND - 1, "invalid"), (None, "invalid")]),
    ("LOAD-WINDOW", lambda ns: timed_load(ended=None, asked=ns), [(-SECOND, "pass"), (-SECOND - 1, "invalid")]),
    (
        "LOAD-WINDOW",
        lambda idle: loaded("load/0.stress-ng.cpus", [1.0] * 20 + [0.0] * idle + [1.0] * (40 - idle)),
        [(2, "pass"), (3, "warning")],
    ),
    (
        "LOAD-WINDOW",
        lambda low: loaded("load/0.stress-ng.cpus", [1.0] * 20 + [low] * 5 + [1.0] * 35),
        [(0.05, "pass"), (0.049, "warning")],
    ),
    (
        "LOAD-WINDOW",  # a load that is hardly ever busy cannot tell
        lambda usual: loaded("load/0.stress-ng.cpus", [usual] * 20 + [0.0] * 20 + [usual] * 20),
        [(0.099, "pass"), (0.1, "warning")],
    ),
    (
        "LOAD-WINDOW",
        lambda usual: loaded("cpu/all.busy", [usual] * 20 + [0.0] * 20 + [usual] * 20),
        [(0.49, "pass"), (0.5, "warning")],
    ),
    (
        "LOAD-WINDOW",
        lambda low: loaded("cpu/all.busy", [1.0] * 20 + [low] * 20 + [1.0] * 20),
        [(0.2, "pass"), (0.19, "warning")],
    ),
    (
        "LOAD-UNKNOWN",
        lambda cpus: loaded("load/0.stress-ng.cpus", [cpus] * 60, operations=None),
        [(0.0078125, "warning"), (0.01, "note")],
    ),
    ("LOAD-UNKNOWN", lambda done: under(load(operations=done)), [(0, "warning"), (1, "pass"), (None, "warning")]),
    ("LOAD-DRIFT", lambda last: thirds(100.0, last), [(91.0, "pass"), (89.0, "warning"), (109.0, "pass"), (111.0, "warning")]),
    ("LOAD-DRIFT", lambda points: thirds(100.0, 50.0, points), [(8, "unknown"), (9, "warning")]),
    ("LOAD-DRIFT", lambda length: thirds(100.0, 50.0, 11, length), [(32, "unknown"), (33, "warning")]),
    ("THERMAL-THROTTLE", lambda state: watching({"cooling/x": [0, state]}), [(0, "pass"), (1, "invalid")]),
    (
        "THERMAL-THROTTLE",
        lambda limit: watching({"frequency/cpu0.limit": [limit] * 9, "frequency/cpu0.rated": [1000.0]}),
        [(999.0, "warning"), (1000.0, "pass"), (1001.0, "pass")],
    ),
    ("TEMP-DRIFT", lambda high: temperature(45.0, high), [(50.0, "pass"), (50.125, "warning")]),
    ("TEMP-DRIFT", lambda slope: rising(slope, 600), [(0.19, "pass"), (0.21, "warning"), (-0.19, "pass"), (-0.21, "warning")]),
    ("TEMP-DRIFT", lambda slope: rising(slope, 121), [(0.49, "pass"), (0.51, "warning")]),
    ("TEMP-DRIFT", lambda length: rising(2.0, length), [(60, "pass"), (61, "warning")]),
    ("OBSERVER-LOAD", recorder, [(600_000_000, "pass"), (600_000_001, "note")]),
    ("OBSERVER-LOAD", lambda at: recorder(SECOND, "fifo", at), [(89, "note"), (90, "warning"), (91, "warning")]),
    ("OBSERVER-LOAD", lambda policy: recorder(SECOND, policy, 95), [("other", "note"), ("rr", "warning")]),
    ("MAIN-ON-MEASURED", lambda at: recorder(SECOND, "rr", at), [(89, "note"), (90, "warning")]),
    (
        "RT-THROTTLE-ON",
        throttled,
        [(-1, "pass"), (1_000_000, "pass"), (999_999, "note"), (0, "warning"), (None, "unknown")],
    ),
    ("RT-THROTTLE-ON", lambda ns: throttled(500_000, ns), [(15 * SECOND - 1, "note"), (15 * SECOND, "warning")]),
    ("RT-THROTTLE-ON", lambda busy: throttled(500_000, 0, busy), [(0.2499, "note"), (0.25, "warning")]),
    (
        "GOVERNOR",
        lambda low: watching({"frequency/cpu0.frequency": [1000.0, low]}),
        [(900.0, "pass"), (899.0, "note")],
    ),
    (
        "VM-STEAL",
        virtual,
        [("none", "pass"), ("bare-metal", "pass"), ("kvm", "warning"), ("QEMU", "invalid"), ("docker", "note"), ("LXC", "note"), (None, "unknown")],
    ),
    (
        "VM-STEAL",
        lambda label: virtual("none", lab=label),
        [("no", "pass"), ("false", "pass"), ("0", "pass"), ("yes", "invalid"), ("pi", "invalid")],
    ),
    ("VM-STEAL", lambda label: virtual("none", board=label), [("lab", "invalid"), ("bench", "pass")]),
    ("VM-STEAL", lambda name: watching(board=name), [("lab:pi", "invalid"), ("lab-pi", "pass")]),
    ("CSTATES", lambda us: idle_state(us, None), [(0, "pass"), (1, "warning")]),
    ("DMA-LATENCY-SIDE-EFFECT", lambda us: idle_state(10, us), [(10, "pass"), (9, "note"), (11, "pass")]),
    ("NOT-PINNED", lambda n: obtained(migrations=n), [(0, "pass"), (1, "warning")]),
    ("NOT-PINNED", lambda state: moved_at_end(state), [("moved", "pass"), ("ended", "warning")]),
    ("NOT-PINNED", lambda cpus: obtained(affinity=cpus), [((0,), "pass"), ((0, 1), "warning"), ((), "unknown")]),
    ("NOT-RT-POLICY", lambda at: obtained(priority=at), [(89, "invalid"), (90, "pass"), (91, "invalid")]),
    ("NOT-RT-POLICY", lambda name: obtained(policy=name), [("fifo", "pass"), ("RR", "pass"), ("other", "invalid"), ("batch", "invalid")]),
    ("NOT-RT-POLICY", lambda at: obtained("deadline", at), [(0, "pass"), (90, "pass")]),
    ("PAGE-FAULTS", lambda n: raised(minor_faults=n), [(0, "pass"), (1, "warning"), (None, "pass")]),
    ("PAGE-FAULTS", lambda n: raised(major_faults=n), [(0, "pass"), (1, "warning"), (None, "pass")]),
    ("PAGE-FAULTS", lambda n: raised(major_faults=n, minor_faults=n), [(None, "unknown")]),
    ("LOOPS-FIRST-WINS", lambda n: with_count(None, 100_000, n), [(99_900, "pass"), (99_899, "warning")]),
    ("QUANTISED", lambda n: bins(n), [(99, "unknown"), (100, "warning")]),
    ("QUANTISED", lambda n: bins(50, 50, 50, 50, n), [(0, "warning"), (50, "pass")]),
    ("QUANTISED", lambda n: bins(10, 10, n, 10, 10), [(60, "pass"), (61, "warning")]),
    ("NEGATIVE-OR-ZERO", lambda ns: raised(min_ns=ns), [(-1, "warning"), (0, "warning"), (1, "pass")]),
    ("HIST-TRUNCATED", lambda ns: cyclictest(skip_lane({5: 10}, max_ns=ns)), [(5_999, "pass"), (6_000, "warning")]),
    ("HIST-TRUNCATED", lambda n: cyclictest(skip_lane({5: 10}, over=n)), [(0, "pass"), (1, "warning"), (None, "unknown")]),
    ("CLUSTERED", lambda n: late_at(*scattered(n)), [(49, "unknown"), (50, "pass")]),
    ("WARMUP", steady_seconds, [(179, "unknown"), (180, "pass")]),
    ("NON-STATIONARY", steady_seconds, [(59, "unknown"), (60, "pass")]),
    ("PERIODIC-OUTLIERS", lambda n: late_at(*range(500, 500 + n * 1000, 1000)), [(19, "unknown"), (40, "note")]),
    ("ALIASING", lambda hz: watching(inventory=kernel(config_hz=hz)), [(250, "warning"), (999, "pass"), (1000, "warning"), (2000, "warning")]),
    ("LONE-EXTREME", lambda n: recording(counted_lane(range(100, 100 + n))), [(49, "unknown"), (50, "pass")]),
    ("SUMMARY-INCONSISTENT", one_bin, [(20_500, "pass"), (20_501, "invalid"), (19_500, "pass"), (19_499, "invalid")]),
    ("SUMMARY-INCONSISTENT", lambda avg: of_bins(avg_ns=avg), [(17_000, "pass"), (17_001, "invalid"), (13_000, "pass"), (12_999, "invalid")]),
    ("SUMMARY-INCONSISTENT", lambda ns: of_bins(max_ns=ns), [(19_999, "invalid"), (20_000, "pass"), (20_999, "pass"), (21_000, "invalid")]),
    ("SUMMARY-INCONSISTENT", lambda ns: of_bins(min_ns=ns), [(9_999, "invalid"), (10_000, "pass"), (10_999, "pass"), (11_000, "invalid")]),
    ("SUMMARY-INCONSISTENT", lambda n: of_bins(n=n), [(999, "invalid"), (1000, "pass")]),
    ("SUMMARY-INCONSISTENT", lambda sd: of_bins(sd_ns=sd), [(0.0, "pass"), (5_000.0, "pass"), (9_000.0, "invalid")]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "make", "value", "severity"),
    [
        pytest.param(name, make, value, severity, id=f"{name}-{i}-{value}")
        for i, (name, make, limits) in enumerate(LIMITS)
        for value, severity in limits
    ],
)
def test_a_check_fires_from_its_limit_on(
    name: str, make: Callable[[Any], Recording], value: Any, severity: str
) -> None:
    found = looked(name, make(value))
    assert found.severity == severity, found.message


@pytest.mark.parametrize(("due", "severity"), [(298, "warning"), (299, "pass")])
def test_the_fewest_activations_that_can_show_a_probability(due: int, severity: str) -> None:
    made = recording(block_lane({100: due}))
    found = looked("N-TOO-SMALL", made, deadline_ns=MS, p=1e-2)
    assert found.severity == severity and found.facts == {"needed": 299, "due": due, "lane": "0"}
    assert looked("N-TOO-SMALL", made, p=1e-2).severity == ("note" if severity == "warning" else "pass")


def test_the_shortest_lane_decides_whether_there_are_enough() -> None:
    found = looked("N-TOO-SMALL", recording(block_lane({100: 999}), block_lane({100: 10}, index=1)), MS, 1e-2)
    assert found.facts["due"] == 10 and found.facts["lane"] == "1" and "2.99" not in found.message


@pytest.mark.parametrize(
    ("deadline_ns", "severity"), [(98_999, "pass"), (99_000, "warning"), (99_999, "warning"), (100_000, "pass")]
)
def test_the_bin_that_holds_the_deadline(deadline_ns: int, severity: str) -> None:
    found = looked("LESS-EQUAL-EDGE", cyclictest(skip_lane({99: 7})), deadline_ns)
    assert found.severity == severity
    assert found.facts == ({"samples": {"0": 7}} if severity == "warning" else {})


@pytest.mark.parametrize(
    ("deadline_ns", "severity"),
    [(399_999, "warning"), (400_000, "invalid"), (500_999, "invalid"), (501_000, "warning")],
)
def test_a_deadline_in_the_overflow_cannot_be_counted(deadline_ns: int, severity: str) -> None:
    made = cyclictest(skip_lane({5: 90}, over=2, limit_us=400, max_ns=500 * US))
    found = looked("HIST-TRUNCATED", made, deadline_ns)
    assert found.severity == severity and found.facts == {"over": 2, "limit_ns": 400 * US, "lanes": ["0"]}


FACTS: list[tuple[str, Callable[[], Recording], Mapping[str, Any]]] = [
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10_000}, due=10_007)), {"absent": 7}),
    ("CO-MISSED", lambda: stated(10, 9_000), {"absent": 1000}),
    ("CO-MISSED", lambda: recording(counted_lane([100] * 9 + [3 * MS])), {"missed": 3, "due": 13, "estimate": False}),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10, 3500: 2}, limit_us=9000)), {"estimate": 6, "absent": None}),
    ("SIMULTANEOUS", lambda: apart(0), {"coincidences": 1, "by_chance": 0.000033, "pairs": ["0-1"]}),
    ("SMI-FIRMWARE", lambda: apart(0), {"all_cpu_stalls": 1}),
    ("SMI-FIRMWARE", lambda: watching({"firmware/cpu0.smi": [1.0, 2.0]}), {"smi": {"0": 3.0}, "all_cpu_stalls": 0}),
    ("ISOL-NOT-EFFECTIVE", lambda: watching({"cpu/cpu0.busy": [0.3]}, lanes=[minute(cpu_ns=6 * SECOND)], inventory=isolated()), {"busy_by_others": {"0": 0.2}}),
    ("OBSERVER-LOAD", lambda: recorder(6 * SECOND), {"share_by_cpu": {"0": 0.1}}),
    ("RT-THROTTLE-ON", lambda: throttled(950_000, 6 * SECOND, 0.125), {"share": 0.1, "limit": 0.95, "other_threads": {"hog[7]": 0.125}}),
    ("VM-STEAL", lambda: watching({"cpu/cpu0.steal": [0.25, 0.75], "cpu/cpu1.steal": [0.0]}), {"steal": 0.5}),
    ("GOVERNOR", lambda: watching({"frequency/cpu0.frequency": [1000.0, 250.0]}), {"frequency_spread": 0.75}),
    ("TEMP-DRIFT", lambda: rising(1.0, 601), {"zones": {"cpu-thermal": {"min": 50.0, "max": 60.0, "slope_c_per_min": 1.0}}}),
    ("LOAD-DRIFT", lambda: thirds(100.0, 50.0), {"0.stress-ng": {"of": "work", "last_third_over_first": 0.5}}),
    ("LOOPS-FIRST-WINS", lambda: with_count(None, 100, 50), {"counts": [100, 50], "spread": 0.5}),
    ("INTERVAL-SPREAD", lambda: cyclictest(lane(0, {5: 30}), lane(1, {5: 10}, interval=2 * MS)), {"share": 0.75}),
    ("PAGE-FAULTS", lambda: raised(minor_faults=3, major_faults=2), {"minor": 3, "major": 2}),
    ("CLOCK-RES", lambda: watching({"clock/realtime.step": [3e9, -5e9, 1e9]}), {"wall_step_ns": -5 * SECOND}),
    ("CLOCK-RES", lambda: watching({"clock/boottime.offset": [7e9, 9e9]}), {"suspended_ns": 2 * SECOND}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "make", "expected"), FACTS, ids=[f"{row[0]}-{i}" for i, row in enumerate(FACTS)])
def test_what_a_check_found_is_told_as_numbers(
    name: str, make: Callable[[], Recording], expected: Mapping[str, Any]
) -> None:
    found = looked(name, make())
    for key, value in expected.items():
        fact = found.facts[key]
        assert fact == (pytest.approx(value, rel=1e-3) if isinstance(value, float) else value), (key, fact)


def test_values_outside_the_measurement_say_nothing() -> None:
    """A reading before the begin or after the end is not of this run."""
    made = watching({"temperature/cpu-thermal": [50.0] * 60})
    row = made.telemetry[0]
    begin, end = made.manifest.started_ns or 0, made.manifest.ended_ns or 0
    for at, severity in ((begin - 1, "pass"), (begin, "warning"), (end, "warning"), (end + 1, "pass")):
        times = np.append(row.mono_ns, at)
        order = np.argsort(times)
        moved = replace(row, mono_ns=times[order], values=np.append(row.values, 90.0)[order])
        assert looked("TEMP-DRIFT", replace(made, telemetry=(moved,))).severity == severity


def test_a_drift_of_the_number_of_samples_is_none_of_their_mean() -> None:
    made = seconds([200 * US + i % 7 for i in range(120)])
    n = 500 + 10 * np.arange(120)
    steady = replace(made, n=n, sum_ns=n * (100 * US + np.arange(120) % 7))
    assert looked("NON-STATIONARY", recording(replace(minute(length_s=120), seconds=steady))).severity == "pass"
    scatter = np.random.default_rng(1).normal(0, US, 120).astype(np.int64)
    drifting = replace(made, n=n, sum_ns=n * (100 * US + US * np.arange(120) // 2 + scatter))
    found = looked("NON-STATIONARY", recording(replace(minute(length_s=120), seconds=drifting)))
    assert found.severity == "warning" and "the mean" in found.message


@pytest.mark.parametrize("power", [1.0, 0.5, 2.0])
def test_a_drift_without_any_scatter_is_a_drift(power: float) -> None:
    """What a line leaves of it is rounding or smooth: it is no autocorrelation of scatter."""
    made = seconds([200 * US] * 120)
    rise = (20 * US * (np.arange(120) / 119) ** power).astype(np.int64)
    drifting = replace(made, sum_ns=made.n * (100 * US + rise))
    found = looked("NON-STATIONARY", recording(replace(minute(length_s=120), seconds=drifting)))
    assert found.severity == "warning" and "the mean" in found.message


def test_a_test_of_trend_keeps_its_level_for_scatter_and_for_a_slow_walk_around_a_level() -> None:
    random, alarms = np.random.default_rng(12), [0, 0]
    for _ in range(400):
        noise = random.standard_normal(60)
        walk = np.zeros(60)
        for i in range(1, 60):
            walk[i] = 0.7 * walk[i - 1] + noise[i]
        alarms[0] += trend_p(noise) < 0.05
        alarms[1] += trend_p(walk) < 0.05
    assert max(alarms) <= 30
    assert trend_p(random.standard_normal(60) + 0.05 * np.arange(60)) < 0.001


@pytest.mark.parametrize("unknown", [{"first_due_ns": None}, {"spilled": 1}])
def test_outliers_without_moments_come_together_with_nothing(unknown: dict[str, Any]) -> None:
    lanes = [minute(0, spilled=0), minute(1, **({"spilled": 0} | unknown))]
    assert looked("SIMULTANEOUS", recording(*lanes)).severity == "unknown"
    assert looked("SIMULTANEOUS", recording(minute(0, spilled=0), minute(1, spilled=0))).severity == "pass"


def test_a_lane_without_an_interval_has_no_moments() -> None:
    made = recording(minute(0, interval_ns=None), minute(1, interval_ns=None), plan=Plan())
    assert looked("SIMULTANEOUS", made).severity == "unknown"
    assert looked("ALIASING", made).severity == "unknown"


def test_the_length_of_a_run_is_its_window_where_none_was_planned() -> None:
    """Eleven seconds of an interval of 1 ms hold 11 000 activations, 200 of them for starting and stopping."""
    for n, severity in ((10_800, "pass"), (10_799, "invalid")):
        made = cyclictest(skip_lane({5: n}), started_ns=SECOND, ended_ns=12 * SECOND)
        assert looked("CO-MISSED", made).severity == severity
        assert (
            looked("CO-MISSED", replace(made, manifest=replace(made.manifest, end_reason="duration"))).severity
            == severity
        )
        assert (
            looked("CO-MISSED", replace(made, manifest=replace(made.manifest, end_reason="signal"))).severity == "pass"
        )


def test_an_idle_state_whose_latency_is_not_told_takes_none() -> None:
    state = {"name": "C1", "latency_us": None, "residency_us": 0, "disabled": False}
    made = held(None, {"idle": {"driver": "x", "governor": "menu"}, "idle_states": {"cpu0": [state]}})
    assert looked("CSTATES", made).severity == "pass" and looked("CSTATES", made).facts["idle_states"] == {"C1": 0}


@pytest.mark.parametrize(("dead", "more"), [(4, ""), (5, " and 1 more")])
def test_four_parts_that_did_no_work_are_named(dead: int, more: str) -> None:
    parts = [WorkPart(f"p{i}", 0.0 if i < dead else 9.0, "operations", 1.0) for i in range(6)]
    found = looked("LOAD-UNKNOWN", under(load(*parts)))
    assert found.severity == "warning" and found.kind == "integrity"
    assert found.message.endswith(f"p3 did no work{more}")


def test_clean_runs_seldom_have_a_maximum_at_their_ends() -> None:
    """Eight lanes of 10 s: 84 % of such runs have one lane with its maximum in the first or last second."""
    rng = np.random.default_rng(4)
    any_lane = fired = 0
    for _ in range(60):
        top = (1e6 + 1e5 * rng.gumbel(size=(8, 10))).astype(int)
        any_lane += bool(np.isin(top.argmax(axis=1), (0, 9)).any())
        made = recording(*[replace(minute(i), seconds=seconds(row.tolist())) for i, row in enumerate(top)])
        fired += looked("STARTUP-MAX", made).severity == "warning"
    assert any_lane >= 40 and fired <= 6

"""Every check: a recording it fires on, one it passes, and one it cannot look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.checks import CHECKS, REQUIRED, reference_markdown
from rtassay.analysis.checks.context import Context
from rtassay.analysis.judge import judge
from rtassay.analysis.judge.judging import DEFAULT_P
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.summary import lane_findings
from rtassay.model import warnings
from rtassay.model.findings import CheckResult
from rtassay.model.manifest import Damage, LoadEntry, Manifest, Obtained, Plan, RunWarning, Source
from rtassay.model.recording import Lane, Recording, Series

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
    skip_lane,
    spills_of,
)
from .condition_cases import CONDITIONS
from .ended_cases import ENDED
from .imported_cases import IMPORTED
from .load_cases import CASES_OF_LOADS
from .load_more_cases import MORE_OF_LOADS
from .more_cases import BOARD, COUNTED, IMPORTED_MORE
from .said import SAID, alike, numbered

DAY_S = 60


def result(made: Recording, name: str, **more: Any) -> CheckResult:
    return next(check for check in judge(made, **more).checks if check.id == name)


def alone(made: Recording, name: str) -> CheckResult:
    """What one check says under the requirement of the run's plan, without all the others."""
    plan, lanes = made.manifest.plan, accounts(made)
    p = DEFAULT_P if plan.p_target is None else plan.p_target
    rows = tuple(lane_findings(lane, p, plan.confidence, plan.per_hour, len(lanes)) for lane in lanes)
    context = Context(made, lanes, rows, plan.deadline_ns, p, plan.confidence, plan.per_hour)
    return next(check for check in CHECKS if check.id == name).run(context)


def entry(lane: Lane, **changes: Any) -> Lane:
    return replace(lane, entry=replace(lane.entry, **changes))


def minute(index: int = 0, **changes: Any) -> Lane:
    return entry(block_lane({100: DAY_S * 1000 + 1}, index=index), **changes)


def run(**changes: Any) -> Recording:
    return recording(minute(), **changes)


def begin_end(made: Recording) -> tuple[int, int]:
    assert made.manifest.started_ns is not None and made.manifest.ended_ns is not None
    return made.manifest.started_ns, made.manifest.ended_ns


def of_measures(*measures: str) -> Recording:
    """Lanes of CPU 0 as an importer names them, each of one measure."""
    names = [f"cpu0 {measure} {i}" for i, measure in enumerate(measures)]
    lanes = [
        entry(skip_lane({5: 10, 9: 1}), index=i, name=name, cpu=0, measure=measure)
        for i, (name, measure) in enumerate(zip(names, measures, strict=True))
    ]
    return cyclictest(*lanes)


def loaded(started: int | None = -2 * SECOND, ended: int | None = 2 * SECOND, **changes: Any) -> Recording:
    """A run under stress-ng; times relative to begin and end of the measurement."""
    made = run(plan=Plan(interval_ns=MS, priority=90, load="stress-ng"), labels={})
    begin, end = begin_end(made)
    load = LoadEntry(
        "stress-ng",
        ("stress-ng",),
        started_ns=None if started is None else begin + started,
        ended_ns=None if ended is None else end + ended,
    )
    return replace(made, manifest=replace(made.manifest, loads=(replace(load, **changes),)))


def telemetry(name: str, values: list[float], monitor: str = "cpu", unit: str = "ratio") -> Series:
    start = 5 * SECOND
    times = np.linspace(start, start + DAY_S * SECOND, len(values)).astype(np.int64)
    return Series(monitor, name, unit, times, np.array(values))


def with_spills(*times_ms: tuple[float, ...]) -> Recording:
    """Lanes with outliers woken at these times after the first due time."""
    lanes = []
    for index, times in enumerate(times_ms):
        rows = [(int(at), round((at - int(at)) * MS), 0) for at in times]
        lanes.append(replace(minute(index, spilled=len(rows)), spills=spills_of(rows)))
    return recording(*lanes)


def bare() -> Recording:
    """An imported file that tells nothing but its histogram."""
    return cyclictest(skip_lane({5: 100}, interval=None, over=None))


FAST = recording(entry(minute(), cpu_ns=50 * SECOND), inventory=inventory(rt_runtime_us=950_000))
WRITER = {"cpu_ns_by_cpu": {"0": 3 * SECOND}}
REAL_TIME = {"release": "6.12.1-rt5", "version": "#1 SMP PREEMPT_RT", "preempt_model": "PREEMPT_RT"}
NAMED_RT = {"release": "4.14.27-rt21", "version": "#1 SMP PREEMPT", "preempt_model": "PREEMPT", "config_rt": False}
MISSED = counted_lane([100] * 5000 + [3 * MS], MS)

# check, recording, severity, kind (None: the table's), words of the message
CASES: list[tuple[str, Callable[[], Recording], str, str | None, str]] = [
    ("NO-ACTIVATION", run, "pass", None, "60,001 activations"),
    (
        "NO-ACTIVATION",
        lambda: recording(counted_lane([]), counted_lane([], index=1)),
        "invalid",
        "integrity",
        "nothing",
    ),
    ("NO-ACTIVATION", lambda: cyclictest(skip_lane({})), "invalid", "integrity", "no activation was due"),
    ("NO-ACTIVATION", lambda: recording(counted_lane([], truncated=3)), "pass", None, "3 activations"),
    ("CO-MISSED", run, "pass", None, "no activation"),
    ("CO-MISSED", lambda: recording(MISSED), "warning", "integrity", "3 of 5004"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10, 2500: 1}, limit_us=9000)), "invalid", "optimism", "about 2"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 10})), "pass", None, "no sample is later"),
    ("CO-MISSED", lambda: cyclictest(skip_lane({5: 9_000}, due=10_000)), "invalid", "optimism", "no sample"),
    ("CO-MISSED", bare, "unknown", None, "not known"),
    (
        "CO-MISSED",
        lambda: cyclictest(skip_lane({5: 9, 1500: 1}, limit_us=9000), source=Source("x", None, "x", "catch_up")),
        "note",
        None,
        "one after the other",
    ),
    (
        "CO-MISSED",
        lambda: cyclictest(skip_lane({5: 9, 1500: 1}, limit_us=9000), source=Source("x", None, "x", "unknown")),
        "invalid",
        "optimism",
        "no correction",
    ),
    ("COUNT-MISMATCH", run, "pass", None, "in every lane"),
    ("COUNT-MISMATCH", lambda: recording(entry(minute(), due=60_002)), "invalid", "integrity", "by the clock"),
    ("COUNT-MISMATCH", lambda: recording(entry(minute(), missed=1)), "invalid", None, "missed 1"),
    ("COUNT-MISMATCH", lambda: recording(entry(minute(), n=60_000, due=60_000)), "invalid", None, "holds 60001"),
    (
        "COUNT-MISMATCH",
        lambda: recording(entry(minute(), closed_ns=6 * SECOND, last_due_ns=None)),
        "invalid",
        None,
        "do not fit",
    ),
    ("COUNT-MISMATCH", lambda: recording(entry(minute(), last_due_ns=5 * SECOND + 7)), "invalid", None, "last due"),
    (
        "COUNT-MISMATCH",
        lambda: run(board="lost-valley-pi", labels={"site": "counts differ"}),
        "pass",
        None,
        "in every lane",
    ),
    ("COUNT-MISMATCH", lambda: run(damage=Damage(lost_frames=2)), "warning", "integrity", "lost 2 frames"),
    ("COUNT-MISMATCH", lambda: run(damage=Damage(cut=True)), "warning", "optimism", "cut"),
    (
        "COUNT-MISMATCH",
        lambda: run(
            warnings=(RunWarning(warnings.COUNTS_DIFFER, 0, {"of": "samples", "counts": {"samples": 1, "END": 2}}),)
        ),
        "warning",
        None,
        "CPU0: counts of samples disagree: samples 1, END 2",
    ),
    (  # what a board, a file or a person wrote decides nothing: not by its words
        "COUNT-MISMATCH",
        lambda: run(
            warnings=(RunWarning(warnings.END_NOT_READ, None, {"error": "lost-valley-pi: counts differ and overlap"}),)
        ),
        "pass",
        None,
        "in every lane",
    ),
    (
        "COUNT-MISMATCH",
        lambda: recording(entry(minute(), dropped=4, due=60_005, closed_ns=70 * SECOND)),
        "warning",
        "integrity",
        "4 samples were dropped",
    ),
    (
        "COUNT-MISMATCH",
        lambda: recording(replace(minute(), seconds=seconds([9] * 59))),
        "warning",
        None,
        "seconds add up to n 59000",
    ),
    ("COUNT-MISMATCH", lambda: run(end={"lanes": [{"lane": 0, "n": 7}]}), "warning", None, "end mark says n 7"),
    ("COUNT-MISMATCH", bare, "unknown", None, "does not tell"),
    (
        "COUNT-MISMATCH",
        lambda: cyclictest(skip_lane({5: 420_738}), plan=Plan(duration_ns=259 * SECOND)),
        "invalid",
        None,
        "cannot come from",
    ),
    ("HIST-TRUNCATED", run, "pass", None, "in a bin"),
    ("HIST-TRUNCATED", lambda: cyclictest(skip_lane({5: 10})), "pass", None, "in a bin"),
    ("HIST-TRUNCATED", lambda: cyclictest(skip_lane({5: 10}, over=2, max_ns=MS)), "warning", "optimism", "2 samples"),
    ("HIST-TRUNCATED", lambda: cyclictest(skip_lane({5: 10}, max_ns=MS)), "warning", None, "some samples"),
    ("HIST-TRUNCATED", bare, "unknown", None, "stripped"),
    ("TRAILER-STRIPPED", bare, "warning", "integrity", "original file"),
    ("TRAILER-STRIPPED", lambda: cyclictest(skip_lane({5: 10})), "pass", None, "totals"),
    ("TRAILER-STRIPPED", run, "pass", None, "totals"),
    ("MIXED-MEASURES", run, "pass", None, "wake-up latency"),
    (
        "MIXED-MEASURES",
        lambda: of_measures("timer-thread"),
        "pass",
        None,
        "every lane is latency of the timer's kernel thread",
    ),
    (
        "MIXED-MEASURES",
        lambda: of_measures("timer-irq", "timer-thread"),
        "note",
        "integrity",
        "'all' is latency of the timer's kernel thread only",
    ),
    ("MIXED-MEASURES", lambda: of_measures("noise", "noise"), "warning", "optimism", "not wake-up latency"),
    ("MIXED-MEASURES", lambda: of_measures("response:futex"), "pass", None, "every lane is response by futex"),
    ("MIXED-MEASURES", lambda: of_measures("unknown"), "unknown", None, "does not tell what its numbers are"),
    ("MIXED-MEASURES", lambda: of_measures("mixture"), "invalid", "optimism", "no one quantity"),
    ("SELF-INTERFERENCE", lambda: of_measures("timer-irq", "timer-thread"), "pass", None, "one lane per CPU"),
    ("CLOCK-RES", run, "pass", None, "tsc"),
    (
        "CLOCK-RES",
        lambda: run(facts=facts(clock={"getres_ns": 4_000_000, "step_ns": 4_000_000})),
        "invalid",
        None,
        "4ms",
    ),
    ("CLOCK-RES", lambda: run(facts=facts(clock={"getres_ns": 4_000_000, "step_ns": 52})), "warning", None, "ticks"),
    ("CLOCK-RES", lambda: run(facts=facts(clock={"getres_ns": 4_000_000, "step_ns": 1_080})), "warning", None, "ticks"),
    ("CLOCK-RES", lambda: run(inventory_end={"clocksource": "hpet"}), "invalid", None, "from tsc to hpet"),
    ("CLOCK-RES", lambda: run(inventory=inventory(clocksource="hpet"), inventory_end={}), "warning", None, "slow"),
    ("CLOCK-RES", lambda: run(inventory=inventory(clocksource="kvm-clock"), inventory_end={}), "pass", None, "kvm"),
    ("CLOCK-RES", lambda: run(inventory=inventory(clocksource="dmtimer"), inventory_end={}), "note", None, "dmtimer"),
    (
        "CLOCK-RES",
        lambda: recording(replace(minute(), seconds=seconds([9] * 60, wall=[7] * 30 + [7 + SECOND] * 30))),
        "note",
        None,
        "stepped by 1s",
    ),
    ("CLOCK-RES", bare, "unknown", None, "neither"),
    ("OBSERVER-LOAD", run, "pass", None, "at most 1 %"),
    ("OBSERVER-LOAD", lambda: run(end={"writer": WRITER}), "note", None, "5.0% of measured CPU 0"),
    (
        "OBSERVER-LOAD",
        lambda: run(end={"writer": WRITER}, facts=facts(writer={"policy": "fifo", "priority": 95, "affinity": [0]})),
        "warning",
        "integrity",
        "may have delayed",
    ),
    ("OBSERVER-LOAD", lambda: run(end={}), "unknown", None, "not known"),
    ("SELF-INTERFERENCE", run, "pass", None, "one lane per CPU"),
    ("SELF-INTERFERENCE", lambda: recording(minute(0), entry(minute(1), cpu=0)), "invalid", "integrity", "CPU 0"),
    (
        "SELF-INTERFERENCE",
        lambda: recording(
            *(entry(minute(i), cpu=None) for i in range(3)), inventory=inventory(cpus={"online": [0, 1]})
        ),
        "invalid",
        None,
        "3 lanes on 2 CPUs",
    ),
    ("SELF-INTERFERENCE", lambda: cyclictest(skip_lane({5: 1}), skip_lane({5: 1})), "unknown", None, "not known"),
    ("MAIN-ON-MEASURED", run, "pass", None, "keep off"),
    ("MAIN-ON-MEASURED", lambda: run(facts=facts(main={"affinity": [0, 1]})), "note", None, "main thread"),
    ("MAIN-ON-MEASURED", bare, "unknown", None, "not known"),
    ("NOT-PINNED", run, "pass", None, "one CPU"),
    ("NOT-PINNED", lambda: recording(entry(minute(), migrations=3)), "warning", "integrity", "3 migrations"),
    (
        "NOT-PINNED",
        lambda: recording(entry(minute(), obtained_end=Obtained("fifo", 90, (0, 1), True))),
        "warning",
        None,
        "several",
    ),
    ("NOT-PINNED", bare, "unknown", None, "not read back"),
    ("NOT-RT-POLICY", run, "pass", None, "every lane"),
    (
        "NOT-RT-POLICY",
        lambda: recording(
            entry(minute(), obtained_start=Obtained("other", 0, (0,))), facts=facts(fallback="no permission")
        ),
        "invalid",
        "integrity",
        "no permission",
    ),
    (
        "NOT-RT-POLICY",
        lambda: recording(entry(minute(), obtained_end=Obtained("fifo", 2, (0,)))),
        "invalid",
        None,
        "priority 2, 90 was asked",
    ),
    ("NOT-RT-POLICY", bare, "unknown", None, "not read back"),
    ("RT-THROTTLE-ON", run, "pass", None, "off"),
    ("RT-THROTTLE-ON", lambda: run(inventory=inventory(rt_runtime_us=950_000)), "note", None, "on at 95%"),
    ("RT-THROTTLE-ON", lambda: FAST, "warning", "integrity", "used 83%"),
    ("RT-THROTTLE-ON", lambda: run(inventory=inventory(throttle_messages=["sched: x"])), "warning", None, "sched: x"),
    (
        "RT-THROTTLE-ON",
        lambda: recording(entry(minute(), cpu_ns=None), inventory=inventory(rt_runtime_us=950_000)),
        "unknown",
        None,
        "CPU time is not known",
    ),
    ("RT-THROTTLE-ON", bare, "unknown", None, "could not"),
    ("NOT-MLOCKED", run, "pass", None, "was locked"),
    ("NOT-MLOCKED", lambda: run(facts=facts(mlocked=False, mlock_error="EPERM")), "warning", "integrity", "EPERM"),
    ("NOT-MLOCKED", bare, "unknown", None, "not known"),
    ("PAGE-FAULTS", run, "pass", None, "no page fault"),
    ("PAGE-FAULTS", lambda: recording(entry(minute(), major_faults=2)), "warning", "integrity", "2 major"),
    ("PAGE-FAULTS", lambda: recording(entry(minute(), minor_faults=1)), "warning", None, "1 minor"),
    ("PAGE-FAULTS", bare, "unknown", None, "not counted"),
    ("KERNEL-NOT-RT", lambda: run(labels={"scenario": "foreign-rt-threads"}), "pass", None, "no real-time kernel was"),
    ("KERNEL-NOT-RT", lambda: run(labels={"kernel": "rt"}), "invalid", "integrity", "label kernel=rt"),
    ("KERNEL-NOT-RT", lambda: run(inventory=inventory(kernel=NAMED_RT)), "invalid", None, "4.14.27-rt21"),
    (
        "KERNEL-NOT-RT",
        lambda: run(inventory=inventory(kernel=REAL_TIME), labels={"kernel": "rt"}),
        "pass",
        None,
        "is PREEMPT_RT",
    ),
    (
        "KERNEL-NOT-RT",
        lambda: cyclictest(skip_lane({5: 1}), labels={"kernel": "6.8.4-rt11"}),
        "unknown",
        None,
        "nothing shows",
    ),
    ("GOVERNOR", run, "pass", None, "performance"),
    ("GOVERNOR", lambda: run(inventory=inventory(governors={})), "pass", None, "no frequency scaling"),
    (
        "GOVERNOR",
        lambda: run(inventory=inventory(governors={"cpu0": "powersave"}), inventory_end={}),
        "warning",
        "integrity",
        "powersave",
    ),
    (
        "GOVERNOR",
        lambda: run(inventory=inventory(governors={"cpu0": "performance", "cpu1": "ondemand"})),
        "pass",
        None,
        "",
    ),
    ("GOVERNOR", lambda: run(inventory_end={"governors": {"cpu0": "powersave"}}), "warning", None, "changed"),
    (
        "GOVERNOR",
        lambda: run(telemetry=[telemetry("cpu0.frequency", [2e9, 1e9], "frequency", "Hz")]),
        "note",
        None,
        "50%",
    ),
    ("GOVERNOR", bare, "unknown", None, "not known"),
    ("VM-STEAL", run, "pass", None, "bare metal"),
    ("VM-STEAL", lambda: run(inventory=inventory(virtualisation="kvm")), "warning", "integrity", "kvm"),
    (
        "VM-STEAL",
        lambda: run(
            inventory=inventory(virtualisation="firecracker"), telemetry=[telemetry("cpu0.steal", [0.0, 0.02])]
        ),
        "warning",
        None,
        "1.00% of the time was stolen",
    ),
    ("VM-STEAL", lambda: run(inventory=inventory(virtualisation="tcg")), "invalid", "optimism", "emulated"),
    ("VM-STEAL", lambda: run(inventory=inventory(virtualisation="docker")), "note", None, "container"),
    ("VM-STEAL", bare, "unknown", None, "not known"),
    ("NO-LOAD", run, "pass", None, "declared"),
    ("NO-LOAD", loaded, "pass", None, "stress-ng"),
    ("NO-LOAD", lambda: run(labels={}), "warning", "optimism", "no load was started"),
    ("NO-LOAD", lambda: run(labels={}, telemetry=[telemetry("all.busy", [0.1] * 5)]), "warning", None, "10% busy"),
    ("NO-LOAD", lambda: run(labels={}, telemetry=[telemetry("all.busy", [0.6] * 5)]), "pass", None, "60% busy"),
    (
        "NO-LOAD",
        lambda: replace(loaded(), telemetry=(telemetry("all.busy", [0.1] * 5),)),
        "note",
        None,
        "was declared, but",
    ),
    ("NO-LOAD", bare, "unknown", None, "--label"),
    ("LOAD-WINDOW", loaded, "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: loaded(started=900 * MS, ended=-900 * MS), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: loaded(started=2 * SECOND), "invalid", "optimism", "started 2s after"),
    ("LOAD-WINDOW", lambda: loaded(ended=-20 * SECOND, exit_code=3), "invalid", None, "ended 20s before"),
    ("LOAD-WINDOW", lambda: loaded(started=None, error="not found"), "invalid", None, "never started (not found)"),
    ("LOAD-WINDOW", lambda: loaded(ended=None), "invalid", None, "nothing shows"),
    ("LOAD-WINDOW", lambda: loaded(ended=None, stop_asked_ns=99 * SECOND), "pass", None, "begin to end"),
    ("LOAD-WINDOW", lambda: loaded(ended=None, stop_asked_ns=15 * SECOND), "invalid", None, "was stopped 50s before"),
    ("LOAD-WINDOW", lambda: loaded(error="a worker failed"), "warning", "optimism", "a worker failed"),
    ("LOAD-WINDOW", lambda: run(plan=Plan(load="stress-ng"), labels={}), "invalid", None, "nothing shows"),
    (
        "LOAD-WINDOW",
        lambda: replace(loaded(), telemetry=(telemetry("all.busy", [0.9] * 20 + [0.01] * 10 + [0.9] * 31),)),
        "warning",
        "optimism",
        "idle from 19s",
    ),
    ("LOAD-WINDOW", lambda: run(labels={}), "pass", None, "no load was planned"),
    ("LOAD-WINDOW", run, "note", None, "not observed"),
    ("LOAD-WINDOW", bare, "unknown", None, "not known"),
    ("SINGLE-RUN", run, "note", None, "one run"),
    ("N-TOO-SMALL", lambda: recording(block_lane({9: 2_995_731})), "pass", None, "2995731 needed"),
    ("N-TOO-SMALL", run, "note", None, "needs 2995731"),
    ("N-TOO-SMALL", lambda: run(plan=Plan(interval_ns=MS, deadline_ns=500)), "warning", None, "needs 2995731"),
    ("N-TOO-SMALL", recording, "unknown", None, "no lane"),
    ("PERCENTILE-UNSUPPORTED", run, "note", None, "from 99.999 %"),
    ("PERCENTILE-UNSUPPORTED", lambda: recording(block_lane({9: 10**9})), "pass", None, "every percentile"),
    ("PERCENTILE-UNSUPPORTED", recording, "unknown", None, "no sample"),
    (
        "RECORD-LATE",
        lambda: recording(replace(minute(), seconds=seconds([9] * 50 + [90] + [9] * 9))),
        "note",
        None,
        "last",
    ),
    (
        "RECORD-LATE",
        lambda: recording(replace(minute(), seconds=seconds([9, 9, 90] + [9] * 57))),
        "pass",
        None,
        "did not come",
    ),
    (
        "RECORD-LATE",
        lambda: recording(
            replace(minute(), seconds=seconds([9] * 50 + [90] + [9] * 9)),
            replace(minute(index=1), seconds=seconds([900] + [9] * 59)),
        ),
        "pass",
        None,
        "did not come",
    ),
    (
        "RECORD-LATE",
        lambda: recording(replace(minute(), seconds=seconds([9] * 20 + [10, 9, 20, 9, 30, 9, 40, 9, 90] + [9] * 31))),
        "note",
        None,
        "5 new maxima",
    ),
    ("RECORD-LATE", bare, "unknown", None, "does not tell"),
    (
        "STARTUP-MAX",
        lambda: recording(replace(minute(), seconds=seconds([90] + [9] * 59))),
        "warning",
        None,
        "first or last",
    ),
    (
        "STARTUP-MAX",
        lambda: recording(replace(minute(), seconds=seconds([9] * 59 + [90]))),
        "warning",
        None,
        "first or last",
    ),
    (
        "STARTUP-MAX",
        lambda: recording(replace(minute(), seconds=seconds([9, 90] + [9] * 58))),
        "pass",
        None,
        "no more max",
    ),
    ("STARTUP-MAX", lambda: recording(replace(minute(), seconds=seconds([90, 9, 9]))), "unknown", None, "too short"),
    ("STARTUP-MAX", bare, "unknown", None, "does not tell"),
    ("SIMULTANEOUS", run, "pass", None, "one lane"),
    ("SIMULTANEOUS", lambda: with_spills((1000.2, 40_000.5), (1000.9, 7000.5)), "note", None, "1 outliers"),
    ("SIMULTANEOUS", lambda: with_spills((1000.2, 40_000.5), (3000.9, 7000.5)), "pass", None, "do not come"),
    ("SIMULTANEOUS", lambda: with_spills((), ()), "pass", None, "do not come"),
    (
        "SIMULTANEOUS",
        # twenty outliers a second on either lane meet by chance alone
        lambda: with_spills(
            tuple(np.arange(1200) * 49.7 + 0.3), tuple((np.arange(1200) * 43.1 + 11.3) % 60_000 // 1 + 0.6)
        ),
        "pass",
        None,
        "chance",
    ),
    ("SIMULTANEOUS", lambda: cyclictest(skip_lane({5: 1}), skip_lane({5: 1})), "unknown", None, "not known"),
]


# Their question can always be answered from what every recording has.
NEVER_UNKNOWN = {"SINGLE-RUN", "NO-ACTIVATION", "TRACED"}
CASES += IMPORTED + CONDITIONS + CASES_OF_LOADS + ENDED + COUNTED + IMPORTED_MORE + BOARD + MORE_OF_LOADS


def marked(key: str, case: tuple[str, Callable[[], Recording], str, str | None, str]) -> Any:
    """A case in which a check fires proves it, on a recording made up for it (tests/house/test_proofs.py reads the same rows)."""
    proof = [pytest.mark.proves(case[0], "synthetic")] if case[2] in ("note", "warning", "invalid") else []
    return pytest.param(key, *case, id=f"{key.replace(' ', '-')}-{case[2]}", marks=proof)


@pytest.mark.parametrize(
    ("key", "name", "made", "severity", "kind", "words"),
    [marked(key, CASES[place]) for key, place in numbered(CASES).items()],
)
def test_check(key: str, name: str, made: Callable[[], Recording], severity: str, kind: str | None, words: str) -> None:
    found = alone(made(), name)
    assert (found.severity, words in found.message) == (severity, True), found
    table = next(check for check in CHECKS if check.id == name)
    assert found.kind == (kind or table.kind)
    message, facts = SAID[key]
    assert found.message == message
    assert alike(found.facts, facts), (found.facts, facts)


@pytest.mark.parametrize("place", range(0, len(CASES), 9))
def test_every_check_says_something_of_any_recording(place: int) -> None:
    name, made, severity, *_ = CASES[place]
    found = judge(made()).checks
    assert [check.id for check in found] == [check.id for check in CHECKS]
    assert {check.id: check.severity for check in found}[name] == severity


def test_every_case_is_said_once() -> None:
    assert list(SAID) == list(numbered(CASES)), "after a new case: update_said.py, then read the diff of said.txt"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_check_has_a_case_that_fires_and_one_that_does_not(check: Any) -> None:
    seen = {severity for name, _, severity, _, _ in CASES if name == check.id}
    assert seen & {"note", "warning", "invalid"}
    assert check.id == "SINGLE-RUN" or "pass" in seen
    assert check.id in NEVER_UNKNOWN or "unknown" in seen
    assert check.severity in seen


def test_truncation_at_or_above_the_deadline_is_invalid_optimism() -> None:
    made = cyclictest(skip_lane({5: 10}, over=2, max_ns=MS))
    found = result(made, "HIST-TRUNCATED", deadline_ns=400 * US)
    assert (found.severity, found.kind, found.facts["over"]) == ("invalid", "optimism", 2)
    assert result(made, "HIST-TRUNCATED", deadline_ns=399 * US).severity == "warning"


def test_too_few_activations_warn_once_something_is_required() -> None:
    found = result(run(), "N-TOO-SMALL", deadline_ns=500)
    assert (found.severity, found.facts["needed"], found.facts["due"]) == ("warning", 2_995_731, 60_001)
    assert result(run(), "N-TOO-SMALL", deadline_ns=500, p_target=0.0).severity == "warning"


def test_the_table_is_whole() -> None:
    method = """CO-MISSED COUNT-MISMATCH INTERVAL-SPREAD LOOPS-FIRST-WINS VERBOSE-RING HIST-TRUNCATED TRAILER-STRIPPED QUANTISED CLOCK-RES
    CLOCK-READ-COST NEGATIVE-OR-ZERO LESS-EQUAL-EDGE TOOL-VERSION-UNKNOWN OBSERVER-LOAD TRACED SELF-INTERFERENCE MAIN-ON-MEASURED NOT-PINNED
    NOT-RT-POLICY PRIO-TIE RT-THROTTLE-ON NOT-MLOCKED PAGE-FAULTS KERNEL-NOT-RT DEBUG-KERNEL GOVERNOR CSTATES DMA-LATENCY-SIDE-EFFECT
    IRQ-ON-MEASURED ISOL-NOT-EFFECTIVE ISOLATED-NOT-STRESSED SMI-FIRMWARE VM-STEAL NO-LOAD LOAD-WINDOW LOAD-UNKNOWN LOAD-PARTIAL
    LOAD-DRIFT LOAD-RT OOM-SWAP DISK-FULL THERMAL-THROTTLE UNDERVOLTAGE TEMP-DRIFT WARMUP SINGLE-RUN N-TOO-SMALL
    PERCENTILE-UNSUPPORTED CLUSTERED NON-STATIONARY PERIODIC-OUTLIERS ALIASING RECORD-LATE STARTUP-MAX LONE-EXTREME SIMULTANEOUS
    SUMMARY-INCONSISTENT"""
    ours = "MIXED-MEASURES NO-ACTIVATION ENDED-EARLY DEPENDENCE-UNKNOWN FAIR-SERVER CMDLINE-IGNORED"
    assert sorted([*method.split(), *ours.split()]) == sorted(check.id for check in CHECKS)
    page = reference_markdown()
    for check in CHECKS:
        assert check.explanation and check.remedy and check.condition
        assert f"## {check.id}\n" in page
    assert {"CO-MISSED", "HIST-TRUNCATED", "NO-LOAD", "LOAD-WINDOW"} == REQUIRED


def test_nothing_known_is_never_a_pass_of_what_was_not_looked_at() -> None:
    empty = Recording(Manifest("i", "now", Source("x", None, "x")), ())
    severities = {check.id: check.severity for check in judge(empty).checks}
    looked_at = {"KERNEL-NOT-RT", "SINGLE-RUN", "SIMULTANEOUS", "NO-ACTIVATION", "TRACED"}
    assert {name for name, severity in severities.items() if severity != "unknown"} <= looked_at


@pytest.mark.parametrize("deadline_ns", [None, MS])
def test_a_recording_without_an_activation_is_an_invalid_measurement(deadline_ns: int | None) -> None:
    found = judge(recording(counted_lane([]), counted_lane([], index=1)), deadline_ns=deadline_ns, p_target=1e-3)
    assert [check.id for check in found.checks if check.severity == "invalid"] == ["NO-ACTIVATION"]
    assert deadline_ns is None or (found.verdict is not None and found.verdict.state == "INVALID MEASUREMENT")

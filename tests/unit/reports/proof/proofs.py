"""Campaigns for the tests of reports and exports: planned and judged by the real code, on simulated boards."""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[4] / "tools" / "coverage"))

import proving

from rtassay.analysis.many.prove.campaign import decide
from rtassay.model.causes import PREEMPTION_OFF, Cause
from rtassay.model.knobs import HOLD, POLICY, SERVICE, WRITE, Action
from rtassay.model.proving import Beside, Counted, Foretold, Proof, Rules, Run, Side, Stage, Subject
from rtassay.model.ranking import AGREES, Confirmation
from rtassay.model.tuning import Setting, TuningPlan

US = 1_000
SETTINGS = (
    Setting("printk", "messages of the kernel on consoles", (Action(WRITE, "/proc/sys/kernel/printk", "1 4 1 7"),)),
    Setting(
        "governor",
        "frequency governor",
        tuple(
            Action(WRITE, f"/sys/devices/system/cpu/cpufreq/policy{cpu}/scaling_governor", "performance")
            for cpu in (0, 2)
        ),
    ),
    Setting("dma-latency", "idle states", (Action(HOLD, "/dev/cpu_dma_latency", "0"),)),
    Setting(
        "transparent-hugepages", "huge pages", (Action(WRITE, "/sys/kernel/mm/transparent_hugepage/enabled", "never"),)
    ),
    Setting("irqbalance", "irqbalance", (Action(SERVICE, "irqbalance.service", "stop"),)),
    Setting("foreign-rt-threads", "threads of others", (Action(POLICY, "812 99", "fifo 49", ("multipathd",)),)),
    Setting(
        "quote",
        "/proc/sys/net/ipv4/conf/eth0.1/rp_filter",
        (Action(WRITE, "/proc/sys/net/ipv4/conf/eth0.1/rp_filter", "1"),),
    ),
    Setting("swappiness", "swap", (Action(WRITE, "/proc/sys/vm/swappiness", "10"),)),
    Setting("turbo", "turbo", (Action(WRITE, "/sys/devices/system/cpu/cpufreq/boost", "1"),)),
)
_HELP = ("printk", "governor", "dma-latency", "transparent-hugepages", "irqbalance", "foreign-rt-threads", "quote")
SUBJECTS = tuple(Subject(one.id, one.id if one.id == "quote" else f"of {one.id}") for one in SETTINGS)


FORETOLD = (
    Foretold(
        "printk",
        Confirmation(
            cause=Cause(PREEMPTION_OFF, "syslogd"),
            state=AGREES,
            due_before=300_000,
            due_after=600_000,
            exceedances_before=212,
            exceedances_predicted=3,
            exceedances_after=7,
            demonstrated_before_ns=212 * US,
            demonstrated_predicted_ns=61 * US,
            demonstrated_after_ns=64 * US,
            p=1e-4,
            at_most=False,
            share_before=0.9,
            share_after=0.0,
        ),
    ),
    Foretold("swappiness", None),
    Foretold("turbo", None, traced=False),
)


def _board(subjects: tuple[Subject, ...], spread: float = 0.05) -> proving.Board:
    known = {subject.id for subject in subjects}
    sources = tuple((4.0, (id_,)) for id_ in _HELP if id_ in known)
    return proving.Board("proofs", subjects, sources, {"turbo": 1.8} if "turbo" in known else {}, spread)


def _proof(board: proving.Board, most_stages: int = 9) -> Proof:
    random, rules = np.random.default_rng(5), Rules()
    done, rows = [], []
    while (found := decide(board.subjects, rules, done)).next is not None and len(done) < most_stages:
        stage = found.next
        runs = _named(board.measure(stage, random), stage, len(rows))
        rows += [_row(run, stage) for run in runs]
        done.append(proving.judge(stage, runs, rules))
    ids = {subject.id for subject in board.subjects}
    return Proof(
        name="dedicated",
        path="proofs/dedicated-20261123T060000",
        board="pi5",
        kernel="6.12.48+deb13-rt-arm64",
        load="stress-ng",
        deadline_ns=100 * US,
        p=1e-6,
        per_hour=None,
        confidence=0.95,
        quantile=0.9999,
        duration_ns=300 * 10**9,
        rules=rules,
        goal="isolated=2-3,period=1000000ns",
        campaign=found,
        runs=tuple(rows),
        tuning=TuningPlan(tuple(one for one in SETTINGS if one.id in ids)),
        before=Side("without", (), 4, 2, "VIOLATED", 212 * US, 51.2),
        after=Side("with them", found.chosen, 4, 2, "HOLDS", 61 * US, 54.9) if found.chosen else None,
        beside=(Beside("work of the loads", 0.97, 0.95, 0.99),),
        causes=FORETOLD if "printk" in ids and found.chosen else (),
        created="2026-11-23T06:00:00Z",
    )


def _named(runs: list[Run], stage: Stage, before: int) -> list[Run]:
    return [
        replace(run, recording=f"20261123T06{before + at:04d}-{stage.name[:6]}", star=run.response + 0.4)
        for at, run in enumerate(runs)
    ]


def _row(run: Run, stage: Stage) -> Counted:
    value = 20_000 * math.exp(run.response)
    return Counted(run.recording, stage.title, run.arm, run.block, value, 1.5 * value, 52.5)


@functools.cache
def whole() -> Proof:
    """All kinds of changes helped; one setting does nothing and one harms."""
    return _proof(_board(SUBJECTS))


@functools.cache
def unfinished() -> Proof:
    """Two stages are done."""
    return _proof(_board(SUBJECTS), 2)


@functools.cache
def begun() -> Proof:
    """Nothing was measured yet."""
    return replace(_proof(_board(SUBJECTS), 0), before=None, after=None, beside=(), kernel=None, created="")


@functools.cache
def one() -> Proof:
    """One question, with an answer."""
    return _proof(_board(SUBJECTS[:1]))


@functools.cache
def noisy() -> Proof:
    """One question that cannot be answered."""
    return _proof(_board(SUBJECTS[:1], 2.5))


@functools.cache
def nothing() -> Proof:
    """No setting does anything."""
    return _proof(proving.Board("nothing", SUBJECTS, (), {}, 0.05))


EXAMPLES = {"whole": whole, "unfinished": unfinished, "begun": begun, "one": one, "noisy": noisy, "nothing": nothing}

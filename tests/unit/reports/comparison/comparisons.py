"""Example comparisons for the report tests, made by hand: every conclusion, hostile words, unknowns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rtassay.model.comparison import (
    RUNS_T,
    WITHIN_RUN,
    Comparison,
    Crossover,
    Difference,
    Group,
    LaneRatios,
    QuantileRatio,
    Rarefied,
    Replication,
    RunRow,
)
from rtassay.model.findings import LADDER, CheckResult, Quantile
from rtassay.model.recording import Histogram

EVIL = "</script><img src=x onerror=alert(1)>|`*_\u202e"


def pool(*rows):
    lower, counts = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Histogram(lower, np.full(len(rows), 1000, dtype=np.int64), counts)


def group(name, title, factor, runs=2):
    rows = tuple(
        RunRow(
            id=f"run-{name}{i}",
            path=None,
            n=1_000_000,
            missed=0 if name == "A" else None,
            over=0,
            mean_ns=10_000.0 * factor,
            sd_ns=900.0,
            max_ns=int(90_000 * factor),
            quantiles=tuple(Quantile(q, int(12_000 * factor), 12_000, None, "exact") for q in LADDER),
            started=f"2026-11-21T1{i}:00:00Z",
            duration_s=60.0,
            boot=f"boot{i}",
            temperature_c=51.25 if name == "A" else None,
            labels={"kernel": title},
            weak=("GOVERNOR",) if name == "B" else (),
        )
        for i in range(runs)
    )
    bulk = [(int(value * factor), 10 ** (6 - i)) for i, value in enumerate((10_000, 12_000, 20_000, 40_000, 90_000))]
    return Group(
        name=name,
        title=title,
        runs=rows,
        n=runs * 1_000_000,
        mean_ns=10_000.0 * factor,
        sd_ns=900.0,
        max_ns=int(90_000 * factor),
        boots=runs,
        lanes=("CPU0", "CPU1"),
        histogram=pool(*bulk),
    )


def step(q, ratio, shown, method=RUNS_T):
    lo, hi = ratio * 0.95, ratio * 1.05
    runs = method == RUNS_T
    return QuantileRatio(
        q, 12_000, int(12_000 * ratio), ratio, lo, hi, "exact", method, shown,
        0.0079 if runs else None, 0.055 if runs else None, 1.0 if runs else None, 1.0 if runs else None, 1.05,
    )  # fmt: skip


def crossing():
    ladder = (
        *(step(q, 1.4, "a_better") for q in LADDER[:5]),
        step(LADDER[5], 1.01, None),
        step(LADDER[6], 0.5, "b_better"),
        QuantileRatio(LADDER[7], 90_000, 50_000, None, None, None, "at_least"),
    )
    return Comparison(
        a=group("A", "stock", 1.0),
        b=group("B", "rt", 1.4),
        quantiles=ladder,
        crossover=Crossover(0.999995, 40_000, "b", "a", True),
        checks=(
            CheckResult("FEW-RUNS", "warning", "integrity", "A has 2 runs, B 2 runs", {}),
            CheckResult("MEAN-SD-MISLEADS", "note", "integrity", "mean ranks A better", {}),
            CheckResult("ONE-BOOT", "unknown", "integrity", "not known", {}),
            CheckResult("NO-SAMPLES", "pass", "integrity", "all hold samples", {}),
        ),
        conclusion="crosses",
        sentence="2 runs of stock (A) against 2 runs of rt (B): A first, then B.",
        factor=("kernel",),
        conditions=(
            Difference("kernel.release", "kernel", ("6.1",), ("6.1-rt",), "factor"),
            Difference("kernel.config_sha256", "kernel configuration", ("ab" * 32,), ("cd" * 32,), "factor"),
            Difference("governor", "frequency governor", ("performance",), ("powersave",), "confound"),
            Difference("load", "load", (), ("stress-ng",), "unknown"),
            Difference("os", "operating system", (), (), "unknown"),
            Difference("interval", "interval", ("1ms",), ("1ms",), "same"),
        ),
        lanes=tuple(LaneRatios(f"CPU{i}", i, tuple(step(q, 1.2, "a_better") for q in LADDER)) for i in range(2)),
        rarefied=Rarefied(100_000, 60_000, 50_000, 90_000, 70_000, 60_000, None),
        replication=Replication(2, 2, 1 / 3, 4, 6, None),
        not_covered=("other boots", "any load"),
        bin_width_ns=1000,
    )


def refused():
    bare = crossing()
    return replace(
        bare,
        quantiles=tuple(QuantileRatio(q, 12_000, None, None, None, None, "at_least") for q in LADDER),
        crossover=None,
        conclusion="refused",
        sentence="Not compared: the bins differ.",
        refusals=("the bins differ",),
        lanes=(),
        rarefied=None,
        checks=(CheckResult("NOT-COMPARABLE", "invalid", "integrity", "the bins differ", {}),),
    )


def nothing():
    bare = crossing()
    ladder = tuple(step(q, 1.0, None, WITHIN_RUN) for q in LADDER)
    return replace(
        bare, quantiles=ladder, crossover=replace(bare.crossover, shown=False), conclusion="no_difference_shown"
    )


def hostile():
    bare = crossing()
    a = replace(bare.a, title=EVIL, runs=tuple(replace(run, id=EVIL, started=EVIL) for run in bare.a.runs))
    return replace(
        bare,
        a=a,
        sentence=EVIL,
        checks=(CheckResult("X", "warning", "integrity", EVIL, {"k": float("nan")}),),
        conditions=(Difference("label.x", EVIL, (EVIL,), (EVIL + "b",), "confound", EVIL),),
        lanes=(replace(bare.lanes[0], name=EVIL), bare.lanes[1]),
        not_covered=(EVIL,),
    )


def empty():
    bare = refused()
    groups = [replace(g, runs=(), n=0, mean_ns=None, sd_ns=None, max_ns=None, histogram=None) for g in (bare.a, bare.b)]
    return replace(bare, a=groups[0], b=groups[1], quantiles=(), conditions=())


EXAMPLES = {"crossing": crossing, "refused": refused, "nothing": nothing, "hostile": hostile, "empty": empty}

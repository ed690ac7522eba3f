"""The scorecard of docs/method/experiments.md: every KPI in its order, with the rows this experiment supports, or why it was not measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from rtassay.analysis.checks.cpus import SHARED
from rtassay.analysis.many.experiment import effects, sweeps, watched
from rtassay.analysis.many.experiment.cells import Design, Measured, power, quantile_of
from rtassay.model.comparison import REFUSED
from rtassay.model.experiment import (
    NS,
    PER_BILLION,
    PER_DAY,
    PER_DEGREE,
    PER_SECOND,
    PROBABILITY,
    RATIO,
    SHARE,
    WORDS,
    Combination,
    Compared,
    Grade,
    Kpi,
    KpiRow,
    Sensitivity,
)
from rtassay.model.measures import GPIO, GPIO_ANSWER, GPIO_RESPONSE, TIMERS, WAKE_UP, is_response, measure_words
from rtassay.model.throughput import Throughput
from rtassay.model.units import format_time

MISSIONS_H = (1.0, 10.0)
_SHOWN = (0.5, 0.999, 0.9999, 0.99999, 0.999999)
_FEW = 3
_SOAK_HOURS, _SOAK_RUNS = 20.0, 4


@dataclass(frozen=True, slots=True)
class Facts:
    """The inputs of the KPIs."""

    cells: Sequence[Measured]
    combinations: Sequence[Combination]
    design: Design
    result: dict[str, Any]
    p_each: float | None
    sensitivity: Sequence[Sensitivity]
    compared: Sequence[Compared]
    grade: Grade
    costs: Sequence[Throughput] = ()


Maker = Callable[[Facts], tuple[list[KpiRow], str]]


def scorecard(facts: Facts) -> tuple[Kpi, ...]:
    """All of TABLE, each with rows or with the reason why there are none."""
    found = []
    for id_, name, definition, unit, better, make in TABLE:
        rows, why = make(facts)
        found.append(Kpi(id_, name, definition, unit, better, tuple(rows), "" if rows else why))
    return tuple(found)


def _verdict(facts: Facts) -> tuple[list[KpiRow], str]:
    if facts.design.deadline_ns is None:
        return [], "no deadline was stated"
    if facts.design.per == "cell":
        rows = [
            KpiRow(
                one.title, words=", ".join(f"{n} x {state}" for state, n in _counts(run.verdict for run in one.runs))
            )
            for one in facts.combinations
        ]
    else:
        rows = [KpiRow(facts.design.title(row), words=row["state"]) for row in _judged(facts)]
    return rows, "nothing was measured"


def _judged(facts: Facts) -> list[dict[str, Any]]:
    """Combinations of the result that were judged together."""
    return [row for row in facts.result["combinations"] if row.get("state")]


def _counts(values: Any) -> list[tuple[str, int]]:
    known = [str(value) for value in values if value]
    return [(name, known.count(name)) for name in dict.fromkeys(known)]


def _miss_bound(facts: Facts) -> tuple[list[KpiRow], str]:
    if facts.design.deadline_ns is None:
        return [], "no deadline was stated"
    rows = []
    for row in _judged(facts):
        seen = f"{row['exceedances']:,} of {row['due']:,} due on {row['lane']}"
        rows.append(KpiRow(facts.design.title(row), row["p_upper"], row["p_lower"], row["p_upper"], note=seen))
    return rows, "nothing was measured"


def _star(facts: Facts) -> tuple[list[KpiRow], str]:
    """Interval: from the lower limit of the quantile x_(1-p) to D*, which is its upper limit. Of a requirement in events the upper end alone."""
    q = 1 - facts.design.p
    rows = []
    for one in facts.combinations:
        if one.star_ns is None:
            each = one.star_each_ns
            if each is not None and facts.p_each is not None:
                rows.append(
                    KpiRow(
                        one.title,
                        each,
                        note=f"for p = {power(facts.p_each)} only: too few activations for {facts.design.asked}",
                    )
                )
            continue
        step = quantile_of(one.quantiles, round(q, 12)) if facts.design.per_hour is None else None
        rows.append(
            KpiRow(
                one.title,
                one.star_ns,
                None if step is None else step.lo_ns,
                one.star_ns,
                note=f"for {facts.design.asked}",
            )
        )
    return rows, "too few activations, or samples of unknown length, in every combination"


def _safety(facts: Facts) -> tuple[list[KpiRow], str]:
    deadline = facts.design.deadline_ns
    if deadline is None:
        return [], "no deadline was stated"
    rows = [
        KpiRow(
            one.title,
            deadline / one.max_ns,
            note=f"D / maximum of {one.n:,}" + (f"; D / D* = {deadline / one.star_ns:.3g}" if one.star_ns else ""),
        )
        for one in facts.combinations
        if one.max_ns
    ]
    return rows, "no maximum is known"


def _new_record(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = []
    for one in facts.combinations:
        if one.hours > 0:
            chances = [f"{_percent(m / (one.hours + m))} in the next {m:g} h" for m in MISSIONS_H]
            rows.append(KpiRow(one.title, MISSIONS_H[0] / (one.hours + MISSIONS_H[0]), note=", ".join(chances)))
    return rows, "the length of the runs is not known"


def _percent(chance: float) -> str:
    """Never rounded up to a certainty."""
    return "> 99 %" if chance > 0.99 else f"{100 * chance:.2g} %"


def _grade(facts: Facts) -> tuple[list[KpiRow], str]:
    return [KpiRow("", words=facts.grade.letter, note="; ".join(facts.grade.because))], ""


def _quantiles(facts: Facts) -> tuple[list[KpiRow], str]:
    """All steps; of many combinations only the highest that the samples reach, the rest is in the table of latencies."""
    rows = []
    for one in facts.combinations:
        steps = [step for q in _SHOWN if (step := quantile_of(one.quantiles, q)) is not None]
        if len(facts.combinations) > _FEW:
            steps = [step for step in steps if step.bound == "exact"][-1:]
        for step in steps:
            high = None if step.hi_ns is None else float(step.hi_ns)
            rows.append(
                KpiRow(f"{one.title}: p{100 * step.q:g}", step.value_ns, step.lo_ns, high, step.bound != "exact")
            )
    return rows, "there are no samples"


def _edge(facts: Facts) -> tuple[list[KpiRow], str]:
    return _highest(facts, lambda measure: measure in (GPIO_ANSWER, GPIO_RESPONSE)), "needs runs of the probe gpio"


def _response(facts: Facts) -> tuple[list[KpiRow], str]:
    return _highest(facts, is_response), "needs runs of the probe response"


def _highest(facts: Facts, wanted: Callable[[str], bool]) -> list[KpiRow]:
    """The highest step that the samples reach, of each combination whose measure is a wanted one."""
    rows = []
    for one in facts.combinations:
        steps = [step for step in one.quantiles if step.bound == "exact"]
        if steps and one.measure is not None and wanted(one.measure):
            step = steps[-1]
            high = None if step.hi_ns is None else float(step.hi_ns)
            rows.append(
                KpiRow(
                    f"{one.title}: p{100 * step.q:g}", step.value_ns, step.lo_ns, high, note=measure_words(one.measure)
                )
            )
    return rows


def _parts(facts: Facts) -> tuple[list[KpiRow], str]:
    """Of each combination whose lanes read one activation at several points: from its due time to each of them, median and maximum."""
    rows = []
    for one in facts.combinations:
        lanes = [lane for cell in facts.cells if cell.levels == one.levels for lane in cell.findings.lanes if lane.n]
        points = list(dict.fromkeys(lane.measure for lane in lanes if _is_point(lane.measure)))
        if len(points) < 2:
            continue
        for point in points:
            here = [lane for lane in lanes if lane.measure == point]
            medians = [step.value_ns for lane in here if (step := quantile_of(lane.quantiles, 0.5)) is not None]
            tops = [lane.max_ns for lane in here if lane.max_ns is not None]
            if medians and tops:
                words = f"{measure_words(point)}: median {format_time(max(medians))}, worst {format_time(max(tops))}"
                rows.append(KpiRow(one.title, words=words, note="from the due time, worst lane and run"))
    return rows, "needs runs of the probe response, gpio, timerlat or rtla-timerlat"


def _is_point(measure: str) -> bool:
    return measure in TIMERS or measure in GPIO or measure == WAKE_UP or is_response(measure)


def _noise(facts: Facts) -> tuple[list[KpiRow], str]:
    """Of each combination whose lanes were busy: the share of time that was taken from the worst one, and the longest gap that was kept."""
    rows = []
    for one in facts.combinations:
        runs = [
            [lane.noise for lane in cell.findings.lanes if lane.noise is not None]
            for cell in facts.cells
            if cell.levels == one.levels
        ]
        worst = [max(shares) for run in runs if (shares := [noise.share for noise in run if noise.share is not None])]
        longest = [gap.length_ns for run in runs for noise in run for gap in noise.longest[:1]]
        if worst:
            note = f"longest gap {format_time(max(longest))}" if longest else ""
            rows.append(KpiRow(one.title, float(np.mean(worst)), note=note))
    return rows, "needs runs of the probe noise or osnoise"


def _worst_load(facts: Facts) -> tuple[list[KpiRow], str]:
    levels = facts.design.levels.get("load", ())
    if len(levels) < 2:
        return [], "one load only"
    rows = []
    for q in _SHOWN[1:]:
        known = [(step, one) for one in facts.combinations if (step := quantile_of(one.quantiles, q)) is not None]
        if known:
            step, one = max(known, key=lambda pair: pair[0].value_ns)
            high = None if step.hi_ns is None else float(step.hi_ns)
            rows.append(KpiRow(f"p{100 * q:g}", step.value_ns, step.lo_ns, high, step.bound != "exact", note=one.title))
    tops = [(one.max_ns, one) for one in facts.combinations if one.max_ns is not None]
    if tops:
        max_ns, top = max(tops, key=lambda pair: pair[0])
        rows.append(KpiRow("maximum", max_ns, note=f"{top.title}, of {top.n:,} samples"))
    return rows, "there are no samples"


def _tail_weight(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = []
    for one in facts.combinations:
        far, median = quantile_of(one.quantiles, 0.999999), quantile_of(one.quantiles, 0.5)
        if far is not None and median is not None and median.value_ns > 0:
            rows.append(KpiRow(one.title, far.value_ns / median.value_ns, at_least=far.bound != "exact"))
    return rows, "there are no samples"


def _jitter(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = [
        KpiRow(one.title, one.jitter_ns) for one in facts.combinations if one.jitter_ns is not None and one.n >= 10_000
    ]
    return rows, "fewer than 10,000 samples, or samples outside the histogram"


def _period_jitter(facts: Facts) -> tuple[list[KpiRow], str]:
    """The highest step that the pairs of runs reach, of each combination."""
    rows = []
    for one in facts.combinations:
        steps = (
            [] if one.period_jitter is None else [step for step in one.period_jitter.quantiles if step.bound == "exact"]
        )
        if steps and one.period_jitter is not None:
            note = f"worst {format_time(one.period_jitter.max_ns)} of {one.period_jitter.n:,}"
            rows.append(KpiRow(f"{one.title}: p{100 * steps[-1].q:g}", steps[-1].value_ns, note=note))
    return rows, "needs runs of rtprobe that kept their samples"


def _missed(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = [
        KpiRow(one.title, 1e9 * one.missed / one.due, note=f"{one.missed:,} of {one.due:,}")
        for one in facts.combinations
        if one.missed is not None and one.due
    ]
    return rows, "the probe does not count them (cyclictest)"


def _sensitivity(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = [
        KpiRow(
            f"{row.load} / {row.baseline}" + (f" ({row.where})" if row.where else ""),
            row.ratio,
            row.lo,
            row.hi,
            note=f"at p = {power(row.p)}",
        )
        for row in facts.sensitivity
    ]
    if not any(load in facts.design.idle for load in facts.design.levels.get("load", ())):
        return rows, "no idle level to compare with"
    return rows, "one load only" if len(facts.design.levels.get("load", ())) < 2 else "a run has no D*"


def _isolation(facts: Facts) -> tuple[list[KpiRow], str]:
    isolated = {one.levels["scenario"] for one in facts.cells if one.isolated}
    rows = []
    for base, other in effects.pairs(facts.combinations, "scenario", lambda level: level in isolated):
        effect = effects.star_effect(base, other)
        if effect is not None and base.levels["load"] not in facts.design.idle:
            cost = _work_words(facts, other, base)
            rows.append(KpiRow(f"{other.title} / {base.title}", effect.ratio, effect.lo, effect.hi, note=cost))
    return rows, "no isolated and shared CPUs under one load"


def _work_words(facts: Facts, before: Combination, after: Combination) -> str:
    """What the loads get done with `after` over `before`; empty where they do not count their work."""
    sides = [[one for one in facts.cells if one.levels == side.levels] for side in (before, after)]
    effect = effects.throughput(*sides)
    if effect is None:
        return ""
    told = f"work of the loads with isolation: {_times(effect)}"
    alike = effects.throughput(*sides, classes=SHARED)
    return told if alike is None else f"{told}; of caches and memory alone: {_times(alike)}"


def _times(effect: effects.Effect) -> str:
    interval = "" if effect.lo is None or effect.hi is None else f" [{effect.lo:.3g}, {effect.hi:.3g}]"
    return f"{effect.ratio:.3g} times{interval}"


def _lottery(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = []
    for one in facts.combinations:
        if one.boot_variance:
            row = one.boot_variance[-1]
            rows.append(
                KpiRow(
                    f"{one.title}: p{100 * row.q:g}",
                    row.icc,
                    row.lo,
                    row.hi,
                    note=f"{row.boots} boots, {row.runs} runs",
                )
            )
    return rows, "one boot, or one run a boot: boots and runs cannot be told apart"


def _drift(facts: Facts) -> tuple[list[KpiRow], str]:
    """Theil-Sen slope of ln of the runs' common highest quantile over their begin."""
    rows = []
    for one in facts.combinations:
        if one.cv_q is None or len(one.runs) < _SOAK_RUNS or any(run.started is None for run in one.runs):
            continue
        begun_s = np.array([datetime.fromisoformat(str(run.started)).timestamp() for run in one.runs])
        if begun_s.max() - begun_s.min() < _SOAK_HOURS * 3600:
            continue
        logs = np.log([step.value_ns for run in one.runs if (step := quantile_of(run.quantiles, one.cv_q)) is not None])
        slopes = [
            (logs[j] - logs[i]) / (begun_s[j] - begun_s[i])
            for i in range(len(logs))
            for j in range(i + 1, len(logs))
            if begun_s[j] > begun_s[i]
        ]
        a_day = float(np.expm1(np.median(slopes) * 86400))
        rows.append(KpiRow(one.title, a_day, note=f"p{100 * one.cv_q:g} of {len(one.runs)} runs"))
    return rows, f"no combination was run over {_SOAK_HOURS:.0f} h or more (preset soak)"


def _asymmetry(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = []
    for one in facts.combinations:
        known = [(name, ns) for name, ns in one.lanes if ns]
        if len(known) > 1 and len(known) == len(one.lanes):
            low, high = min(known, key=lambda pair: pair[1]), max(known, key=lambda pair: pair[1])
            note = f"{high[0]} / {low[0]}, at p = {power(facts.p_each)}"
            rows.append(KpiRow(one.title, high[1] / low[1], note=note))
    return rows, "one CPU, or a CPU without a D*"


def _temperature(facts: Facts) -> tuple[list[KpiRow], str]:
    return watched.temperature(facts.cells, facts.combinations)


def _idle_and_governor(facts: Facts) -> tuple[list[KpiRow], str]:
    return sweeps.idle_and_governor(facts.cells, facts.combinations, facts.design)


def _overhead(facts: Facts) -> tuple[list[KpiRow], str]:
    return watched.overhead(facts.cells, facts.combinations, facts.design)


def _capacity(facts: Facts) -> tuple[list[KpiRow], str]:
    return sweeps.capacity(facts.cells, facts.combinations, facts.design, facts.p_each)


def _kernels(facts: Facts) -> list[Compared]:
    return [one for one in facts.compared if one.factor == "kernel" and one.comparison.conclusion != REFUSED]


def _throughput(facts: Facts) -> tuple[list[KpiRow], str]:
    """Of fixed works, where they were measured; else of the loads beside the wake-ups."""
    rows = []
    for cost in facts.costs:
        if cost.total is not None:
            each = ", ".join(f"{row.work} {row.throughput.ratio:.3g}" for row in cost.works)
            rows.append(
                KpiRow(
                    f"{cost.b} / {cost.a}", cost.total.ratio, cost.total.lo, cost.total.hi, note=f"fixed works: {each}"
                )
            )
    if rows:
        return rows, ""
    for base, other in _kernel_pairs(facts):
        sides = [[one for one in facts.cells if one.levels == side.levels] for side in (base, other)]
        effect = effects.throughput(*sides)
        if effect is not None:
            rows.append(KpiRow(f"{other.title} / {base.title}", effect.ratio, effect.lo, effect.hi))
    return rows, "no two kernels with fixed works (preset rt-cost), nor under a load that counts its work"


def _kernel_pairs(facts: Facts) -> list[tuple[Combination, Combination]]:
    kernels = facts.design.levels.get("kernel", ())
    return effects.pairs(facts.combinations, "kernel", lambda level: level == kernels[0]) if len(kernels) > 1 else []


def _median_cost(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = []
    for one in _kernels(facts):
        step = next((row for row in one.comparison.quantiles if row.q == 0.5), None)
        if step is not None and step.a_ns is not None and step.b_ns is not None:
            note = "" if step.ratio is None else f"ratio {step.ratio:.3g}"
            note += "" if step.lo is None or step.hi is None else f" [{step.lo:.3g}, {step.hi:.3g}]"
            rows.append(
                KpiRow(
                    f"{one.b} - {one.a}" + (f" ({one.where})" if one.where else ""), step.b_ns - step.a_ns, note=note
                )
            )
    return rows, "no two kernels were compared"


def _crossover(facts: Facts) -> tuple[list[KpiRow], str]:
    rows = [
        KpiRow(
            f"{one.a} / {one.b}" + (f" ({one.where})" if one.where else ""),
            1 - turn.q,
            note=f"at {turn.value_ns / 1000:.1f} us",
        )
        for one in _kernels(facts)
        if (turn := one.comparison.crossover) is not None and turn.shown
    ]
    return rows, "no crossover is shown" if _kernels(facts) else "no two kernels were compared"


def _trust(facts: Facts) -> tuple[list[KpiRow], str]:
    return [KpiRow("", words="see Checks, Matrix, Repeat it on this page")], ""


# id, name, definition, unit, better, rows
TABLE: tuple[tuple[str, str, str, str, str, Maker], ...] = (
    ("A1", "Deadline verdict", "state for deadline, p, confidence and load", WORDS, "", _verdict),
    ("A2", "Miss bound", "p of a miss per activation, at most (one-sided)", PROBABILITY, "down", _miss_bound),
    ("A3", "Demonstrable deadline D*", "smallest deadline the data demonstrate, worst CPU", NS, "down", _star),
    ("A4", "Safety factor", "deadline / maximum; falls as more is measured, decides nothing", RATIO, "up", _safety),
    ("A5", "New-record probability", "chance of a new maximum in a further hour", SHARE, "down", _new_record),
    ("A6", "Evidence grade", "A: 8 boots, all loads, no warning; B: 5 boots; C: fewer; X: invalid", WORDS, "", _grade),
    ("B1", "Quantiles, all CPUs", "nearest rank, 95 % order-statistic interval over all runs", NS, "down", _quantiles),
    ("B2", "Worst over the loads", "the largest of B1, and of the maxima", NS, "down", _worst_load),
    ("B3", "Tail weight", "p99.9999 / p50", RATIO, "down", _tail_weight),
    ("B4", "Wake-up jitter", "p99.99 - p0.01", NS, "down", _jitter),
    ("B5", "Missed activations", "per 1e9 due", PER_BILLION, "down", _missed),
    (
        "C1",
        "End-to-end response",
        "edge on a wire to the answer on another, from the due time",
        NS,
        "down",
        _edge,
    ),
    (
        "C2",
        "Decomposition",
        "from the due time of an activation to its interrupt, its thread, its answer",
        WORDS,
        "",
        _parts,
    ),
    (
        "C3",
        "Execution-time noise",
        "share of a busy loop's time that was taken, worst CPU, mean of the runs",
        SHARE,
        "down",
        _noise,
    ),
    (
        "C4",
        "Period and output jitter",
        "how far the time between two consecutive runs of a thread is from its interval",
        NS,
        "down",
        _period_jitter,
    ),
    (
        "C5",
        "Lock and IPC response",
        "from a due request until the thread that waits for it runs",
        NS,
        "down",
        _response,
    ),
    ("D1", "Load sensitivity", "D*(load) / D*(idle), run by run", RATIO, "down", _sensitivity),
    ("D2", "Isolation gain", "D*(shared CPU) / D*(isolated CPU) under one load", RATIO, "up", _isolation),
    (
        "D3",
        "Temperature sensitivity",
        "change of p99.9 per degC within runs from cold to hot",
        PER_DEGREE,
        "down",
        _temperature,
    ),
    (
        "D4",
        "Frequency and idle sensitivity",
        "D* with idle states, or another governor / D* without",
        RATIO,
        "down",
        _idle_and_governor,
    ),
    ("D5", "Boot lottery", "share of boots in the variance of runs (ICC)", SHARE, "down", _lottery),
    ("D6", "Soak drift", "Theil-Sen slope over the runs", PER_DAY, "down", _drift),
    ("D7", "CPU asymmetry", "D* of the worst / of the best CPU", RATIO, "down", _asymmetry),
    (
        "E1",
        "Throughput",
        "work per second of fixed works, else of the loads, second kernel / first, geometric mean",
        RATIO,
        "up",
        _throughput,
    ),
    ("E2", "Median penalty", "difference of p50, second kernel - first", NS, "down", _median_cost),
    (
        "E3",
        "Crossover quantile",
        "1 - q* beyond which the order of two kernels changes",
        PROBABILITY,
        "down",
        _crossover,
    ),
    (
        "E4",
        "CPU overhead",
        "context switches, CPU time of interrupt threads (no power meter)",
        PER_SECOND,
        "down",
        _overhead,
    ),
    ("E5", "Capacity", "highest rate with misses of the next activation <= p", PER_SECOND, "up", _capacity),
    ("F", "Trust", "checks, coverage, fingerprint, repeat command", WORDS, "", _trust),
)

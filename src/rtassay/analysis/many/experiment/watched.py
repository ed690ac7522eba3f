"""What the monitors of the runs add to the scorecard: latency by temperature (D3), and what the system does beside (E4)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from rtassay.analysis.checks import series
from rtassay.analysis.checks.context import Context
from rtassay.analysis.checks.environment import processor_zones
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.distribution import ints
from rtassay.analysis.many.experiment.cells import Design, Measured
from rtassay.model.experiment import Combination, KpiRow
from rtassay.model.units import NS_PER_S

Rows = list[KpiRow]

RAMP_C = 5.0
RAMPS = 3
QUANTILE = 0.999
BLOCK_S = 30
LEAST_BLOCKS = 8


def temperature(cells: Sequence[Measured], combinations: Sequence[Combination]) -> tuple[Rows, str]:
    """D3: by how much p99.9 changes with a degree, from runs in which the processor's temperature ranged over RAMP_C or more.

    The slope of ln p99.9 over temperature of every run is one value; the interval is Student's over the runs.
    """
    rows: Rows = []
    fewer = 0
    for one in combinations:
        slopes = [slope for cell in cells if cell.levels == one.levels and (slope := ramp(cell)) is not None]
        if len(slopes) < RAMPS:
            fewer = max(fewer, len(slopes))
            continue
        mean, half = _student(slopes)
        low, middle, high = (math.expm1(value) for value in (mean - half, mean, mean + half))
        note = f"p99.9, {len(slopes)} runs of {RAMP_C:g} degC or more from cold to hot; what else changed in them counts too"
        rows.append(KpiRow(one.title, middle, low, high, note=note))
    had = f"{fewer} of {RAMPS} runs" if fewer else "no run"
    return rows, f"{had} of a combination ranged over {RAMP_C:g} degC or more (preset qualify: runs from cold to hot)"


def ramp(cell: Measured) -> float | None:
    """Slope of ln p99.9 over the processor's temperature within a run, mean of its lanes; None where it has no ramp, or no seconds.

    p99.9 of a block of seconds comes from the maxima of its seconds: of n samples each, a share of 0.999 ** n of the maxima lies
    below p99.9. That needs an n of about a thousand (0.1 to 0.9 of the maxima below it).
    """
    context = _context(cell)
    origin = cell.recording.manifest.probe_facts.origin_ns
    begin = origin if origin is not None else (context.window_ns or (None,))[0]
    zones = processor_zones(context)
    if begin is None or not zones:
        return None
    hottest = max(zones, key=lambda zone: float(zone.values.mean()))
    slopes = []
    for lane in context.accounts:
        if lane.lane.seconds is None:
            continue
        second, n, top = (
            ints(column) for column in (lane.lane.seconds.second, lane.lane.seconds.n, lane.lane.seconds.max_ns)
        )
        block = second // BLOCK_S
        points = []
        for number in np.unique(block):
            inside = (block == number) & (n > 0)
            if inside.sum() < BLOCK_S // 2:
                continue
            share = QUANTILE ** float(np.median(n[inside]))
            since = begin + int(number) * BLOCK_S * NS_PER_S
            near = (hottest.times >= since) & (hottest.times < since + BLOCK_S * NS_PER_S)
            if 0.1 <= share <= 0.9 and near.any() and (value := float(np.quantile(top[inside], share))) > 0:
                points.append((float(hottest.values[near].mean()), math.log(value)))
        if len(points) < LEAST_BLOCKS:
            continue
        celsius, logs = np.array(points).T
        if np.ptp(celsius) >= RAMP_C:
            slopes.append(float(np.polyfit(celsius, logs, 1)[0]))
    return float(np.mean(slopes)) if slopes else None


def overhead(cells: Sequence[Measured], combinations: Sequence[Combination], design: Design) -> tuple[Rows, str]:
    """E4: context switches per second, and the CPU time of interrupt threads in CPUs; mean over the runs with Student's interval."""
    rows: Rows = []
    for one in combinations:
        contexts = [_context(cell) for cell in cells if cell.levels == one.levels]
        where = f"{one.title}: " if design.varying else ""
        rates = [found.per_s for context in contexts if (found := _switches(context)) is not None]
        if rates:
            rows.append(_mean(f"{where}context switches", rates, "per second, of the whole board"))
        shares = [share for context in contexts if (share := _interrupt_threads(context)) is not None]
        if shares:
            shown = [f"{100 * share:.3g} %" for share in (np.mean(shares), min(shares), max(shares))]
            span = f" ({shown[1]} to {shown[2]} in {len(shares)} runs)" if len(shares) > 1 else ""
            rows.append(KpiRow(f"{where}interrupt threads", words=f"{shown[0]} of a CPU{span}"))
    return rows, "no monitor of context switches or real-time threads was read (probes of other tools, imported files)"


def _switches(context: Context) -> series.Inside | None:
    return series.named(context, "switches", "all.context_switches")


def _interrupt_threads(context: Context) -> float | None:
    """CPU time of threads `irq/...` per second of the measurement; None where threads were not watched."""
    if not series.watched(context, "threads"):
        return None
    threads = series.of(context, "threads")
    return sum(found.per_s for found in threads if found.name.startswith("irq/") and found.name.endswith(".busy"))


def _mean(where: str, values: Sequence[float], note: str) -> KpiRow:
    if len(values) < 2:
        return KpiRow(where, values[0], note=note)
    mean, half = _student(values)
    return KpiRow(where, mean, max(0.0, mean - half), mean + half, note=note)


def _student(values: Sequence[float]) -> tuple[float, float]:
    """Mean of two values or more, and half the width of its 95 % interval."""
    array = np.array(values, dtype=np.float64)
    error = float(array.std(ddof=1)) / math.sqrt(array.size)
    return float(array.mean()), float(stdtrit(array.size - 1, 0.975)) * error


def _context(cell: Measured) -> Context:
    recording = cell.recording
    return Context(recording, accounts(recording), cell.findings.lanes, None, 0.0, 0.95)

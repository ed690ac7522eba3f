"""Reasons to give no number, as codes with facts, in words, with what would help."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from rtassay.analysis.tail.clusters import Tail
from rtassay.analysis.tail.doubts import HEAVY
from rtassay.analysis.tail.gev import BlockFit
from rtassay.analysis.tail.thresholds import LEAST, LEAST_DISTINCT, MOST_SHARE
from rtassay.model.extrapolation import Refusal, Test
from rtassay.model.units import format_time

TOO_FAR = 100
LONGER = "measure longer under the same load"


def unusable(tail: Tail) -> list[Refusal]:
    """Values that the tail lacks."""
    found = []
    over, lost = sum(run.over for run in tail.runs), sum(run.lost for run in tail.runs)
    if over:
        found.append(Refusal(
            "OVERFLOW-IN-TAIL", f"{over:,} samples lie above the histogram: the largest values are not known",
            "measure again with a wider histogram (rtprobe needs none; cyclictest: -h 10000)", {"over": over},
        ))  # fmt: skip
    if lost:
        found.append(Refusal(
            "LOST-IN-TAIL", f"{lost:,} due activations have no value (dropped or truncated): they may be the latest ones",
            "find what starved the lane or the writer (rtassay show), then measure again", {"lost": lost},
        ))  # fmt: skip
    return found


def invalid(failed: Mapping[str, tuple[str, ...]]) -> Refusal:
    """Checks that make a recording invalid, by recording."""
    ids = sorted({each for row in failed.values() for each in row})
    return Refusal(
        "INVALID-MEASUREMENT", f"{', '.join(ids)}: {len(failed)} of the recordings {'is' if len(failed) == 1 else 'are'} no valid measurement",
        "rtassay show tells what each check found and what to do", {"checks": {name: list(row) for name, row in failed.items()}},
    )  # fmt: skip


def few(tail: Tail) -> Refusal:
    """No threshold has enough above it."""
    lowest = tail.above(max(tail.floor_ns, tail.threshold(int(MOST_SHARE * tail.n))))
    different = np.unique(lowest.value_ns)
    values = int(different.size)
    if lowest.clusters >= LEAST and values < lowest.clusters:
        step = f", {format_time(int(np.diff(different).min()))} apart or more" if values > 1 else ""
        return Refusal(
            "FEW-VALUES",
            f"{values} different value{'s' * (values != 1)} in the tail{step}: the clock is too coarse, no threshold has {LEAST_DISTINCT} of them and {LEAST} to 600 bursts above it",
            "measure with a finer clock: rtprobe keeps nanoseconds", {"distinct": values, "tick_ns": tail.tick_ns},
        )  # fmt: skip
    return Refusal(
        "FEW-EXCEEDANCES",
        f"{tail.value_ns.size:,} samples of the tail are known one by one, in {lowest.clusters:,} bursts: {LEAST} bursts are needed above a threshold that at most 1 % exceed",
        f"keep every sample (rtassay run --samples), or {LONGER}", {"kept": int(tail.value_ns.size), "bursts": lowest.clusters, "needed": LEAST},
    )  # fmt: skip


def no_threshold(p: list[float]) -> Refusal:
    """ForwardStop rejects all thresholds."""
    return Refusal(
        "NOT-A-GPD", "above no threshold do the values follow the distribution that extrapolation assumes",
        f"find the cause of the largest values (rtassay report lists them), or {LONGER}, so that higher thresholds have enough values", {"p_shape": [float(f"{value:.3g}") for value in p]},
    )  # fmt: skip


def heavy(xi: float, xi_hi: float) -> Refusal:
    """The tail may be too heavy for any use."""
    return Refusal(
        "HEAVY-TAIL", f"the shape is {xi:.2f}, and may be as large as {xi_hi:.2f}: above {HEAVY} a level beyond the data has no useful limit",
        f"find the cause of the largest values, or {LONGER}", {"xi": round(xi, 3), "xi_hi": round(xi_hi, 3)},
    )  # fmt: skip


def routes(level: tuple[float, float, float], other: tuple[float, float, float], p: float, fit: BlockFit) -> Refusal:
    """Block maxima say something else. Both as (estimate, low, high)."""
    first, second = ([round(value) for value in row] for row in (level, other))
    words = [f"{format_time(row[0])} [{format_time(row[1])}, {format_time(row[2])}]" for row in (first, second)]
    return Refusal(
        "ROUTES-DISAGREE", f"exceedances and block maxima disagree on the level exceeded with {p:g}: {words[0]} and {words[1]}",
        "look for bursts or slow changes (rtassay report)", {"pot_ns": first, "blocks_ns": second, "xi_blocks": round(fit.xi, 3)},
    )  # fmt: skip


def too_far(p: float, n: int) -> Refusal:
    """A level more than 100 samples away."""
    return Refusal(
        "LEVEL-TOO-FAR", f"1 in {round(1 / p):,} is {1 / (p * n):,.0f} times the {n:,} measured wake-ups: more than {TOO_FAR} times",
        f"measure {1 / (TOO_FAR * p) - n:,.0f} more wake-ups", {"beyond": round(1 / (p * n), 1)},
    )  # fmt: skip


def failed(test: Test) -> Refusal:
    """A test of an assumption below its alpha."""
    reason, remedy = _WORDS[test.code]
    facts: dict[str, Any] = {**test.facts, "p": None if test.p is None else float(f"{test.p:.3g}")}
    return Refusal(test.code, reason.format(**_shown(test.facts)), remedy, facts)


def _shown(facts: dict[str, Any]) -> dict[str, Any]:
    times = {key: format_time(value) for key, value in facts.items() if key.endswith("_ns")}
    lists = {key: ", ".join(map(str, value)) for key, value in facts.items() if isinstance(value, list)}
    return {**facts, **times, **lists}


_WORDS = {
    "MIXTURE": (
        "the largest values above {threshold_ns} are not of one kind with those below them: a second, rarer cause shows in the tail",
        "find the cause of the largest values (rtassay report lists them), remove it or measure until it has 50 of its own",
    ),
    "DRIFT": (
        "late wake-ups are not spread evenly over the runs: {bursts_by_third} bursts in the thirds",
        "let the board settle (--warm-up), keep temperature and load constant, and measure again",
    ),
    "RUNS-DIFFER": (
        "the runs differ by more than chance: {bursts} bursts",
        "find what differs (rtassay compare), or measure more runs and treat each as its own",
    ),
    "UNSTABLE": (
        "the shape depends on the threshold: {xi_chosen} at the chosen one, {xi} above {threshold_ns}",
        LONGER,
    ),
    "HALVES-DISAGREE": (
        "the second half contradicts the first: {above_lower_limit} bursts reach the lower and {above_upper_limit} the upper limit of a level where about {expected} were expected",
        "keep the conditions constant, and measure again",
    ),
}

"""Tests of what an extrapolation assumes. Each gives a p value and facts; `refusals` gives them words."""

from __future__ import annotations

import math

import numpy as np

from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.tail.calibration import p_value, sides
from rtassay.analysis.tail.clusters import Exceeding
from rtassay.analysis.tail.gev import Blocks
from rtassay.analysis.tail.gpd import Floats, Profile, excesses, level
from rtassay.analysis.tail.shape import two_pieces
from rtassay.analysis.tail.thresholds import Threshold
from rtassay.model.extrapolation import Test

ALPHA = 0.01
MIXTURE_ALPHA = 0.03
"""A second mode that is missed gives a wrong answer; one that is not there costs an answer."""
HALF_EXPECTED = 5
BLOCKS = 100
BLOCK_LEAST = 1_000
LEAST_BLOCKS = 30
HEAVY = 0.5
NORMAL_XI = -0.4
"""Below it the variance of xi is not (1 + xi)^2 / m."""
COMPARED = 90
"""Fewer values have a shape too far from normal to compare."""


def mixture(row: Threshold) -> Test:
    """One GPD above the threshold, against two."""
    statistic = two_pieces(row.excesses, row.profile)
    p = p_value("PIECES", statistic, row.fit.xi, row.m)
    return Test(
        "MIXTURE",
        p,
        MIXTURE_ALPHA,
        {"likelihood_ratio": round(statistic, 2), "threshold_ns": row.exceeding.threshold_ns},
    )


def drift(lowest: Exceeding) -> Test:
    """Bursts lie evenly over the time of their runs: Kolmogorov and Smirnov's test of their places."""
    if not lowest.tail.ordered:
        return Test("DRIFT", None, ALPHA)
    from scipy.special import kolmogorov

    lengths = np.array([run.n for run in lowest.tail.runs], dtype=np.float64)
    at = lowest.first
    run = lowest.run[at]
    place = np.sort((lowest.position[at] - lowest.tail.begin[run] + 0.5) / lengths[run])
    m = place.size
    distance = max(float((np.arange(1, m + 1) / m - place).max()), float((place - np.arange(m) / m).max()))
    p = float(kolmogorov((math.sqrt(m) + 0.12 + 0.11 / math.sqrt(m)) * distance))
    thirds = np.histogram(place, 3, (0, 1))[0]
    return Test("DRIFT", p, ALPHA, {"distance": round(distance, 4), "bursts_by_third": thirds.tolist()})


def runs_differ(lowest: Exceeding, row: Threshold) -> Test:
    """The runs have bursts in proportion to their length (chi-squared), and alike in size (Kruskal and Wallis)."""
    tail = lowest.tail
    runs = len(tail.runs)
    if runs < 2:
        return Test("RUNS-DIFFER", None, ALPHA)
    from scipy.special import gammaincc

    count = np.bincount(lowest.run[lowest.first], minlength=runs)
    expected = count.sum() * np.array([run.n for run in tail.runs]) / tail.n
    spread = float(((count - expected) ** 2 / expected).sum())
    p_count = float(gammaincc((runs - 1) / 2, spread / 2))
    chosen = row.exceeding
    statistic, groups = _kruskal_wallis(chosen.maxima_ns, chosen.run[chosen.first])
    p_size = float(gammaincc((groups - 1) / 2, statistic / 2)) if groups > 1 else 1.0
    p = min(1.0, 2 * min(p_count, p_size))
    facts = {"bursts": count.tolist(), "p_count": float(f"{p_count:.3g}"), "p_size": float(f"{p_size:.3g}")}
    return Test("RUNS-DIFFER", p, 2 * ALPHA, facts)


def _kruskal_wallis(values: Ints, group: Ints) -> tuple[float, int]:
    """(H corrected for ties, number of groups). W. H. Kruskal and W. A. Wallis, JASA 47, 1952."""
    _, inverse, ties = np.unique(values, return_inverse=True, return_counts=True)
    rank = (np.cumsum(ties) - (ties - 1) / 2)[inverse]
    n = values.size
    size = np.bincount(group)
    has = size > 0
    sums = np.bincount(group, rank)[has]
    untied = 1 - float((ties.astype(float) ** 3 - ties).sum()) / (float(n) ** 3 - n)
    if untied <= 0:
        return 0.0, int(has.sum())
    statistic = 12 / (n * (n + 1)) * float((sums**2 / size[has]).sum()) - 3 * (n + 1)
    return max(0.0, statistic / untied), int(has.sum())


def unstable(rows: list[Threshold], at: int) -> Test:
    """Shapes at higher thresholds differ from the chosen one by no more than fewer values explain (Hausman's variance of a difference)."""
    row = rows[at]
    others = [other for other in rows[at + 1 :] if COMPARED <= other.m < row.m]
    if row.fit.xi < NORMAL_XI or not others:
        return Test("UNSTABLE", None, ALPHA)
    from scipy.special import ndtr

    def score(other: Threshold) -> float:
        variance = (1 + row.fit.xi) ** 2 * (1 / other.m - 1 / row.m) * (1 + 10 / other.m)
        return abs(other.fit.xi - row.fit.xi) / math.sqrt(variance)

    other = max(others, key=score)
    p = min(1.0, 2 * len(others) * float(ndtr(-score(other))))
    facts = {
        "threshold_ns": other.exceeding.threshold_ns,
        "xi": round(other.fit.xi, 3),
        "xi_chosen": round(row.fit.xi, 3),
    }
    return Test("UNSTABLE", p, ALPHA, facts)


def halves(row: Threshold) -> Test:
    """The first half of the time predicts a level; the second half exceeds it as often as was predicted, to the limits of the prediction."""
    tail = row.exceeding.tail
    half = tail.n / 2
    early = row.exceeding.position[row.exceeding.first] < half
    if not tail.ordered or min(early.sum(), (~early).sum()) < 25:
        return Test("HALVES-DISAGREE", None, ALPHA)
    maxima = row.exceeding.maxima_ns
    first = _refit(row, maxima[early])
    ratio = max(2.0, early.sum() / HALF_EXPECTED)
    below, above = sides(float(early.sum()), ratio, 1 - ALPHA, first.fine)
    low, high = first.limits(lambda sigma, tau: level(sigma, tau, ratio), below, above)
    later = maxima[~early] - row.exceeding.threshold_ns
    many, few = int((later >= high).sum()), int((later + tail.tick_ns > low).sum())
    expected = early.sum() / ratio
    p = min(1.0, 2 * min(_poisson_at_least(many, expected), _poisson_at_most(few, expected)))
    return Test(
        "HALVES-DISAGREE",
        p,
        ALPHA,
        {"expected": round(float(expected), 1), "above_upper_limit": many, "above_lower_limit": few},
    )


def _refit(row: Threshold, maxima: Ints) -> Profile:
    return Profile(excesses(maxima, row.exceeding.threshold_ns, row.exceeding.tail.tick_ns))


def _poisson_at_least(k: int, mean: float) -> float:
    from scipy.special import gammainc

    return 1.0 if k <= 0 else float(gammainc(k, mean))


def _poisson_at_most(k: int, mean: float) -> float:
    from scipy.special import gammaincc

    return float(gammaincc(k + 1, mean))


def block_maxima(lowest: Exceeding) -> tuple[Blocks, int] | None:
    """Maxima of BLOCKS blocks over all runs, no block in two runs, and the length of a block; None without order or with short blocks."""
    tail = lowest.tail
    length = max(BLOCK_LEAST, tail.n // BLOCKS)
    if not tail.ordered or tail.n // length < LEAST_BLOCKS:
        return None
    starts = np.cumsum([0, *(run.n // length for run in tail.runs)])
    within = (lowest.position - tail.begin[lowest.run]) // length
    whole = within < np.diff(starts)[lowest.run]
    block = starts[lowest.run[whole]] + within[whole]
    top = np.full(int(starts[-1]), -1, np.int64)
    np.maximum.at(top, block, lowest.value_ns[whole])
    values = _spread(np.sort(top[top >= 0]), tail.tick_ns)
    if values.size < LEAST_BLOCKS:
        return None
    return Blocks(values, float(lowest.threshold_ns), int((top < 0).sum())), length


def _spread(values: Ints, tick_ns: int) -> Floats:
    """Values of one tick, evenly over it."""
    each, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.arange(values.size) - np.concatenate([[0], np.cumsum(count)[:-1]])[inverse]
    spread: Floats = each[inverse] + tick_ns * (rank + 0.5) / count[inverse]
    return spread


def events_per_h(p: float, theta: float, interval_ns: int | None) -> float | None:
    """Bursts above a level of this p in an hour."""
    return p * theta * 3.6e12 / interval_ns if interval_ns else None

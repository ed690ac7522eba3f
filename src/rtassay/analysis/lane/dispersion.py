"""Have the runs the same share of late activations? A test before they are pooled (docs/method/verdict.md)."""

from __future__ import annotations

import math

from rtassay.analysis.lane.distribution import Ints

LEVEL = 0.05
FEW_RUNS = 5
"""Fewer runs do not tell how far further ones lie from them."""


def differ(counts: Ints, due: Ints) -> bool:
    """Whether `counts` of events scatter over the runs more than one rate does (at LEVEL), with `due` activations of each run."""
    return p_value(counts, due) < LEVEL


def p_value(counts: Ints, due: Ints) -> float:
    """P(scatter as large | the same rate) of Pearson's statistic, given the sum; 1 for fewer than two events.

    Its mean and variance are the exact ones of the multinomial distribution (J. B. S. Haldane, The mean and variance of chi-squared,
    Biometrika 31, 1940); a gamma distribution has both.
    """
    from scipy.special import gammaincc

    share = due[due > 0] / due.sum()
    seen, total = counts[due > 0], int(counts.sum())
    cells = share.size
    if total < 2 or cells < 2:
        return 1.0
    statistic = float(((seen - total * share) ** 2 / (total * share)).sum())
    mean = cells - 1
    variance = 2 * mean + (float((1 / share).sum()) - cells**2 - 2 * mean) / total
    return float(gammaincc(mean**2 / variance, statistic * mean / variance)) if variance > 0 else 1.0


def widening(counts: Ints, due: Ints, confidence: float) -> float:
    """By how much further runs may have more events than these on average: a factor of at least 1, which is 1 if the runs do not differ.

    From FEW_RUNS runs on: an upper limit of the mean of a lognormal distribution over the observed mean (U. Olsson, Confidence intervals
    for the mean of a log-normal distribution, Journal of Statistics Education 13, 2005), where the variance of ln of a rate is what
    exceeds that of its count. Fewer runs: the worst one over the mean. docs/method/verdict.md has what this covers.
    """
    if not differ(counts, due):
        return 1.0
    seen, exposed = counts[due > 0], due[due > 0]
    mean = float(seen.sum() / exposed.sum())
    if seen.size < FEW_RUNS:
        return float((seen / exposed).max()) / mean
    from scipy.special import stdtrit

    runs, (centre, scatter, own) = seen.size, _logs(seen, exposed)
    error = math.sqrt(scatter / runs + own**2 / (2 * (runs - 1)))
    limit = math.exp(centre + own / 2 + float(stdtrit(runs - 1, confidence)) * error)
    return max(1.0, limit / float(((seen + 0.5) / exposed).mean()))


def spread(counts: Ints, due: Ints) -> float:
    """Standard deviation of ln of the rate between runs, without what chance adds to a count; 0 if the runs do not differ."""
    return math.sqrt(_logs(counts[due > 0], due[due > 0])[2]) if differ(counts, due) else 0.0


def _logs(counts: Ints, due: Ints) -> tuple[float, float, float]:
    """Of ln of the rates: mean, variance, and the variance that is not chance."""
    logs = [math.log(one) for one in (counts + 0.5) / due]
    centre = sum(logs) / len(logs)
    scatter = sum((one - centre) ** 2 for one in logs) / (len(logs) - 1)
    return centre, scatter, max(0.0, scatter - float((1 / (counts + 0.5)).mean()))

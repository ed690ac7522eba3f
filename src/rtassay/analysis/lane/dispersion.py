"""Have the runs the same share of late activations? A test before they are pooled (docs/method/verdict.md)."""

from __future__ import annotations

from rtassay.analysis.lane.distribution import Ints

LEVEL = 0.05


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

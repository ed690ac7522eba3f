"""Binomial and Poisson bounds from scipy.special (scipy.stats costs a second to import).

scipy.special itself is imported at the first bound: the tables of checks, which import this module, are read without it.

Probabilities near 0 and 1 are handled through their small complement, so they keep their digits at n = 1e12.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from rtassay.analysis.lane.distribution import Ints


def decimal(q: float) -> Fraction:
    """The decimal number a person wrote: 0.9999999 is 9999999/10000000, not the nearest binary fraction."""
    return Fraction(repr(float(q)))


def nearest_rank(n: int, q: float) -> int:
    """ceil(n q), at least 1: the rank of the nearest-rank quantile among n >= 1 values, without rounding error."""
    exact = decimal(q)
    return max(1, -(-n * exact.numerator // exact.denominator))


def binomial_ppf(alpha: float, n: int, q: float) -> int:
    """The smallest x with P(Binomial(n, q) <= x) >= alpha, for 0 < alpha < 1.

    P(X <= x) is the chance of at least n - x failures, each of probability 1 - q: the largest such count is searched.
    """
    fail = float(1 - decimal(q))
    if fail <= 0.0 or n == 0:
        return n
    if fail >= 1.0:
        return 0

    from scipy.special import betainc

    def enough(failures: int) -> bool:
        return failures <= 0 or float(betainc(failures, n - failures + 1, fail)) >= alpha

    spread = 12 * math.sqrt(n * fail * (1 - fail)) + 12
    low = max(0, int(n * fail - spread))
    high = min(n, int(n * fail + spread)) + 1
    while low > 0 and not enough(low):
        low //= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return n - low


def p_lower(k: int, n: int, confidence: float) -> float:
    """One-sided Clopper-Pearson lower limit of k exceedances in n."""
    if k <= 0 or n <= 0:
        return 0.0
    if k >= n:
        return math.exp(math.log1p(-confidence) / n)
    return _beta_quantile(k, n - k + 1, 1 - confidence)


def p_upper(k: int, n: float, confidence: float) -> float:
    """One-sided Clopper-Pearson upper limit of k exceedances in n; 1 without any observation."""
    if n <= 0 or k >= n:
        return 1.0
    if k <= 0:
        return -math.expm1(math.log1p(-confidence) / n)
    return _beta_quantile(k + 1, n - k, confidence)


@lru_cache(maxsize=4096)
def _beta_quantile(a: float, b: float, target: float) -> float:
    """x with I_x(a, b) = target.

    betaincinv of scipy 1.17 is wrong for some large b (a = 1000, b = 132578328, target 0.2: twice the true value), and so is
    scipy.stats.beta.ppf. Its answer is taken only if the forward function confirms it; else x is found by bisection.
    Cached: the levels above a deadline are the same for every deadline, and the lanes of a run have as many activations.
    """
    from scipy.special import betainc, betaincinv

    guess = float(betaincinv(a, b, target))
    if 0 < guess < 1 and abs(float(betainc(a, b, guess)) - target) <= 1e-11:
        return guess
    low, high = 0.0, a / (a + b)
    while high < 1 and float(betainc(a, b, high)) < target:
        low, high = high, min(1.0, 2 * high)
    while True:
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            return high
        low, high = (middle, high) if float(betainc(a, b, middle)) < target else (low, middle)


def poisson_upper(k: int, confidence: float) -> float:
    """One-sided upper limit of a Poisson mean after k events: half the chi-squared quantile of 2(k + 1) degrees."""
    from scipy.special import gammaincinv

    return float(gammaincinv(k + 1, confidence))


def most_exceedances(n: int, p: float, confidence: float) -> int | None:
    """The largest k with p_upper(k, n) <= p; None if not even zero exceedances suffice."""
    if p_upper(0, n, confidence) > p:
        return None
    low, high = 0, n + 1
    guess = int(n * p) + 2
    if guess < n and p_upper(guess, n, confidence) > p:
        high = guess
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if p_upper(middle, n, confidence) <= p else (low, middle)
    return low


def samples_needed(p: float, confidence: float, k: int = 0) -> int | None:
    """The smallest n for which k exceedances still give p_upper <= p; None for p = 0, which no n shows."""
    if p <= 0:
        return None
    if p >= 1:
        return max(1, k)
    if k <= 0:
        return max(1, math.ceil(math.log1p(-confidence) / math.log1p(-p)))
    high = max(k + 1, math.ceil(poisson_upper(k, confidence) / p))
    while p_upper(k, high, confidence) > p:
        high *= 2
    low = k
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if p_upper(k, middle, confidence) <= p else (middle, high)
    return high


def poisson_lower(k: int, confidence: float) -> float:
    """One-sided lower limit of a Poisson mean after k events; 0 for none."""
    from scipy.special import gammaincinv

    return float(gammaincinv(k, 1 - confidence)) if k > 0 else 0.0


def burst_upper(sizes: Ints, confidence: float, largest: float = 1.0) -> float:
    """Upper limit of the mean number of late activations that came in independent events of these sizes.

    M. P. Fay and E. J. Feuer, Confidence intervals for directly standardized rates, Statistics in Medicine 16, 1997, pages 791 to 801:
    a gamma distribution, where one event more is as large as the largest seen times `largest`. The limit of Poisson's mean for sizes 1.
    """
    from scipy.special import gammaincinv

    weights = sizes.astype(np.float64)
    more = float(weights.max()) * largest
    mean, variance = float(weights.sum()) + more, float((weights**2).sum()) + more**2
    return variance / mean * float(gammaincinv(mean**2 / variance, confidence))


@lru_cache(maxsize=16)
def gamma_deviations(confidence: float) -> float:
    """This quantile of a gamma distribution, whatever its shape, lies at most so many standard deviations above its mean.

    Over the shapes that distance rises to one greatest value, and falls from it to that of the normal distribution: the greatest of a
    grid of shapes, and 1 % for what lies between its points.
    """
    from scipy.special import gammaincinv, ndtri

    shape = np.exp(np.arange(-30, 13) / 2)
    found = (gammaincinv(shape, confidence) - shape) / np.sqrt(shape)
    return 1.01 * max(0.0, float(found.max()), float(ndtri(confidence)))


def burst_lower(sizes: Ints, confidence: float) -> float:
    """Lower limit of the same, from the events seen alone; 0 without any."""
    from scipy.special import gammaincinv

    weights = sizes.astype(np.float64)
    mean, variance = float(weights.sum()), float((weights**2).sum())
    return variance / mean * float(gammaincinv(mean**2 / variance, 1 - confidence)) if mean else 0.0

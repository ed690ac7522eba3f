"""The extremal index theta: 1 / mean number of late activations in a burst (1: they come singly).

All functions take the rising positions of the activations above a threshold, among `n` of them. Names of Ferro and Segers: gaps T
between them, N gaps, q their share of the activations.
"""

from __future__ import annotations

import math

import numpy as np

from rtassay.analysis.lane.distribution import Ints


def theta_intervals(index: Ints, n: int) -> float:
    """Intervals estimator, in (0, 1]; 1 if there are fewer than two positions. The gaps alone decide: `n` stands for uniform calls.

    C. A. T. Ferro and J. Segers, Inference for clusters of extreme values, JRSS B 65, 2003, equations 4 and 5.
    """
    del n
    t = np.diff(index).astype(np.float64)
    if t.size == 0:
        return 1.0
    if t.max() <= 2:
        return float(min(1.0, 2 * t.sum() ** 2 / (t.size * (t**2).sum())))
    below = ((t - 1) * (t - 2)).sum()
    return float(min(1.0, 2 * (t - 1).sum() ** 2 / (t.size * below)))


def theta_k_gaps(index: Ints, n: int, k: int) -> float:
    """K-gaps estimator, in [0, 1]; gaps of at most `k` activations lie within a burst. 1 if there are fewer than two positions.

    The larger root of M. Sueveges and A. C. Davison, Model misspecification in peaks over threshold analysis, Annals of Applied
    Statistics 4, 2010, equation 6, is above 1. Biased downwards if q k is not small: `theta_d_gaps` is not.
    """
    t = np.diff(index)
    if t.size == 0:
        return 1.0
    spaces = np.maximum(t - k, 0) * (index.size / n)
    total, apart = float(spaces.sum()), int((spaces > 0).sum())
    if apart == t.size:
        return min(1.0, 2 * apart / total)
    b = total + t.size + apart
    return 4 * apart / (b + math.sqrt(b * b - 8 * total * apart))


def theta_d_gaps(index: Ints, n: int, d: int) -> float:
    """D-gaps estimator, in [0, 1]: gaps of at most `d` are known to be short only. 1 if there are fewer than two positions.

    J. Holesovsky and M. Fusek, Estimation of the extremal index using censored distributions, Extremes 23, 2020, equation 9.
    """
    if index.size < 2:
        return 1.0
    return _Gaps(np.diff(index), index.size / n, d).estimate()


class _Gaps:
    """Likelihood of theta: a gap T > d has the density theta^2 q exp(-theta q T), a shorter one the rest of the probability."""

    def __init__(self, gaps: Ints, q: float, d: int) -> None:
        far = gaps > d
        self.d = d * q
        self.long = int(far.sum())
        self.short = gaps.size - self.long
        self.total = float((gaps * q)[far].sum())

    def score(self, theta: float) -> float:
        """The derivative of the log-likelihood."""
        return self.short * self._score_within(theta) + 2 * self.long / theta - self.total

    def _score_within(self, theta: float) -> float:
        """The score of one short gap."""
        decay = math.exp(-theta * self.d)
        return -decay * (1 - theta * self.d) / (1 - theta * decay) if self.short else 0.0

    def estimate(self) -> float:
        """The root of the score, which falls; 1 where it is still positive there."""
        if self.long == 0:
            return 0.0
        if self.score(1.0) >= 0:
            return 1.0
        low, high = 0.0, 1.0
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if self.score(middle) > 0 else (low, middle)
        return high

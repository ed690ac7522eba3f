"""Compares whole distributions of two pools: where they cross, and their maxima at equal n."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from rtassay.analysis.lane.distribution import Ints, ints
from rtassay.analysis.many.compare.inference import Floats
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import A_BETTER, B_BETTER, Crossover, QuantileRatio, Rarefied

_SHARE = 10
_NEARLY = 1.5


@dataclass(frozen=True, slots=True)
class Flip:
    """Up to `value_ns`, which is reached with 1 - q, `worse_below` has the larger exceedance; beyond it the other."""

    q: float
    value_ns: int
    worse_below: str

    @property
    def worse_above(self) -> str:
        return "b" if self.worse_below == "a" else "a"


def flips(a: Sample, b: Sample) -> list[Flip]:
    """Every change of sign of P(B >= x) - P(A >= x), by rising x. A tie counts for neither side."""
    if not a.n or not b.n:
        return []
    x = ints(np.union1d(a.values, b.values))
    limits = [sample.limit_ns for sample in (a, b) if sample.limit_ns is not None]
    if limits:  # samples in overflow have a count, but no known order
        x = ints(np.union1d(x[x < min(limits)], [min(limits)]))
    share_a, share_b = a.reaching(x) / a.n, b.reaching(x) / b.n
    sign = np.sign(share_b - share_a)
    told = np.flatnonzero(sign)
    turns = told[np.flatnonzero(np.diff(sign[told]))]
    return [
        Flip(1 - _exceedance(float(share_a[i]), float(share_b[i])), int(x[i]), "b" if sign[i] > 0 else "a")
        for i in turns.tolist()
    ]


def _exceedance(a: float, b: float) -> float:
    """1 - q of a flip, from how often each group reaches its value.

    Strictly, the quantiles change order at the smaller of the two. If both are nearly equal, the curves cross inside the bin, and we quote
    the exceedance of its lower edge (docs/method/comparisons.md: 1.2e-6 at 95 us). If many samples of one group have exactly this value,
    the order changes only at the smaller one.
    """
    low, high = min(a, b), max(a, b)
    return high if high <= _NEARLY * low else low


def crossover(a: Sample, b: Sample, ladder: tuple[QuantileRatio, ...]) -> Crossover | None:
    """The largest q at which the order flips: between two steps that show opposite orders if there are any, else the last flip."""
    found = flips(a, b)
    if not found:
        return None
    shown = [step for step in ladder if step.shown is not None]
    pairs = [(low, high) for low, high in itertools.pairwise(shown) if low.shown != high.shown]
    for low, high in reversed(pairs):
        worse = {A_BETTER: "b", B_BETTER: "a"}[str(low.shown)]
        inside = [f for f in found if low.q <= f.q <= high.q and f.worse_below == worse]
        if inside:
            return _made(inside[-1], True)
    return _made(found[-1], False)


def _made(flip: Flip, shown: bool) -> Crossover:
    return Crossover(flip.q, flip.value_ns, flip.worse_below, flip.worse_above, shown)


def equal_n(a: Sample, b: Sample) -> int | None:
    """The largest power of ten that is at most a tenth of the smaller pool: so the draw rarely holds the pool's own maximum."""
    smaller = min(a.n, b.n) // _SHARE
    return None if smaller < 1 else int(10 ** (len(str(smaller)) - 1))


def rarefied(a: Sample, b: Sample) -> Rarefied | None:
    """Median and central 95 % of the maximum of equally many samples of each pool, exact from the histograms."""
    m = equal_n(a, b)
    if m is None:
        return None
    a_lo, a_mid, a_hi = (maximum_quantile(a, m, p) for p in (0.025, 0.5, 0.975))
    b_lo, b_mid, b_hi = (maximum_quantile(b, m, p) for p in (0.025, 0.5, 0.975))
    return Rarefied(m, a_mid, a_lo, a_hi, b_mid, b_lo, b_hi)


def maximum_quantile(sample: Sample, m: int, p: float) -> int | None:
    """The p-quantile of the maximum of m samples drawn without replacement; None if it lies in overflow."""
    below = ints(np.cumsum(sample.counts))
    place = int(np.searchsorted(log_all_below(below, sample.n, m), np.log(p), side="left"))
    return int(sample.values[place]) if place < sample.values.size else None


def log_all_below(below: Ints, n: int, m: int) -> Floats:
    """ln C(below, m) / C(n, m): the chance that all m of n drawn are among the `below` smallest; -inf where below < m.

    Written with k = n - below left out, C(n - m, k) / C(n, k), and with betaln: gammaln alone loses its digits at n = 1e10.
    """
    left_out = n - below
    result = np.full(below.shape, -np.inf)
    can = below >= m
    k = left_out[can].astype(np.float64)
    result[can] = betaln(n - k + 1, k + 1) + np.log(n + 1) - betaln(n - m - k + 1, k + 1) - np.log(n - m + 1)
    return np.asarray(np.minimum(result, 0.0), dtype=np.float64)

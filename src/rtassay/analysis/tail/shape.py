"""Are excesses of one GPD? Anderson and Darling's statistic, and a likelihood ratio against two pieces (a mixture of modes).

Both need a table of what chance gives, since the parameters are fitted: `calibration.py`.
"""

from __future__ import annotations

import numpy as np

from rtassay.analysis.tail.gpd import Excesses, Fit, Profile, log_survival

PIECES = (10, 20, 40, 80, 160)
"""Numbers of values in the upper piece."""
LEAST_DISTINCT = 3


def anderson_darling(data: Excesses, fit: Fit) -> float:
    """A^2 of the fitted GPD. Values of one tick are spread over it evenly by the fitted probability, so ticks alone reject nothing.

    T. W. Anderson and D. A. Darling, A test of goodness of fit, JASA 49, 1954.
    """
    near = np.exp(log_survival(data.y, fit.xi, fit.sigma))
    far = np.exp(log_survival(data.y + data.width, fit.xi, fit.sigma))
    count = data.count.astype(np.int64)
    within = (
        np.concatenate([(np.arange(c) + 0.5) / c for c in count]) if (count > 1).any() else np.full(count.size, 0.5)
    )
    survival = np.clip(np.repeat(near, count) - within * np.repeat(near - far, count), 1e-12, 1 - 1e-12)
    m = survival.size
    rank = np.arange(1, m + 1)
    return float(-m - ((2 * rank - 1) * (np.log1p(-survival) + np.log(survival[::-1]))).sum() / m)


def two_pieces(data: Excesses, one: Profile) -> float:
    """Twice the largest gain in log-likelihood by another GPD above some higher threshold, over PIECES of at most a third of the values.

    One GPD has its own continuation above every threshold; a second mode has not (P. J. Northrop and C. L. Coleman, Improved
    threshold diagnostic plots for extreme value analyses, Extremes 17, 2014, with the shape and the scale free in each piece).
    """
    from_top = np.cumsum(data.count[::-1])[::-1]
    gain = 0.0
    cuts = {int(np.flatnonzero(from_top >= size)[-1]) for size in PIECES if 3 * size <= data.m}
    for at in cuts:
        if data.y.size - at < LEAST_DISTINCT or at < LEAST_DISTINCT:
            continue
        cut = float(data.y[at])
        pieces = Profile(data.below(cut), one.fine), Profile(data.above(cut), one.fine)
        gain = max(gain, sum(piece.fit.log_likelihood for piece in pieces) - one.fit.log_likelihood)
    return 2 * gain

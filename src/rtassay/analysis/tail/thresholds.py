"""Thresholds at 50 to 500 bursts, and which of them a GPD fits: Anderson and Darling's test with ForwardStop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rtassay.analysis.tail.calibration import p_value
from rtassay.analysis.tail.clusters import Exceeding, Tail
from rtassay.analysis.tail.gpd import Excesses, Fit, Profile, excesses
from rtassay.analysis.tail.shape import anderson_darling

SIZES = (500, 350, 250, 175, 125, 90, 65, 50)
LEAST = 50
MOST_SHARE = 0.01
LEAST_DISTINCT = 5
FALSE_STOP = 0.05
LEFT = 90
"""With fewer values left, a threshold is left because little can be rejected by so few."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """One threshold with the GPD of its cluster maxima. `p_shape`: Anderson and Darling's test."""

    exceeding: Exceeding
    excesses: Excesses
    profile: Profile
    p_shape: float

    @property
    def fit(self) -> Fit:
        return self.profile.fit

    @property
    def m(self) -> int:
        return self.excesses.m


def candidates(tail: Tail) -> list[Exceeding]:
    """Thresholds from the lowest on, with LEAST bursts or more and LEAST_DISTINCT values or more among their maxima."""
    found: dict[int, Exceeding] = {}
    theta = 1.0
    most = int(MOST_SHARE * tail.n)
    for size in SIZES:
        for _ in range(3):
            threshold_ns = tail.threshold(min(most, round(size / max(theta, 0.01))))
            exceeding = tail.above(threshold_ns)
            if abs(exceeding.clusters - size) <= 0.05 * size or exceeding.theta == theta:
                break
            theta = exceeding.theta
        while exceeding.clusters > 1.2 * SIZES[0] or exceeding.size > most:
            above = tail.sorted[tail.sorted > exceeding.threshold_ns]
            if not above.size:
                break
            exceeding = tail.above(int(above[0]))
        enough = LEAST <= exceeding.clusters <= 1.2 * SIZES[0]
        if enough and np.unique(exceeding.maxima_ns).size >= LEAST_DISTINCT:
            found.setdefault(exceeding.threshold_ns, exceeding)
    return [found[threshold_ns] for threshold_ns in sorted(found)]


def fitted(exceeding: Exceeding) -> Threshold:
    """The GPD of the cluster maxima above one threshold."""
    data = excesses(exceeding.maxima_ns, exceeding.threshold_ns, exceeding.tail.tick_ns)
    profile = Profile(data)
    p = p_value("ANDERSON_DARLING", anderson_darling(data, profile.fit), profile.fit.xi, data.m)
    return Threshold(exceeding, data, profile, p)


def chosen(rows: list[Threshold]) -> int | None:
    """Index of the lowest threshold that ForwardStop leaves; None if it rejects all, or leaves fewer than LEFT values.

    M. G'Sell et al., Sequential selection procedures and false discovery rate control, JRSS B 78, 2016; for thresholds: B. Bader,
    J. Yan, X. Zhang, Automated threshold selection for extreme value analysis, Annals of Applied Statistics 12, 2018.
    """
    score = np.cumsum([-np.log1p(-min(row.p_shape, 0.9999)) for row in rows]) / np.arange(1, len(rows) + 1)
    rejected = np.flatnonzero(score <= FALSE_STOP)
    first = int(rejected[-1]) + 1 if rejected.size else 0
    enough = first < len(rows) and (first == 0 or rows[first].m >= LEFT)
    return first if enough else None

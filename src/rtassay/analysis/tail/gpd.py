"""The generalized Pareto distribution (GPD) over a threshold: likelihood of values known to a tick, fit, profile limits.

P(excess > y) = (1 + xi y / sigma)^(-1/xi), and exp(-y / sigma) at xi = 0: the sign of xi is that of Coles 2001 and of scipy's genpareto.

With tau = xi / sigma held fixed, log(1 + tau y) / tau is exponential with mean sigma (S. D. Grimshaw, Computing maximum likelihood
estimates for the generalized Pareto distribution, Technometrics 35, 1993): one pass over the data for each tau, the rest is one dimension.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Side = Callable[[Floats], Floats]
"""Shapes to the falls of the log-likelihood that a limit allows."""

FINE = 0.05
"""Ticks below this share of the mean excess: the density at their middle is their probability within 2e-4."""
COARSE = np.linspace(-16.0, 12.0, 57)
STEPS = 121
WIDEST_DROP = 12.0


@dataclass(frozen=True, slots=True)
class Excesses:
    """`count[i]` values in [y[i], y[i] + width) above the threshold; width 0: exact values. Rising `y`, in any unit.

    `beyond` more are known to be `cut` or more.
    """

    y: Floats
    count: Floats
    width: float
    cut: float = 0.0
    beyond: int = 0

    @property
    def m(self) -> int:
        """Number of values."""
        return int(self.count.sum()) + self.beyond

    def below(self, cut: float) -> Excesses:
        """Those from `cut` on are only known to be there."""
        low = self.y < cut
        return Excesses(self.y[low], self.count[low], self.width, cut, int(self.count[~low].sum()))

    def above(self, cut: float) -> Excesses:
        """Excesses over `cut` of those from there on."""
        high = self.y >= cut
        return Excesses(self.y[high] - cut, self.count[high], self.width)


def excesses(values: NDArray[np.generic], threshold: float, width: float) -> Excesses:
    """Excesses of the values at or above the threshold."""
    y, count = np.unique(values.astype(np.float64) - threshold, return_counts=True)
    above = y >= 0
    return Excesses(y[above], count[above].astype(np.float64), width)


@dataclass(frozen=True, slots=True)
class Fit:
    """The maximum of the likelihood, over shapes from -1 on: below -1 there is none."""

    xi: float
    sigma: float
    log_likelihood: float


def log_survival(y: Floats, xi: float, sigma: float) -> Floats:
    """log P(excess > y); -inf from the end point on."""
    z = np.asarray(y, dtype=np.float64) / sigma
    with np.errstate(divide="ignore"):
        return -z if abs(xi) < 1e-9 else -np.log1p(np.maximum(xi * z, -1.0)) / xi


def level(sigma: Floats, tau: Floats, ratio: float) -> Floats:
    """The excess that one in `ratio` is above: (ratio^(sigma tau) - 1) / tau."""
    x = sigma * tau * np.log(ratio)
    small = np.abs(x) < 1e-7
    found: Floats = np.where(small, sigma * np.log(ratio) * (1 + x / 2), np.expm1(x) / np.where(small, 1.0, tau))
    return found


class Profile:
    """The likelihood on a grid of tau around its maximum. `sigma`, `value`: the best sigma for each tau, and its log-likelihood."""

    def __init__(self, data: Excesses, fine: bool | None = None) -> None:
        """`fine`: by the density at the middle of each tick. None: where the ticks are fine."""
        self.m = float(data.count.sum())
        mean = float((data.y * data.count).sum()) / self.m + data.width / 2
        self.fine = data.width < FINE * mean if fine is None else fine
        self._y, self._count = data.y + (data.width / 2 if self.fine else 0.0), data.count
        self._width = np.full(data.y.size, data.width)
        self._cut, self._beyond = data.cut, data.beyond
        if self._beyond and not self.fine:
            self._y = np.append(self._y, data.cut)
            self._count = np.append(self._count, float(data.beyond))
            self._width = np.append(self._width, np.inf)
        self._top = max(float(self._y[-1]), data.cut)
        _, value = self._best(self._tau(COARSE))
        near = np.flatnonzero(value > value.max() - WIDEST_DROP)
        grid = np.linspace(COARSE[max(near[0] - 1, 0)], COARSE[min(near[-1] + 1, COARSE.size - 1)], STEPS)
        self.tau = self._tau(grid)
        self.sigma, self.value = self._best(self.tau)
        self.fit = self._peak(grid)

    def _tau(self, v: Floats) -> Floats:
        """From v = log(1 + tau top): any v is allowed by the data. Never 0."""
        tau = np.expm1(v) / self._top
        return np.where(np.abs(v) < 1e-9, 1e-9 / self._top, tau)

    def _ends(self, tau: Floats) -> tuple[Floats, Floats]:
        """Ends of the ticks as exponential values: arrays (tau, values); the last may be infinite."""
        with np.errstate(divide="ignore"):
            low = np.log1p(tau[:, None] * self._y) / tau[:, None]
            high = np.log1p(np.maximum(tau[:, None] * (self._y + self._width), -1.0)) / tau[:, None]
        return low, high - low

    def _sums(self, tau: Floats) -> tuple[Floats, Floats]:
        """(sum of log(1 + tau y) of the known values, sum of all as exponential values)."""
        logs = np.log1p(tau[:, None] * self._y) @ self._count
        return logs, (logs + self._beyond * np.log1p(tau * self._cut)) / tau

    def _best(self, tau: Floats) -> tuple[Floats, Floats]:
        logs, total = self._sums(tau)
        most = np.where(tau < 0, -1 / tau, np.inf)
        sigma = np.minimum(total / self.m, most)
        if self.fine:
            return sigma, -self.m * np.log(sigma) - logs - total / sigma
        low, wide = self._ends(tau)
        s = np.log(sigma)
        for _ in range(30):
            _, slope, curve = self._grouped(low, wide, s)
            step = np.clip(-slope / curve, -1.0, 1.0)
            s = np.minimum(s + step, np.log(most))
            if np.abs(step).max() < 1e-8:
                break
        return np.exp(s), self._grouped(low, wide, s)[0]

    def _grouped(self, low: Floats, wide: Floats, s: Floats) -> tuple[Floats, Floats, Floats]:
        """(value, first, second derivative by s = log sigma) of exponential values in [low, low + wide)."""
        rate = np.exp(-s)[:, None]
        x = np.minimum(wide * rate, 700.0)
        share = -np.expm1(-x)
        pull = x * np.exp(-x) / share
        total = (low @ self._count) * rate[:, 0]
        value = np.log(share) @ self._count - total
        slope = total - pull @ self._count
        curve = -total + (pull * (1 - x - pull)) @ self._count
        return value, slope, np.minimum(curve, -1e-9)

    def _peak(self, grid: Floats) -> Fit:
        tau, sigma, value = self.tau, self.sigma, self.value
        while True:
            i = int(np.argmax(value))
            low, high = grid[max(i - 1, 0)], grid[min(i + 1, grid.size - 1)]
            if high - low < 1e-6:
                return Fit(float(sigma[i] * tau[i]), float(sigma[i]), float(value[i]))
            grid = np.linspace(low, high, 9)
            tau = self._tau(grid)
            sigma, value = self._best(tau)

    def at(self, sigma: Floats, tau: Floats) -> Floats:
        """Log-likelihood of pairs; -inf where xi < -1 or a value lies beyond the end point."""
        inside = (sigma * tau >= -1 - 1e-9) & (1 + tau * self._top > 0)
        value = np.full(sigma.size, -np.inf)
        sigma, tau = sigma[inside], tau[inside]
        if self.fine:
            logs, total = self._sums(tau)
            value[inside] = -self.m * np.log(sigma) - logs - total / sigma
        else:
            low, wide = self._ends(tau)
            value[inside] = self._grouped(low, wide, np.log(sigma))[0]
        return value

    def _reach(self, drop: Floats, side: int) -> Floats:
        """sigma at each tau, below (`side` -1) or above (1) the best one, where the log-likelihood is its maximum less `drop`; else nan."""
        spare = drop - (self.fit.log_likelihood - self.value)
        inside = spare >= 0
        most = np.where(self.tau < 0, -1 / self.tau, np.inf)
        found = np.full(self.tau.size, np.nan)
        if not inside.any():
            return found
        tau, best, spare = self.tau[inside], self.sigma[inside], spare[inside]
        if self.fine:
            free = self._sums(tau)[1] / self.m
            t = best / free
            reached = free * _exponential_root(np.log(t) + 1 / t - 1 + spare / self.m, side)
        else:
            reached = self._grouped_root(tau, best, spare, side)
        found[inside] = np.minimum(reached, most[inside])
        return found

    def _grouped_root(self, tau: Floats, best: Floats, spare: Floats, side: int) -> Floats:
        """Newton's steps on a concave function, from outside."""
        low, wide = self._ends(tau)
        top, slope, curve = self._grouped(low, wide, np.log(best))
        reach = (np.abs(slope) + np.sqrt(slope**2 - 2 * curve * spare)) / -curve
        s = np.log(best) + side * 1.5 * reach
        for _ in range(40):
            value, slope, _ = self._grouped(low, wide, s)
            step = np.clip(-(value - (top - spare)) / np.where(side * slope < 0, slope, -side * 1e-9), -1.0, 1.0)
            s = s + step
            if np.abs(step).max() < 1e-7:
                break
        return np.exp(np.where(side * (s - np.log(best)) > 0, s, np.log(best)))

    def limits(self, of: Callable[[Floats, Floats], Floats], lower: Side, upper: Side) -> tuple[float, float]:
        """Smallest and largest of a function of (sigma, tau) that rises with sigma, within the falls that the sides allow."""
        best = float(of(np.array([self.fit.sigma]), np.array([self.fit.xi / self.fit.sigma]))[0])
        ends = []
        for side, allow in ((-1, lower), (1, upper)):
            sigma = self._reach(allow(self.sigma * self.tau), side)
            sigma = self._reach(allow(np.where(np.isnan(sigma), self.sigma, sigma) * self.tau), side)
            inside = ~np.isnan(sigma)
            if not inside.any():
                ends.append(best)
                continue
            reached = of(sigma[inside], self.tau[inside])
            ends.append(min(best, float(reached.min())) if side < 0 else max(best, float(reached.max())))
        return ends[0], ends[1]


def _exponential_root(drop: Floats, side: int) -> Floats:
    """t with log t + 1 / t - 1 = drop >= 0, below (`side` -1) or above (1) 1."""
    from scipy.special import lambertw

    root: Floats = -1 / np.real(lambertw(-np.exp(-1 - np.maximum(drop, 0.0)), -1 if side < 0 else 0))
    return root

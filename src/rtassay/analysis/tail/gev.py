"""Block maxima and the generalized extreme value distribution (GEV): the second opinion on a level.

A GEV(mu, sigma, xi) is the maximum of a Poisson number (mean rate) of GPD excesses over any level u below it: with
sigma_u = sigma + xi (u - mu), rate = (1 + xi (u - mu) / sigma)^(-1/xi). So blocks whose maximum lies below u need no value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rtassay.analysis.tail.gpd import Floats, level

V = np.linspace(-14.0, 8.0, 89)
SCALES = np.linspace(-2.5, 2.5, 51)


@dataclass(frozen=True, slots=True)
class BlockFit:
    """GEV of maxima over `base`; `rate`: mean number of excesses over the base in a block; `sigma`: the scale there."""

    xi: float
    sigma: float
    rate: float
    base: float
    log_likelihood: float

    @property
    def parameters(self) -> tuple[float, float, float]:
        """(mu, sigma, xi) of the GEV."""
        stretch = np.log(self.rate) if abs(self.xi) < 1e-9 else np.expm1(self.xi * np.log(self.rate)) / self.xi
        return self.base + self.sigma * float(stretch), self.sigma * self.rate**self.xi, self.xi


class Blocks:
    """Likelihood of block maxima: `y` above the base, and `empty` blocks whose maximum lies below it."""

    def __init__(self, maxima: Floats, base: float, empty: int) -> None:
        self.y = np.sort(maxima) - base
        self.base, self.empty = base, empty
        self.m = self.y.size
        self.tau, self.log_sigma, self.value, self.rate = self._grid(V, np.log(self.y.mean()) + SCALES)
        self.fit = self._peak()

    def _grid(self, v: Floats, log_sigma: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """(tau, log sigma, log-likelihood, best rate) over all pairs: density of a maximum: rate f(y) exp(-rate S(y))."""
        tau = np.where(np.abs(v) < 1e-9, 1e-9, np.expm1(v)) / self.y[-1]
        logs = np.log1p(tau[:, None] * self.y)
        e = logs / tau[:, None]
        sums, total = logs.sum(axis=1)[:, None], e.sum(axis=1)[:, None]
        sigma = np.exp(log_sigma)[None, :]
        survival = np.exp(-e[:, None, :] / sigma[:, :, None]).sum(axis=2)
        rate = self.m / (survival + self.empty)
        value = self.m * (np.log(rate) - np.log(sigma) - 1) - sums - total / sigma
        value = np.where(sigma * tau[:, None] >= -1, value, -np.inf)
        shape = value.shape
        return np.broadcast_to(tau[:, None], shape), np.broadcast_to(np.log(sigma), shape), value, rate

    def _peak(self) -> BlockFit:
        v, s = V, self.log_sigma[0]
        value, rate, tau = self.value, self.rate, self.tau
        while True:
            i, j = np.unravel_index(int(np.argmax(value)), value.shape)
            if v[1] - v[0] < 1e-5:
                sigma = float(np.exp(s[j]))
                return BlockFit(sigma * float(tau[i, j]), sigma, float(rate[i, j]), self.base, float(value[i, j]))
            v = np.linspace(v[i] - 1.5 * (v[1] - v[0]), v[i] + 1.5 * (v[1] - v[0]), 9)
            s = np.linspace(s[j] - 1.5 * (s[1] - s[0]), s[j] + 1.5 * (s[1] - s[0]), 9)
            tau, _, value, rate = self._grid(v, s)

    def limits(self, tail_rate: float, fall: float) -> tuple[float, float, float]:
        """(estimate, lowest, highest) of the level whose mean number of excesses in a block is `tail_rate`, within `fall` of the maximum.

        The rate has a range of its own at each shape and scale: m (t - 1 - log t) is the fall at t times the best rate.
        """
        from scipy.special import lambertw

        fit = self.fit
        best = float(level(np.array([fit.sigma]), np.array([fit.xi / fit.sigma]), fit.rate / tail_rate)[0])
        tau, log_sigma, value, rate = self._around(fall)
        spare = fall - (fit.log_likelihood - value)
        inside = spare >= 0
        tau, sigma, rate, spare = tau[inside], np.exp(log_sigma[inside]), rate[inside], spare[inside]
        ends = [best]
        for branch in (0, -1):
            t = -np.real(lambertw(-np.exp(-1 - spare / self.m), branch))
            ends.append(
                best
                if not t.size
                else float(_extreme(np.expm1(tau * sigma * np.log(rate * t / tail_rate)) / tau, branch))
            )
        return self.base + best, self.base + min(ends), self.base + max(ends)

    def _around(self, fall: float) -> tuple[Floats, Floats, Floats, Floats]:
        """The likelihood on a grid as wide as a fall by `fall`."""
        rows, columns = np.nonzero(self.value > self.fit.log_likelihood - fall - 2)
        if not rows.size:
            return self.tau, self.log_sigma, self.value, self.rate
        v = np.linspace(V[max(rows.min() - 1, 0)], V[min(rows.max() + 1, V.size - 1)], 61)
        scales = self.log_sigma[0]
        s = np.linspace(scales[max(columns.min() - 1, 0)], scales[min(columns.max() + 1, scales.size - 1)], 61)
        return self._grid(v, s)


def _extreme(values: Floats, branch: int) -> np.float64:
    least: np.float64 = values.min() if branch == 0 else values.max()
    return least

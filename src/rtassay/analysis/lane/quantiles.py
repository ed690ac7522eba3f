"""The percentile ladder: nearest rank, with distribution-free limits, and `at_least` where the data do not reach."""

from __future__ import annotations

from dataclasses import dataclass

from rtassay.analysis.lane.bounds import binomial_ppf, decimal, nearest_rank
from rtassay.analysis.lane.distribution import NOTHING, Distribution, Parts, joined
from rtassay.model.findings import LADDER, Quantile


@dataclass(frozen=True, slots=True)
class View:
    """Values in ns: `known` ones, and `censored` ones with only a lower bound (overflow, truncated)."""

    known: Parts
    censored: Parts = NOTHING

    @property
    def total(self) -> int:
        """How many values, known or censored."""
        return self.known.total + self.censored.total


def pooled(views: list[View]) -> View:
    """All values of all views."""
    return View(joined([view.known for view in views]), joined([view.censored for view in views]))


def interval_ranks(n: int, q: float) -> tuple[int, int]:
    """Ranks of the two-sided 95 % interval of the q-quantile; the upper one may be n + 1 (unbounded)."""
    return max(1, binomial_ppf(0.025, n, q)), binomial_ppf(0.975, n, q) + 1


def ladder(view: View) -> tuple[Quantile, ...]:
    """The whole LADDER of a view; empty without any value.

    The true value of a censored one lies anywhere above its bound. With all of them at their bound, the order statistic is the
    least value of the quantile; with all of them above every other value, the largest. If both agree, the quantile is exact.
    """
    n = view.total
    if n == 0:
        return ()
    least = Distribution(joined([view.known, view.censored]))
    most = Distribution(view.known) if view.censored.total else least
    return tuple(_quantile(n, q, least, most) for q in LADDER)


def _quantile(n: int, q: float, least: Distribution, most: Distribution) -> Quantile:
    rank = nearest_rank(n, q)
    low, high = interval_ranks(n, q)
    value = least.at(rank)
    reached = n * (1 - decimal(q)) >= 1
    exact = reached and rank <= most.total and most.at(rank) == value
    return Quantile(
        q=q,
        value_ns=value,
        lo_ns=least.at(low),
        hi_ns=most.at(high) if high <= most.total else None,
        bound="exact" if exact else "at_least",
    )

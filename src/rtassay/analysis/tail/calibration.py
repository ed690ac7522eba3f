"""What chance gives, interpolated from `chance_table`: falls of the likelihood for limits of a confidence, and p values."""

from __future__ import annotations

from functools import cache

import numpy as np

from rtassay.analysis.tail import chance_table
from rtassay.analysis.tail.gpd import Floats, Side

CHOICE = 0.6
"""Share of the allowed error that the limits spend; the rest is for the choice of the threshold, the noise of the table, and a shape that changes
slowly beyond it."""


@cache
def _table(name: str) -> Floats:
    text: str = getattr(chance_table, name)
    sizes = (len(chance_table.SHAPES), len(chance_table.SIZES))
    inner = (len(chance_table.BEYOND), 2 * len(chance_table.TAILS)) if name == "ROOTS" else (len(chance_table.UPPER),)
    return np.array(text.split(), dtype=np.float64).reshape(*sizes, *inner)


def _between(axis: tuple[float, ...], value: float) -> tuple[int, float]:
    """Index and weight for a linear interpolation in the logarithm; the ends are kept beyond them."""
    logs = np.log(axis)
    at = float(np.interp(np.log(value), logs, np.arange(len(axis))))
    low = min(int(at), len(axis) - 2)
    return low, at - low


def _at_size(table: Floats, m: float) -> Floats:
    low, weight = _between(chance_table.SIZES, m)
    rows: Floats = (1 - weight) * table[:, low] + weight * table[:, low + 1]
    return rows


def sides(m: float, ratio: float, confidence: float, fine: bool = True) -> tuple[Side, Side]:
    """The falls of the log-likelihood at which a two-sided interval of a level ends, below and above: functions of the shape.

    Each end has half of the error, times CHOICE. chi-squared falls are too small where xi is below -0.5, and too small above and too large
    below elsewhere, if excesses are few. Of coarse ticks (not `fine`) no end has less than they give: a short tail that ends within a
    tick has no certain end.
    """
    from scipy.special import ndtri

    rows = _at_size(_table("ROOTS"), m)
    low, weight = _between(chance_table.BEYOND, max(ratio / m, chance_table.BEYOND[0]))
    rows = (1 - weight) * rows[:, low] + weight * rows[:, low + 1]
    scores = np.array([float(ndtri(p)) for p in chance_table.TAILS])
    wanted = float(ndtri(CHOICE * (1 - confidence) / 2))
    size = scores.size
    upper_end = np.array([_line(scores, row[:size], wanted) for row in rows])
    lower_end = np.array([_line(scores, row[: size - 1 : -1], wanted) for row in rows])
    least = 0.0 if fine else -wanted
    return _falls(np.maximum(lower_end, least)), _falls(np.maximum(-upper_end, least))


def _line(x: Floats, y: Floats, wanted: float) -> float:
    """Linear interpolation; beyond the first point (the most extreme) in proportion to x."""
    return float(y[0] * wanted / x[0]) if wanted < x[0] else float(np.interp(wanted, x, y))


def _falls(roots: Floats) -> Side:
    def falls(xi: Floats) -> Floats:
        found: Floats = np.interp(xi, chance_table.SHAPES, roots) ** 2 / 2
        return found

    return falls


def p_value(name: str, statistic: float, xi: float, m: float) -> float:
    """Chance of a statistic as large, for a GPD of this shape: `name` is ANDERSON_DARLING or PIECES. Between .0001 and .999."""
    rows = _at_size(_table(name), m)
    quantiles = np.array([np.interp(xi, chance_table.SHAPES, column) for column in rows.T])
    logs = np.log1p(-np.array(chance_table.UPPER))
    if statistic > quantiles[-1]:
        slope = (logs[-1] - logs[-3]) / max(quantiles[-1] - quantiles[-3], 1e-9)
        return float(max(1e-4, np.exp(logs[-1] + slope * (statistic - quantiles[-1]))))
    return float(np.exp(np.interp(statistic, quantiles, logs, left=-0.001)))

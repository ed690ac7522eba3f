"""Do late wake-ups come in bursts? The extremal index, and the autocorrelation of being late (docs/method/checks.md)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from rtassay.analysis.checks.base import (
    ASSUMPTION,
    INTEGRITY,
    NOTE,
    SYNTHETIC,
    WARNING,
    Outcome,
    check,
    passed,
    unknown,
)
from rtassay.analysis.checks.context import Context, named
from rtassay.analysis.checks.patterns import Floats, Outliers, outliers, sure_of
from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.claim import evidence
from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.extremal_index import theta_intervals
from rtassay.model.findings import SINGLY, lane_words
from rtassay.model.units import format_time

FEW_OUTLIERS = 50
EXTREMAL_INDEX = 0.8
LAGS = 10
PAIRS = 10
TOO_NARROW = 1.1


@check(
    id="CLUSTERED",
    condition="late wake-ups whose moments are known (50 or more in a lane) come in bursts: the extremal index is below 0.8, and beyond chance; or being late is autocorrelated: Ljung and Box's test over 10 lags (p < 0.01, Holm over the lanes), and by as much as makes an interval 10 % too narrow",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Ten late wake-ups of one stall are one event. The verdict's bounds count events then, and need a longer run. The test looks at single activations, or at groups of neighbours so large that 10 pairs a lag are expected by chance: with fewer, a single coincidence would look like dependence.",
    remedy="Read events per hour; look for what causes the bursts.",
    proof=SYNTHETIC,
    kept=True,
)
def clustered(context: Context) -> Outcome:
    """Late wake-ups depend on each other, by the extremal index or by Ljung and Box's test."""
    rows = [(lane, found) for lane in context.accounts if (found := outliers(lane)) is not None]
    enough = [(lane, found) for lane, found in rows if found.k.size >= FEW_OUTLIERS]
    if not enough:
        most = max((found.k.size for _, found in rows), default=0)
        return unknown(f"too few late wake-ups with their moments to tell ({most} in a lane, {FEW_OUTLIERS} needed)")
    facts: dict[str, Any] = {}
    bursts, tests = [], []
    for lane, found in enough:
        theta = theta_intervals(found.k, lane.exposure)
        test = dependence(found.k, max(lane.exposure, int(found.k[-1]) + 1))
        facts[str(lane.entry.name)] = {
            "theta": round(theta, 4), "n": int(found.k.size), "above_ns": found.threshold_ns, **_facts_of(test),
        }  # fmt: skip
        if theta < min(EXTREMAL_INDEX, 1 - 3.3 / math.sqrt(found.k.size)):
            bursts.append((theta, lane, found))
        if test is not None:
            tests.append((test, lane, found))
    if bursts:
        theta, lane, found = min(bursts, key=lambda row: row[0])
        return Outcome(WARNING, _in_bursts(theta, lane, found), {"lanes": facts})
    related = _surely(tests)
    if related:
        test, lane, found = max(related, key=lambda row: row[0].inflation)
        return Outcome(WARNING, _not_alone(test, lane, found), {"lanes": facts})
    return passed("late wake-ups come one by one", lanes=facts)


@check(
    id="DEPENDENCE-UNKNOWN",
    condition="whether late activations come singly is not known: their order is not (a histogram), or fewer than three were late and fewer than 50 wake-ups are known in order",
    kind=ASSUMPTION,
    severity=WARNING,
    explanation="One burst of twenty late activations can miss a run that twenty single ones would not. So the bound on the probability, and D*, hold if late activations come singly. The verdict says so; --strict makes NOT DEMONSTRATED of it. A note without a deadline.",
    remedy="Keep the samples in order (rtassay does; cyclictest and others: import a table of samples with --interval), or state the requirement in events per hour.",
    proof=SYNTHETIC,
)
def dependence_unknown(context: Context) -> Outcome:
    """The bound rests on an assumption that the data cannot test."""
    if not context.accounts:
        return unknown("no lane")
    found = [(lane, evidence([lane], context.confidence, len(context.accounts))) for lane in context.accounts]
    if context.deadline_ns is None:
        blind = [lane for lane, one in found if one.trace is None]
    else:
        blind = [lane for lane, one in found if one.at(context.deadline_ns).upper.assumes == SINGLY]
    if not blind:
        return passed("the data tell how singly late activations come")
    text = f"{named(blind)}: nothing tells whether late activations come singly; the bounds assume that they do"
    severity = WARNING if context.deadline_ns is not None else NOTE
    return Outcome(severity, text, {"lanes": [lane.entry.name for lane in blind]})


def _in_bursts(theta: float, lane: Account, found: Outliers) -> str:
    return (
        f"{lane_words(lane.entry.name, lane.entry.cpu)}: wake-ups above {format_time(found.threshold_ns)} come in bursts of "
        f"{1 / theta:.1f} on average (extremal index {theta:.2f}): fewer independent events than samples"
    )


def _not_alone(test: Dependence, lane: Account, found: Outliers) -> str:
    reach = LAGS * test.width
    span = f" ({format_time(reach * lane.interval_ns)})" if lane.interval_ns else ""
    return (
        f"{lane_words(lane.entry.name, lane.entry.cpu)}: wake-ups above {format_time(found.threshold_ns)} draw others after them within "
        f"{reach} activations{span} (Ljung-Box p = {test.p:.1g}): an interval that takes them for independent is too narrow by a "
        f"factor of {math.sqrt(test.inflation):.2g}"
    )


@dataclass(frozen=True, slots=True)
class Dependence:
    """Ljung and Box's test of a lane's indicators. `width`: activations of one indicator; `p`: p value of independence;
    `inflation`: variance of the number of late activations, divided by its variance if they were independent."""

    width: int
    statistic: float
    p: float
    inflation: float


def dependence(k: Ints, n: int) -> Dependence | None:
    """Is an activation more likely to be late soon after a late one? `k`: rising positions of the late ones among `n` activations.

    The indicator is "one of `width` activations in a row was late". The chi-squared distribution of the statistic needs several
    pairs at every lag. With one activation each, n p^2 pairs are expected: a fraction of one if late ones are rare, and a single
    coincidence would then look like dependence. So `width` is the smallest with PAIRS of them expected by chance. None if that
    leaves fewer than five times LAGS indicators.
    """
    width = max(1, math.ceil(PAIRS * n / k.size**2))
    blocks = n // width
    if blocks < 5 * LAGS:
        return None
    late = np.unique(k // width)
    late = late[late < blocks]
    if late.size in (0, blocks):
        return None
    rho = autocorrelations(late, blocks, LAGS)
    statistic, p = ljung_box(rho, blocks)
    return Dependence(width, statistic, p, inflation(k, n, LAGS * width))


def inflation(k: Ints, n: int, reach: int) -> float:
    """Variance of the number of late activations over that of independent ones: 1 + 2 (sum of autocorrelations to lag `reach`),
    from the pairs at most `reach` apart and the number of such pairs expected by chance."""
    mean = k.size / n
    close = (np.searchsorted(k, k + reach, side="right") - np.arange(1, k.size + 1)).sum()
    by_chance = mean * mean * (n * reach - reach * (reach + 1) / 2)
    return float(1 + 2 * (close - by_chance) / (k.size * (1 - mean)))


def autocorrelations(ones: Ints, n: int, lags: int) -> Floats:
    """Sample autocorrelations at lags 1 .. `lags` of a series of `n` zeros and ones, from the rising positions of its ones."""
    mean = ones.size / n
    found = np.empty(lags)
    for lag in range(1, lags + 1):
        both = np.isin(ones + lag, ones, assume_unique=True).sum()
        first = np.searchsorted(ones, n - lag, side="left")
        second = ones.size - np.searchsorted(ones, lag, side="left")
        found[lag - 1] = both - mean * (first + second) + (n - lag) * mean * mean
    found /= n * mean * (1 - mean)
    return found


def ljung_box(rho: Floats, n: int) -> tuple[float, float]:
    """(Q, p): Q = n (n + 2) sum rho_h^2 / (n - h), chi-squared with as many degrees of freedom as lags if the series is independent.

    G. M. Ljung and G. E. P. Box, On a measure of lack of fit in time series models, Biometrika 65, 1978, pages 297 to 303.
    """
    from scipy.special import gammaincc

    lag = np.arange(1, rho.size + 1)
    statistic = float(n * (n + 2) * (rho**2 / (n - lag)).sum())
    return statistic, float(gammaincc(rho.size / 2, statistic / 2))


def _surely(tests: list[tuple[Dependence, Account, Outliers]]) -> list[tuple[Dependence, Account, Outliers]]:
    """The significant ones (Holm over the lanes) that matter: an interval for independent ones would be 10 % too narrow or worse."""
    ordered = sorted(tests, key=lambda row: row[0].p)
    sure = ordered[: sure_of([test.p for test, _, _ in ordered])]
    return [row for row in sure if row[0].inflation > TOO_NARROW**2]


def _facts_of(test: Dependence | None) -> dict[str, Any]:
    if test is None:
        return {}
    q, p = round(test.statistic, 2), float(f"{test.p:.3g}")
    return {"ljung_box": {"q": q, "p": p, "lags": LAGS, "width": test.width, "inflation": round(test.inflation, 3)}}

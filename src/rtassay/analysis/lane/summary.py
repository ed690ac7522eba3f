"""The numbers of one lane, and of all lanes pooled for display."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.lane.distribution import Ints
from rtassay.analysis.lane.jitter import jitter
from rtassay.analysis.lane.missed import due_view, raw_view
from rtassay.analysis.lane.quantiles import View, ladder, pooled
from rtassay.model.findings import Gap, LaneFindings, Noise, Quantile
from rtassay.model.measures import NOISE_TOTAL, UNKNOWN

_LOW_BITS = 20
_LONGEST = 10


def lane_findings(
    account: Account,
    p: float,
    confidence: float,
    per_hour: float | None = None,
    lanes: int = 1,
    sealed: LaneFindings | None = None,
    sealed_at: float | None = None,
) -> LaneFindings:
    """One lane. `sealed`: its figures as sealing computed them, with a D* at the confidence `sealed_at`. Only D* depends on the requirement."""
    if sealed is not None and sealed_at == confidence and _asked(sealed) == (p, per_hour):
        return sealed
    star = demonstrated([account], p, confidence, per_hour=per_hour, lanes=lanes)
    if sealed is not None:
        return replace(sealed, demonstrated=star)
    entry = account.entry
    raw, due = raw_view(account), due_view(account).view
    mean, sd = moments([account])
    quantiles = ladder(raw)
    return LaneFindings(
        name=entry.name,
        cpu=entry.cpu,
        due=entry.due,
        n=entry.n,
        missed=entry.missed,
        dropped=entry.dropped,
        truncated=entry.truncated,
        over=account.over_told,
        min_ns=account.min_ns,
        mean_ns=mean,
        max_ns=account.max_ns,
        sd_ns=sd,
        quantiles=quantiles,
        quantiles_due=_due_ladder(due, raw, quantiles),
        demonstrated=star,
        measure=entry.measure,
        noise=_noise(account),
        counters=entry.counters,
        jitter=jitter([account.lane]),
    )


def pooled_findings(
    accounts: list[Account],
    lanes: list[LaneFindings],
    p: float,
    confidence: float,
    per_hour: float | None = None,
    sealed: LaneFindings | None = None,
    sealed_at: float | None = None,
) -> LaneFindings:
    """Lanes of one measure as one. A number that one lane lacks, the pool lacks too. `sealed`, `sealed_at`: as in `lane_findings`."""
    if sealed is not None and sealed_at == confidence and _asked(sealed) == (p, per_hour):
        return sealed
    star = lanes[0].demonstrated if len(lanes) == 1 else demonstrated(accounts, p, confidence, per_hour=per_hour)
    if sealed is not None:
        return replace(sealed, demonstrated=star)
    raw = pooled([raw_view(account) for account in accounts])
    views = [due_view(account).view for account in accounts]
    due = pooled([view for view in views if view is not None]) if views and None not in views else None
    mean, sd = moments(accounts)
    quantiles = ladder(raw)
    measured = [lane for lane in lanes if lane.n]
    return LaneFindings(
        name=None,
        cpu=None,
        due=_sum(lane.due for lane in lanes),
        n=sum(lane.n for lane in lanes),
        missed=_sum(lane.missed for lane in lanes),
        dropped=_sum(lane.dropped for lane in lanes),
        truncated=_sum(lane.truncated for lane in lanes),
        over=_sum(lane.over for lane in lanes),
        min_ns=_extreme(min, (lane.min_ns for lane in measured)),
        mean_ns=mean,
        max_ns=_extreme(max, (lane.max_ns for lane in measured)),
        sd_ns=sd,
        quantiles=quantiles,
        quantiles_due=_due_ladder(due, raw, quantiles),
        demonstrated=star,
        measure=lanes[0].measure if lanes else UNKNOWN,
        jitter=jitter([account.lane for account in accounts]),
    )


def _asked(findings: LaneFindings) -> tuple[float, float | None]:
    """What its D* is for."""
    return findings.demonstrated.p, findings.demonstrated.per_hour


def _noise(account: Account) -> Noise | None:
    """What was taken from a busy lane; None for any other."""
    entry, gaps = account.entry, account.lane.gaps
    if entry.measure != NOISE_TOTAL:
        return None
    looked_at = entry.n * (account.interval_ns or 0)
    share = entry.sum_ns / looked_at if looked_at and entry.sum_ns is not None and not entry.dropped else None
    longest: list[Gap] = []
    if gaps is not None:
        order = np.lexsort((gaps.start_ns, -gaps.length_ns))[:_LONGEST]
        longest = [Gap(int(gaps.start_ns[i]), int(gaps.length_ns[i])) for i in order]
    return Noise(share, entry.gaps, entry.gaps_kept, tuple(longest))


def _due_ladder(due: View | None, raw: View, quantiles: tuple[Quantile, ...]) -> tuple[Quantile, ...] | None:
    if due is None:
        return None
    # every view holds the raw samples: equal sizes mean that nothing was added
    return quantiles if due.total == raw.total else ladder(due)


def moments(accounts: list[Account]) -> tuple[float | None, float | None]:
    """(mean, population standard deviation) in ns from lower bin edges; exact sums where a ns source kept them.

    (None, None) without samples, and if samples lie outside the bins: their size is not known.
    """
    n = sum(int(account.counts.sum()) for account in accounts)
    if n == 0 or any(account.over or account.under for account in accounts):
        return None, None
    of_edges = sum(weighted_sum(account.lower, account.counts) for account in accounts) / n
    squares = math.fsum(float((account.counts * (account.lower - of_edges) ** 2).sum()) for account in accounts)
    mean = of_edges
    if all(_exact_sum(account) for account in accounts):
        mean = sum(account.entry.sum_ns or 0 for account in accounts) / n
    return mean, math.sqrt(squares / n)


def weighted_sum(values: Ints, counts: Ints) -> int:
    """Exact sum of values * counts, in two halves: 1e10 samples of a second would overflow 64 bits."""
    high, low = values >> _LOW_BITS, values & ((1 << _LOW_BITS) - 1)
    return (int((high * counts).sum()) << _LOW_BITS) + int((low * counts).sum())


def _exact_sum(account: Account) -> bool:
    """The lane's sum covers exactly the samples in the bins. (It includes dropped ones, which the bins do not.)"""
    entry = account.entry
    whole = entry.sum_ns is not None and not entry.dropped and entry.n == int(np.sum(account.counts))
    return whole and account.bin_width_ns == 1


def _sum(values: Iterable[int | None]) -> int | None:
    every = list(values)
    known = [value for value in every if value is not None]
    return sum(known) if every and len(known) == len(every) else None


def _extreme(choose: Callable[[list[int]], int], values: Iterable[int | None]) -> int | None:
    every = list(values)
    known = [value for value in every if value is not None]
    return choose(known) if every and len(known) == len(every) else None

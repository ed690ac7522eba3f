"""The share of boots in the scatter of runs: one-way random effects by closed-form analysis of variance (docs/method/comparisons.md)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from rtassay.analysis.many.compare.inference import Floats
from rtassay.analysis.many.compare.ratios import Side, logs_of
from rtassay.model.comparison import BootVariance
from rtassay.model.findings import LADDER

LEAST = 2
LOTTERY = 0.3
ALPHA = 0.05


def components(side: Side) -> tuple[BootVariance, ...]:
    """Components of ln of each quantile that all runs support; empty unless at least two boots have two runs or more.

    Boots with one run count too: they show the scatter between boots.
    """
    members = _members(side.boots)
    if sum(len(runs) >= LEAST for runs in members) < LEAST:
        return ()
    rows = []
    for q in LADDER:
        logs = logs_of(side, q)
        if logs is not None:
            rows.append(one_way([logs.low[runs] for runs in members], logs.hidden, q))
    return tuple(row for row in rows if row is not None)


def _members(boots: Sequence[str | None]) -> list[list[int]]:
    """Indices of the runs of each boot; empty if the boot of a run is not known."""
    if None in boots:
        return []
    found: dict[str, list[int]] = defaultdict(list)
    for i, boot in enumerate(boots):
        found[str(boot)].append(i)
    return list(found.values())


def one_way(groups: Sequence[Floats], hidden: float = 0.0, q: float = math.nan) -> BootVariance | None:
    """Variance components of values (ln of a latency) in groups (boots), at least two groups and a group of two.

    The interval of the intraclass correlation is exact for equally large groups of normal values (F distribution), and near
    that for others (n0 runs a boot, the usual mean of unequal sizes). `hidden`: a standard deviation that the values'
    resolution hides. None if nothing varies.
    """
    sizes = np.array([group.size for group in groups])
    total, boots = int(sizes.sum()), len(groups)
    each = float((total - (sizes**2).sum() / total) / (boots - 1))
    means = np.array([group.mean() for group in groups])
    grand = float(np.concatenate(groups).mean())
    between = float((sizes * (means - grand) ** 2).sum()) / (boots - 1)
    inside = math.fsum(float(((group - mean) ** 2).sum()) for group, mean in zip(groups, means, strict=True))
    within = max(inside / (total - boots), hidden * hidden)
    if between <= 1e-18 and within <= 1e-18:
        return None
    boot_variance = max(0.0, (between - within) / each)
    lo, hi = 0.0, 1.0
    if within > 1e-18:
        from scipy.special import fdtri

        ratio = between / within
        low = ratio / float(fdtri(boots - 1, total - boots, 1 - ALPHA / 2))
        high = ratio / float(fdtri(boots - 1, total - boots, ALPHA / 2))
        lo, hi = (max(0.0, (f - 1) / (f + each - 1)) for f in (low, high))
    else:
        lo = 1.0
    return BootVariance(
        q=q,
        boots=boots,
        runs=total,
        between_sd=math.sqrt(boot_variance),
        within_sd=math.sqrt(within),
        icc=boot_variance / (boot_variance + within),
        lo=lo,
        hi=hi,
    )

"""Statistics on run-level numbers: intervals, permutation, effect sizes, Holm. scipy.special only (scipy.stats costs a second)."""

from __future__ import annotations

import functools
import itertools
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EXACT_AT_MOST = 200_000
DRAWS = 20_000
BOOTSTRAPS = 4_000
ENOUGH_P = 0.05
_SAME = 1e-12


@dataclass(frozen=True, slots=True)
class TTest:
    """Difference of two means with its standard error and degrees of freedom."""

    difference: float
    error: float
    freedom: float

    def half_width(self, alpha: float = 0.05) -> float:
        """Of the two-sided 1 - alpha interval."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, 1 - alpha / 2)) * self.error

    def p_value(self, gap: float) -> float:
        """Two-sided chance of a difference of at least `gap` >= 0 between equal means."""
        from scipy.special import stdtr

        return 1.0 if gap <= 0 else 2 * float(stdtr(self.freedom, -gap / self.error))


def welch(a: Floats, b: Floats, floor_a: float, floor_b: float) -> TTest:
    """mean(b) - mean(a), at least two values each. `floor`: a standard deviation that the resolution of the values can hide."""
    parts = []
    for values, floor in ((a, floor_a), (b, floor_b)):
        parts.append((_variance(values, floor) / values.size, values.size - 1))
    (va, da), (vb, db) = parts
    freedom = (va + vb) ** 2 / (va * va / da + vb * vb / db)
    return TTest(float(np.mean(b) - np.mean(a)), math.sqrt(va + vb), freedom)


def student(a: Floats, b: Floats, floor_a: float, floor_b: float) -> TTest:
    """As `welch`, with one variance for both groups.

    With unequal sizes, a small group whose runs are alike by chance makes Welch's test too certain: 3 runs against 12 of two modes
    differ at 5 % in 23 % of comparisons. The more cautious of both tests does so in 4.5 % (docs/method/comparisons.md).
    """
    freedom = a.size + b.size - 2
    pooled = ((a.size - 1) * _variance(a, floor_a) + (b.size - 1) * _variance(b, floor_b)) / freedom
    return TTest(float(np.mean(b) - np.mean(a)), math.sqrt(pooled * (1 / a.size + 1 / b.size)), freedom)


def _variance(values: Floats, floor: float) -> float:
    return max(float(np.var(values, ddof=1)), floor * floor, 1e-24)


@dataclass(frozen=True, slots=True)
class Arm:
    """Run-level values of one group for the bootstrap: `redrawn[k]` are equally likely values run k might have shown instead.

    `boots`: which boot each run belongs to; all different where boots are not known.
    """

    values: Floats
    redrawn: Floats
    boots: tuple[str, ...]


def bootstrap_t(a: Arm, b: Arm, alpha: float = 0.05) -> tuple[float, float] | None:
    """Interval of mean(b) - mean(a) by the studentised hierarchical bootstrap: boots, then runs, then samples within the run.

    Deterministic: the draws of a group are seeded by its values. None if the values do not vary.
    """
    means, variances = zip(*(_resampled(arm) for arm in (a, b)), strict=True)
    seen = float(np.mean(b.values) - np.mean(a.values))
    error = math.sqrt(sum(float(np.var(arm.values, ddof=1)) / arm.values.size for arm in (a, b)))
    errors = np.sqrt(variances[0] + variances[1])
    good = errors > 0
    if error == 0 or not good.any():
        return None
    t = ((means[1] - means[0]) - seen)[good] / errors[good]
    low, high = np.quantile(t, [alpha / 2, 1 - alpha / 2])
    return seen - float(high) * error, seen - float(low) * error


def _resampled(arm: Arm) -> tuple[Floats, Floats]:
    """(means, squared standard errors) of BOOTSTRAPS resamples of one group."""
    random = np.random.Generator(np.random.PCG64(zlib.crc32(arm.values.tobytes())))
    size = arm.values.size
    names = sorted(set(arm.boots))
    if 1 < len(names) < size:
        return _of_boots(arm, names, random)
    picks = random.integers(size, size=(BOOTSTRAPS, size))
    values = arm.redrawn[picks, random.integers(arm.redrawn.shape[1], size=picks.shape)]
    return values.mean(axis=1), values.var(axis=1, ddof=1) / size


def _of_boots(arm: Arm, names: list[str], random: np.random.Generator) -> tuple[Floats, Floats]:
    """Resamples of boots, and of the runs within each; boots may hold different numbers of runs, so places are masked."""
    members = [[i for i, boot in enumerate(arm.boots) if boot == name] for name in names]
    sizes = np.array([len(runs) for runs in members])
    table = np.array([runs + [0] * (int(sizes.max()) - len(runs)) for runs in members])
    boots = random.integers(len(names), size=(BOOTSTRAPS, len(names)))
    shape = (*boots.shape, table.shape[1])
    within = np.minimum((random.random(shape) * sizes[boots][..., None]).astype(np.int64), sizes[boots][..., None] - 1)
    picks = table[boots[..., None], within]
    used = np.arange(table.shape[1]) < sizes[boots][..., None]
    values = np.where(used, arm.redrawn[picks, random.integers(arm.redrawn.shape[1], size=shape)], 0.0)
    count = used.sum(axis=(1, 2))
    mean = values.sum(axis=(1, 2)) / count
    squares = (np.where(used, values - mean[:, None, None], 0.0) ** 2).sum(axis=(1, 2))
    return mean, squares / np.maximum(count - 1, 1) / count


def smallest_p(a_runs: int, b_runs: int) -> float:
    """The smallest two-sided p an exact permutation test of so many runs can give: 2 / C(a + b, a), at most 1."""
    return min(1.0, 2 / math.comb(a_runs + b_runs, a_runs))


def runs_needed(p: float, start: int = 2) -> int:
    """Runs per group from which on the exact permutation test can reach `p`."""
    m = start
    while smallest_p(m, m) > p:
        m += 1
    return m


def all_exchanges(a_runs: int, b_runs: int) -> bool:
    """Whether the runs are few enough to look at every exchange of runs between the groups."""
    return math.comb(a_runs + b_runs, a_runs) <= EXACT_AT_MOST


def permutation_p(a: Floats, b: Floats) -> tuple[float, bool]:
    """(two-sided p of the difference of means under exchange of whole runs, whether every exchange was looked at)."""
    pool = np.sort(np.concatenate([a, b]))
    size = min(a.size, b.size)
    total, both = float(pool.sum()), pool.size
    seen = abs(float(np.mean(b) - np.mean(a)))

    def differences(picks: npt.NDArray[np.int64]) -> Floats:
        sums = pool[picks].sum(axis=1)
        return np.asarray(np.abs(sums / size - (total - sums) / (both - size)), dtype=np.float64)

    limit = seen - 1e-12 * max(1.0, abs(total))
    picks = _exchanges(pool, size)
    if all_exchanges(a.size, b.size):
        return float((differences(picks) >= limit).mean()), True
    return (1 + int((differences(picks) >= limit).sum())) / (DRAWS + 1), False


def exchange_interval(a: Floats, b: Floats, alpha: float = 0.05) -> tuple[float, float]:
    """All shifts s of b against a that an exchange of whole runs does not reject: two-sided p of (a, b - s) above `alpha`.

    Exact for runs of any distribution (Edgington and Onghena, Randomization Tests, 2007). An exchange that leaves u between the means and of b's
    runs the share c (more in the second group than in the first) is as extreme as what was seen for s between (d - u) / (1 - c) and
    (d + u) / (1 + c), d being the difference seen; so the limits are order statistics of these ends.
    """
    values = np.concatenate([a, b])
    order = np.argsort(values, kind="stable")
    pool, of_b = values[order], (order >= a.size).astype(np.float64)
    size, both, d = min(a.size, b.size), values.size, float(np.mean(b) - np.mean(a))
    picks = _exchanges(pool, size)

    def gap(column: Floats) -> Floats:
        chosen = column[picks].sum(axis=1)
        return np.asarray((column.sum() - chosen) / (both - size) - chosen / size, dtype=np.float64)

    sign = 1.0 if a.size <= b.size else -1.0
    u, c = sign * gap(pool), np.clip(sign * gap(of_b), -1.0, 1.0)
    moved = (
        np.abs(c) < 1 - _SAME
    )  # the remaining exchanges are the groups themselves: as extreme as observed for any shift
    u, c = u[moved], c[moved]
    ends = np.stack([(d - u) / (1 - c), (d + u) / (1 + c)])
    themselves = max(int((~moved).sum()), 1)
    low = np.sort(np.append(ends.min(axis=0), np.full(themselves, -np.inf)))
    high = np.sort(np.append(ends.max(axis=0), np.full(themselves, np.inf)))
    rejected = math.floor(alpha * low.size + 1e-9)
    return float(low[rejected]), float(high[-1 - rejected])


def _exchanges(pool: Floats, size: int) -> npt.NDArray[np.int64]:
    """Places of `size` runs of the sorted pool, a row an exchange: every one, or DRAWS that the pool's values seed."""
    if all_exchanges(size, pool.size - size):
        return _subsets(pool.size, size)
    random = np.random.Generator(np.random.PCG64(zlib.crc32(pool.tobytes())))
    return random.permuted(np.tile(np.arange(pool.size), (DRAWS, 1)), axis=1)[:, :size]


@functools.lru_cache(maxsize=2)
def _subsets(n: int, size: int) -> npt.NDArray[np.int64]:
    flat = np.fromiter(itertools.chain.from_iterable(itertools.combinations(range(n), size)), dtype=np.int64)
    return flat.reshape(-1, size)


def a12(a: Floats, b: Floats) -> float:
    """Vargha-Delaney: the chance that a value of b is above one of a, ties half."""
    above = (b[:, None] > a[None, :]).sum()
    ties = (b[:, None] == a[None, :]).sum()
    return float((above + 0.5 * ties) / (a.size * b.size))


def holm(p_values: Sequence[float | None], tests: int | None = None) -> list[float | None]:
    """Holm-adjusted p values in the same order; None stays None. `tests`: size of the family, where some have no p."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    family = max(tests or 0, len(known))
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for position, (p, i) in enumerate(known):
        running = max(running, min(1.0, p * (family - position)))
        adjusted[i] = running
    return adjusted

"""Levels beyond the data: what `rtassay extrapolate --json` prints (schema rtassay/extrapolate/1; docs/method/extrapolation.md).

A key may be added; a key that goes or changes its sense raises the number of the schema.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a lane has no answer. `code` and `facts` decide; `reason` and `remedy` are their words."""

    code: str
    reason: str
    remedy: str
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Test:
    """One test of an assumption. `p`: chance of such data if the assumption holds; it refuses below `alpha`; None: it could not run."""

    code: str
    p: float | None
    alpha: float
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Level:
    """The latency that one wake-up in 1 / p exceeds, with a two-sided interval; all None if this level alone was refused.

    `beyond`: 1 / (p n): how many times the measured wake-ups it takes to expect one above. `events_per_h`: bursts above it in an hour.
    `second_ns`: the level by block maxima.
    """

    p: float
    beyond: float
    level_ns: int | None
    lo_ns: int | None
    hi_ns: int | None
    events_per_h: float | None
    second_ns: int | None
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True)
class ThresholdRow:
    """One threshold, with the GPD of the bursts above it.

    `theta`: intervals estimator; `theta_k`: K-gaps (K = 10); `theta_minutes`: with bursts up to a minute wide, None where a minute
    holds several late ones anyway.
    `levels_ns`: the estimate of each level asked for, with `lo_ns` and `hi_ns`; None where the lane was refused.
    """

    threshold_ns: int
    exceedances: int
    clusters: int
    distinct: int
    theta: float
    theta_k: float | None
    theta_minutes: float | None
    xi: float
    sigma_ns: float
    log_likelihood: float
    p_shape: float
    chosen: bool
    levels_ns: tuple[int, ...] | None = None
    lo_ns: tuple[int, ...] | None = None
    hi_ns: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class BlockMaxima:
    """The second opinion: GEV (mu, sigma, xi) of the maxima of `blocks` blocks of `length` wake-ups."""

    blocks: int
    length: int
    mu_ns: float
    sigma_ns: float
    xi: float


@dataclass(frozen=True, slots=True)
class Band:
    """Curves for a figure: the level at each p with its interval, from the threshold on."""

    p: tuple[float, ...]
    level_ns: tuple[int, ...]
    lo_ns: tuple[int, ...]
    hi_ns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LaneExtrapolation:
    """One lane over all runs. `p_mode`: no mode rarer than this is excluded (3 / n). `assumes`: what the data could not test.

    `seen_ns`: the largest measured values, and `seen_p` the share of wake-ups at or above each.
    """

    name: str
    runs: tuple[str, ...]
    n: int
    interval_ns: int | None
    tick_ns: int
    max_ns: int | None
    p_mode: float | None
    levels: tuple[Level, ...]
    refusals: tuple[Refusal, ...]
    assumes: tuple[str, ...]
    notes: tuple[str, ...]
    tests: tuple[Test, ...]
    thresholds: tuple[ThresholdRow, ...]
    xi_lo: float | None
    xi_hi: float | None
    blocks: BlockMaxima | None
    seen_ns: tuple[int, ...] = ()
    seen_p: tuple[float, ...] = ()
    band: Band | None = None

    @property
    def answered(self) -> bool:
        """Whether a level has an interval."""
        return any(level.level_ns is not None for level in self.levels)


@dataclass(frozen=True, slots=True)
class Extrapolation:
    """All lanes of one or several recordings."""

    ids: tuple[str, ...]
    board: str
    kernel: str | None
    confidence: float
    lanes: tuple[LaneExtrapolation, ...]
    schema: str = "rtassay/extrapolate/1"

"""Groups of runs against each other: what `rtassay compare --json` prints (schema rtassay/compare/1; docs/method/comparisons.md).

A key may be added; a key that goes or changes its sense raises the number of the schema. Ratios are always B / A, so above 1 B is later.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from rtassay.model.findings import PRIMARY_Q, CheckResult, Quantile
from rtassay.model.recording import Histogram

A_BETTER = "a_better"
B_BETTER = "b_better"
CROSSES = "crosses"
NO_DIFFERENCE = "no_difference_shown"
REFUSED = "refused"
CONCLUSIONS = (A_BETTER, B_BETTER, CROSSES, NO_DIFFERENCE, REFUSED)

RUNS_T = "runs, Student-t on log"
RUNS_BOOTSTRAP = "runs, bootstrap-t on log"
RUNS_EXCHANGE = "runs, exchange of whole runs on log"
WITHIN_RUN = "within the runs only"


@dataclass(frozen=True, slots=True)
class QuantileRatio:
    """One step of the ladder. `a_ns`, `b_ns`: geometric mean over the group's runs of the nearest-rank quantile (of one run: it).

    `lo`, `hi`: 95 % interval of `ratio`; `hi` None when unbounded, all three None where the data hold only lower bounds.
    `method`: where the interval comes from (RUNS_T, RUNS_BOOTSTRAP, RUNS_EXCHANGE, WITHIN_RUN); None without an interval.
    `shown`: a_better or b_better where the difference stands; else None. At the primary step its own interval decides, elsewhere also
    Holm's correction over the other steps.
    `p_value`: exact (or, for many runs, sampled) permutation of whole runs; None with too few runs. `p_holm`: corrected over all steps but
    the primary one, which keeps its `p_value`.
    `a12`: chance that a run of B has the larger value than a run of A (ties half); `cliffs_delta` = 2 a12 - 1.
    `detectable`: the smallest ratio (above 1, or its inverse) that this interval would have told from 1.
    """

    q: float
    a_ns: int | None
    b_ns: int | None
    ratio: float | None
    lo: float | None
    hi: float | None
    bound: str
    method: str | None = None
    shown: str | None = None
    p_value: float | None = None
    p_holm: float | None = None
    a12: float | None = None
    cliffs_delta: float | None = None
    detectable: float | None = None


@dataclass(frozen=True, slots=True)
class Crossover:
    """Where the pooled distributions change places: up to `value_ns` (exceeded with 1 - q) one group is later, beyond it the other.

    `worse_below`, `worse_above`: "a" or "b". `shown`: both sides stand as differences in the ladder; else the flip is within the noise.
    """

    q: float
    value_ns: int
    worse_below: str
    worse_above: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Rarefied:
    """The maximum of `m` samples drawn from each group's pooled histogram: median and 95 % range. None: it lies in overflow."""

    m: int
    a_median_ns: int | None
    a_lo_ns: int | None
    a_hi_ns: int | None
    b_median_ns: int | None
    b_lo_ns: int | None
    b_hi_ns: int | None


@dataclass(frozen=True, slots=True)
class RunRow:
    """One recording of a group, all its compared lanes pooled. `name`: what it is called, or the file it comes from. `weak`: its own checks that are invalid or warnings, by id."""

    id: str
    path: str | None
    n: int
    missed: int | None
    over: int | None
    mean_ns: float | None
    sd_ns: float | None
    max_ns: int | None
    quantiles: tuple[Quantile, ...]
    started: str | None
    duration_s: float | None
    boot: str | None
    temperature_c: float | None
    labels: dict[str, str]
    weak: tuple[str, ...] = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class BootVariance:
    """Scatter of ln x_q of a group's runs, between its boots and within them (standard deviations; 0.1 is about 10 %).

    `icc`: share of the boots in the variance of a run, with its 95 % interval `lo` .. `hi`.
    """

    q: float
    boots: int
    runs: int
    between_sd: float
    within_sd: float
    icc: float
    lo: float
    hi: float


@dataclass(frozen=True, slots=True)
class Group:
    """One side. `boot_variance`: by rising q; empty where not two boots or more have two runs or more each. `histogram` pools all samples of all runs, for curves; it is not part of the JSON object."""

    name: str
    title: str
    runs: tuple[RunRow, ...]
    n: int
    mean_ns: float | None
    sd_ns: float | None
    max_ns: int | None
    boots: int | None
    lanes: tuple[str, ...]
    histogram: Histogram | None = None
    boot_variance: tuple[BootVariance, ...] = ()


@dataclass(frozen=True, slots=True)
class LaneRatios:
    """The ladder of one CPU (or, where CPUs are not known, of lanes of one name), Holm's correction over all CPUs and steps."""

    name: str
    cpu: int | None
    quantiles: tuple[QuantileRatio, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """One condition in both groups. `kind`: factor, confound, varies (inside a group), same, unknown."""

    key: str
    name: str
    a: tuple[str, ...]
    b: tuple[str, ...]
    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Replication:
    """How many runs there are, and how many an exact permutation test would need at the least for p <= 0.05.

    `needed_per_group`: at the primary step; `needed_with_holm`: at each of the others.
    """

    a_runs: int
    b_runs: int
    smallest_p: float
    needed_per_group: int
    needed_with_holm: int
    exact: bool | None


def primary(rows: Sequence[QuantileRatio], q: float) -> QuantileRatio | None:
    """The primary step of a ladder; None where nothing was compared."""
    return next((row for row in rows if row.q == q), None)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything a report of a comparison shows. `primary_q`: the step named beforehand, on which the conclusion rests."""

    a: Group
    b: Group
    quantiles: tuple[QuantileRatio, ...]
    crossover: Crossover | None
    checks: tuple[CheckResult, ...]
    conclusion: str
    sentence: str
    factor: tuple[str, ...]
    conditions: tuple[Difference, ...]
    lanes: tuple[LaneRatios, ...] = ()
    rarefied: Rarefied | None = None
    replication: Replication | None = None
    not_covered: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    bin_width_ns: int = 1
    primary_q: float = PRIMARY_Q
    schema: str = "rtassay/compare/1"
    analysis_version: int = 1
    extra: dict[str, Any] = field(default_factory=dict)

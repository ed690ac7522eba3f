"""What an experiment shows beyond its single runs: the scorecard of docs/method/experiments.md, as plain values.

Part of the object `rtassay experiment show --json` prints (schema rtassay/experiment/1, key `scorecard`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rtassay.model.comparison import BootVariance, Comparison
from rtassay.model.findings import Jitter, Quantile
from rtassay.model.recording import Histogram
from rtassay.model.throughput import Throughput

# Units of a KpiRow; reports word them.
NS, RATIO, PROBABILITY, PER_HOUR, PER_SECOND, PER_BILLION, SHARE, PER_DAY, PER_DEGREE, WORDS = (
    "ns", "ratio", "probability", "per_hour", "per_second", "per_1e9", "share", "per_24h", "per_degC", "words",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class KpiRow:
    """One value of a KPI. `where`: the combination, empty where there is one. `lo`, `hi`: its interval, None where it has none there.

    `at_least`: the data hold only a lower bound. `words`: the value where it is none of a number.
    """

    where: str
    value: float | None = None
    lo: float | None = None
    hi: float | None = None
    at_least: bool = False
    words: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kpi:
    """One line of the scorecard. `better`: down, up or empty. Without rows it was not measured, and `why` says why."""

    id: str
    name: str
    definition: str
    unit: str
    better: str
    rows: tuple[KpiRow, ...] = ()
    why: str = ""


@dataclass(frozen=True, slots=True)
class Grade:
    """Evidence: A, B, C or X (docs/method/experiments.md).

    `because`: what decides it; `next`: what would make it better. `thin`: so few runs, or so incomplete, that nothing HOLDS at a
    small p.
    """

    letter: str
    because: tuple[str, ...]
    next: tuple[str, ...] = ()
    thin: bool = False


@dataclass(frozen=True, slots=True)
class RunNumbers:
    """One sealed run of a combination. `star_ns`: D* of its worst lane at the scorecard's `p_each`."""

    id: str
    cell: str
    repeat: int
    order: int
    started: str | None
    boot: str | None
    duration_s: float | None
    n: int
    missed: int | None
    star_ns: int | None
    quantiles: tuple[Quantile, ...]
    mean_ns: float | None
    max_ns: int | None
    temperature_c: float | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class Combination:
    """All runs of one combination of levels, pooled. `stars`: (p, D* of the worst lane over all runs) at the scorecard's ps.

    `lanes`: (name, D* over all runs) at `p_each`. `cv`: coefficient of variation between runs of the quantile `cv_q`.
    `measure`: what its numbers are (model/measures.py). `histogram` pools everything, for curves; it is no part of the JSON object.
    """

    title: str
    levels: dict[str, str | None]
    runs: tuple[RunNumbers, ...]
    planned: int
    n: int
    due: int | None
    missed: int | None
    over: int | None
    min_ns: int | None
    mean_ns: float | None
    sd_ns: float | None
    max_ns: int | None
    quantiles: tuple[Quantile, ...]
    star_ns: int | None
    star_each_ns: int | None
    lanes: tuple[tuple[str, int | None], ...]
    hours: float
    boots: int | None
    jitter_ns: int | None = None
    period_jitter: Jitter | None = None
    cv_q: float | None = None
    cv: float | None = None
    boot_variance: tuple[BootVariance, ...] = ()
    measure: str | None = None
    histogram: Histogram | None = None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How much a load costs: D*(load) / D*(idle), run by run at `p`, with the 95 % interval from the scatter of runs."""

    load: str
    baseline: str
    where: str
    p: float
    ratio: float
    lo: float | None
    hi: float | None
    runs: int
    baseline_runs: int


@dataclass(frozen=True, slots=True)
class CheckRow:
    """One check over all sealed cells: its worst severity, how many cells fired it, at which combinations, and one message.

    `waived`: the reason a person gave why it does not decide; such cells have a row of their own.
    """

    id: str
    severity: str
    kind: str
    cells: int
    of: int
    where: tuple[str, ...]
    message: str
    waived: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A question a reader has, and what this experiment answers."""

    question: str
    text: str


@dataclass(frozen=True, slots=True)
class Scorecard:
    """`p`: what is asked for; `per_hour`: events asked for in its place; `p_each`: the smallest power of ten that every run demonstrates."""

    p: float
    per_hour: float | None
    confidence: float
    p_each: float | None
    grade: Grade
    answers: tuple[Answer, ...]
    kpis: tuple[Kpi, ...]
    combinations: tuple[Combination, ...]
    sensitivity: tuple[Sensitivity, ...]
    checks: tuple[CheckRow, ...]
    not_covered: tuple[str, ...]
    versions: dict[str, str]
    boards: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """Two levels of a factor against each other, everything else as `where` says."""

    factor: str
    a: str
    b: str
    where: str
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class ExperimentReport:
    """Everything a report of an experiment shows.

    `result`: the object of schema rtassay/experiment/1; `file`: the experiment file's
    text; `commands`: (combination, rtassay run, command on the board); `levels`: (factor, level, what it is, what it runs);
    `costs`: throughput and D* of the first kernel against each other one, where fixed works were measured;
    `told`: recording id -> (its worst wake-up with what coincided, the work of its loads), in words, empty where nothing is known.
    """

    result: dict[str, Any]
    scorecard: Scorecard
    compared: tuple[Compared, ...]
    file: str
    commands: tuple[tuple[str, str, str], ...]
    order: str
    seed: int | None
    created: str
    levels: tuple[tuple[str, str, str, str], ...] = ()
    told: dict[str, tuple[str, str]] = field(default_factory=dict)
    costs: tuple[Throughput, ...] = ()

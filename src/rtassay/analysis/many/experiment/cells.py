"""Cells to combinations: all runs of one set of levels pooled, and each run's own numbers beside."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rtassay.analysis.lane.account import Account
from rtassay.analysis.lane.bounds import nearest_rank, samples_needed
from rtassay.analysis.lane.demonstrated import demonstrated
from rtassay.analysis.lane.distribution import Distribution
from rtassay.analysis.lane.jitter import jitter
from rtassay.analysis.lane.missed import raw_view
from rtassay.analysis.lane.quantiles import ladder, pooled
from rtassay.analysis.lane.summary import moments
from rtassay.analysis.many.compare import conditions, variance
from rtassay.analysis.many.compare.ratios import Side
from rtassay.analysis.many.compare.sample import Sample
from rtassay.analysis.many.lanes import by_lane_of_one_measure, main_measure, of_measure
from rtassay.model.experiment import Combination, RunNumbers
from rtassay.model.findings import Findings, Quantile
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S

FACTORS = ("board", "kernel", "load", "probe", "scenario")
_DECADES = range(1, 13)
_JITTER = (0.0001, 0.9999)


@dataclass(frozen=True, slots=True)
class Measured:
    """A sealed cell: its levels, its recording and its own findings. `isolated`: only isolated CPUs were measured."""

    cell: str
    levels: dict[str, str | None]
    repeat: int
    order: int
    recording: Recording
    findings: Findings
    isolated: bool = False

    @property
    def combination(self) -> tuple[str | None, ...]:
        return tuple(self.levels.get(factor) for factor in FACTORS)


@dataclass(frozen=True, slots=True)
class Design:
    """What was planned. `per_hour`: events allowed, in place of `p`; `planned`: runs by combination; `levels`: by factor; `idle`: loads that run nothing;
    `sure`: the confidence of a combination's planned look, where it is not `confidence`."""

    deadline_ns: int | None
    p: float
    confidence: float
    per: str
    planned: dict[tuple[str | None, ...], int]
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    idle: tuple[str, ...] = ()
    asked_kernels: tuple[str, ...] = ()
    per_hour: float | None = None
    sure: dict[tuple[str | None, ...], float] = field(default_factory=dict)

    @property
    def asked(self) -> str:
        """`p = 1e-6` or `0.1 events an hour`: what D* of a combination is for."""
        return f"p = {power(self.p)}" if self.per_hour is None else f"{self.per_hour:.3g} events an hour"

    @property
    def varying(self) -> tuple[str, ...]:
        """Factors with more than one level, in the order of FACTORS."""
        return tuple(factor for factor in FACTORS if len(self.levels.get(factor, ())) > 1)

    def title(self, levels: dict[str, str | None]) -> str:
        """`all, isolated`: the levels that vary; the load where none does."""
        return ", ".join(str(levels.get(factor)) for factor in self.varying or ("load",))


def power(p: float | None) -> str:
    """`1e-6`, as people write it."""
    return "-" if p is None else re.sub(r"e-0*", "e-", f"{p:.2g}")


def smallest_common_p(cells: Sequence[Measured], confidence: float, asked: float) -> float | None:
    """The smallest power of ten, not below what is asked for, that the shortest lane of the shortest run could demonstrate."""
    found = smallest_p_of([one.recording for one in cells], confidence)
    return None if found is None else max(found, asked)


def smallest_p_of(recordings: Sequence[Recording], confidence: float) -> float | None:
    """The smallest power of ten that the shortest lane of the shortest run could demonstrate; None if there is none."""
    exposures = [lane.exposure for one in recordings for lane in of_measure(one, main_measure([one]))]
    if not exposures:
        return None
    fitting = [10.0**-k for k in _DECADES if (samples_needed(10.0**-k, confidence) or math.inf) <= min(exposures)]
    return fitting[-1] if fitting else None


def star(
    lanes: dict[str, list[Account]], p: float | None, confidence: float, per_hour: float | None = None
) -> int | None:
    """D* of the worst lane, for `p` or, if stated, so many events `per_hour`; None if a lane has none."""
    if p is None or not lanes:
        return None
    stars = [demonstrated(parts, p, confidence, per_hour=per_hour).deadline_ns for parts in lanes.values()]
    known = [value for value in stars if value is not None]
    return max(known) if len(known) == len(stars) else None


def combine(cells: Sequence[Measured], design: Design, p_each: float | None) -> tuple[Combination, ...]:
    """One row for each planned combination that has a sealed run, in the order of the plan."""
    rows = []
    for key, planned in design.planned.items():
        mine = sorted((one for one in cells if one.combination == key), key=lambda one: (one.repeat, one.order))
        if mine:
            rows.append(_combination(mine, planned, design, p_each))
    return tuple(rows)


def _combination(mine: Sequence[Measured], planned: int, design: Design, p_each: float | None) -> Combination:
    recordings = [one.recording for one in mine]
    measure, lanes = main_measure(recordings), by_lane_of_one_measure(recordings)
    every = [account for parts in lanes.values() for account in parts]
    view = pooled([raw_view(account) for account in every])
    mean, sd = moments(every)
    runs = tuple(_run(one, design, p_each) for one in mine)
    samples = tuple(Sample(of_measure(recording, measure), _step(recording)) for recording in recordings)
    cv_q, cv = _scatter(runs)
    boots = {run.boot for run in runs}
    maxima = [run.max_ns for run in runs]
    values = Distribution(view.known) if view.known.total and not view.censored.total else None
    return Combination(
        title=design.title(mine[0].levels),
        levels=dict(mine[0].levels),
        runs=runs,
        planned=planned,
        n=view.total,
        due=_sum([account.entry.due for account in every]),
        missed=_sum([account.entry.missed for account in every]),
        over=_sum([account.over_told for account in every]),
        min_ns=min((low for account in every if (low := account.min_ns) is not None), default=None),
        mean_ns=mean,
        sd_ns=sd,
        max_ns=None if None in maxima else max(top for top in maxima if top is not None),
        quantiles=ladder(view),
        star_ns=star(lanes, design.p, design.sure.get(mine[0].combination, design.confidence), design.per_hour),
        star_each_ns=star(lanes, p_each, design.confidence),
        lanes=tuple((name, star({name: parts}, p_each, design.confidence)) for name, parts in lanes.items()),
        hours=sum(run.duration_s or 0.0 for run in runs) / 3600,
        boots=None if None in boots else len(boots),
        jitter_ns=None if values is None else _range(values, view.total),
        period_jitter=jitter([account.lane for account in every]),
        cv_q=cv_q,
        cv=cv,
        measure=measure,
        boot_variance=variance.components(Side(samples, tuple(run.boot for run in runs))),
        histogram=Sample(every).histogram(),
    )


def _run(one: Measured, design: Design, p_each: float | None) -> RunNumbers:
    manifest, pool = one.recording.manifest, one.findings.pooled
    zones = conditions.mean_temperature(one.recording)
    return RunNumbers(
        id=manifest.id,
        cell=one.cell,
        repeat=one.repeat,
        order=one.order,
        started=manifest.wall_start,
        boot=conditions.boot_of(manifest),
        duration_s=_length_s(one),
        n=pool.n,
        missed=pool.missed,
        star_ns=star(by_lane_of_one_measure([one.recording]), p_each, design.confidence),
        quantiles=pool.quantiles,
        mean_ns=pool.mean_ns,
        max_ns=pool.max_ns,
        temperature_c=max(zones.values()) if zones else None,
        verdict=None if one.findings.verdict is None else one.findings.verdict.state,
    )


def _length_s(one: Measured) -> float | None:
    """As the probe tells; else (cyclictest does not) what its samples took at least: the lane with the most samples times intervals."""
    if one.findings.duration_s is not None:
        return one.findings.duration_s
    lengths = [lane.entry.n * lane.entry.interval_ns for lane in one.recording.lanes if lane.entry.interval_ns]
    return max(lengths) / NS_PER_S if lengths else None


def _range(values: Distribution, n: int) -> int:
    low, high = (values.at(nearest_rank(n, q)) for q in _JITTER)
    return high - low


def _scatter(runs: Sequence[RunNumbers]) -> tuple[float | None, float | None]:
    """The highest quantile that every run supports, and its coefficient of variation between runs."""
    if len(runs) < 2:
        return None, None
    for steps in zip(*(reversed(run.quantiles) for run in runs), strict=True):
        values = [step.value_ns for step in steps]
        if all(step.bound == "exact" for step in steps) and min(values) > 0:
            array = np.array(values, dtype=np.float64)
            return steps[0].q, float(array.std(ddof=1) / array.mean())
    return None, None


def quantile_of(quantiles: Sequence[Quantile], q: float) -> Quantile | None:
    return next((step for step in quantiles if step.q == q), None)


def _step(recording: Recording) -> int:
    step = recording.manifest.probe_facts.clock.step_ns
    return 1 if step is None else step


def _sum(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value or 0 for value in values)

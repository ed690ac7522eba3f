"""Turns two groups of recordings into a Comparison; the order of the steps is defined here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rtassay.analysis.lane.measures import pooled_measure
from rtassay.analysis.lane.summary import moments
from rtassay.analysis.many.compare import conditions, curves, inference, ratios, variance, words
from rtassay.analysis.many.compare.checks import run_all
from rtassay.analysis.many.compare.checks.pair import Pair
from rtassay.analysis.many.compare.ratios import Side
from rtassay.analysis.many.compare.rounding import common_width_ns
from rtassay.analysis.many.compare.run import Run, measures, prepare
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import (
    REFUSED,
    Comparison,
    Group,
    LaneRatios,
    QuantileRatio,
    Replication,
)
from rtassay.model.errors import UsageError
from rtassay.model.recording import Recording

REFUSING = ("INVALID-RECORDING", "MEASURE-DIFFERS", "NOT-COMPARABLE", "NO-SAMPLES")


def compare(
    a: Sequence[Recording],
    b: Sequence[Recording],
    asked: tuple[str, ...],
    at: float,
    titles: tuple[str | None, str | None],
) -> Comparison:
    """See `rtassay.analysis.many.compare.compare`."""
    if not a or not b:
        raise UsageError("a group to compare is empty", hint="rtassay compare A... --with B...")
    if not 0 < at < 1:
        raise UsageError(f"the primary step is a quantile between 0 and 1, not {at:g}", hint="--at p99.9")
    measure = _measure((*a, *b))
    width_ns = common_width_ns((*a, *b))
    runs_a, runs_b = (tuple(prepare(recording, measure, width_ns) for recording in side) for side in (a, b))
    factor, rows = conditions.look(a, b, asked)
    pools = _pool(runs_a), _pool(runs_b)
    groups = [
        _group(name, conditions.title(name, factor, rows, _own_name(runs) or told), runs, pool)
        for name, runs, pool, told in (("A", runs_a, pools[0], titles[0]), ("B", runs_b, pools[1], titles[1]))
    ]
    bare = Comparison(
        a=groups[0],
        b=groups[1],
        quantiles=(),
        crossover=None,
        checks=(),
        conclusion=REFUSED,
        sentence="",
        factor=factor,
        conditions=rows,
        replication=_replication(len(runs_a), len(runs_b), len(ratios.steps(at)) - 1),
        bin_width_ns=max(recording.manifest.bin_width_ns for recording in (*a, *b)),
        primary_q=at,
        extra={"measure": measure},
    )
    refusing = [c for c in run_all(Pair(runs_a, runs_b, bare)) if c.id in REFUSING and c.severity == "invalid"]
    if refusing:
        refused = replace(bare, refusals=tuple(c.message for c in refusing))
        return _finished(replace(refused, quantiles=_values_only(runs_a, runs_b, at)), runs_a, runs_b)
    return _finished(_compared(bare, runs_a, runs_b, pools), runs_a, runs_b)


def _measure(recordings: Sequence[Recording]) -> str | None:
    """The common measure of all recordings, that of cyclictest if there are several; None if there is none (the comparison is refused)."""
    every = [measures(recording) for recording in recordings if recording.lanes]
    common = [measure for measure in every[0] if all(measure in other for other in every)] if every else []
    return pooled_measure(common)


def _pool(runs: Sequence[Run]) -> Sample:
    return Sample([lane for run in runs for lane in run.lanes])


def _group(name: str, title: str, runs: Sequence[Run], pool: Sample) -> Group:
    rows = tuple(run.row() for run in runs)
    mean, sd = moments([lane for run in runs for lane in run.lanes])
    maxima = [row.max_ns for row in rows if row.n]
    known = [top for top in maxima if top is not None]
    boots = {row.boot for row in rows}
    return Group(
        name=name,
        title=title,
        runs=rows,
        n=pool.n,
        mean_ns=mean,
        sd_ns=sd,
        max_ns=max(known) if known and len(known) == len(maxima) else None,
        boots=None if None in boots else len(boots),
        lanes=tuple(dict.fromkeys(lane for run in runs for lane, _ in run.by_lane)),
        histogram=pool.histogram(),
        boot_variance=variance.components(_side(runs)),
    )


def _own_name(runs: Sequence[Run]) -> str | None:
    """The name of the only run of a group."""
    return runs[0].findings.called if len(runs) == 1 else None


def _side(runs: Sequence[Run], lane: tuple[str, int | None] | None = None) -> Side:
    samples = tuple(run.pooled if lane is None else run.by_lane[lane] for run in runs)
    return Side(samples, tuple(run.boot for run in runs))


def _compared(bare: Comparison, a: tuple[Run, ...], b: tuple[Run, ...], pools: tuple[Sample, Sample]) -> Comparison:
    side_a, side_b = _side(a), _side(b)
    at = bare.primary_q
    (rows,) = ratios.corrected([(side_a, side_b, ratios.ladder(side_a, side_b, at))])
    return replace(
        bare,
        quantiles=rows,
        crossover=curves.crossover(*pools, rows),
        conclusion=ratios.conclusion(rows, at),
        lanes=_lanes(a, b, at),
        rarefied=curves.rarefied(*pools),
    )


def _lanes(a: tuple[Run, ...], b: tuple[Run, ...], at: float) -> tuple[LaneRatios, ...]:
    """The ladders of the lanes that all runs have, if more than one, corrected over all of them."""
    common = [lane for lane in a[0].by_lane if all(lane in run.by_lane for run in (*a, *b))]
    if max(len(run.by_lane) for run in (*a, *b)) < 2:
        return ()
    sides = [(lane, _side(a, lane), _side(b, lane)) for lane in common]
    ladders = [(x, y, ratios.ladder(x, y, at, pooled=False)) for _, x, y in sides]
    tables = ratios.corrected(ladders)
    return tuple(LaneRatios(name, cpu, rows) for ((name, cpu), _, _), rows in zip(sides, tables, strict=True))


def _values_only(a: Sequence[Run], b: Sequence[Run], at: float) -> tuple[QuantileRatio, ...]:
    """The rows of a refused comparison: quantiles of a single run each, without ratios."""
    rows = []
    for q in ratios.steps(at):
        limits = [runs[0].pooled.quantile(q) if len(runs) == 1 else None for runs in (a, b)]
        values = [limit.value_ns if limit is not None else None for limit in limits]
        exact = all(limit is not None and limit.exact for limit in limits)
        rows.append(QuantileRatio(q, values[0], values[1], None, None, None, "exact" if exact else "at_least"))
    return tuple(rows)


def _replication(a_runs: int, b_runs: int, others: int) -> Replication:
    """`others`: steps of the ladder beside the primary one."""
    smallest = inference.smallest_p(a_runs, b_runs)
    enough = smallest <= inference.ENOUGH_P
    return Replication(
        a_runs=a_runs,
        b_runs=b_runs,
        smallest_p=smallest,
        needed_per_group=inference.runs_needed(inference.ENOUGH_P),
        needed_with_holm=inference.runs_needed(inference.ENOUGH_P / others),
        exact=inference.all_exchanges(a_runs, b_runs) if enough else None,
    )


def _finished(result: Comparison, a: tuple[Run, ...], b: tuple[Run, ...]) -> Comparison:
    checks = run_all(Pair(a, b, result))
    result = replace(result, checks=checks)
    return replace(result, sentence=words.sentence(result), not_covered=words.not_covered(result))

"""What one level costs against another, run by run: load sensitivity, isolation, throughput. Intervals from the scatter of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.many.compare.inference import welch
from rtassay.analysis.many.experiment.cells import FACTORS, Design, Measured
from rtassay.model.experiment import Combination, Sensitivity


@dataclass(frozen=True, slots=True)
class Effect:
    """B / A with its 95 % interval; `lo`, `hi` None where an arm has a single run."""

    ratio: float
    lo: float | None
    hi: float | None


def ratio_of(a: Sequence[float], b: Sequence[float]) -> Effect | None:
    """Geometric mean of b over that of a, Welch's t on logarithms. None without values above 0."""
    if not a or not b or min((*a, *b)) <= 0:
        return None
    la, lb = np.log(np.array(a, dtype=np.float64)), np.log(np.array(b, dtype=np.float64))
    if min(la.size, lb.size) < 2:
        return Effect(math.exp(float(lb.mean() - la.mean())), None, None)
    test = welch(la, lb, 0.0, 0.0)
    half = test.half_width()
    return Effect(math.exp(test.difference), math.exp(test.difference - half), math.exp(test.difference + half))


def pairs(
    combinations: Sequence[Combination], factor: str, first: Callable[[str | None], bool]
) -> list[tuple[Combination, Combination]]:
    """(baseline, other) with everything but `factor` equal; `first` tells the baseline's level."""
    found = []
    for base in combinations:
        if first(base.levels.get(factor)):
            for other in combinations:
                same = all(base.levels.get(name) == other.levels.get(name) for name in FACTORS if name != factor)
                if same and not first(other.levels.get(factor)):
                    found.append((base, other))
    return found


def sensitivity(combinations: Sequence[Combination], design: Design, p: float | None) -> tuple[Sensitivity, ...]:
    """D1: every load against idle. Empty without an idle level, or where a run has no D* at `p`."""
    if p is None:
        return ()
    found = []
    for idle, loaded in pairs(combinations, "load", lambda level: level in design.idle):
        stars = [[run.star_ns for run in one.runs] for one in (idle, loaded)]
        effect = (
            ratio_of(*([float(v) for v in side if v] for side in stars)) if None not in (*stars[0], *stars[1]) else None
        )
        if effect is None:
            continue
        others = [str(loaded.levels.get(name)) for name in design.varying if name != "load"]
        found.append(
            Sensitivity(
                load=str(loaded.levels["load"]),
                baseline=str(idle.levels["load"]),
                where=", ".join(others),
                p=p,
                ratio=effect.ratio,
                lo=effect.lo,
                hi=effect.hi,
                runs=len(loaded.runs),
                baseline_runs=len(idle.runs),
            )
        )
    return tuple(sorted(found, key=lambda row: -row.ratio))


def star_effect(a: Combination, b: Combination) -> Effect | None:
    """D*(b) / D*(a), run by run."""
    stars = [[run.star_ns for run in one.runs] for one in (a, b)]
    if None in (*stars[0], *stars[1]):
        return None
    return ratio_of(*([float(v or 0) for v in side] for side in stars))


def throughput(
    a: Sequence[Measured], b: Sequence[Measured], *, classes: Collection[str] | None = None
) -> Effect | None:
    """Work of the loads per second, geometric mean over the parts that all runs have: B / A. `classes`: of loads alone that stress nothing else."""
    rates = [[_rates(one, classes) for one in side] for side in (a, b)]
    every = [run for side in rates for run in side]
    if not every:
        return None
    common = set.intersection(*(set(run) for run in every))
    if not common:
        return None
    sides = [[math.exp(sum(math.log(run[key]) for key in common) / len(common)) for run in side] for side in rates]
    return ratio_of(sides[0], sides[1])


def _rates(one: Measured, classes: Collection[str] | None) -> dict[tuple[str, str, str], float]:
    """(load, part, unit) -> work per second."""
    found = {}
    for load in one.recording.manifest.loads:
        if classes is not None and not (load.classes and set(load.classes) <= set(classes)):
            continue
        for part in load.parts:
            if part.operations and part.seconds and part.unit and not part.skipped:
                found[load.name, part.name, part.unit] = part.operations / part.seconds
    return found

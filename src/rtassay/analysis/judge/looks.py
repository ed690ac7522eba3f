"""Looks at a run that were planned beforehand, and what each may spend of the chance of a wrong answer (docs/method/planning.md)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rtassay.analysis.judge.lane_verdict import HOLDS, VIOLATED, judge_lane
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.claim import Requirement

if TYPE_CHECKING:
    from rtassay.model.manifest import Manifest
    from rtassay.model.recording import Recording


@dataclass(frozen=True, slots=True)
class Look:
    """Look `number` of `planned`; `confidence`: of its bounds, so that all looks together have the confidence of the requirement."""

    number: int
    planned: int
    confidence: float


def spending(confidence: float, planned: int) -> tuple[float, ...]:
    """What each of `planned` equally spaced looks may spend of alpha = 1 - confidence; the sum is alpha.

    Lan and DeMets, Discrete sequential boundaries for clinical trials, Biometrika 70, 1983: alpha ln(1 + (e - 1) t) is spent at the
    share t of the run, near to Pocock's boundary. A look that spends a_j is judged at the confidence 1 - a_j: by Bonferroni's inequality
    the chance of a wrong answer at any of them is at most the sum, whatever the bound is and however late activations depend.
    """
    alpha = 1 - confidence
    spent = [alpha * math.log1p((math.e - 1) * look / planned) for look in range(planned + 1)]
    return tuple(after - before for before, after in itertools.pairwise(spent))


def look_at(manifest: Manifest, confidence: float) -> Look | None:
    """The look that a recording is judged at: the one that ended it, else the last; None for a run without looks.

    The last one spends least, so that a run that somebody ended is judged most strictly.
    """
    planned = manifest.plan.looks
    if planned < 2:
        return None
    number = min(manifest.look or planned, planned)
    return Look(number, planned, 1 - spending(confidence, planned)[number - 1])


def decides(recording: Recording, number: int) -> bool:
    """Whether look `number` of a run that goes on shows its requirement to be met in all lanes, or violated in one."""
    plan = recording.manifest.plan
    if plan.deadline_ns is None or plan.p_target is None:
        return False
    confidence = 1 - spending(plan.confidence, plan.looks)[number - 1]
    requirement = Requirement(plan.deadline_ns, plan.p_target, confidence, plan.per_hour)
    lanes = accounts(recording)
    states = [judge_lane(lane, requirement, len(lanes)).state for lane in lanes]
    return bool(states) and (VIOLATED in states or set(states) == {HOLDS})

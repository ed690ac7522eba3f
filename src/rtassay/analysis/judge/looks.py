"""The planned looks of a run: which one a recording is judged at, and whether a look decides (docs/method/planning.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rtassay.analysis.judge.lane_verdict import HOLDS, VIOLATED, judge_lane
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.lane.claim import Requirement
from rtassay.model.looks import Look, planned_look

if TYPE_CHECKING:
    from rtassay.model.manifest import Manifest
    from rtassay.model.recording import Recording


def look_at(manifest: Manifest, confidence: float) -> Look | None:
    """The look that a recording is judged at: the one that ended it, else the last; None for a run without looks.

    The last one spends least, so that a run that somebody ended is judged most strictly.
    """
    planned = manifest.plan.looks
    return None if planned < 2 else planned_look(confidence, planned, min(manifest.look or planned, planned))


def decides(recording: Recording, number: int) -> bool:
    """Whether look `number` of a run that goes on shows its requirement to be met in all lanes, or violated in one."""
    plan = recording.manifest.plan
    if plan.deadline_ns is None or plan.p_target is None:
        return False
    confidence = planned_look(plan.confidence, plan.looks, number).confidence
    requirement = Requirement(plan.deadline_ns, plan.p_target, confidence, plan.per_hour)
    lanes = accounts(recording)
    states = [judge_lane(lane, requirement, len(lanes)).state for lane in lanes]
    return bool(states) and (VIOLATED in states or set(states) == {HOLDS})

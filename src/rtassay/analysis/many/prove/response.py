"""What one run tells a campaign: the quantile that was chosen beforehand and D*, of the lane where each is largest."""

from __future__ import annotations

import math

from rtassay.analysis.lane.measures import pooled_measure
from rtassay.model.findings import Findings, LaneFindings
from rtassay.model.proving import Run

LEAST_BEYOND = 10
"""Activations of a lane beyond the quantile. With fewer it is nearly the maximum, which depends on how long the run was."""
_QUANTILES = (0.9999, 0.999, 0.99)


def quantile_for(activations: int) -> float | None:
    """The highest quantile that runs of so many activations a lane support; None if they support none."""
    return next((q for q in _QUANTILES if activations * (1 - q) >= LEAST_BEYOND * (1 - 1e-9)), None)


def run_of(findings: Findings, arm: str, block: int, q: float) -> Run | str:
    """The run's part in its stage; or why it counts for nothing.

    Missed activations count with their own lateness where they are known. A run that is an invalid measurement does not count; that it was
    on an emulated board is no objection here, since it is compared with its like.
    """
    invalid = [
        check.id
        for check in findings.checks
        if check.severity == "invalid" and check.kind == "integrity" and check.waived is None and check.id != "VM-STEAL"
    ]
    if invalid:
        return f"an invalid measurement ({', '.join(invalid)})"
    measure = pooled_measure([lane.measure for lane in findings.lanes])
    lanes = [lane for lane in findings.lanes if lane.measure == measure]
    values = [_value(lane, q) for lane in lanes]
    if not values or None in values:
        return f"too few activations of known latency for the quantile {q:g}"
    worst = max(value for value in values if value is not None)
    step = max(findings.bin_width_ns, findings.clock_step_ns or 1)
    stars = [lane.demonstrated.deadline_ns for lane in lanes]
    star = None if None in stars else max(value for value in stars if value is not None)
    return Run(arm, block, math.log(worst), step / worst, math.log(star) if star else None, findings.id)


def _value(lane: LaneFindings, q: float) -> int | None:
    """The quantile of one lane in ns, at least 1; None where the data do not reach it."""
    row = next((row for row in lane.quantiles_due or lane.quantiles if row.q == q), None)
    return None if row is None or row.bound != "exact" else max(1, row.value_ns)

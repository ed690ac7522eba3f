"""The block model: ln of the response = arm + block + scatter, least squares, one variance for all arms of a stage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.many.compare.inference import Floats, TTest
from rtassay.model.proving import Run


@dataclass(frozen=True, slots=True)
class Fit:
    """`freedom`: runs that are left to tell the scatter `sd` (of ln of the response)."""

    arms: tuple[str, ...]
    levels: Floats
    covariance: Floats
    sd: float
    freedom: int

    def contrast(self, upper: str, lower: str) -> TTest | None:
        """Level of `upper` over that of `lower`, with the variance of all arms. None where one of them has no run."""
        if upper not in self.arms or lower not in self.arms:
            return None
        pick = np.zeros(len(self.arms))
        pick[self.arms.index(upper)] += 1
        pick[self.arms.index(lower)] -= 1
        error = self.sd * math.sqrt(max(float(pick @ self.covariance @ pick), 0.0))
        return TTest(float(pick @ self.levels), error, self.freedom) if error > 0 else None


def fit(runs: Sequence[Run], values: Sequence[float], resolution: float) -> Fit | None:
    """The model of these runs, one at least; None where none is left over to tell the scatter.

    `resolution`: the width of a step of the values; scatter below it cannot be seen, so the sd is never taken below that of a value
    anywhere within a step. Blocks that are not connected by common arms do not occur: every block holds the references.
    """
    arms = tuple(dict.fromkeys(run.arm for run in runs))
    blocks = sorted({run.block for run in runs})
    table = np.zeros((len(runs), len(arms) + len(blocks) - 1))
    for row, run in enumerate(runs):
        table[row, arms.index(run.arm)] = 1
        if run.block != blocks[0]:
            table[row, len(arms) + blocks.index(run.block) - 1] = 1
    seen = np.array(values, dtype=np.float64)
    inverse = np.asarray(np.linalg.pinv(table.T @ table), dtype=np.float64)
    found = np.asarray(inverse @ table.T @ seen, dtype=np.float64)
    freedom = len(runs) - int(np.linalg.matrix_rank(table))
    if freedom < 1:
        return None
    left = seen - table @ found
    sd = math.sqrt(max(float(left @ left) / freedom, resolution**2 / 12))
    size = len(arms)
    return Fit(arms, found[:size], inverse[:size, :size], sd, freedom)

"""Extrapolations for the tests of reports: made by the analysis from drawn tails."""

from __future__ import annotations

import functools

import numpy as np

from rtassay.analysis.tail import Run, extrapolate
from rtassay.model.extrapolation import Extrapolation, LaneExtrapolation

N = 1_000_000


@functools.cache
def lane(name: str = "CPU0", **faults: int) -> LaneExtrapolation:
    """3 runs of 1e6 wake-ups, of which the latest 1000 each are kept."""
    rng = np.random.default_rng(7)
    runs = []
    for i in range(3):
        value = (30_000 + rng.exponential(4_000, 1000)).astype(np.int64)
        runs.append(
            Run(f"run{i}", N, np.sort(rng.choice(N, 1000, replace=False)), value, 30_000, 1, 1_000_000, **faults)
        )
    return extrapolate(name, tuple(runs), (1e-6, 1e-8, 1e-10), 0.95)


def of(*lanes: LaneExtrapolation) -> Extrapolation:
    return Extrapolation(tuple(f"run{i}" for i in range(3)), "pi5", "6.12-rt", 0.95, lanes)


EXAMPLES = {
    "answered": lambda: of(lane()),
    "refused": lambda: of(lane("CPU1", over=3)),
    "both": lambda: of(lane(), lane("CPU1", lost=2)),
    "nothing kept": lambda: of(
        extrapolate("CPU0", (Run("run0", N, None, np.zeros(0, np.int64), 0, 1),), (1e-7,), 0.95)
    ),
}

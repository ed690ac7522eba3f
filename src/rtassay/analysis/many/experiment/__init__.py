"""All cells of an experiment to its scorecard (docs/method/experiments.md): pure functions, the run as the unit of replication.

numpy and scipy.special are loaded at the first assessment, not at import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rtassay.analysis.many.experiment.cells import Design, Measured
    from rtassay.model.experiment import Compared, Scorecard
    from rtassay.model.throughput import Throughput

__all__ = ["assess", "scorecard_dict"]


def assess(
    cells: Sequence[Measured],
    design: Design,
    result: dict[str, Any],
    compared: Sequence[Compared] = (),
    costs: Sequence[Throughput] = (),
) -> Scorecard:
    """Everything an experiment shows beyond its single runs. `cells`: the sealed ones; `result`: schema rtassay/experiment/1, of which
    acceptance, cells and superseded are read; `compared`: its comparisons; `costs`: fixed works of two kernels. Works on an unfinished experiment, and says so."""
    from rtassay.analysis.many.experiment.assessing import assess as run

    return run(cells, design, result, compared, costs)


def scorecard_dict(scorecard: Scorecard) -> dict[str, Any]:
    """As plain JSON values, without the histograms."""
    from dataclasses import asdict, replace

    from rtassay.analysis.judge.plain import plain

    bare = tuple(replace(one, histogram=None) for one in scorecard.combinations)
    data: dict[str, Any] = plain(asdict(replace(scorecard, combinations=bare)))
    for one in data["combinations"]:
        del one["histogram"]
    return data

"""Groups of recordings against each other, the run as the unit of replication (docs/method/comparisons.md): pure functions.

numpy and scipy.special are loaded at the first comparison, not at import.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rtassay.model.findings import PRIMARY_Q

if TYPE_CHECKING:
    from rtassay.model.comparison import Comparison
    from rtassay.model.recording import Recording

__all__ = ["compare", "comparison_dict", "few_runs", "regressions"]


def compare(
    a: Sequence[Recording],
    b: Sequence[Recording],
    *,
    factor: Sequence[str] = (),
    at: float = PRIMARY_Q,
    titles: tuple[str | None, str | None] = (None, None),
) -> Comparison:
    """Everything rtassay can say about group B against group A (`model.comparison.Comparison`).

    `factor`: the intended difference (kernel, load, label.x ...); without it we find what tells the groups apart.
    `at`: the primary step, a quantile chosen before looking at the runs; the conclusion rests on it.
    `titles`: names of the groups if the factor gives none.
    Groups that cannot be compared give a Comparison with conclusion `refused` and the reasons. Raises UsageError for an empty
    group, an unknown factor, and an `at` outside 0 .. 1.
    """
    from rtassay.analysis.many.compare.comparing import compare as run

    return run(a, b, tuple(factor), at, titles)


def comparison_dict(comparison: Comparison) -> dict[str, Any]:
    """The object `rtassay compare --json` prints (schema rtassay/compare/1): plain dicts, lists, ints, finite floats, None."""
    from rtassay.analysis.many.compare.plain import comparison_dict as convert

    return convert(comparison)


def few_runs(comparison: Comparison) -> str | None:
    """Why so few runs cannot show a regression; None if they can."""
    from rtassay.analysis.many.compare.plain import few_runs as find

    return find(comparison)


def regressions(comparison: Comparison, percent: float = 0.0) -> tuple[float, ...]:
    """The quantiles at which B is later than A by more than `percent`, shown and with the interval excluding less."""
    from rtassay.analysis.many.compare.plain import regressions as find

    return find(comparison, percent)

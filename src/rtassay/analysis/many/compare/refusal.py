"""Why two groups cannot be compared at all."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.analysis.many.compare.rounding import common_width_ns
from rtassay.analysis.many.compare.run import Run, measures
from rtassay.model.units import format_time


def incomparable(a: Sequence[Run], b: Sequence[Run]) -> tuple[str, ...]:
    """Reasons in words; none where the numbers of both groups mean the same."""
    return (*_widths(a, b), *_policies(a, b))


def unlike_measures(a: Sequence[Run], b: Sequence[Run]) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The measures of both groups if all runs have none in common; None if they have (`comparing.compare` chooses it)."""
    every = [measures(run.recording) for run in (*a, *b) if run.recording.lanes]
    if not every or set.intersection(*(set(found) for found in every)):
        return None
    of_a, of_b = (tuple(dict.fromkeys(m for run in side for m in measures(run.recording))) for side in (a, b))
    return of_a, of_b


def rounding(a: Sequence[Run], b: Sequence[Run]) -> str | None:
    """What was done to bins of different widths; None where all have one width."""
    sides = _bins(a, b)
    widths = {width for side in sides for width in side}
    if len(widths) == 1:
        return None
    words = [" and ".join(format_time(width) for width in side) for side in sides]
    return f"the bins of A are {words[0]} wide, those of B {words[1]}: all values are rounded down to {format_time(max(widths))}"


def _widths(a: Sequence[Run], b: Sequence[Run]) -> tuple[str, ...]:
    sides = _bins(a, b)
    if common_width_ns([run.recording for run in (*a, *b)]) is not None:
        return ()
    words = [" and ".join(format_time(width) for width in side) for side in sides]
    return (f"the bins of A are {words[0]} wide, those of B {words[1]}, and neither divides the other",)


def _bins(a: Sequence[Run], b: Sequence[Run]) -> list[list[int]]:
    return [sorted({run.recording.manifest.bin_width_ns for run in side}) for side in (a, b)]


def _policies(a: Sequence[Run], b: Sequence[Run]) -> tuple[str, ...]:
    sides = [sorted({run.recording.manifest.source.late_policy for run in side}) for side in (a, b)]
    late = [run.id for run in (*a, *b) if run.stalled]
    if len({policy for side in sides for policy in side}) == 1 or not late:
        return ()
    words = [" and ".join(side) for side in sides]
    return (
        f"after a late wake-up A does '{words[0]}', B '{words[1]}', and latencies reach the interval ({late[0]}"
        + (f" and {len(late) - 1} more" if len(late) > 1 else "")
        + ")",
    )

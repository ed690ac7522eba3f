"""What pilot recordings tell `rtassay plan`: interval, lanes, late activations, bursts, and how runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pilot:
    """Of the worst lane. None: the recordings do not tell (`true_p`: no deadline, or none late; `theta`: too few wake-ups are known in order;
    `spread`: a single run)."""

    interval_ns: int | None = None
    lanes: int | None = None
    true_p: float | None = None
    theta: float | None = None
    spread: float | None = None


def read(names: Sequence[str], deadline_ns: int | None, confidence: float) -> Pilot:
    """Opens recordings by path, id or unique prefix. Raises UsageError if their lanes have no interval in common."""
    if not names:
        return Pilot()
    from rtassay.analysis.lane.claim import Evidence
    from rtassay.analysis.many.lanes import by_lane
    from rtassay.cli.judging import open_by_name

    recordings = [open_by_name(name)[1] for name in names]
    intervals = {lane.entry.interval_ns for recording in recordings for lane in recording.lanes}
    if len(intervals) != 1 or None in intervals:
        raise UsageError(
            f"the lanes of {', '.join(names)} have no interval in common, or none is known",
            hint="--interval and --lanes without a pilot",
        )
    lanes = [Evidence(parts, confidence) for parts in by_lane(recordings).values()]
    seen = [lane.at(deadline_ns).seen for lane in lanes] if deadline_ns is not None else []
    return Pilot(
        interval_ns=intervals.pop(),
        lanes=len(lanes),
        true_p=max((one.certain / one.due for one in seen if one.due), default=0.0) or None,
        theta=min((lane.trace.theta for lane in lanes if lane.trace is not None), default=None),
        spread=max((one for lane in lanes if (one := lane.spread) is not None), default=None),
    )

"""Which lanes of a recording may stand together: only those of one measure (model/measures.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from rtassay.model.manifest import LaneEntry
from rtassay.model.measures import (
    ECHO,
    GPIO,
    GPIO_ANSWER,
    GPIO_RESPONSE,
    JOB_RESPONSE,
    TIMER_THREAD,
    TIMER_USER,
    WAKE_UP,
    answer_of,
)

# In the order that matters to an application: its answer to an edge, its thread, then the return to user space.
SHOWN_FIRST: Final = (ECHO, GPIO_ANSWER, GPIO_RESPONSE, WAKE_UP, JOB_RESPONSE, TIMER_THREAD, TIMER_USER)

T = TypeVar("T")


def pooled_measure(measures: Sequence[str]) -> str | None:
    """The one measure that may be pooled: the request of a response run, the thread's of rtla's three; never a sum of two. None without lanes."""
    present = dict.fromkeys(measures)
    requests = [measure for measure in present if answer_of(measure) in present]
    return next((measure for measure in (*requests, *SHOWN_FIRST, *present) if measure in present), None)


def comparable_measures(measures: Sequence[str]) -> tuple[str, ...]:
    """Those by which a recording may stand against another one: a run of response or gpio is compared by its requests and answers, never by its sender."""
    present = tuple(dict.fromkeys(measures))
    if any(measure in (*GPIO, ECHO) or answer_of(measure) in present for measure in present):
        return tuple(measure for measure in present if measure != WAKE_UP)
    return present


def of_one_measure(lanes: Sequence[LaneEntry], items: Sequence[T]) -> list[T]:
    """Those of `items` (in the order of `lanes`) that have the measure to pool."""
    chosen = pooled_measure([lane.measure for lane in lanes])
    return [item for item, lane in zip(items, lanes, strict=True) if lane.measure == chosen]

"""What a lane's numbers are: wake-up latency, or one of the other quantities that imported files hold (importers/base.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from rtassay.model.manifest import Manifest

WAKE_UP: Final = "wake-up"
THREAD: Final = "thread"
# What an application sees first: its thread, then the way back to user space.
_SHOWN_FIRST = (WAKE_UP, THREAD, "user")

T = TypeVar("T")


def imported(manifest: Manifest) -> dict[str, Any]:
    """What the importer of a file said about it; empty for own runs."""
    about = manifest.facts.get("import")
    return about if isinstance(about, dict) else {}


def measure_of(manifest: Manifest, lane: str) -> str:
    """`wake-up`, unless the importer says what else the lane of that name holds."""
    measures = imported(manifest).get("measures")
    found = measures.get(lane) if isinstance(measures, dict) else None
    return found if isinstance(found, str) else WAKE_UP


def pooled_measure(measures: Sequence[str]) -> str | None:
    """The one measure that may be pooled: the thread's of rtla's three, never a sum of two. None without lanes."""
    present = dict.fromkeys(measures)
    return next((measure for measure in (*_SHOWN_FIRST, *present) if measure in present), None)


def of_one_measure(manifest: Manifest, names: Sequence[str], items: Sequence[T]) -> list[T]:
    """Those of `items` (in the order of the lanes `names`) that have the measure to pool."""
    measures = [measure_of(manifest, name) for name in names]
    chosen = pooled_measure(measures)
    return [item for item, measure in zip(items, measures, strict=True) if measure == chosen]

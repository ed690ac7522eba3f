"""What a measurement takes from the frames of its probe."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.model.events import End, Note
from rtassay.session.measure import Measurement


@pytest.mark.parametrize(
    ("trace", "kept"),
    [("/sys/kernel/tracing/trace", "/sys/kernel/tracing/trace"), (5, None), ("no\npath", None), (None, None)],
)
def test_a_break_names_its_trace_only_by_a_path(trace: Any, kept: str | None) -> None:
    self: Any = SimpleNamespace(trace="before", end=None)
    Measurement._take(self, [Note("break", 0, {"trace": trace}), End({"reason": "break"})])
    assert (self.trace, self.end.reason) == (kept, "break")
    other: Any = SimpleNamespace(trace="before")
    Measurement._take(other, [Note("throttled", 0, {"trace": "/x"})])
    assert other.trace == "before"

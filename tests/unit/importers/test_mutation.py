"""A short run of `mutation.py`; longer ones by hand."""

from __future__ import annotations

import pytest

from rtassay.model import rooms

from .mutation import run

OURS = ("cyclictest", "cyclictest-verbose", "cyclictest-json", "csv-histogram", "jitterdebugger", "jitterdebugger-raw")


@pytest.mark.parametrize("name", OURS)
def test_mutated_files_are_refused_or_add_up(name: str) -> None:
    assert name in rooms.table("importers")
    seen = run(name, 20, seed=1, at_most=120)
    assert seen["refused"] and seen["events"]

"""Mutations of each file format; more of them by hand with `mutation.py`."""

from __future__ import annotations

import pytest

from rtassay.model import rooms

from .mutation import run

OURS = ("cyclictest", "cyclictest-verbose", "cyclictest-json", "csv-histogram", "jitterdebugger", "jitterdebugger-raw")


@pytest.mark.parametrize("count", [120, pytest.param(2000, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", OURS)
def test_mutated_files_are_refused_or_add_up(name: str, count: int) -> None:
    assert name in rooms.table("importers")
    seen = run(name, seed=1, at_most=count)
    assert seen["refused"] and seen["events"]

"""Two faults in one run: D* without one of them, as predicted, is what a run without it measures (bench/KNOWN_CAUSES.md)."""

from __future__ import annotations

from pathlib import Path

import pytest
import rtfault
import two_faults

from rtassay.boards.binaries import probe_path

pytestmark = pytest.mark.full


@pytest.mark.parametrize("kernel", ["stock", "rt"])
@pytest.mark.parametrize("together", [True, False], ids=["the-same-wake-ups", "each-its-own"])
def test_d_star_without_one_of_two_faults_comes_true(kernel: str, together: bool, tmp_path: Path) -> None:
    for name in two_faults.MODULES:
        (tmp_path / name).mkdir()
    modules = [rtfault.build(kernel, tmp_path / name, name) for name in two_faults.MODULES]
    for found in two_faults.predictions(kernel, modules, probe_path("x86_64"), tmp_path, together=together):
        assert found.off <= 0.05, found
        assert found.both_ns is not None and found.predicted_ns is not None
        assert found.predicted_ns < found.both_ns or not together, found

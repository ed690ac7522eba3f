"""Programs of others as the probe: their own numbers, on the same path as ours."""

from __future__ import annotations

import os
from collections.abc import Callable

from flow_support import Marked

from rtassay import store
from rtassay.session.control import RunResult

Measure = Callable[..., RunResult]
CPUS = sorted(os.sched_getaffinity(0))


def test_jitterdebugger_as_the_probe(measure: Measure, marked: Marked) -> None:
    recording = store.open_recording(measure(probe="jitterdebugger", duration_ns=None, count=300).path)
    manifest = recording.manifest
    assert manifest.sealed and manifest.bin_width_ns == 1000
    assert (manifest.source.tool, manifest.source.late_policy) == ("jitterdebugger", "catch_up")
    assert [(lane.entry.cpu, lane.entry.measure) for lane in recording.lanes] == [(cpu, "wake-up") for cpu in CPUS]
    for lane in recording.lanes:
        assert lane.entry.n == lane.histogram.total == 300 and lane.histogram.over == lane.entry.over


def test_oslat_as_the_probe(measure: Measure, marked: Marked) -> None:
    recording = store.open_recording(measure(probe="oslat", duration_ns=10**9).path)
    manifest = recording.manifest
    assert manifest.sealed and (manifest.source.tool, manifest.plan.interval_ns) == ("oslat", None)
    assert [(lane.entry.cpu, lane.entry.measure) for lane in recording.lanes] == [(cpu, "stall") for cpu in CPUS]
    assert all(lane.entry.n == lane.histogram.total > 0 for lane in recording.lanes)

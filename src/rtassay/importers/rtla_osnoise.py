"""Histograms of `rtla osnoise hist`: how long something else ran on a CPU that a busy thread wanted. Not wake-up latency."""

from __future__ import annotations

from rtassay.importers.rtla_timerlat import RtlaHistogram


class RtlaOsnoiseImporter(RtlaHistogram):
    """One lane per CPU, measure `noise`."""

    name = "rtla-osnoise"
    lines = True
    summary = "text of rtla osnoise hist (noise, not wake-up latency)"
    tool = "osnoise"
    late_policy = "unknown"
    caveats = (
        "noise is time taken from a busy thread, not wake-up latency: do not compare it with cyclictest",
        "only gaps above the threshold of the tracer (-T, a few us by default) are counted, so small noise is absent from the histogram",
        "the tracer samples for its runtime in each period, by default the whole of it: noise between two windows is not seen",
    )

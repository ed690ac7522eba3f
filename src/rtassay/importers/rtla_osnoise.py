"""Histograms of `rtla osnoise hist`: how long something else ran on a CPU that a busy thread wanted. Not wake-up latency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rtassay.importers.rtla_text import is_rtla, read_rtla
from rtassay.importers.rtla_timerlat import rtla_events
from rtassay.model.events import Event
from rtassay.model.manifest import Source

_CAVEATS = (
    "noise is time taken from a busy thread, not wake-up latency: do not compare it with cyclictest",
    "only gaps above the threshold of the tracer (-T, a few us by default) are counted, so small noise is absent from the histogram",
    "the tracer samples for its runtime in each period, by default the whole of it: noise between two windows is not seen",
)


class RtlaOsnoiseImporter:
    """One lane per CPU, measure `noise`."""

    name = "rtla-osnoise"
    summary = "text of rtla osnoise hist (noise, not wake-up latency)"
    damage_allowed = False

    def recognises(self, head: bytes) -> bool:
        return is_rtla(head, "osnoise")

    def source(self, path: Path) -> Source:
        """The version stands nowhere in the file."""
        read_rtla(path, "osnoise")
        return Source("rtla osnoise", None, self.name)

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with line and column."""
        yield from rtla_events(path, read_rtla(path, "osnoise"), self.name, list(_CAVEATS))

"""Histograms of `rtla timerlat hist`: the kernel's own timer latency, in its IRQ handler, its thread, and back in user space."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer
from rtassay.importers.columns import contradictions, events_of
from rtassay.importers.rtla_text import RtlaText, is_rtla, nothing_measured, read_rtla
from rtassay.model.events import Event
from rtassay.model.manifest import Source


class RtlaHistogram(Importer):
    """The shared part of both histograms of rtla; `tool`: timerlat or osnoise."""

    name: str
    tool: str
    late_policy: str
    caveats: tuple[str, ...]

    def recognises(self, head: bytes) -> bool:
        return is_rtla(head, self.tool)

    def source(self, path: Path) -> Source:
        """The file does not name the version."""
        read_rtla(path, self.tool)
        return Source(f"rtla {self.tool}", None, self.name, self.late_policy)

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with line and column."""
        yield from _events(path, read_rtla(path, self.tool), self.name, list(self.caveats))


class RtlaTimerlatImporter(RtlaHistogram):
    """Lanes `cpu0 irq`, `cpu0 thread`, `cpu0 user`. The summary of all CPUs (ALL:) is compared with the columns, not imported."""

    name = "rtla-timerlat"
    lines = True
    summary = "text of rtla timerlat hist"
    tool = "timerlat"
    late_policy = "skip"
    caveats = (
        "IRQ, thread and user latency are three readings of one activation: three lanes per CPU, never added up",
        "the tracer skips activations that are already in the past and does not count them (late policy skip); the period is not in the file",
        "rtla leaves /dev/cpu_dma_latency alone unless told otherwise, cyclictest holds it at 0: compare only with the same setting",
    )


def _events(path: Path, text: RtlaText, name: str, caveats: list[str]) -> Iterator[Event]:
    if not any(column.binned or column.over for column in text.columns):
        raise nothing_measured(path)
    if not text.summary:
        caveats.append("printed with --no-summary: minimum and maximum are those of the bins")
    if not text.width_told:
        caveats.append("the file does not show the size of a bucket; rtla's default of 1 unit is assumed")
    if text.remarks:
        caveats.append(f"rtla itself says: {'; '.join(text.remarks)}")
    if text.stopped:
        caveats.append("the run was stopped by its threshold: its end was chosen by the data")
    imported: dict[str, Any] = {"format": name, "caveats": caveats}
    if text.remarks:
        imported["missed_events"] = text.remarks
    inconsistent = text.inconsistent + contradictions(text.columns, text.width_ns)
    if inconsistent:
        imported["inconsistent"] = inconsistent
    reason = "break" if text.stopped else "duration" if text.summary else None
    yield from events_of(text.columns, text.width_ns, {}, imported, duration_ns=text.duration_ns, reason=reason)

"""The context that a check of a recording reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.analysis.lane.account import Account
from rtassay.model.findings import LaneFindings, lane_words
from rtassay.model.manifest import Manifest
from rtassay.model.measures import APPLICATION, is_work
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Context:
    """The recording, its lanes and the numbers computed from them, and the requirement (deadline None: there is none; `per_hour`: in events)."""

    recording: Recording
    accounts: tuple[Account, ...]
    lanes: tuple[LaneFindings, ...]
    deadline_ns: int | None
    p_target: float
    confidence: float
    per_hour: float | None = None

    @property
    def manifest(self) -> Manifest:
        """The recording's manifest."""
        return self.recording.manifest

    @property
    def window_ns(self) -> tuple[int, int] | None:
        """Begin and end of the measurement in ns on the probe's clock: the run's, else from first due time to last closing."""
        manifest = self.manifest
        if manifest.started_ns is not None and manifest.ended_ns is not None:
            return manifest.started_ns, manifest.ended_ns
        starts = [lane.entry.first_due_ns for lane in self.accounts if lane.entry.first_due_ns is not None]
        ends = [lane.entry.closed_ns for lane in self.accounts if lane.entry.closed_ns is not None]
        return (min(starts), max(ends)) if starts and ends else None

    @property
    def duration_s(self) -> float | None:
        """Length of the measurement in s; None if the source does not state it."""
        window = self.window_ns
        return (window[1] - window[0]) / NS_PER_S if window is not None and window[1] >= window[0] else None

    @property
    def measured_cpus(self) -> tuple[int, ...]:
        """CPUs with a lane, sorted."""
        return tuple(sorted({lane.entry.cpu for lane in self.accounts if lane.entry.cpu is not None}))

    @property
    def of_work(self) -> bool:
        """Whether the lanes are times of fixed works, which are no latencies."""
        return bool(self.accounts) and all(is_work(lane.entry.measure) for lane in self.accounts)

    @property
    def followed(self) -> bool:
        """Whether the lanes are threads of a user's program, which are where and what the program made them."""
        return bool(self.accounts) and all(lane.entry.measure == APPLICATION for lane in self.accounts)

    @property
    def own_run(self) -> bool:
        """Whether rtassay itself ran it, and so knows what load it started; False for an imported file."""
        return own_run(self.recording)


def own_run(recording: Recording) -> bool:
    """Whether rtassay itself ran it, and so knows what load it started; False for an imported file, which may name its kernel, too."""
    manifest = recording.manifest
    known = manifest.plan.argv or manifest.inventory or recording.telemetry
    imports = manifest.probe_facts.imports
    return bool(known) and (imports is None or bool(imports.live))


def named(lanes: Sequence[Account]) -> str:
    """`CPU0, CPU3` for a message; at most four names."""
    names = [lane_words(lane.entry.name, lane.entry.cpu) for lane in lanes]
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")

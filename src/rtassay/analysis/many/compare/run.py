"""One recording in a comparison: its lanes of one measure, pooled and by CPU, and the results of its own checks."""

from __future__ import annotations

from dataclasses import dataclass

from rtassay.analysis.judge.judging import judge
from rtassay.analysis.lane.account import Account, accounts
from rtassay.analysis.lane.measures import comparable_measures
from rtassay.analysis.lane.missed import raw_view
from rtassay.analysis.lane.quantiles import ladder
from rtassay.analysis.lane.quantiles import pooled as pooled_view
from rtassay.analysis.lane.summary import moments
from rtassay.analysis.many.compare import conditions
from rtassay.analysis.many.compare.rounding import rounded
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import RunRow
from rtassay.model.findings import Findings
from rtassay.model.recording import Recording


@dataclass(frozen=True, slots=True)
class Run:
    """`pooled`: all lanes of the measure; `by_lane`: (name shown, CPU or None) -> its sample."""

    recording: Recording
    findings: Findings
    lanes: tuple[Account, ...]
    pooled: Sample
    by_lane: dict[tuple[str, int | None], Sample]

    @property
    def id(self) -> str:
        return self.recording.manifest.id

    @property
    def boot(self) -> str | None:
        return conditions.boot_of(self.recording.manifest)

    @property
    def started(self) -> str | None:
        """The time of the measurement, not that of an import."""
        return self.recording.manifest.wall_start

    @property
    def tool(self) -> str:
        """The name of the measuring tool, without its version."""
        return self.recording.manifest.source.tool

    @property
    def zones(self) -> dict[str, float]:
        return conditions.mean_temperature(self.recording)

    @property
    def missed(self) -> int | None:
        """Missed activations of all lanes; None if the source does not count them."""
        counts = [lane.entry.missed for lane in self.lanes]
        return None if None in counts else sum(count or 0 for count in counts)

    @property
    def stalled(self) -> bool:
        """Whether a latency is known to reach the interval, so that the late policy shapes the histogram."""
        return any(
            lane.interval_ns is not None and (lane.max_ns is not None and lane.max_ns >= lane.interval_ns)
            for lane in self.lanes
        )

    @property
    def lane_count(self) -> int:
        return len(self.lanes)

    @property
    def invalid(self) -> tuple[str, ...]:
        """Integrity checks that make it no measurement."""
        return tuple(
            c.id for c in self.findings.checks if c.severity == "invalid" and c.kind == "integrity" and c.waived is None
        )

    @property
    def weak(self) -> tuple[str, ...]:
        """Checks that are invalid or warnings."""
        return tuple(c.id for c in self.findings.checks if c.severity in ("invalid", "warning"))

    def same_as(self, other: Run) -> bool:
        """Whether every lane has the same counts."""
        mine, theirs = list(self.by_lane.values()), list(other.by_lane.values())
        return len(mine) == len(theirs) and all(x.same_as(y) for x, y in zip(mine, theirs, strict=True))

    def row(self) -> RunRow:
        """For tables."""
        mean, sd = moments(list(self.lanes))
        maxima = [lane.max_ns for lane in self.lanes if lane.entry.n]
        known = [top for top in maxima if top is not None]
        zones = self.zones
        return RunRow(
            id=self.id,
            path=self.recording.path,
            n=self.pooled.n,
            missed=self.missed,
            over=self.pooled.over,
            mean_ns=mean,
            sd_ns=sd,
            max_ns=max(known) if known and len(known) == len(maxima) else None,
            quantiles=ladder(pooled_view([raw_view(lane) for lane in self.lanes])),
            started=self.started,
            duration_s=self.findings.duration_s,
            boot=self.boot,
            temperature_c=max(zones.values()) if zones else None,
            labels=dict(self.recording.manifest.labels),
            weak=self.weak,
            name=self.findings.called,
        )


def measures(recording: Recording) -> tuple[str, ...]:
    """The measures of a recording, in the order of its lanes; without the wake-ups of the senders of a response, which are not what it is about."""
    return comparable_measures([lane.entry.measure for lane in recording.lanes])


def prepare(recording: Recording, measure: str | None, width_ns: int | None = None) -> Run:
    """The recording's lanes of one measure (None: all), in bins of `width_ns` (None: its own)."""
    lanes = tuple(
        lane if width_ns is None else rounded(lane, width_ns)
        for lane in accounts(recording)
        if measure is None or lane.entry.measure == measure
    )
    step = recording.manifest.probe_facts.clock.step_ns
    step_ns = 1 if step is None else step
    cpus = [lane.entry.cpu for lane in lanes]
    by_lane = {}
    for lane in lanes:
        cpu = lane.entry.cpu if lane.entry.cpu is not None and cpus.count(lane.entry.cpu) == 1 else None
        name = f"CPU{cpu}" if cpu is not None else _name(lane)
        by_lane[name, cpu] = Sample([lane], step_ns)
    return Run(recording, judge(recording), lanes, Sample(lanes, step_ns), by_lane)


def _name(lane: Account) -> str:
    name = " ".join(lane.entry.name.split())
    return f"lane {name}" if name.isdigit() else name

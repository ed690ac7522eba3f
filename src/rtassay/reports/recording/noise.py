"""What was taken from busy lanes: a sentence, and the longest gaps as a table. Standard library only."""

from __future__ import annotations

from rtassay.model.findings import Findings, Gap, LaneFindings
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S
from rtassay.reports import wording
from rtassay.reports.recording import recording_text

COLUMNS = ("Lane", "Start s", "Length us")
_MOST = 10


def in_words(findings: Findings, recording: Recording) -> str | None:
    """The worst lane's share of time, the longest gap of all, and how many there were; None where no lane was busy on purpose."""
    busy = _busy(findings)
    shares = [(lane.noise.share, label) for label, lane in busy if lane.noise and lane.noise.share is not None]
    if not shares:
        return None
    share, label = max(shares)
    said = f"{wording.percent(share)} of the time of {label} was taken"
    if len(shares) > 1:
        said += " (the worst lane)"
    gaps = _gaps(findings)
    if gaps:
        where, gap = gaps[0]
        said += f"; longest gap {wording.spaced(gap.length_ns)} on {where}, {_after(gap, recording)} s after the start"
    told = [lane.noise for _, lane in busy if lane.noise and lane.noise.gaps is not None]
    if told:
        every, kept = sum(one.gaps or 0 for one in told), sum(one.kept or 0 for one in told)
        said += f"; {wording.count(every)} gaps" + (f", {wording.count(kept)} kept" if kept < every else "")
    return said


def rows(findings: Findings, recording: Recording) -> list[tuple[str, ...]]:
    """The longest gaps of all lanes, longest first."""
    return [(label, _after(gap, recording), wording.us(gap.length_ns, 1)) for label, gap in _gaps(findings)[:_MOST]]


def _busy(findings: Findings) -> list[tuple[str, LaneFindings]]:
    labels = recording_text.lane_labels(findings)
    return [(label, lane) for label, lane in zip(labels, findings.lanes, strict=True) if lane.noise is not None]


def _gaps(findings: Findings) -> list[tuple[str, Gap]]:
    every = [(label, gap) for label, lane in _busy(findings) if lane.noise for gap in lane.noise.longest]
    return sorted(every, key=lambda one: (-one[1].length_ns, one[1].start_ns))


def _after(gap: Gap, recording: Recording) -> str:
    start_ns = recording.manifest.started_ns
    return "-" if start_ns is None else f"{(gap.start_ns - start_ns) / NS_PER_S:.6f}"

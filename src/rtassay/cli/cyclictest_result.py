"""The answer to a pasted cyclictest line: the rows that cyclictest ends with, for people and scripts that read those."""

from __future__ import annotations

from pathlib import Path

from rtassay.cli.cyclictest_letters import Translated
from rtassay.cli.terminal import echo
from rtassay.model.findings import Findings, LaneFindings
from rtassay.model.manifest import LaneEntry
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_US

_NEVER_STARTED_MIN = 1_000_000  # what cyclictest itself prints for a thread without a sample


def tell(told: Translated, findings: Findings, recording: Recording, path: Path, *, histogram: bool) -> None:
    """One row a lane on stdout, in us (in ns with -N) as cyclictest has them; where its histogram is, on stderr."""
    from rtassay.store.reading import last_latencies

    unit_ns = 1 if told.nanoseconds else NS_PER_US
    last = last_latencies(path)
    for index, (lane, one) in enumerate(zip(findings.lanes, recording.lanes, strict=True)):
        echo(row(index, lane, one.entry, last.get(one.entry.index), unit_ns))
    if histogram:
        echo(f"histogram as cyclictest writes it: rtassay export {findings.id} --to cyclictest", err=True)


def row(index: int, lane: LaneFindings, entry: LaneEntry, last_ns: int | None, unit_ns: int) -> str:
    """`T: 0 (  123) P:90 I:200 C:  10000 Min:      1 Act:    2 Avg:    2 Max:       9`; `-` for what is not known."""

    def whole(ns: float | None, missing: int) -> str:
        return str(int(ns // unit_ns) if ns is not None else missing if not entry.n else "-")

    obtained = entry.obtained_start
    priority = 0 if obtained is None or obtained.priority is None else obtained.priority
    interval_us = "-" if entry.interval_ns is None else str(entry.interval_ns // NS_PER_US)
    return (
        f"T:{index:2} ({entry.tid or 0:5}) P:{priority:2} I:{interval_us} C:{entry.n:7} Min:{whole(lane.min_ns, _NEVER_STARTED_MIN):>7} "
        f"Act:{whole(last_ns, 0):>5} Avg:{whole(lane.mean_ns, 0):>5} Max:{whole(lane.max_ns, 0):>8}"
    )

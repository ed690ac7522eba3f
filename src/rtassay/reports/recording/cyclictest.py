"""The text that `cyclictest -h N -q` writes, for scripts made for it."""

from __future__ import annotations

from typing import Any

from rtassay.model.recording import Lane, Recording
from rtassay.model.units import NS_PER_US
from rtassay.reports.base import JudgedRecording

_NEVER_STARTED_MIN_US = 1_000_000  # what cyclictest itself prints for a thread without a sample
_LISTED_CYCLES = 50


class CyclictestRecording:
    """Rows of whole microseconds [k, k+1), one column a lane, then the trailer. Nanoseconds are floored, as cyclictest does.

    There are enough rows for the maximum, at most `max_rows`; what lies beyond is in `# Histogram Overflows` and, as in
    cyclictest, not in `# Total`. Cycle numbers of overflows are listed where they are known: the sample was kept and its lane
    missed and dropped nothing, so that its activation and its cycle are the same. An average the source cannot tell is `nan`.
    """

    name = "recording.cyclictest"
    suffix = ".hist"
    summary = "histogram text as cyclictest -h N -q writes it, 1 us rows"

    def __init__(self, max_rows: int = 1000) -> None:
        if max_rows < 1:
            raise ValueError(f"max_rows must be at least 1, not {max_rows}")
        self.max_rows = max_rows

    def render(self, subject: JudgedRecording) -> bytes:
        import numpy as np

        findings, recording = subject.findings, subject.recording
        rows = self._rows(recording)
        columns = [_column(lane, rows) for lane in recording.lanes]
        totals = [int(column.sum()) for column in columns]
        overflows = [lane.histogram.total - total for lane, total in zip(recording.lanes, totals, strict=True)]
        lines = []
        told = recording.manifest.probe_facts
        dma = told.dma_latency_us if "dma_latency_us" in told.told else recording.manifest.plan.dma_latency_us
        if dma is not None:
            lines.append(f"# /dev/cpu_dma_latency set to {dma}us")
        lines.append("# Histogram")
        table = np.stack(columns, axis=1).tolist() if columns else []
        lines += [f"{k:06d} " + "\t".join(f"{count:06d}" for count in row) for k, row in enumerate(table)]
        lanes = findings.lanes
        lines.append("# Total: " + " ".join(f"{total:09d}" for total in totals))
        lines.append("# Min Latencies: " + " ".join(_us(lane.min_ns, _NEVER_STARTED_MIN_US) for lane in lanes))
        means = [_mean_ns(found.mean_ns, lane) for found, lane in zip(lanes, recording.lanes, strict=True)]
        lines.append("# Avg Latencies: " + " ".join(_us(mean, None) for mean in means))
        lines.append("# Max Latencies: " + " ".join(_us(lane.max_ns, 0) for lane in lanes))
        lines.append("# Histogram Overflows: " + " ".join(f"{over:05d}" for over in overflows))
        lines.append("# Histogram Overflow at cycle number:")
        for index, (lane, over) in enumerate(zip(recording.lanes, overflows, strict=True)):
            lines.append(f"# Thread {index}:{_cycles(lane, over, rows)}")
        return ("\n".join(lines) + "\n\n").encode()

    def _rows(self, recording: Recording) -> int:
        needed = 1
        for lane in recording.lanes:
            histogram = lane.histogram
            if histogram.limit_ns is not None:
                needed = max(needed, histogram.limit_ns // NS_PER_US)
            elif len(histogram.lower_ns):
                needed = max(needed, int(histogram.lower_ns[-1]) // NS_PER_US + 1)
        return min(needed, self.max_rows)


def _column(lane: Lane, rows: int) -> Any:
    """Counts of rows 0..rows-1. A wake-up before its due time (a negative latency) is in row 0."""
    import numpy as np

    histogram = lane.histogram
    micros = np.maximum(histogram.lower_ns // NS_PER_US, 0)
    keep = micros < rows
    column = np.zeros(rows, dtype=np.int64)
    np.add.at(column, micros[keep], histogram.counts[keep])
    column[0] += histogram.under
    return column


def _mean_ns(mean_ns: float | None, lane: Lane) -> float | None:
    if mean_ns is not None:
        return mean_ns
    entry = lane.entry
    return entry.sum_ns / entry.n if entry.sum_ns is not None and entry.n else None


def _us(ns: float | None, missing: int | None) -> str:
    if ns is None:
        return "nan" if missing is None else f"{missing:05d}"
    return f"{int(ns // NS_PER_US):05d}"


def _cycles(lane: Lane, over: int, rows: int) -> str:
    known: list[int] = []
    spills = lane.spills
    if spills is not None and lane.entry.missed == 0 and lane.entry.dropped == 0:
        known = spills.k[spills.latency_ns >= rows * NS_PER_US][: min(over, _LISTED_CYCLES)].tolist()
    text = "".join(f" {k:05d}" for k in known)
    return text + (f" # {over - len(known):05d} others" if over > len(known) else "")

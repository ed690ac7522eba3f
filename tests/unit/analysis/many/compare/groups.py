"""Groups of recordings with a known effect: every run is a histogram whose quantiles are known, times a factor of the run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from rtassay.model.recording import Histogram, Lane, Recording, Series

from ...build import SECOND, block_lane, facts, inventory, recording

N = 2_000_000


def tail_counts(n: int = N, floor_ns: int = 5_000, slope_ns: float = 2_000.0) -> dict[int, int]:
    """A floor and an exponential tail: x_q = floor - slope ln(1 - q). Whole ns, `n` samples, bins where they fall."""
    edges = floor_ns + np.arange(0, 40_000, 20)
    share = -np.expm1(-(edges - floor_ns) / slope_ns)
    counts = np.diff(np.rint(share * n).astype(np.int64), append=n)
    return {int(edge): int(count) for edge, count in zip(edges, counts, strict=True) if count}


def scaled(counts: dict[int, int], factor: float) -> dict[int, int]:
    """Every latency times a factor."""
    found: dict[int, int] = {}
    for value, count in counts.items():
        at = round(value * factor)
        found[at] = found.get(at, 0) + count
    return found


def run(
    name: str,
    counts: dict[int, int] | list[dict[int, int]],
    *,
    boot: str | None = None,
    started: str | None = None,
    labels: dict[str, str] | None = None,
    celsius: float | None = None,
    board: dict[str, Any] | None = None,
    told: dict[str, Any] | None = None,
    **changes: Any,
) -> Recording:
    """A run of rtprobe with one lane a histogram; `board` changes its inventory, `told` its facts."""
    lanes = [block_lane(one, index=i) for i, one in enumerate(counts if isinstance(counts, list) else [counts])]
    telemetry = ()
    if celsius is not None:
        telemetry = (
            Series("temperature", "cpu", "degC", np.array([0, SECOND]), np.array([celsius - 0.5, celsius + 0.5])),
        )
    return recording(
        *lanes,
        id=name,
        inventory=inventory(boot_id=boot, **(board or {})),
        facts=facts(**(told or {})),
        wall_start=started,
        labels={"load": "the factory's own"} | (labels or {}),
        telemetry=telemetry,
        **changes,
    )


def group(
    prefix: str, factors: list[float], counts: dict[int, int] | None = None, hour: int = 8, every: int = 2, **more: Any
) -> list[Recording]:
    """A run per factor, each of its own boot, one every `every` hours."""
    base = counts or tail_counts()
    return [
        run(
            f"{prefix}{i}",
            scaled(base, factor),
            boot=f"boot-{prefix}{i}",
            started=f"2026-11-{1 + (hour + every * i) // 24:02d}T{(hour + every * i) % 24:02d}:00:00Z",
            **more,
        )
        for i, factor in enumerate(factors)
    ]


def scatter(seed: int, m: int, sd: float, centre: float = 1.0) -> list[float]:
    """Log-normal factors of runs."""
    random = np.random.Generator(np.random.PCG64(seed))
    return [float(f) for f in centre * np.exp(random.normal(0, sd, m))]


def labelled(recording: Recording, name: str, **labels: str) -> Recording:
    """The recording under another id, with labels."""
    return replace(recording, manifest=replace(recording.manifest, id=name, labels=labels))


def overflowing(recording: Recording, limit_ns: int) -> Recording:
    """The same with everything from `limit_ns` on in overflow."""
    lanes = []
    for lane in recording.lanes:
        keep = lane.histogram.lower_ns < limit_ns
        over = int(lane.histogram.counts[~keep].sum())
        rows = Histogram(
            lane.histogram.lower_ns[keep],
            lane.histogram.width_ns[keep],
            lane.histogram.counts[keep],
            over=over,
            limit_ns=limit_ns,
        )
        lanes.append(Lane(replace(lane.entry, over=over), rows))
    entries = tuple(lane.entry for lane in lanes)
    return replace(recording, manifest=replace(recording.manifest, lanes=entries), lanes=tuple(lanes))

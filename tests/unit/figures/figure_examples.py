"""Shots to draw: the two published Raspberry Pi histograms, and synthetic runs with order, overflow, missed activations and outliers."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rtassay.analysis.judge import judge
from rtassay.figures import naming
from rtassay.figures.data import Shot, envelope_of_seconds
from rtassay.model.manifest import LaneEntry, Manifest, Plan, Source
from rtassay.model.recording import Histogram, Lane, Recording, Seconds, Spills

DATA = Path(__file__).parents[2] / "data" / "histograms"
STEP_NS = 1_000_000
CYCLICTEST = Source("cyclictest", "2.5", "cyclictest", "skip")
OWN = Source("rtprobe", "0.1.0", "rtw/1", "counted")


def shots(
    recordings: list[Recording], *, by: str | None = None, panels: str | None = None, time: bool = False
) -> list[Shot]:
    """As `rtassay.api.shots` makes them, without a disk."""
    findings = [judge(recording) for recording in recordings]
    rows = zip(
        recordings,
        findings,
        naming.names(findings),
        naming.groups(findings, by),
        naming.panels(findings, panels),
        strict=True,
    )
    made = []
    for recording, found, name, group, panel in rows:
        envelopes = tuple(
            envelope
            for i, lane in enumerate(recording.lanes)
            if time and (envelope := envelope_of_seconds(i, lane, 0)) is not None
        )
        when = recording.manifest.wall_start
        made.append(
            Shot(
                recording, found, name, group, panel, tuple(range(len(recording.lanes))), envelopes,
                when or recording.manifest.created, when is not None,
            )
        )  # fmt: skip
    return made


@functools.cache
def published(kernel: str) -> Recording:
    """One of the two rpi3b files, parsed here by numpy: no totals, no order, whole microseconds."""
    rows = np.loadtxt(DATA / f"rpi3b-4.14.27-{kernel}.hist.csv", delimiter=",", skiprows=1, dtype=np.int64)
    lanes = []
    for index in range(4):
        held = rows[:, index + 1] > 0
        histogram = Histogram(rows[held, 0] * 1000, np.full(held.sum(), 1000), rows[held, index + 1], limit_ns=400_000)
        lanes.append(Lane(LaneEntry(index, f"core{index + 1}", None, None, int(histogram.counts.sum())), histogram))
    source = Source("cyclictest", None, "csv-histogram")
    return Recording(
        manifest(
            f"20180513T00000{len(kernel)}-00000{len(kernel)}",
            source,
            tuple(lanes),
            {"kernel": kernel},
            bin_width_ns=1000,
        ),
        tuple(lanes),
    )


def manifest(ident: str, source: Source, lanes: tuple[Lane, ...], labels: dict[str, str], **fields: Any) -> Manifest:
    return Manifest(
        ident, "2026-11-21T10:00:00Z", source, plan=Plan(interval_ns=STEP_NS), lanes=tuple(lane.entry for lane in lanes),
        sealed=True, labels=labels, **fields,
    )  # fmt: skip


@functools.cache
def own(seed: int = 1, lanes: int = 2, seconds: int = 5, **labels: str) -> Recording:
    """A run of rtprobe as it lies on disk: exact nanoseconds, rollups, one stall of 4.25 ms per lane kept with its missed activations."""
    made = tuple(_own_lane(i, np.random.default_rng([seed, i]), seconds) for i in range(lanes))
    ident = f"20261121T10{seed:02d}00-{seed:06x}"
    facts = {"origin_ns": 0, "clock": {"step_ns": 1}}
    whole = manifest(
        ident, OWN, made, labels, board="rpi5", facts=facts, wall_start=f"2026-11-{1 + seed % 28:02d}T10:00:00Z"
    )
    return Recording(whole, made)


def _own_lane(index: int, random: np.random.Generator, length: int) -> Lane:
    latency = (8_000 + random.gamma(2.0, 1_500.0, length * 1000)).astype(np.int64)
    stall = length * 600 + index
    latency[stall] = 4_250_000
    latency = np.delete(latency, slice(stall + 1, stall + 5))
    k = np.concatenate((np.arange(stall + 1), np.arange(stall + 5, length * 1000)))
    values, counts = np.unique(latency, return_counts=True)
    second = k // 1000
    begins = np.flatnonzero(np.diff(second, prepend=-1))
    missed = np.bincount(second, np.where(k == stall, 4, 0), length).astype(np.int64)
    zeros = np.zeros(length, np.int64)
    seconds = Seconds(
        np.arange(length), np.bincount(second), missed, zeros, zeros, np.minimum.reduceat(latency, begins),
        np.maximum.reduceat(latency, begins), np.add.reduceat(latency, begins), zeros,
    )  # fmt: skip
    entry = LaneEntry(
        index, str(index), index, STEP_NS, len(latency), due=length * 1000, missed=4, dropped=0, truncated=0, over=0, under=0,
        min_ns=int(latency.min()), max_ns=4_250_000, sum_ns=int(latency.sum()), first_due_ns=0, last_due_ns=(length * 1000 - 1) * STEP_NS,
    )  # fmt: skip
    return Lane(
        entry,
        Histogram(values, np.ones(len(values), np.int64), counts),
        seconds,
        Spills(*np.array([[stall], [4_250_000], [4]])),
    )


def overflowing() -> Recording:
    """cyclictest -h 40 with its trailer: 7 samples beyond 40 us, the largest 544 us."""
    lower = np.arange(10, 40, dtype=np.int64) * 1000
    counts = np.geomspace(5000, 2, 30).astype(np.int64)
    n = int(counts.sum()) + 7
    entry = LaneEntry(0, "0", 0, STEP_NS, n, over=7, under=0, min_ns=10_000, max_ns=544_000)
    lane = Lane(entry, Histogram(lower, np.full(30, 1000), counts, over=7, limit_ns=40_000))
    return Recording(
        manifest("20261121T120000-0000aa", CYCLICTEST, (lane,), {"kernel": "6.1"}, bin_width_ns=1000), (lane,)
    )


def relabelled(recording: Recording, ident: str, **labels: str) -> Recording:
    """The same data under another id and labels."""
    return replace(recording, manifest=replace(recording.manifest, id=ident, labels=labels))

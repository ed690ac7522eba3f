"""Opens unsealed recordings, from their stream as far as it goes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from rtassay.model.errors import CorruptRecording
from rtassay.model.events import Gaps, Parser, Samples, Second, Spill
from rtassay.model.manifest import Manifest
from rtassay.model.recording import Histogram, Lane, Recording, Seconds
from rtassay.store.account import summarise
from rtassay.store.collect import Collector, EventTuple
from rtassay.store.parts import separable, split
from rtassay.store.sealed import SECOND_COLUMNS, by_lane, event_row, gaps_by_lane
from rtassay.store.stitch import Block, Stitcher
from rtassay.store.streams import ParserFor, events_of, parser_of, stream_of

_EMPTY = np.zeros(0, np.int64)


def iter_unsealed(path: Path, manifest: Manifest, lane: int, parser_for: ParserFor | None) -> Iterator[Block]:
    """The samples of one lane, as `store.iter_samples` has them."""
    stream, parser = _unsealed_parser(path, manifest, parser_for)
    stitcher = Stitcher()
    for event in events_of(stream, parser):
        if isinstance(event, Samples) and event.lane == lane:
            yield from _some(stitcher.push(event))
    yield from _some(stitcher.finish())


def _some(block: Block | None) -> Iterator[Block]:
    if block is not None:
        yield block


def _unsealed_parser(path: Path, manifest: Manifest, parser_for: ParserFor | None) -> tuple[Path, Parser]:
    stream = stream_of(path)
    if stream is None:
        raise CorruptRecording(f"{path} holds no stream", "it was never sealed and its stream is missing")
    return stream, parser_of(stream, manifest, parser_for)


def open_unsealed(path: Path, manifest: Manifest, parser_for: ParserFor | None) -> Recording:
    """The recording as far as its stream goes. Raises CorruptRecording if it has none."""
    stream, parser = _unsealed_parser(path, manifest, parser_for)
    seconds: dict[int, list[Second]] = {}
    rows: list[EventTuple] = []
    frames: list[Spill] = []
    gap_frames: list[Gaps] = []
    collected = Collector(
        lambda second: seconds.setdefault(second.lane, []).append(second),
        rows.append,
        on_spill=frames.append,
        on_gaps=gap_frames.append,
    )
    for event in events_of(stream, parser):
        collected.add(event)
    collected.finish()
    manifest = summarise(manifest, collected, parser.damage)
    names = ("kind", "lane", "mono_ns", "k", "latency_ns", "missed", "text")
    events = [event_row(dict(zip(names, row, strict=True))) for row in rows]
    spills = by_lane([(np.full(len(f.k), f.lane), f.k, f.latency_ns, f.missed) for f in frames])
    gaps = gaps_by_lane([(np.full(len(f.start_ns), f.lane), f.start_ns, f.length_ns) for f in gap_frames])
    apart = separable(manifest)
    lanes = []
    for entry in manifest.lanes:
        tally = collected.lanes.get(entry.index)
        counted = None if tally is None else tally.from_untraced if apart else tally.counts()
        lower, width, counts = counted.table(manifest.bin_width_ns) if counted else (_EMPTY, _EMPTY, _EMPTY)
        limit_ns = tally.limit_ns if tally else None
        histogram = Histogram(lower, width, counts, entry.over or 0, entry.under or 0, limit_ns)
        rollups = _columns(seconds.get(entry.index))
        lanes.append(Lane(entry, histogram, rollups, spills.get(entry.index), gaps.get(entry.index)))
    whole = Recording(replace(manifest, sealed=False), tuple(lanes), tuple(events), path=str(path))
    traced = {i: Histogram(*t.from_traced.table(manifest.bin_width_ns)) for i, t in collected.lanes.items()}
    return split(whole, {i: bins for i, bins in traced.items() if bins.total})


def _columns(rows: list[Second] | None) -> Seconds | None:
    if not rows:
        return None
    return Seconds(*(np.array([getattr(row, name) or 0 for row in rows], np.int64) for name in SECOND_COLUMNS))

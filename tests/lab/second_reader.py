"""A second reader of wire/STREAM.md, so that what the lab asserts does not lean on the parser of rtassay."""

from __future__ import annotations

import json
import struct
import zlib
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEAD = struct.Struct("<4sBBHIIII")
FACTS, SAMPLES, HISTOGRAM, EVENT, END = 1, 2, 5, 6, 9
MISSED, DROPPED, WIDE = 1, 2, 3


@dataclass
class Grid:
    """One lane as its SAMPLES blocks tell it: `samples` maps activation k to its latency."""

    samples: dict[int, int] = field(default_factory=dict)
    missed: int = 0
    dropped: int = 0
    next_k: int = 0


@dataclass
class Stream:
    """The good frames from the start of a file up to its end or to where it was cut."""

    facts: dict[str, Any] | None = None
    end: dict[str, Any] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    lanes: dict[int, Grid] = field(default_factory=lambda: defaultdict(Grid))
    histogram_counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def read_stream(path: Path) -> Stream:
    """Raises AssertionError where a frame is damaged or the blocks of a lane do not follow each other without a gap."""
    data, at, seq, stream = path.read_bytes(), 0, 0, Stream()
    while at + HEAD.size <= len(data):
        magic, version, kind, lane, number, length, head_crc, body_crc = HEAD.unpack_from(data, at)
        body = data[at + HEAD.size : at + HEAD.size + length]
        if len(body) < length:
            break
        assert (magic, version, number) == (b"\xf7RTW", 1, seq), f"frame {seq} at byte {at}"
        assert head_crc == zlib.crc32(data[at : at + 16]) and body_crc == zlib.crc32(body), f"checksum of frame {seq}"
        _take(stream, kind, lane, body)
        at, seq = at + HEAD.size + length, seq + 1
    return stream


def _take(stream: Stream, kind: int, lane: int, body: bytes) -> None:
    if kind == FACTS:
        stream.facts = json.loads(body)
    elif kind == END:
        stream.end = json.loads(body)
    elif kind == EVENT:
        stream.events.append(json.loads(body))
    elif kind == SAMPLES:
        _take_samples(stream.lanes[lane], body)
    elif kind == HISTOGRAM:
        (rows,) = struct.unpack_from("<I", body)
        stream.histogram_counts[lane] += sum(
            struct.unpack_from("<Q", body, 8 + 24 * row + 16)[0] for row in range(rows)
        )


def _take_samples(grid: Grid, body: bytes) -> None:
    first_k, count, n_marks = struct.unpack_from("<QII", body)
    latencies = list(struct.unpack_from(f"<{count}I", body, 16))
    gaps: dict[int, int] = defaultdict(int)
    for mark in range(n_marks):
        pos, kind, value = struct.unpack_from("<IB3xq", body, 16 + 4 * count + 16 * mark)
        if kind == WIDE:
            latencies[pos] = value
            continue
        gaps[pos] += value
        grid.missed += value if kind == MISSED else 0
        grid.dropped += value if kind == DROPPED else 0
    k = grid.next_k + gaps[0xFFFFFFFF]
    assert k == first_k, f"a block starts at activation {first_k}, the one before it ends at {grid.next_k}"
    for position, latency in enumerate(latencies):
        grid.samples[k] = latency
        k += 1 + gaps[position]
    grid.next_k = k

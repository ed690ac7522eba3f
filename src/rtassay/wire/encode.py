"""Model events to frames: what rtprobe does in C, written once more for tests, golden files and fault injection.

rtassay itself never writes a stream. Counts and checksums can be overridden to make wrong frames on purpose.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

from rtassay.model.events import (
    End,
    Event,
    Facts,
    FileContent,
    Gaps,
    HistogramPart,
    Note,
    Output,
    Samples,
    Second,
    Spill,
    TracePage,
    TraceText,
)
from rtassay.wire import payload as p
from rtassay.wire.stream import HEAD, MAGIC, VERSION

_U32_MAX = 0xFFFFFFFF


def frame(kind: int, seq: int, body: bytes, *, lane: int = p.NO_LANE, version: int = VERSION) -> bytes:
    """One frame with good checksums around any body."""
    start = struct.pack("<4sBBHII", MAGIC, version, kind, lane, seq & _U32_MAX, len(body))
    return start + struct.pack("<II", zlib.crc32(start), zlib.crc32(body)) + body


def samples_body(
    first_k: int,
    latency_ns: Sequence[int],
    missed: Sequence[int] | None = None,
    dropped: Sequence[int] | None = None,
    gap_missed: int = 0,
    gap_dropped: int = 0,
) -> bytes:
    """SAMPLES: a mark for every missed or dropped count that is not zero, WIDE where 32 bits do not do."""
    values, marks = [], []
    for kind, value in ((p.MISSED, gap_missed), (p.DROPPED, gap_dropped)):
        if value:
            marks.append((p.BEFORE_FIRST, kind, value))
    for pos, latency in enumerate(latency_ns):
        wide = not 0 <= latency < _U32_MAX
        values.append(_U32_MAX if wide else int(latency))
        if missed is not None and missed[pos]:
            marks.append((pos, p.MISSED, int(missed[pos])))
        if dropped is not None and dropped[pos]:
            marks.append((pos, p.DROPPED, int(dropped[pos])))
        if wide:
            marks.append((pos, p.WIDE, int(latency)))
    body = struct.pack(f"<QII{len(values)}I", first_k, len(values), len(marks), *values)
    return body + b"".join(struct.pack("<IB3xq", *mark) for mark in marks)


def _second_body(s: Second) -> bytes:
    return struct.pack(
        "<5Q3qQ6q",
        *(s.second, s.n, s.missed, s.dropped, s.exceedances, s.min_ns, s.max_ns, s.sum_ns, s.total_n, s.max_so_far_ns),
        *((s.p50_ns or 0), (s.p99_ns or 0), (s.p99_9_ns or 0), (s.p99_99_ns or 0), (s.wall_offset_ns or 0)),
    )


def _histogram_body(part: HistogramPart) -> bytes:
    rows = zip(part.lower_ns, part.width_ns, part.counts, strict=True)
    body = struct.pack("<II", len(part.lower_ns), part.traced)
    return body + b"".join(struct.pack("<qIIQ", int(a), int(w), 0, int(n)) for a, w, n in rows)


def _spill_body(spill: Spill) -> bytes:
    rows = zip(spill.k, spill.latency_ns, spill.missed, strict=True)
    body = struct.pack("<QII", spill.suppressed, len(spill.k), 0)
    return body + b"".join(struct.pack("<QqQ", int(k), int(latency), int(m)) for k, latency, m in rows)


def _gaps_body(gaps: Gaps) -> bytes:
    rows = zip(gaps.start_ns, gaps.length_ns, strict=True)
    body = struct.pack("<QII", gaps.left_out, len(gaps.start_ns), 0)
    return body + b"".join(struct.pack("<qq", int(start), int(length)) for start, length in rows)


def _file_body(file: FileContent, paths: Sequence[str]) -> bytes:
    flags = (1 if file.content is None else 0) | (2 if file.truncated else 0)
    head = struct.pack("<QIiB7x", file.mono_ns, paths.index(file.path), file.error, flags)
    return head + (file.content or b"")


def _json(data: dict[str, Any]) -> bytes:
    return json.dumps(data, separators=(",", ":")).encode()


class StreamEncoder:
    """Encodes events one after the other with running sequence numbers."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        self._paths: list[str] = []

    def encode(self, event: Event) -> bytes:
        """The frame of one event."""
        kind, lane, body = self._parts(event)
        data = frame(kind, self.seq, body, lane=lane)
        self.seq += 1
        return data

    def encode_all(self, events: Iterable[Event]) -> bytes:
        return b"".join(self.encode(event) for event in events)

    def _parts(self, event: Event) -> tuple[int, int, bytes]:
        match event:
            case Facts(data):
                self._paths = list(data.get("paths", []))
                return p.FACTS, p.NO_LANE, _json(data)
            case Samples(lane, first_k, latency, missed, dropped, gap_missed, gap_dropped):
                return p.SAMPLES, lane, samples_body(first_k, latency, missed, dropped, gap_missed, gap_dropped)
            case Second():
                return p.SECOND, event.lane, _second_body(event)
            case Spill():
                return p.SPILL, event.lane, _spill_body(event)
            case Gaps():
                return p.GAPS, event.lane, _gaps_body(event)
            case HistogramPart():
                return p.HISTOGRAM, event.lane, _histogram_body(event)
            case Note(name, note_lane, data):
                return p.EVENT, p.NO_LANE if note_lane is None else note_lane, _json({"event": name, **data})
            case FileContent():
                return p.FILE, p.NO_LANE, _file_body(event, self._paths)
            case Output(mono_ns, fd, data):
                return p.OUTPUT, p.NO_LANE, struct.pack("<QII", mono_ns, fd, 0) + data
            case TraceText(text_name, content):
                encoded = text_name.encode("ascii")
                return p.TRACE_TEXT, p.NO_LANE, struct.pack("<I", len(encoded)) + encoded + content
            case TracePage(cpu, page):
                return p.TRACE_PAGE, p.NO_LANE, struct.pack("<II", cpu, 0) + page
            case End(data):
                return p.END, p.NO_LANE, _json(data)


__all__ = ["HEAD", "StreamEncoder", "frame", "samples_body"]

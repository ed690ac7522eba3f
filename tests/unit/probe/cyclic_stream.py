"""A second, naive reader of wire/STREAM.md, so that the probe is not judged by the code that was written with it."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

NAMES = {
    1: "facts",
    2: "samples",
    3: "second",
    4: "spill",
    5: "histogram",
    6: "event",
    7: "file",
    8: "output",
    9: "end",
    10: "trace_text",
    11: "trace_page",
    12: "gaps",
}


@dataclass
class Stream:
    facts: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    events: list[dict[str, Any]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    grid: dict[int, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))  # lane -> k -> latency_ns
    marks: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    histogram: dict[int, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    parts: Counter[tuple[int, int]] = field(default_factory=Counter)  # samples by lane and part of a traced run
    seconds: dict[int, list[tuple[int, ...]]] = field(default_factory=lambda: defaultdict(list))
    spill: dict[int, list[tuple[int, int, int]]] = field(default_factory=lambda: defaultdict(list))
    suppressed: Counter[int] = field(default_factory=Counter)
    gaps: dict[int, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))  # (start_ns, length_ns)
    left_out: Counter[int] = field(default_factory=Counter)
    rest: bytes = b""
    _next_k: dict[int, int] = field(default_factory=lambda: defaultdict(int))


def frames(data: bytes) -> tuple[list[tuple[int, int, int, bytes]], bytes]:
    """(type, lane, seq, payload) of every whole frame, and the bytes after the last one. Damage is an AssertionError."""
    out, at = [], 0
    while at + 24 <= len(data):
        magic, version, kind, lane, seq, length, head_crc, body_crc = struct.unpack_from("<4sBBHIIII", data, at)
        assert magic == b"\xf7RTW" and version == 1, (at, magic, version)
        assert zlib.crc32(data[at : at + 16]) == head_crc, at
        assert length <= 1 << 20
        if at + 24 + length > len(data):
            break
        payload = data[at + 24 : at + 24 + length]
        assert zlib.crc32(payload) == body_crc, at
        out.append((kind, lane, seq, payload))
        at += 24 + length
    return out, data[at:]


def _samples(stream: Stream, lane: int, payload: bytes) -> None:
    first_k, count, n_marks = struct.unpack_from("<QII", payload)
    assert len(payload) == 16 + 4 * count + 16 * n_marks
    latency = list(struct.unpack_from(f"<{count}I", payload, 16))
    after: Counter[int] = Counter()
    before, last_pos = 0, -1
    for i in range(n_marks):
        pos, kind, zero, value = struct.unpack_from("<IB3sq", payload, 16 + 4 * count + 16 * i)
        assert zero == b"\0\0\0"
        order = -1 if pos == 0xFFFFFFFF else pos
        assert order >= last_pos and order < count
        last_pos = order
        if kind == 3:
            assert latency[pos] == 0xFFFFFFFF
            latency[pos] = value
            continue
        assert kind in (1, 2) and value > 0
        stream.marks[lane]["missed" if kind == 1 else "dropped"] += value
        if order < 0:
            before += value
        else:
            after[pos] += value
    k = stream._next_k[lane] + before
    assert first_k == k, (lane, first_k, k)
    for i, value in enumerate(latency):
        stream.grid[lane][k] = value
        k += 1 + after[i]
    stream._next_k[lane] = k


def read(data: bytes) -> Stream:
    """The whole stream, every rule of the format asserted on the way."""
    stream = Stream()
    found, stream.rest = frames(data)
    for number, (kind, lane, seq, payload) in enumerate(found):
        assert seq == number
        stream.order.append(NAMES[kind])
        if kind == 1:
            stream.facts = json.loads(payload)
        elif kind == 2:
            _samples(stream, lane, payload)
        elif kind == 3:
            stream.seconds[lane].append(struct.unpack("<4QQ3qQ6q", payload))
        elif kind == 4:
            suppressed, count, zero = struct.unpack_from("<QII", payload)
            assert zero == 0 and len(payload) == 16 + 24 * count
            stream.suppressed[lane] += suppressed
            stream.spill[lane] += [struct.unpack_from("<QqQ", payload, 16 + 24 * i) for i in range(count)]
        elif kind == 5:
            n, part = struct.unpack_from("<II", payload)
            assert part in (0, 1) and len(payload) == 8 + 24 * n
            last = -(2**63)
            for i in range(n):
                lower, width, zero, times = struct.unpack_from("<qIIQ", payload, 8 + 24 * i)
                assert lower >= last and width >= 1 and zero == 0 and times > 0
                last = lower
                stream.histogram[lane][lower] += times
                stream.parts[lane, part] += times
        elif kind == 6:
            stream.events.append(json.loads(payload))
        elif kind == 12:
            left_out, count, zero = struct.unpack_from("<QII", payload)
            assert zero == 0 and len(payload) == 16 + 16 * count
            stream.left_out[lane] += left_out
            rows = [struct.unpack_from("<qq", payload, 16 + 16 * i) for i in range(count)]
            assert rows == sorted(rows) and all(length > 0 for _, length in rows)
            stream.gaps[lane] += rows
        elif kind == 9:
            stream.end = json.loads(payload)
    return stream


def account(stream: Stream, *, all_samples: bool = True) -> None:
    """Every sum of STREAM.md that must hold, lane by lane."""
    assert stream.end is not None
    assert stream.order[0] == "facts" and stream.order[-1] == "end" and not stream.rest
    facts = stream.facts
    for lane in stream.end["lanes"]:
        i = lane["lane"]
        n, missed = lane["n"], lane["missed"]
        assert lane["due"] == n + missed + lane["dropped"] + lane["truncated"], lane
        first, interval = lane["first_due_ns"], facts["interval_ns"]
        by_clock = (lane["closed_ns"] - first) // interval + 1 if lane["closed_ns"] >= first else 0
        assert lane["due"] == by_clock, (lane, by_clock)
        assert sum(stream.histogram[i].values()) == n
        untraced = lane.get("untraced")
        assert (untraced is None) == (stream.end.get("trace") is None)
        if untraced is not None:
            kept = untraced["n"] + untraced["missed"] + untraced["dropped"] + untraced["truncated"]
            assert untraced["due"] == kept and untraced["n"] == stream.parts[i, 0], lane
        seconds = stream.seconds[i]
        assert sum(s[1] for s in seconds) == n
        assert sum(s[2] for s in seconds) == missed
        assert sum(s[3] for s in seconds) == lane["dropped"]
        assert sum(s[4] for s in seconds) <= lane["exceedances"]
        assert [s[0] for s in seconds] == sorted({s[0] for s in seconds})
        assert len(stream.spill[i]) == lane["spilled"] and stream.suppressed[i] == lane["suppressed"]
        if "gaps" in lane:
            assert lane["gaps_kept"] == len(stream.gaps[i]) <= lane["gaps"]
            assert lane["gaps"] - lane["gaps_kept"] >= stream.left_out[i]
        if all_samples:
            grid = stream.grid[i]
            assert len(grid) == n
            assert stream.marks[i]["missed"] == missed and stream.marks[i]["dropped"] == lane["dropped"]
            if not lane["dropped"] and n:
                values = list(grid.values())
                assert (min(values), max(values), sum(values)) == (lane["min_ns"], lane["max_ns"], lane["sum_ns"])
                assert sum(s[7] for s in seconds) == lane["sum_ns"]
            if not lane["coarsened"]:
                assert Counter(grid.values()) == stream.histogram[i]

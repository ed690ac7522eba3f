"""Payloads of frames to model events. Every function raises Malformed for what cannot be what its frame says."""

from __future__ import annotations

import json
import struct
from typing import Any, Final

from rtassay.model.events import (
    End,
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

FACTS: Final = 1
SAMPLES: Final = 2
SECOND: Final = 3
SPILL: Final = 4
HISTOGRAM: Final = 5
EVENT: Final = 6
FILE: Final = 7
OUTPUT: Final = 8
END: Final = 9
TRACE_TEXT: Final = 10
TRACE_PAGE: Final = 11
GAPS: Final = 12

# Type number -> name of the event class it becomes.
EVENT_NAMES: Final = {
    FACTS: "Facts",
    SAMPLES: "Samples",
    SECOND: "Second",
    SPILL: "Spill",
    HISTOGRAM: "HistogramPart",
    EVENT: "Note",
    FILE: "FileContent",
    OUTPUT: "Output",
    END: "End",
    TRACE_TEXT: "TraceText",
    TRACE_PAGE: "TracePage",
    GAPS: "Gaps",
}

NO_LANE: Final = 0xFFFF
# A recording's lanes are int16; boards have some thousand CPUs at most.
_LANES: Final = 1 << 15
BEFORE_FIRST: Final = 0xFFFFFFFF
MISSED: Final = 1
DROPPED: Final = 2
WIDE: Final = 3
WIDE_PLACEHOLDER: Final = 0xFFFFFFFF

_INT64_MAX = 2**63 - 1
_SAMPLES_HEAD = struct.Struct("<QII")
_MARK: Final = (("pos", "<u4"), ("kind", "<u4"), ("value", "<i8"))
_SECOND = struct.Struct("<5Q3qQ6q")
_SPILL_HEAD = struct.Struct("<QII")
_HISTOGRAM_HEAD = struct.Struct("<II")
_FILE_HEAD = struct.Struct("<QIiB7s")
_OUTPUT_HEAD = struct.Struct("<QII")
_TRACE_TEXT_HEAD = struct.Struct("<I")
_TRACE_PAGE_HEAD = struct.Struct("<II")
_NAME_BYTES = 200
_CPUS = 1 << 16
_PAGE_HEAD = 12  # a timestamp and 4 bytes of the commit counter at least
_SAME_CONTENT = 1
_CUT_CONTENT = 2


class Malformed(ValueError):
    """A payload with a good checksum that is not what STREAM.md says."""


def _require(condition: bool, why: str) -> None:
    if not condition:
        raise Malformed(why)


def _bounded_int(text: str) -> int:
    # Larger ones could neither be stored as Parquet nor written back as JSON.
    value = int(text) if len(text) < 24 else 2**64
    _require(-(2**63) <= value < 2**64, f"the integer {text[:24]} does not fit 64 bits")
    return value


def _no_constant(text: str) -> Any:
    raise Malformed(f"{text} is no JSON number")


def decode_json(payload: bytes) -> dict[str, Any]:
    """A JSON object. Bytes that are not UTF-8 (a strange name in argv) become U+FFFD rather than losing the frame."""
    text = payload.decode("utf-8", "replace")
    try:
        value = json.loads(text, parse_int=_bounded_int, parse_constant=_no_constant)
        if "\\u" in text:  # a lone surrogate could not be written to the manifest
            value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from None
    _require(isinstance(value, dict), "not a JSON object")
    return dict(value)


def decode_facts(payload: bytes) -> Facts:
    return Facts(decode_json(payload))


def decode_end(payload: bytes) -> End:
    return End(decode_json(payload))


def decode_note(lane: int, payload: bytes) -> Note:
    """`data` is the whole object as it came, `event` included."""
    data = decode_json(payload)
    name = data.get("event")
    if not isinstance(name, str):
        raise Malformed("an EVENT without a name")
    _require(lane < _LANES or lane == NO_LANE, "a lane out of range")
    return Note(name, None if lane == NO_LANE else lane, data)


def decode_samples(lane: int, payload: bytes) -> Samples:
    import numpy as np

    _require(lane < _LANES and len(payload) >= _SAMPLES_HEAD.size, "SAMPLES without head or lane")
    first_k, count, n_marks = _SAMPLES_HEAD.unpack_from(payload)
    _require(len(payload) == 16 + 4 * count + 16 * n_marks, "SAMPLES of another length than its counts say")
    _require(first_k + count <= _INT64_MAX, "first_k out of range")
    raw = np.frombuffer(payload, "<u4", count, 16)
    latency_ns = raw.astype(np.int64)
    missed = np.zeros(count, np.int64)
    dropped = np.zeros(count, np.int64)
    wide = 0
    gaps = {MISSED: 0, DROPPED: 0}
    if n_marks:
        marks = np.frombuffer(payload, np.dtype(list(_MARK)), n_marks, 16 + 4 * count)
        last = -1
        for pos, kind, value in marks.tolist():
            pos = -1 if pos == BEFORE_FIRST else pos
            _require(last <= pos < count, "marks out of order or out of range")
            last = pos
            if kind == WIDE:
                _require(pos >= 0 and raw[pos] == WIDE_PLACEHOLDER, "WIDE without its placeholder")
                latency_ns[pos] = value
                wide += 1
                continue
            _require(kind in gaps, f"mark of unknown kind {kind}")
            _require(0 <= value < 2**62, "a count out of range")
            if pos < 0:
                gaps[kind] += value
            else:
                (missed if kind == MISSED else dropped)[pos] += value
    _require(int(np.count_nonzero(raw == WIDE_PLACEHOLDER)) == wide, "a placeholder without its WIDE mark")
    return Samples(lane, first_k, latency_ns, missed, dropped, gaps[MISSED], gaps[DROPPED])


def decode_second(lane: int, payload: bytes) -> Second:
    _require(lane < _LANES and len(payload) == _SECOND.size, "SECOND of a wrong length or without lane")
    row = _SECOND.unpack(payload)
    _require(max(row) <= _INT64_MAX, "a count out of range")
    return Second(lane, *row)


def decode_spill(lane: int, payload: bytes) -> Spill:
    import numpy as np

    _require(lane < _LANES and len(payload) >= _SPILL_HEAD.size, "SPILL without head or lane")
    suppressed, count, _ = _SPILL_HEAD.unpack_from(payload)
    _require(len(payload) == 16 + 24 * count, "SPILL of another length than its count says")
    _require(suppressed <= _INT64_MAX, "a count out of range")
    rows = np.frombuffer(payload, np.dtype([("k", "<i8"), ("latency_ns", "<i8"), ("missed", "<i8")]), count, 16)
    _require(not count or int(min(rows["k"].min(), rows["missed"].min())) >= 0, "a count out of range")
    return Spill(lane, suppressed, *(np.ascontiguousarray(rows[name]) for name in ("k", "latency_ns", "missed")))


def decode_gaps(lane: int, payload: bytes) -> Gaps:
    import numpy as np

    _require(lane < _LANES and len(payload) >= _SPILL_HEAD.size, "GAPS without head or lane")
    left_out, count, _ = _SPILL_HEAD.unpack_from(payload)
    _require(len(payload) == 16 + 16 * count, "GAPS of another length than its count says")
    _require(left_out <= _INT64_MAX, "a count out of range")
    rows = np.frombuffer(payload, np.dtype([("start_ns", "<i8"), ("length_ns", "<i8")]), count, 16)
    _require(not count or int(rows["length_ns"].min()) > 0, "a gap without a length")
    return Gaps(lane, left_out, *(np.ascontiguousarray(rows[name]) for name in ("start_ns", "length_ns")))


def decode_histogram(lane: int, payload: bytes) -> HistogramPart:
    import numpy as np

    _require(lane < _LANES and len(payload) >= _HISTOGRAM_HEAD.size, "HISTOGRAM without head or lane")
    n, part = _HISTOGRAM_HEAD.unpack_from(payload)
    _require(len(payload) == 8 + 24 * n, "HISTOGRAM of another length than its count says")
    _require(part in (0, 1), f"HISTOGRAM of an unknown part {part}")
    rows = np.frombuffer(
        payload, np.dtype([("lower", "<i8"), ("width", "<u4"), ("zero", "<u4"), ("count", "<i8")]), n, 8
    )
    lower_ns, width_ns, counts = (rows[name].astype(np.int64) for name in ("lower", "width", "count"))
    if n:
        _require(bool((lower_ns[1:] >= lower_ns[:-1]).all()), "HISTOGRAM not sorted")
        _require(int(width_ns.min()) >= 1 and int(width_ns.max()) < 2**31, "a bin width out of range")
        _require(int(counts.min()) >= 0 and float(counts.sum(dtype=float)) < 2.0**62, "a count out of range")
    return HistogramPart(lane, lower_ns, width_ns, counts, traced=part == 1)


def decode_file(payload: bytes, paths: list[str]) -> FileContent:
    """`paths` are FACTS.paths; without them the content belongs to nothing."""
    _require(len(payload) >= _FILE_HEAD.size, "FILE without head")
    mono_ns, path, error, flags, _ = _FILE_HEAD.unpack_from(payload)
    _require(path < len(paths) and mono_ns <= _INT64_MAX, "FILE of a path that FACTS does not name")
    same = bool(flags & _SAME_CONTENT)
    content = payload[_FILE_HEAD.size :]
    _require(not (same and content), "FILE with content it says it leaves out")
    return FileContent(mono_ns, paths[path], error, None if same else content, bool(flags & _CUT_CONTENT))


def decode_output(payload: bytes) -> Output:
    _require(len(payload) >= _OUTPUT_HEAD.size, "OUTPUT without head")
    mono_ns, fd, _ = _OUTPUT_HEAD.unpack_from(payload)
    _require(fd in (1, 2) and mono_ns <= _INT64_MAX, "OUTPUT of an unknown descriptor")
    return Output(mono_ns, fd, payload[_OUTPUT_HEAD.size :])


def decode_trace_text(payload: bytes) -> TraceText:
    """The content stays bytes: it is text of a kernel, and the host decodes it where it uses it."""
    _require(len(payload) >= _TRACE_TEXT_HEAD.size, "TRACE_TEXT without head")
    (length,) = _TRACE_TEXT_HEAD.unpack_from(payload)
    head = _TRACE_TEXT_HEAD.size
    _require(1 <= length <= min(_NAME_BYTES, len(payload) - head), "TRACE_TEXT with a name of a wrong length")
    try:
        name = payload[head : head + length].decode("ascii")
    except UnicodeDecodeError:
        raise Malformed("TRACE_TEXT with a name that is not ASCII") from None
    return TraceText(name, payload[head + length :])


def decode_trace_page(payload: bytes) -> TracePage:
    """A page of any size: the host learns the layout from the text `header_page`."""
    _require(len(payload) >= _TRACE_PAGE_HEAD.size + _PAGE_HEAD, "TRACE_PAGE without a page")
    cpu, _ = _TRACE_PAGE_HEAD.unpack_from(payload)
    _require(cpu < _CPUS, "a CPU out of range")
    return TracePage(cpu, payload[_TRACE_PAGE_HEAD.size :])

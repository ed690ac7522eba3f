"""The parser of streams: whole, in pieces, cut and corrupted everywhere, and of versions it does not know."""

from __future__ import annotations

import dataclasses
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.model.errors import NewerFormat
from rtassay.model.events import End, Facts, HistogramPart, Note, Output, Samples, Second, Spill, TracePage, TraceText
from rtassay.model.manifest import Damage
from rtassay.wire import payload
from rtassay.wire.encode import StreamEncoder, frame, samples_body
from rtassay.wire.stream import HEAD, MAX_PAYLOAD, StreamParser

GOLDEN = Path(__file__).parents[3] / "wire" / "golden" / "v1"
REAL = sorted(GOLDEN.glob("real-*.rtw"))
CYCLIC = (GOLDEN / "cyclic.rtw").read_bytes()


def plain(event: Any) -> tuple[Any, ...]:
    """An event as a tuple that compares by value, arrays included."""
    values = (getattr(event, field.name) for field in dataclasses.fields(event))
    return (type(event).__name__, *(v.tolist() if hasattr(v, "tolist") else v for v in values))


def parse(data: bytes, step: int | None = None, **options: Any) -> tuple[list[tuple[Any, ...]], StreamParser]:
    parser = StreamParser(**options)
    events = []
    for start in range(0, len(data), step or max(len(data), 1)):
        events += parser.feed(data[start : start + (step or len(data))])
    events += parser.finish()
    return [plain(event) for event in events], parser


def frame_bounds(data: bytes) -> list[tuple[int, int]]:
    """Start and end of every frame of a whole stream, by an independent walk over the heads."""
    bounds, at = [], 0
    while at < len(data):
        (length,) = struct.unpack_from("<I", data, at + 12)
        bounds.append((at, at + HEAD.size + length))
        at = bounds[-1][1]
    assert at == len(data)
    return bounds


def test_golden_cyclic_reads_as_it_was_made() -> None:
    events, parser = parse(CYCLIC)
    assert parser.damage == Damage()
    assert [e[0] for e in events].count("Samples") == 6
    samples = [e for e in events if e[0] == "Samples" and e[1] == 0]
    latency = [value for e in samples for value in e[3]]
    assert len(latency) == 120 and latency[5] == -37 and latency[17] == 4 * 997_000 + 1234
    assert latency[118] == 5_000_000_000  # WIDE
    assert [sum(e[4]) for e in samples] == [4, 0, 5015] and [sum(e[5]) for e in samples] == [3, 0, 0]
    assert [e[2] for e in samples] == [2, 49, 89]  # first_k: gap 2, then 40 + 4 missed + 3 dropped, then 40
    assert samples[0][6] == 2
    end = events[-1][1]["lanes"][0]
    histogram = next(e for e in events if e[0] == "HistogramPart" and e[1] == 0)
    assert sum(histogram[4]) == end["n"] == 120
    assert end["due"] == 120 + end["missed"] + end["dropped"]


def test_golden_trace_reads_as_it_was_made() -> None:
    parser = StreamParser()
    events = parser.feed((GOLDEN / "traced.rtw").read_bytes())
    assert parser.ended and parser.damage == Damage()
    texts = [event.name for event in events if isinstance(event, TraceText)]
    assert texts == ["header_page", "format/sched/sched_switch", "kallsyms", "stats/cpu0"]
    pages = [event for event in events if isinstance(event, TracePage)]
    assert [(page.cpu, len(page.page)) for page in pages] == [(0, 64), (0, 64)]
    (hit,) = (event.data for event in events if isinstance(event, Note) and event.name == "trace_hit")
    assert int.from_bytes(pages[0].page[:8], "little") < hit["due_ns"] - 2_000_000
    parts = [(event.traced, int(event.counts.sum())) for event in events if isinstance(event, HistogramPart)]
    assert parts == [(False, 4), (True, 3)]


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_stream_of_rtprobe(path: Path) -> None:
    events, parser = parse(path.read_bytes())
    assert parser.damage == Damage()
    assert events[0][0] == "Facts" and events[-1][0] == "End"
    for lane in events[-1][1]["lanes"]:
        mine = [e for e in events if e[0] != "Note" and len(e) > 1 and e[1] == lane["lane"]]
        latency = [v for e in mine if e[0] == "Samples" for v in e[3]]
        assert len(latency) == lane["n"] == sum(sum(e[4]) for e in mine if e[0] == "HistogramPart")
        assert sum(e[3] for e in mine if e[0] == "Second") == lane["n"]
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        assert max(latency) == lane["max_ns"] and min(latency) == lane["min_ns"] and sum(latency) == lane["sum_ns"]


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*.rtw")), ids=lambda path: path.name)
@pytest.mark.parametrize("step", [1, 7, 24, 1000])
def test_pieces_make_no_difference(path: Path, step: int) -> None:
    data = path.read_bytes()[:12_000]
    whole, parser = parse(data)
    pieces, other = parse(data, step)
    assert pieces == whole and other.damage == parser.damage


# Of the bodies every byte only in `make test-all`, else one in 13; of the heads always every byte.
every_byte = pytest.mark.parametrize("step", [13, pytest.param(1, marks=pytest.mark.full)])


def places(data: bytes, step: int) -> list[int]:
    return [
        at
        for start, end in frame_bounds(data)
        for at in range(start, end)
        if at - start <= HEAD.size or at + 1 == end or at % step == 0
    ]


@every_byte
@pytest.mark.parametrize("name", ["cyclic", "watch", "guard", "traced"])
def test_cut_at_every_byte(name: str, step: int) -> None:
    data = (GOLDEN / f"{name}.rtw").read_bytes()
    whole, _ = parse(data)
    bounds = frame_bounds(data)
    for cut in places(data, step):
        events, parser = parse(data[:cut])
        complete = sum(1 for _, end in bounds if end <= cut)
        assert events == whole[:complete], cut
        started = max((end for _, end in bounds if end <= cut), default=0)
        assert parser.damage == Damage(skipped_bytes=cut - started, cut=True), cut


@every_byte
@pytest.mark.parametrize("flip", [0xFF, 0x01])
def test_corrupt_at_every_byte(flip: int, step: int) -> None:
    whole, _ = parse(CYCLIC)
    hits = places(CYCLIC, step)
    for hit, (start, end) in enumerate(frame_bounds(CYCLIC)):
        expected = whole[:hit] + whole[hit + 1 :]
        for at in (at for at in hits if start <= at < end):
            data = bytearray(CYCLIC)
            data[at] ^= flip
            events, parser = parse(bytes(data))
            damage = parser.damage
            assert events == expected, at
            assert damage.skipped_bytes == end - start, at
            last = end == len(CYCLIC)
            assert damage.cut is last, at
            # A bad head leaves a hole in the numbers (but for the last frame), a bad body is a bad frame.
            in_body = at >= start + 20
            assert (damage.bad_frames, damage.lost_frames) == ((1, 0) if in_body else (0, 0 if last else 1)), at


def test_bytes_lost_in_the_middle_of_a_body() -> None:
    whole, _ = parse(CYCLIC)
    for hit, (start, end) in enumerate(frame_bounds(CYCLIC)[:-1]):
        if end - start < 60:
            continue
        events, parser = parse(CYCLIC[: start + 30] + CYCLIC[start + 50 :])
        assert events == whole[:hit] + whole[hit + 1 :]
        assert parser.damage.bad_frames == 1 and parser.damage.lost_frames == 0


def test_a_frame_that_comes_twice_is_not_counted_twice() -> None:
    whole, _ = parse(CYCLIC)
    start, end = frame_bounds(CYCLIC)[2]
    events, parser = parse(CYCLIC[:end] + CYCLIC[start:])
    assert events == whole and parser.damage.bad_frames == 1


def test_garbage_before_between_and_after() -> None:
    whole, _ = parse(CYCLIC)
    bounds = frame_bounds(CYCLIC)
    noise = b"Warning: unable to open /dev/cpu_dma_latency\n\xf7RT" + bytes(range(256))
    data = noise + CYCLIC[: bounds[3][0]] + noise + CYCLIC[bounds[3][0] :] + noise
    for step in (None, 1, 13):
        events, parser = parse(data, step)
        assert events == whole and parser.damage == Damage(skipped_bytes=3 * len(noise))


@given(st.lists(st.tuples(st.integers(0, len(CYCLIC) - 1), st.integers(1, 255)), max_size=30), st.integers(1, 5000))
@settings(max_examples=150, deadline=None)
def test_any_damage_invents_nothing(hits: list[tuple[int, int]], step: int) -> None:
    whole, _ = parse(CYCLIC)
    data = bytearray(CYCLIC)
    for at, flip in hits:
        data[at] ^= flip
    events, parser = parse(bytes(data), step)
    left = iter(whole)
    assert all(event in left for event in events)  # a subsequence of the truth
    if bytes(data) != CYCLIC:
        assert parser.damage != Damage()


@given(st.binary(max_size=3000), st.integers(1, 400))
@settings(max_examples=200, deadline=None)
def test_arbitrary_bytes(data: bytes, step: int) -> None:
    events, parser = parse(data, step)
    assert events == [] and parser.damage.skipped_bytes == len(data) and parser.damage.cut


def test_higher_version_is_refused_by_name() -> None:
    with pytest.raises(NewerFormat, match="version 2"):
        StreamParser().feed(frame(payload.FACTS, 0, b"{}", version=2))
    damaged = bytearray(frame(payload.FACTS, 0, b"{}", version=1))
    damaged[4] = 2  # not a newer version: a damaged byte
    assert parse(bytes(damaged))[0] == []


def test_unknown_type_is_skipped_and_counted() -> None:
    data = frame(1, 0, b"{}") + frame(77, 1, b"whatever") + frame(9, 2, b"{}")
    events, parser = parse(data)
    assert [e[0] for e in events] == ["Facts", "End"]
    assert parser.damage == Damage(unknown_frames=1)


def test_lost_frames_are_counted() -> None:
    data = frame(1, 0, b"{}") + frame(6, 5, b'{"event":"signal","mono_ns":1}') + frame(9, 6, b"{}")
    assert parse(data)[1].damage == Damage(lost_frames=4)


def test_only_decodes_what_is_wanted_and_passes_over_damaged_rest() -> None:
    data = bytearray(CYCLIC)
    start, _ = frame_bounds(CYCLIC)[1]
    data[start + 30] ^= 0xFF  # in the body of a SAMPLES frame nobody looks into
    whole, _ = parse(CYCLIC)
    events, parser = parse(bytes(data), 100, only={"Facts", "Second", "End"})
    assert events == [e for e in whole if e[0] in ("Facts", "Second", "End")]
    assert parser.damage == Damage() and parser.ended
    _, parser = parse(CYCLIC, only=set())
    assert parser.ended and not parser.damage.cut


def test_output_with_a_stream_inside_is_not_unpacked() -> None:
    events, parser = parse((GOLDEN / "guard.rtw").read_bytes())
    assert [e[0] for e in events] == ["Facts", "Note", "Output", "Output", "Note", "End"]
    inner, _ = parse(events[2][3])
    assert [e[0] for e in inner] == ["Facts", "Samples", "Samples"]
    data = bytearray((GOLDEN / "guard.rtw").read_bytes())
    start, _ = frame_bounds(bytes(data))[2]
    data[start + 100] ^= 1
    events, parser = parse(bytes(data))
    assert [e[0] for e in events] == ["Facts", "Note", "Output", "Note", "End"] and parser.damage.bad_frames == 1


def test_files_of_watch_carry_their_paths() -> None:
    events, _ = parse((GOLDEN / "watch.rtw").read_bytes())
    files = [e for e in events if e[0] == "FileContent"]
    temp = "/sys/class/thermal/thermal_zone0/temp"
    assert files[1] == ("FileContent", 2, temp, 2, b"", False)
    assert files[2] == ("FileContent", 3, "/proc/stat", 0, None, False)
    assert files[3][-1] is True


def _mark(pos: int, kind: int, value: int) -> bytes:
    return struct.pack("<IB3xq", pos, kind, value)


def _samples(count: int, marks: list[bytes], values: list[int] | None = None, first_k: int = 0) -> bytes:
    values = values if values is not None else [5] * count
    return struct.pack(f"<QII{len(values)}I", first_k, count, len(marks), *values) + b"".join(marks)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (2, b""),
        (2, _samples(3, [], [1, 2])),  # shorter than its count
        (2, _samples(1, [_mark(1, 1, 1)])),  # mark behind the last sample
        (2, _samples(2, [_mark(1, 1, 1), _mark(0, 1, 1)])),  # out of order
        (2, _samples(1, [_mark(0, 9, 1)])),
        (2, _samples(1, [_mark(0, 1, -1)])),
        (2, _samples(1, [_mark(0, 3, 5)])),  # WIDE without placeholder
        (2, _samples(1, [], [0xFFFFFFFF])),  # placeholder without WIDE
        (2, _samples(1, [], first_k=2**63)),
        (2, struct.pack("<QII", 0, 2**31, 0)),
        (3, bytes(119)),
        (3, struct.pack("<15Q", *[0, 2**63] + [0] * 13)),
        (4, struct.pack("<QII", 0, 1, 0)),
        (5, struct.pack("<II", 2**32 - 1, 0)),
        (5, struct.pack("<IIqIIQqIIQ", 2, 0, 9, 1, 0, 1, 8, 1, 0, 1)),  # not sorted
        (5, struct.pack("<IIqIIQ", 1, 0, 9, 0, 0, 1)),  # width 0
        (5, struct.pack("<IIqIIQ", 1, 0, 9, 1, 0, 2**63)),
        (6, b"[]"),
        (6, b'{"mono_ns":1}'),
        (6, b"{"),
        (6, b"[" * 100_000),
        (6, b'{"event":"x","n":' + b"9" * 40 + b"}"),
        (6, b'{"event":"x","n":NaN}'),
        (7, bytes(24)),  # no FACTS.paths
        (8, struct.pack("<QII", 0, 3, 0)),
        (9, b"3"),
        (5, struct.pack("<II", 0, 2)),  # a part that is neither untraced nor traced
        (10, b"\x01\x00"),
        (10, struct.pack("<I", 0) + b"text"),
        (10, struct.pack("<I", 5) + b"name"),  # a name longer than the payload
        (10, struct.pack("<I", 201) + bytes(300)),
        (10, struct.pack("<I", 1) + b"\xff"),
        (11, struct.pack("<II", 0, 0) + bytes(11)),
        (11, struct.pack("<II", 1 << 16, 0) + bytes(4096)),
    ],
)
def test_malformed_payload_with_good_checksum_is_a_bad_frame(kind: int, body: bytes) -> None:
    data = frame(1, 0, b"{}") + frame(kind, 1, body, lane=0) + frame(9, 2, b"{}")
    events, parser = parse(data)
    assert [e[0] for e in events] == ["Facts", "End"]
    assert parser.damage == Damage(bad_frames=1)


@pytest.mark.parametrize("kind", [2, 3, 4, 5])
def test_lane_frames_need_a_lane(kind: int) -> None:
    body = {2: samples_body(0, [1]), 3: bytes(120), 4: bytes(16), 5: bytes(8)}[kind]
    assert parse(frame(kind, 0, body, lane=0))[1].damage.bad_frames == 0
    assert parse(frame(kind, 0, body, lane=0xFFFF))[1].damage.bad_frames == 1


def test_length_over_the_limit_is_no_frame() -> None:
    head = struct.pack("<4sBBHII", b"\xf7RTW", 1, 1, 0xFFFF, 0, MAX_PAYLOAD + 1)
    data = head + struct.pack("<II", zlib.crc32(head), 0)
    events, parser = parse(data + frame(9, 0, b"{}"))
    assert [e[0] for e in events] == ["End"] and parser.damage.skipped_bytes == len(data)


def test_strange_text_in_json_can_be_written_back() -> None:
    data = frame(1, 0, b'{"argv":["\xff\xfe","\\ud800"]}') + frame(1, 1, b"{}")
    events, parser = parse(data)
    assert events[0][1]["argv"][1] == "?" and "�" in events[0][1]["argv"][0]
    assert str(events).encode()  # no lone surrogate left
    assert parser.damage.bad_frames == 1  # a second FACTS


_i64 = st.integers(-(2**62), 2**62)
_count = st.integers(0, 2**40)
_lane = st.integers(0, 300)
_text = st.text(st.characters(codec="utf-8"), max_size=20)


@st.composite
def _sample_events(draw: st.DrawFn) -> Samples:
    n = draw(st.integers(0, 30))
    latency = draw(st.lists(st.one_of(st.integers(0, 2**20), _i64), min_size=n, max_size=n))
    gaps = [draw(st.lists(st.one_of(st.just(0), _count), min_size=n, max_size=n)) for _ in range(2)]
    arrays = [np.array(values, np.int64) for values in (latency, *gaps)]
    return Samples(draw(_lane), draw(_count), *arrays, draw(_count), draw(_count))


@st.composite
def _parts(draw: st.DrawFn) -> HistogramPart:
    lower = sorted(draw(st.sets(_i64, max_size=20)))
    n = len(lower)
    width = draw(st.lists(st.integers(1, 2**31 - 1), min_size=n, max_size=n))
    counts = draw(st.lists(_count, min_size=n, max_size=n))
    arrays = (np.array(a, np.int64) for a in (lower, width, counts))
    return HistogramPart(draw(_lane), *arrays, traced=draw(st.booleans()))


@st.composite
def _spills(draw: st.DrawFn) -> Spill:
    rows = draw(st.lists(st.tuples(_count, _i64, _count), max_size=10))
    columns = [np.array([row[i] for row in rows], np.int64) for i in range(3)]
    return Spill(draw(_lane), draw(_count), *columns)


_seconds = st.builds(
    lambda lane, counts, times: Second(lane, *counts, *times[:3], counts[0], *times[3:]),
    _lane,
    st.lists(_count, min_size=5, max_size=5),
    st.lists(_i64, min_size=9, max_size=9),
)
_notes = st.builds(
    lambda name, lane, n: Note(name, lane, {"event": name, "mono_ns": n}), _text, st.none() | _lane, _count
)
_outputs = st.builds(Output, _count, st.sampled_from([1, 2]), st.binary(max_size=200))
_texts = st.builds(TraceText, st.text(st.characters(codec="ascii"), min_size=1, max_size=200), st.binary(max_size=200))
_pages = st.builds(TracePage, st.integers(0, 4095), st.binary(min_size=12, max_size=200))
_others = st.one_of(_notes, _outputs, _texts, _pages)
_events = st.lists(st.one_of(_sample_events(), _parts(), _spills(), _seconds, _others), max_size=12)


@given(_events, st.integers(1, 600))
@settings(max_examples=150, deadline=None)
def test_round_trip_in_any_pieces(middle: list[Any], step: int) -> None:
    events = [Facts({"stream": 1}), *middle, End({"reason": "duration"})]
    found, parser = parse(StreamEncoder().encode_all(events), step)
    assert found == [plain(event) for event in events]
    assert parser.damage == Damage()

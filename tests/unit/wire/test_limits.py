"""The exact limits of frames and payloads: the last value that is taken, and the first that is not."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest

from rtassay.model.errors import NewerFormat
from rtassay.model.events import End, Event, Facts, FileContent, HistogramPart, Note, Samples, Second, Spill
from rtassay.model.manifest import Damage
from rtassay.wire import payload as p
from rtassay.wire.encode import StreamEncoder, frame, samples_body
from rtassay.wire.stream import HEAD, MAGIC, MAX_PAYLOAD, VERSION, StreamParser, read_events

INT64_MAX = 2**63 - 1
LAST_LANE = 2**15 - 1


def taken(kind: int, body: bytes, lane: int = p.NO_LANE, before: bytes = b"") -> tuple[list[Event], Damage]:
    parser = StreamParser()
    events = parser.feed(before + frame(kind, 1 if before else 0, body, lane=lane)) + parser.finish()
    return events, parser.damage


def spill(suppressed: int, *rows: tuple[int, int, int]) -> bytes:
    return struct.pack("<QII", suppressed, len(rows), 0) + b"".join(struct.pack("<qqq", *row) for row in rows)


def histogram(*rows: tuple[int, int, int]) -> bytes:
    return struct.pack("<II", len(rows), 0) + b"".join(struct.pack("<qIIq", a, w, 0, n) for a, w, n in rows)


def gaps(left_out: int, *rows: tuple[int, int]) -> bytes:
    return struct.pack("<QII", left_out, len(rows), 0) + b"".join(struct.pack("<qq", *row) for row in rows)


def second(**fields: int) -> bytes:
    names = ("second", "n", "missed", "dropped", "exceedances", "min", "max", "sum", "total_n", "max_so_far")
    row = [fields.get(name, 0) for name in (*names, "p50", "p99", "p99_9", "p99_99", "wall_offset")]
    return struct.pack("<5Q3qQ6q", *row)


def json_of(text: str) -> bytes:
    return text.encode()


@pytest.mark.parametrize(
    ("kind", "lane", "good", "bad"),
    [
        (p.SPILL, 0, spill(INT64_MAX), spill(INT64_MAX + 1)),
        (p.SPILL, 0, spill(0, (0, -1, 0)), spill(0, (-1, 5, 0))),
        (p.SPILL, 0, spill(0, (0, -1, 0)), spill(0, (5, 5, -1))),
        (p.SPILL, 0, spill(0), spill(0)[:-1]),
        (p.GAPS, 0, gaps(INT64_MAX), gaps(INT64_MAX + 1)),
        (p.GAPS, 0, gaps(0, (5, 7), (-9, 1)), gaps(0, (5, 7), (9, 0))),
        (p.GAPS, 0, gaps(0, (5, 1)), gaps(0, (5, -1))),
        (p.GAPS, 0, gaps(0), gaps(0)[:-1]),
        (p.GAPS, 0, gaps(0, (5, 1)), gaps(0, (5, 1)) + b"\0"),
        (p.SECOND, 0, second(n=INT64_MAX), second(n=INT64_MAX + 1)),
        (p.SECOND, 0, second(), second() + b"\0"),
        (p.HISTOGRAM, 0, histogram((5, 1, 0), (5, 1, 1)), histogram((5, 1, 1), (4, 1, 1))),
        (p.HISTOGRAM, 0, histogram((0, 2**31 - 1, 1)), histogram((0, 2**31, 1))),
        (p.HISTOGRAM, 0, histogram((0, 1, 1)), histogram((0, 0, 1))),
        (p.HISTOGRAM, 0, histogram((0, 1, 0)), histogram((0, 1, -1))),
        (p.HISTOGRAM, 0, histogram((0, 1, 2**61)), histogram((0, 1, 2**61), (1, 1, 2**61))),
        (p.SAMPLES, 0, samples_body(INT64_MAX - 1, [7]), samples_body(INT64_MAX, [7])),
        (p.SAMPLES, 0, samples_body(0, [7], [2**62 - 1]), samples_body(0, [7], [2**62])),
        (
            p.SAMPLES,
            0,
            struct.pack("<QIIIIIq", 0, 1, 1, 7, 0, p.MISSED, 0),
            struct.pack("<QIIIIIq", 0, 1, 1, 7, 0, p.MISSED, -1),
        ),
        (p.SAMPLES, 0, samples_body(0, [7], [1]), struct.pack("<QIIIIIq", 0, 1, 1, 7, 1, p.MISSED, 1)),
        (p.SAMPLES, 0, samples_body(0, [7], [1]), struct.pack("<QIIIIIq", 0, 1, 1, 7, 0, 4, 1)),
        (p.SAMPLES, 0, samples_body(0, [2**32]), struct.pack("<QIIIIIq", 0, 1, 1, 7, 0, p.WIDE, 2**32)),
        (p.SAMPLES, 0, samples_body(0, [2**32 - 2]), struct.pack("<QIII", 0, 1, 0, p.WIDE_PLACEHOLDER)),
        (p.SAMPLES, 0, samples_body(0, []), samples_body(0, [])[:-1]),
        (p.SAMPLES, LAST_LANE, samples_body(0, [7]), b""),
        (p.OUTPUT, p.NO_LANE, struct.pack("<QII", INT64_MAX, 2, 0), struct.pack("<QII", INT64_MAX + 1, 2, 0)),
        (p.OUTPUT, p.NO_LANE, struct.pack("<QII", 0, 1, 0), struct.pack("<QII", 0, 3, 0)),
        (p.OUTPUT, p.NO_LANE, struct.pack("<QII", 0, 1, 0), struct.pack("<QI", 0, 1)),
        (p.EVENT, 0, json_of('{"event": "x"}'), json_of('{"event": 1}')),
        (p.EVENT, LAST_LANE, json_of('{"event": "x"}'), json_of("[]")),
        (p.END, p.NO_LANE, json_of('{"n": 18446744073709551615}'), json_of('{"n": 18446744073709551616}')),
        (p.END, p.NO_LANE, json_of('{"n": 1.5}'), json_of('{"n": NaN}')),
        (p.END, p.NO_LANE, json_of('{"n": 1}'), json_of('{"n": 111111111111111111111111}')),
    ],
)
def test_the_last_good_value_and_the_first_bad_one(kind: int, lane: int, good: bytes, bad: bytes) -> None:
    events, damage = taken(kind, good, lane)
    assert len(events) == 1 and damage.bad_frames == 0
    events, damage = taken(kind, bad, lane)
    assert events == [] and damage.bad_frames == 1


@pytest.mark.parametrize("kind", [p.SAMPLES, p.SECOND, p.SPILL, p.HISTOGRAM, p.EVENT])
def test_the_first_lane_number_that_is_none(kind: int) -> None:
    body = {
        p.SAMPLES: samples_body(0, [7]),
        p.SECOND: second(),
        p.SPILL: spill(0),
        p.HISTOGRAM: histogram((0, 1, 1)),
        p.EVENT: b'{"event": "x"}',
    }[kind]
    assert taken(kind, body, LAST_LANE)[1].bad_frames == 0
    assert taken(kind, body, LAST_LANE + 1)[1].bad_frames == 1


def test_every_field_comes_back_from_its_own_place() -> None:
    made = Second(3, *range(1, 16))
    (read,) = taken(p.SECOND, second(**dict(zip(_SECOND_FIELDS, range(1, 16), strict=True))), 3)[0]
    assert read == made
    encoder = StreamEncoder()
    assert StreamParser().feed(encoder.encode(made)) == [made]


_SECOND_FIELDS = (
    *("second", "n", "missed", "dropped", "exceedances", "min", "max", "sum", "total_n", "max_so_far"),
    *("p50", "p99", "p99_9", "p99_99", "wall_offset"),
)


def test_marks_before_the_first_sample_and_on_each() -> None:
    body = samples_body(40, [7, -3, 2**40], [0, 2, 0], [1, 0, 3], gap_missed=5, gap_dropped=6)
    (read,) = taken(p.SAMPLES, body, 2)[0]
    assert isinstance(read, Samples)
    assert (read.lane, read.first_k, read.gap_missed, read.gap_dropped) == (2, 40, 5, 6)
    assert read.latency_ns.tolist() == [7, -3, 2**40]
    assert read.missed.tolist() == [0, 2, 0] and read.dropped.tolist() == [1, 0, 3]


def test_two_marks_of_one_sample_add_up_and_must_not_go_back() -> None:
    head = struct.pack("<QIIII", 0, 2, 2, 7, 7)
    twice = struct.pack("<IIq", 1, p.MISSED, 4) + struct.pack("<IIq", 1, p.MISSED, 3)
    (read,) = taken(p.SAMPLES, head + twice, 0)[0]
    assert isinstance(read, Samples) and read.missed.tolist() == [0, 7]
    back = struct.pack("<IIq", 1, p.MISSED, 4) + struct.pack("<IIq", 0, p.MISSED, 3)
    assert taken(p.SAMPLES, head + back, 0)[1].bad_frames == 1
    wide_before_first = struct.pack("<IIq", p.BEFORE_FIRST, p.WIDE, 4)
    assert taken(p.SAMPLES, struct.pack("<QIII", 0, 1, 1, 7) + wide_before_first, 0)[1].bad_frames == 1
    placeholder = struct.pack("<QIII", 0, 1, 1, p.WIDE_PLACEHOLDER)
    assert taken(p.SAMPLES, placeholder + wide_before_first, 0)[1].bad_frames == 1
    wide_of_another = struct.pack("<QIIII", 0, 2, 1, p.WIDE_PLACEHOLDER, 7) + struct.pack("<IIq", 1, p.WIDE, 4)
    assert taken(p.SAMPLES, wide_of_another, 0)[1].bad_frames == 1


def test_spill_and_histogram_columns() -> None:
    (read,) = taken(p.SPILL, spill(9, (1, -2, 3), (4, 5, 6)), 7)[0]
    assert isinstance(read, Spill) and (read.lane, read.suppressed) == (7, 9)
    assert [read.k.tolist(), read.latency_ns.tolist(), read.missed.tolist()] == [[1, 4], [-2, 5], [3, 6]]
    (part,) = taken(p.HISTOGRAM, histogram((-5, 10, 2), (5, 1, 0)), 7)[0]
    assert isinstance(part, HistogramPart) and part.lane == 7
    assert [part.lower_ns.tolist(), part.width_ns.tolist(), part.counts.tolist()] == [[-5, 5], [10, 1], [2, 0]]
    assert np.issubdtype(part.width_ns.dtype, np.int64)


def file_body(path: int, flags: int, content: bytes = b"", mono_ns: int = 5, error: int = 0) -> bytes:
    return struct.pack("<QIiB7x", mono_ns, path, error, flags) + content


def test_files_that_are_the_same_cut_or_of_no_known_path() -> None:
    facts = frame(p.FACTS, 0, b'{"paths": ["/a", "/b"]}')
    whole = taken(p.FILE, file_body(1, 0, b"xy", error=2), before=facts)[0][1]
    assert whole == FileContent(5, "/b", 2, b"xy", False)
    assert taken(p.FILE, file_body(0, 1), before=facts)[0][1] == FileContent(5, "/a", 0, None, False)
    assert taken(p.FILE, file_body(0, 2, b"x"), before=facts)[0][1] == FileContent(5, "/a", 0, b"x", True)
    assert taken(p.FILE, file_body(2, 0), before=facts)[1].bad_frames == 1
    assert taken(p.FILE, file_body(0, 1, b"x"), before=facts)[1].bad_frames == 1
    assert taken(p.FILE, file_body(0, 0, mono_ns=INT64_MAX + 1), before=facts)[1].bad_frames == 1
    assert taken(p.FILE, file_body(0, 0)[:-1], before=facts)[1].bad_frames == 1
    assert taken(p.FILE, file_body(0, 0, mono_ns=INT64_MAX), before=facts)[1].bad_frames == 0


@pytest.mark.parametrize(
    "content",
    [FileContent(5, "/b", 2, b"xy", False), FileContent(5, "/a", 0, None, False), FileContent(5, "/a", 0, b"", True)],
)
def test_the_encoder_writes_files_as_they_are_read(content: FileContent) -> None:
    encoder, parser = StreamEncoder(), StreamParser()
    assert parser.feed(encoder.encode_all([Facts({"paths": ["/a", "/b"]}), content]))[1] == content


def test_the_encoder_writes_what_a_second_does_not_know_as_zero() -> None:
    unknown = Second(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, None, None, None, None, None)  # type: ignore[arg-type]
    (read,) = StreamParser().feed(StreamEncoder().encode(unknown))
    assert read == Second(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 0, 0)


def test_paths_that_are_no_list_name_nothing() -> None:
    facts = frame(p.FACTS, 0, b'{"paths": "/a"}')
    events, damage = taken(p.FILE, file_body(0, 0), before=facts)
    assert [type(event) for event in events] == [Facts] and damage.bad_frames == 1


def test_a_second_facts_is_a_bad_frame() -> None:
    events, damage = taken(p.FACTS, b"{}", before=frame(p.FACTS, 0, b'{"paths": ["/a"]}'))
    assert len(events) == 1 and damage.bad_frames == 1


def test_the_longest_payload() -> None:
    name = "x" * (MAX_PAYLOAD - len('{"event":""}'))
    events, damage = taken(p.EVENT, json.dumps({"event": name}, separators=(",", ":")).encode())
    assert len(events) == 1 and isinstance(events[0], Note) and damage.skipped_bytes == 0


def test_version_zero_is_no_frame_and_a_newer_one_is_refused() -> None:
    parser = StreamParser()
    data = frame(p.END, 0, b"{}", version=0)
    assert parser.feed(data) + parser.finish() == [] and parser.damage.skipped_bytes == len(data)
    with pytest.raises(NewerFormat):
        StreamParser().feed(frame(p.END, 0, b"{}", version=VERSION + 1))


def test_a_head_needs_the_whole_magic() -> None:
    good = frame(p.END, 0, b"{}")
    start = b"\xf7RTX" + good[4:16]
    head = start + struct.pack("<I", zlib.crc32(start)) + good[20:]
    assert len(head) == len(good)
    parser = StreamParser()
    assert [*parser.feed(head), *parser.finish()] == []
    assert parser.damage.skipped_bytes == len(head) and not parser.ended


def test_bytes_that_may_begin_a_frame_are_kept_for_the_next_piece() -> None:
    good = frame(p.END, 0, b"{}")
    for cut in range(1, len(good)):
        parser = StreamParser()
        events = parser.feed(b"noise " + good[:cut]) + parser.feed(good[cut:]) + parser.finish()
        assert [type(event) for event in events] == [End], cut
        assert parser.damage == Damage(skipped_bytes=6), cut


def test_text_between_frames_is_passed_over_in_one_piece_of_any_length() -> None:
    encoder = StreamEncoder()
    data = b"".join(b"noise" * 20 + encoder.encode(Note("x", None, {"n": n})) for n in range(3))
    parser = StreamParser()
    assert len(parser.feed(data)) == 3 and parser.finish() == []
    assert parser.damage == Damage(skipped_bytes=300, cut=True)
    whole = StreamParser()
    events = whole.feed(data[:50]) + whole.feed(data[50:] + b"noise")
    assert len(events) == 3 and whole.damage.skipped_bytes == 302, "the last three bytes may begin a frame"
    assert whole.finish() == [] and whole.damage.skipped_bytes == 305


def test_counts_of_zero_have_no_mark() -> None:
    plain = samples_body(0, [5, 6])
    assert samples_body(0, [5, 6], [0, 0], [0, 0]) == plain and len(plain) == 16 + 8
    assert len(samples_body(0, [5, 6], [0, 1], [2, 0], gap_missed=3)) == 16 + 8 + 3 * 16


def test_damage_is_counted_frame_by_frame() -> None:
    encoder = StreamEncoder()
    frames = [encoder.encode(Note("x", None, {"n": n})) for n in range(6)]
    torn = bytearray(frames[2])
    torn[-2] ^= 0xFF  # the body
    parser = StreamParser()
    events = parser.feed(frames[0] + frames[1] + bytes(torn) + frames[5]) + parser.finish()
    assert len(events) == 3
    assert parser.damage == Damage(len(torn), 1, 2, 0, True)
    assert parser.bytes_seen == len(frames[0]) * 4


def test_a_cut_frame_that_others_follow_is_one_bad_frame() -> None:
    encoder = StreamEncoder()
    frames = [encoder.encode(Note("x", None, {"text": "y" * 500})) for _ in range(3)]
    lost = frames[0][:100] + frames[1]
    parser = StreamParser()
    events = parser.feed(lost) + parser.finish()
    assert len(events) == 1 and parser.damage == Damage(100, 1, 0, 0, True)


def test_a_cut_frame_that_is_longer_than_all_that_follows_is_one_bad_frame() -> None:
    encoder = StreamEncoder()
    long, short = (encoder.encode(Note("x", None, {"text": "y" * length})) for length in (5000, 5))
    parser = StreamParser()
    events = parser.feed(long[:100] + short) + parser.finish()
    assert len(events) == 1 and parser.damage == Damage(100, 1, 0, 0, True)


def test_wanted_events_only_and_an_end_that_is_not_wanted() -> None:
    encoder = StreamEncoder()
    data = encoder.encode_all([Facts({}), Note("x", None, {}), Second(0, *([0] * 15)), End({})])
    parser = StreamParser(only=("Second",))
    assert [type(event) for event in parser.feed(data) + parser.finish()] == [Second]
    assert parser.ended and parser.damage == Damage()


def test_a_file_is_read_in_pieces(tmp_path: Path) -> None:
    encoder = StreamEncoder()
    count = 5
    many = encoder.encode_all(Note("x", None, {"text": "y" * (MAX_PAYLOAD // 2)}) for _ in range(count))
    path = tmp_path / "stream.rtw"
    path.write_bytes(many + encoder.encode(End({})) + MAGIC)
    parser = StreamParser()
    events = list(read_events(path, parser))
    assert [type(event) for event in events] == [Note] * count + [End]
    assert parser.damage == Damage(skipped_bytes=len(MAGIC)) and parser.bytes_seen == path.stat().st_size


def test_sequence_numbers_go_round() -> None:
    parser = StreamParser()
    encoder = StreamEncoder(seq=0)
    parser.feed(encoder.encode(Facts({})))
    parser._expected_seq = 0xFFFFFFFF
    events = parser.feed(frame(p.EVENT, 0xFFFFFFFF, b'{"event": "x"}') + frame(p.EVENT, 0, b'{"event": "y"}'))
    assert len(events) == 2 and parser.damage.lost_frames == 0
    parser.feed(frame(p.EVENT, 4, b'{"event": "z"}'))
    assert parser.damage.lost_frames == 3
    assert parser.feed(frame(p.EVENT, 2, b'{"event": "late"}')) == [] and parser.damage.bad_frames == 1


def test_text_that_no_file_could_hold_is_mended_and_the_rest_is_kept() -> None:
    (read,) = taken(p.EVENT, b'{"event": "x", "why": "\\ud800", "name": "\xff", "n": -5}')[0]
    assert isinstance(read, Note) and read.data["n"] == -5
    assert read.data["name"] == "�"
    json.dumps(read.data, ensure_ascii=False).encode()


def test_frames_have_the_size_that_the_format_says() -> None:
    assert HEAD.size == 24
    assert len(frame(p.END, 0, b"{}")) == 26


def test_a_payload_of_a_mebibyte_is_taken_and_one_byte_more_is_not() -> None:
    assert MAX_PAYLOAD == 1024 * 1024


def test_the_least_integer_of_json() -> None:
    assert len(taken(p.END, b'{"n": -9223372036854775808}')[0]) == 1
    assert taken(p.END, b'{"n": -9223372036854775809}')[1].bad_frames == 1


@pytest.mark.parametrize("step", [1, 5, 10_000])
def test_a_body_that_lost_bytes_does_not_take_the_next_frame_with_it(step: int) -> None:
    encoder = StreamEncoder()
    frames = [encoder.encode(Note("x", None, {"text": "y" * 60})) for _ in range(3)]
    data = frames[0][:-30] + frames[1] + frames[2]
    parser = StreamParser()
    events = [event for at in range(0, len(data), step) for event in parser.feed(data[at : at + step])]
    assert len(events + parser.finish()) == 2
    assert parser.damage == Damage(len(frames[0]) - 30, 1, 0, 0, True)

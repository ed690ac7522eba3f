"""Real pages of five kernels against the kernel's own text of them; damaged pages; anything."""

from __future__ import annotations

import random
import re
import struct

import pytest
from cause_traces import DATA, SEEN, decoder_of, real_pages, texts
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.causes.formats import page_layout
from rtassay.causes.pages import LOST, PAGE, Decoder, Event, decode, decoder
from rtassay.causes.timeline import timeline

BY = decoder_of("debian-6.1-amd64")
PAGES = real_pages("debian-6.1-amd64")


def kernel_s(events: list[Event]) -> list[Event]:
    return [event for event in events if event.name not in (PAGE, LOST)]


@pytest.mark.parametrize("kernel", SEEN)
def test_events_are_those_the_kernel_prints(kernel: str) -> None:
    found = decode(real_pages(kernel), decoder_of(kernel))
    printed = [line.split() for line in (DATA / "pages" / f"{kernel}.txt").read_text().splitlines()]
    events = kernel_s(found.events)
    assert (found.damaged, found.lossy, len(events)) == (0, 0, len(printed))
    for event, (us, pid, name) in zip(events, printed, strict=True):
        assert (event.pid, event.name.split("/")[1]) == (int(pid), name)
        assert abs(event.ns // 1000 - int(us)) <= 1


def test_a_page_that_comes_twice_counts_once() -> None:
    assert decode([*PAGES, PAGES[0]], BY).events == decode(PAGES, BY).events


def test_the_rest_of_a_page_has_the_time_of_the_last_event_read_and_follows_it() -> None:
    """The kernel stamps what is left of a page with the event before: two pages of one time stamp, the short one first."""
    start, commit, word = struct.unpack_from("<QQI", PAGES[0])
    size = 4 + 4 * (word & 31)
    first = struct.pack("<QQ", start, size) + PAGES[0][16 : 16 + size].ljust(4080, b"\0")
    rest = struct.pack("<QQ", start, commit - size) + PAGES[0][16 + size :].ljust(4080, b"\0")
    for _ in range(20):
        whole = decode([first, rest], BY)
        assert (whole.damaged, whole.events[0].ns) == (0, start)
        assert kernel_s(whole.events) == kernel_s(decode(PAGES[:1], BY).events)


def stamped(ns: int) -> bytes:
    """A record that sets the time."""
    return struct.pack("<II", (ns & (1 << 27) - 1) << 5 | 31, ns >> 27 & (1 << 32) - 1)


def large(kernel: str, size: int, take: int) -> tuple[bytes, Decoder]:
    """One page of `size` bytes with the records of the first `take` real pages, and what decodes it."""
    header, formats = texts(kernel)
    layout = page_layout(header.replace(f"size:{4096 - data_offset(kernel)};", f"size:{size - data_offset(kernel)};"))
    assert layout.data_size == size - data_offset(kernel)
    real = real_pages(kernel)[:take]
    word = decoder_of(kernel).layout.commit_size
    data = b""
    for one in real:
        used = int.from_bytes(one[8 : 8 + word], "little") & 0xFFFF
        data += stamped(int.from_bytes(one[:8], "little")) + one[8 + word : 8 + word + used]
    head = real[0][:8] + len(data).to_bytes(word, "little")
    return (head + data).ljust(size, b"\0"), decoder(layout, formats)


def data_offset(kernel: str) -> int:
    return decoder_of(kernel).layout.data_offset


@pytest.mark.parametrize("kernel", SEEN)
@pytest.mark.parametrize(("size", "take"), [(16384, 3), (65536, 15)], ids=["16-KiB", "64-KiB"])
def test_pages_of_16_and_64_kib_hold_the_same_events(kernel: str, size: int, take: int) -> None:
    """As arm64 kernels have them: here filled with the records of real pages of 4 KiB."""
    page, by = large(kernel, size, take)
    found = decode([page], by)
    small = decode(real_pages(kernel)[:take], decoder_of(kernel))
    assert (found.damaged, found.lossy) == (0, 0)
    assert kernel_s(found.events) == kernel_s(small.events)
    lossy = page[:8] + struct.pack("<I", struct.unpack_from("<I", page, 8)[0] | 1 << 31) + page[12:]
    assert decode([lossy], by).lossy == 1


def test_a_newer_kernel_s_fields_and_events_change_nothing() -> None:
    """Fields that nobody asked for, in between and behind, an event of no known name, and lines of no known shape."""
    newer = {name: newer_format(text) for name, text in texts("debian-6.1-amd64")[1].items()}
    newer["sched/sched_new"] = "name: sched_new\nID: 999\nformat:\n\tfield:u128 what;\toffset:8;\tsize:16;\tsigned:0;\n"
    by = decoder(page_layout(texts("debian-6.1-amd64")[0]), newer)
    (event,) = kernel_s(decode([page(record(11, 5, *waking_of_a_newer_kernel(1)))], by).events)
    assert (event.ns, event.name, event.pid, event.values) == (1005, "sched/sched_waking", 7, (1, 9))


def newer_format(text: str) -> str:
    """Eight bytes more before the event's own fields, one common field more, and attributes that no kernel has."""
    common, _, own = text.partition("\n\n")
    moved = re.sub(r"offset:(\d+);", lambda m: f"offset:{int(m[1]) + 8};", own)
    more = "\tfield:unsigned long common_more;\toffset:8;\tsize:8;\tsigned:0;\tunit:ns;\n\tattribute:new;"
    return f"{common}\n{more}\n\n{moved}\n\tfield:__rel_loc char[] late;\toffset:400;\tsize:4;\tsigned:0;\n"


def waking_of_a_newer_kernel(pid: int) -> tuple[int, ...]:
    return struct.unpack("<11I", struct.pack("<HBBiQ16siii", 322, 0, 0, 7, 99, b"woken", pid, 9, 0))


def test_lost_events_are_told() -> None:
    (commit,) = struct.unpack_from("<Q", PAGES[1], 8)
    lossy = PAGES[1][:8] + struct.pack("<Q", commit | 1 << 31) + PAGES[1][16:]
    found = decode([PAGES[0], lossy], BY)
    assert (found.lossy, found.damaged) == (1, 0)
    lines = timeline(found.events)
    assert len(lines.losses) == 1 and lines.losses[0][0] < lines.losses[0][1]


def record(kind: int, delta: int, *words: int) -> bytes:
    return struct.pack("<I", delta << 5 | kind) + b"".join(struct.pack("<I", word) for word in words)


def page(data: bytes, start: int = 1000) -> bytes:
    return struct.pack("<QQ", start, len(data)) + data.ljust(4080, b"\0")


def waking(pid: int) -> tuple[int, ...]:
    return struct.unpack("<9I", struct.pack("<HBBi16siii", 322, 0, 0, 7, b"woken", pid, 9, 0))


@pytest.mark.parametrize(
    ("data", "at"),
    [
        (record(9, 5, *waking(1)), 1005),
        (record(0, 5, 40, *waking(1)), 1005),
        (record(30, 1, 2) + record(9, 5, *waking(1)), 1000 + 1 + (2 << 27) + 5),
        (record(31, 77, 3) + record(9, 5, *waking(1)), 77 + (3 << 27) + 5),
        (record(29, 6, 12, 0, 0) + record(9, 5, *waking(1)), 1011),
        (record(9, 5, *waking(1)) + record(29, 0), 1005),
        (record(2, 3, 9999, 0) + record(9, 5, *waking(1)), 1008),
    ],
    ids=["short", "long", "time-extend", "absolute", "padding", "padding-to-the-end", "unknown-event"],
)
def test_every_kind_of_record(data: bytes, at: int) -> None:
    found = decode([page(data)], BY)
    (event,) = kernel_s(found.events)
    assert (event.ns, event.name, event.pid, event.values, found.damaged) == (at, "sched/sched_waking", 7, (1, 9), 0)


@pytest.mark.parametrize(
    "data",
    [record(0, 5, 0), record(0, 5, 3), record(0, 5, 4000), record(28, 5, 1), record(1, 5, 322), record(31, 0, 0)],
    ids=["empty", "too-short", "too-long", "cut", "shorter-than-its-format", "time-runs-back"],
)
def test_nonsense_is_counted_and_ends_the_page(data: bytes) -> None:
    good = record(9, 5, *waking(1))
    found = decode([page(good + data + good)], BY)
    assert (found.damaged, len(kernel_s(found.events)), found.events[-1].name) == (1, 1, LOST)


def test_no_mutation_of_a_real_page_raises_or_loops() -> None:
    draw = random.Random(14)
    cases = [(decoder_of(kernel), real_pages(kernel), 60) for kernel in SEEN]
    for size, take in ((16384, 3), (65536, 15)):
        page, by = large("debian-6.1-arm64", size, take)
        cases.append((by, [page], 20))
    for by, real, times in cases:
        size = len(real[0])
        for _ in range(times):
            pages = [bytearray(one) for one in real]
            for _ in range(draw.choice([1, 1, 3, 30])):
                broken = draw.choice(pages)
                broken[draw.choice([draw.randrange(24), draw.randrange(size)])] = draw.randrange(256)
            cut = draw.choice([size, size, draw.randrange(size)])
            found = decode([bytes(one[:cut]) for one in pages], by)
            line = timeline(found.events)
            assert line.starts == sorted(line.starts)
            assert len(found.events) <= 3 * len(pages) + sum(map(len, pages)) // 4


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=4), st.integers(0, 400))
def test_any_bytes_are_pages(blobs: list[bytes], commit: int) -> None:
    pages = [*blobs, *(struct.pack("<QQ", 5, commit) + blob for blob in blobs)]
    found = decode(pages, BY)
    assert [event.ns for event in found.events] == sorted(event.ns for event in found.events)
    timeline(found.events)

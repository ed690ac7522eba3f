"""Real pages of four kernels against the kernel's own text of them; damaged pages; anything."""

from __future__ import annotations

import random
import struct

import pytest
from cause_traces import DATA, SEEN, decoder_of, real_pages
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.causes.pages import LOST, PAGE, Event, decode
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
    for kernel in SEEN:
        by, real = decoder_of(kernel), real_pages(kernel)
        for _ in range(60):
            pages = [bytearray(one) for one in real]
            for _ in range(draw.choice([1, 1, 3, 30])):
                broken = draw.choice(pages)
                broken[draw.choice([draw.randrange(24), draw.randrange(4096)])] = draw.randrange(256)
            cut = draw.choice([4096, 4096, draw.randrange(4096)])
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

"""A trace as the file that `trace-cmd report` and KernelShark read: trace.dat, version 6.

Source: the manual page trace-cmd.dat.v6(5) and, for the options, trace-cmd.dat.v7(5). In order: the words of the kernel about
pages, events and symbols; names of threads; a table of CPUs; and for each CPU its ring-buffer pages as the kernel wrote them, at
a multiple of the page size. All numbers are little-endian, as on all boards that are supported.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from rtassay.causes.formats import PageLayout, page_layout
from rtassay.causes.pages import LOST, PAGE, SWITCH, Decoder, Event, decode, decoder
from rtassay.model.causes import Hit, Trace

BEFORE_NS = 2_000_000
"""Of a chosen wake-up the pages from this long before its due time on are taken, as the probe does."""

_MAGIC = b"\x17\x08\x44tracing6\0"
_LITTLE_ENDIAN = 0
_CLOCK = 4
"""Number of the option that names the clock of the time stamps."""
_FTRACE = "ftrace"
_MOST_THREADS = 1 << 16


@dataclass(frozen=True, slots=True)
class TraceDat:
    """The file, and what it holds. `damaged`: pages that cannot be decoded to their end, and are left out."""

    data: bytes
    pages: int
    events: int
    damaged: int


@dataclass(frozen=True, slots=True)
class _Page:
    raw: bytes
    events: list[Event]

    def overlaps(self, hit: Hit) -> bool:
        return self.events[0].ns <= hit.woke_ns and self.events[-1].ns >= hit.due_ns - BEFORE_NS


def trace_dat(trace: Trace, hits: Sequence[Hit] | None = None) -> TraceDat:
    """The trace as a file; with `hits` only the pages of all CPUs around these. Raises NotATrace.

    Pages that came twice stand in it once. `events` counts those that our own decoder knows.
    """
    layout = page_layout(trace.header_page)
    by = decoder(layout, trace.formats)
    found = {cpu: _sound(pages, by) for cpu, pages in trace.pages.items() if cpu >= 0}
    kept = {
        cpu: [page for page in pages if hits is None or any(page.overlaps(hit) for hit in hits)]
        for cpu, (pages, _) in found.items()
    }
    events = [event for pages in kept.values() for page in pages for event in page.events]
    head = _head(trace, layout, _threads(events), 1 + max(kept, default=-1))
    return TraceDat(
        data=head + _pages(len(head), kept, layout),
        pages=sum(map(len, kept.values())),
        events=sum(event.name not in (PAGE, LOST) for event in events),
        damaged=sum(damaged for _, damaged in found.values()),
    )


def _sound(pages: Iterable[bytes], by: Decoder) -> tuple[list[_Page], int]:
    """Pages of one CPU in the order of time, each once, with their events; and how many are damaged."""
    size = by.layout.data_offset + by.layout.data_size
    kept: list[_Page] = []
    damaged = 0
    for raw in sorted(dict.fromkeys(pages), key=lambda page: page[:8][::-1]):
        decoded = decode([raw], by)
        before = kept and decoded.events[0].ns < kept[-1].events[-1].ns
        if decoded.damaged or before or len(raw) > size:
            damaged += 1
        else:
            kept.append(_Page(raw, decoded.events))
    return kept, damaged


def _threads(events: Iterable[Event]) -> bytes:
    """`pid name` of each thread that a switch names, as tracefs prints `saved_cmdlines`."""
    names: dict[int, str] = {}
    for event in events:
        if event.name == SWITCH and len(names) < _MOST_THREADS:
            name, pid, _, _, next_name, next_pid, _ = event.values
            names[int(pid)], names[int(next_pid)] = str(name), str(next_name)
    names.pop(0, None)  # of each CPU's idle thread the reader knows the name
    return "".join(f"{pid} {name}\n" for pid, name in sorted(names.items())).encode()


def _head(trace: Trace, layout: PageLayout, threads: bytes, cpus: int) -> bytes:
    """All up to the table of CPUs, without it. The board sends no `header_event` and no printk formats: they are empty."""
    kernels = {name: text.encode() for name, text in sorted(trace.formats.items())}
    own = [text for name, text in kernels.items() if name.startswith(f"{_FTRACE}/")]
    others = {name: text for name, text in kernels.items() if not name.startswith(f"{_FTRACE}/")}
    return b"".join(
        (
            _MAGIC,
            struct.pack("<BBI", _LITTLE_ENDIAN, layout.commit_size, layout.data_offset + layout.data_size),
            b"header_page\0" + _long(trace.header_page.encode()),
            b"header_event\0" + _long(b""),
            struct.pack("<I", len(own)) + b"".join(map(_long, own)),
            _events(others),
            _short(trace.kallsyms.encode()),
            _short(b""),
            _long(threads),
            struct.pack("<I", cpus),
            b"options  \0" + struct.pack("<H", _CLOCK) + _short(b"[mono]\0") + struct.pack("<H", 0),
            b"flyrecord\0",
        )
    )


def _events(formats: Mapping[str, bytes]) -> bytes:
    """Formats by the system of their event."""
    systems = [(system, list(names)) for system, names in groupby(formats, key=lambda name: name.split("/")[0])]
    return struct.pack("<I", len(systems)) + b"".join(
        system.encode() + b"\0" + struct.pack("<I", len(names)) + b"".join(_long(formats[name]) for name in names)
        for system, names in systems
    )


def _pages(begin: int, kept: Mapping[int, Sequence[_Page]], layout: PageLayout) -> bytes:
    """The table of CPUs, and behind it their pages; `begin` is the place of the table in the file."""
    size = layout.data_offset + layout.data_size
    cpus = range(1 + max(kept, default=-1))
    first = begin + 16 * len(cpus)
    padding = -first % size
    table, at = [], first + padding
    for cpu in cpus:
        length = size * len(kept.get(cpu, ()))
        table.append(struct.pack("<QQ", at, length))
        at += length
    raw = (page.raw.ljust(size, b"\0") for cpu in cpus for page in kept.get(cpu, ()))
    return b"".join(table) + bytes(padding) + b"".join(raw)


def _long(data: bytes) -> bytes:
    """Its length as 8 bytes, and the data."""
    return struct.pack("<Q", len(data)) + data


def _short(data: bytes) -> bytes:
    """Its length as 4 bytes, and the data."""
    return struct.pack("<I", len(data)) + data

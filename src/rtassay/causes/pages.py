"""Ring-buffer pages to the events the timeline needs.

A page: u64 time stamp in ns, the commit (bytes of data; bit 31: events were lost before this page; bit 30: their number
follows the data), then records. A record begins with a word: 5 bits of type, 27 bits of time since the one before.

| type | record |
| --- | --- |
| 0 | data; the next word holds its length, itself included |
| 1 to 28 | data of 4 x type bytes |
| 29 | padding: with no time, to the end of the page; else as long as the next word says |
| 30 | time extend: the next word holds the upper bits of the time |
| 31 | absolute time: the same two words are the lower 59 bits of the time stamp |

Source: include/linux/ring_buffer.h and the kernel's Documentation/trace/ring-buffer-design. All supported boards are
little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from rtassay.causes.formats import Format, PageLayout, Reader, StackReader, event_format
from rtassay.model.causes import NotATrace

SWITCH: Final = "sched/sched_switch"
WAKING: Final = "sched/sched_waking"
IRQ_ENTRY: Final = "irq/irq_handler_entry"
IRQ_EXIT: Final = "irq/irq_handler_exit"
SOFTIRQ_ENTRY: Final = "irq/softirq_entry"
SOFTIRQ_EXIT: Final = "irq/softirq_exit"
HRTIMER_ENTRY: Final = "timer/hrtimer_expire_entry"
HRTIMER_EXIT: Final = "timer/hrtimer_expire_exit"
NMI: Final = "nmi/nmi_handler"
PAGE_FAULTS: Final = ("exceptions/page_fault_user", "exceptions/page_fault_kernel")
TIMERLAT: Final = "ftrace/timerlat"
"""A reading of the kernel's tracer timerlat. Its events of what interrupted come from osnoise:"""
NMI_NOISE: Final = "osnoise/nmi_noise"
IRQ_NOISE: Final = "osnoise/irq_noise"
SOFTIRQ_NOISE: Final = "osnoise/softirq_noise"
THREAD_NOISE: Final = "osnoise/thread_noise"
TRACERS: Final = (TIMERLAT, NMI_NOISE, IRQ_NOISE, SOFTIRQ_NOISE, THREAD_NOISE)
STACK: Final = "ftrace/kernel_stack"
"""The stack of the event before it: the addresses of the functions, the innermost first."""
LOST: Final = "lost"
"""Not the kernel's: events are missing between the event before and the one after."""
PAGE: Final = "page"
"""Not the kernel's: a page begins. Pages far from any hit were not sent, so that the one before may have been another."""

_COMMON: Final = ("common_flags", "common_preempt_count", "common_pid")
_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    SWITCH: ("prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"),
    WAKING: ("pid", "prio"),
    IRQ_ENTRY: ("irq", "name"),
    IRQ_EXIT: ("irq",),
    SOFTIRQ_ENTRY: ("vec",),
    SOFTIRQ_EXIT: ("vec",),
    HRTIMER_ENTRY: ("function",),
    HRTIMER_EXIT: (),
    NMI: ("delta_ns",),
    **dict.fromkeys(PAGE_FAULTS, ()),
    TIMERLAT: ("seqnum", "context", "timer_latency"),
    NMI_NOISE: ("duration",),
    IRQ_NOISE: ("duration", "desc"),
    SOFTIRQ_NOISE: ("duration", "vector"),
    THREAD_NOISE: ("duration", "comm"),
}
_REQUIRED: Final = (SWITCH, WAKING)
_PADDING, _TIME_EXTEND, _ABSOLUTE = 29, 30, 31
_EVENTS_MISSED = 1 << 31
_COMMIT = (1 << 30) - 1
_LOWER_BITS = (1 << 59) - 1
_U32, _U64, _TYPE = struct.Struct("<I"), struct.Struct("<Q"), struct.Struct("<H")


class Event(NamedTuple):
    """One record. flags, depth (of preemption off), pid: the common fields of what the record interrupted; values: in the order of the table."""

    ns: int
    name: str
    flags: int
    depth: int
    pid: int
    values: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Decoder:
    """What pages of one trace are decoded by. `readers`: number of an event's type to its name and reader."""

    layout: PageLayout
    readers: Mapping[int, tuple[str, Reader | StackReader]]


@dataclass(frozen=True, slots=True)
class Decoded:
    """Events of one CPU in the order of time, how many pages were damaged, and how many lost events before them."""

    events: list[Event]
    damaged: int
    lossy: int


def decoder(layout: PageLayout, formats: Mapping[str, str]) -> Decoder:
    """Readers for the events of the table, and for every pair of `irq_vectors/` and `ipi/`. Raises NotATrace."""
    missing = [name for name in _REQUIRED if name not in formats]
    if missing:
        raise NotATrace(f"the trace has no format of {missing[0]}", "no wake-up can be explained without it")
    readers: dict[int, tuple[str, Reader | StackReader]] = {}
    for name, text in formats.items():
        if name == STACK:
            form = event_format(name, text)
            readers[_id(form)] = (name, StackReader(form, _COMMON, layout.commit_size))
        if name in _FIELDS or is_pair(name):
            form = event_format(name, text)
            readers[_id(form)] = (name, Reader(form, (*_COMMON, *_FIELDS.get(name, ()))))
    return Decoder(layout, readers)


def is_pair(name: str) -> bool:
    """Whether the event is the entry or the exit of an interrupt of its own event, such as `irq_vectors/local_timer_entry`."""
    return name.startswith(("irq_vectors/", "ipi/")) and name.endswith(("_entry", "_exit"))


def decode(pages: Iterable[bytes], by: Decoder) -> Decoded:
    """Pages of one CPU, doubles included, to its events. Never raises: a damaged page gives the events before the damage,
    then LOST.

    Pages of one time stamp stay in the order in which they were read: the kernel stamps the rest of a page that was read
    before with the last event read.
    """
    events: list[Event] = []
    damaged = lossy = 0
    for page in sorted(dict.fromkeys(pages), key=_start):
        if len(page) < by.layout.data_offset:
            damaged += 1
            events.append(_lost(events[-1].ns if events else 0))
            continue
        start = _start(page)
        if events and start < events[-1].ns:
            damaged += 1
            events.append(_lost(events[-1].ns))
            continue
        events.append(Event(start, PAGE, 0, 0, -1, ()))
        commit = int.from_bytes(
            page[by.layout.commit_offset : by.layout.commit_offset + by.layout.commit_size], "little"
        )
        if commit & _EVENTS_MISSED:
            lossy += 1
            events.append(_lost(start))
        if not _records(page, start, by.layout.data_offset + (commit & _COMMIT), by, events):
            damaged += 1
            events.append(_lost(max(start, events[-1].ns if events else 0)))
    return Decoded(events, damaged, lossy)


def _start(page: bytes) -> int:
    return int.from_bytes(page[:8], "little")


def _lost(ns: int) -> Event:
    return Event(ns, LOST, 0, 0, -1, ())


def _id(form: Format) -> int:
    if not 0 <= form.id <= 0xFFFF:
        raise NotATrace(f"the format of {form.name} is damaged", f"no event has the number {form.id}")
    return form.id


def _records(page: bytes, ns: int, end: int, by: Decoder, events: list[Event]) -> bool:
    """Appends the events of `page` up to byte `end`; False if something in it cannot be."""
    if end > len(page):
        return False
    at = by.layout.data_offset
    readers, word_of, type_of = by.readers, _U32.unpack_from, _TYPE.unpack_from
    while at + 4 <= end:
        (word,) = word_of(page, at)
        kind, delta = word & 31, word >> 5
        if 0 < kind < _PADDING:
            data, size = at + 4, 4 * kind
        elif at + 8 > end:
            return kind == _PADDING and not delta
        else:
            (second,) = word_of(page, at + 4)
            if kind in (_TIME_EXTEND, _ABSOLUTE):
                stamp = delta + (second << 27)
                absolute = (ns & ~_LOWER_BITS) | stamp
                if kind == _ABSOLUTE and absolute < ns:
                    return False
                ns = absolute if kind == _ABSOLUTE else ns + stamp
                at += 8
                continue
            if kind == _PADDING and not delta:
                return True
            if second < 4:
                return False
            data, size = at + 8, (second - 4 + 3) & ~3
        if data + size > end:
            return False
        ns += delta
        if kind != _PADDING:
            if size < 2:
                return False
            found = readers.get(type_of(page, data)[0])
            if found is not None:
                name, reader = found
                if size < reader.need:
                    return False
                flags, depth, pid, *values = reader.read(page, data, size)
                events.append(Event(ns, name, flags, depth, pid, tuple(values)))  # type: ignore[arg-type]
        at = data + size
    return at == end

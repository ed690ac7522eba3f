"""A CPU that writes a trace and knows the truth: who owned each nanosecond of a late wake-up.

It writes what the kernel would write, in the format of any kernel of tests/data/causes, page by page.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from cause_traces import decoder_of, texts

from rtassay.causes.formats import Format, event_format
from rtassay.model.causes import Cause, Hit, Trace

RESCHED, IRQ_FLAG, SOFT_FLAG, BH = 0x04, 0x08, 0x10, 0x80
LANE, LANE_PRIORITY, INTERVAL = 100, 9, 1_000_000
ENTRY, INSIDE, SWITCH, OWN = 3_000, 2_000, 4_000, 5_000
"""What each step of an ordinary wake-up takes here."""


@dataclass
class Thread:
    """A thread; `priority` as the kernel counts."""

    pid: int
    name: str
    priority: int


IDLE = Thread(0, "swapper/0", 120)
OURS = Thread(LANE, "lane", LANE_PRIORITY)


@dataclass
class Cpu:
    """Time passes by `spend`, which says who owns it; everything else writes an event."""

    kernel: str
    current: Thread
    realtime: bool = False
    ns: int = 10_000_000
    flags: int = 0
    depth: int = 0
    truth: list[tuple[str, Cause, int]] = field(default_factory=list)
    hits: list[Hit] = field(default_factory=list)
    pages: list[bytes] = field(default_factory=list)
    phase: str | None = None
    _records: list[tuple[int, bytes]] = field(default_factory=list)
    _formats: dict[str, Format] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.header, self.texts = texts(self.kernel)
        self._formats = {name: event_format(name, text) for name, text in self.texts.items()}
        self.layout = decoder_of(self.kernel).layout

    def spend(self, ns: int, owner: Cause) -> None:
        """Time passes; inside of a hit its owner is the truth."""
        if self.phase is not None and ns:
            self.truth.append((self.phase, owner, ns))
        self.ns += ns

    def emit(self, name: str, /, **values: int | str) -> None:
        """One record now. Events that the kernel does not have are not written."""
        form = self._formats.get(name)
        if form is None:
            return
        common = {
            "common_type": form.id,
            "common_flags": self.flags,
            "common_preempt_count": self.depth,
            "common_pid": self.current.pid,
        }
        size = max(item.offset + item.size for item in form.fields.values())
        raw = bytearray(size)
        for key, value in {**common, **values}.items():
            item = form.fields[key]
            if item.data_loc:
                text = str(value).encode() + b"\0"
                raw += text
                value = size | len(text) << 16
            if isinstance(value, str):
                raw[item.offset : item.offset + item.size] = value.encode().ljust(item.size, b"\0")
            else:
                raw[item.offset : item.offset + item.size] = (value & (1 << 8 * item.size) - 1).to_bytes(
                    item.size, "little"
                )
        self._records.append((self.ns, bytes(raw)))

    def interrupt(self, name: str, number: int | None = None) -> tuple[str, int | None]:
        """An interrupt begins: of its own event if `number` is None. Returns what `leave` takes."""
        self.flags |= IRQ_FLAG
        if number is None:
            self.emit(f"{name}_entry")
        else:
            self.emit("irq/irq_handler_entry", irq=number, name=name)
        return name, number

    def leave(self, what: tuple[str, int | None]) -> None:
        """It ends."""
        name, number = what
        if number is None:
            self.emit(f"{name}_exit")
        else:
            self.emit("irq/irq_handler_exit", irq=number)
        self.flags &= ~IRQ_FLAG

    def timer(self) -> tuple[str, int | None]:
        """The timer's interrupt begins, by the name it has on this kernel."""
        own = "irq_vectors/local_timer_entry" in self._formats
        return self.interrupt("irq_vectors/local_timer") if own else self.interrupt("arch_timer", 11)

    def switch(self, to: Thread, runnable: bool = True, out_priority: int | None = None) -> None:
        """The scheduler chooses `to`."""
        flags, self.flags = self.flags, self.flags & ~(RESCHED | IRQ_FLAG | SOFT_FLAG | BH)
        out = self.current
        self.emit(
            "sched/sched_switch",
            prev_comm=out.name,
            prev_pid=out.pid,
            prev_prio=out.priority if out_priority is None else out_priority,
            prev_state=0 if runnable or out is IDLE else 1,
            next_comm=to.name,
            next_pid=to.pid,
            next_prio=to.priority,
        )
        self.flags = flags & ~(RESCHED | IRQ_FLAG | SOFT_FLAG | BH)
        self.depth = 0
        self.current = to

    def wake(self, thread: Thread) -> None:
        """`thread` is woken; idle is asked to make room at once."""
        self.emit("sched/sched_waking", comm=thread.name, pid=thread.pid, prio=thread.priority, target_cpu=0)
        self.flags |= RESCHED if self.current is IDLE else 0

    def trace(self, kallsyms: str = "") -> Trace:
        """All that was written, in pages."""
        return Trace(self.header, self.texts, {0: tuple(self.to_pages())}, tuple(self.hits), kallsyms)

    def to_pages(self, lost: tuple[int, ...] = ()) -> list[bytes]:
        """The records in pages; those of `lost` are left out and the next one says so."""
        pages: list[bytes] = []
        body, start, last, number, missed = b"", 0, 0, 0, False
        for ns, raw in [*self._records, (0, b"")]:
            coded = self._coded(ns - last if body else 0, raw) if raw else b""
            if body and (not raw or len(body) + len(coded) > self.layout.data_size):
                if number in lost:
                    missed = True
                else:
                    pages.append(self._page(start, body, missed))
                    missed = False
                number += 1
                body = b""
                coded = self._coded(0, raw) if raw else b""
            if not body:
                start = ns
            body += coded
            last = ns
        return pages

    def _coded(self, delta: int, raw: bytes) -> bytes:
        extend = b""
        if delta >= 1 << 27:
            extend = struct.pack("<II", (delta & (1 << 27) - 1) << 5 | 30, delta >> 27)
            delta = 0
        raw = raw.ljust(-(-len(raw) // 4) * 4, b"\0")
        if len(raw) <= 112:
            return extend + struct.pack("<I", delta << 5 | len(raw) // 4) + raw
        return extend + struct.pack("<II", delta << 5, len(raw) + 4) + raw

    def _page(self, start: int, body: bytes, missed: bool) -> bytes:
        commit = (len(body) | missed << 31).to_bytes(self.layout.commit_size, "little")
        return (struct.pack("<Q", start) + commit).ljust(self.layout.data_offset, b"\0") + body.ljust(
            self.layout.data_size, b"\0"
        )

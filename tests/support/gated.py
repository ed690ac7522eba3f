"""Kernels and boots of the gate without QEMU: images of a few bytes, and streams as rtprobe writes them."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rtassay.gate.boots import Cell, Make, Measured
from rtassay.gate.gating import Plan, Tools, gate
from rtassay.gate.kernels import Opened
from rtassay.gate.needs import NEEDED, NEEDED_BY_ARCH, WANTED
from rtassay.gate.streams import events_of, series_of
from rtassay.lab.measured import ENDED
from rtassay.lab.script import ScriptResult
from rtassay.model.events import End, Facts, Note, Samples
from rtassay.model.gate import NAMED, Gate, GatedKernel, HeldFunction, Holder
from rtassay.wire.encode import StreamEncoder

TOOLS = Tools("QEMU emulator version 7.2", b"userland", b"rtprobe")
FULL = dict.fromkeys((*NEEDED, *(name for of in NEEDED_BY_ARCH.values() for name in of), *WANTED, "NET", "UNIX"), "y")


def config(options: Mapping[str, str]) -> str:
    """The text of a .config."""
    return "".join(f"CONFIG_{name}={value}\n" for name, value in options.items())


def elf(machine: int = 62, notes: bytes = b"", rest: bytes = b"") -> bytes:
    """A 64-bit ELF file with one segment of notes."""
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack(
        "<HHIQQQIHHHHHH", 2, machine, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(notes), 0, 4)
    return head + segment + notes + rest


PVH = struct.pack("<III", 4, 4, 18) + b"Xen\0" + b"\0\0\0\1"
BANNER = b"Linux version 6.1.0-test (me@here) (gcc) #1 SMP PREEMPT_RT Mon Jan 1\n"


def carried(options: Mapping[str, str]) -> bytes:
    """A configuration as CONFIG_IKCONFIG keeps it in a kernel."""
    return b"IKCFG_ST" + gzip.compress(config(options).encode()) + b"IKCFG_ED"


def bzimage(kernel: bytes, *, pack: Callable[[bytes], bytes] = gzip.compress, sixty_four: bool = True) -> bytes:
    """The smallest header of Documentation/x86/boot.rst that says where the packed kernel is."""
    packed = pack(kernel)
    head = bytearray(1024)
    head[0x1F1] = 1
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x100)
    head[0x236] = int(sixty_four)
    struct.pack_into("<II", head, 0x248, 0, len(packed))
    head[0x300:0x310] = b"6.1.0-test (me)\0"
    return bytes(head) + packed


def arm64_image(rest: bytes = b"") -> bytes:
    """The header of Documentation/arm64/booting.rst."""
    return b"\0" * 0x38 + b"ARMd" + b"\0" * 4 + rest


def zimage(kernel: bytes, *, pack: Callable[[bytes], bytes] = gzip.compress) -> bytes:
    """A zImage of 32-bit ARM: its magic number, and the packed kernel after something that begins as one."""
    return b"\0" * 0x24 + b"\x18\x28\x6f\x01" + b"\0" * 24 + b"\x1f\x8b\x08 no kernel " + pack(kernel)


def kernel(name: str, options: Mapping[str, str] | None = FULL) -> Opened:
    lacks = None if options is None else tuple(option for option in WANTED if option not in options)
    return Opened(GatedKernel(name, "6.1", None, f"sha of {name}", None, lacks), name.encode(), options)


def stream(latencies_ns: Sequence[int], *, first_k: int = 0, traced_from: int | None = None) -> bytes:
    """A lane at 1 ms; what a latency misses follows from it. `traced_from`: the activation at which the events are on."""
    latency = np.array(latencies_ns, np.int64)
    missed = latency // 1_000_000
    kernel_says = {"release": "6.1", "version": "#1 SMP PREEMPT_RT", "machine": "x86_64"}
    facts = {
        "stream": 1, "command": "cyclic", "kernel": kernel_says, "interval_ns": 1_000_000, "lanes": [{"lane": 0, "first_due_ns": 5_000_000}],
    }  # fmt: skip
    events = [Facts(facts)]
    if traced_from is not None:
        events.append(Note("trace_begin", None, {"mono_ns": 5_000_000 + traced_from * 1_000_000}))
    events += [Samples(0, first_k, latency, missed, np.zeros_like(latency)), End({"reason": "done"})]
    return StreamEncoder().encode_all(events)


def measured(content: bytes, *, ended: bool = False) -> Measured:
    """A boot that brought this stream. `ended`: its load did not run to the end."""
    events = events_of(content)
    files = {ENDED: b"load\n"} if ended else {}
    result = ScriptResult(files, 0, "", 20_000_000_000, 1, TOOLS.qemu, 1, {"initrd": "sha of initrd"})
    return Measured(content, events, series_of(events), result)


def maker(answer: Callable[[Cell], Measured], asked: list[Cell] | None = None) -> Make:
    """Boots that are answered at once; `asked` gets every cell."""

    def make(cells: Sequence[Cell]) -> list[Measured]:
        if asked is not None:
            asked.extend(cells)
        return [answer(cell) for cell in cells]

    return make


def regressed(*, base: bool = True) -> Gate:
    """dd is later in both seeds, with a known holder; idle is not."""
    us = 1000

    def answer(cell: Cell) -> Measured:
        later = cell.load == "dd" and cell.kernel.kernel.name == "new"
        return measured(stream([20 * us, (140 if later else 40) * us + cell.seed, 30 * us]))

    plan = Plan(("idle", "dd"), (1, 2), count=3, interval_ns=1_000_000, deadline_ns=100 * us)
    found = gate(kernel("new"), kernel("base") if base else None, plan, TOOLS, maker(answer))
    holder = Holder("preemption-off", "dd", "settle_areas", 105 * us, 0, 9, 0)
    section = HeldFunction("delay_loop", ("settle_areas", "__x64_sys_brk"), True, 101 * us, 0)
    named = replace(found.loads[1], search=NAMED, functions=(section,), holders=(holder,))
    loads = (found.loads[0], named) if base else found.loads
    return replace(found, loads=loads)

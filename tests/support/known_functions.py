"""Faults of known functions on the script board, in a module and in the kernel itself, and the functions that stacks name."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import known_causes

from rtassay.causes.attribution import attribute
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import STREAM, ScriptBoard
from rtassay.model.causes import Part

HITS = 12
LENGTH_US = 3000
ABOVE = "200us"
"""Above a wake-up with a stack, which takes some 140 us here."""
_PERIOD_NS = 40_000_000
_LEAD_NS = 140_000


@dataclass(frozen=True, slots=True)
class Named:
    """The longest part of each hit, by the thread that it names; `left`: instances of tracefs that were left."""

    parts: dict[str, list[Part]]
    left: str

    def functions(self, thread: str) -> Counter[tuple[str, str, str]]:
        """(kind, function without offset, moment) of the parts of one thread; "-" without a place."""
        return Counter(
            (part.cause.kind, "-", "-")
            if part.place is None
            else (
                part.cause.kind,
                part.place.function.partition("+")[0] + part.place.function.partition(" ")[2],
                part.place.at,
            )
            for part in self.parts.get(thread, [])
        )


def run(kernel: str, module: bytes, probe: Path) -> Named:
    """Interrupts off and preemption off in the module, and the kernel's own printing of all threads (sysrq t), in one boot."""
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe.read_bytes(), "rtfault.ko": module}
    board = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, _script())
    result = board.run(900)
    assert result.exit_code == 0, result.console[-2000:]
    trace, realtime = known_causes.trace_of(result.stream)
    parts: dict[str, list[Part]] = {}
    for one in attribute(trace, virtual=False, realtime=realtime):
        named = [part for part in one.parts if part.cause.pid is not None and part.cause.kind != "thread"]
        if named:
            longest = max(named, key=lambda part: part.ns)
            parts.setdefault(longest.cause.name, []).append(longest)
    return Named(parts, result.files["left"].decode())


def _script() -> str:
    lines = [
        "set -e; insmod /rtfault.ko",
        f"rtprobe cyclic --cpus 0 --interval 1ms --duration 12s --trace-above {ABOVE} --trace-stacks --no-samples -o /out/{STREAM} &",
        "probe=$!",
        f"until grep -q -a trace_begin /out/{STREAM} 2>/dev/null; do sleep 0.2; done",
        f"first=$(grep -a -o '\"first_due_ns\": *[0-9]*' /out/{STREAM} | head -n 1 | grep -o '[0-9]*$')",
    ]
    for letter in "ip":
        lines += [
            "now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 ))",
            "k=$(( (now - first) / 1000000 + 150 ))",
            f'echo "{letter} {LENGTH_US} {HITS} $((first + k * 1000000 - {_LEAD_NS})) {_PERIOD_NS}" > /proc/rtfault',
            "sleep 0.7",
        ]
    lines += ["for n in 1 2 3 4 5 6 7 8 9; do echo t > /proc/sysrq-trigger; sleep 0.1; done", "wait $probe"]
    return "\n".join([*lines, "ls /sys/kernel/tracing/instances > /out/left", ""])

"""Size and cost of rtprobe-lite on FreeRTOS: bench/RTLITE.md. `.venv/bin/python bench/rtlite.py`; in virtual time, the same on every machine."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

from rtassay.lab import rtos
from rtassay.model.events import End
from rtassay.wire.console import ConsoleParser

ROOT = Path(__file__).resolve().parents[1]
IMAGE = ROOT / "src" / "rtassay" / "lab" / "freertos" / "rtlite-mps2-an385.elf"
LITE = ROOT / "probe" / "lite"
NS_PER_INSTRUCTION = 1 << rtos.SHIFT
SATURATED_NS = 10_000  # shorter than an activation takes: the lane never sleeps


def segments(image: bytes) -> tuple[int, int]:
    """Bytes in flash (code, constants, start values) and in RAM (data, zeroed)."""
    offset, size, count = struct.unpack_from("<I", image, 28)[0], *struct.unpack_from("<HH", image, 42)
    flash = ram = 0
    for i in range(count):
        kind, _, address, _, in_file, in_memory = struct.unpack_from("<6I", image, offset + i * size)
        if kind == 1:
            flash += in_file
            ram += in_memory if address >= 0x20000000 else 0
    return flash, ram


def run(plan: str) -> dict[str, Any]:
    parser = ConsoleParser()
    events = parser.feed(rtos.script([plan]).console) + parser.finish()
    (end,) = [event.data for event in events if isinstance(event, End)]
    found: dict[str, Any] = end["lanes"][0]
    return found


def main() -> None:
    flash, ram = segments(IMAGE.read_bytes())
    idle = run("run count=2000")
    busy = run(f"run count=100000 interval_ns={SATURATED_NS}")
    path = idle["sum_ns"] // idle["n"] // NS_PER_INSTRUCTION
    each = 100_000 * SATURATED_NS // busy["n"] // NS_PER_INSTRUCTION
    lines = {path.name: len(path.read_text().splitlines()) for path in sorted(LITE.glob("*.c"))}
    rows = [
        ("flash of the whole program (FreeRTOS, its port and rtprobe-lite), bytes", flash),
        ("RAM of it (three stacks of 2 KiB, one lane of 6 KiB), bytes", ram),
        ("lines of C that are the same everywhere", sum(lines.values())),
        ("instructions from the timer's interrupt to the lane's reading of the clock", path),
        ("instructions of an activation that need not wait (two readings of the clock, the account)", each),
    ]
    text = [
        "# Size and cost of rtprobe-lite",
        "",
        "`.venv/bin/python bench/rtlite.py`: FreeRTOS V11.2.0 on a Cortex-M3 (QEMU's mps2-an385) in virtual time, compiled by gcc 12.2 with -O2. The same on every machine.",
        "",
        "| what | |",
        "| --- | ---: |",
        *(f"| {what} | {value:,} |" for what, value in rows),
        "",
        "At 25 million instructions a second, an activation takes "
        f"{each / 25:.0f} us of CPU time: keep --interval at ten times that or more on such a processor.",
        "",
    ]
    (ROOT / "bench" / "RTLITE.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()

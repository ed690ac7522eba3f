"""A thread above the lanes that does on demand what real boards suffer from: `python hog.py CPU PRIORITY NAME LIFE_S`, a line an order.

`burn SECONDS` uses its CPU without a pause; `memory MEGABYTES SECONDS` takes so much memory, page by page, and holds it for so long. The answer to
an order is its begin and its end on CLOCK_MONOTONIC, in ns. In between it wakes 20 times a second, as an interrupt thread of a slow device does.
It bounds itself twice: no order keeps the CPU for more than 1.5 s by the clock, and the kernel kills it for 2 s of real-time use without a sleep.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import resource
import select
import sys
import time

MOST_S = 1.5
PAGE = 4096


def burn(seconds: float) -> None:
    until = time.monotonic() + min(seconds, MOST_S)
    while time.monotonic() < until:
        pass


def take(megabytes: int) -> mmap.mmap:
    """Private memory of which every page was written to."""
    until, step = time.monotonic() + MOST_S, 8 << 20
    memory = mmap.mmap(-1, megabytes << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for begin in range(0, len(memory), step):
        end = min(begin + step, len(memory))
        memory[begin:end:PAGE] = b"\1" * len(range(begin, end, PAGE))
        if time.monotonic() > until:
            break
    return memory


def carry_out(words: list[str]) -> None:
    begin = time.monotonic_ns()
    held = None
    if words[0] == "burn":
        burn(float(words[1]))
    else:
        held = take(int(words[1]))
    print(begin, time.monotonic_ns(), flush=True)
    if held is not None:
        time.sleep(min(float(words[2]), 5))
        held.close()


def main(cpu: int, priority: int, name: str, life_s: float) -> None:
    resource.setrlimit(resource.RLIMIT_RTTIME, (2_000_000, 2_000_000))
    ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
    os.sched_setaffinity(0, {cpu})
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
    end = time.monotonic() + life_s
    print("ready", flush=True)
    orders = b""
    while time.monotonic() < end:
        if select.select([0], [], [], 0.05)[0]:
            if not (got := os.read(0, 256)):
                return
            orders += got
        while b"\n" in orders:
            line, _, orders = orders.partition(b"\n")
            carry_out(line.decode().split())


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]))

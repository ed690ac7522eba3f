"""What the gate can detect: the smallest section that rtfault adds, by kind, length, kernel and load.

    .venv/bin/python bench/gate_detection.py [--kernel rt|stock]... [--load NAME]... [--kind i|p|b]... [--us N]... [--keep FILE]

rtfault turns interrupts, preemption or bottom halves off once in 10.007 ms, at any phase of the wake-ups. The base is the same with sections of 0 us.
Prints a row a cell. A boot takes 20 s or more.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import rtfault

from rtassay.boards.binaries import probe_path
from rtassay.gate import judging, streams
from rtassay.gate.gating import COUNT, INTERVAL_NS
from rtassay.lab import measured, quick, userland
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard

KINDS = {"i": "interrupts off", "p": "preemption off", "b": "bottom halves off"}
LENGTHS_US = (5, 10, 20, 50, 100, 200)
_PERIOD_NS = 10_007_000
_WORDS = ("cyclic", "--cpus", "0", "--interval", f"{INTERVAL_NS}ns", "--count", str(COUNT))


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kernel", choices=list(rtfault.METAPACKAGES), action="append")
    options.add_argument("--load", choices=list(measured.LOADS), action="append")
    options.add_argument("--kind", choices=list(KINDS), action="append")
    options.add_argument("--us", type=int, action="append")
    options.add_argument("--keep", type=Path, default=Path("gate_detection.json"), help="tails that are known already")
    given = options.parse_args()
    tails: dict[str, int] = json.loads(given.keep.read_text()) if given.keep.exists() else {}
    lengths = given.us or LENGTHS_US
    print("| kernel | load | section | base us |", " | ".join(f"{us} us" for us in lengths), "|")
    print("| --- | --- | --- | --- |", " | ".join("---" for _ in lengths), "|")
    for kernel in given.kernel or rtfault.METAPACKAGES:
        with tempfile.TemporaryDirectory() as scratch:
            module = rtfault.build(kernel, Path(scratch))
        for load in given.load or ("none", "stress-ng"):
            for kind in given.kind or KINDS:
                row = []
                for us in (0, *lengths):
                    key = f"{kernel} {load} {kind} {us}"
                    if key not in tails:
                        tails[key] = _tail_ns(kernel, module, load, kind, us)
                        given.keep.write_text(json.dumps(tails, indent=1) + "\n")
                    row.append(tails[key])
                print(
                    f"| {kernel} | {load} | {KINDS[kind]} | {row[0] / 1000:.1f} |",
                    " | ".join(_cell(row[0], ns) for ns in row[1:]),
                    "|",
                    flush=True,
                )
    return 0


def _tail_ns(kernel: str, module: bytes, load: str, kind: str, us: int) -> int:
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    programs = userland.cached(arch) or userland.build(arch, print)
    count = 2 * COUNT * INTERVAL_NS // _PERIOD_NS
    begin = "first=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 + 100000000 ))"
    plan = f'insmod /rtfault.ko; {begin}; echo "{kind} {us} {count} $first {_PERIOD_NS}" > /proc/rtfault'
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes(), "rtfault.ko": module}
    script = f"{plan}\n{measured.script_of(_WORDS, load)}"
    result = measured.checked(ScriptBoard(image.kernels[kernel], programs, files, script).run())
    return int(streams.series_of(streams.events_of(result.stream)).latency_ns.max())


def _cell(base_ns: int, ns: int) -> str:
    found = "**" if ns - base_ns > judging.allowed_ns(base_ns) else ""
    return f"{found}{(ns - base_ns) / 1000:+.1f}{found}"


if __name__ == "__main__":
    sys.exit(main())

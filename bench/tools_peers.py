"""Everyone's tools and ours on one board, one after the other, each with one stall of 50 ms: bench/TOOLS.md and docs/guides/one-stall.md.

    .venv/bin/python bench/tools_peers.py                       the script board, both kernels: a table each
    .venv/bin/python bench/tools_peers.py --kernel rt --keep DIR   what the tools wrote, too

The board runs in virtual time, with one CPU; what is compared runs in one boot. The stall is rtfault's: interrupts off for 50 ms in the middle of each tool's 4 s.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import rtfault

from rtassay.boards.binaries import probe_path
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard

ROOT = Path(__file__).parents[1]
SECONDS, STALL_US = 4, 50_000
# name of the file -> the command that writes it to $OUT. Those with a tracer of the kernel run where the kernel has it.
TOOLS = {
    "rtprobe-cyclic.rtw": f"rtprobe cyclic --interval 1ms --duration {SECONDS}s --priority 90 -o $OUT",
    "cyclictest.txt": f"cyclictest -q -m -p 90 -i 1000 -h 1000 -a 0 -t 1 -D {SECONDS} > $OUT",
    "jitterdebugger.json": f"mkdir -p jd && jitterdebugger -i 1000 -p 90 -a 0 -D {SECONDS}s -o jd > /dev/null && mv jd/results.json $OUT",
    "rtprobe-deadline.rtw": f"rtprobe cyclic --policy deadline --interval 5ms --duration {SECONDS}s -o $OUT",
    "cyclicdeadline.json": f"cyclicdeadline -q -i 5000 -s 0 -t 1 -D {SECONDS} --json=$OUT > /dev/null",
    "rtprobe-response.rtw": f"rtprobe response --by futex --interval 1ms --duration {SECONDS}s --priority 90 -o $OUT",
    "rtprobe-noise.rtw": f"rtprobe noise --interval 1s --threshold 50us --duration {SECONDS}s -o $OUT",
    "oslat.txt": f"oslat -q -b 1024 -c 0 -D {SECONDS} > $OUT",
    "rtprobe-timerlat.rtw": f"rtprobe timerlat --interval 1ms --duration {SECONDS}s --priority 90 -o $OUT",
    "rtla-timerlat.txt": f"rtla timerlat hist -p 1000 -b 1 -E 100000 -c 0 -d {SECONDS}s -P f:90 --dma-latency 0 > $OUT",
    "rtprobe-osnoise.rtw": f"rtprobe osnoise --interval 1s --threshold 50us --duration {SECONDS}s -o $OUT",
    "rtla-osnoise.txt": f"rtla osnoise hist -p 1000000 -r 1000000 -T 50 -b 1 -E 100000 -c 0 -d {SECONDS}s > $OUT",
    "rtprobe-hwlat.rtw": f"rtprobe hwlat --interval 1s --width 500ms --threshold 10us --duration {SECONDS}s -o $OUT",
}
# What runs in one boot.
BOOTS = (
    ("rtprobe-cyclic.rtw", "cyclictest.txt", "jitterdebugger.json"),
    ("rtprobe-deadline.rtw", "cyclicdeadline.json", "rtprobe-response.rtw"),
    ("rtprobe-timerlat.rtw", "rtla-timerlat.txt"),
    ("rtprobe-osnoise.rtw", "rtla-osnoise.txt"),
    ("rtprobe-noise.rtw", "oslat.txt"),
    ("rtprobe-hwlat.rtw",),
)
TRACERS = {name: tracer for name in TOOLS for tracer in ("timerlat", "osnoise", "hwlat") if tracer in name}
# theirs, ours, and the measure of both
PAIRS = (
    ("cyclictest", "rtprobe-cyclic", "wake-up"),
    ("jitterdebugger", "rtprobe-cyclic", "wake-up"),
    ("cyclicdeadline", "rtprobe-deadline", "wake-up"),
    ("rtla-timerlat", "rtprobe-timerlat", "timer-irq"),
    ("rtla-timerlat", "rtprobe-timerlat", "timer-thread"),
)


def script(names: tuple[str, ...]) -> str:
    lines = [
        "insmod /rtfault.ko",
        "fault() {",
        "  now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 ))",
        f'  echo "i {STALL_US} 1 $((now + 100000000)) 1000000000" > /proc/rtfault',
        "}",
        # what drives a tracer of the kernel prepares it for seconds before it measures
        'begun() { [ -z "$1" ] || for i in $(seq 100); do grep -qs "$1" /sys/kernel/tracing/instances/*/current_tracer && break; sleep 0.1; done; }',
        'measured() { ( sh -c "$1" ) & begun "$2"; sleep 2; fault; wait $! || echo "$1: $?" >> /out/failed; }',
    ]
    for name in names:
        command, tracer = TOOLS[name], TRACERS.get(name)
        has = f"grep -qw {tracer} /sys/kernel/tracing/available_tracers && " if tracer else ""
        lines.append(f"{has}OUT=/out/{name} && export OUT && measured '{command}' {tracer or ''}")
    return "\n".join([*lines, "cat /proc/rtfault > /out/faults", "true\n"])


def boots(kernel: str, scratch: Path) -> dict[str, bytes]:
    """What each tool wrote, by the name of its file."""
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes(), "rtfault.ko": rtfault.build(kernel, scratch)}
    found: dict[str, bytes] = {}
    for names in BOOTS:
        result = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, script(names), 1).run(900)
        if failed := result.files.pop("failed", b""):
            print(f"{kernel}: these did not end well:\n{failed.decode()}", file=sys.stderr)
        if result.exit_code:
            raise SystemExit(f"the script ended with {result.exit_code}: {result.console[-1500:]}")
        found |= {name: result.files[name] for name in names if result.files.get(name)}
        print(f"{', '.join(names)}: {result.virtual_ns / 1e9:.0f} virtual s", file=sys.stderr)
    return found


def shown(folder: Path, home: Path) -> dict[str, dict[str, Any]]:
    """`show --json` of each file as a recording, by the name of the file without its end."""
    env = {**os.environ, "RTASSAY_HOME": str(home)}
    rtassay = ROOT / ".venv" / "bin" / "rtassay"
    found = {}
    for file in sorted(folder.iterdir()):
        done = subprocess.run([rtassay, "import", file, "--json"], env=env, capture_output=True, text=True)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            continue
        (one,) = json.loads(done.stdout)["recordings"]
        told = subprocess.run(
            [rtassay, "show", one["id"], "--json"], env=env, capture_output=True, text=True, check=True
        )
        found[file.stem] = json.loads(told.stdout)
    return found


def us(ns: int | None) -> str:
    return "-" if ns is None else f"{ns / 1000:,.1f}"


def median_ns(lane: dict[str, Any]) -> int | None:
    """None where the tool keeps no histogram."""
    found = next(quantile for quantile in lane["quantiles"] if quantile["q"] == 0.5)
    return int(found["value_ns"]) if found["bound"] == "exact" else None


def table(told: dict[str, dict[str, Any]]) -> list[str]:
    rows = [
        "| file | lane | measure | values | missed | median, us | maximum, us |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for name, one in told.items():
        for lane in one["lanes"]:
            missed = "not told" if lane["missed"] is None else f"{lane['missed']:,}"
            rows.append(
                f"| {name} | {lane['name']} | `{lane['measure']}` | {lane['n']:,} | {missed} | {us(median_ns(lane))} | {us(lane['max_ns'])} |"
            )
    rows += [
        "",
        "| theirs | ours | measure | theirs, us | ours, us | ratio of medians |",
        "| --- | --- | --- | ---: | ---: | ---: |",
    ]
    for theirs, ours, measure in PAIRS:
        if theirs not in told or ours not in told:
            continue
        lanes = [next(lane for lane in told[name]["lanes"] if lane["measure"] == measure) for name in (theirs, ours)]
        first, second = map(median_ns, lanes)
        ratio = f"{second / first:.2f}" if first and second else "-"
        rows.append(f"| {theirs} | {ours} | `{measure}` | {us(first)} | {us(second)} | {ratio} |")
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--kernel", choices=("stock", "rt"), help="only this one")
    options.add_argument("--keep", type=Path, help="a directory for what the tools wrote")
    asked = options.parse_args()
    for kernel in [asked.kernel] if asked.kernel else ["stock", "rt"]:
        with tempfile.TemporaryDirectory() as scratch:
            folder = asked.keep / kernel if asked.keep else Path(scratch) / "files"
            folder.mkdir(parents=True, exist_ok=True)
            (Path(scratch) / "module").mkdir()
            for name, content in boots(kernel, Path(scratch) / "module").items():
                (folder / name).write_bytes(content)
            print(f"\n{kernel}:\n\n" + "\n".join(table(shown(folder, Path(scratch) / "home"))))


if __name__ == "__main__":
    main()

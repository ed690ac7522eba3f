"""Faults of known kind, time and length on the script board, and what rtassay says of the wake-ups of a foreign program."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from known_causes import HITS, LENGTHS_US, Answer, Fault, Truth, judge

from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import STREAM, ScriptBoard

_PERIOD_NS = 40_000_000
_INTERVAL_NS = 1_000_000
ABOVE_NS = 90_000


def application(directory: Path) -> bytes:
    """The program that is followed, as a static binary of this machine."""
    program = directory / "periodic"
    source = Path(__file__).with_name("periodic.c")
    subprocess.run(["cc", "-O2", "-static", "-pthread", "-o", str(program), str(source)], check=True)
    return program.read_bytes()


def run(kernel: str, module: bytes, probe: Path, program: bytes, faults: Sequence[Fault], seed: int = 1) -> Answer:
    """All lengths of some kinds in one boot, while `rtprobe follow` follows the program."""
    truths, stream = record(kernel, module, probe, program, faults, seed=seed)
    return judge(faults, truths, stream)


def record(
    kernel: str,
    module: bytes,
    probe: Path,
    program: bytes,
    faults: Sequence[Fault],
    *,
    lengths_us: Sequence[int] = LENGTHS_US,
    hits: int = HITS,
    above_ns: int = ABOVE_NS,
    seed: int = 1,
) -> tuple[list[Truth], bytes]:
    """The faults as the module logged them, and the stream of `rtprobe follow`."""
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe.read_bytes(), "bin/periodic": program, "rtfault.ko": module}
    script = _script(kernel, faults, lengths_us, hits, above_ns)
    result = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, script, seed).run(900)
    assert result.exit_code == 0, result.console[-2000:]
    assert result.files["instances"] == b"", "a trace instance was left behind"
    rows = map(str.split, result.files["faults"].decode().splitlines())
    return [Truth(row[0], *map(int, row[1:])) for row in rows], result.stream


def _script(kernel: str, faults: Sequence[Fault], lengths_us: Sequence[int], hits: int, above_ns: int) -> str:
    """The program, rtprobe beside it, and when its events are on one plan after the other, at the phase of the due times."""
    each_s = hits * _PERIOD_NS / 1e9 + 0.3
    seconds = len(faults) * len(lengths_us) * each_s + 1
    lines = [
        "set -e; insmod /rtfault.ko",
        f"periodic control 80 {_INTERVAL_NS} 0 {seconds + 60:.0f} /tmp/first &",
        "app=$!; sleep 1.5; first=$(cat /tmp/first)",
        f"rtprobe follow --comm periodic --above {above_ns}ns --duration {seconds * 1000:.0f}ms > /out/{STREAM} &",
        "probe=$!",
        f"until grep -q -a trace_begin /out/{STREAM} 2>/dev/null; do sleep 0.2; done; sleep 0.2",
    ]
    for fault in faults:
        lead_ns = fault.lead_rt_ns if kernel == "rt" else fault.lead_ns
        for length_us in lengths_us:
            lines += [
                "now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 ))",
                f"k=$(( (now - first) / {_INTERVAL_NS} + 150 ))",
                f'echo "{fault.letter} {length_us} {hits} $((first + k * {_INTERVAL_NS} - {lead_ns})) {_PERIOD_NS}" > /proc/rtfault',
                f"sleep {each_s - 0.1:.2f}",
            ]
    ends = ["wait $probe", "ls /sys/kernel/tracing/instances > /out/instances", "cat /proc/rtfault > /out/faults"]
    return "\n".join([*lines, *ends, "kill $app", ""])

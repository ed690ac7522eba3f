"""How many late wake-ups get a cause under load, on an ordinary board of the lab: two CPUs, network, real time.

    .venv/bin/python bench/causes_campaign.py [--kernel rt|stock]... [--seconds 60] [--load NAME]... [--output DIR]

A pilot of 10 s without a trace tells the level of each load: its p95. Prints a row a load, and what stays unattributed.
`--rank REC...` measures nothing, and ranks recordings.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rtassay import store
from rtassay.lab import machine, quick
from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages
from rtassay.model.causes import UNATTRIBUTED, WAKE_UP
from rtassay.model.events import TraceText
from rtassay.model.recording import Lane, Recording
from rtassay.store.tracing import TRACE
from rtassay.wire.stream import StreamParser, read_events

INTERVAL = "2ms"
PILOT_S = 10

LOADS = {
    "stress-ng": "stress-ng",
    "hackbench": "hackbench",
    "iperf3": "iperf3",
    "dd": "command:sh -c 'while :; do dd if=/dev/zero of=/tmp/f bs=64k count=200 2>/dev/null; done'",
}


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--kernel", choices=["stock", "rt"], action="append")
    options.add_argument("--seconds", type=int, default=60)
    options.add_argument("--load", choices=list(LOADS), action="append")
    options.add_argument("--output", type=Path, help="directory for the recordings")
    options.add_argument("--rank", type=Path, nargs="+", help="recordings to rank instead")
    given = options.parse_args()
    print(f"| {' | '.join(COLUMNS)} |")
    print("| --- " * len(COLUMNS) + "|")
    for path in given.rank or ():
        tell(path.name, path)
    if given.rank:
        return 0
    with contextlib.ExitStack() as stack:
        home = given.output or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        home.mkdir(parents=True, exist_ok=True)
        image = _image()
        for kernel in given.kernel or ("stock", "rt"):
            board = machine.start(image, _say, name=f"campaign-{kernel}", kernel=kernel, with_parent=True)
            try:
                for name in given.load or LOADS:
                    level_ns = _level_ns(_measured(kernel, name, PILOT_S, home, "pilot"))
                    above = ["--trace-above", f"{level_ns}ns"]
                    tell(f"{kernel}, {name}", _measured(kernel, name, given.seconds, home, "traced", *above))
            finally:
                machine.stop(board)
    return 0


def _say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)


def _image() -> quick.QuickImage:
    """The quick board, with iperf3."""
    arch = arch_named("amd64")
    packages = Packages(arch.name)
    wanted = {"iperf3": ("usr/bin/iperf3",)}
    wanted |= dict.fromkeys(packages.libraries_of("iperf3"), ("usr/lib/x86_64-linux-gnu/*.so*",))
    extra = {}
    for home in packages.unpacked(wanted, print).values():
        for path in (path for path in home.rglob("*") if path.exists() and not path.is_dir()):
            extra[f"{'lib' if '.so' in path.name else 'bin'}/{path.name}"] = path.resolve()
    return quick.build(arch, print, extra)


def _measured(kernel: str, load: str, seconds: int, home: Path, what: str, *more: str) -> Path:
    argv = [sys.executable, "-m", "rtassay", "run", f"lab:campaign-{kernel}", "--load", LOADS[load]]
    argv += ["--duration", f"{seconds}s", "--name", f"{what}-{kernel}-{load}"]
    argv += ["--interval", INTERVAL, "--no-samples", "--quiet", "--output", str(home), *more]
    before = set(home.glob("*.rta"))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    new = set(home.glob("*.rta")) - before
    assert len(new) == 1, done.stderr[-2000:]
    return new.pop()


def _level_ns(pilot: Path) -> int:
    return _quantile_ns(store.open_recording(pilot).lanes, 0.95)


def _quantile_ns(lanes: Sequence[Lane], q: float) -> int:
    """Of all lanes together."""
    lower = np.concatenate([lane.histogram.lower_ns for lane in lanes])
    counts = np.concatenate([lane.histogram.counts for lane in lanes])
    order = np.argsort(lower)
    upto = np.cumsum(counts[order])
    return int(lower[order][np.searchsorted(upto, np.ceil(q * upto[-1]))])


COLUMNS = (
    "run", "late from (us)", "traced wake-ups", "late", "captured", "main cause known", "share", "of them stall possible",
    "of them the ordinary path", "late time unattributed", "events lost in", "pages lost", "events/s of a CPU",
    "p50 untraced, traced (us)",
)  # fmt: skip


def tell(name: str, path: Path) -> None:
    """A line of the table, and what stays unattributed. A wake-up counts as known if its main cause is anything but `unattributed`."""
    recording = store.open_recording(path)
    trace, found = recording.manifest.trace, recording.causes
    assert trace is not None
    if not recording.traced or trace.from_ns is None:
        print(f"| {name} | not traced: {trace.error} |", flush=True)
        return
    known = [one for one in found if one.top.kind != UNATTRIBUTED]
    late_ns = sum(one.hit.latency_ns for one in found)
    nobody_ns = sum(part.ns for one in found for part in one.parts if part.cause.kind == UNATTRIBUTED)
    cells = (
        name, round((trace.above_ns or 0) / 1000), sum(lane.histogram.total for lane in recording.traced),
        trace.hits, len(found), len(known), f"{len(known) / len(found):.1%}" if found else "-",
        sum(one.stall_possible for one in known), sum(one.top.kind == WAKE_UP for one in known),
        f"{nobody_ns / late_ns:.2%}" if late_ns else "-", sum(one.events_lost for one in found), trace.lost_pages,
        round(_events_a_second(path, recording)), _medians(recording),
    )  # fmt: skip
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    _say(f"{name}: {Counter(one.top.kind for one in found).most_common()}")
    for one in found:
        lacking = [(part.phase, part.ns) for part in one.parts if part.cause.kind == UNATTRIBUTED]
        if 20 * sum(ns for _, ns in lacking) > one.hit.latency_ns:
            _say(f"  lane {one.hit.lane} k {one.hit.k}: {lacking} of {one.hit.latency_ns}, {one.evidence}")


def _events_a_second(path: Path, recording: Recording) -> float:
    """Mean over the measured CPUs: what the ring took, kept or overwritten."""
    trace, end = recording.manifest.trace, max(lane.entry.closed_ns or 0 for lane in recording.traced)
    texts = [e for e in read_events(path / TRACE, StreamParser()) if isinstance(e, TraceText) and "stats/" in e.name]
    counts = re.findall(r"^(?:entries|overrun|read events): (\d+)", "\n".join(e.content.decode() for e in texts), re.M)
    assert trace is not None and trace.from_ns is not None
    return float(sum(map(int, counts)) / len(texts) / ((end - trace.from_ns) / 1e9))


def _medians(recording: Recording) -> str:
    """Of both parts, all lanes together."""
    return ", ".join(f"{_quantile_ns(lanes, 0.5) / 1000:.0f}" for lanes in (recording.lanes, recording.traced))


if __name__ == "__main__":
    sys.exit(main())

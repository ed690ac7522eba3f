"""`rtprobe noise` beside oslat of rt-tests, in turns: bench/NOISE.md.

    .venv/bin/python bench/noise_peers.py [--cpu 1] [--rounds 5] [--seconds 4]     this machine, as root, rt-tests installed

Both keep a thread of SCHED_FIFO 90 busy on one CPU. oslat counts gaps in buckets of 1 us, its loop among them; ours keeps each gap. Compared are gaps from 2 us on.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
from dataclasses import dataclass, replace

import numpy as np

from rtassay.boards.binaries import probe_path
from rtassay.model.events import Event, Gaps, HistogramPart
from rtassay.probes.whole_text import WholeText
from rtassay.wire.stream import StreamParser

US = 1000
FROM_US = 2


@dataclass(frozen=True)
class Found:
    """Gaps of one run: how many a second, the median, the 99th percentile and the longest, in whole us."""

    per_second: float
    median_us: float
    p99_us: float
    longest_us: float


def found(lower_us: np.ndarray, counts: np.ndarray, seconds: int) -> Found:
    """From gaps in buckets of 1 us."""
    order = np.argsort(lower_us)
    lower_us, counts = lower_us[order], counts[order]
    below = np.cumsum(counts)
    at = [int(np.searchsorted(below, q * below[-1])) for q in (0.5, 0.99)]
    return Found(float(below[-1]) / seconds, float(lower_us[at[0]]), float(lower_us[at[1]]), float(lower_us[-1]))


def ours(cpu: int, seconds: int) -> Found:
    argv = [str(probe_path(None)), "noise", "--cpus", str(cpu), "--policy", "fifo", "--interval", "1s"]
    argv += ["--duration", f"{seconds}s", "--threshold", "2us", "--spill", "1000000"]
    parser = StreamParser()
    events: list[Event] = [*parser.feed(subprocess.run(argv, capture_output=True, check=True).stdout), *parser.finish()]
    lengths = np.concatenate([event.length_ns for event in events if isinstance(event, Gaps)]) // US
    return found(*np.unique(lengths, return_counts=True), seconds)


def theirs(cpu: int, seconds: int) -> Found:
    argv = ["oslat", "-q", "-b", "1024", "-c", str(cpu), "-D", str(seconds), "-f", "90"]
    text = subprocess.run(argv, capture_output=True, check=True).stdout
    requested = {"policy": "fifo", "priority": 90, "cpus": [cpu]}
    parser = WholeText("oslat", {"probe": "oslat", "requested": requested, "lanes": []})
    parts = [event for event in [*parser.feed(text), *parser.finish()] if isinstance(event, HistogramPart)]
    lower = np.concatenate([part.lower_ns for part in parts]) // US - 1  # rt-tests 2.4 has gaps below 1 us in bucket 1
    counts = np.concatenate([part.counts for part in parts])
    result = found(lower[lower >= FROM_US], counts[lower >= FROM_US], seconds)
    (longest,) = re.findall(rb"Maximum:\s+(\d+)", text)
    return replace(result, longest_us=float(longest))


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--cpu", type=int, default=1)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--seconds", type=int, default=4)
    given = options.parse_args()
    pairs = []
    for turn in range(given.rounds):
        order = (ours, theirs) if turn % 2 else (theirs, ours)
        done = {measure: measure(given.cpu, given.seconds) for measure in order}
        pairs.append((done[theirs], done[ours]))
    print(
        "| of the gaps | oslat | noise | ratio of the medians | ratios of the rounds |\n| --- | ---: | ---: | ---: | ---: |"
    )
    for name in ("per_second", "median_us", "p99_us", "longest_us"):
        sides = [statistics.median(getattr(pair[side], name) for pair in pairs) for side in (0, 1)]
        ratios = sorted(getattr(pair[1], name) / getattr(pair[0], name) for pair in pairs)
        print(
            f"| {name} | {sides[0]:.1f} | {sides[1]:.1f} | {sides[1] / sides[0]:.2f} | {ratios[0]:.2f} to {ratios[-1]:.2f} |"
        )


if __name__ == "__main__":
    main()

"""`rtprobe exec` beside hyperfine, in turns: bench/EXEC.md.

    .venv/bin/python bench/exec_peer.py [--cpu 0] [--rounds 8]     this machine, hyperfine installed

Both start the same program 30 times a round, without a shell, as an ordinary process on one CPU. Compared are medians of a round.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path

from common import rtprobe, spread

from rtassay.model.events import Samples
from rtassay.wire.stream import StreamParser

RUNS = 30
CASES = (("sha256sum /usr/bin/git", "60ms"), ("true", "60ms"), ("true", "2ms"))


def ours(job: str, interval: str, cpu: int) -> tuple[float, float]:
    """Medians of response and execution time, us."""
    argv = [rtprobe(), "exec", "--cpus", str(cpu), "--policy", "other", "--interval", interval, "--count", str(RUNS)]
    done = subprocess.run([*argv, "--command", job], capture_output=True, check=True)
    parser = StreamParser()
    values: dict[int, list[int]] = {0: [], 1: []}
    for event in [*parser.feed(done.stdout), *parser.finish()]:
        if isinstance(event, Samples):
            values[event.lane] += event.latency_ns.tolist()
    return statistics.median(values[0]) / 1000, statistics.median(values[1]) / 1000


def theirs(job: str, cpu: int) -> tuple[float, float]:
    """Median of the time, mean of the CPU time (it tells no median), us."""
    with tempfile.TemporaryDirectory() as scratch:
        told = Path(scratch) / "told.json"
        argv = ["taskset", "-c", str(cpu), "hyperfine", "-N", "-r", str(RUNS), "--export-json", str(told), job]
        subprocess.run(argv, capture_output=True, check=True)
        (result,) = json.loads(told.read_text())["results"]
    return result["median"] * 1e6, (result["user"] + result["system"]) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=8)
    given = parser.parse_args()
    print("| job | interval | response, us | hyperfine, us | ratio | execution, us | hyperfine, us | ratio |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for job, interval in CASES:
        pairs = [(*ours(job, interval, given.cpu), *theirs(job, given.cpu)) for _ in range(given.rounds)]
        times, cpu = [a / c for a, _, c, _ in pairs], [b / d for _, b, _, d in pairs]
        response, execution, time, busy = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"| `{job}` | {interval} | {response:.0f} | {time:.0f} | {spread(times)} | {execution:.0f} | {busy:.0f} | {spread(cpu)} |"
        )


if __name__ == "__main__":
    main()

"""`rtassay throughput` beside hackbench, stress-ng and iperf3 run directly, in turns: bench/THROUGHPUT.md.

    .venv/bin/python bench/throughput_peers.py [--rounds 6]     this machine, the three tools installed

Both do the same work five times a round, on all CPUs. Compared are medians of a round.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile
from pathlib import Path

from common import spread

TIMES = 5
RTASSAY = Path(__file__).parents[1] / ".venv" / "bin" / "rtassay"
STRESS = ["stress-ng", "--temp-path", "/tmp", "--metrics-brief", "--timeout", "60s"]


def ours(work: str, home: str) -> dict[str, float]:
    """Seconds by part."""
    argv = [RTASSAY, "throughput", "--work", work, "--rounds", str(TIMES), "--duration", "10min", "--quiet", "--json"]
    done = subprocess.run(argv, capture_output=True, check=True, env={**os.environ, "RTASSAY_HOME": home})
    return {row["part"]: row["a"]["ns"] / 1e9 for row in json.loads(done.stdout)["parts"]}


def said(argv: list[str]) -> str:
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def hackbench() -> dict[str, float]:
    return {"": float(re.findall(r"^Time: ([\d.]+)", said(["hackbench", "-g", "2", "-l", "200"]), re.M)[0])}


def stress_ng() -> dict[str, float]:
    """`--metrics-brief`, the table that people read: operations, seconds of real time."""
    found = {}
    for name, operations in (("cpu", 400), ("switch", 50_000), ("fork", 400)):
        argv = [*STRESS, f"--{name}", "2", f"--{name}-ops", str(operations)]
        told = subprocess.run(argv, capture_output=True, text=True, check=True)
        row = re.findall(rf"{name}\s+(\d+)\s+([\d.]+)\s+[\d.]+\s+[\d.]+\s+[\d.]+", told.stdout + told.stderr)[-1]
        found[name] = float(row[1]) * operations / float(row[0])
    return found


def iperf3() -> dict[str, float]:
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "--forceflush", "-B", "127.0.0.1", "-p", "47124"], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    while "listening" not in server.stdout.readline():
        pass
    told = json.loads(said(["iperf3", "-c", "127.0.0.1", "-p", "47124", "-n", "256M", "-i", "0", "-J"]))
    server.communicate()
    arrived = told["end"]["sum_received"]
    return {"": arrived["seconds"] * (256 << 20) / arrived["bytes"]}


CASES = (("hackbench", hackbench), ("stress-ng:cpu,switch,fork", stress_ng), ("iperf3", iperf3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--only", choices=[work for work, _ in CASES], help="this work alone")
    given = parser.parse_args()
    rounds = given.rounds
    print("| work | rtassay throughput, s | run directly, s | ratio |")
    print("| --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as home:
        for work, direct in CASES:
            if given.only not in (None, work):
                continue
            pairs = []
            for _ in range(rounds):
                mine, theirs = ours(work, home), [direct() for _ in range(TIMES)]
                pairs.append((mine, {part: statistics.median(one[part] for one in theirs) for part in mine}))
            for part in pairs[0][0]:
                a, b = ([side[part] for side in sides] for sides in zip(*pairs, strict=True))
                ratios = [x / y for x, y in zip(a, b, strict=True)]
                name = f"{work.partition(':')[0]} {part}".strip()
                print(
                    f"| {name} | {statistics.median(a):.4f} | {statistics.median(b):.4f} | {spread(ratios)} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()

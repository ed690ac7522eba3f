"""`rtassay doctor BOARD` beside `ssh BOARD true`, in turns: bench/DOCTOR.md.

    .venv/bin/python bench/doctor_peer.py [--rounds 9]     this machine over an sshd of its own

Two readings a second apart are a second of doctor's time. The rest is compared with one command over the same ssh, which pays for a connection too.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from common import RTASSAY, spread

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from sshd import Server, serving

APART_S = 1.0


def seconds(argv: list[str | Path], server: Server) -> tuple[float, bytes]:
    """Wall time of a command, and what it printed. Exit codes 0 to 4 are answers of doctor."""
    env = {**os.environ, "RTASSAY_SSH": f"ssh -F {server.config}", "RTASSAY_HOME": str(server.home / "recordings")}
    begun = time.monotonic()
    done = subprocess.run(argv, capture_output=True, env=env, check=False)
    if done.returncode not in (0, 1, 4):
        raise SystemExit(f"{argv[0]} ended with {done.returncode}: {done.stderr.decode(errors='replace')[-500:]}")
    return time.monotonic() - begun, done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with serving() as server:
        ours, here, theirs = [], [], []
        settings = 0
        for _ in range(given.rounds):
            theirs.append(seconds(["ssh", "-F", server.config, server.destination, "true"], server)[0])
            took, told = seconds([RTASSAY, "doctor", server.destination, "--json"], server)
            ours.append(took)
            here.append(seconds([RTASSAY, "doctor", "--json"], server)[0])
            settings = len(json.loads(told)["settings"])
    beyond = [(took - APART_S) / one for took, one in zip(ours, theirs, strict=True)]
    over = [took - local for took, local in zip(ours, here, strict=True)]
    print("| | seconds, median (smallest .. largest) |\n| --- | ---: |")
    print(f"| `ssh BOARD true` | {spread(theirs)} |")
    print(f"| `rtassay doctor BOARD`, {settings} settings, two readings a second apart | {spread(ours)} |")
    print(f"| the same without SSH | {spread(here)} |")
    print(f"| what SSH adds | {spread(over)} |")
    print(
        f"\nBeyond the second doctor takes {statistics.median(beyond):.1f} times `ssh BOARD true` ({given.rounds} rounds, in turns)."
    )


if __name__ == "__main__":
    main()

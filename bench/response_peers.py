"""`rtprobe response` beside rt-tests' programs, in turns: bench/RESPONSE.md.

    .venv/bin/python bench/response_peers.py            this machine, as root, rt-tests installed
    .venv/bin/python bench/response_peers.py --board    the script board, both kernels, in virtual time

Their programs print a mean in whole microseconds; ours keep every sample. So means are compared, of the same part: from the request to the
thread that waits for it. Both threads are on one CPU, priority 90, 1000 requests a second.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from rtassay.boards.binaries import probe_path
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard
from rtassay.model.events import End
from rtassay.wire.stream import StreamParser

PEERS = {"ptsematest": "semaphore", "pmqtest": "mqueue", "svsematest": "sysv-semaphore", "sigwaittest": "signal"}
LOOPS = 1000
LIBRARIES = ("libc.so.6", "libpthread.so.0", "librt.so.1", "libnuma.so.1")
LOADER = Path("/lib64/ld-linux-x86-64.so.2")


def script(rounds: int, cpu: int, theirs: str, ours: str, out: str) -> str:
    """A shell script: each program and ours in turns, the order changed with every round."""
    lines = []
    for turn in range(rounds):
        for peer, by in PEERS.items():
            pair = [
                f"{theirs}{peer} -a{cpu} -t1 -p90 -i1000 -l{LOOPS} -q --json={out}/{peer}.{turn} >/dev/null",
                f"{ours} response --by {by} --cpus {cpu} --interval 1ms --count {LOOPS} -o {out}/{by}.{turn}",
            ]
            lines += pair if turn % 2 else pair[::-1]
        pair = [
            f"{theirs}cyclictest -a{cpu} -t1 -p90 -i1000 -l{LOOPS} -q --json={out}/cyclictest.{turn} >/dev/null",
            f"{ours} cyclic --cpus {cpu} --interval 1ms --count {LOOPS} -o {out}/cyclic.{turn}",
        ]
        lines += pair if turn % 2 else pair[::-1]
        lines.append(f"{theirs}signaltest -a{cpu} -t2 -p90 -l{LOOPS} -q --json={out}/signaltest.{turn} >/dev/null")
    return "set -e\n" + "\n".join(lines) + "\n"


def means_us(stream: bytes) -> list[float]:
    """The mean latency of each lane."""
    parser = StreamParser()
    events = [*parser.feed(stream), *parser.finish()]
    (end,) = [event.data for event in events if isinstance(event, End)]
    return [lane["sum_ns"] / lane["n"] / 1000 for lane in end["lanes"]]


def table(rounds: int, file: Callable[[str], bytes]) -> list[str]:
    rows = [
        "| theirs | ours | theirs, us | request, us | answer, us | ratio of the request | ratio of the answer |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for peer, by in [*PEERS.items(), ("cyclictest", "cyclic")]:
        found = []
        for turn in range(rounds):
            (thread,) = json.loads(file(f"{peer}.{turn}"))["thread"].values()
            told = float(thread.get("receiver", thread)["avg"])
            means = means_us(file(f"{by}.{turn}"))
            parts = [means[0]] * 2 if len(means) == 1 else [means[1] - means[0], means[2] - means[1]]
            found.append((told, *parts, parts[0] / told, parts[1] / told))
        told, request, answer, first, second = map(statistics.median, zip(*found, strict=True))
        name = by if by == "cyclic" else f"response, `{by}`"
        rest = f"| | {first:.2f} | |" if by == "cyclic" else f"| {answer:.1f} | {first:.2f} | {second:.2f} |"
        rows.append(f"| {peer} | {name} | {told:.1f} | {request:.1f} {rest}")
    told = statistics.median(json.loads(file(f"signaltest.{i}"))["thread"]["0"]["avg"] for i in range(rounds))
    both = statistics.median(means[2] - means[0] for i in range(rounds) if (means := means_us(file(f"signal.{i}"))))
    rows.append(
        f"\nsignaltest, a round of two threads: {told:.1f} us; ours by `signal`, request and answer: {both:.1f} us."
    )
    return rows


def here(rounds: int, cpu: int) -> list[str]:
    with tempfile.TemporaryDirectory() as out:
        subprocess.run(["sh", "-c", script(rounds, cpu, "", str(probe_path("x86_64")), out)], check=True)
        return table(rounds, lambda name: (Path(out) / name).read_bytes())


def on_the_board(rounds: int, kernel: str) -> list[str]:
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes(), "peers/loader": LOADER.read_bytes()}
    for name in LIBRARIES:
        files[f"peers/{name}"] = next(Path("/lib/x86_64-linux-gnu").parent.rglob(name)).read_bytes()
    for name in (*PEERS, "cyclictest", "signaltest"):
        files[f"peers/{name}"] = Path(shutil.which(name) or name).read_bytes()
    theirs = "/peers/loader --library-path /peers /peers/"
    result = ScriptBoard(
        image.kernels[kernel], image.initramfs.read_bytes(), files, script(rounds, 0, theirs, "rtprobe", "/out"), 1
    ).run(900)
    if result.exit_code:
        raise SystemExit(f"the script ended with {result.exit_code}: {result.console[-1500:]}")
    return table(rounds, lambda name: result.files[name])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--board", action="store_true", help="the script board instead of this machine")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--cpu", type=int, default=1)
    asked = options.parse_args()
    if not asked.board:
        print("\n".join(here(asked.rounds, asked.cpu)))
    else:
        for kernel in ("stock", "rt"):
            print(f"\n{kernel}:\n\n" + "\n".join(on_the_board(asked.rounds, kernel)))


if __name__ == "__main__":
    main()

"""How many late wake-ups get a cause under load, on an ordinary board of the lab: two CPUs, network, real time.

    .venv/bin/python bench/causes_campaign.py [--kernel rt|stock] [--seconds 20] [--load NAME]... [--output DIR]

Prints a row a load. Recordings of the script board are ranked the same way: `--rank REC...` measures nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from rtassay import store
from rtassay.lab import machine, quick
from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages
from rtassay.model.causes import UNATTRIBUTED

LOADS = {
    "stress-ng": "stress-ng",
    "hackbench": "hackbench",
    "iperf3": "iperf3",
    "dd": "command:sh -c 'while :; do dd if=/dev/zero of=/tmp/f bs=64k count=200 2>/dev/null; done'",
}


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--kernel", choices=["rt", "stock"], default="stock")
    options.add_argument("--seconds", type=int, default=20)
    options.add_argument("--load", choices=list(LOADS), action="append")
    options.add_argument("--output", type=Path, help="directory for the recordings")
    options.add_argument("--rank", type=Path, nargs="+", help="recordings to rank instead")
    given = options.parse_args()
    print(
        "| run | late wake-ups | captured | main cause known | share | of them stall possible | late time unattributed | events lost in |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    if given.rank:
        for path in given.rank:
            print(row(path.name, path), flush=True)
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        board = machine.start(_image(), print, name="campaign", kernel=given.kernel, with_parent=True)
        try:
            for name in given.load or LOADS:
                path = _measured(name, given.seconds, given.output or Path(scratch))
                print(row(f"{given.kernel}, {name}", path), flush=True)
        finally:
            machine.stop(board)
    return 0


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


def _measured(load: str, seconds: int, home: Path) -> Path:
    argv = [sys.executable, "-m", "rtassay", "run", "lab:campaign", "--load", LOADS[load], "--duration", f"{seconds}s"]
    argv += [
        "--interval",
        "2ms",
        "--trace-above",
        "auto",
        "--no-samples",
        "--quiet",
        "--output",
        str(home),
        "--name",
        load,
    ]
    before = set(home.glob("*.rta"))
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    new = set(home.glob("*.rta")) - before
    assert len(new) == 1, done.stderr[-2000:]
    return new.pop()


def row(name: str, path: Path) -> str:
    """A line of the table. A wake-up counts as known if its main cause is anything but `unattributed`."""
    recording = store.open_recording(path)
    trace, found = recording.manifest.trace, recording.causes
    known = [one for one in found if one.top.kind != UNATTRIBUTED]
    late_ns = sum(one.hit.latency_ns for one in found)
    nobody_ns = sum(part.ns for one in found for part in one.parts if part.cause.kind == UNATTRIBUTED)
    share = f"{len(known) / len(found):.1%}" if found else "-"
    cells = (
        name, None if trace is None else trace.hits, len(found), len(known), share, sum(one.stall_possible for one in known),
        f"{nobody_ns / late_ns:.1%}" if late_ns else "-", sum(one.events_lost for one in found),
    )  # fmt: skip
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())

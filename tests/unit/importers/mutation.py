"""Random mutation of golden files: whatever the bytes, an importer yields events or raises InputFileError, and its account holds.

.venv/bin/python tests/unit/importers/mutation.py --seconds 60 cyclictest cyclictest-verbose
"""

from __future__ import annotations

import argparse
import math
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from rtassay.model import rooms
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, HistogramPart, Samples

DATA = Path(__file__).parents[2] / "data" / "importers"
_BYTES = b'0123456789 :\t\n\r,.-#[]{}"eN\x00\x1b\xff'


def mutated(data: bytes, other: bytes, chance: random.Random) -> bytes:
    """A few random edits."""
    out = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at, size = chance.randrange(len(out) + 1), chance.choice((1, 1, 2, 9, 27, 400))
        match chance.randrange(7):
            case 0 if out:
                out[min(at, len(out) - 1)] = chance.randrange(256)
            case 1 if out:
                out[min(at, len(out) - 1)] = chance.choice(_BYTES)
            case 2:
                del out[at : at + size]
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                out[at:at] = bytes(chance.choice(_BYTES) for _ in range(size))
            case 5:
                del out[at:]
            case 6:
                start = chance.randrange(len(other) + 1)
                out[at:at] = other[start : start + size]
    return bytes(out)


def check(name: str, path: Path) -> str:
    """`events` or `refused`; raises for anything else."""
    member = rooms.load("importers", name)()
    try:
        member.recognises(path.read_bytes()[: 64 * 1024])
        member.source(path)
        events = list(member.read(path))
    except InputFileError as error:
        assert str(path) in str(error), error
        return "refused"
    assert isinstance(events[-1], End)
    held: Counter[int] = Counter()
    for event in events:
        if isinstance(event, HistogramPart):
            assert (event.counts > 0).all() and (event.width_ns > 0).all() and event.over >= 0
            held[event.lane] += int(event.counts.sum()) + event.over
        elif isinstance(event, Samples):
            assert len(event.latency_ns) == len(event.missed) == len(event.dropped)
            assert (event.dropped >= 0).all() and event.gap_dropped >= 0
            held[event.lane] += len(event.latency_ns)
    assert {row["lane"]: row["n"] for row in events[-1].data["lanes"] if row["n"]} == {
        k: n for k, n in held.items() if n
    }
    return "events"


def run(name: str, seed: int, *, seconds: float = math.inf, at_most: float = math.inf) -> Counter[str]:
    """How often what came of it."""
    files = [p for p in sorted((DATA / name).glob("*.*.*")) if p.suffix != ".count"]
    contents = {path: path.read_bytes() for path in files}
    chance, seen, until = random.Random(seed), Counter[str](), time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as directory:
        while time.monotonic() < until and seen.total() < at_most:
            path, other = chance.choice(files), chance.choice(files)
            target = Path(directory) / f"mutated{path.suffix}"
            target.write_bytes(mutated(contents[path], contents[other], chance))
            try:
                seen[check(name, target)] += 1
            except Exception:
                kept = Path(tempfile.gettempdir()) / f"mutation-{name}-{seed}-{seen.total()}{path.suffix}"
                kept.write_bytes(target.read_bytes())
                sys.stderr.write(f"kept in {kept}\n")
                raise
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("names", nargs="+")
    args = parser.parse_args()
    for name in args.names:
        print(name, args.seed, dict(run(name, args.seed, seconds=args.seconds)), flush=True)


if __name__ == "__main__":
    main()

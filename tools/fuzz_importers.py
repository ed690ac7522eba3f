#!/usr/bin/env python3
"""Mutates the golden files of importers for a while: every outcome must be events that add up or an InputFileError naming the file.

tools/fuzz_importers.py --seconds 60 oslat rteval        (default: every importer with golden files)
"""

from __future__ import annotations

import argparse
import inspect
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from rtassay.model import rooms
from rtassay.model.errors import InputFileError
from rtassay.model.events import HistogramPart
from rtassay.store.collect import Collector

ROOT = Path(__file__).parents[1] / "tests" / "data" / "importers"
WORDS = (
    b"0",
    b"-1",
    b"1e400",
    b"nan",
    b"18446744073709551616",
    b"9" * 30,
    b"\0",
    b"\xff\xfe",
    b'"',
    b"{",
    b"[",
    b"<",
    b",,",
    b"\n",
    b": ",
    b"&a;",
)


def mutate(data: bytes, others: list[bytes], rng: random.Random) -> bytes:
    """A few random edits: bytes, words, lines, cuts, pieces of other files."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(out) + 1)
        kind = rng.randrange(8)
        if kind == 0 and out:
            out[at % len(out)] = rng.randrange(256)
        elif kind == 1:
            out[at:at] = rng.choice(WORDS)
        elif kind == 2:
            del out[at : at + rng.choice((1, 3, 20, 200))]
        elif kind == 3:
            out = out[:at]
        elif kind == 4:
            lines = bytes(out).split(b"\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            out = bytearray(b"\n".join(lines))
        elif kind == 5:
            lines = bytes(out).split(b"\n")
            i = rng.randrange(len(lines))
            lines[i:i] = [lines[rng.randrange(len(lines))]] * rng.choice((1, 2))
            out = bytearray(b"\n".join(lines))
        elif kind == 6:
            digits = [i for i, byte in enumerate(out) if 48 <= byte <= 57]
            if digits:
                out[rng.choice(digits)] = rng.choice(b"0123456789-.eE x")
        else:
            other = rng.choice(others)
            begin = rng.randrange(len(other) + 1)
            out[at:at] = other[begin : begin + rng.choice((5, 50, 500))]
    return bytes(out)


def try_one(name: str, path: Path, options: dict[str, str]) -> str:
    """`events` or `refused`; anything else raises."""
    importer: Any = rooms.load("importers", name)(**options)
    try:
        importer.recognises(path.read_bytes()[: 64 * 1024])
        importer.source(path)
        collected = Collector(lambda second: None, lambda event: None)
        for event in importer.read(path):
            if isinstance(event, HistogramPart):
                assert len(event.lower_ns) == len(event.width_ns) == len(event.counts)
                assert not len(event.counts) or (event.counts.min() > 0 and event.width_ns.min() > 0)
                assert event.over >= 0
            collected.add(event)
        collected.finish()
    except InputFileError as error:
        assert str(path) in str(error), f"the message does not name the file: {error}"
        return "refused"
    return "events"


def fuzz(name: str, seconds: float, seed: int) -> Counter[str]:
    files = [f for f in sorted((ROOT / name).glob("*.*")) if ".ok." in f.name or ".bad." in f.name]
    files = [f for f in files if f.suffix != ".count"]
    seeds = [f.read_bytes()[:200_000] for f in files]
    options = {"unit": "us"} if "unit" in inspect.signature(rooms.load("importers", name)).parameters else {}
    rng, outcomes = random.Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / ("mutant" + files[0].suffix)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            path.write_bytes(mutate(rng.choice(seeds), seeds, rng))
            try:
                outcomes[try_one(name, path, options)] += 1
            except Exception:
                kept = Path(f"/tmp/fuzz-{name}-{seed}-{sum(outcomes.values())}{path.suffix}")
                kept.write_bytes(path.read_bytes())
                print(f"{name}: failed on {kept}", file=sys.stderr)
                raise
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    known = [name for name in rooms.table("importers") if (ROOT / name).is_dir()]
    for name in given.names or known:
        outcomes = fuzz(name, given.seconds, given.seed)
        print(f"{name}: {given.seconds:g} s, {sum(outcomes.values())} files: {dict(outcomes)}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

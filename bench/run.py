#!/usr/bin/env python3
"""`make bench`: speed and size as ratios against named peers in the same run, written to bench/RESULTS.md.

Medians of interleaved pairs, because these machines are noisy. `--only NAME` (repeatable) runs some parts and keeps the other
rows of the table; `--quick` shortens everything for a smoke test and writes nothing.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import import_cost  # noqa: E402
import monitor_cost  # noqa: E402
import probe_cost  # noqa: E402
import recording_cost  # noqa: E402
import verdict_before  # noqa: E402
from common import Row  # noqa: E402

STORE = HERE / "results.json"
PAGE = HERE / "RESULTS.md"


@dataclass(frozen=True)
class Part:
    name: str
    run: Callable[[bool], list[Row]]


PARTS = (
    Part("cpu", probe_cost.cpu_per_activation),
    Part("median", probe_cost.median_latency),
    Part("loss", probe_cost.samples_lost),
    Part("writer", probe_cost.writer_priority),
    Part("size", recording_cost.bytes_per_sample),
    Part("histogram", recording_cost.histogram_of_1e8),
    Part("verdict", recording_cost.verdict_of_1e8),
    Part("verdict-1e6", verdict_before.of_1e6),
    Part("verdict-shown", verdict_before.of_command),
    Part("verdict-1e8", verdict_before.of_1e8),
    Part("start", recording_cost.start_up),
    Part("import", import_cost.cost),
    Part("monitors", monitor_cost.cost),
)


def machine() -> str:
    model = next(
        (
            x.split(":", 1)[1].strip()
            for x in Path("/proc/cpuinfo").read_text().splitlines()
            if x.startswith("model name")
        ),
        "?",
    )
    return (
        f"{model}, {len(os.sched_getaffinity(0))} CPUs, Linux {platform.release()}, Python {platform.python_version()}"
    )


def page(rows: dict[str, list[dict[str, str]]]) -> str:
    lines = [
        "# Speed and size",
        "",
        "Written by `make bench`; every row names its peer, both run in the same run, interleaved; figures are medians of the pairs, with",
        "the smallest and largest pair in brackets. A virtual machine with two cores: ratios mean something here, absolute times do not.",
        "",
        "| what | against | goal | measured | detail | date |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for part in PARTS:
        lines += [
            f"| {r['what']} | {r['peer']} | {r['goal']} | {r['measured']} | {r['detail']} | {r['date']} |"
            for r in rows.get(part.name, [])
        ]
    return "\n".join([*lines, "", f"Machine: {machine()}.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[p.name for p in PARTS])
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    kept: dict[str, list[dict[str, str]]] = json.loads(STORE.read_text()) if STORE.exists() else {}
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed rtassay is compiled once, not at every start
    today = datetime.date.today().isoformat()
    for part in PARTS:
        if args.only and part.name not in args.only:
            continue
        print(f"== {part.name}", flush=True)
        rows = part.run(args.quick)
        for row in rows:
            print(f"   {row.what} / {row.peer}: {row.measured} (goal {row.goal}; {row.detail})", flush=True)
        kept[part.name] = [{**row.__dict__, "date": today} for row in rows]
        if not args.quick:
            STORE.write_text(json.dumps(kept, indent=1) + "\n")
            PAGE.write_text(page(kept))
    if not args.quick:
        print(PAGE.read_text())


if __name__ == "__main__":
    main()

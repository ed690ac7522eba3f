"""What reading `cyclictest -v` text costs: the parsing alone and the whole import, against counting lines and against pandas."""

from __future__ import annotations

import importlib.util
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import RTASSAY, Row, spread, use

from rtassay.importers import verbose_rows
from rtassay.importers.cyclictest_verbose import CyclictestVerboseImporter

LANES = 4
BATCH = 25  # rows of one thread before those of the next, as the printing thread finds them
PARSE_GOAL, PANDAS_GOAL, WHOLE_GOAL = 3.0, 8.0, 8.0


def write(path: Path, rows: int) -> None:
    """Rows as cyclictest prints them, latencies of a usual board."""
    chance = np.random.default_rng(1)
    with path.open("w") as file:
        for first in range(0, rows // LANES, BATCH):
            for lane in range(LANES):
                values = np.minimum(chance.lognormal(2.3, 0.5, BATCH), 900).astype(int) + 3
                file.write("".join(f"{lane:8d}:{first + i:8d}:{value:8d}\n" for i, value in enumerate(values)))


def cpu_s(what: Callable[[], object]) -> float:
    """CPU time of this process and its children for one call: other work on the machine does not count."""

    def used() -> float:
        of = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in of)

    before = used()
    what()
    return used() - before


def parse(path: Path) -> int:
    """All rows of a file, read in blocks, as the importer reads them; how many."""
    rows, held = 0, b""
    with path.open("rb") as file:
        while block := file.read(verbose_rows.CHUNK_ROWS * verbose_rows.ROW_BYTES):
            at = 0
            if held:
                at = block.index(b"\n") + 1
                rows += len(verbose_rows.parse(held + block[:at]).lane)
            end = block.rfind(b"\n") + 1
            held = block[end:]
            while at < end:
                found = verbose_rows.parse(block, at, end)
                rows += len(found.lane)
                at += found.used
    return rows


def count_lines(path: Path) -> None:
    subprocess.run(["wc", "-l", path], stdout=subprocess.DEVNULL, check=True)


def cost(quick: bool) -> list[Row]:
    rows, pairs = (400_000, 2) if quick else (10_000_000, 7)
    with tempfile.TemporaryDirectory(prefix="rtassay-bench-") as directory:
        path = Path(directory) / "v.txt"
        write(path, rows)
        size = path.stat().st_size
        if parse(path) != rows:
            raise SystemExit("not every row was read")
        alone, events, whole, pandas = [], [], [], []
        for _ in range(pairs):
            lines = cpu_s(lambda: count_lines(path))
            mine = cpu_s(lambda: parse(path))
            alone.append(mine / lines)
            events.append(cpu_s(lambda: [None for _ in CyclictestVerboseImporter().read(path)]) / lines)
            if importlib.util.find_spec("pandas") is not None:
                pandas.append(cpu_s(lambda: with_pandas(path)) / mine)
        for _ in range(1 if quick else 2):
            out = Path(directory) / "out"
            lines = cpu_s(lambda: count_lines(path))
            used = use([RTASSAY, "import", path, "-o", out])
            whole.append(used.cpu_s / lines)
        detail = f"{rows / 1e6:.1f} million rows, {size / 1e6:.0f} MB, CPU time; as events {spread(events)}"
        found = [
            Row("parse cyclictest -v, alone", "wc -l", f"<= {PARSE_GOAL:g}", spread(alone), detail),
            Row(
                "import cyclictest -v, end to end",
                "wc -l",
                f"<= {WHOLE_GOAL:g}",
                spread(whole),
                f"{used.max_rss_kb // 1024} MiB peak, {os.cpu_count()} CPUs",
            ),
        ]
        text = f"{spread(pandas)} times faster" if pandas else "pandas is not installed here"
        return [*found, Row("parse cyclictest -v, alone", "pandas.read_csv", f">= {PANDAS_GOAL:g}", text, "C engine")]


def with_pandas(path: Path) -> None:
    import pandas as pd

    pd.read_csv(path, sep=":", header=None, names=["lane", "cycle", "value"])

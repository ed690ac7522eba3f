"""What reading `cyclictest -v` text costs: the parsing alone and the whole import, against counting lines and against pandas."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import ROOT, RTASSAY, Row, spread, use

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
    rows, held, parser = 0, b"", verbose_rows.RowParser()
    with path.open("rb") as file:
        while block := file.read(verbose_rows.CHUNK_ROWS * verbose_rows.ROW_BYTES):
            at = 0
            if held:
                at = block.index(b"\n") + 1
                rows += len(parser.parse(held + block[:at]))
            end = block.rfind(b"\n") + 1
            held = block[end:]
            while at < end:
                found = parser.parse(block, at, end)
                rows += len(found)
                at += found.used
    return rows


def count_lines(path: Path) -> None:
    subprocess.run(["wc", "-l", path], stdout=subprocess.DEVNULL, check=True)


def cost(quick: bool) -> list[Row]:
    rows, pairs = (400_000, 2) if quick else (10_000_000, 7)
    pandas = Pandas()
    with tempfile.TemporaryDirectory(prefix="rtassay-bench-") as directory:
        path = Path(directory) / "v.txt"
        write(path, rows)
        size = path.stat().st_size
        if parse(path) != rows:
            raise SystemExit("not every row was read")
        ratios: dict[str, list[float]] = {
            name: [] for name in ("alone", "events", "pandas", "whole", "wall", "floor", "start")
        }
        for _ in range(pairs):
            lines = cpu_s(lambda: count_lines(path))
            mine = cpu_s(lambda: parse(path))
            ratios["alone"].append(mine / lines)
            ratios["events"].append(cpu_s(lambda: [None for _ in CyclictestVerboseImporter().read(path)]) / lines)
            ratios["pandas"].append(pandas.cpu_s(path) / cpu_s(lambda: parse(path)))
        small = Path(directory) / "small.txt"
        write(small, 4 * BATCH * LANES)
        for _ in range(1 if quick else 3):
            out = Path(directory) / "out"
            lines, lines_wall = cpu_s(lambda: count_lines(path)), wall_s(lambda: count_lines(path))
            used = use([RTASSAY, "import", path, "-o", out])
            shutil.rmtree(out)
            ratios["whole"].append(used.cpu_s / lines)
            ratios["wall"].append(used.wall_s / lines_wall)
            ratios["floor"].append(cpu_s(lambda: keep(path, Path(directory) / "copy")) / lines)
            ratios["start"].append(use([RTASSAY, "import", small, "-o", out]).cpu_s / lines)
            shutil.rmtree(out)
        said = {name: spread(values) for name, values in ratios.items()}
        detail = f"{rows / 1e6:.1f} million rows, {size / 1e6:.0f} MB, CPU time; as events {said['events']}"
        whole = (
            f"CPU time; elapsed {said['wall']}; of it copying and hashing the file alone {said['floor']}, importing a file of "
            f"{4 * BATCH * LANES} rows {said['start']}; {used.max_rss_kb // 1024} MiB peak, {os.cpu_count()} CPUs, load average {os.getloadavg()[1]:.0f}"
        )
        return [
            Row("parse cyclictest -v, alone", "wc -l", f"<= {PARSE_GOAL:g}", said["alone"], detail),
            Row("import cyclictest -v, end to end", "wc -l", f"<= {WHOLE_GOAL:g}", said["whole"], whole),
            Row(
                "parse cyclictest -v, alone",
                "pandas.read_csv",
                f">= {PANDAS_GOAL:g}",
                f"{said['pandas']} times faster",
                f"pandas {pandas.version}, C engine, three columns; CPU time",
            ),
        ]


def wall_s(what: Callable[[], object]) -> float:
    start = time.monotonic()
    what()
    return time.monotonic() - start


def keep(path: Path, copy: Path) -> None:
    """What an import that keeps the file and its SHA-256 cannot do without."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as source, copy.open("wb", buffering=0) as target:
        while piece := source.read(1 << 20):
            digest.update(piece)
            target.write(piece)
    copy.unlink()


class Pandas:
    """pandas in an environment of its own (build/bench-venv): our own must not change for the sake of a peer."""

    def __init__(self) -> None:
        home = ROOT / "build" / "bench-venv"
        self._python = home / "bin" / "python"
        if not self._python.exists():
            subprocess.run([sys.executable, "-m", "venv", home], check=True)
        known = [self._python, "-c", "import pandas; print(pandas.__version__)"]
        if subprocess.run(known, capture_output=True, check=False).returncode:
            subprocess.run([self._python, "-m", "pip", "install", "--quiet", "pandas"], check=True)
        self.version = subprocess.run(known, capture_output=True, text=True, check=True).stdout.strip()

    def cpu_s(self, path: Path) -> float:
        """CPU time of reading the file's three columns, without the start of Python and of pandas."""
        code = (
            "import sys, time, pandas as pd\nstart = time.process_time()\n"
            "frame = pd.read_csv(sys.argv[1], sep=':', header=None, names=['lane', 'cycle', 'value'])\n"
            "print(time.process_time() - start); assert (frame.dtypes == 'int64').all()"
        )
        done = subprocess.run([self._python, "-c", code, path], capture_output=True, text=True, check=True)
        return float(done.stdout)

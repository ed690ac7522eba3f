"""cyclicdeadline --json of rt-tests: per thread of SCHED_DEADLINE cycles, minimum, maximum and average in microseconds; no histogram.

Traps: its zero is not a due time but the thread's earliest wake-up, so its numbers are too small by that one's latency; a minimum of 0 is
taken for "none yet" and replaced by the next value.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers import json_files
from rtassay.importers.base import Importer
from rtassay.importers.times import span
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US

_COMMAND = re.compile(rb'"cmdline:?"\s*:\s*"[^\n]{0,300}?\bcyclicdeadline\b')
_DEFAULT_INTERVAL_US, _DEFAULT_STEP_US = 1000, 500
_MOST_US = 2**40
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "dropped", "truncated", "exceedances", "sum_ns"))
_CAVEATS = (
    "zero is the thread's earliest wake-up, not a due time: each number is too small by the latency of that one",
    "threads of SCHED_DEADLINE go from CPU to CPU as the scheduler likes",
    "minimum, average and maximum only, in whole microseconds: no quantile and no count of late wake-ups",
)


class CyclicdeadlineImporter(Importer):
    """One file of one run. The summary is all there is: every sample lies at the minimum or above."""

    name = "cyclicdeadline"
    summary = "cyclicdeadline --json of rt-tests (SCHED_DEADLINE; a summary)"

    def recognises(self, head: bytes) -> bool:
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and _COMMAND.search(head) is not None

    def source(self, path: Path) -> Source:
        data, _ = json_files.load(path)
        version = json_files.member(data, "rt_test_version")
        return Source("cyclicdeadline", version.strip() if isinstance(version, str) else None, self.name, "unknown")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with file and field."""
        data, bare = json_files.load(path)
        rows = [_row(path, lane, row) for lane, row in json_files.lanes(path, data, "thread")]
        told = data.get("num_threads", len(rows))
        if told != len(rows):
            what = f'"num_threads" is {told!r}, and {len(rows)} threads follow'
            raise InputFileError(f"{path}: {what}", hint="nothing was imported")
        if not any(row["n"] for row in rows):
            raise InputFileError(f"{path} holds no measurement", "no thread has a cycle", "nothing was imported")
        yield Facts(_facts(data, rows, bare))
        for row in rows:
            if row["n"]:
                yield _part(row)
        yield End({"lanes": [{**row, "over": row["n"], **_UNKNOWN} for row in rows]})


def _row(path: Path, lane: int, row: dict[str, Any]) -> dict[str, Any]:
    where = f'thread "{lane}"'
    n = json_files.count(path, row.get("cycles"), f"{where} cycles")
    least = json_files.optional_count(path, row.get("min"), f"{where} min") if n else None
    most = json_files.optional_count(path, row.get("max"), f"{where} max") if n else None
    return {
        "lane": lane,
        "n": n,
        "min_ns": None if least is None else least * NS_PER_US,
        "max_ns": None if most is None else most * NS_PER_US,
        "avg_ns": json_files.average_ns(path, row.get("avg"), NS_PER_US, f"{where} avg") if n else None,
    }


def _part(row: dict[str, Any]) -> HistogramPart:
    import numpy as np

    none = np.array([], dtype=np.int64)
    return HistogramPart(row["lane"], none, none, none, over=row["n"], limit_ns=row["min_ns"] or 0)


def _facts(data: dict[str, Any], rows: list[dict[str, Any]], bare: int) -> dict[str, Any]:
    line = json_files.member(data, "cmdline")
    argv = _words(line) if isinstance(line, str) else []
    interval_us, step_us = (
        _option(argv, "i", "interval", _DEFAULT_INTERVAL_US),
        _option(argv, "s", "step", _DEFAULT_STEP_US),
    )
    lanes = [
        {
            "lane": row["lane"],
            "name": str(row["lane"]),
            "measure": WAKE_UP,
            "cpu": None,
            "interval_ns": (interval_us + row["lane"] * step_us) * NS_PER_US if argv else None,
        }
        for row in rows
    ]
    told = {
        "kind": "summary",
        "unit": "us",
        "unit_from": "format",
        "trailer": True,
        "bare_nan": bare,
        "caveats": list(_CAVEATS),
        "lanes": [{**row, "sd_ns": None, "cycles": row["n"]} for row in rows],
        **span(data.get("start_time"), data.get("end_time")),
    }
    asked = {"argv": argv, "requested": {"policy": "deadline", "priority": 0}} if argv else {}
    sysinfo = data.get("sysinfo")
    kernel = {k: v for k, v in sysinfo.items() if isinstance(v, str)} if isinstance(sysinfo, dict) else None
    facts = {"probe": "cyclicdeadline", "bin_width_ns": NS_PER_US, "lanes": lanes, "import": told, **asked}
    return facts | ({"kernel": kernel} if kernel else {})


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _option(argv: list[str], letter: str, name: str, default: int) -> int:
    """The value of `-i 5000`, `-i5000`, `--interval 5000` or `--interval=5000`."""
    found = default
    for at, word in enumerate(argv):
        following = argv[at + 1] if at + 1 < len(argv) else ""
        for value in (
            following if word in (f"-{letter}", f"--{name}") else "",
            word.removeprefix(f"--{name}=") if word.startswith(f"--{name}=") else "",
            word[2:] if word.startswith(f"-{letter}") and not word.startswith("--") else "",
        ):
            if value.isascii() and value.isdigit() and len(value) < 13:
                found = min(int(value), _MOST_US)
    return found

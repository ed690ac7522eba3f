"""cyclictest --json: per thread a histogram (if there was -h), cycles, minimum, maximum, average and CPU.

Traps: the keys `cmdline:` and `rt_test_version:` end in a colon; a thread that never ran has the average nan, which is no
JSON, and Min 1000000; no field counts the samples above the histogram: they are cycles minus all counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers import json_files
from rtassay.importers.base import Importer
from rtassay.importers.times import span
from rtassay.importers.versions import late_policy
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US
from rtassay.probes.cyclictest_argv import CyclictestArgv, parse_command

_COMMAND = re.compile(rb'"cmdline:?"\s*:\s*"[^\n]*?\bcyclictest\b')
_ENVELOPE = re.compile(rb'"(?:rt_test_version|file_version)')
_NEVER = 1_000_000
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "dropped", "truncated", "exceedances", "sum_ns"))


class CyclictestJsonImporter(Importer):
    """One file of one run. Only versions that skip late activations write JSON."""

    name = "cyclictest-json"
    summary = "cyclictest --json"

    def recognises(self, head: bytes) -> bool:
        """Other programs of rt-tests write the same envelope: the command line tells which one wrote it, else the name of the resolution."""
        if not head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") or not _ENVELOPE.search(head):
            return False
        return bool(_COMMAND.search(head)) or (b'"cmdline' not in head and b'"resolution_in_ns"' in head)

    def source(self, path: Path) -> Source:
        data, _ = json_files.load(path)
        version = json_files.member(data, "rt_test_version")
        text = version.strip() if isinstance(version, str) and version.strip() else None
        policy = late_policy("cyclictest", text)
        return Source("cyclictest", text, self.name, "skip" if policy == "unknown" else policy)

    def read(self, path: Path) -> Iterator[Event]:
        data, bare = json_files.load(path)
        rows = json_files.lanes(path, data, "thread")
        line = json_files.member(data, "cmdline")
        command = parse_command(line) if isinstance(line, str) else None
        scale_ns = 1 if data.get("resolution_in_ns") else NS_PER_US
        told = data.get("num_threads", len(rows))
        if told != len(rows):
            what = f'"num_threads" is {told!r}, and {len(rows)} threads follow'
            raise InputFileError(f"{path}: {what}", hint="nothing was imported")
        threads = [_Thread(path, lane, row, scale_ns, command) for lane, row in rows]
        if not any(thread.cycles for thread in threads):
            raise InputFileError(f"{path} holds no measurement", "no thread has a cycle", "nothing was imported")
        yield Facts(_facts(data, threads, scale_ns, command, bare))
        for thread in threads:
            if thread.cycles:
                yield thread.histogram()
        yield End({"lanes": [thread.end() for thread in threads]})


class _Thread:
    """One row of "thread", checked."""

    def __init__(
        self, path: Path, lane: int, row: dict[str, Any], scale_ns: int, command: CyclictestArgv | None
    ) -> None:
        where = f'thread "{lane}"'
        self.lane, self.scale_ns = lane, scale_ns
        self.bins = json_files.bins(path, row.get("histogram"), f"{where} histogram")
        self.cycles = json_files.count(path, row.get("cycles"), f"{where} cycles")
        self.over = self.cycles - sum(self.bins.values())
        if self.over < 0:
            raise InputFileError(
                f"{path}: {where}: the histogram holds {self.cycles - self.over} samples of {self.cycles} cycles",
                hint="nothing was imported",
            )
        least = json_files.optional_count(path, row.get("min"), f"{where} min")
        most = json_files.optional_count(path, row.get("max"), f"{where} max")
        started = self.cycles > 0 and least is not None
        self.min_ns = least * scale_ns if started and least is not None else None
        self.max_ns = most * scale_ns if started and most is not None else None
        self.avg_ns = json_files.average_ns(path, row.get("avg"), scale_ns, f"{where} avg") if started else None
        cpu = row.get("cpu")
        self.cpu = cpu if isinstance(cpu, int) and not isinstance(cpu, bool) and 0 <= cpu < 2**16 else None
        self.interval_ns = command.interval_ns(lane) if command is not None else None
        self._limit = command.histogram if command is not None else None

    @property
    def kind(self) -> str:
        return "histogram" if self.bins or self._limit is not None else "summary"

    def histogram(self) -> HistogramPart:
        import numpy as np

        lower = np.array(list(self.bins), dtype=np.int64) * self.scale_ns
        width = np.full(len(self.bins), self.scale_ns, dtype=np.int64)
        counts = np.array(list(self.bins.values()), dtype=np.int64)
        return HistogramPart(self.lane, lower, width, counts, over=self.over, limit_ns=self._limit_ns())

    def _limit_ns(self) -> int:
        """The end of the histogram: -h of the command line, if it is there; the minimum of a summary."""
        beyond = max(self.bins, default=-1) + 1
        if self.kind == "histogram":
            return max(self._limit or 0, beyond) * self.scale_ns
        return self.min_ns or 0

    def end(self) -> dict[str, Any]:
        told = {"over": self.over, "min_ns": self.min_ns, "max_ns": self.max_ns, "avg_ns": self.avg_ns}
        return {"lane": self.lane, "n": self.cycles, **told, **_UNKNOWN}

    def told(self) -> dict[str, Any]:
        return {
            "lane": self.lane,
            "n": self.cycles,
            "min_ns": self.min_ns,
            "avg_ns": self.avg_ns,
            "max_ns": self.max_ns,
            "sd_ns": None,
            "cycles": self.cycles,
        }


def _facts(
    data: dict[str, Any], threads: list[_Thread], scale_ns: int, command: CyclictestArgv | None, bare: int
) -> dict[str, Any]:
    lanes = [
        {
            "lane": thread.lane,
            "name": str(thread.lane),
            "measure": WAKE_UP,
            "cpu": thread.cpu,
            "interval_ns": thread.interval_ns,
        }
        for thread in threads
    ]
    asked: dict[str, Any] = {}
    if command is not None:
        # A version that writes JSON sleeps by clock_nanosleep unless -x says otherwise.
        requested = command.requested() | {"sleep": command.sleep or "clock_nanosleep"}
        asked = {"argv": list(command.argv), "requested": requested}
    told: dict[str, Any] = {
        "kind": "histogram" if any(thread.kind == "histogram" for thread in threads) else "summary",
        "unit": "ns" if scale_ns == 1 else "us",
        "unit_from": "format",
        "trailer": True,
        "bare_nan": bare,
        "lanes": [thread.told() for thread in threads],
    }
    sysinfo = data.get("sysinfo")
    kernel = {k: v for k, v in sysinfo.items() if isinstance(v, str)} if isinstance(sysinfo, dict) else None
    times = span(data.get("start_time"), data.get("end_time"))
    facts = {"probe": "cyclictest", "bin_width_ns": scale_ns, "lanes": lanes, "import": told | times, **asked}
    return facts | ({"kernel": kernel} if kernel else {})

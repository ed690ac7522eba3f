"""benchkit's cyclictest_result.json (its example of cyclictest): every latency of each thread in order, in microseconds, of one run of a campaign.

    {"max_CPUs": 2, "online_CPUs": 2, "latency": "0us", "thread0_interval": 600, "thread1_interval": 1100, "threads": 2, "thread0": [20, 16, ...], "thread1": [...]}

Trap: cyclictest -v prints the interval of the next thread in the line of each one, and benchkit takes it over: a thread told as 600 us ran
each 100 us. The distance between the threads gives the true one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers import json_files
from rtassay.importers.base import Importer
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, Samples
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_US

_KEYS = (b'"max_CPUs"', b'"online_CPUs"', b'"thread0_interval"')
_MOST_US = 2**40
_THREADS_MOST = 4096
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "dropped", "truncated", "exceedances", "sum_ns"))
_CAVEATS = (
    "benchkit leaves out the cycle numbers of cyclictest -v: samples that were lost in its ring of 16,384 places cannot be seen",
    "the command line and the version of cyclictest are not in the file",
)


class BenchkitImporter(Importer):
    """One lane per thread of cyclictest, all samples in order."""

    name = "benchkit"
    summary = "cyclictest_result.json of a campaign of benchkit (every sample)"

    def recognises(self, head: bytes) -> bool:
        return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and all(key in head for key in _KEYS)

    def source(self, path: Path) -> Source:
        json_files.load(path)
        return Source("cyclictest", None, self.name, "unknown")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with file and field."""
        data, _ = json_files.load(path)
        lanes = _lanes(path, data)
        if not any(lane.size for lane in lanes):
            raise InputFileError(f"{path} holds no measurement", "no thread has a sample", "nothing was imported")
        yield Facts(_facts(path, data, lanes))
        for number, latency in enumerate(lanes):
            if latency.size:
                zeros = latency * 0
                yield Samples(lane=number, first_k=0, latency_ns=latency, missed=zeros, dropped=zeros)
        yield End({"lanes": [_end(number, latency) for number, latency in enumerate(lanes)]})


def _lanes(path: Path, data: dict[str, Any]) -> list[Any]:
    """Per thread an array of latencies in ns."""
    count = json_files.count(path, data.get("threads"), '"threads"')
    found = {key for key in data if re.fullmatch(r"thread\d{1,9}", key)}
    if not 0 < count <= _THREADS_MOST or found - {f"thread{i}" for i in range(count)}:
        raise InputFileError(
            f'{path}: "threads" is {count}, and {len(found)} threads follow', hint="nothing was imported"
        )
    return [_values(path, data.get(f"thread{i}", []), f'"thread{i}"') for i in range(count)]


def _values(path: Path, values: Any, where: str) -> Any:
    import numpy as np

    if not isinstance(values, list):
        raise InputFileError(f"{path}: {where} is no list", hint="nothing was imported")
    for at, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST_US:
            raise InputFileError(
                f"{path}: {where}, value {at + 1}: {value!r:.40} is not a latency in us", hint="nothing was imported"
            )
    return np.array(values, dtype=np.int64) * NS_PER_US


def _facts(path: Path, data: dict[str, Any], lanes: list[Any]) -> dict[str, Any]:
    told = [
        json_files.optional_count(path, data.get(f"thread{i}_interval"), f'"thread{i}_interval"')
        for i in range(len(lanes))
    ]
    entries = [
        {"lane": i, "name": str(i), "measure": WAKE_UP, "cpu": None, "interval_ns": _interval_ns(told, i)}
        for i in range(len(lanes))
    ]
    about = {
        "kind": "stream",
        "unit": "us",
        "unit_from": "format",
        "trailer": None,
        "caveats": list(_CAVEATS),
        "lanes": [],
    }
    return {"probe": "cyclictest", "bin_width_ns": NS_PER_US, "lanes": entries, "import": about}


def _interval_ns(told: list[int | None], lane: int) -> int | None:
    """None where one thread alone does not tell the distance between threads."""
    own = told[lane]
    if len(told) < 2 or own is None or told[0] is None or told[1] is None:
        return None
    true_us = own - (told[1] - told[0])
    return true_us * NS_PER_US if 0 < true_us < _MOST_US else None


def _end(number: int, latency: Any) -> dict[str, Any]:
    low, high = (int(latency.min()), int(latency.max())) if latency.size else (None, None)
    return {"lane": number, "n": int(latency.size), "over": 0, "min_ns": low, "max_ns": high, **_UNKNOWN}

"""jitterdebugger's results.json: per thread a histogram of at most 1000 bins, count, minimum, maximum and average.

Traps: the keys number threads, not CPUs; no field counts the samples above the last bin (they are count minus all bins);
after a stall late activations run one after the other (`catch_up`); the file does not name the version of the tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers import json_files
from rtassay.importers.base import Importer
from rtassay.importers.versions import late_policy
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, HistogramPart
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_MS

_SIGN = re.compile(rb'"cpus_online"\s*:\s*\d+\s*,\s*"resolution_in_ns"|"resolution_in_ns"\s*:\s*\d+\s*\}?\s*,\s*"cpu"')
_FILE_VERSION = 3
_LIMIT_NS = NS_PER_MS  # 1000 slots of 1 us, or with -N 1,000,000 of 1 ns
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "dropped", "truncated", "exceedances", "sum_ns"))


class JitterdebuggerImporter(Importer):
    """One results.json of one run."""

    name = "jitterdebugger"
    summary = "results.json of jitterdebugger -o"

    def recognises(self, head: bytes) -> bool:
        return bool(_SIGN.search(head)) and b'"rt_test_version' not in head

    def source(self, path: Path) -> Source:
        json_files.load(path)
        return Source("jitterdebugger", None, self.name, late_policy("jitterdebugger", None))

    def read(self, path: Path) -> Iterator[Event]:
        data, bare = json_files.load(path)
        version = data.get("version")
        if version not in (1, 2, _FILE_VERSION):
            raise InputFileError(
                f'{path}: "version" is {version!r}', f"known up to {_FILE_VERSION}", "nothing was imported"
            )
        sysinfo = data.get("sysinfo")
        sysinfo = sysinfo if isinstance(sysinfo, dict) else {}
        scale_ns = _scale(path, sysinfo.get("resolution_in_ns", 1000))
        lanes = [_lane(path, lane, row, scale_ns) for lane, row in json_files.lanes(path, data, "cpu")]
        if not any(end["n"] for end, _ in lanes):
            raise InputFileError(f"{path} holds no measurement", "no thread has a sample", "nothing was imported")
        yield Facts(_facts(data, sysinfo, [end for end, _ in lanes], scale_ns, bare))
        for _, part in lanes:
            yield part
        yield End({"lanes": [end for end, _ in lanes]})


def _scale(path: Path, value: Any) -> int:
    if value not in (1, 1000):
        raise InputFileError(f'{path}: "resolution_in_ns" is {value!r}', "known: 1000 and 1", "nothing was imported")
    return int(value)


def _lane(path: Path, lane: int, row: dict[str, Any], scale_ns: int) -> tuple[dict[str, Any], HistogramPart]:
    import numpy as np

    where = f'cpu "{lane}"'
    bins = json_files.bins(path, row.get("histogram"), f"{where} histogram")
    n = json_files.count(path, row.get("count"), f"{where} count")
    over = n - sum(bins.values())
    if over < 0:
        raise InputFileError(
            f"{path}: {where}: the histogram holds {n - over} samples of {n}", hint="nothing was imported"
        )
    least = json_files.optional_count(path, row.get("min"), f"{where} min") if n else None
    most = json_files.optional_count(path, row.get("max"), f"{where} max") if n else None
    end = {
        "lane": lane,
        "n": n,
        "over": over,
        "min_ns": None if least is None else least * scale_ns,
        "max_ns": None if most is None else most * scale_ns,
        "avg_ns": json_files.average_ns(path, row.get("avg"), scale_ns, f"{where} avg") if n else None,
        **_UNKNOWN,
    }
    part = HistogramPart(
        lane=lane,
        lower_ns=np.array(list(bins), dtype=np.int64) * scale_ns,
        width_ns=np.full(len(bins), scale_ns, dtype=np.int64),
        counts=np.array(list(bins.values()), dtype=np.int64),
        over=over,
        limit_ns=max(_LIMIT_NS, (max(bins, default=-1) + 1) * scale_ns),
    )
    return end, part


def _facts(
    data: dict[str, Any], sysinfo: dict[str, Any], ends: list[dict[str, Any]], scale_ns: int, bare: int
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "kind": "histogram",
        "unit": "ns" if scale_ns == 1 else "us",
        "unit_from": "format",
        "trailer": True,
        "bare_nan": bare,
        "file_version": data.get("version"),
        "lanes": [
            {key: end[key] for key in ("lane", "n", "min_ns", "avg_ns", "max_ns")} | {"sd_ns": None, "cycles": end["n"]}
            for end in ends
        ],
    }
    lanes = [{"lane": end["lane"], "name": str(end["lane"]), "measure": WAKE_UP, "cpu": None} for end in ends]
    kernel = {key: value for key, value in sysinfo.items() if isinstance(value, str)}
    facts = {"probe": "jitterdebugger", "bin_width_ns": scale_ns, "lanes": lanes, "import": told}
    return facts | ({"kernel": kernel} if kernel else {})

"""jitterdebugger's samples.raw: packed records of CPU, wake-up time and latency, one per sample, without a header.

The record is `u32 cpu; struct timespec ts; u64 latency`, in the byte order and with the timespec of the board: 28 bytes with two
64-bit fields (64-bit boards, and 32-bit ones built with 64-bit time), 20 bytes with two 32-bit fields (inferred from the tool's
source, which packs the struct; we had no file of a 32-bit board). The first records decide the layout: CPU numbers must be below
4096, nanoseconds below 1e9, and the times of a CPU must not run backwards. The latency is in us, or in ns with -N: the wake-up
times decide (see `_scale`). The file does not say whether the ring lost samples: gaps in the due times (wake-up minus latency)
show it.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer, Progress, blocks
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, Samples
from rtassay.model.manifest import Source
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_S, NS_PER_US

_HEAD_RECORDS = 512
_SIGN_RECORDS = 64
_HEAD_BYTES = 64 * 1024
_LEAST_RECORDS = 3
_CPUS_MOST = 4096
_VALUE_MOST = 2**50
_BLOCK_RECORDS = 40_000
_UNKNOWN: dict[str, None] = dict.fromkeys(("due", "missed", "truncated", "exceedances", "sum_ns"))


@dataclass(frozen=True, slots=True)
class Layout:
    """Fields of a record in numpy's terms."""

    name: str
    order: str
    time: str

    @property
    def dtype(self) -> Any:
        import numpy as np

        o, t = self.order, self.time
        return np.dtype([("cpu", f"{o}u4"), ("s", f"{o}i{t}"), ("ns", f"{o}i{t}"), ("value", f"{o}u8")])


LAYOUTS = (
    Layout("64-bit little-endian", "<", "8"),
    Layout("32-bit little-endian", "<", "4"),
    Layout("64-bit big-endian", ">", "8"),
    Layout("32-bit big-endian", ">", "4"),
)


class JitterdebuggerRawImporter(Importer):
    """Samples in order, with the time of each."""

    name = "jitterdebugger-raw"
    summary = "samples.raw of jitterdebugger -o DIR -s"

    def recognises(self, head: bytes) -> bool:
        return b"\x00" in head[:16] and len(_layouts(head)) == 1

    def source(self, path: Path) -> Source:
        next(blocks(path, 1), b"")
        return Source("jitterdebugger", None, self.name, "catch_up")

    def read(self, path: Path) -> Iterator[Event]:
        """Two passes: the first finds the CPUs, the unit and the interval. Constant memory."""
        layout = _layout_of(path)
        survey = _Survey(path, layout)
        for records in _records(path, layout, None):
            survey.take(records)
        scale_ns, lanes = survey.scale_ns(), survey.lanes()
        yield Facts(_facts(layout, scale_ns, lanes, survey))
        tracks = {cpu: _Track(index, survey.interval_ns.get(cpu)) for cpu, index in lanes.items()}
        for records in _records(path, layout, self.progress):
            cpus = records["cpu"]
            for cpu, track in tracks.items():
                mine = records[cpus == cpu]
                if len(mine):
                    yield track.samples(mine, scale_ns)
        yield End({"lanes": [track.end() for track in tracks.values()]})


def _layouts(head: bytes) -> list[Layout]:
    """Layouts in which the first records make sense. For a short file with several: those that divide it into whole records."""
    found = [layout for layout in LAYOUTS if _plausible(head, layout)]
    if len(found) > 1 and len(head) < _HEAD_BYTES:
        return [layout for layout in found if len(head) % layout.dtype.itemsize == 0] or found
    return found


def _plausible(head: bytes, layout: Layout) -> bool:
    import numpy as np

    size = layout.dtype.itemsize
    whole = min(len(head) // size, _SIGN_RECORDS)
    if whole < _LEAST_RECORDS:
        return False
    records = np.frombuffer(head, layout.dtype, whole)
    if not (
        (records["cpu"] < _CPUS_MOST).all()
        and ((records["ns"] >= 0) & (records["ns"] < NS_PER_S)).all()
        and ((records["s"] >= 0) & (records["s"] < 2**33)).all()
        and (records["value"] < _VALUE_MOST).all()
    ):
        return False
    if not records["value"].any() or not (records["ns"] > 0).any():
        return False
    for cpu in set(records["cpu"].tolist()):
        times = _times(records[records["cpu"] == cpu])
        if (np.diff(times) < 0).any():
            return False
    return True


def _layout_of(path: Path) -> Layout:
    head = next(blocks(path, _HEAD_BYTES), b"")
    found = _layouts(head)
    if len(found) == 1:
        return found[0]
    if not found:
        raise InputFileError(
            f"{path}, byte 0: no records of jitterdebugger",
            f"neither {', '.join(layout.name for layout in LAYOUTS)} records make sense",
            "nothing was imported",
        )
    names = " or ".join(layout.name for layout in found)
    raise InputFileError(f"{path}: records could be {names}", hint="import the results.json beside it")


def _records(path: Path, layout: Layout, progress: Progress | None) -> Iterator[Any]:
    """Arrays of whole records. Raises InputFileError with the byte where a record is cut or impossible."""
    import numpy as np

    size, at, held = layout.dtype.itemsize, 0, b""
    if not stat.S_ISREG(path.stat().st_mode):
        raise InputFileError(f"{path} is not a file", "it is read twice")
    for block in blocks(path, _BLOCK_RECORDS * size, progress):
        data = held + block
        whole = len(data) // size
        held = data[whole * size :]
        if not whole:
            continue
        records = np.frombuffer(data, layout.dtype, whole)
        wrong = (
            (records["cpu"] >= _CPUS_MOST)
            | (records["ns"] < 0)
            | (records["ns"] >= NS_PER_S)
            | (records["s"] < 0)
            | (records["s"] >= 2**33)
            | (records["value"] >= _VALUE_MOST)
        )
        if wrong.any():
            bad = at + int(np.argmax(wrong))
            raise InputFileError(
                f"{path}, record {bad + 1} (byte {bad * size}): not a sample of jitterdebugger",
                "its fields cannot be",
                "nothing was imported",
            )
        yield records
        at += whole
    if held:
        raise InputFileError(
            f"{path}, record {at + 1} (byte {at * size}): the record is cut", hint="nothing was imported"
        )


def _times(records: Any) -> Any:
    import numpy as np

    return records["s"].astype(np.int64) * NS_PER_S + records["ns"].astype(np.int64)


class _Survey:
    """First pass: the CPUs in the order of their numbers, and the times of the first samples of each."""

    def __init__(self, path: Path, layout: Layout) -> None:
        self._path = path
        self._first: dict[int, list[Any]] = {}
        self._kept: dict[int, int] = {}
        self._last_ns: dict[int, int] = {}
        self.interval_ns: dict[int, int] = {}
        self.origin_ns: dict[int, int] = {}

    def take(self, records: Any) -> None:
        import numpy as np

        for cpu in np.unique(records["cpu"]).tolist():
            mine = records[records["cpu"] == cpu]
            times = _times(mine)
            before = self._last_ns.get(cpu, int(times[0]))
            if int(times[0]) < before or (np.diff(times) < 0).any():
                raise InputFileError(
                    f"{self._path}: times of CPU {cpu} run backwards",
                    "two files in one, or not a file of jitterdebugger",
                    "nothing was imported",
                )
            self._last_ns[cpu] = int(times[-1])
            if self._kept.get(cpu, 0) < _HEAD_RECORDS:
                self._first.setdefault(cpu, []).append(mine.copy())
                self._kept[cpu] = self._kept.get(cpu, 0) + len(mine)

    def lanes(self) -> dict[int, int]:
        """CPU number of the file -> index of the lane."""
        return {cpu: index for index, cpu in enumerate(sorted(self._first))}

    def scale_ns(self) -> int:
        """The unit, us or ns: due times (wake-up minus latency) lie on a grid, so they scatter less in the right unit."""
        import numpy as np

        scatter = {}
        for scale in (NS_PER_US, 1):
            total = 0.0
            for cpu, blocks_ in self._first.items():
                records = np.concatenate(blocks_)
                due = _times(records) - records["value"].astype(np.int64) * scale
                steps = np.diff(due)
                if len(steps):
                    total += float(np.median(np.abs(steps - np.median(steps))))
                    self.interval_ns[cpu] = 0
            scatter[scale] = total
        chosen = min(scatter, key=lambda scale: scatter[scale])
        self._find_intervals(chosen)
        return chosen

    def _find_intervals(self, scale_ns: int) -> None:
        """The most frequent step of the due times, rounded to 1 us (jitterdebugger takes its interval in us)."""
        import numpy as np

        for cpu, blocks_ in self._first.items():
            records = np.concatenate(blocks_)
            due = _times(records) - records["value"].astype(np.int64) * scale_ns
            steps = np.diff(due)
            interval = round(float(np.median(steps)) / NS_PER_US) * NS_PER_US if len(steps) else 0
            if interval > 0:
                self.interval_ns[cpu], self.origin_ns[cpu] = interval, int(due[0])
            else:
                self.interval_ns.pop(cpu, None)


class _Track:
    """Second pass over one lane: blocks of samples. Samples that the ring lost are dropped."""

    def __init__(self, index: int, interval_ns: int | None) -> None:
        self._index = index
        self._interval_ns = interval_ns
        self._n = self._next_k = self._dropped = 0
        self._last_due_ns: int | None = None

    def samples(self, records: Any, scale_ns: int) -> Samples:
        import numpy as np

        latency_ns = records["value"].astype(np.int64) * scale_ns
        due_ns = _times(records) - latency_ns
        nothing = np.zeros(len(latency_ns), dtype=np.int64)
        gap, dropped = 0, nothing
        if self._interval_ns:
            previous = due_ns[:1] - self._interval_ns if self._last_due_ns is None else np.array([self._last_due_ns])
            steps = np.diff(np.concatenate([previous, due_ns]))
            lost = np.maximum(0, (steps + self._interval_ns // 2) // self._interval_ns - 1)
            gap, dropped = int(lost[0]), np.concatenate([lost[1:], [0]]).astype(np.int64)
        first_k = self._next_k + gap
        self._n += len(latency_ns)
        self._dropped += gap + int(dropped.sum())
        self._next_k = first_k + len(latency_ns) + int(dropped.sum())
        self._last_due_ns = int(due_ns[-1])
        return Samples(self._index, first_k, latency_ns, nothing, dropped, gap_dropped=gap)

    def end(self) -> dict[str, Any]:
        return {"lane": self._index, "n": self._n, "dropped": self._dropped, **_UNKNOWN}


def _facts(layout: Layout, scale_ns: int, lanes: dict[int, int], survey: _Survey) -> dict[str, Any]:
    rows = [
        {
            "lane": index,
            "name": str(cpu),
            "measure": WAKE_UP,
            "cpu": None,  # the tool writes the number of the thread there
            "interval_ns": survey.interval_ns.get(cpu),
            "first_due_ns": survey.origin_ns.get(cpu),
        }
        for cpu, index in lanes.items()
    ]
    told = {
        "kind": "stream",
        "unit": "ns" if scale_ns == 1 else "us",
        "unit_from": "values",
        "layout": layout.name,
        "time_from_stamps": True,
    }
    return {"probe": "jitterdebugger", "bin_width_ns": scale_ns, "lanes": rows, "import": told}

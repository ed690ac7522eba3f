"""RT-Bench's report of its jobs (-l 2 -o FILE, or -l 3 on stdout): one line a job, every job in order.

    period_start(clock_cycles),...,period_start(seconds),period_end(seconds),job_end(seconds),job_deadline(seconds),job_elapsed(seconds),deadline_status(1=met),job_utilization,job_density[,counters]
    59015335221181,59015337778983,59015337702335,59015336561949,2481154,22731.930707680,22731.931691835,22731.931662030,22731.931222787,0.000954350,0,0.97,1.85

Traps: the deadline is the stamp of a signal handler, not a time of the plan; a line of zeros but for the deadline is a period in which a job went
on (in some builds); `period_end` of a job that takes several periods is the end of the first. The period that was asked for is not in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rtassay.importers.base import Importer, contents
from rtassay.model.errors import InputFileError
from rtassay.model.events import End, Event, Facts, Samples
from rtassay.model.manifest import Source
from rtassay.model.measures import JOB_RESPONSE

_HEAD = b"period_start(clock_cycles),period_end(clock_cycles),job_end(clock_cycles)"
_ROW = re.compile(
    rb"\d{1,20}(?:,\d{1,20}){4},(\d{1,9}\.\d{9}),(\d{1,9}\.\d{9}),(\d{1,9}\.\d{9}),(\d{1,9}\.\d{9}),(\d{1,9}\.\d{9}),([01])"
    rb"(,[-+.\deinfa]{1,40}){2,40}"
)
_SKIPPED = 0
_COLUMNS = 13
_ROUNDED_NS = 2
"""The two times of a job are rounded each."""
_CAVEATS = (
    "a job counts from when the handler of its period's signal ran: how late that was is not in the file, and rtassay exec has it in its response",
    "the period is not in the file: it is the median distance of a period's two stamps",
    "command line, version, policy, priority and CPU of RT-Bench are not in the file",
)


class RtBenchImporter(Importer):
    """One lane: the response of each job, from the start of its period to its end."""

    name = "rt-bench"
    summary = "report of RT-Bench's jobs, CSV (every job)"
    lines = True

    def recognises(self, head: bytes) -> bool:
        return any(line.startswith(_HEAD) or _ROW.fullmatch(line.strip()) for line in head.splitlines()[:40])

    def source(self, path: Path) -> Source:
        contents(path)
        return Source("rt-bench", None, self.name, "counted")

    def read(self, path: Path) -> Iterator[Event]:
        """Raises InputFileError with file and line."""
        import numpy as np

        starts, ends, jobs, counters = _rows(path)
        response = jobs - starts
        period_ns = int(np.median(ends - starts))
        if period_ns <= 0:
            raise InputFileError(f"{path}: its periods have no length", hint="nothing was imported")
        missed = _missed(starts, response, period_ns)
        yield Facts(_facts(period_ns, starts, counters))
        yield Samples(lane=0, first_k=0, latency_ns=response, missed=missed, dropped=missed * 0)
        yield End({"lanes": [_end(response, missed)]})


def _missed(starts: Any, response: Any, period_ns: int) -> Any:
    """Periods between two jobs that had none; after the last job as many as it took beyond its own."""
    import numpy as np

    steps = np.rint(np.diff(starts) / period_ns).astype(np.int64)
    return np.append(np.maximum(steps - 1, 0), response[-1] // period_ns)


def _rows(path: Path) -> tuple[Any, Any, Any, bool]:
    """Stamps in ns of the start, the end of the period, and the end of each job; and whether counters follow."""
    import numpy as np

    found: list[tuple[int, int, int]] = []
    counters = False
    for number, line in enumerate(contents(path).splitlines(), 1):
        line = line.strip()
        if not line or (line.startswith(_HEAD) and not found):
            continue
        if line.startswith((_HEAD, b"NEW RUN AT")):
            if found:
                raise InputFileError(
                    f"{path}, line {number}: another run begins",
                    "RT-Bench adds to a file that is there",
                    "give each run a file of its own",
                )
            continue
        row = _ROW.fullmatch(line)
        if row is None:
            what = "this is no job of RT-Bench" if found else "this is no report of RT-Bench"
            raise InputFileError(
                f"{path}, line {number}: {what}", line[:60].decode(errors="replace"), "nothing was imported"
            )
        start, end, job, elapsed = (_ns(row[i]) for i in (1, 2, 3, 5))
        if job == _SKIPPED:
            continue  # the distance to the next job tells it, too
        if (
            not start < job
            or not start < end
            or abs(job - start - elapsed) > _ROUNDED_NS
            or (found and start <= found[-1][0])
        ):
            raise InputFileError(f"{path}, line {number}: its times contradict each other", hint="nothing was imported")
        counters |= line.count(b",") >= _COLUMNS
        found.append((start, end, job))
    if not found:
        raise InputFileError(f"{path} holds no measurement", "no job ended", "nothing was imported")
    starts, ends, jobs = np.array(found, dtype=np.int64).T
    return starts, ends, jobs, counters


def _ns(seconds: bytes) -> int:
    """Exact: 9 digits follow the point."""
    return int(seconds.replace(b".", b""))


def _facts(period_ns: int, starts: Any, counters: bool) -> dict[str, Any]:
    lane = {
        "lane": 0,
        "name": "job",
        "measure": JOB_RESPONSE,
        "cpu": None,
        "interval_ns": period_ns,
        "first_due_ns": int(starts[0]),
    }
    caveats = [
        *_CAVEATS,
        *(["the processor's counters of each job are in the file, and not imported"] if counters else []),
    ]
    about = {
        "kind": "stream",
        "unit": "ns",
        "unit_from": "format",
        "trailer": None,
        "time_from_stamps": True,
        "caveats": caveats,
        "lanes": [],
    }
    return {"probe": "rt-bench", "bin_width_ns": 1, "lanes": [lane], "import": about}


def _end(response: Any, missed: Any) -> dict[str, Any]:
    n, lost = int(response.size), int(missed.sum())
    return {
        "lane": 0, "due": n + lost, "n": n, "missed": lost, "dropped": 0, "truncated": 0, "over": 0, "exceedances": None,
        "min_ns": int(response.min()), "max_ns": int(response.max()), "sum_ns": int(response.sum()),
    }  # fmt: skip

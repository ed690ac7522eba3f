"""Monitor data for the checks: values inside the measurement, whether a monitor ran at all, lines of the kernel's log."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rtassay.analysis.checks.context import Context
from rtassay.model.recording import Message, Series
from rtassay.model.units import NS_PER_S

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CPU = re.compile(r"cpu(\d+)\.(.+)", re.DOTALL)
KERNEL_LOG = "kernel-log"
WATCHED = "watched"


@dataclass(frozen=True, slots=True)
class Inside:
    """The part of one series that lies inside the measurement. `before`: the last value at or before its begin, if there is one."""

    name: str
    unit: str
    times: Ints
    values: Floats
    before: float | None
    window_s: float = 0.0

    @property
    def per_s(self) -> float:
        """Mean rate over the measurement of a counter's rates: a series may begin only with the first event."""
        return float(self.values.sum()) / max(self.window_s, float(self.values.size))

    @property
    def since(self) -> float:
        """By how much a counter rose during the measurement."""
        first = self.before if self.before is not None else float(self.values[0])
        return float(self.values[-1]) - first


def inside(context: Context, series: Series) -> Inside | None:
    """None where the series has no finite value inside the measurement."""
    times, values = np.asarray(series.mono_ns, dtype=np.int64), np.asarray(series.values, dtype=np.float64)
    finite = np.isfinite(values)
    times, values = times[finite], values[finite]
    keep, before = np.ones(times.size, dtype=bool), None
    if (window := context.window_ns) is not None:
        keep = (times >= window[0]) & (times <= window[1])
        earlier = values[times < window[0]]
        before = float(earlier[-1]) if earlier.size else None
    if not keep.any():
        return None
    return Inside(series.name, series.unit, times[keep], values[keep], before, context.duration_s or 0.0)


def of(context: Context, monitor: str) -> Iterator[Inside]:
    """Every series of one monitor, cut to the measurement."""
    for series in context.recording.telemetry:
        if series.monitor == monitor and (found := inside(context, series)) is not None:
            yield found


def held(context: Context, monitor: str) -> Iterator[tuple[str, Floats]]:
    """(name, values) of states that hold until the next reading: the last one before the measurement, then those inside it."""
    window = context.window_ns
    for series in context.recording.telemetry:
        if series.monitor != monitor:
            continue
        times, values = np.asarray(series.mono_ns, dtype=np.int64), np.asarray(series.values, dtype=np.float64)
        finite = np.isfinite(values)
        times, values = times[finite], values[finite]
        if window is not None:
            begin = max(0, int(np.searchsorted(times, window[0], side="right")) - 1)
            values = values[begin : int(np.searchsorted(times, window[1], side="right"))]
        if values.size:
            yield series.name, values


def held_of(context: Context, monitor: str, name: str) -> Floats | None:
    """One such state by its name."""
    return next((values for found, values in held(context, monitor) if found == name), None)


def held_of_cpus(context: Context, monitor: str) -> Iterator[tuple[int, str, Floats]]:
    """(CPU, rest of the name, values) of states called `cpu<N>.<rest>`."""
    for name, values in held(context, monitor):
        if (match := _CPU.fullmatch(name)) is not None:
            yield int(match[1]), match[2], values


def watched(context: Context, monitor: str) -> bool:
    """Whether the monitor read anything during the run. If it did, an event that it does not show did not happen."""
    entry = context.manifest.monitors.get(monitor)
    if entry is not None:
        return entry.state == WATCHED
    return any(series.monitor == monitor for series in context.recording.telemetry)


def of_cpus(context: Context, monitor: str) -> Iterator[tuple[int, str, Inside]]:
    """(CPU, rest of the name, series) of series called `cpu<N>.<rest>`."""
    for found in of(context, monitor):
        if (match := _CPU.fullmatch(found.name)) is not None:
            yield int(match[1]), match[2], found


def named(context: Context, monitor: str, name: str) -> Inside | None:
    """One series by its name."""
    return next((found for found in of(context, monitor) if found.name == name), None)


def log_watched(context: Context) -> bool:
    """Whether the kernel's log was read during the run."""
    return watched(context, KERNEL_LOG)


def log_lines(context: Context, pattern: re.Pattern[str]) -> list[Message]:
    """Lines of the kernel's log from the measurement that match, in order. Where the begin is not known, all that match."""
    window = context.window_ns
    return [
        message
        for message in context.recording.messages
        if message.monitor == KERNEL_LOG
        and pattern.search(message.text)
        and (window is None or window[0] <= message.mono_ns <= window[1])
    ]


def moment(context: Context, mono_ns: int) -> str:
    """`12.4 s into the run`."""
    window = context.window_ns
    return (
        f"{max(0, mono_ns - window[0]) / NS_PER_S:.1f} s into the run" if window is not None else "at an unknown moment"
    )


def isolated_cpus(context: Context) -> tuple[int, ...] | None:
    """Measured CPUs that are isolated (isolcpus, a cpuset partition) or kept from the tick (nohz_full); None where that is not known."""
    cpus = context.manifest.board_start.cpus
    known = [rows for rows in (cpus.isolated, cpus.nohz_full, cpus.cgroup_isolated) if rows is not None]
    if not known:
        return None
    return tuple(sorted({cpu for rows in known for cpu in rows} & set(context.measured_cpus)))


def own_share(context: Context, cpu: int) -> float | None:
    """Share of the CPU's time that its lanes used; None if not known."""
    duration_s = context.duration_s
    used = [lane.entry.cpu_ns for lane in context.accounts if lane.entry.cpu == cpu]
    known = [ns for ns in used if ns is not None]
    return sum(known) / (duration_s * NS_PER_S) if duration_s and known and len(known) == len(used) else None

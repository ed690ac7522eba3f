"""Lines of the kernel's log that bear on a measurement, each with its own time."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rtassay.monitors.base import Message, Monitor, Reading

_RECORD = re.compile(r"(\d{1,6}),(\d{1,20}),(\d{1,15})(?:,[^;]*)?;(.*)")
_NS_PER_US = 1000
_WARNING = 4
_LEVELS = 8
_ONE_READING_NS = 200_000_000
# Lines that matter at any log level.
_MATTERS = re.compile(
    r"""
    RT\ throttling | replenish\ lagged                                  # the scheduler's limits
    | out\ of\ memory | oom[-_ ](kill|reaper) | killed\ process
    | under-?voltage | voltage\ normalised
    | thermal | throttl | temperature
    | hung\ task | blocked\ for\ more\ than | soft\ lockup | hard\ lockup | watchdog:
    | clocksource | tsc.*unstable | timekeeping | hrtimer:\ interrupt\ took | interrupt\ took\ too\ long
    | rcu.*(stall|starved|detected)
    | \bBUG\b | \bOops\b | WARNING: | scheduling\ while\ atomic | local_softirq_pending | tick-stop\ error
    | machine\ check | \bmce: | \bEDAC\b
    | I/O\ error | medium\ error | mmc\d+:.*(error|time(d\ )?out|tuning|reset) | EXT4-fs.*(error|warning) | nvme.*(timeout|reset)
    | smpboot:.*(CPU|Booting) | CPU\s?\d+(:|\ is|\ now).*(shutdown|offline|booted|killed) | psci:\ CPU\d+\ killed
    | PM:.*(suspend|resume) | \bhwlat\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class _Record:
    seq: int
    mono_ns: int
    text: str


class KernelLogMonitor(Monitor):
    """Warnings and worse, and lines about throttling, memory, voltage, heat, lock-ups, clocks, disks or CPUs going off and on.

    Lines in the log at the first reading keep their time before the run. The kernel stamps its log by a clock of its own that may
    drift from CLOCK_MONOTONIC by seconds over days: a line that came between two readings is given a time between them. At most
    100 lines of the past, 50 of one reading and 1000 in all are kept; `left_out` counts the rest, when there is any.
    """

    name = "kernel-log"
    paths: tuple[str, ...] = ("@kmsg",)
    may_be_silent = True
    past, at_once, in_all = 100, 50, 1000

    def __init__(self) -> None:
        self._first_ns: int | None = None
        self._read_ns = 0
        self._seq = -1
        self._kept = 0

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        found = self._new(content)
        self._first_ns = mono_ns if self._first_ns is None else self._first_ns
        # A long log comes in several pieces at one reading.
        past = mono_ns - self._first_ns < _ONE_READING_NS
        after_ns = 0 if past else self._read_ns
        self._read_ns = mono_ns
        room = max(0, self.past - self._kept if past else min(self.at_once, self.in_all - self._kept))
        kept = found[-room:] if past and room else found[:room]
        self._kept += len(kept)
        said: list[Reading | Message] = [
            Message(max(0, min(max(record.mono_ns, after_ns), mono_ns)), record.text) for record in kept
        ]
        if len(kept) < len(found):
            said.append(Reading("left_out", float(len(found) - len(kept)), "1"))
        return said

    def _new(self, content: bytes) -> list[_Record]:
        records = []
        # A line that begins with a space belongs to the record before it and is meant for programs.
        for line in content.decode(errors="replace").split("\n"):
            record = _RECORD.fullmatch(line)
            if record is None or int(record[2]) <= self._seq:
                continue
            self._seq = int(record[2])
            text = record[4].strip()
            if text and (int(record[1]) % _LEVELS <= _WARNING or _MATTERS.search(text)):
                records.append(_Record(self._seq, int(record[3]) * _NS_PER_US, text))
        return records

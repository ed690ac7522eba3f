"""The real-time threads: the share of a CPU that each uses, its priority, its CPU, its page faults."""

from __future__ import annotations

from dataclasses import dataclass

from rtassay.monitors.base import Message, Monitor, Reading
from rtassay.monitors.parsing import NS_PER_S, Counters, whole_lines, wholes

# A load that makes real-time threads by the thousand must not fill the recording with their names.
_MOST = 1000


@dataclass(slots=True)
class _Thread:
    name: str
    priority: int | None = None
    cpu: int | None = None
    faults: int | None = None


class ThreadsMonitor(Monitor):
    """Of every real-time thread `<comm>[<tid>]`: `.busy`, the share of one CPU since the last reading, from the first time it ran at
    all; `.priority` and `.cpu` when first seen and when they change; `.faults`, minor and major page faults since the last reading,
    when there were any. Threads beyond the first thousand are counted in `left_out`.

    This is where an interrupt thread that takes a third of a CPU gets its name: `irq/39-dwc_otg[85].busy`.
    """

    name = "threads"
    paths: tuple[str, ...] = ("@rt-threads",)

    def __init__(self) -> None:
        self._threads: dict[int, _Thread] = {}
        self._seen: set[tuple[int, str]] = set()
        self._ran = Counters()

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        readings: list[Reading | Message] = []
        present: set[int] = set()
        left_out = 0
        for line in whole_lines(content):
            words = line.split(None, 8)
            numbers = wholes([*words[:2], *words[3:8]])
            if len(words) < 8 or numbers is None:
                continue
            tid, _, priority, cpu, run_ns, minor, major = numbers
            name = words[8] if len(words) > 8 else ""
            if (tid, name) not in self._seen and len(self._seen) >= _MOST:
                left_out += 1
                continue
            self._seen.add((tid, name))
            present.add(tid)
            readings += self._thread(mono_ns, tid, name, (priority, cpu, run_ns, minor + major))
        for gone in self._threads.keys() - present:
            del self._threads[gone]
            self._ran.forget(str(gone))
        if left_out:
            readings.append(Reading("left_out", float(left_out), "1"))
        return readings

    def _thread(self, mono_ns: int, tid: int, name: str, now: tuple[int, int, int, int]) -> list[Reading]:
        priority, cpu, run_ns, faults = now
        label = f"{name}[{tid}]"
        last = self._threads.get(tid)
        if last is None or last.name != name:  # a thread may take a name after it was made: its time goes on
            last = self._threads[tid] = _Thread(name)
        readings = []
        ran = self._ran.lively(str(tid), mono_ns, run_ns)
        if ran is not None:
            readings.append(Reading(f"{label}.busy", ran / NS_PER_S, "ratio"))
        if priority != last.priority:
            readings.append(Reading(f"{label}.priority", float(priority), "1"))
        if cpu != last.cpu:
            readings.append(Reading(f"{label}.cpu", float(cpu), "1"))
        if last.faults is not None and faults > last.faults:
            readings.append(Reading(f"{label}.faults", float(faults - last.faults), "1"))
        last.priority, last.cpu, last.faults = priority, cpu, faults
        return readings

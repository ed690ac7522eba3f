"""Parsers of files that several settings look at. They take anything and leave out what they do not understand."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rtassay.knobs.base import NotRead, Seen
from rtassay.model.inventory import RtTask
from rtassay.model.knobs import UNKNOWN
from rtassay.model.own import is_guard
from rtassay.model.units import NS_PER_S

INTERRUPTS = "/proc/interrupts"
KERNEL_LOG = "@kmsg"
RT_THREADS = "@rt-threads"
STATS = "/proc/[0-9]*/stat"
CPUS = "/sys/devices/system/cpu"
PROCESSES = "/proc/self/stat"

_ROW = re.compile(r"\s*([\w-]+):\s*(.*)")
_RECORD = re.compile(r"(\d{1,6}),\d{1,20},(\d{1,15})(?:,[^;]*)?;(.*)")
_THREAD = re.compile(r"(\d{1,9}) (\d{1,9}) (fifo|rr|deadline) (-?\d{1,9}) (-?\d{1,9}) (\d{1,19}) \S+ \S+ ?(.*)")
_STAT = re.compile(r"(\d{1,9}) \((.*)\) (\S.*)", re.DOTALL)
# PF_KTHREAD of include/linux/sched.h; fields of stat(5) behind the name, counted from 0 at the state.
_PF_KTHREAD, _FLAGS = 0x00200000, 6
# Real-time threads that the kernel starts by itself, where nothing but their name is known.
_OF_KERNEL = re.compile(
    r"(migration|stopper|idle_inject|irq_work|ktimers|ktimersoftd|ksoftirqd|rcuc|rcub|posixcputmr|cpuhp)/\d+"
    r"|irq/\d+-.*|rcu_\w+|watchdogd|sugov:\d+|oom_reaper|(s|i|cec|spi|card)\S*_?(irq|crypto|rt)?/\d+|backlogd?\S*"
    r"|napi/.*|spi\d+|cros_ec\S*|psimon|khungtaskd|edac-poller"
)


@dataclass(frozen=True, slots=True)
class Interrupt:
    """A row of /proc/interrupts. `counts`: by CPU; `label`: chip and device names."""

    name: str
    counts: dict[int, int]
    label: str


def interrupts(content: bytes) -> dict[str, Interrupt]:
    """By number or name (`24`, `LOC`)."""
    head, *rows = content.decode(errors="replace").split("\n")
    cpus = [int(word[3:]) for word in head.split() if re.fullmatch(r"CPU\d{1,5}", word)]
    found = {}
    for row in rows:
        if (match := _ROW.fullmatch(row)) is None:
            continue
        words = match[2].split(None, len(cpus))
        numbers = [word for word in words[: len(cpus)] if re.fullmatch(r"\d{1,20}", word)]
        if len(numbers) == len(cpus):
            label = " ".join(words[len(cpus)].split()) if len(words) > len(cpus) else ""
            counts = dict(zip(cpus, map(int, numbers), strict=True))
            found[match[1]] = Interrupt(match[1], counts, label)
    return found


def interrupt_rates(seen: Seen) -> dict[str, tuple[Interrupt, dict[int, float]]]:
    """Interrupts per second by CPU, between the two readings. Raises NotRead."""
    first = seen.files.get(INTERRUPTS)
    second = seen.later.get(INTERRUPTS)
    span_ns = seen.spans.get(INTERRUPTS, 0)
    if first is None or second is None or span_ns <= 0:
        raise seen.not_read(INTERRUPTS) if first is None else NotRead(UNKNOWN, "the interrupts were read once only")
    before, after = interrupts(first), interrupts(second)
    seconds = span_ns / NS_PER_S
    return {
        name: (
            row,
            {cpu: max(0, count - before[name].counts.get(cpu, 0)) / seconds for cpu, count in row.counts.items()},
        )
        for name, row in after.items()
        if name in before
    }


@dataclass(frozen=True, slots=True)
class LogLine:
    """A record of the kernel's log. `level`: 0 emergency to 7 debug; `at_us` on the log's clock."""

    level: int
    at_us: int
    text: str


def log_lines(content: bytes) -> list[LogLine]:
    """The records of `@kmsg`."""
    found = (_RECORD.fullmatch(line) for line in content.decode(errors="replace").split("\n"))
    return [LogLine(int(one[1]) & 7, int(one[2]), one[3]) for one in found if one is not None]


@dataclass(frozen=True, slots=True)
class Thread:
    """A real-time thread. `busy`: its share of a CPU between the two readings; None: not known."""

    tid: int
    comm: str
    policy: str
    priority: int
    cpu: int | None
    of_kernel: bool
    busy: float | None

    @property
    def words(self) -> str:
        """For a sentence."""
        at = "" if self.cpu is None else f" on CPU {self.cpu}"
        used = "" if self.busy is None or self.busy < 0.001 else f", {self.busy:.0%} busy"
        return f"{self.comm} ({self.policy} {self.priority}{at}{used})"


def threads(seen: Seen) -> list[Thread]:
    """Real-time threads, the highest priority first; those of rtassay are left out. Raises NotRead."""
    tasks = seen.told(seen.inventory.rt_tasks, RT_THREADS)
    runs, later = _run_times(seen.files.get(RT_THREADS, b"")), _run_times(seen.later.get(RT_THREADS, b""))
    kernel = kernel_threads(seen)
    return [
        _thread(task, runs, later, seen.spans.get(RT_THREADS, 0), kernel)
        for task in tasks
        if task.tid is not None and not _own(task)
    ]


def _own(task: RtTask) -> bool:
    return task.comm is not None and (is_guard(task.comm) or task.comm in ("rtprobe-lane", "rtprobe-writer"))


def _thread(
    task: RtTask, before: dict[int, int], after: dict[int, int], span_ns: int, kernel: set[int] | None
) -> Thread:
    tid, comm = task.tid or 0, task.comm or "?"
    known = tid in before and tid in after and span_ns > 0
    busy = max(0, after[tid] - before[tid]) / span_ns if known else None
    of_kernel = tid in kernel if kernel is not None else _OF_KERNEL.fullmatch(comm) is not None
    return Thread(tid, comm, task.policy or "real-time", task.priority or 0, task.cpu, of_kernel, busy)


def _run_times(content: bytes) -> dict[int, int]:
    found = (_THREAD.fullmatch(line) for line in content.decode(errors="replace").split("\n"))
    return {int(one[1]): int(one[6]) for one in found if one is not None}


def kernel_threads(seen: Seen) -> set[int] | None:
    """Numbers of the kernel's own threads; None: not known."""
    flags = {}
    for path, content in seen.files.items():
        if re.fullmatch(r"/proc/\d{1,9}/stat", path) and (match := _STAT.fullmatch(content.decode(errors="replace"))):
            fields = match[3].split()
            if len(fields) > _FLAGS and fields[_FLAGS].isdigit():
                flags[int(match[1])] = int(fields[_FLAGS])
    return {tid for tid, flag in flags.items() if flag & _PF_KTHREAD} if flags else None


def running(seen: Seen) -> set[str]:
    """Names of all processes, as the kernel cuts them (15 characters). Raises NotRead."""
    found = {
        match[2]
        for path, content in seen.files.items()
        if re.fullmatch(r"/proc/\d{1,9}/stat", path) and (match := _STAT.fullmatch(content.decode(errors="replace")))
    }
    if not found:
        raise seen.not_read(STATS)
    return found


def rates_of_cpus(seen: Seen, name: str) -> dict[int, float]:
    """Per second by CPU of one row of /proc/interrupts (`SMI`, `LOC`); {} where there is no such row. Raises NotRead."""
    return interrupt_rates(seen).get(name, (None, {}))[1]

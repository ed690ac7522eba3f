"""stress-ng as the load: one fixed profile, fixed lists by class, or the user's own arguments."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.loads.base import CLASSES, LoadCommand, LoadSpec, Meter
from rtassay.loads.stress_ng_output import StressNgMeter
from rtassay.loads.tools import coarse, split
from rtassay.model.errors import UsageError
from rtassay.model.units import format_cpu_list

PROFILE = "field"
_MIB = 1024 * 1024
_VM_MOST, _VM_LEAST = 256 * _MIB, _MIB
_VM_FALLBACK = 64 * _MIB
_FIELD = ("cpu", "cache", "vm", "timer", "fork", "sem", "msg")
# The stressors of each class. They do not change between versions of rtassay without a new name of the class.
STRESSORS: dict[str, tuple[str, ...]] = {
    "cpu": ("cpu", "matrix"),
    "cache": ("cache", "bsearch"),
    "memory": ("memcpy", "stream"),
    "vm": ("vm", "mmap"),
    "io": ("io", "aio"),
    "hdd": ("hdd",),
    "fork": ("fork", "vfork"),
    "timer": ("timer", "timerfd"),
    "network": ("sock", "udp"),
    "scheduler": ("sem", "msg", "yield"),
    "gpu": ("gpu",),
}
# Classes of other stressors in users' own command lines; `--all` and `--class` name too many to list.
_ALSO = {
    **dict.fromkeys(
        ("matrix-3d", "branch", "fp", "crypt", "prime", "trig", "vecmath", "vecwide", "zlib", "atomic"), "cpu"
    ),
    **dict.fromkeys(
        ("l1cache", "icache", "lockbus", "lsearch", "hsearch", "tsearch", "heapsort", "qsort", "cacheline"), "cache"
    ),
    **dict.fromkeys(("memrate", "memthrash", "mcontend", "numa", "membarrier"), "memory"),
    **dict.fromkeys(("bigheap", "brk", "mremap", "madvise", "mlock", "fault", "userfaultfd", "shm", "malloc"), "vm"),
    **dict.fromkeys(("iomix", "sync-file", "readahead", "rawdev"), "io"),
    **dict.fromkeys(("fallocate", "dentry", "dir", "file-ioctl", "copy-file", "seek", "revio"), "hdd"),
    **dict.fromkeys(("clone", "exec", "spawn", "zombie", "daemon"), "fork"),
    **dict.fromkeys(("itimer", "hrtimers", "clock", "nanosleep", "sleep", "alarm", "cyclic"), "timer"),
    **dict.fromkeys(
        ("sockpair", "sockfd", "sockmany", "udp-flood", "rawsock", "rawudp", "icmp-flood", "netdev"), "network"
    ),
    **dict.fromkeys(
        ("switch", "pipe", "futex", "mutex", "affinity", "schedpolicy", "schedmix", "eventfd", "poll"), "scheduler"
    ),
}
_CLASS_OF = {**_ALSO, **{stressor: name for name, stressors in STRESSORS.items() for stressor in stressors}}


class StressNgLoad:
    """stress-ng, SCHED_OTHER, one instance of each stressor per load CPU and all of them kept on the load CPUs.

    Without an argument it runs the profile `field`, which is the same on every board and does not change between versions of
    rtassay without a new name:

    - `--cpu` (arithmetic, all methods), `--cache` (cache thrashing, flushes and fences);
    - `--vm` (page faults, mapping and unmapping) with 256 MiB each, but never more than 3/16 of the available memory in all, so
      that everything together stays below a quarter; a power of two, so that the runs of one board have the same load;
    - `--timer --timer-freq 100000` (timer interrupts and signals);
    - `--fork` (process creation), `--sem` (context switches between threads), `--msg` (messages between processes).

    No disk, no network. Only stressors that end in order when all their processes are told to end at once, which is how a guard
    does it (`switch` and `pipe` then call their own counters corrupt).

    `stress-ng:cpu,vm,hdd` runs the stressors of those classes (STRESSORS), the files of `io` and `hdd` in /var/tmp. `stress-ng:ARGS`
    runs ARGS instead, split as a shell would but given to no shell. Work, time and skips of each stressor come from its
    `--yaml`, written to stdout; from its tables on stderr where a version writes none.
    """

    name = "stress-ng"
    summary = (
        f"stress-ng, profile '{PROFILE}' (cpu, cache, vm, timer, fork, sem, msg); stress-ng:CLASS,... or stress-ng:ARGS"
    )

    def needs(self, argument: str | None) -> str | None:
        _classes_named(argument)
        if argument is not None:
            split(self.name, argument)
        return "stress-ng"

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        arguments, classes = _arguments(spec)
        bounded = (
            *(
                spec.program or "stress-ng",
                "--timeout",
                f"{spec.duration_s}s",
                "--metrics",
                "--yaml",
                "/proc/self/fd/1",
            ),
            *("--temp-path", "/tmp", "--taskset", format_cpu_list(spec.cpus)),
        )
        return [LoadCommand((*bounded, *arguments), classes)]

    def meter(self, argv: Sequence[str]) -> Meter:
        return StressNgMeter()


def _arguments(spec: LoadSpec) -> tuple[list[str], tuple[str, ...]]:
    if named := _classes_named(spec.argument):
        stressors = [stressor for name in named for stressor in STRESSORS[name]]
        places = ["--temp-path", "/var/tmp"] if {"io", "hdd"} & set(named) else []
        return [*places, *_instances(stressors, spec)], named
    if spec.argument is None:
        return _instances(_FIELD, spec), _classes_of([f"--{name}" for name in _FIELD])
    arguments = split("stress-ng", spec.argument)
    return arguments, _classes_of(arguments)


def _instances(stressors: Sequence[str], spec: LoadSpec) -> list[str]:
    """As many of each as `spec.workers`, with sizes that leave the board its memory and its disk."""
    workers = spec.workers or len(spec.cpus)
    sized = sum(stressor in ("vm", "mmap") for stressor in stressors) or 1
    vm_bytes = _VM_FALLBACK if spec.memory_available_bytes is None else spec.memory_available_bytes * 3 // 16
    # Some versions share --vm-bytes out between the instances, others give it to each: divided here, it is right or too low.
    each = f"{coarse(max(_VM_LEAST, min(_VM_MOST, vm_bytes // workers // sized))) // 1024}k"
    more = {
        "vm": ["--vm-bytes", each],
        "mmap": ["--mmap-bytes", each],
        "timer": ["--timer-freq", "100000"],
        "timerfd": ["--timerfd-freq", "100000"],
        "hdd": ["--hdd-bytes", "64m"],
        # Its arrays are four times this; by default the board's own L3, which may be hundreds of MB and seconds for one round.
        "stream": ["--stream-l3-size", "8m"],
    }
    arguments = []
    for stressor in stressors:
        arguments += [f"--{stressor}", str(workers)]
    for stressor in stressors:
        arguments += more.get(stressor, [])
    return arguments


def _classes_named(argument: str | None) -> tuple[str, ...]:
    """The classes an argument names, () where it holds arguments of stress-ng. Raises UsageError for an unknown class."""
    if argument is None or argument.lstrip().startswith(("-", "'", '"')) or not argument.strip():
        return ()
    names = tuple(part.strip() for part in argument.split(","))
    for name in names:
        if name not in STRESSORS:
            raise UsageError(
                f"stress-ng has no class '{name}' here",
                hint=f"known: {', '.join(CLASSES)}; or arguments as stress-ng:'--cpu 4 --vm 2'",
            )
    return tuple(dict.fromkeys(names))


def _classes_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """The classes that a command line stresses, as far as known; `--all` stresses all classes but the excluded ones."""
    words = [word.partition("=")[0] for word in arguments]
    if any(word in ("--all", "-a") for word in words):
        return CLASSES
    short = {"-c": "cpu", "-C": "cache", "-m": "vm", "-i": "io", "-d": "hdd", "-f": "fork", "-T": "timer", "-S": "sock"}
    found = {_CLASS_OF[name] for word in words if (name := short.get(word) or word.removeprefix("--")) in _CLASS_OF}
    return tuple(name for name in CLASSES if name in found)

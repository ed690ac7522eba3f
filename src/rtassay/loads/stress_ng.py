"""stress-ng as the load: one fixed profile, or the user's own arguments."""

from __future__ import annotations

import re
import shlex

from rtassay.loads.base import LoadResult, LoadSpec
from rtassay.model.errors import UsageError
from rtassay.model.units import format_cpu_list

PROFILE = "field"
_MIB = 1024 * 1024
_VM_MOST, _VM_LEAST = 256 * _MIB, _MIB
_VM_FALLBACK = 64 * _MIB
# stress-ng 0.13 writes these rows as info:, later ones as metrc:.
_METRIC = re.compile(
    r"^stress-ng: (?:metrc|info):\s+\[\d+\]\s+(?P<name>[a-z][a-z0-9-]*)\s+(?P<ops>\d+)((?:\s+[\d.]+){5}.*)$",
    re.MULTILINE,
)
_TROUBLE = re.compile(r"^stress-ng: (?:error|fail):\s+\[\d+\]\s+(?P<text>.+?)\s*$", re.MULTILINE)


class StressNgLoad:
    """stress-ng, SCHED_OTHER, one instance of each stressor per load CPU and all of them kept on the load CPUs.

    Without an argument it runs the profile `field`, which is the same on every board and does not change between versions of
    rtassay without a new name:

    - `--cpu` (arithmetic, all methods), `--cache` (cache thrashing, flushes and fences);
    - `--vm` (page faults, mapping and unmapping) with 256 MiB each, but never more than 3/16 of the available memory in all, so
      that everything together stays below a quarter;
    - `--timer --timer-freq 100000` (timer interrupts and signals);
    - `--fork` (process creation), `--sem` (context switches between threads), `--msg` (messages between processes).

    No disk, no network. Only stressors that end in order when all their processes are told to end at once, which is how a guard
    does it (`switch` and `pipe` then call their own counters corrupt). `stress-ng:ARGS` runs ARGS instead, split as a shell would but given to no shell.
    """

    name = "stress-ng"
    program: str | None = "stress-ng"
    summary = f"stress-ng, profile '{PROFILE}' (cpu, cache, vm, timer, fork, sem, msg); stress-ng:ARGS for your own"

    def commands(self, spec: LoadSpec) -> list[list[str]]:
        bounded = [
            spec.program or "stress-ng",
            "--timeout",
            f"{spec.duration_s}s",
            "--metrics-brief",
            "--temp-path",
            "/tmp",
            "--taskset",
            format_cpu_list(spec.cpus),
        ]
        return [bounded + (_profile(spec) if spec.argument is None else _split(spec.argument))]

    def result(self, output: bytes) -> LoadResult:
        text = output.decode(errors="replace")
        rows = [int(match["ops"]) for match in _METRIC.finditer(text)]
        trouble = _TROUBLE.search(text)
        error = trouble["text"] if trouble else None
        if not rows:
            return LoadResult(None, None, error or "stress-ng printed no metrics")
        return LoadResult(float(sum(rows)), "bogo ops", error)


def _profile(spec: LoadSpec) -> list[str]:
    each = str(len(spec.cpus))
    vm_bytes = _VM_FALLBACK if spec.memory_available_bytes is None else spec.memory_available_bytes * 3 // 16
    # Some versions share --vm-bytes out between the instances, others give it to each: divided here, it is right or too low.
    per_instance = max(_VM_LEAST, min(_VM_MOST, vm_bytes // len(spec.cpus)))
    arguments: list[str] = []
    for stressor in ("cpu", "cache", "vm", "timer", "fork", "sem", "msg"):
        arguments += [f"--{stressor}", each]
    return [*arguments, "--vm-bytes", f"{per_instance // 1024}k", "--timer-freq", "100000"]


def _split(argument: str) -> list[str]:
    try:
        arguments = shlex.split(argument)
    except ValueError as error:
        raise UsageError(f"cannot read the arguments of stress-ng: {argument}", str(error)) from error
    if not arguments:
        raise UsageError(
            "'stress-ng:' names no arguments", hint="write stress-ng alone for its profile, or stress-ng:'--cpu 4'"
        )
    return arguments

"""stress, the old workload generator that vendors' manuals name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtassay.loads.base import LoadCommand, LoadResult, LoadSpec, Meter, Rate
from rtassay.loads.tools import RepeatMeter, coarse, inside, repeated, split
from rtassay.model.manifest import WorkPart

_MIB = 1024 * 1024
_OPTIONS = {
    "cpu": (("--cpu", "-c"), ("cpu",)),
    "io": (("--io", "-i"), ("io",)),
    "vm": (("--vm", "-m"), ("vm", "memory")),
    "hdd": (("--hdd", "-d"), ("hdd", "io")),
}
_TROUBLE = re.compile(r"^stress: (?:FAIL|WARN|FATAL): \[\d+\] (?:\(\d+\) )?(?P<text>.+?)\s*$")


class StressLoad:
    """`--cpu`, `--io` and `--vm` with one worker of each per load CPU, together at most an eighth of the available memory.
    `stress:--cpu 4 --io 4 --vm 4 --vm-bytes 256M` gives other arguments.

    stress counts nothing: its CPU time stands for the work done.
    """

    name = "stress"
    summary = "stress: cpu, io and vm workers; stress:'--cpu 4 --vm 2' for your own"

    def needs(self, argument: str | None) -> str | None:
        if argument is not None:
            split(self.name, argument)
        return "stress"

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        arguments = _standard(spec) if spec.argument is None else split(self.name, spec.argument)
        argv = [spec.program or "stress", "--timeout", f"{spec.duration_s}s", *arguments]
        classes = {name for part in _workers(arguments) for name in _OPTIONS[part][1]}
        return [LoadCommand(repeated(spec, argv, once=True, more_s=5), tuple(sorted(classes)))]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter(_workers(inside(argv)))


def _standard(spec: LoadSpec) -> list[str]:
    available = spec.memory_available_bytes or 512 * _MIB
    each = str(len(spec.cpus))
    per_worker = coarse(max(1, min(256, available // 8 // len(spec.cpus) // _MIB)))
    return ["--cpu", each, "--io", each, "--vm", each, "--vm-bytes", f"{per_worker}M"]


def _workers(arguments: Sequence[str]) -> dict[str, int]:
    """Workers by kind, as the arguments ask for them: `--vm 4`, `--vm=4`, `-m 4` or `-m4`."""
    found = {}
    for kind, ((long, short), _) in _OPTIONS.items():
        for word, following in zip(arguments, [*arguments[1:], ""], strict=True):
            value = following if word in (long, short) else ""
            value = value or word.removeprefix(f"{long}=").removeprefix(short)
            if (word in (long, short) or word.startswith((f"{long}=", short))) and value.isdigit():
                found[kind] = int(value)
    return found


class _Meter(RepeatMeter):
    def __init__(self, workers: dict[str, int]) -> None:
        super().__init__()
        self._workers = workers
        self._trouble: str | None = None

    def counts_rounds(self) -> bool:
        return False

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        if self._trouble is None and not self.asked_to_end and (found := _TROUBLE.match(text)):
            self._trouble = found["text"]
        return []

    def summary(self) -> LoadResult:
        parts = tuple(WorkPart(kind, instances=number) for kind, number in self._workers.items())
        return LoadResult(None, None, self._trouble or self.failure(), parts)

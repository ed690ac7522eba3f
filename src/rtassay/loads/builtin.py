"""The small loads rtprobe brings along, for boards without stress-ng."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.loads.base import LoadCommand, LoadResult, LoadSpec, Meter, Rate
from rtassay.loads.tools import WorkStream
from rtassay.model.errors import UsageError
from rtassay.model.events import Output
from rtassay.model.manifest import WorkPart
from rtassay.model.units import format_cpu_list

KINDS = ("cpu", "memory", "timer", "fork")
_CLASSES = {"cpu": ("cpu",), "memory": ("cache", "memory"), "timer": ("timer",), "fork": ("fork",)}


class BuiltinLoad:
    """`rtprobe load KIND`, one process per kind with a worker on every load CPU. `builtin:cpu,timer` chooses the kinds."""

    name = "builtin"
    summary = "rtprobe's own load (cpu, memory, timer, fork); builtin:KIND,KIND chooses"

    def needs(self, argument: str | None) -> str | None:
        _kinds(argument)
        return None

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        cpus = format_cpu_list(spec.cpus)
        bounds = ("--cpus", cpus, "--duration", f"{spec.duration_s}s")
        return [LoadCommand((spec.rtprobe, "load", kind, *bounds), _CLASSES[kind]) for kind in _kinds(spec.argument)]

    def meter(self, argv: Sequence[str]) -> Meter:
        return _Meter(argv[2] if len(argv) > 2 else "work")


def _kinds(argument: str | None) -> tuple[str, ...]:
    kinds = KINDS if argument is None else tuple(part.strip() for part in argument.split(","))
    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"there is no built-in load '{kind}'", hint=f"known: {', '.join(KINDS)}")
    return kinds


class _Meter:
    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._stream = WorkStream()

    def take(self, output: Output) -> list[Rate]:
        return self._stream.feed(output.data) if output.fd == 1 else []

    def stopping(self) -> None:
        return

    def result(self) -> LoadResult:
        done, unit = self._stream.operations, self._stream.unit
        if done is None:
            return LoadResult(None, None, "rtprobe load reported no work")
        return LoadResult(done, unit, parts=(WorkPart(self._kind, done, unit),))

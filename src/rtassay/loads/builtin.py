"""The small loads rtprobe brings along, for boards without stress-ng."""

from __future__ import annotations

from rtassay.loads.base import LoadResult, LoadSpec
from rtassay.model.errors import UsageError
from rtassay.model.events import Note
from rtassay.model.units import format_cpu_list

KINDS = ("cpu", "memory", "timer", "fork")


class BuiltinLoad:
    """`rtprobe load KIND`, one process per kind with a worker on every load CPU. `builtin:cpu,timer` chooses the kinds."""

    name = "builtin"
    program: str | None = None
    summary = "rtprobe's own load (cpu, memory, timer, fork); builtin:KIND,KIND chooses"

    def commands(self, spec: LoadSpec) -> list[list[str]]:
        kinds = KINDS if spec.argument is None else tuple(part.strip() for part in spec.argument.split(","))
        for kind in kinds:
            if kind not in KINDS:
                raise UsageError(f"there is no built-in load '{kind}'", hint=f"known: {', '.join(KINDS)}")
        cpus = format_cpu_list(spec.cpus)
        return [[spec.rtprobe, "load", kind, "--cpus", cpus, "--duration", f"{spec.duration_s}s"] for kind in kinds]

    def result(self, output: bytes) -> LoadResult:
        from rtassay.wire.stream import StreamParser

        parser = StreamParser()
        events = [*parser.feed(output), *parser.finish()]
        work = [event.data for event in events if isinstance(event, Note) and event.name == "work"]
        if not work:
            return LoadResult(None, None, "rtprobe load reported no work")
        return LoadResult(float(work[-1]["operations"]), str(work[-1].get("unit", "operations")))

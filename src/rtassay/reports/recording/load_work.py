"""The work of the loads of a run: by load, and by part if a load has several (stressors, directions of a connection). Standard library only."""

from __future__ import annotations

from rtassay.model.foreign import one_line
from rtassay.model.manifest import LoadEntry, Manifest, WorkPart
from rtassay.model.recording import Recording
from rtassay.model.units import NS_PER_S, format_cpu_list
from rtassay.reports import wording

COLUMNS = ("Load", "Command", "CPUs", "Window", "Work done", "Ended")
PART_COLUMNS = ("Load", "Part", "Instances", "Work done", "Time", "Per second", "Remark")
_MONITOR = "load"
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def rows(recording: Recording) -> list[tuple[str, ...]]:
    """One row a load; the window is relative to the start of the measurement."""
    return [_row(i, load, recording) for i, load in enumerate(recording.manifest.loads)]


def part_rows(recording: Recording) -> list[tuple[str, ...]]:
    """One row for each part, for loads with several parts or with a part that did nothing."""
    return [
        _part_row(load, part)
        for load in recording.manifest.loads
        if len(load.parts) > 1 or any(part.skipped or part.operations == 0 for part in load.parts)
        for part in load.parts
    ]


def in_words(recording: Recording) -> str | None:
    """The work of all loads in one sentence for a screen; None without a load."""
    told = [_told(i, load, recording) for i, load in enumerate(recording.manifest.loads)]
    return "; ".join(told) or None


def cpus_used(recording: Recording, index: int) -> float | None:
    """Mean use of CPU time in CPUs while it was measured, from the guard's readings; None if there are none."""
    name = f"{index}.{recording.manifest.loads[index].name}.cpus"
    series = next((s for s in recording.telemetry if (s.monitor, s.name) == (_MONITOR, name)), None)
    if series is None:
        return None
    start, end = recording.manifest.started_ns, recording.manifest.ended_ns
    inside = [
        float(value)
        for mono_ns, value in zip(series.mono_ns, series.values, strict=True)
        if (start is None or mono_ns >= start) and (end is None or mono_ns <= end + NS_PER_S)
    ]
    return sum(inside) / len(inside) if inside else None


def idle_parts(load: LoadEntry) -> tuple[list[str], list[str]]:
    """Names of parts that were skipped, and of parts that did nothing."""
    skipped = [part.name for part in load.parts if part.skipped]
    return skipped, [part.name for part in load.parts if not part.skipped and part.operations == 0]


def _told(index: int, load: LoadEntry, recording: Recording) -> str:
    words = [f"{load.name} {_amount(load.operations, load.operations_unit)}"]
    used = cpus_used(recording, index)
    if used is not None and not (load.operations_unit or "").startswith("CPU"):
        words.append(f"{used:.1f} CPUs used")
    skipped, nothing = idle_parts(load)
    if nothing:
        words.append(f"no work: {', '.join(nothing)}")
    if skipped:
        words.append(f"skipped: {', '.join(skipped[:6])}{' ...' if len(skipped) > 6 else ''}")
    if load.error:
        words.append(one_line(load.error, 80))
    return one_line(", ".join(words), 300)


def _amount(operations: float | None, unit: str | None) -> str:
    """`1.2 Gbytes`, `8.1 CPU seconds`, `13 rounds`; short, for a screen."""
    if operations is None:
        return "work not known"
    unit = one_line(unit or "operations", 40)
    scaled, prefix = next(((operations / f, p) for f, p in _PREFIXES if operations >= f), (operations, ""))
    number = f"{scaled:.3g}" if scaled < 100 else f"{scaled:.0f}"
    return f"{number} {prefix}{unit}" if unit == "bytes" else f"{number}{prefix} {unit}"


def _exact(operations: float | None, unit: str | None) -> str:
    if operations is None:
        return "not known"
    number = f"{operations:,.0f}" if operations >= 100 or operations == int(operations) else f"{operations:,.1f}"
    return f"{number} {one_line(unit or 'operations', 40)}"


def _row(index: int, load: LoadEntry, recording: Recording) -> tuple[str, ...]:
    work = _exact(load.operations, load.operations_unit)
    used = cpus_used(recording, index)
    if used is not None:
        work += f", {used:.2f} CPUs used"
    name = load.name if not load.tool_version else f"{load.name} ({load.tool_version})"
    cpus = "all" if load.cpus is None else format_cpu_list(load.cpus)
    return (
        one_line(name, 80),
        wording.shell_line(load.argv),
        cpus,
        _window(load, recording.manifest),
        work,
        _ended(load),
    )


def _window(load: LoadEntry, manifest: Manifest) -> str:
    origin = manifest.started_ns
    if load.started_ns is None or origin is None:
        return "not known"
    end = "?" if load.ended_ns is None else f"{(load.ended_ns - origin) / NS_PER_S:+.1f}"
    return f"{(load.started_ns - origin) / NS_PER_S:+.1f} to {end} s"


def _ended(load: LoadEntry) -> str:
    if load.error:
        return one_line(load.error, 200)
    if load.signal is not None:
        return f"signal {load.signal}" + (", stopped by us" if load.stop_asked_ns is not None else "")
    return "not known" if load.exit_code is None else f"exit {load.exit_code}"


def _part_row(load: LoadEntry, part: WorkPart) -> tuple[str, ...]:
    rate = "-" if part.operations is None or not part.seconds else _rate(part.operations / part.seconds)
    remark = "skipped" if part.skipped else "no work" if part.operations == 0 else ""
    if part.why:
        remark = f"{remark}: {part.why}" if remark else part.why
    return (
        one_line(load.name, 80),
        one_line(part.name, 80),
        "-" if part.instances is None else str(part.instances),
        "-" if part.operations is None else _exact(part.operations, part.unit),
        "-" if part.seconds is None else f"{part.seconds:.1f} s",
        rate,
        one_line(remark, 200),
    )


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}" if per_second >= 1000 else f"{per_second:.4g}"

"""The conditions of every recording by name, the factor, and the differences beyond it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from rtassay.analysis.checks.context import own_run
from rtassay.analysis.checks.platform import claims_rt
from rtassay.analysis.judge.judging import kernel_of, load_of
from rtassay.model.comparison import Difference
from rtassay.model.errors import UsageError
from rtassay.model.inventory import Inventory
from rtassay.model.manifest import Manifest
from rtassay.model.measures import WAKE_UP
from rtassay.model.recording import Recording
from rtassay.model.settings import default
from rtassay.model.systems import system_of
from rtassay.model.units import format_cpu_list, format_time

FACTOR = "factor"
CONFOUND = "confound"
VARIES = "varies"
SAME = "same"
UNKNOWN = "unknown"

_BASE = re.compile(r"^\d+\.\d+(?:\.\d+)?")
# Words of the command line by which a boot loader names the kernel file.
_OF_THE_LOADER = re.compile(r"^(BOOT_IMAGE|initrd)=")


def _board(pick: Callable[[Inventory], Any]) -> Callable[[Recording], Any]:
    """A value of the board before the measurement."""
    return lambda recording: pick(recording.manifest.board_start)


def _kernel_base(recording: Recording) -> str | None:
    match = _BASE.match(kernel_of(recording.manifest) or "")
    return match[0] if match else None


def command_line(text: str | None) -> list[str] | None:
    """Words of a kernel command line, without those that name the kernel file."""
    return None if text is None else [w for w in text.split() if not _OF_THE_LOADER.match(w)]


def _cmdline(recording: Recording) -> str | None:
    words = command_line(recording.manifest.board_start.cmdline)
    return None if words is None else " ".join(words)


def _memory(recording: Recording) -> str | None:
    """The installed memory, rounded up to an eighth of the next power of two: each kernel reserves another part."""
    total = recording.manifest.board_start.memory.total_bytes
    if not total:
        return None
    step = max(1, 2 ** (total - 1).bit_length() // 8)
    return f"{-(-total // step) * step / 2**20:.0f} MiB"


def _governors(recording: Recording) -> str | None:
    found = recording.manifest.board_start.governors
    return None if found is None else ", ".join(sorted(set(found.values()))) or "no frequency scaling"


def _lanes(pick: Callable[[Any], Any], planned: Callable[[Manifest], Any]) -> Callable[[Recording], Any]:
    """The values of the lanes, each once; the planned value if a lane has none."""

    def get(recording: Recording) -> Any:
        seen = [pick(lane.entry) for lane in recording.lanes]
        if seen and None not in seen:
            return ", ".join(sorted({str(value) for value in seen}))
        return planned(recording.manifest)

    return get


def _obtained(name: str) -> Callable[[Any], Any]:
    return lambda entry: getattr(entry.obtained_start, name) if entry.obtained_start is not None else None


def _mlocked(recording: Recording) -> bool | None:
    told = recording.manifest.probe_facts
    return told.mlocked if "mlocked" in told.told else recording.manifest.plan.mlock


def _settings(settings: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(settings.items()))


def _of_sleep(name: str) -> Callable[[Recording], str | None]:
    """The plan's word, else the default of a tool that sleeps."""

    def get(recording: Recording) -> str | None:
        manifest = recording.manifest
        slept = manifest.source.tool in ("rtprobe", "cyclictest") and WAKE_UP in {one.measure for one in manifest.lanes}
        return getattr(manifest.plan, name) or (default(name) if slept and own_run(recording) else None)

    return get


def _dma_latency(recording: Recording) -> Any:
    manifest = recording.manifest
    if "dma_latency_us" in manifest.probe_facts.told:
        value = manifest.probe_facts.dma_latency_us
        return "not held" if value is None else f"{value} us"
    return None if manifest.plan.dma_latency_us is None else f"{manifest.plan.dma_latency_us} us"


def _load(recording: Recording) -> str | None:
    name = load_of(recording.manifest, own_run(recording))
    return None if name == "unknown" else name


def _load_commands(recording: Recording) -> str:
    lines = [" ".join(load.argv) for load in recording.manifest.loads if load.argv]
    return "; ".join(_bare(line) for line in lines)


def _bare(line: str) -> str:
    """The line without what differs between equal loads: directories of programs, and the time after which a load that was left ends itself."""
    return re.sub(r"(?:(?<=\s)|^)/\S*/", "", re.sub(r"\s--timeout \d+s(?=\s|$)", "", line))


def _load_cpus(recording: Recording) -> str | None:
    cpus = recording.manifest.plan.load_cpus
    return None if cpus is None else format_cpu_list(cpus)


def _load_tools(recording: Recording) -> str:
    return ", ".join(sorted({load.tool_version for load in recording.manifest.loads if load.tool_version}))


def _tool(recording: Recording) -> str | None:
    source = recording.manifest.source
    return " ".join(part for part in (source.tool, source.version) if part)


def _cpus(recording: Recording) -> str | None:
    known = [lane.entry.cpu for lane in recording.lanes if lane.entry.cpu is not None]
    return format_cpu_list(known) if known and len(known) == len(recording.lanes) else None


def _interval(entry: Any) -> str | None:
    return None if not entry.interval_ns else format_time(entry.interval_ns)


def _planned_interval(manifest: Manifest) -> str | None:
    return None if not manifest.plan.interval_ns else format_time(manifest.plan.interval_ns)


def _tuned(recording: Recording) -> str | None:
    """`vm/stat_interval=10 ...`; None where the recording is older than tune, or is not one of ours."""
    found = recording.manifest.board_start.tuned
    if found is None:
        return None
    told = sorted({f"{(one.target or '').removeprefix('/proc/sys/')}={one.value}" for one in found.made})
    return ", ".join(told) or "none"


def _sleep(recording: Recording) -> str | None:
    """`timer` (at its time), or `tick of 1000 Hz`: then the tick is what is measured."""
    clock = recording.manifest.probe_facts.clock
    return f"tick of {clock.tick_hz} Hz" if clock.sleep == "tick" and clock.tick_hz else clock.sleep


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that should be equal. `family`: its name for --factor; `core`: without it a comparison is blind."""

    key: str
    name: str
    family: str
    get: Callable[[Recording], Any]
    core: bool = False


CONDITIONS: Final[tuple[Condition, ...]] = (
    Condition("kernel.release", "kernel", "kernel", lambda r: kernel_of(r.manifest), core=True),
    Condition("system", "system", "kernel", lambda r: system_of(kernel_of(r.manifest), r.manifest.source.tool)),
    Condition("kernel.version", "kernel build", "kernel", _board(lambda b: b.kernel.version)),
    Condition(
        "kernel.config_sha256", "kernel configuration", "kernel", _board(lambda b: b.kernel.config_sha256), core=True
    ),
    Condition("kernel.preempt_model", "preemption model", "kernel", _board(lambda b: b.kernel.preempt_model)),
    Condition("kernel.preempt_dynamic", "preemption mode", "kernel", _board(lambda b: b.kernel.preempt_dynamic)),
    Condition("kernel.base", "kernel base version", "kernel-base", _kernel_base),
    Condition("cmdline", "kernel command line", "cmdline", _cmdline, core=True),
    Condition("board", "board", "board", lambda r: None if r.manifest.board == "imported" else r.manifest.board),
    Condition("model", "board model", "board", _board(lambda b: b.model)),
    Condition("cpu_model", "CPU model", "board", _board(lambda b: b.cpu_model)),
    Condition("hostname", "host name", "board", _board(lambda b: b.hostname)),
    Condition("microcode", "microcode", "firmware", _board(lambda b: b.microcode)),
    Condition("os", "operating system", "os", _board(lambda b: b.os)),
    Condition("memory", "memory", "board", _memory),
    Condition("cpus.online", "CPUs online", "cpus", _board(lambda b: b.cpus.online)),
    Condition("cpus.isolated", "isolated CPUs", "cmdline", _board(lambda b: b.cpus.kept_free)),
    Condition("cpus.nohz_full", "nohz_full CPUs", "cmdline", _board(lambda b: b.cpus.nohz_full)),
    Condition("cpus.smt", "SMT active", "firmware", _board(lambda b: b.cpus.smt_active)),
    Condition("governor", "frequency governor", "governor", _governors),
    Condition("clocksource", "clock source", "clocksource", _board(lambda b: b.clocksource)),
    Condition("rt_runtime_us", "sched_rt_runtime_us", "throttling", _board(lambda b: b.rt_runtime_us)),
    Condition("tuned", "settings changed by tune", "tune", _tuned),
    Condition("virtualisation", "virtualisation", "virtualisation", _board(lambda b: b.virtualisation)),
    Condition("desktop", "desktop", "desktop", _board(lambda b: b.desktop)),
    Condition("load", "load", "load", _load, core=True),
    Condition("load.command", "load command", "load", _load_commands),
    Condition("load.cpus", "load CPUs", "load", _load_cpus),
    Condition("load.tool", "load tool", "load", _load_tools),
    Condition("tool", "measuring tool", "tool", _tool, core=True),
    Condition("late_policy", "after a late wake-up", "tool", lambda r: r.manifest.source.late_policy),
    Condition("interval", "interval", "interval", _lanes(_interval, _planned_interval), core=True),
    Condition("probe_clock", "clock of the probe", "probe-clock", lambda r: r.manifest.probe_facts.clock.id),
    Condition("sleep_end", "what ends a sleep", "probe-clock", _sleep),
    Condition("policy", "policy", "policy", _lanes(_obtained("policy"), lambda m: m.plan.policy)),
    Condition("priority", "priority", "priority", _lanes(_obtained("priority"), lambda m: m.plan.priority)),
    Condition("lanes", "number of lanes", "lanes", lambda r: len(r.lanes)),
    Condition("cpus", "measured CPUs", "cpus", _cpus),
    Condition("dma_latency", "cpu_dma_latency held", "dma-latency", _dma_latency),
    Condition("mlock", "memory locked", "mlock", _mlocked),
    Condition("aligned", "lanes aligned", "aligned", lambda r: r.manifest.plan.aligned),
    Condition("sleep", "way of sleeping", "sleep", _of_sleep("sleep")),
    Condition("clock", "clock of the sleep", "clock", _of_sleep("clock")),
    Condition("settings", "settings of the method", "settings", lambda r: _settings(r.manifest.plan.settings)),
    Condition("timer_slack_ns", "timer slack (ns)", "timer-slack", lambda r: r.manifest.probe_facts.timer_slack_ns),
    Condition(
        "warm_up", "warm-up", "warm-up", lambda r: format_time(r.manifest.plan.warm_up_ns) if own_run(r) else None
    ),
)
# The way of measuring should be equal: it is the factor only if a person says so.
_OF_MEASURING = ("tool", "lanes", "warm-up", "mlock", "timer-slack", "aligned", "sleep", "clock", "settings")
# Labels by which an experiment numbers its runs: never the factor, even if a group is one run.
_NUMBERING = ("cell", "order", "block", "repeat", "attempt")
FAMILIES: Final = tuple(dict.fromkeys(condition.family for condition in CONDITIONS))


def describe(value: Any) -> str | None:
    """A value as one line; None (not known) stays None."""
    if value is None or value == "":
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        numbers = [item for item in value if isinstance(item, int)]
        text = format_cpu_list(numbers) if len(numbers) == len(value) else ", ".join(str(item) for item in value)
        return text or "none"
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in value.items()) or "none"
    return " ".join(str(value).split())


def look(
    a: Sequence[Recording], b: Sequence[Recording], asked: Sequence[str]
) -> tuple[tuple[str, ...], tuple[Difference, ...]]:
    """(the factor, every condition with its values in both groups). Raises UsageError for an unknown factor."""
    rows: list[Row] = [(c.key, c.name, c.family, _values(a, c.get), _values(b, c.get)) for c in CONDITIONS]
    names = dict.fromkeys(key for recording in (*a, *b) for key in recording.manifest.labels if key not in _NUMBERING)
    for name in names:
        sides = [_values(group, lambda r, name=name: r.manifest.labels.get(name)) for group in (a, b)]  # type: ignore[misc]
        if all(len(side) <= 1 for side in sides):  # a label that numbers the runs does not separate groups
            rows.append((f"label.{name}", f"label {name}", name, sides[0], sides[1]))
    factor = _asked(asked, list(names)) if asked else _found(rows)
    found = [_difference(row, factor) for row in rows]
    return factor, tuple(_kernel_base_judged(found))


def _kernel_base_judged(rows: list[Difference]) -> list[Difference]:
    """Another base version is a confound only if preemption is the factor; if the version is the factor, it is no confound."""
    by_key = {row.key: row for row in rows}
    base, release = by_key["kernel.base"], by_key["kernel.release"]
    if base.kind != CONFOUND:
        return rows
    if release.kind == CONFOUND:  # another condition shows it in more detail
        return [row for row in rows if row is not base]
    told = [by_key[key] for key in ("kernel.preempt_model", "label.kernel") if key in by_key]
    preemption = any(row.kind == FACTOR and _one_is_rt(row) for row in told)
    return [row if row is not base or preemption else replace(row, kind=FACTOR) for row in rows]


def _one_is_rt(row: Difference) -> bool:
    """Of a factor, which has one value in each group."""
    return claims_rt(row.a[0]) != claims_rt(row.b[0])


def _values(group: Sequence[Recording], get: Callable[[Recording], Any]) -> tuple[str, ...]:
    """The known values of a group without repeats, in the order of its runs."""
    return tuple(dict.fromkeys(text for r in group if (text := describe(get(r))) is not None))


Row = tuple[str, str, str, tuple[str, ...], tuple[str, ...]]


def _consistent(row: Row) -> bool:
    """One value in one group and another in the other."""
    return len(row[3]) == 1 and len(row[4]) == 1 and row[3] != row[4]


def _found(rows: Sequence[Row]) -> tuple[str, ...]:
    """The factor: a label of a person (kernel first), else the kernel, else the load, else the only difference."""
    differing = [row for row in rows if _consistent(row)]
    labelled = [row[2] for row in differing if row[0].startswith("label.")]
    families = list(dict.fromkeys(row[2] for row in differing if row[2] not in ("kernel-base", *_OF_MEASURING)))
    for choice in (labelled, families if not labelled else []):
        for preferred in ("kernel", "load"):
            if preferred in choice:
                return (preferred,)
    if labelled:
        return (labelled[0],)
    return (families[0],) if len(families) == 1 else ()


def _asked(asked: Sequence[str], labels: list[str]) -> tuple[str, ...]:
    known = {*FAMILIES, *labels, *(condition.key for condition in CONDITIONS), *(f"label.{name}" for name in labels)}
    for name in asked:
        if name not in known:
            raise UsageError(
                f"there is no factor '{name}'",
                "it is neither a condition nor a label of these recordings",
                f"known: {', '.join((*FAMILIES, *(n for n in labels if n not in FAMILIES)))}",
            )
    return tuple(asked)


def _difference(row: Row, factor: tuple[str, ...]) -> Difference:
    key, name, family, a, b = row
    belongs = key in factor or family in factor
    detail = ""
    if not a or not b:
        kind = UNKNOWN
    elif a == b and len(a) == 1:
        kind = SAME
    elif set(a) & set(b):
        kind = VARIES
    elif belongs and max(len(a), len(b)) > 1:
        kind, detail = VARIES, "the factor itself varies inside a group"
    else:
        kind = FACTOR if belongs else CONFOUND
        detail = _cmdline_detail(a, b) if key == "cmdline" else ""
    return Difference(key, name, a, b, kind, detail)


def _cmdline_detail(a: tuple[str, ...], b: tuple[str, ...]) -> str:
    """The words that only one group's command lines have."""
    words = [{word for line in side for word in line.split()} for side in (a, b)]
    parts = [
        f"only {name}: {' '.join(sorted(only))}"
        for name, only in (("A", words[0] - words[1]), ("B", words[1] - words[0]))
        if only
    ]
    return "; ".join(parts)


def mean_temperature(recording: Recording) -> dict[str, float]:
    """Mean of each thermal zone over the run, in degC."""
    found = {}
    for series in recording.telemetry:
        if series.monitor == "temperature" and series.unit == "degC":
            values = np.asarray(series.values, dtype=float)
            values = values[np.isfinite(values)]
            if values.size:
                found[series.name] = float(values.mean())
    return found


def mean_power(recording: Recording) -> float | None:
    """Mean power over the run in W: of all packages of the processor, else of the largest sensor; None where the board tells none."""
    means = {}
    for series in recording.telemetry:
        if series.monitor == "power" and series.unit == "W":
            values = np.asarray(series.values, dtype=float)
            values = values[np.isfinite(values)]
            if values.size:
                means[series.name] = float(values.mean())
    packages = [value for name, value in means.items() if name.startswith("rapl.package") and name.count(".") == 1]
    return sum(packages) if packages else max(means.values(), default=None)


def boot_of(manifest: Manifest) -> str | None:
    """The boot of the run; None if the source does not tell."""
    return manifest.board_start.boot_id or manifest.probe_facts.boot_id or None


def title(name: str, factor: tuple[str, ...], conditions: Sequence[Difference], told: str | None) -> str:
    """The title of a group: the factor's value (first that of a label), else `told`, else its letter."""
    rows = [row for row in conditions if row.kind == FACTOR]
    for row in sorted(rows, key=lambda row: not row.key.startswith("label.")):
        values = row.a if name == "A" else row.b
        if len(values) == 1 and len(values[0]) <= 40:
            return values[0]
    return told or name


def core_unknown(conditions: Sequence[Difference]) -> list[str]:
    """Names of the core conditions that are not known in one group or both."""
    core = {condition.key for condition in CONDITIONS if condition.core}
    return [row.name for row in conditions if row.kind == UNKNOWN and row.key in core]

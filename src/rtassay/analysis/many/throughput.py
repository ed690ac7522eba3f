"""Fixed works of two groups of runs, and D* beside: what latency costs in throughput (docs/method/throughput.md). Pure functions.

The boot is what is repeated: its value is the mean of ln of the median round, over its runs. With fewer than two boots in a group, the k-th run of each work makes the k-th value.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rtassay.analysis.checks.context import Context, own_run
from rtassay.analysis.checks.platform import is_lab
from rtassay.analysis.judge.judging import load_of
from rtassay.analysis.lane.account import accounts
from rtassay.analysis.many.compare import conditions, inference
from rtassay.analysis.many.compare.ratios import LEAST_RUNS
from rtassay.analysis.many.compare.sample import Sample
from rtassay.analysis.many.experiment.cells import smallest_p_of, star
from rtassay.analysis.many.lanes import by_lane_of_one_measure
from rtassay.model.comparison import RUNS_EXCHANGE, RUNS_T
from rtassay.model.errors import UsageError
from rtassay.model.facts import WorkFacts
from rtassay.model.measures import is_work
from rtassay.model.recording import Recording
from rtassay.model.throughput import (
    FASTER,
    NO_DIFFERENCE,
    NOT_COMPARED,
    SLOWER,
    Change,
    EnergyRow,
    LatencyRow,
    Pace,
    PartRow,
    Throughput,
    WorkRow,
)
from rtassay.model.units import NS_PER_S

CONFIDENCE = 0.95
BOOTS, RUNS = "boots", "runs"


@dataclass(frozen=True, slots=True)
class Key:
    """What must be equal for two times to be of the same work."""

    work: str
    part: str
    amount: float
    unit: str


@dataclass(frozen=True, slots=True)
class Load:
    """A D* under this load."""

    name: str


@dataclass(frozen=True, slots=True)
class Energy:
    """The energy of one round of this work."""

    work: str


_Kind = Key | Load | Energy


@dataclass(frozen=True, slots=True)
class _Value:
    """ln of a run's value, and of its CPU time."""

    log: float
    cpu: float | None = None
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class _Run:
    recording: Recording
    kind: str
    values: dict[_Kind, _Value]


def is_of_work(recording: Recording) -> bool:
    """Whether all its numbers are times of fixed works."""
    return bool(recording.lanes) and all(is_work(lane.entry.measure) for lane in recording.lanes)


def throughput(
    a: Sequence[Recording], b: Sequence[Recording] = (), titles: tuple[str | None, str | None] = (None, None)
) -> Throughput:
    """Group B against group A, or A alone. Recordings of wake-ups in both add the D* of each load. Raises UsageError where neither holds a work."""
    if not any(is_of_work(recording) for recording in (*a, *b)):
        raise UsageError("none of these recordings is of a work", hint="rtassay throughput measures some")
    p = smallest_p_of([one for one in (*a, *b) if not is_of_work(one)], CONFIDENCE)
    sides = [[_run(recording, p) for recording in side] for side in (a, b)]
    boots = [{conditions.boot_of(run.recording.manifest) for run in side} for side in sides if side]
    unit_of = BOOTS if all(None not in found and len(found) > 1 for found in boots) else RUNS
    units = [_units(side, unit_of) for side in sides]
    keys = list(dict.fromkeys(key for side in sides for run in side for key in run.values))
    parts = tuple(_part(key, units, sides) for key in keys if isinstance(key, Key))
    latency = tuple(_latency(key, units, p) for key in keys if isinstance(key, Load)) if p is not None else ()
    works, total = _totals(units, [key for key in keys if isinstance(key, Key)]) if b else ((), None)
    named = _titles(a, b, titles)
    conclusion = _conclusion(total, units)
    return Throughput(
        a=named[0],
        b=named[1] if b else None,
        unit_of=unit_of,
        parts=parts,
        works=works,
        total=total,
        latency=latency,
        energy=tuple(_energy_row(key, units) for key in keys if isinstance(key, Energy)),
        conclusion=conclusion,
        sentence=_sentence(named, works, total, conclusion, latency, units, unit_of) if b else _alone(named[0], parts),
        notes=tuple(_notes(a, b, parts, sides, unit_of, total)),
    )


def change_of(a: Sequence[float], b: Sequence[float]) -> Change:
    """exp of mean(b) - mean(a) of logarithms. Interval: every exchange of whole values from four of each on, else the wider of Welch's and the pooled t (docs/method/comparisons.md)."""
    la, lb = np.array(a, dtype=np.float64), np.array(b, dtype=np.float64)
    difference = float(lb.mean() - la.mean())
    if min(la.size, lb.size) < 2:
        return Change(math.exp(difference))
    if inference.smallest_p(la.size, lb.size) <= inference.ENOUGH_P:
        low, high = inference.exchange_interval(la, lb)
        return Change(math.exp(difference), math.exp(low), math.exp(high), RUNS_EXCHANGE)
    half = max(test(la, lb, 0.0, 0.0).half_width() for test in (inference.welch, inference.student))
    return Change(math.exp(difference), math.exp(difference - half), math.exp(difference + half), RUNS_T)


def _run(recording: Recording, p: float | None) -> _Run:
    work = recording.manifest.probe_facts.work
    if is_of_work(recording) and work is not None:
        values = dict(_of_work(recording, work))
        return _Run(recording, f"work {_called(work)}", values | _energy(recording, _called(work), values))
    name = load_of(recording.manifest, own_run(recording)) or "none"
    found = None if is_of_work(recording) else star(by_lane_of_one_measure([recording]), p, CONFIDENCE)
    return _Run(recording, f"load {name}", {Load(name): _Value(math.log(found))} if found else {})


def _energy(recording: Recording, work: str, values: Mapping[_Kind, _Value]) -> dict[_Kind, _Value]:
    """Mean power of the run, times the time of a round: the medians of its parts."""
    power_w = conditions.mean_power(recording)
    if not power_w or not values:
        return {}
    seconds = math.fsum(math.exp(value.log) for value in values.values()) / NS_PER_S
    return {Energy(work): _Value(math.log(power_w * seconds))}


def _called(work: WorkFacts) -> str:
    name = work.name or "unknown"
    return name if work.argument is None else f"{name}:{work.argument}"


def _of_work(recording: Recording, work: WorkFacts) -> Iterable[tuple[_Kind, _Value]]:
    lanes = {account.entry.index: account for account in accounts(recording)}
    for part in work.parts:
        if part.lane is None or not part.amount or part.lane not in lanes or not lanes[part.lane].entry.n:
            continue
        wall, cpu = (
            None if index not in lanes else Sample([lanes[index]]).quantile(0.5) for index in (part.lane, part.lane + 1)
        )
        if wall is None or wall.value_ns <= 0:
            continue
        used = math.log(cpu.value_ns) if cpu is not None and cpu.value_ns > 0 else None
        key = Key(_called(work), part.part or "", part.amount, part.unit or "")
        yield key, _Value(math.log(wall.value_ns), used, lanes[part.lane].entry.n)


def _units(side: Sequence[_Run], unit_of: str) -> list[dict[_Kind, _Value]]:
    """The values of each boot, or of the k-th runs of all works, by key."""
    groups: dict[object, list[_Run]] = defaultdict(list)
    count: dict[str, int] = defaultdict(int)
    for run in sorted(side, key=lambda run: run.recording.manifest.wall_start or run.recording.manifest.created):
        boot = conditions.boot_of(run.recording.manifest)
        groups[boot if unit_of == BOOTS else count[run.kind]].append(run)
        count[run.kind] += 1
    return [_mean(runs) for runs in groups.values()]


def _mean(runs: Sequence[_Run]) -> dict[_Kind, _Value]:
    found: dict[_Kind, list[_Value]] = defaultdict(list)
    for run in runs:
        for key, value in run.values.items():
            found[key].append(value)
    return {
        key: _Value(
            math.fsum(value.log for value in values) / len(values),
            None
            if any(value.cpu is None for value in values)
            else math.fsum(value.cpu or 0.0 for value in values) / len(values),
            sum(value.rounds for value in values),
        )
        for key, values in found.items()
    }


Units = Sequence[Mapping[_Kind, _Value]]


def _logs(units: Units, key: _Kind) -> list[float]:
    return [unit[key].log for unit in units if key in unit]


def _part(key: Key, units: Sequence[Units], sides: Sequence[Sequence[_Run]]) -> PartRow:
    a, b = (_pace(key, side, runs) for side, runs in zip(units, sides, strict=True))
    times = [_logs(side, key) for side in units]
    cpus = [[unit[key].cpu for unit in side if key in unit] for side in units]
    known = [[value for value in side if value is not None] for side in cpus]
    both = a is not None and b is not None
    return PartRow(
        work=key.work,
        part=key.part,
        amount=key.amount,
        unit=key.unit,
        a=a,
        b=b,
        # Less time is more throughput.
        throughput=change_of(times[1], times[0]) if both else None,
        cpu=change_of(*known) if both and all(known) and known == cpus else None,
    )


def _pace(key: Key, units: Units, runs: Sequence[_Run]) -> Pace | None:
    values = [unit[key] for unit in units if key in unit]
    if not values:
        return None
    logs = np.array([value.log for value in values])
    cpus = [value.cpu for value in values if value.cpu is not None]
    ns = math.exp(float(logs.mean()))
    return Pace(
        rate=key.amount * NS_PER_S / ns,
        ns=round(ns),
        cpu_ns=round(math.exp(math.fsum(cpus) / len(cpus))) if len(cpus) == len(values) else None,
        units=len(values),
        runs=sum(key in run.values for run in runs),
        rounds=sum(value.rounds for value in values),
        sd=float(logs.std(ddof=1)) if logs.size > 1 else None,
    )


def _latency(key: Load, units: Sequence[Units], p: float) -> LatencyRow:
    a, b = (_logs(side, key) for side in units)
    values = [round(math.exp(math.fsum(side) / len(side))) if side else None for side in (a, b)]
    return LatencyRow(key.name, p, values[0], values[1], change_of(a, b) if a and b else None)


def _energy_row(key: Energy, units: Sequence[Units]) -> EnergyRow:
    a, b = (_logs(side, key) for side in units)
    values = [math.exp(math.fsum(side) / len(side)) if side else None for side in (a, b)]
    return EnergyRow(key.work, values[0], values[1], change_of(a, b) if a and b else None)


def _totals(units: Sequence[Units], keys: Sequence[Key]) -> tuple[tuple[WorkRow, ...], Change | None]:
    """Each work over its parts, and all works, of the units that have all of it. A work counts once, however many parts it has."""
    common = [key for key in keys if all(_logs(side, key) for side in units)]
    by_work: dict[str, list[Key]] = defaultdict(list)
    for key in common:
        by_work[key.work].append(key)
    if not common:
        return (), None
    rows = []
    for work, parts in by_work.items():
        sides = [[_over([parts], unit) for unit in side if all(key in unit for key in parts)] for side in units]
        if all(sides):
            rows.append(WorkRow(work, change_of(sides[1], sides[0])))
    whole = [[_over(by_work.values(), unit) for unit in side if all(key in unit for key in common)] for side in units]
    return tuple(rows), change_of(whole[1], whole[0]) if all(whole) else None


def _over(works: Iterable[Sequence[Key]], unit: Mapping[_Kind, _Value]) -> float:
    """Mean over works of the mean over their parts."""
    means = [math.fsum(unit[key].log for key in parts) / len(parts) for parts in works]
    return math.fsum(means) / len(means)


def _titles(a: Sequence[Recording], b: Sequence[Recording], told: tuple[str | None, str | None]) -> tuple[str, str]:
    """What was told, else the kernel's release where it tells the groups apart, else the letter."""
    releases = [{r.manifest.board_start.kernel.release for r in side} for side in (a, b)]
    apart = all(len(side) == 1 for side in releases) and releases[0] != releases[1]
    if not b:
        apart = len(releases[0]) == 1
    names = [str(next(iter(side), None) or "") if apart else "" for side in releases]
    return told[0] or names[0] or "A", told[1] or names[1] or "B"


def _conclusion(total: Change | None, units: Sequence[Units]) -> str:
    if total is None:
        return NOT_COMPARED
    if total.lo is None or total.hi is None or min(len(side) for side in units) < LEAST_RUNS:
        return NO_DIFFERENCE
    return SLOWER if total.hi < 1 else FASTER if total.lo > 1 else NO_DIFFERENCE


def _sentence(
    titles: tuple[str, str],
    works: Sequence[WorkRow],
    total: Change | None,
    conclusion: str,
    latency: Sequence[LatencyRow],
    units: Sequence[Units],
    unit_of: str,
) -> str:
    a, b = titles
    if total is None:
        return f"{b} (B) and {a} (A) have no work in common, of the same amount and arguments: nothing is compared."
    sizes = f"{len(units[0])} and {len(units[1])} {unit_of}, {len(works)} work{'s' if len(works) != 1 else ''}"
    times = f"{_times(total.ratio)} times the work of {a} (A){_interval(total)}"
    if conclusion in (SLOWER, FASTER):
        text = f"{b} (B) gets {times} done, {sizes}."
    elif total.lo is None:
        text = f"{b} (B) got {times} done, {sizes}: one value of a group gives no interval."
    elif min(len(side) for side in units) < LEAST_RUNS:
        text = (
            f"{b} (B) got {times} done, {sizes}: it takes {LEAST_RUNS} of each or more to tell how such values differ."
        )
    else:
        text = f"No difference in throughput is shown: {b} (B) gets {times} done, {sizes}."
    told = [
        f"{_times(row.change.ratio)} times{_interval(row.change)} under {row.load}"
        for row in latency
        if row.change is not None
    ]
    return text + (f" Its D* for p = {latency[0].p:.0e} is {', '.join(told)}." if told else "")


def _times(value: float) -> str:
    return f"{value:.3g}"


def _interval(change: Change) -> str:
    if change.lo is None or change.hi is None:
        return ""
    return f" [{_times(change.lo)}, {_times(change.hi)}]"


def _alone(name: str, parts: Sequence[PartRow]) -> str:
    works = list(dict.fromkeys(row.work for row in parts))
    if not works:
        return f"{name}: no round of a work came to its end. Measure longer: --duration."
    return f"{name}: {', '.join(works)}. What another kernel gets done is told by --with."


def _notes(
    a: Sequence[Recording],
    b: Sequence[Recording],
    parts: Sequence[PartRow],
    sides: Sequence[Sequence[_Run]],
    unit_of: str,
    total: Change | None,
) -> Iterable[str]:
    every = [*a, *b]
    if any(is_lab(Context(r, (), (), None, 0.0, CONFIDENCE)) for r in every):
        yield "function only: a board of the lab or emulated CPUs, whose times are not those of hardware"
    if unit_of == RUNS:
        yield "fewer than two boots of a group: the interval is of runs, and other boots are not covered"
    empty = [run.recording.manifest.id for side in sides for run in side if not run.values]
    if empty:
        yield f"without a value: {', '.join(empty)} (no round came to its end, or too few activations for a D*)"
    unread = sum(r.manifest.probe_facts.work.unread or 0 for r in every if r.manifest.probe_facts.work is not None)
    if unread:
        yield f"{unread} rounds whose result could not be read do not count"
    lonely = sorted({row.work for row in parts if b and (row.a is None or row.b is None)})
    if lonely:
        yield f"in one group only, with these amounts: {', '.join(lonely)}"
    loaded = sorted({load.spec or load.name for r in every if is_of_work(r) for load in r.manifest.loads})
    if loaded:
        yield f"works were measured beside a load: {', '.join(loaded)}"
    if b:
        works = [[r for r in side if is_of_work(r)] for side in (a, b)]
        if all(works):
            _, rows = conditions.look(works[0], works[1], ())
            confounds = [row.name for row in rows if row.kind == conditions.CONFOUND]
            if confounds:
                yield f"the groups also differ in {', '.join(confounds)}"

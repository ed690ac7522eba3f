"""From a file to cells: every combination of levels, repeated, in its order, each with the Plan that the session carries out."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import msgspec

from rtassay.experiments.files import overlay
from rtassay.experiments.schema import ExperimentFile, Load, Scenario, Settings
from rtassay.model import rooms
from rtassay.model.errors import InputFileError, RtassayError
from rtassay.model.findings import PRIMARY_Q
from rtassay.model.foreign import command_words
from rtassay.model.looks import Look, planned_look
from rtassay.model.manifest import Plan
from rtassay.model.settings import DEFAULT_DURATION_NS, OF_EXPERIMENT, SETTINGS, Setting, default
from rtassay.model.units import NS_PER_MS, NS_PER_S, parse_cpu_list, parse_duration_ns, parse_rate_per_h
from rtassay.probes.base import find
from rtassay.session.prepare import SPIN_UP_NS, planned_ns
from rtassay.session.tuning_plans import Asked, of_table

FACTORS = ("board", "kernel", "load", "probe", "scenario")
# Time of a cell beside its measurement (inventory, start, collecting, sealing), until real cells have shown it.
OVERHEAD_NS = 4 * NS_PER_S
BOOT_NS = 60 * NS_PER_S
_SHORTEST_NS = NS_PER_S
_FEWEST = 100


def of_work(probe: str) -> bool:
    """Whether a probe measures a fixed work (`rtassay throughput`)."""
    return probe.partition(":")[0] == "work"


@dataclass(frozen=True, slots=True)
class Cell:
    """One planned run. `id`: hash of the levels and the repeat; `order`: its place, from 1; `block`: from 1; `kernel` None: the running one.

    `fresh_boot`: the kernel is booted before this cell even if it runs already. `tune`: settings of the board for this run alone.
    """

    id: str
    order: int
    block: int
    repeat: int
    board: str
    kernel: str | None
    load: str
    probe: str
    scenario: str
    plan: Plan
    lanes: int | None = None
    isolated: bool = False
    fresh_boot: bool = False
    tune: Asked | None = None

    @property
    def combination(self) -> tuple[str | None, ...]:
        """Its levels without the repeat, in the order of FACTORS."""
        return tuple(getattr(self, factor) for factor in FACTORS)

    @property
    def of_work(self) -> bool:
        """Whether it measures a fixed work, which has no deadline."""
        return of_work(self.probe)

    @property
    def title(self) -> str:
        """`load=all scenario=1:1 repeat 3`, for people."""
        named = [f"{name}={getattr(self, name)}" for name in FACTORS if getattr(self, name) is not None]
        return f"{' '.join(named)} repeat {self.repeat}"

    @property
    def length_ns(self) -> int:
        """Warm-up and measurement as planned."""
        return self.plan.warm_up_ns + planned_ns(self.plan)


@dataclass(frozen=True, slots=True)
class ExperimentPlan:
    """All cells in their order. `notes`: facts that a reader of the plan must know (an option dropped).

    `correction`: the changes of the corrected form, in the words of the file. `options`: words of the command line that chose boards, kernels or the requirement instead of the file; `order`, `seed`: how the
    cells came into their order; `looks`: how often the repeats of a combination are judged, at equal numbers of them.
    """

    name: str
    what: str
    cells: tuple[Cell, ...]
    corrected: bool = False
    correction: str = ""
    scale: str = "1"
    notes: tuple[str, ...] = ()
    cool_down_c: float | None = None
    cool_down_most_ns: int | None = None
    reboot: str = "on-change"
    retries: int = 1
    deadline_ns: int | None = None
    p_target: float = 1e-6
    per_hour: float | None = None
    confidence: float = 0.95
    per: str = "cell"
    looks: int = 1
    compare: tuple[str, ...] = ()
    compare_at: float = PRIMARY_Q
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    options: tuple[str, ...] = ()
    order: str = ""
    seed: int | None = None
    schema: str = "rtassay/experiment-plan/1"

    @property
    def hash(self) -> str:
        """Hash over the whole plan, which identifies it."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:16]

    @property
    def boots(self) -> int:
        """Number of kernel boots, the first included."""
        count, running = 0, None
        for cell in self.cells:
            if cell.kernel is not None and (cell.fresh_boot or (cell.board, cell.kernel) != running):
                count += 1
            running = (cell.board, cell.kernel)
        return count

    @property
    def looks_after(self) -> tuple[int, ...]:
        """After how many repeats of a combination each planned look is due; empty without looks."""
        repeats = max((cell.repeat for cell in self.cells), default=0)
        return tuple(-(-repeats * look // self.looks) for look in range(1, self.looks + 1)) if self.looks > 1 else ()

    def look(self, number: int) -> Look:
        """Look `number` of those planned; the only one of a plan without looks has the confidence of the requirement."""
        return planned_look(self.confidence, self.looks, number)

    def needs_boot(self) -> bool:
        return any(cell.kernel is not None for cell in self.cells)


def make_plan(
    file: ExperimentFile,
    *,
    corrected: bool = False,
    scale: Fraction = Fraction(1),
    options: tuple[str, ...] = (),
    notes: Sequence[str] = (),
) -> ExperimentPlan:
    """The cells of a checked file. Raises InputFileError for a combination that its probe refuses, with its levels."""
    told = dict.fromkeys(notes)
    plans = _plans(file, scale, told)
    cells = tuple(
        _cell(plans, levels, order, block, repeat, fresh)
        for order, (levels, block, repeat, fresh) in enumerate(_ordered(file), 1)
    )
    deadline = file.acceptance.deadline
    cool = file.cool_down
    return ExperimentPlan(
        name=file.name,
        what=file.what,
        cells=cells,
        corrected=corrected,
        correction=file.corrected.what if corrected and file.corrected is not None else "",
        scale=str(scale),
        notes=tuple(told),
        cool_down_c=None if cool is None else cool.to_c,
        cool_down_most_ns=None if cool is None else int(parse_duration_ns(cool.at_most) * scale),
        reboot=file.reboot,
        retries=file.retries,
        deadline_ns=None if deadline is None else parse_duration_ns(deadline),
        p_target=file.acceptance.p,
        per_hour=_per_hour(file),
        confidence=file.acceptance.confidence,
        per=file.acceptance.per,
        looks=file.acceptance.looks,
        compare=file.compare,
        compare_at=file.compare_at,
        levels={
            "board": file.boards,
            "kernel": file.kernels,
            "load": tuple(load.name for load in file.loads),
            "probe": file.probes,
            "scenario": tuple(scenario.name for scenario in file.scenarios),
        },
        options=options,
        order=file.order,
        seed=file.seed if file.order == "random-blocks" else None,
    )


def _per_hour(file: ExperimentFile) -> float | None:
    at_most = file.acceptance.at_most
    return None if at_most is None else parse_rate_per_h(at_most)


def estimate_ns(cells: Sequence[Cell], overhead_ns: int = OVERHEAD_NS) -> int:
    """Expected time for these cells, without cooling down and booting."""
    return sum(cell.length_ns + overhead_ns + (SPIN_UP_NS if cell.plan.loads else 0) for cell in cells)


Levels = tuple[str, str | None, Load, str, Scenario]


def _ordered(file: ExperimentFile) -> list[tuple[Levels, int, int, bool]]:
    """(levels, block, repeat, fresh boot) in the order of the runs."""
    if file.order == "as-written":
        written = [levels for group in _groups(file) for levels in group]
        return [(levels, 1, repeat, False) for levels in written for repeat in range(1, file.repeats + 1)]
    ordered = []
    for block in range(1, file.repeats + 1):
        for group in _block(file, block):
            fresh = file.reboot == "each-block" and group[0][1] is not None
            ordered += [(levels, block, block, fresh and at == 0) for at, levels in enumerate(group)]
    return ordered


def _groups(file: ExperimentFile) -> list[list[Levels]]:
    """Combinations as written, those of one board and kernel together: changing the kernel means booting."""
    rest = [
        (load, probe, scenario)
        for load, probe, scenario in itertools.product(file.loads, file.probes, file.scenarios)
        if (scenario.cyclictest is None or probe == "cyclictest") and (not load.probes or probe in load.probes)
    ]
    places = itertools.product(file.boards, file.kernels or (None,))
    return [[(board, kernel, *others) for others in rest] for board, kernel in places]


def _block(file: ExperimentFile, block: int) -> list[list[Levels]]:
    """One block: forwards, backwards after a forward one, or shuffled. Cells of a kernel stay together, so it is booted once a block."""
    groups = _groups(file)
    if file.order == "abba":
        return groups if block % 2 else [group[::-1] for group in groups[::-1]]
    # Not `random.Random(seed + block)`: neighbouring seeds would share their blocks.
    chance = random.Random(f"{file.seed}:{block}")
    chance.shuffle(groups)
    for group in groups:
        chance.shuffle(group)
    return groups


Place = tuple[str, str, str, str]


def _place(levels: Levels) -> Place:
    board, _, load, probe, scenario = levels
    return board, load.name, probe, scenario.name


def _plans(file: ExperimentFile, scale: Fraction, notes: dict[str, None]) -> dict[Place, Plan]:
    """The Plan of every combination; kernels and repeats share it."""
    found: dict[Place, Plan] = {}
    for levels in (levels for group in _groups(file) for levels in group):
        if (place := _place(levels)) in found:
            continue
        board, _, load, probe, scenario = levels
        try:
            found[place] = _plan(file, board, load, probe, scenario, scale, notes)
            _tuned(scenario)
        except RtassayError as error:
            raise InputFileError(
                f"load={load.name} probe={probe} scenario={scenario.name} cannot be measured", str(error), error.hint
            ) from error
    return found


def _cell(plans: dict[Place, Plan], levels: Levels, order: int, block: int, repeat: int, fresh: bool) -> Cell:
    board, kernel, load, probe, scenario = levels
    identity = [board, kernel, load.name, probe, scenario.name, repeat]
    return Cell(
        id=hashlib.sha256(msgspec.json.encode(identity)).hexdigest()[:12],
        order=order,
        block=block,
        repeat=repeat,
        board=board,
        kernel=kernel,
        load=load.name,
        probe=probe,
        scenario=scenario.name,
        plan=plans[_place(levels)],
        lanes=scenario.lanes,
        isolated=scenario.cpus == "isolated",
        fresh_boot=fresh,
        tune=_tuned(scenario),
    )


def _tuned(scenario: Scenario) -> Asked | None:
    """Raises InputFileError for a setting that there is not: on the board it would be found in the middle of the night."""
    if not scenario.tune:
        return None
    where = f"[scenarios.tune] of {scenario.name}"
    asked = of_table(where, scenario.tune)
    known = rooms.table("knobs")
    for name in asked.ids:
        if name not in known:
            raise InputFileError(f"{where}: there is no setting '{name}'", hint="rtassay doctor lists them")
    return asked


def _plan(
    file: ExperimentFile,
    board: str,
    load: Load,
    probe: str,
    scenario: Scenario,
    scale: Fraction,
    notes: dict[str, None],
) -> Plan:
    settings = overlay(file.settings, scenario.settings)
    accept = file.acceptance
    member: Any = find(probe)
    plan = Plan(
        probe=probe,
        cpus=None if scenario.cpus in (None, "isolated") else parse_cpu_list(scenario.cpus or ""),
        load_cpus=None if scenario.load_cpus is None else parse_cpu_list(scenario.load_cpus),
        load=" + ".join(load.run) or "none",
        loads=load.run,
        deadline_ns=None if accept.deadline is None or of_work(probe) else parse_duration_ns(accept.deadline),
        p_target=accept.p,
        per_hour=_per_hour(file),
        confidence=accept.confidence,
        strict=accept.strict,
        waivers=dict(accept.waive),
        settings={name: _typed(value) for name, value in settings.set.items()},
        **_values(settings),
    )
    plan = replace(
        plan, interval_ns=plan.interval_ns or default("interval"), warm_up_ns=_shortened(plan.warm_up_ns, scale)
    )
    if scenario.cyclictest is not None:
        plan, dropped = member.of_line(plan, scenario.cyclictest, scale)
        notes.update(dict.fromkeys(f"scenario {scenario.name}: {text}" for text in dropped))
    else:
        plan = _lengths(plan, scale)
    member.check(plan)
    return replace(plan, argv=tuple(run_command(board, plan, scenario)))


def _values(settings: Settings) -> dict[str, Any]:
    """Fields of `Plan` from the keys of [settings]; a key that the file does not state keeps its default, or the session sets it."""
    values: dict[str, Any] = {}
    for setting in OF_EXPERIMENT:
        value = getattr(settings, setting.key)
        if value is None:
            value = None if setting.filled_in else setting.default
        elif isinstance(value, str):
            value = setting.read(value)
        values[setting.field] = value
    return values


def _typed(value: bool | int | float | str) -> str:
    """A value of TOML as a person types it after --set."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shortened(ns: int, scale: Fraction) -> int:
    """The scaled time, rounded to whole milliseconds if shortened."""
    return ns if scale >= 1 else int(ns * scale) // NS_PER_MS * NS_PER_MS


def _lengths(plan: Plan, scale: Fraction) -> Plan:
    """Duration and count, shortened. Not below a second and a hundred samples, and cyclictest counts whole seconds."""
    duration_ns, count = plan.duration_ns, plan.count
    if duration_ns is None and count is None:
        duration_ns = DEFAULT_DURATION_NS
    if duration_ns is not None and scale < 1:
        step = NS_PER_S if plan.probe == "cyclictest" else NS_PER_MS
        duration_ns = min(duration_ns, max(_SHORTEST_NS, int(duration_ns * scale) // step * step))
    if count is not None and scale < 1:
        count = min(count, max(_FEWEST, int(count * scale)))
    return replace(plan, duration_ns=duration_ns, count=count)


def run_command(board: str, plan: Plan, scenario: Scenario) -> list[str]:
    """The `rtassay run` command line that measures the same as a cell."""
    argv = ["rtassay", "run", board]
    for spec in plan.loads or ("none",):
        argv += ["--load", spec]
    if plan.probe != "rtprobe":
        argv += ["--probe", plan.probe]
    if plan.cyclictest_line is not None:
        argv += ["--cyclictest-line", plan.cyclictest_line]
    elif scenario.cpus is not None:
        argv += ["--cpus", scenario.cpus]
    if scenario.lanes is not None:
        argv += ["--lanes", str(scenario.lanes)]
    if scenario.tune:  # a file with what stands in [scenarios.tune]
        argv += ["--tune", f"{scenario.name}.toml"]
    # A line of cyclictest states its own settings.
    left_out = {"cpus"} if plan.cyclictest_line is None else {"cpus", *(s.name for s in OF_EXPERIMENT)} - {"warm-up"}
    left_out |= {"p"} if plan.per_hour is not None else set()
    argv += [word for setting in SETTINGS if setting.name not in left_out for word in _option(plan, setting)]
    for name, value in plan.settings.items():
        argv += ["--set", f"{name}={value}"]
    for name, because in plan.waivers.items():
        argv += ["--waive", name, "--because", because]
    return [*argv, "--strict"] if plan.strict else argv


def _option(plan: Plan, setting: Setting) -> list[str]:
    """The option of `rtassay run` for a value that differs from the default; --interval, --p and --confidence always."""
    value = getattr(plan, setting.field, None) if setting.field else None
    always = setting.name in ("interval", "p", "confidence")
    if (value == setting.default and not always) or (value is None and "off" not in setting.words):
        return []
    return setting.argv(value)


def probe_command(cell: Cell) -> str:
    """The probe's command line on the board, as far as it is known without the board's CPUs."""
    member: Any = find(cell.probe)
    cpus = cell.plan.cpus
    program = member.program or "rtprobe"
    text = command_words(member.command(cell.plan, program, cpus or (0,)))
    if cpus is None and cell.plan.cyclictest_line is None:
        shown = "ISOLATED" if cell.isolated else "ALLOWED"
        text = text.replace("-a 0 -t 1", f"-a {shown} -t N")
        for option in ("--cpus ", "-c ", "--cpu-list=", "--measurement-cpulist="):
            text = text.replace(f"{option}0", f"{option}{shown}")
    return text

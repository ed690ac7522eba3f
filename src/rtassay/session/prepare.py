"""Makes a complete plan of what was asked for: CPUs, load, programs. Everything that can be refused is refused here."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rtassay.boards.base import LinuxBoard, answer
from rtassay.loads.base import Asked, Load, LoadCommand, LoadSpec, parse_asked
from rtassay.model import methods, rooms
from rtassay.model.cyclictest import equivalent
from rtassay.model.errors import BoardError, ToolMissing, UsageError
from rtassay.model.inventory import inventory_of
from rtassay.model.manifest import Plan
from rtassay.model.settings import DEFAULT_DURATION_NS, default, has_priority
from rtassay.model.units import NS_PER_S, format_cpu_list
from rtassay.probes.base import FarEnd, Probe, find
from rtassay.session import inventory, isolation
from rtassay.session.board_files import read_files
from rtassay.session.far import FarMachines
from rtassay.session.guarded import PlannedLoad

# How long the probe may take beyond its plan before the guard ends it: under heavy load its ordinary threads may wait for seconds.
GRACE_NS = 45 * NS_PER_S
# How long a load may take to get under way: processes forked, memory touched.
SPIN_UP_NS = NS_PER_S
# How long all loads and the monitors may take to start, one after the other: over a slow link to a busy board each start takes half a minute.
STARTS_NS = 300 * NS_PER_S
# Limits of streams, in bytes. A row of `cyclictest -v` has some 40; one line may start many threads on a CPU.
_STREAM_BASE, _STREAM_PER_S, _PER_ACTIVATION, _LANES = 256 << 20, 16 << 20, 64, 64
_VERSION = re.compile(r"[0-9]{1,9}\.[0-9]{1,9}[\w.]{0,40}")
_PACKAGES = {
    **dict.fromkeys(("cyclictest", "cyclicdeadline", "hackbench", "hwlatdetect", "oslat"), "rt-tests"),
    "glmark2": "glmark2-x11",
    "glmark2-es2": "glmark2-es2-x11",
}


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that was decided before anything was started. `plan` is complete; `asked` is what was asked for."""

    asked: Plan
    plan: Plan
    rtprobe: str
    probe: Probe
    loads: tuple[PlannedLoad, ...]
    inventory: dict[str, Any]
    tool_versions: dict[str, str]

    @property
    def cpus(self) -> tuple[int, ...]:
        assert self.plan.cpus is not None
        return self.plan.cpus

    @property
    def planned_ns(self) -> int:
        """How long the measurement should take."""
        return planned_ns(self.plan)


def planned_ns(plan: Plan) -> int:
    """Length of a plan; the shorter one where both a duration and a count are given."""
    by_count = None if plan.count is None else (plan.count + 1) * _interval_ns(plan)
    lengths = [length for length in (plan.duration_ns, by_count) if length is not None]
    return min(lengths, default=DEFAULT_DURATION_NS)


def _interval_ns(plan: Plan) -> int:
    interval_ns: int = plan.interval_ns or default("interval")
    return interval_ns


async def prepare(board: LinuxBoard, asked: Plan, *, isolated: bool, lanes: int | None, far: FarMachines) -> Prepared:
    """Decide everything. Other machines of the loads are opened. Raises UsageError for what cannot be done, BoardError for what the board lacks."""
    probe = find(asked.probe)
    probe.check(asked)
    wanted = asked_loads(asked)
    rtprobe = await board.probe()
    if methods.are_asked(asked):
        methods.check_plan(asked, methods.read(await _described(board, rtprobe)))
    files = await read_files(board, rtprobe, inventory.PATHS)
    facts = inventory.describe(files, await _boot_config(board, rtprobe, files))
    allowed = inventory.allowed_cpus(files)
    if not allowed:
        raise BoardError(
            f"board '{board.name}' does not tell which CPUs may be used", "no /proc/self/status, no CPU list in sysfs"
        )
    known = inventory_of(facts).cpus
    joined = known.cgroup_isolated or () if known.partition is not None and probe.joins else ()
    cpus = _measured_cpus(asked, allowed, joined, facts, isolated=isolated, lanes=lanes)
    if known.partition is not None and not probe.joins and set(cpus) & set(known.cgroup_isolated or ()):
        raise UsageError(
            f"{probe.name} cannot measure CPUs that are isolated at run time",
            "only members of their cgroup may run there, and its own threads do not join it",
            "use rtprobe, or boot with isolcpus=",
        )
    load_cpus = _subset("--load-cpus", asked.load_cpus, allowed, isolated=known.kept_free or ())
    others = isolation.beside(allowed, known)
    wanted = tuple([await _resolved(board, load) for load in wanted])
    plan = _complete(asked, cpus, load_cpus, wanted)
    probe_program = rtprobe if probe.program is None else await _needed(board, probe.program)
    needed = None if probe.needs is None else await _needed(board, probe.needs)
    versions: dict[str, str] = {}
    loads: list[PlannedLoad] = []
    for index, load in enumerate(wanted):
        named = others if load.others else load.cpus
        of_load = named and _subset(f"--load {load}", named, allowed, isolated=known.kept_free or ())
        spec = LoadSpec(
            argument=load.argument,
            cpus=of_load or load_cpus,
            duration_s=load_seconds(plan),
            memory_available_bytes=_share(facts["memory"]["available_bytes"], len(wanted)),
            rtprobe=rtprobe,
            program=None,
            index=index,
            workers=None if of_load or asked.load_cpus else len({*load_cpus, *(known.kept_free or ())}),
        )
        loads += await _planned(board, load, spec, versions, far)
    end = probe.far_end(plan, load_seconds(plan))
    if end is not None:
        loads.append(await _far_end(end, far))
        plan = end.plan
    if probe.program is not None and (version := await _version(board, probe_program)):
        versions[probe.program] = version
    if needed is not None and (version := await _version(board, needed)):
        versions[str(probe.needs)] = version
    # The probe gets the policy as asked: it may fall back only where none was.
    command = probe.command(replace(plan, policy=asked.policy, priority=asked.priority), probe_program, cpus)
    if known.partition is not None and set(cpus) & set(joined):
        command += ["--partition", known.partition]
    if probe.policy is not None:
        plan = replace(plan, policy=probe.policy, priority=0)
    if probe.own_threads:
        plan = replace(plan, cyclictest_equivalent=equivalent(plan) if probe.as_cyclictest else None)
    else:
        plan = replace(
            plan, interval_ns=None, policy=None, priority=None, mlock=None, aligned=None, dma_latency_us=None
        )
    return Prepared(
        asked=asked,
        plan=replace(plan, command=tuple(command)),
        rtprobe=rtprobe,
        probe=probe,
        loads=tuple(loads),
        inventory=facts,
        tool_versions=versions,
    )


def stream_limit(plan: Plan) -> int:
    """Bytes that the probe may send: several times what every sample of every lane takes, in any format."""
    activations = max(len(plan.cpus or ()), _LANES) * planned_ns(plan) // _interval_ns(plan)
    return beside_limit(plan) + _PER_ACTIVATION * activations


def beside_limit(plan: Plan) -> int:
    """Bytes that a load, or the monitors, may send."""
    return _STREAM_BASE + _STREAM_PER_S * _seconds(_once_started_ns(plan))


def load_seconds(plan: Plan) -> int:
    """When a load ends by itself should all else fail: later than anything the run may take, the start of the other loads included."""
    return _seconds(STARTS_NS + _once_started_ns(plan))


def _once_started_ns(plan: Plan) -> int:
    """How long a run may take after its loads were started."""
    return plan.warm_up_ns + planned_ns(plan) + SPIN_UP_NS + 2 * GRACE_NS


def _seconds(length_ns: int) -> int:
    return -(-length_ns // NS_PER_S)


def asked_loads(plan: Plan) -> tuple[Asked, ...]:
    """The loads a plan asks for, with names that exist (or `auto`); () for none. Raises UsageError."""
    loads = tuple(parse_asked(text) for text in plan.loads or (plan.load,))
    for load in loads:
        if load.name != "auto":
            rooms.load("loads", load.name)().needs(load.argument)
    if len(loads) > 1 and any(load.name == "none" for load in loads):
        raise UsageError("--load none excludes other loads", hint="leave it out")
    return loads


def _complete(asked: Plan, cpus: tuple[int, ...], load_cpus: tuple[int, ...], loads: tuple[Asked, ...]) -> Plan:
    policy = asked.policy or default("policy")
    unbounded = asked.duration_ns is None and asked.count is None
    return replace(
        asked,
        interval_ns=default("interval") if asked.interval_ns is None else asked.interval_ns,
        duration_ns=DEFAULT_DURATION_NS if unbounded else asked.duration_ns,
        policy=policy,
        priority=0 if not has_priority(policy) else asked.priority or default("priority"),
        mlock=asked.mlock is not False,
        aligned=bool(asked.aligned),
        cpus=cpus,
        load_cpus=load_cpus,
        load=" + ".join(str(load) for load in loads),
        loads=tuple(str(load) for load in loads if load.name != "none"),
    )


def _measured_cpus(
    asked: Plan,
    allowed: tuple[int, ...],
    joined: tuple[int, ...],
    facts: dict[str, Any],
    *,
    isolated: bool,
    lanes: int | None,
) -> tuple[int, ...]:
    """`joined`: CPUs of a partition that the lanes can join."""
    if isolated:
        known = inventory_of(facts).cpus
        cpus = tuple(cpu for cpu in known.kept_free or () if cpu in (known.online or ()))
        if not cpus:
            raise UsageError(
                "this board has no isolated CPUs", "the kernel isolates none", "boot it with isolcpus=, or name CPUs"
            )
        # An isolated CPU is not in the default affinity, but a lane may be pinned to it.
    else:
        cpus = _subset("--cpus", asked.cpus, allowed, joined)
    if lanes is not None and lanes > len(cpus):
        raise UsageError(
            f"{lanes} lanes need {lanes} CPUs, there are {len(cpus)}: {format_cpu_list(cpus)}",
            "two lanes on one CPU would measure each other",
        )
    return cpus[:lanes]


def _subset(
    option: str,
    wanted: tuple[int, ...] | None,
    allowed: tuple[int, ...],
    besides: tuple[int, ...] = (),
    isolated: Sequence[int] = (),
) -> tuple[int, ...]:
    """The wanted CPUs, all allowed ones where none are named. `isolated`: those that are kept free, to say why one is not allowed."""
    if wanted is None:
        return allowed
    missing = [cpu for cpu in wanted if cpu not in (*allowed, *besides)]
    free = [cpu for cpu in missing if cpu in isolated]
    if missing or not wanted:
        raise UsageError(
            f"{option} {format_cpu_list(wanted)}: no CPU {format_cpu_list(missing)} to be had"
            if wanted
            else f"{option} names no CPU",
            f"{f'CPU {format_cpu_list(free)} is isolated; ' if free else ''}this board allows {format_cpu_list(allowed)}",
        )
    return tuple(sorted(set(wanted)))


async def _resolved(board: LinuxBoard, load: Asked) -> Asked:
    """`auto` by its name here: stress-ng where the board has it, else what rtprobe brings along."""
    if load.name != "auto":
        return load
    return replace(load, name="stress-ng" if await board.which("stress-ng") else "builtin")


def _share(available_bytes: int | None, loads: int) -> int | None:
    """Several loads share the memory of which each would take its part."""
    return None if available_bytes is None else available_bytes // max(1, loads)


async def _planned(
    board: LinuxBoard, asked: Asked, spec: LoadSpec, versions: dict[str, str], far: FarMachines
) -> list[PlannedLoad]:
    """The processes of one load; the version of its program goes into `versions`, by the load's name."""
    load: Load = rooms.load("loads", asked.name)()
    program = load.needs(asked.argument)
    path = None if program is None else await _needed(board, program)
    # It is not known what --version does to a person's own command.
    known = path is None or asked.name in versions or asked.name != program
    if path is not None and not known and (version := await _version(board, path)):
        versions[asked.name] = version
    commands = [await _located(command, far) for command in load.commands(replace(spec, program=path))]
    return [PlannedLoad(load, str(asked), spec.cpus, command, versions.get(asked.name)) for command in commands]


async def _located(command: LoadCommand, far: FarMachines) -> LoadCommand:
    """With the path of the program on the other machine, if it runs on one."""
    if command.on is None:
        return command
    program, *words = command.argv
    return replace(command, argv=(await _needed(await far.at(command.on), program), *words))


async def _far_end(end: FarEnd, far: FarMachines) -> PlannedLoad:
    """rtprobe on another machine, guarded as a load's far end is. It does no work of a load, so that no entry tells of it."""
    rtprobe = await (await far.at(end.machine)).probe()
    load: Load = rooms.load("loads", "command")()
    command = LoadCommand((rtprobe, *end.words), ready=end.ready, on=end.machine)
    return PlannedLoad(load, f"{end.words[0]} on {end.machine}", (), command)


async def _needed(board: LinuxBoard, program: str) -> str:
    path = await board.which(program)
    if path is None:
        package = _PACKAGES.get(program, program)
        raise ToolMissing(f"board '{board.name}' has no {program}", "not on its PATH", f"apt-get install {package}")
    return path


async def _described(board: LinuxBoard, rtprobe: str) -> bytes:
    """What the board's own rtprobe prints of its methods."""
    process = await board.start([rtprobe, "describe"])
    await process.close_stdin()
    return await answer(process, f"board '{board.name}'", "rtprobe describe")


async def _version(board: LinuxBoard, program: str) -> str | None:
    """What `PROGRAM --version` says first that looks like a version; some tools say it with an error, which is no matter."""
    process = await board.start([program, "--version"])
    await process.close_stdin()
    said = await answer(process, f"board '{board.name}'", f"{program} --version")
    try:
        await process.wait(10.0)
    except TimeoutError as error:
        raise BoardError(f"board '{board.name}' does not answer", f"{program} --version did not end") from error
    text = (said + b"\n" + await process.errors()).decode(errors="replace")
    found = _VERSION.search(text)
    return None if found is None else found[0]


async def read_inventory(board: LinuxBoard, rtprobe: str) -> dict[str, Any]:
    """What a board is and how it is set up now (`session.inventory`). Raises BoardError."""
    files = await read_files(board, rtprobe, inventory.PATHS)
    return inventory.describe(files, await _boot_config(board, rtprobe, files))


async def _boot_config(board: LinuxBoard, rtprobe: str, files: dict[str, bytes]) -> bytes | None:
    release = files.get("/proc/sys/kernel/osrelease", b"").decode(errors="replace").strip()
    if "/proc/config.gz" in files or not release:
        return None
    paths: Sequence[str] = inventory.config_paths(release)
    found = await read_files(board, rtprobe, paths)
    return next((found[path] for path in paths if path in found), None)

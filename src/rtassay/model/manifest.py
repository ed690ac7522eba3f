"""`manifest.json` of a recording as dataclasses: what was asked, what was obtained, on what board, with which result.

None means the source cannot tell; it is never written as 0. All `*_ns` are integer nanoseconds.
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import Any

from rtassay.model.facts import ProbeEnd, ProbeFacts, end_of, facts_of
from rtassay.model.inventory import Inventory, inventory_of
from rtassay.model.measures import UNKNOWN
from rtassay.model.tuning import TuningPlan
from rtassay.model.values import Value

RECORDING_VERSION = 2
# End reasons of a measurement that ended as its plan says.
PLANNED_ENDS = frozenset(("duration", "count", "break"))


class Source(Value):
    """Where the numbers come from. `late_policy`: counted, skip, catch_up or unknown (docs/method/activations.md).

    `file`: the name of the file that was imported, None for a measurement of our own.
    """

    tool: str
    version: str | None
    format: str
    late_policy: str = "unknown"
    file: str | None = None


class Plan(Value):
    """What was asked for. `argv` is the command of `rtassay` that repeats it, `configured` its words that came from the configuration file, `command` the probe's on the board.

    `looks`: how often the run is judged, at equal times; it ends at the first look that decides. `loads` names every load as NAME[:ARGS][@CPUS], `load` is the same in one text for people (recordings made before several
    loads were possible have only that). `waivers` maps the id of a check to the reason why it does not decide here.
    `trace_above_ns`: a latency, or `auto`.
    `cyclictest_line` is a whole line of cyclictest to be measured exactly so, by the probe of that name. `settings` are those of
    the method that have no field here, as they were typed; `rtprobe describe` lists them.
    """

    probe: str = "rtprobe"
    interval_ns: int | None = None
    duration_ns: int | None = None
    count: int | None = None
    warm_up_ns: int = 0
    policy: str | None = None
    priority: int | None = None
    sleep: str | None = None
    clock: str | None = None
    cpus: tuple[int, ...] | None = None
    load_cpus: tuple[int, ...] | None = None
    load: str = "none"
    loads: tuple[str, ...] = ()
    deadline_ns: int | None = None
    p_target: float | None = None
    per_hour: float | None = None
    confidence: float = 0.95
    break_above_ns: int | None = None
    trace_above_ns: int | str | None = None
    trace_stacks: bool = False
    dma_latency_us: int | None = None
    mlock: bool | None = None
    aligned: bool | None = None
    keep_samples: bool = True
    argv: tuple[str, ...] = ()
    configured: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    cyclictest_equivalent: str | None = None
    cyclictest_line: str | None = None
    looks: int = 1
    strict: bool = False
    waivers: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    tuning: TuningPlan | None = None


class Obtained(Value):
    """How the kernel really runs a lane, read back from it. `runtime_ns` in each `period_ns`: of the policy deadline."""

    policy: str | None = None
    priority: int | None = None
    affinity: tuple[int, ...] | None = None
    reset_on_fork: bool | None = None
    runtime_ns: int | None = None
    period_ns: int | None = None


class Clip(Value):
    """The last sample, where the end of the run cut its missed count below floor(L / I)."""

    latency_ns: int
    missed: int


class Untraced(Value):
    """The account of the first part of a lane, before the kernel's events were switched on."""

    due: int
    n: int
    missed: int | None = None
    dropped: int | None = None
    truncated: int | None = None
    exceedances: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    sum_ns: int | None = None


class TraceEntry(Value):
    """What was traced in the second part of a run (wire/STREAM.md, "A traced run").

    `above_ns` None: four times the running p99.9. `untraced_until_ns`: where the first part ends; `from_ns`: since when all events were on. Both None if tracing
    never began. `stacks`: events that had a stack of the kernel, `stacks_error`: why not all did; None: nobody asked for stacks. `beyond_limit`: captured although their second had too many hits, since
    none of their lane was as late before. `error`: why the run, or a part of it, was not traced, in the board's words. `undecoded`: why the pages have no
    attributions, in the decoder's words.
    """

    above_ns: int | None = None
    untraced_until_ns: int | None = None
    from_ns: int | None = None
    events: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    stacks: tuple[str, ...] | None = None
    stacks_error: str | None = None
    buffer_kb: int | None = None
    hits: int | None = None
    captured: int | None = None
    not_captured: int | None = None
    beyond_limit: int | None = None
    pages: int | None = None
    bytes: int | None = None
    lost_pages: int | None = None
    cpu_ns: int | None = None
    error: str | None = None
    undecoded: str | None = None


class Counter(Value):
    """What one counter says of the programs that a lane started (cycles, page-faults ...): events per program, over `jobs` of them.

    `error`: why it was not counted. `user_only`: not what the kernel did for them. `estimated`: of `jobs`, those that had the counter for a part
    of their time. `sum`, `min` and `max` are None where nothing was counted. `free_ns`: what the kernel takes to free the counter; each program ends
    later by that.
    """

    name: str
    error: str | None = None
    user_only: bool = False
    jobs: int = 0
    estimated: int = 0
    sum: int | None = None
    min: int | None = None
    max: int | None = None
    free_ns: int | None = None

    @property
    def mean(self) -> float | None:
        """Events per program."""
        return None if self.sum is None or not self.jobs else self.sum / self.jobs


class LaneEntry(Value):
    """One lane's account: due = n + missed + dropped + truncated, with `due` from the clock. `n` includes `over`.

    `measure`: what its numbers are (`model.measures`). `untraced`: the account of its first part alone, in a traced run. `gaps`: of a busy
    lane, how many it found, and how many of them were kept one by one. `counters`: of the programs that it started.
    """

    index: int
    name: str
    cpu: int | None
    interval_ns: int | None
    n: int
    measure: str = UNKNOWN
    due: int | None = None
    missed: int | None = None
    dropped: int | None = None
    truncated: int | None = None
    over: int | None = None
    under: int | None = None
    exceedances: int | None = None
    min_ns: int | None = None
    max_ns: int | None = None
    sum_ns: int | None = None
    first_due_ns: int | None = None
    last_due_ns: int | None = None
    closed_ns: int | None = None
    first_k: int = 0
    clip: Clip | None = None
    tid: int | None = None
    state: str | None = None
    obtained_start: Obtained | None = None
    obtained_end: Obtained | None = None
    migrations: int | None = None
    minor_faults: int | None = None
    major_faults: int | None = None
    voluntary_switches: int | None = None
    involuntary_switches: int | None = None
    cpu_ns: int | None = None
    spilled: int | None = None
    suppressed: int | None = None
    coarsened: int | None = None
    gaps: int | None = None
    gaps_kept: int | None = None
    counters: tuple[Counter, ...] = ()
    untraced: Untraced | None = None


class WorkPart(Value):
    """Work of one part of a load (a stressor, a direction of a connection). `skipped`: asked for, but it did not run here.

    `seconds` is the time it worked, `instances` how many processes or streams did; None where the tool does not tell.
    """

    name: str
    operations: float | None = None
    unit: str | None = None
    seconds: float | None = None
    instances: int | None = None
    skipped: bool = False
    why: str | None = None


class LoadEntry(Value):
    """One load as it ran under the guard, on the probe's clock. `exit_code` None: ended by a signal or never started.

    `spec` is the load as asked for, NAME[:ARGS][@CPUS]; `classes` what it stresses (cpu, cache, memory, vm, io, hdd, fork, timer,
    network, scheduler, gpu), empty where that is not known; `policy` the scheduling class of its processes where one was seen that is
    real-time (LOAD-RT). Its use of CPU time and its work per second are telemetry of the monitor `load`.

    Of a load of class gpu, while it ran: `gpu_ns`, engine time of the GPUs as their drivers tell it; `gpu_interrupts` of all graphics
    devices, whoever caused them; `software`, whether the CPU rendered, as the load said.
    """

    name: str
    argv: tuple[str, ...]
    cpus: tuple[int, ...] | None = None
    tool_version: str | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    stop_asked_ns: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    user_ns: int | None = None
    system_ns: int | None = None
    operations: float | None = None
    operations_unit: str | None = None
    log: str | None = None
    error: str | None = None
    spec: str | None = None
    classes: tuple[str, ...] = ()
    parts: tuple[WorkPart, ...] = ()
    policy: str | None = None
    gpu_ns: int | None = None
    gpu_interrupts: int | None = None
    software: bool | None = None


class MonitorEntry(Value):
    """What became of one monitor.

    `state`: `watched`, `no readings` (it was read, and nothing in it was understood, or it was too
    short a time to tell), `not available` (the board has no such files) or `refused` (no permission, unreadable); `readings` and
    `messages` count what it gave; `why` names the first path and its error.
    """

    state: str
    readings: int = 0
    messages: int = 0
    why: str | None = None


class Seal(Value):
    """Size and SHA-256 of one sealed file."""

    bytes: int
    sha256: str


class Damage(Value):
    """What the stream lost on its way: all zero for a whole one."""

    skipped_bytes: int = 0
    bad_frames: int = 0
    lost_frames: int = 0
    unknown_frames: int = 0
    cut: bool = False


class RunWarning(Value):
    """Something the reader of a result should know.

    `code`: one of `model.warnings`; `lane`: index of the lane it is about, None for
    the whole run; `facts`: the JSON values that wire/RECORDING.md lists for the code. `model.warnings.words` makes a sentence of it.
    """

    code: str
    lane: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class Edit(Value):
    """One change that a person made to a sealed recording.

    `at`: UTC, ISO 8601; `labels`, `note` and `name`: as they were before it; `samples_removed`: bytes of samples that were removed, 0 for none.
    """

    at: str
    labels: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    samples_removed: int = 0
    name: str | None = None


class Manifest(Value):
    """The whole of `manifest.json`. `facts` and `end` are the probe's FACTS and END objects as they came (STREAM.md).

    `inventory` maps names of `session.inventory` to JSON values, None where the board does not tell. `probe_facts`, `probe_end`,
    `board_start` and `board_end` are typed views of these four, made once.
    `bin_width_ns` is the width of the source's bins (1 for exact nanoseconds). `name` is what a person calls the recording.
    """

    id: str
    created: str
    source: Source
    plan: Plan = field(default_factory=Plan)
    lanes: tuple[LaneEntry, ...] = ()
    schema: str = "rtassay/recording"
    version: int = RECORDING_VERSION
    sealed: bool = False
    board: str = "local"
    bin_width_ns: int = 1
    started_ns: int | None = None
    ended_ns: int | None = None
    wall_start: str | None = None
    wall_end: str | None = None
    end_reason: str | None = None
    look: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    end: dict[str, Any] = field(default_factory=dict)
    inventory: dict[str, Any] = field(default_factory=dict)
    inventory_end: dict[str, Any] = field(default_factory=dict)
    loads: tuple[LoadEntry, ...] = ()
    monitors: dict[str, MonitorEntry] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    note: str | None = None
    name: str | None = None
    damage: Damage = field(default_factory=Damage)
    trace: TraceEntry | None = None
    tool_versions: dict[str, str] = field(default_factory=dict)
    warnings: tuple[RunWarning, ...] = ()
    has_samples: bool = False
    seals: dict[str, Seal] = field(default_factory=dict)
    history: tuple[Edit, ...] = ()

    # No slots: a cached property needs a __dict__. Only fields are compared and written.
    @cached_property
    def probe_facts(self) -> ProbeFacts:
        """`facts`, typed."""
        return facts_of(self.facts)

    @cached_property
    def probe_end(self) -> ProbeEnd:
        """`end`, typed."""
        return end_of(self.end)

    @cached_property
    def board_start(self) -> Inventory:
        """`inventory`, typed: the board before the measurement."""
        return inventory_of(self.inventory)

    @cached_property
    def board_end(self) -> Inventory:
        """`inventory_end`, typed: what may have changed, after the measurement."""
        return inventory_of(self.inventory_end)

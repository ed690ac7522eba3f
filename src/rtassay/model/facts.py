"""What a probe or an imported file told: FACTS and END of wire/STREAM.md, and FACTS' `import` of importers/base.py, as typed values.

None means that the source does not tell, or that it told something of another type. All `*_ns` are integer nanoseconds.
`manifest.facts` and `manifest.end` keep the JSON as it came; `manifest.probe_facts` and `manifest.probe_end` are these views of it.
"""

from __future__ import annotations

from rtassay.model.views import View, view_of


class ReadBack(View):
    """OBTAINED: how the kernel really runs a thread."""

    policy: str | None
    priority: int | None
    affinity: tuple[int, ...] | None
    reset_on_fork: bool | None
    runtime_ns: int | None
    period_ns: int | None


class ThreadFacts(View):
    """A thread of the probe that does not measure (its writer, its main thread)."""

    tid: int | None
    policy: str | None
    priority: int | None
    affinity: tuple[int, ...] | None


class ClockFacts(View):
    """The probe's clock. `getres_ns` as the kernel states it, `step_ns` as seen, `read_cost_ns` of one reading.

    `sleep`: what ends a sleep, `timer` or `tick` (of `tick_hz`); only rtprobe-lite tells it.
    """

    id: str | None
    getres_ns: int | None
    step_ns: int | None
    read_cost_ns: int | None
    sleep: str | None
    tick_hz: int | None


class KernelFacts(View):
    """The kernel as `uname` names it."""

    release: str | None
    version: str | None
    machine: str | None


class Requested(View):
    """What the probe was asked for. `pid`, `comm`: the program whose threads `rtprobe follow` followed."""

    policy: str | None
    priority: int | None
    interval_ns: int | None
    duration_ns: int | None
    count: int | None
    deadline_ns: int | None
    break_above_ns: int | None
    dma_latency_us: int | None
    aligned: bool | None
    mlock: bool | None
    samples: bool | None
    sleep: str | None
    clock: str | None
    cpus: tuple[int, ...] | None
    pid: int | None
    comm: str | None


class SettingsFacts(View):
    """How the lanes of `rtprobe cyclic` slept; how long `rtprobe hwlat` looks in each window (None: half of it)."""

    sleep: str | None
    clock: str | None
    width: int | None


class LaneFacts(View):
    """A lane as FACTS names it. `measure`: see `model.measures`."""

    lane: int | None
    name: str | None
    measure: str | None
    cpu: int | None
    interval_ns: int | None
    tid: int | None
    first_due_ns: int | None
    obtained: ReadBack | None


class LaneSummary(View):
    """What a tool's own summary says of a lane. `cycles`: how often the tool says that it looped."""

    lane: int | None
    n: int | None
    min_ns: int | None
    avg_ns: float | None
    max_ns: int | None
    sd_ns: float | None
    cycles: int | None


class StreamSummary(View):
    """How whole the samples of a lane are, of a format that keeps their order (cyclictest -v).

    `gaps` in the cycle numbers, `lost` cycles in them; `duplicates` and `backwards` numbers; `reduced`: one of about so many samples
    was printed; `undrained`: samples that the summary counts and that were never printed.
    """

    lane: int | None
    n: int | None
    gaps: int | None
    lost: int | None
    duplicates: int | None
    backwards: int | None
    reduced: int | None
    undrained: int | None
    max_ns: int | None


class WorkAmount(View):
    """What one round of a work does of one of its parts; `lane`: that of its time."""

    lane: int | None
    part: str | None
    amount: float | None
    unit: str | None


class WorkFacts(View):
    """A work that was measured (`rtassay throughput`). `rounds` that count, `unread` rounds whose result could not be read; `cut`: the last one was not allowed to finish."""

    name: str | None
    argument: str | None
    parts: tuple[WorkAmount, ...]
    rounds: int | None
    unread: int | None
    cut: bool | None


class NoiseLine(View):
    """A line of an imported file that is none of its format. `line` counts from 1."""

    line: int | None
    text: str | None


class ImportFacts(View):
    """What only an importer knows of a file; importers/base.py explains every name. `live`: our own run of another tool's line."""

    told: frozenset[str]
    kind: str | None
    format: str | None
    live: bool | None
    unit: str | None
    unit_from: str | None
    trailer: bool | None
    noise_lines: int | None
    first_noise: NoiseLine | None
    missing_rows: int | None
    lanes: tuple[LaneSummary, ...]
    stream: tuple[StreamSummary, ...]
    started: str | None
    ended: str | None
    time_from_stamps: bool | None
    caveats: tuple[str, ...]
    inconsistent: tuple[str, ...]
    doubted: tuple[str, ...]
    load: str | None
    over_at_least: bool | None
    negative: dict[str, int]
    torn_line: int | None

    def summary_of(self, lane: int) -> LaneSummary | None:
        """The tool's summary of the lane with this index."""
        return next((row for row in self.lanes if row.lane == lane), None)


class ProbeFacts(View):
    """FACTS. `told` has the names that were in it: `dma_latency_us` may be null, which says that it was not held, or absent.

    `imported` is None for a recording that rtassay made itself.
    """

    told: frozenset[str]
    probe: str | None
    version: str | None
    command: str | None
    argv: tuple[str, ...] | None
    pid: int | None
    mono_ns: int | None
    wall_ns: int | None
    boot_id: str | None
    kernel: KernelFacts
    requested: Requested
    settings: SettingsFacts | None
    origin_ns: int | None
    planned_end_ns: int | None
    interval_ns: int | None
    bin_width_ns: int | None
    clock: ClockFacts
    timer_slack_ns: int | None
    dma_latency_us: int | None
    dma_latency_error: str | None
    mlocked: bool | None
    mlock_error: str | None
    fallback: str | None
    writer: ThreadFacts | None
    main: ThreadFacts | None
    lanes: tuple[LaneFacts, ...]
    malformed_lines: int | None
    imports: ImportFacts | None
    work: WorkFacts | None


class ClipEnd(View):
    """The last sample of a lane, where the end of the run cut its missed count."""

    latency_ns: int | None
    missed: int | None


class CounterEnd(View):
    """A counter of the programs that a lane started (END.lanes[].counters)."""

    name: str | None
    error: str | None
    user_only: bool | None
    jobs: int | None
    estimated: int | None
    sum: int | None
    min: int | None
    max: int | None
    free_ns: int | None


class UntracedEnd(View):
    """The account of the untraced part of a lane, in a traced run."""

    due: int | None
    n: int | None
    missed: int | None
    dropped: int | None
    truncated: int | None
    exceedances: int | None
    min_ns: int | None
    max_ns: int | None
    sum_ns: int | None


class TraceBegin(View):
    """The event `trace_begin` of STREAM.md. `above_ns` None: four times the running p99.9."""

    mono_ns: int | None
    above_ns: int | None
    events: tuple[str, ...]
    missing: tuple[str, ...]
    stacks: tuple[str, ...] | None
    stacks_error: str | None
    buffer_kb: int | None
    untraced_until_ns: int | None


class TraceEnd(View):
    """What became of the tracing (STREAM.md, "A traced run"). `error`: why the run, or a part of it, was not traced."""

    hits: int | None
    captured: int | None
    not_captured: int | None
    beyond_limit: int | None
    pages: int | None
    bytes: int | None
    lost_pages: int | None
    cpu_ns: int | None
    error: str | None


class LaneEnd(View):
    """A lane's account as END closes it (STREAM.md, END). `waited_ns`, `turns`: of a followed thread, as the kernel counts them."""

    lane: int | None
    cpu: int | None
    due: int | None
    first_due_ns: int | None
    last_due_ns: int | None
    closed_ns: int | None
    n: int | None
    missed: int | None
    dropped: int | None
    truncated: int | None
    over: int | None
    under: int | None
    exceedances: int | None
    min_ns: int | None
    max_ns: int | None
    sum_ns: int | None
    clip: ClipEnd | None
    spilled: int | None
    suppressed: int | None
    coarsened: int | None
    gaps: int | None
    gaps_kept: int | None
    counters: tuple[CounterEnd, ...]
    state: str | None
    obtained: ReadBack | None
    migrations: int | None
    minor_faults: int | None
    major_faults: int | None
    voluntary_switches: int | None
    involuntary_switches: int | None
    cpu_ns: int | None
    untraced: UntracedEnd | None
    waited_ns: int | None
    turns: int | None


class WriterEnd(View):
    """What recording cost. `cpu_ns_by_cpu`: number of a CPU, as text, -> CPU time there."""

    cpu_ns: int | None
    cpu_ns_by_cpu: dict[str, int] | None
    max_ring_fill: int | None
    writes: int | None
    bytes: int | None
    write_errors: int | None
    write_error: str | None


class ProbeEnd(View):
    """END. Of `rtprobe follow`: events of the kernel that were lost (`losses`), and threads that were `left_out`. `overruns`: signals of the kernel that a lane of the policy deadline exceeded its runtime."""

    told: frozenset[str]
    mono_ns: int | None
    wall_ns: int | None
    reason: str | None
    exit: int | None
    lanes: tuple[LaneEnd, ...]
    writer: WriterEnd | None
    trace: TraceEnd | None
    losses: int | None
    left_out: int | None
    overruns: int | None

    def lane(self, index: int) -> LaneEnd | None:
        """The account of the lane with this index."""
        return next((row for row in self.lanes if row.lane == index), None)


def facts_of(data: object) -> ProbeFacts:
    """FACTS as JSON, typed. Never raises."""
    renamed = (
        {"imports" if key == "import" else key: value for key, value in data.items()} if isinstance(data, dict) else {}
    )
    return view_of(ProbeFacts, renamed)


def end_of(data: object) -> ProbeEnd:
    """END as JSON, typed. Never raises."""
    return view_of(ProbeEnd, data)

"""Which causes made a board late, over the traced hits of one or several runs (schema rtassay/causes/1).

Times are integer ns, shares are between 0 and 1. `dataclasses.asdict` of `Ranking` is the object of `rtassay causes --json`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Final

from rtassay.model.causes import Cause

MOVE_INTERRUPT: Final = "move-interrupt"
CPU_INTERRUPT: Final = "cpu-interrupt"
MEASUREMENT: Final = "measurement"
THREAD_PRIORITY: Final = "thread-priority"
SOFTIRQ_LOAD: Final = "softirq-load"
TIMER_OWNER: Final = "timer-owner"
THROTTLING_OFF: Final = "throttling-off"
LOCK_MEMORY: Final = "lock-memory"
NAME_THE_FUNCTION: Final = "name-the-function"
FUNCTION_KNOWN: Final = "function-known"
RT_KERNEL: Final = "rt-kernel"
IPI_SENDER: Final = "ipi-sender"
IDLE_STATES: Final = "idle-states"
FIRMWARE: Final = "firmware"
REAL_HARDWARE: Final = "real-hardware"
ORDINARY: Final = "ordinary"
MORE_EVENTS: Final = "more-events"

TRACED: Final = "traced"
NOT_ASKED: Final = "not-asked"
NOTHING_LATE: Final = "nothing-late"
NOT_POSSIBLE: Final = "not-possible"
NOT_CAPTURED: Final = "not-captured"
NOT_DECODED: Final = "not-decoded"
NOT_OURS: Final = "not-ours"

AGREES: Final = "agrees"
BETTER: Final = "better"
WORSE: Final = "worse"
NOT_REMOVED: Final = "not-removed"
TOO_LITTLE: Final = "too-little"

TIMER_INTERRUPT: Final = "timer-interrupt"
INTERRUPTS: Final = "interrupts"
SOFTIRQS: Final = "softirqs"
THREADS: Final = "threads"

EXPECTED: Final = 3
"""Where so many are expected, none at all comes by chance once in twenty times (Poisson)."""

CUT: Final = "cut"
NOT_ROOT: Final = "not-root"
LOCKED_DOWN: Final = "locked-down"
IN_CONTAINER: Final = "in-container"
BOARD_SAYS: Final = "board-says"


@dataclass(frozen=True, slots=True)
class Traced:
    """What became of the tracing of one run.

    state: TRACED if late wake-ups have an attribution, else why not: nobody asked for it, nothing was late, the board refused
    (`refused` says why: CUT, NOT_ROOT ...; `error` in its own words), no hit was captured, the trace cannot be decoded, or another tool measured.
    `stacks`: whether stacks of the kernel were kept (None: nobody asked for them), `stacks_error`: why not all, in the board's words.
    `untraced_ns`, `traced_ns`: how long each part was. p50 and p99 of both parts show what tracing itself cost. `above_ns`: the level from which on
    a wake-up is late enough; None: it followed 4 x the running p99.9 (`--trace-above auto`). `traced_p99_9_ns`, `traced_max_ns` tell which level is reached. `beyond_limit`: of the captured hits
    those that were captured in a second with too many, since none of their lane was as late before.
    """

    id: str
    state: str
    above_ns: int | None = None
    refused: str | None = None
    error: str | None = None
    missing: tuple[str, ...] = ()
    hits: int | None = None
    captured: int | None = None
    not_captured: int | None = None
    beyond_limit: int | None = None
    lost_pages: int | None = None
    untraced_ns: int | None = None
    traced_ns: int | None = None
    untraced_p50_ns: int | None = None
    traced_p50_ns: int | None = None
    untraced_p99_ns: int | None = None
    traced_p99_ns: int | None = None
    traced_p99_9_ns: int | None = None
    traced_max_ns: int | None = None
    stacks: bool | None = None
    stacks_error: str | None = None


@dataclass(frozen=True, slots=True)
class FunctionShare:
    """A function of the kernel in which a cause kept the CPU, by stacks (`model.causes.Place`; `function` empty: user space).

    hits: of which it has a part; `lateness_ns`: all its parts together, `share_of_cause`: of the lateness of the cause; `chain`: the stack of the
    longest part.
    """

    function: str
    at: str
    hits: int
    lateness_ns: int
    share_of_cause: float
    chain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """Smallest and largest of one number over `runs` runs. They enclose the median of such runs with this confidence."""

    low: float
    high: float
    runs: int
    confidence: float


@dataclass(frozen=True, slots=True)
class Without:
    """A prediction: the traced part, had these causes taken no time.

    `exceedances` of the deadline; `max_ns` of the attributed hits; `demonstrated_ns`: D*, None where the data demonstrate none. `at_most`: D* lies below
    the level from which on hits were traced, where no cause is known, so that it may be less still. `spread`: of D* over runs.
    """

    exceedances: int
    max_ns: int
    demonstrated_ns: int | None
    at_most: bool = False
    spread: Spread | None = None


@dataclass(frozen=True, slots=True)
class CauseShare:
    """One cause over all attributed hits.

    hits: those of which it has a part; owned: those of which it has the largest part; exceedances: owned ones at or above the deadline.
    `lateness_ns`: all its parts together, `largest_ns`: most in one hit. `share_of_quantiles`: of the lateness of hits at or above each of
    `Ranking.quantiles`. `groups`: "cpu 1", "kernel 6.1", "load none" -> share of the lateness there. `spread`: of share_of_lateness over runs.
    `functions`: in which it kept the CPU, where stacks tell.
    """

    cause: Cause
    hits: int
    owned: int
    exceedances: int
    stall_possible: int
    lateness_ns: int
    largest_ns: int
    share_of_exceedances: float | None
    share_of_lateness: float
    share_of_quantiles: tuple[float | None, ...]
    groups: dict[str, float]
    without: Without | None
    next_step: str
    spread: Spread | None = None
    functions: tuple[FunctionShare, ...] = ()


@dataclass(frozen=True, slots=True)
class Masked:
    """Two causes that hide each other: without both, more exceedances are gone than the two have gone alone."""

    first: Cause
    second: Cause
    without_first: int
    without_second: int
    without_both: Without


@dataclass(frozen=True, slots=True)
class QuantileLevel:
    """Latency `value_ns` of quantile q in the traced part; `hits` attributed at or above it, of `late` samples there."""

    q: float
    value_ns: int
    hits: int
    late: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One part of late wake-ups, by our attribution and by the kernel's own tracer, added up over all wake-ups that both tell of.

    part: TIMER_INTERRUPT (until the timer's interrupt woke the thread), INTERRUPTS, SOFTIRQS, THREADS (after that). agreed: in how many both say the same, but for the ordinary path
    of a wake-up. `worst_ns`: the largest difference, ours less the tracer's, at activation `worst_k` of lane `worst_lane`.
    """

    part: str
    ours_ns: int
    tracer_ns: int
    agreed: int
    worst_ns: int
    worst_lane: int
    worst_k: int


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """One run that the tracer `tracer` of the kernel measured: its readings beside our attributions of the same wake-ups.

    compared: wake-ups that both tell of, of `hits`.
    """

    id: str
    tracer: str
    hits: int
    compared: int
    parts: tuple[Compared, ...]

    @property
    def agrees(self) -> bool:
        """Whether they say the same of each wake-up."""
        return self.compared > 0 and all(part.agreed == self.compared for part in self.parts)


@dataclass(frozen=True, slots=True)
class Analysis:
    """What rtla says of the one sample that stopped it on `cpu`.

    parts: ns by part (as `Compared.part`). names: threads and interrupts. stack: of the blocking thread, the innermost function first.
    """

    cpu: int
    latency_ns: int
    parts: dict[str, int]
    names: tuple[str, ...]
    stack: tuple[str, ...]

    @property
    def largest(self) -> str | None:
        """The part with most of the time; None where rtla names none."""
        return max(self.parts, key=lambda part: self.parts[part], default=None)


@dataclass(frozen=True, slots=True)
class Beside:
    """rtla's analysis of one sample of a CPU, and our attributions of `hits` late wake-ups of that CPU in other runs: `parts_ns` are their sums."""

    analysis: Analysis
    hits: int
    latency_ns: int
    parts_ns: dict[str, int]

    @property
    def largest(self) -> str | None:
        """Our part with most of the time; None without hits."""
        return max(self.parts_ns, key=lambda part: self.parts_ns[part]) if self.hits else None

    @property
    def agrees(self) -> bool | None:
        """Whether the largest part is the same; None where one side names none."""
        both = self.analysis.largest, self.largest
        return None if None in both else both[0] == both[1]


@dataclass(frozen=True, slots=True)
class Below:
    """What the kernel's tracer hwlat found below the kernel in the run `id`, and our attributions of other runs of that board.

    gaps: of its `windows` those with a gap of `level_ns` or more, which makes a wake-up late wherever it begins; `longest_ns` of all. `looked_ns`: how long it
    looked, `traced_ns`: how long the lanes were traced, both added up over CPUs. stalls: late wake-ups of which firmware or a hypervisor owns `level_ns` or more, `largest_ns` of all;
    `possible`: those that are marked as a possible stall.
    """

    id: str
    level_ns: int
    windows: int
    gaps: int
    longest_ns: int
    looked_ns: int
    stalls: int
    largest_ns: int
    possible: int
    traced_ns: int

    @property
    def stalls_expected(self) -> float:
        """How many late wake-ups its gaps would have made in the time that was traced."""
        return self.gaps * self.traced_ns / self.looked_ns if self.looked_ns else 0.0

    @property
    def gaps_expected(self) -> float:
        """How many gaps our stalls would have been in the time that it looked."""
        return self.stalls * self.looked_ns / self.traced_ns if self.traced_ns else 0.0

    @property
    def agrees(self) -> bool | None:
        """Whether both found such stalls, or neither. None: too short a time to tell, or possible stalls are all there is."""
        if bool(self.gaps) == bool(self.stalls):
            return True if self.looked_ns and self.traced_ns else None
        if self.gaps:
            return False if self.stalls_expected >= EXPECTED and not self.possible else None
        return False if self.gaps_expected >= EXPECTED else None


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of `rtassay causes`: causes with the largest share of the lateness first.

    `deadline_ns` None: none is stated, and `exceedances` counts all hits. `above_ns`: only hits at or above it count. `demonstrated_ns`: D* of the traced
    part, with which the predictions compare, at `p`; `p_asked`: what the runs were to show, which is smaller where their traced part is too short for it. `share_unattributed`: of the lateness; `stall_possible`: hits that may be a stall of the host. `observer`: what the threads of the measurement itself took; they are
    in no other list, though their time is part of the lateness. `crosschecks`: of runs that a tracer of the kernel measured; `beside`: analyses of rtla,
    `below`: findings of hwlat (`causes --beside`). `followed`: the wake-ups are those of a user's program (`rtassay explain`), of which there is no D*.
    """

    runs: tuple[Traced, ...]
    deadline_ns: int | None
    above_ns: int
    p: float
    confidence: float
    hits: int
    attributed: int
    incomplete: int
    stall_possible: int
    exceedances: int
    lateness_ns: int
    share_unattributed: float | None
    max_ns: int | None
    demonstrated_ns: int | None
    p_asked: float | None = None
    quantiles: tuple[QuantileLevel, ...] = ()
    causes: tuple[CauseShare, ...] = ()
    observer: CauseShare | None = None
    masked: tuple[Masked, ...] = ()
    crosschecks: tuple[CrossCheck, ...] = ()
    beside: tuple[Beside, ...] = ()
    below: tuple[Below, ...] = ()
    followed: bool = False
    schema: str = field(default="rtassay/causes/1")

    @property
    def answered(self) -> bool:
        """Whether at least one hit has an owner."""
        return any(share.cause.kind != "unattributed" for share in self.causes)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A prediction beside what runs without the cause measured, both over traced parts (schema rtassay/confirmation/1).

    state: AGREES if the numbers of exceedances differ by no more than chance explains, else BETTER or WORSE than predicted; NOT_REMOVED if the cause still owns late
    time there; TOO_LITTLE without traced parts. due_*: activations of the traced parts. share_*: of the lateness that the cause owns. p: that of
    all D*. followed: of a user's program, whose wake-ups count and which has no D*.
    """

    cause: Cause
    state: str
    due_before: int
    due_after: int
    exceedances_before: int
    exceedances_predicted: int
    exceedances_after: int
    demonstrated_before_ns: int | None
    demonstrated_predicted_ns: int | None
    demonstrated_after_ns: int | None
    p: float
    at_most: bool
    share_before: float
    share_after: float
    followed: bool = False
    schema: str = field(default="rtassay/confirmation/1")


def confirmation_dict(confirmation: Confirmation) -> dict[str, Any]:
    """The JSON object, the schema first."""
    data = asdict(confirmation)
    return {"schema": data.pop("schema"), **data}


def ranking_dict(ranking: Ranking) -> dict[str, Any]:
    """The JSON object, the schema first."""
    data = asdict(ranking)
    return {"schema": data.pop("schema"), "answered": ranking.answered, **data}

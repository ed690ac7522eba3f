"""Computed facts: what `rtassay show --json` prints (schema rtassay/show/1, docs/architecture.md).

`dataclasses.asdict` of `Findings` is that JSON object; a key may be added; a key that goes or changes its sense raises the number of the schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from rtassay.model.foreign import one_line
from rtassay.model.manifest import Counter
from rtassay.model.measures import UNKNOWN
from rtassay.model.units import format_time, spaced
from rtassay.model.values import Value

ANALYSIS_VERSION = 12
STATES = ("VIOLATED", "HOLDS", "NOT DEMONSTRATED", "INVALID MEASUREMENT")
SEVERITIES = ("invalid", "warning", "note", "unknown", "pass")
VIRTUAL_BOARD = "virtual board: function only"
SINGLY, AS_ABOVE, AS_SEEN, AS_FEW = "singly", "as_above", "as_seen", "as_few"
"""What a bound assumes (`Assumption.code`): late activations come singly, which nothing shows; as singly as those above a threshold; like
those that were seen, which were three events or more; like the bursts that were seen, which were one or two."""
THESE_RUNS = "these_runs"
"""What a bound over two to four `runs` assumes on top: other boots are like these. So few do not tell how far others lie from them."""
THETA, BURSTS, WORST_RUN, UNLIKE_RUNS = "theta", "bursts", "worst_run", "unlike_runs"
"""How a bound was found (`Verdict.basis`), beside SINGLY, each activation alone: 3 / (n theta); from the sizes of the events; as that of
the worst of unlike runs; widened, since the largest latencies of the runs are unlike."""
_LEAST_SHOWN = (SINGLY, AS_FEW, AS_ABOVE, AS_SEEN)
ACTIVATIONS, FEWER_LATE, SINGLE_LATE = "activations", "fewer_late", "single_late"
"""Why numbers show no more (`Verdict.lacks`): too few activations even if none is late; too many late ones; late ones come in bursts,
and would do if they came singly."""
PRIMARY_Q = 0.999
"""The step of the ladder that a comparison tests alone, unless another one is named."""
LADDER = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999)


class Quantile(Value):
    """Nearest-rank quantile with its two-sided 95 % order-statistic interval; `hi_ns` None when unbounded."""

    q: float
    value_ns: int
    lo_ns: int
    hi_ns: int | None
    bound: str


class Demonstrated(Value):
    """D*: the smallest deadline with upper p at the confidence <= p. None: the data demonstrate none.

    With `per_hour` it is the smallest with at most so many events an hour; `p` then decides nothing.
    """

    p: float
    deadline_ns: int | None
    per_hour: float | None = None


class Gap(Value):
    """Something else ran, on the clock of the probe."""

    start_ns: int
    length_ns: int


class Noise(Value):
    """What was taken from a busy lane.

    `share`: of the time of all windows that were looked at. `gaps`: how many there were, and `kept` how many of them one by one; None where
    the source does not tell. `longest`: the longest of those, longest first.
    """

    share: float | None
    gaps: int | None
    kept: int | None
    longest: tuple[Gap, ...]


class JitterStep(Value):
    """A nearest-rank quantile of period jitter, `at_least` where there are too few runs. It has no interval: consecutive values depend on each other."""

    q: float
    value_ns: int
    bound: str


class Jitter(Value):
    """How far the time between two consecutive runs of a lane was from its interval. `n`: such pairs."""

    n: int
    mean_ns: float
    max_ns: int
    quantiles: tuple[JitterStep, ...]


class LaneFindings(Value):
    """One lane (or, with name and cpu None, all of one measure pooled for display). `measure`: what its numbers are (`model.measures`).

    `noise`: of a lane whose numbers are the time taken in a window, and of that alone. `jitter`: None where the order of the samples
    was not kept, or means nothing. `counters`: of the programs that it started.
    """

    name: str | None
    cpu: int | None
    due: int | None
    n: int
    missed: int | None
    dropped: int | None
    truncated: int | None
    over: int | None
    min_ns: int | None
    mean_ns: float | None
    max_ns: int | None
    sd_ns: float | None
    quantiles: tuple[Quantile, ...]
    quantiles_due: tuple[Quantile, ...] | None
    demonstrated: Demonstrated
    measure: str = UNKNOWN
    noise: Noise | None = None
    counters: tuple[Counter, ...] = ()
    jitter: Jitter | None = None


class CheckResult(Value):
    """One validity check. severity: see SEVERITIES; kind: integrity, optimism or assumption; message has no newline.

    `waived` is the reason a person gave (`--waive ID --because "..."`) why this check does not decide here; it is shown all the same.
    `remedy` says what to do about a check that did not pass; it is empty for a pass.
    """

    id: str
    severity: str
    kind: str
    message: str
    facts: dict[str, Any] = field(default_factory=dict)
    waived: str | None = None
    remedy: str = ""


class Coincidence(Value):
    """A monitor's reading that was unusual while an outlier happened (docs/method/coincidences.md).

    `value` and `usual` (the median of the others) are in `unit`. `as_far` of the `of` other readings of the run are as far from the
    usual one on the same side.
    """

    monitor: str
    name: str
    unit: str
    value: float
    usual: float
    as_far: int
    of: int


class Outlier(Value):
    """One of the worst wake-ups, `at_s` seconds after the run's origin, and what coincided with it. A coincidence is no proof.

    `also`: names of other lanes that were late within a second of it. `messages`: the kernel's log of that moment.
    """

    lane: str | None
    cpu: int | None
    at_s: float
    latency_ns: int
    missed: int
    also: tuple[str, ...]
    coincidences: tuple[Coincidence, ...]
    messages: tuple[str, ...]


class Needed(Value):
    """Activations in all, and the time they take, that would demonstrate the requirement if no further one is late."""

    n: int
    duration_s: float | None


class Assumption(Value):
    """What the verdict's upper bound takes for granted. code: SINGLY, AS_ABOVE, AS_SEEN, AS_FEW or THESE_RUNS.

    Facts of AS_ABOVE: above_ns, n, theta, theta_lower; of THESE_RUNS: runs.
    """

    code: str
    facts: dict[str, Any] = field(default_factory=dict)


# Codes of a Reason, each with its facts.
NO_ACTIVATION = "no_activation"
LATE_SEEN = "late_seen"
"""lane, cpu, exceedances, possible, due, deadline_ns, bound, bound_is (lower, upper), allowed, of (p, events_per_h), confidence"""
MORE_NEEDED = "more_needed"
"""n, duration_s, exceedances, lacks, events, theta_lower"""
NEVER_SHOWN = "never_shown"
"""of"""
ASSUMED = "assumed"
"""assumption (a code of Assumption), and its facts"""
RUNS_DIFFER = "runs_differ"
"""basis"""
CHECK = "check"
"""id, message"""
STRICT = "strict"
WAIVED = "waived"
"""id, because"""
SAFETY_FACTOR = "safety_factor"
"""factor"""


class Reason(Value):
    """Why a verdict is as it is. Reports word it (reports/recording/reasons.py)."""

    code: str
    facts: dict[str, Any] = field(default_factory=dict)


class Verdict(Value):
    """The judgement of the worst lane; sentence: the verdict as one paragraph (docs/method/verdict.md). `rate_upper_per_h`: of any lane.

    `per_hour`: the requirement, if it was stated in events; `p_target` then decides nothing. `assumes`: of the upper bound; empty
    if VIOLATED. `basis`: how p_upper was found (BURSTS, ...). `gap`: late activations up to so many activations apart are
    one event; 0: each is one; None: their order is not known. `theta_lower`: lower limit of the extremal index of the `theta_n` wake-ups
    at or above `theta_above_ns`; None: too few are known in order. `capped_by`: ids of the checks without which it would be a better
    state, and `lacks`: why the numbers alone show no more (ACTIVATIONS, FEWER_LATE, SINGLE_LATE); None if they do.
    `look` of `looks`: the planned look it is of; `confidence` is then that look's. rate_*_per_h: events per hour.
    """

    state: str
    lane: str | None
    deadline_ns: int
    p_target: float
    confidence: float
    due: int | None
    exceedances: int | None
    events: int | None
    p_lower: float | None
    p_upper: float | None
    rate_upper_per_h: float | None
    needed: Needed | None
    reasons: tuple[Reason, ...]
    sentence: str = ""
    safety_factor: float | None = None
    lanes: tuple[dict[str, Any], ...] = ()
    per_hour: float | None = None
    rate_lower_per_h: float | None = None
    assumes: tuple[Assumption, ...] = ()
    basis: str | None = None
    gap: int | None = None
    theta: float | None = None
    theta_lower: float | None = None
    theta_n: int | None = None
    theta_above_ns: int | None = None
    capped_by: tuple[str, ...] = ()
    lacks: str | None = None
    look: int | None = None
    looks: int = 1


class Findings(Value):
    """Everything a report shows. `new_record` = {"mission_s": M, "probability": M / (K + M)} rows for a few missions.

    `strict`: warnings were judged as making the measurement invalid. `name`: what a person calls the recording.
    """

    id: str
    source: dict[str, Any]
    board: str
    kernel: str | None
    load: str
    labels: dict[str, str]
    interval_ns: int | None
    bin_width_ns: int
    clock_step_ns: int | None
    duration_s: float | None
    sealed: bool
    lanes: tuple[LaneFindings, ...]
    pooled: LaneFindings
    checks: tuple[CheckResult, ...]
    verdict: Verdict | None
    schema: str = "rtassay/show/1"
    created: str | None = None
    note: str | None = None
    name: str | None = None
    end_reason: str | None = None
    command: str | None = None
    cyclictest_equivalent: str | None = None
    new_record: tuple[dict[str, float], ...] = ()
    outliers: tuple[Outlier, ...] = ()
    strict: bool = False
    analysis_version: int = ANALYSIS_VERSION

    @property
    def called(self) -> str | None:
        """The recording's name, else that of the file it was imported from."""
        file = self.source.get("file")
        return self.name or (one_line(file, 100) if isinstance(file, str) else None)

    @property
    def virtual_board(self) -> bool:
        """Whether the board was emulated. Reports then say VIRTUAL_BOARD beside its name."""
        return any(check.id == "VM-STEAL" and check.severity == "invalid" for check in self.checks)


def weakest(of_lanes: Iterable[Sequence[Assumption]]) -> tuple[Assumption, ...]:
    """What an answer assumes that needs all of these lanes: the way of coming late that data show least, and what is assumed of runs."""
    every = [one for assumes in of_lanes for one in assumes]
    ways = [one for one in every if one.code in _LEAST_SHOWN]
    first = min(ways, key=lambda one: _LEAST_SHOWN.index(one.code), default=None)
    runs = next((one for one in every if one.code == THESE_RUNS), None)
    return tuple(one for one in (first, runs) if one is not None)


def assumptions(rows: Iterable[Mapping[str, Any]]) -> tuple[Assumption, ...]:
    """Assumptions as JSON holds them."""
    return tuple(Assumption(row["code"], row["facts"]) for row in rows)


def condition_words(assumes: Sequence[Assumption], per_hour: float | None = None) -> str:
    """`if late ones come singly`; empty where enough were seen to tell how they come, and for events per hour, however they come."""
    for one in assumes if per_hour is None else ():
        if one.code == AS_ABOVE:
            return f"if late ones come as singly as those above {spaced(one.facts['above_ns'])}"
        if one.code == SINGLY:
            return "if late ones come singly"
        if one.code == AS_FEW:
            return "if late ones come as those seen did"
    return ""


def state_words(state: str, assumes: Sequence[Assumption], per_hour: float | None = None) -> str:
    """`HOLDS of these 3 runs, if late ones come singly`: no HOLDS is told without its condition."""
    if state != "HOLDS":
        return state
    runs = next((f" of these {one.facts['runs']} runs" for one in assumes if one.code == THESE_RUNS), "")
    condition = condition_words(assumes, per_hour)
    return f"{state}{runs}{', ' if condition else ''}{condition}"


def assumption_words(assumption: Assumption) -> str:
    """`late activations come singly`."""
    if assumption.code in (AS_SEEN, AS_FEW):
        return "late activations come as those seen"
    if assumption.code == THESE_RUNS:
        return f"other boots are like these {assumption.facts['runs']} runs"
    if assumption.code == SINGLY:
        return "late activations come singly"
    return f"late activations come as singly as those above {format_time(assumption.facts['above_ns'])}"


def lane_words(name: str | None, cpu: int | None) -> str:
    """What a reader calls a lane.

    `CPU3` where the CPU is known (of `cpu3 irq`: `CPU3 irq`), else the source's own name; pooled lanes are `all lanes`.
    """
    if cpu is not None:
        return f"CPU{cpu}{part_of_cpu(name, cpu)}"
    if name is None:
        return "all lanes"
    return f"lane {name}" if name.isdigit() else name


def part_of_cpu(name: str | None, cpu: int) -> str:
    """` irq` of the lane `cpu3 irq` on CPU 3: one of several quantities that a tool reports per CPU. Empty for others."""
    prefix = f"cpu{cpu} "
    return f" {name[len(prefix) :]}" if name is not None and name.startswith(prefix) else ""


class Sealed(Value):
    """What sealing computed of a recording that a later judgement needs again: the figures of its lanes, of all of them, and its checks by id.

    `confidence`: of their D*; None where a later judgement must find it anew.
    """

    lanes: tuple[LaneFindings, ...]
    pooled: LaneFindings
    checks: dict[str, CheckResult]
    confidence: float | None

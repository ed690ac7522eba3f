"""Checks of a comparison: is the difference one of the factor, and is there enough to tell? One table, as for recordings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from rtassay.analysis.checks.base import (
    INTEGRITY,
    INVALID,
    NOTE,
    PASS,
    WARNING,
    Check,
    Context,
    Outcome,
    passed,
    unknown,
)
from rtassay.analysis.many.compare import conditions, inference, refusal, variance
from rtassay.analysis.many.compare.conditions import CONFOUND, FACTOR, VARIES
from rtassay.analysis.many.compare.run import Run
from rtassay.model.comparison import (
    A_BETTER,
    WITHIN_RUN,
    Comparison,
    Difference,
    Group,
    QuantileRatio,
)
from rtassay.model.findings import VIRTUAL_BOARD, CheckResult
from rtassay.model.units import format_time

FEW = 5
UNEQUAL = 0.01
TEMPERATURE_C = 3.0
SHOWN_DIFFERENCES = 6


@dataclass(frozen=True, slots=True)
class Pair:
    """What a check may look at: the runs of both groups and what was computed of them."""

    a: tuple[Run, ...]
    b: tuple[Run, ...]
    result: Comparison

    @property
    def sides(self) -> tuple[tuple[str, tuple[Run, ...]], ...]:
        return ("A", self.a), ("B", self.b)

    @property
    def groups(self) -> tuple[Group, Group]:
        return self.result.a, self.result.b


@dataclass(frozen=True, slots=True)
class PairCheck:
    """One row of the table; as `analysis.checks.base.Check`, of two groups."""

    id: str
    condition: str
    kind: str
    severity: str
    explanation: str
    remedy: str
    function: Callable[[Pair], Outcome]
    proof: str = "synthetic"

    def as_check(self) -> Check:
        """What it says of itself, in the shape of a recording's check; it cannot be run on one."""

        def of_groups(context: Context) -> Outcome:
            return unknown("a check of groups, not of a recording")

        return Check(
            self.id,
            self.condition,
            self.kind,
            self.severity,
            False,
            self.explanation,
            self.remedy,
            of_groups,
            self.proof,
        )

    def run(self, pair: Pair) -> CheckResult:
        """The result, always."""
        found = self.function(pair)
        return CheckResult(
            self.id, found.severity, found.kind or self.kind, " ".join(found.message.split()), found.facts
        )


def _plural(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def invalid_recording(pair: Pair) -> Outcome:
    """A recording that is no measurement."""
    bad = {run.id: list(run.invalid) for _, runs in pair.sides for run in runs if run.invalid}
    if not bad:
        return passed("no recording is an invalid measurement")
    first, ids = next(iter(bad.items()))
    more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
    return Outcome(
        INVALID, f"{first}{more} is no valid measurement ({', '.join(ids)}): nothing is concluded", {"recordings": bad}
    )


def not_comparable(pair: Pair) -> Outcome:
    """Numbers that do not mean the same."""
    reasons = refusal.incomparable(pair.a, pair.b)
    if reasons:
        return Outcome(INVALID, "; ".join(reasons), {"reasons": list(reasons)})
    return passed("both groups measure the same thing in the same way")


def no_samples(pair: Pair) -> Outcome:
    """A recording without one sample."""
    empty = [run.id for _, runs in pair.sides for run in runs if run.pooled.n == 0]
    if empty:
        return Outcome(INVALID, f"{', '.join(empty[:4])} hold no sample", {"recordings": empty})
    return passed("every recording holds samples")


def single_run(pair: Pair) -> Outcome:
    """One run of a kind: nothing tells how much two of its kind differ."""
    single = [name for name, runs in pair.sides if len(runs) == 1]
    if not single:
        return passed("both groups hold several runs")
    text = (
        f"one run of {' and of '.join(single)}: how much runs of one kind differ among themselves is not known, so the intervals tell "
        "these runs apart, not what they stand for"
    )
    return Outcome(WARNING, text, {"groups": single})


def few_runs(pair: Pair) -> Outcome:
    """Too few runs to tell a difference of kernels from one of runs."""
    ra, rb = len(pair.a), len(pair.b)
    smallest, needed = inference.smallest_p(ra, rb), inference.runs_needed(inference.ENOUGH_P)
    facts = {"a_runs": ra, "b_runs": rb, "smallest_p": smallest, "needed_per_group": needed}
    if min(ra, rb) >= FEW:
        return passed(f"{ra} and {rb} runs; the smallest p an exchange of runs can give is {smallest:.2g}", **facts)
    test = f"no permutation test: it needs {needed} runs of each to reach p = {inference.ENOUGH_P:g}"
    if smallest <= inference.ENOUGH_P:
        test = f"the smallest p an exchange of runs can give is {smallest:.2g}"
    return Outcome(
        WARNING,
        f"A has {_plural(ra, 'run')}, B {_plural(rb, 'run')}: {test}; {FEW} of each are the least for a sound answer",
        facts,
    )


def one_boot(pair: Pair) -> Outcome:
    """All runs of a group in one boot: what a boot decides by chance is the same for all of them."""
    facts: dict[str, Any] = {}
    single, blind = [], []
    for name, runs in pair.sides:
        boots = {run.boot for run in runs}
        facts[f"{name.lower()}_boots"] = None if None in boots else len(boots)
        if len(runs) == 1:
            single.append(name)
        elif None in boots:
            blind.append(name)
        elif len(boots) == 1:
            single.append(name)
    if single:
        both = " and ".join(single)
        text = f"all runs of {both} are of one boot{' each' if len(single) > 1 else ''}: what a boot decides by chance (addresses, order of drivers) is not averaged out"
        lone = all(len(runs) == 1 for name, runs in pair.sides if name in single)
        return Outcome(NOTE if lone else WARNING, text, facts)
    if blind:
        return unknown(f"which boot the runs of {' and '.join(blind)} are of is not known", **facts)
    return passed("each group spans several boots", **facts)


def boot_lottery(pair: Pair) -> Outcome:
    """Boots of one group differ more than their runs explain: what a boot draws decides."""
    rows = {group.name: group.boot_variance[-1] for group in pair.groups if group.boot_variance}
    facts = {group.name.lower(): [asdict(row) for row in group.boot_variance] for group in pair.groups}
    if not rows:
        return unknown(f"it takes {variance.LEAST} boots with {variance.LEAST} runs each to tell boots from runs")
    name, worst = max(rows.items(), key=lambda item: item[1].icc)
    text = (
        f"at p{worst.q * 100:.7g} {worst.icc:.0%} [{worst.lo:.0%}, {worst.hi:.0%}] of the variance of the runs of {name} is that of "
        f"its {worst.boots} boots (sd of ln {worst.between_sd:.3f} between boots, {worst.within_sd:.3f} within)"
    )
    if worst.icc <= variance.LOTTERY:
        return passed(text, **facts)
    if worst.lo > 0:
        return Outcome(WARNING, f"boot lottery: {text}; more boots are needed, not longer runs", facts)
    return Outcome(NOTE, f"{text}: perhaps a boot lottery; more boots would tell", facts)


def order_confound(pair: Pair) -> Outcome:
    """One group measured wholly before the other: whatever drifted meanwhile looks like the factor."""
    times = [[_when(run.started) for run in runs] for _, runs in pair.sides]
    if any(time is None for side in times for time in side):
        return unknown("when the recordings were taken is not known")
    a, b = ([time for time in side if time is not None] for side in times)
    if max(a) < min(b) or max(b) < min(a):
        first = "A" if max(a) < min(b) else "B"
        text = f"all of {first} was measured before the other group: whatever drifted meanwhile (heat, load, updates) looks like the factor; interleave the runs"
        return Outcome(NOTE if len(a) == len(b) == 1 else WARNING, text, {"first": first})
    return passed("the runs of both groups are interleaved")


def _when(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


def ab_confound(pair: Pair) -> Outcome:
    """Conditions that differ beyond the factor."""
    rows = pair.result.conditions
    factor = ", ".join(pair.result.factor)
    confounds = [row for row in rows if row.kind == CONFOUND]
    varying = [row for row in rows if row.kind == VARIES and set(row.a) != set(row.b)]
    blind = conditions.core_unknown(rows)
    facts = {
        "factor": list(pair.result.factor),
        "differences": [_as_fact(row) for row in confounds],
        "varying": [_as_fact(row) for row in varying],
        "not_known": blind,
    }
    if confounds or varying:
        said = [difference_words(row) for row in (*confounds, *varying)]
        more = f" and {len(said) - SHOWN_DIFFERENCES} more" if len(said) > SHOWN_DIFFERENCES else ""
        beyond = f"beyond the factor ({factor})" if factor else "between the groups"
        text = f"{_plural(len(said), 'condition')} {'differs' if len(said) == 1 else 'differ'} {beyond}: {'; '.join(said[:SHOWN_DIFFERENCES])}{more}"
        return Outcome(WARNING, text, facts)
    if not any(row.kind == FACTOR for row in rows):
        text = "nothing that is known of the recordings tells the groups apart: label them (--label kernel=rt)"
        return Outcome("unknown", text + (f"; not known: {', '.join(blind)}" if blind else ""), facts)
    if blind:
        return unknown(
            f"nothing known differs beyond the factor ({factor}), but these are not known: {', '.join(blind)}", **facts
        )
    return passed(f"nothing known differs beyond the factor ({factor})", **facts)


def _as_fact(row: Difference) -> dict[str, Any]:
    return {"key": row.key, "name": row.name, "a": list(row.a), "b": list(row.b), "detail": row.detail}


def difference_words(row: Difference) -> str:
    """`frequency governor: performance / powersave`."""
    if row.detail and row.key == "cmdline":
        return f"{row.name} ({row.detail})"
    sides = [", ".join(_short(value) for value in side) for side in (row.a, row.b)]
    return f"{row.name}: {sides[0]} / {sides[1]}" + (f" ({row.detail})" if row.detail else "")


def _short(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:57]}..."


def temp_confound(pair: Pair) -> Outcome:
    """Different temperatures."""
    means = [[run.zones for run in runs] for _, runs in pair.sides]
    zones = set.intersection(*(set(zone) for side in means for zone in side)) if all(means) else set()
    if not zones:
        return unknown("the temperature of the boards was not recorded in all runs")
    by_zone = {zone: tuple(sum(run[zone] for run in side) / len(side) for side in means) for zone in sorted(zones)}
    zone, (a, b) = max(by_zone.items(), key=lambda item: abs(item[1][1] - item[1][0]))
    facts = {"zone": zone, "a_mean_c": round(a, 2), "b_mean_c": round(b, 2)}
    text = f"mean temperature of {zone}: A {a:.1f} degC, B {b:.1f} degC"
    return Outcome(WARNING if abs(b - a) > TEMPERATURE_C else PASS, text, facts)


def duplicate_result(pair: Pair) -> Outcome:
    """Two recordings that are the same to the last count."""
    every = [(name, run) for name, runs in pair.sides for run in runs]
    twins = [
        (one, other)
        for i, (side, one) in enumerate(every)
        for other_side, other in every[i + 1 :]
        if one.pooled.n and one.same_as(other)
    ]
    if not twins:
        return passed("no two recordings are the same")
    one, other = twins[0]
    more = f" (and {len(twins) - 1} more pairs)" if len(twins) > 1 else ""
    text = (
        f"{one.id} is in both groups{more}"
        if one.id == other.id
        else f"{one.id} and {other.id} are identical to the last count{more}: one is a copy of the other"
    )
    return Outcome(WARNING, text, {"pairs": [[x.id, y.id] for x, y in twins[:20]]})


def ratio_of_maxima(pair: Pair) -> Outcome:
    """What the maxima say, and what they would say of equally many samples."""
    a, b = pair.groups
    fair = pair.result.rarefied
    facts: dict[str, Any] = {"a_n": a.n, "b_n": b.n, "a_max_ns": a.max_ns, "b_max_ns": b.max_ns}
    if a.max_ns is None or b.max_ns is None:
        return unknown("a maximum is not known: samples lie beyond the last bin", **facts)
    unequal = abs(a.n - b.n) > UNEQUAL * max(a.n, b.n)
    text = f"maxima {format_time(a.max_ns)} (A, {a.n:,} samples) and {format_time(b.max_ns)} (B, {b.n:,}): "
    text += (
        "of unequal numbers of samples, so not comparable" if unequal else "two single samples, so without an error bar"
    )
    if fair is not None:
        facts["rarefied_n"] = fair.m
        sides = [
            _maximum_words(median, low, high)
            for median, low, high in (
                (fair.a_median_ns, fair.a_lo_ns, fair.a_hi_ns),
                (fair.b_median_ns, fair.b_lo_ns, fair.b_hi_ns),
            )
        ]
        text += f"; the maximum of {fair.m:,} samples is {sides[0]} for A and {sides[1]} for B (median, 95 %)"
    return Outcome(WARNING if unequal else NOTE, text, facts)


def _maximum_words(median: int | None, low: int | None, high: int | None) -> str:
    said = ["overflow" if value is None else format_time(value) for value in (median, low, high)]
    return f"{said[0]} [{said[1]}, {said[2]}]"


def mean_sd_misleads(pair: Pair) -> Outcome:
    """Mean or standard deviation rank the groups the other way than the tail."""
    a, b = pair.groups
    tail = _tail(pair.result.quantiles)
    if tail is None:
        return passed("no difference is shown in the tail")
    if a.mean_ns is None or b.mean_ns is None or a.sd_ns is None or b.sd_ns is None:
        return unknown("mean and standard deviation are not known: samples lie beyond the last bin")
    worse = "b" if tail.shown == A_BETTER else "a"
    facts = {
        "mean_ns": [a.mean_ns, b.mean_ns],
        "sd_ns": [a.sd_ns, b.sd_ns],
        "tail_q": tail.q,
        "worse_in_the_tail": worse,
    }
    wrong = [
        word
        for word, x, y in (("mean", a.mean_ns, b.mean_ns), ("standard deviation", a.sd_ns, b.sd_ns))
        if x != y and ("b" if y > x else "a") != worse
    ]
    numbers = f"mean {format_time(a.mean_ns)} and {format_time(b.mean_ns)}, sd {format_time(a.sd_ns)} and {format_time(b.sd_ns)}"
    if wrong:
        text = f"{' and '.join(wrong)} rank{'s' if len(wrong) == 1 else ''} {worse.upper()} better, at p{tail.q * 100:.7g} it is worse ({numbers})"
        return Outcome(NOTE, text, facts)
    return passed(f"mean and sd rank the groups as the tail does ({numbers})", **facts)


def _tail(ladder: tuple[QuantileRatio, ...]) -> QuantileRatio | None:
    """The highest step with a shown difference, from p99.9 on."""
    return next((step for step in reversed(ladder) if step.shown is not None and step.q >= 0.999), None)


def lanes_differ(pair: Pair) -> Outcome:
    """Other CPUs measured in one group than in the other: the pools then mix different things."""
    a, b = (set(group.lanes) for group in pair.groups)
    if a == b and len({run.lane_count for _, runs in pair.sides for run in runs}) == 1:
        return passed(f"the same {_plural(len(a), 'lane')} in every run")
    text = f"A has lanes {', '.join(sorted(a)) or 'none'}; B has {', '.join(sorted(b)) or 'none'}"
    if a == b:
        text = "the runs do not all have the same lanes"
    return Outcome(
        WARNING,
        f"{text}: pooled numbers weigh the CPUs differently",
        {"only_a": sorted(a - b), "only_b": sorted(b - a)},
    )


def missed(pair: Pair) -> Outcome:
    """Missed activations: the ladder is per wake-up."""
    counts = [[run.missed for run in runs] for _, runs in pair.sides]
    if any(count is None for side in counts for count in side):
        late = [name for name, runs in pair.sides if any(run.stalled for run in runs)]
        if late:
            return Outcome(
                WARNING,
                f"latencies of {' and '.join(late)} reach the interval, and the source does not count what it missed: its tail is understated",
                {"late": late},
            )
        return unknown("the source does not count missed activations; no latency is known to reach the interval")
    a, b = (sum(count or 0 for count in side) for side in counts)
    if a or b:
        text = f"missed activations: A {a:,}, B {b:,}; the ladder is per wake-up, and a wake-up that stands for many understates how often it was late"
        return Outcome(WARNING, text, {"a_missed": a, "b_missed": b})
    return passed("no activation was missed")


def weak_recordings(pair: Pair) -> Outcome:
    """Checks of the recordings themselves that did not pass, and not equally in both groups."""
    fired = [{check for run in runs for check in run.weak} for _, runs in pair.sides]
    only = [sorted(fired[0] - fired[1]), sorted(fired[1] - fired[0])]
    both = sorted(fired[0] & fired[1])
    facts = {"only_a": only[0], "only_b": only[1], "both": both}
    words = [f"only {name}: {', '.join(ids)}" for name, ids in zip("AB", only, strict=True) if ids]
    if both:
        words.append(f"both: {', '.join(both)}")
    if not words:
        return passed("no recording has a warning of its own")
    return Outcome(
        WARNING if only[0] or only[1] else NOTE, f"the recordings' own checks warn ({'; '.join(words)})", facts
    )


def emulated_boards(pair: Pair) -> Outcome:
    """Boards of the lab: emulated, so that their times compare emulations."""
    virtual = [name for name, runs in pair.sides if any(run.findings.virtual_board for run in runs)]
    if not virtual:
        return passed("no recording is of an emulated board")
    text = f"{VIRTUAL_BOARD}: {' and '.join(virtual)} ran on emulated CPUs, so a difference says nothing of hardware"
    return Outcome(WARNING, text, {"groups": virtual})


def not_supported(pair: Pair) -> Outcome:
    """Steps of the ladder that the number of samples does not reach."""
    weak = [step.q for step in pair.result.quantiles if step.bound != "exact"]
    if not pair.result.quantiles:
        return unknown("no step could be compared")
    if weak:
        return Outcome(
            NOTE,
            f"from p{min(weak) * 100:.7g} on, a run holds too few samples, or they lie in overflow: no ratio there",
            {"from_q": min(weak)},
        )
    within = all(step.method == WITHIN_RUN for step in pair.result.quantiles)
    return passed("every step of the ladder has a ratio" + (" (intervals from within the runs only)" if within else ""))


PAIR_CHECKS: Final[tuple[PairCheck, ...]] = (
    PairCheck(
        "INVALID-RECORDING", "a recording has an integrity check that is invalid", INTEGRITY, INVALID,
        "Numbers of which nobody knows what they measured are not compared.",
        "rtassay show the recording; mend what it names, or leave it out.", invalid_recording,
    ),
    PairCheck(
        "NOT-COMPARABLE", "bin widths or measures differ, or latencies reach the interval under different late policies", INTEGRITY, INVALID,
        "A histogram of whole microseconds rounds what one of nanoseconds tells, and a tool that skips late activations shows one sample where another shows hundreds.",
        "Measure both groups with the same tool, version and settings.", not_comparable,
    ),
    PairCheck("NO-SAMPLES", "a recording holds no sample", INTEGRITY, INVALID, "There is nothing to compare.", "Leave it out.", no_samples),
    PairCheck(
        "DUPLICATE-RESULT", "two recordings have the same counts in every bin", INTEGRITY, WARNING,
        "Real runs never repeat to the last count; published tables have held such copies.", "Find out which of the two was measured.", duplicate_result,
    ),
    PairCheck(
        "SINGLE-RUN",
        "a group has one run",
        INTEGRITY,
        WARNING,
        "The intervals then come from within the runs: they hold if nothing but chance differs between two runs of a kind, which is never so.",
        "Repeat both groups.",
        single_run, "recorded",
    ),
    PairCheck(
        "FEW-RUNS", f"a group has fewer than {FEW} runs", INTEGRITY, WARNING,
        "The run is the unit of replication: 1e8 samples of one boot are one observation of the kernel. Three runs a group can never reach p = 0.05.",
        "Repeat both groups, interleaved (rtassay experiment).", few_runs,
    ),
    PairCheck(
        "ONE-BOOT", "all runs of a group are of one boot", INTEGRITY, WARNING,
        "Maxima of the same test differ by a factor of two between boots.", "Reboot between runs.", one_boot,
    ),
    PairCheck(
        "BOOT-LOTTERY", f"boots hold more than {variance.LOTTERY:.0%} of the variance of a group's runs at its highest supported quantile (a note while 0 % is not excluded)",
        INTEGRITY, WARNING,
        "Addresses, page colours and the order of drivers are drawn anew at each boot. Runs of one boot are then near copies of each other: "
        "intervals that count runs are too narrow.", "More boots, not longer runs nor more runs a boot.", boot_lottery,
    ),
    PairCheck(
        "ORDER-CONFOUND", "all runs of one group were measured before all of the other", INTEGRITY, WARNING,
        "Whatever drifted meanwhile looks like the factor.", "Measure A B B A.", order_confound,
    ),
    PairCheck(
        "AB-CONFOUND", "a condition beyond the factor differs between the groups", INTEGRITY, WARNING,
        "A difference belongs to everything that differs, not to the one thing that was meant.", "Change one thing at a time; name it with --factor.", ab_confound,
    ),
    PairCheck(
        "TEMP-CONFOUND", f"mean temperatures of the groups differ by more than {TEMPERATURE_C:g} degC", INTEGRITY, WARNING,
        "Heat changes frequencies and latencies.", "Interleave the runs; wait for the same temperature.", temp_confound,
    ),
    PairCheck(
        "LANES-DIFFER", "the groups have other or other numbers of lanes", INTEGRITY, WARNING,
        "Pooled numbers then weigh the CPUs differently.", "Read the table per CPU; measure the same CPUs.", lanes_differ,
    ),
    PairCheck(
        "CO-MISSED", "activations were missed in a group", INTEGRITY, WARNING,
        "One sample per wake-up understates how often the work was late.", "Compare quantiles_due of the recordings; use an interval above the longest stall.", missed,
    ),
    PairCheck(
        "RECORDING-CHECKS", "checks of the recordings warn", INTEGRITY, WARNING,
        "A weakness that only one group has can be the whole difference.", "rtassay show the recordings.", weak_recordings,
    ),
    PairCheck(
        "VIRTUAL-BOARD", "a recording is of an emulated board", INTEGRITY, WARNING,
        "An emulator translates every instruction and runs CPUs as threads of the host: which kernel is later there depends on the emulator.",
        "Measure on the hardware that is meant.", emulated_boards,
    ),
    PairCheck(
        "PERCENTILE-UNSUPPORTED", "a step of the ladder is beyond what a run's samples reach", INTEGRITY, NOTE,
        "n(1 - q) < 1: the quantile is not in the data.", "Longer runs.", not_supported,
    ),
    PairCheck(
        "RATIO-OF-MAXIMA", "always, as a note; warning where the numbers of samples differ by more than 1 %", INTEGRITY, NOTE,
        "A maximum grows with the number of samples and has no error bar.", "Quote quantiles, or the maximum at equal n.", ratio_of_maxima, "recorded",
    ),
    PairCheck(
        "MEAN-SD-MISLEADS", "mean or standard deviation rank the groups the other way than the tail", INTEGRITY, NOTE,
        "Real-time work is about the tail; a kernel with the smaller mean can have the longer one.", "Quote the ladder and the crossover.", mean_sd_misleads, "recorded",
    ),
)  # fmt: skip


def run_all(pair: Pair) -> tuple[CheckResult, ...]:
    """All checks in the order of the table; each has a result."""
    return tuple(check.run(pair) for check in PAIR_CHECKS)


def reference_markdown() -> str:
    """docs/reference/comparison-checks.md."""
    parts = [
        "# Checks of a comparison\n\n"
        "<!-- Generated from the table in src/rtassay/analysis/many/compare/checks.py. -->\n\n"
        "They run on every `rtassay compare`, beside the [checks of each recording](checks.md), with the same severities. The first "
        "three refuse: nothing is concluded from groups that have no common meaning.\n",
        "\n".join(
            [
                "| check | severity | fires when |",
                "| --- | --- | --- |",
                *(f"| [{c.id}](#{c.id.lower()}) | {c.severity} | {c.condition} |" for c in PAIR_CHECKS),
            ]
        )
        + "\n",
    ]
    parts += [
        f"## {c.id}\n\n{c.explanation}\n\nFires when {c.condition}.\n\nWhat to do: {c.remedy}\n" for c in PAIR_CHECKS
    ]
    return "\n".join(parts)

"""Do the figures carry what one would read from them?"""

from __future__ import annotations

from typing import Any

from rtassay.analysis.checks.base import INTEGRITY, NOTE, RECORDED, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.many.compare.checks.pair import Pair
from rtassay.model.comparison import A_BETTER, WITHIN_RUN, QuantileRatio
from rtassay.model.units import format_time

UNEQUAL = 0.01
SAME = 0.01
TOOLS_APART = 2.0


@check(
    id="CO-MISSED",
    condition="activations were missed in a group",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="One sample per wake-up understates how often the work was late.",
    remedy="Compare quantiles_due of the recordings; use an interval above the longest stall.",
    proof=SYNTHETIC,
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


@check(
    id="PERCENTILE-UNSUPPORTED",
    condition="a step of the ladder is beyond what a run's samples reach",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="n(1 - q) < 1: the quantile is not in the data.",
    remedy="Longer runs.",
    proof=SYNTHETIC,
)
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


@check(
    id="CROSS-TOOL",
    condition="different tools measured the groups, and a step of the ladder up to the primary one differs by more than a factor of two",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Tools differ in what they sleep on, where they read the clock and what they skip; such a difference looks like the factor.",
    remedy="Measure both groups with one tool; or measure one board, kernel and load with both tools, to know how far these differ.",
    proof=SYNTHETIC,
)
def cross_tool(pair: Pair) -> Outcome:
    """The groups have no tool in common, and their ladders lie far apart."""
    a, b = ({run.tool for run in runs} for _, runs in pair.sides)
    facts: dict[str, Any] = {"a": sorted(a), "b": sorted(b)}
    if a & b:
        return passed(
            "the same tool measured both groups" if a == b else "a tool measured runs of both groups", **facts
        )
    result = pair.result
    steps = [step for step in result.quantiles if step.ratio and step.q <= result.primary_q]
    names = f"{' and '.join(sorted(a))} (A) and {' and '.join(sorted(b))} (B)"
    if not steps:
        return unknown(
            f"{names} measured the groups, and no step up to p{result.primary_q * 100:.7g} has a ratio", **facts
        )
    apart, step = max(((_apart(step, result.bin_width_ns), step) for step in steps), key=lambda pair: pair[0])
    facts |= {"q": step.q, "factor": apart, "a_ns": step.a_ns, "b_ns": step.b_ns}
    if apart <= TOOLS_APART:
        return passed(f"{names} differ by no more than a factor of two up to p{result.primary_q * 100:.7g}", **facts)
    values = f"{format_time(step.a_ns or 0)} and {format_time(step.b_ns or 0)}"
    text = f"{names} differ by a factor of {apart:.1f} at p{step.q * 100:.7g} ({values}): part of it, or all, may be the tools"
    return Outcome(WARNING, text, facts)


def _apart(step: QuantileRatio, width_ns: int) -> float:
    """The factor between the groups, at least 1; 1 where it is no more than two bins."""
    ratio = step.ratio or 1.0
    return 1.0 if abs((step.a_ns or 0) - (step.b_ns or 0)) <= 2 * width_ns else max(ratio, 1 / ratio)


@check(
    id="RATIO-OF-MAXIMA",
    condition="always, as a note; warning where the numbers of samples differ by more than 1 %",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="A maximum grows with the number of samples and has no error bar.",
    remedy="Quote quantiles, or the maximum at equal n.",
    proof=RECORDED,
)
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


@check(
    id="MEAN-SD-MISLEADS",
    condition="mean or standard deviation, different by more than 1 %, rank the groups the other way than the tail",
    kind=INTEGRITY,
    severity=NOTE,
    explanation="Real-time work is about the tail; a kernel with the smaller mean can have the longer one.",
    remedy="Quote the ladder and the crossover.",
    proof=RECORDED,
)
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
        if abs(x - y) > SAME * max(x, y) and ("b" if y > x else "a") != worse
    ]
    numbers = f"mean {format_time(a.mean_ns)} and {format_time(b.mean_ns)}, sd {format_time(a.sd_ns)} and {format_time(b.sd_ns)}"
    if wrong:
        text = f"{' and '.join(wrong)} rank{'s' if len(wrong) == 1 else ''} {worse.upper()} better, at p{tail.q * 100:.7g} it is worse ({numbers})"
        return Outcome(NOTE, text, facts)
    return passed(f"mean and sd rank the groups as the tail does ({numbers})", **facts)


def _tail(ladder: tuple[QuantileRatio, ...]) -> QuantileRatio | None:
    """The highest step with a shown difference, from p99.9 on."""
    return next((step for step in reversed(ladder) if step.shown is not None and step.q >= 0.999), None)

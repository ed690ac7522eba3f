"""Text and tables that all reports of a comparison share. Standard library only, so that the terminal report starts fast."""

from __future__ import annotations

import math
import re

from rtassay.model.comparison import (
    A_BETTER,
    B_BETTER,
    CROSSES,
    NO_DIFFERENCE,
    REFUSED,
    RUNS_BOOTSTRAP,
    RUNS_EXCHANGE,
    RUNS_T,
    WITHIN_RUN,
    Comparison,
    Difference,
    Group,
    LaneRatios,
    QuantileRatio,
    RunRow,
)
from rtassay.model.findings import Quantile
from rtassay.model.foreign import one_line
from rtassay.model.units import NS_PER_US, format_factor, format_time
from rtassay.reports import severities, wording

TONES = {A_BETTER: "none", B_BETTER: "none", CROSSES: "open", NO_DIFFERENCE: "none", REFUSED: "void"}
METHODS = {
    RUNS_T: "scatter of runs, Student's t on logarithms (the wider of Welch's and the pooled one)",
    RUNS_BOOTSTRAP: "scatter of runs, studentised bootstrap of boots and runs on logarithms",
    RUNS_EXCHANGE: "exchange of whole runs, exact for runs of any distribution",
    WITHIN_RUN: "order statistics within the runs; the scatter between runs is not in it",
}
_HASH = re.compile(r"[0-9a-f]{40,}")
RUN_STEPS = (0.5, 0.99, 0.999, 0.9999, 0.99999, 0.999999)


def called(group: Group) -> str:
    """`stock (A)`, or `A` if the group has no name."""
    title = one_line(group.title, 40)
    return group.name if title == group.name else f"{title} ({group.name})"


def title(comparison: Comparison) -> str:
    """`stock (A) against rt (B)`."""
    return f"{called(comparison.a)} against {called(comparison.b)}"


def run_called(group: Group, run: RunRow) -> str:
    """`A before-isolation 20261122T195912-0a1b2c`: the group, what the run is called, its id."""
    return " ".join(part for part in (group.name, one_line(run.name or "", 60), one_line(run.id, 60)) if part)


def headline(comparison: Comparison) -> str:
    """The conclusion in a few capitals."""
    a, b = called(comparison.a), called(comparison.b)
    at = wording.quantile_name(comparison.primary_q)
    return {
        A_BETTER: f"{a} HAS THE LOWER LATENCY AT {at}",
        B_BETTER: f"{b} HAS THE LOWER LATENCY AT {at}",
        CROSSES: "THE ORDER CHANGES ALONG THE TAIL",
        NO_DIFFERENCE: f"NO DIFFERENCE SHOWN AT {at}",
        REFUSED: "NOT COMPARED",
    }[comparison.conclusion]


def digits(comparison: Comparison) -> int:
    """Decimals of microseconds worth showing, as for one recording."""
    if comparison.bin_width_ns >= NS_PER_US:
        return 0
    medians = [row.a_ns for row in comparison.quantiles if row.q == 0.5 and row.a_ns is not None]
    return 2 if medians and medians[0] < 10 * NS_PER_US else 1


def interval(row: QuantileRatio) -> str:
    """`[1.27, 1.43]`; open where a limit is not known."""
    if row.lo is None and row.hi is None:
        return ""
    low = "[0" if row.lo is None else f"[{wording.ratio(row.lo)}"
    return f"{low}, ∞)" if row.hi is None else f"{low}, {wording.ratio(row.hi)}]"


def value(ns: int | None, row: QuantileRatio, places: int) -> str:
    """A quantile in us, `≥` where it is only a lower bound."""
    if ns is None:
        return "-"
    return ("" if row.bound == "exact" else "≥ ") + wording.us(ns, places)


def better(row: QuantileRatio) -> str:
    """The group that is shown to be better, in a word."""
    return {A_BETTER: "A better", B_BETTER: "B better"}.get(row.shown or "", "not shown" if row.method else "-")


VISIBLE = "Visible above"
LADDER_COLUMNS = (
    "Quantile",
    "A (us)",
    "B (us)",
    "B / A",
    "95 % interval",
    "Shown",
    "p",
    "p (Holm)",
    "A12",
    VISIBLE,
)


def ladder_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """One row a step; p, effect size and resolution only mean something with several runs, and are `-` else."""
    places = digits(comparison)
    return [
        (
            wording.quantile_name(row.q) + (" *" if row.q == comparison.primary_q else ""),
            value(row.a_ns, row, places),
            value(row.b_ns, row, places),
            wording.ratio(row.ratio),
            interval(row) or "-",
            better(row),
            wording.probability(row.p_value),
            wording.probability(row.p_holm),
            "-" if row.a12 is None else f"{row.a12:.2f}",
            "-" if row.detectable is None else change(row.detectable),
        )
        for row in comparison.quantiles
    ]


def ladder_columns(comparison: Comparison) -> list[int]:
    """Indices of LADDER_COLUMNS worth showing: columns that are all `-` are not."""
    rows = ladder_rows(comparison)
    return [i for i in range(len(LADDER_COLUMNS)) if i < 6 or any(row[i] != "-" for row in rows)]


def change(factor: float) -> str:
    """A factor above 1 as `3.2 %` or `factor 120`."""
    return f"{(factor - 1) * 100:.2g} %" if factor < 1.995 else f"factor {format_factor(factor)}"


def run_columns() -> tuple[str, ...]:
    return (
        "Run",
        "n",
        "Missed",
        "Mean",
        "SD",
        *(wording.quantile_name(q) for q in RUN_STEPS),
        "Max",
        "degC",
        "Started",
    )


def run_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """Every run of both groups, its lanes pooled, in us."""
    places = digits(comparison)
    fine = max(places, 1)
    rows = []
    for group in (comparison.a, comparison.b):
        for run in group.runs:
            ladder = {quantile.q: quantile for quantile in run.quantiles}
            rows.append(
                (
                    run_called(group, run),
                    wording.count(run.n),
                    wording.count(run.missed),
                    wording.us(run.mean_ns, fine),
                    wording.us(run.sd_ns, fine),
                    *(_quantile(ladder.get(q), places) for q in RUN_STEPS),
                    wording.us(run.max_ns, places),
                    "-" if run.temperature_c is None else f"{run.temperature_c:.1f}",
                    one_line(run.started or "-", 40),
                )
            )
    return rows


def _quantile(quantile: Quantile | None, places: int) -> str:
    return wording.quantile_cell(quantile, places).text


BOOT_COLUMNS = ("Group", "Quantile", "Boots", "Runs", "SD of boots", "SD within", "Share of boots", "95 % interval")


def boot_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The share of the boots in the scatter of ln x_q, in per cent; empty if boots and runs cannot be separated."""
    return [
        (
            group.name,
            wording.quantile_name(row.q),
            str(row.boots),
            str(row.runs),
            wording.hundredths(row.between_sd),
            wording.hundredths(row.within_sd),
            f"{row.icc:.0%}",
            f"[{row.lo:.0%}, {row.hi:.0%}]",
        )
        for group in (comparison.a, comparison.b)
        for row in group.boot_variance
    ]


def lane_columns(comparison: Comparison) -> tuple[str, ...]:
    return (
        ("Lane", *(wording.quantile_name(row.q) for row in comparison.lanes[0].quantiles)) if comparison.lanes else ()
    )


def lane_cells(lane: LaneRatios) -> list[tuple[str, str, str]]:
    """(ratio, interval, a_better | b_better | '') of every step of a lane."""
    return [(wording.ratio(row.ratio), interval(row), row.shown or "") for row in lane.quantiles]


def maxima_rows(comparison: Comparison) -> list[tuple[str, str, str]]:
    """(name, A, B): observed maxima with their n, and the maxima at equal n."""
    a, b = comparison.a, comparison.b
    places = digits(comparison)
    rows = [
        ("Samples", wording.count(a.n), wording.count(b.n)),
        ("Mean (us)", wording.us(a.mean_ns, max(places, 1)), wording.us(b.mean_ns, max(places, 1))),
        ("SD (us)", wording.us(a.sd_ns, max(places, 1)), wording.us(b.sd_ns, max(places, 1))),
        ("Maximum (us)", wording.us(a.max_ns, places), wording.us(b.max_ns, places)),
    ]
    fair = comparison.rarefied
    if fair is not None:
        sides = [
            _drawn(median, low, high, places)
            for median, low, high in (
                (fair.a_median_ns, fair.a_lo_ns, fair.a_hi_ns),
                (fair.b_median_ns, fair.b_lo_ns, fair.b_hi_ns),
            )
        ]
        rows.append((f"Maximum of {fair.m:,} (us)", sides[0], sides[1]))
    return rows


def _drawn(median: int | None, low: int | None, high: int | None, places: int) -> str:
    texts = ["overflow" if ns is None else wording.us(ns, places) for ns in (median, low, high)]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def condition_rows(comparison: Comparison) -> list[tuple[str, str, str, str]]:
    """(condition, A, B, remark) of `known_conditions`."""
    return [(one_line(row.name, 80), _side(row.a), _side(row.b), _remark(row)) for row in known_conditions(comparison)]


def known_conditions(comparison: Comparison) -> list[Difference]:
    """Conditions known of at least one group: the factor first, then the different ones, then the equal ones."""
    order = {"factor": 0, "confound": 1, "varies": 2, "unknown": 3, "same": 4}
    return sorted((row for row in comparison.conditions if row.a or row.b), key=lambda row: order[row.kind])


def _side(values: tuple[str, ...]) -> str:
    short = [f"{value[:12]}…" if _HASH.fullmatch(value) else value for value in values]
    return one_line(" | ".join(short), 300) if values else "not known"


def _remark(row: Difference) -> str:
    words = {
        "factor": "the factor",
        "confound": "differs",
        "varies": "varies",
        "same": "same",
        "unknown": "not known of both",
    }
    return words[row.kind] + (f": {one_line(row.detail, 300)}" if row.detail else "")


def unknown_conditions(comparison: Comparison) -> str:
    """Names of conditions known of neither group."""
    return ", ".join(row.name for row in comparison.conditions if not row.a and not row.b)


def check_summary(comparison: Comparison) -> str:
    """`2 warnings, 3 notes, 8 pass`."""
    return severities.counts(comparison.checks)


def crossover(comparison: Comparison) -> str:
    """A sentence about the quantile where the order changes; empty if it does not change."""
    turn = comparison.crossover
    if turn is None:
        return ""
    names = {"a": called(comparison.a), "b": called(comparison.b)}
    where = f"{format_time(turn.value_ns)} (exceeded with {wording.probability(1 - turn.q)})"
    if not turn.shown:
        return f"The pooled curves also cross at {where}, but no difference is shown on both sides of it."
    return f"Crossover at {where}: {names[turn.worse_below]} is later below it, {names[turn.worse_above]} beyond."


def tests(comparison: Comparison) -> str:
    """The methods behind `shown` and p, in a sentence or two."""
    methods = list(dict.fromkeys(row.method for row in comparison.quantiles if row.method is not None))
    parts = []
    if methods:
        parts.append(
            "* The primary step, named beforehand and tested alone; the others are corrected for being many (Holm)."
        )
        parts.append(f"Intervals: {'; '.join(METHODS[method] for method in methods)}.")
    many = comparison.replication
    if many is None:
        return " ".join(parts)
    if many.exact is None:
        parts.append(
            f"No permutation test: with {many.a_runs} and {many.b_runs} runs the smallest p is {many.smallest_p:.2g}; "
            f"{many.needed_per_group} runs of each can reach 0.05 at the primary step, {many.needed_with_holm} with Holm's correction at the others."
        )
    else:
        how = "exact" if many.exact else "20,000 random exchanges"
        parts.append(f"p: permutation of whole runs ({how}; the smallest possible is {many.smallest_p:.2g}).")
    return " ".join(parts)


def explained(comparison: Comparison) -> str:
    """What the words of the ladder mean, as far as its columns use them; empty where nothing was compared."""
    if not comparison.quantiles or comparison.conclusion == REFUSED:
        return ""
    shown = {LADDER_COLUMNS[i] for i in ladder_columns(comparison)}
    parts = [
        "The ladder compares both groups step by step, from the median (p50) into the tail: p99.9 is the latency that one wake-up in 1,000 "
        "reaches or exceeds. An activation is one due wake-up, a lane one measuring thread on one CPU."
    ]
    if "p" in shown:
        parts.append(
            "p: how often an exchange of whole runs, which is chance alone, gives a difference at least as large."
        )
    if "p (Holm)" in shown:
        parts.append(
            "Holm: several steps are tested, and each test can err; Holm's correction raises each p so far that all of them together "
            "err no more often than one."
        )
    if "A12" in shown:
        parts.append("A12: the chance that a run of B has the larger value than a run of A; 0.50 is no difference.")
    if VISIBLE in shown:
        parts.append(f"{VISIBLE}: only a difference larger than this would have shown.")
    return " ".join(parts)


def next_step(comparison: Comparison) -> str:
    """The next step, in one line."""
    by_id = {check.id: check.severity for check in comparison.checks}
    if comparison.conclusion == REFUSED:
        return "mend or leave out what the reasons name"
    if by_id.get("DUPLICATE-RESULT") == "warning":
        return "find out which of the identical recordings was measured, and leave the other out"
    if by_id.get("FEW-RUNS") == "warning":
        return "repeat both groups, interleaved A B B A over several boots, until there are 5 runs or more of each"
    if by_id.get("BOOT-LOTTERY") == "warning":
        return "repeat over more boots, one or two runs each: longer runs will not help"
    if by_id.get("AB-CONFOUND") == "warning":
        return "make equal what AB-CONFOUND names, or name the factor with --factor"
    if by_id.get("ORDER-CONFOUND") == "warning":
        return "repeat with the runs of both groups interleaved"
    return "check that the conditions are those of the deployment"


def log_range(comparison: Comparison) -> tuple[float, float]:
    """The range of ratios in the ladder's drawing, at least 0.8 to 1.25."""
    known = [v for row in comparison.quantiles for v in (row.lo, row.ratio, row.hi) if v is not None and v > 0]
    low, high = min([0.8, *known]), max([1.25, *known])
    return max(low, 1e-4) / 1.06, min(high, 1e4) * 1.06 if math.isfinite(high) else 1e4

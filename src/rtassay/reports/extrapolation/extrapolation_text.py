"""What the reports of an extrapolation say, made once so that formats cannot disagree."""

from __future__ import annotations

from rtassay.model.extrapolation import Extrapolation, LaneExtrapolation, Level, ThresholdRow
from rtassay.model.foreign import one_line
from rtassay.model.units import NS_PER_US, format_time
from rtassay.reports import wording

LEVEL_COLUMNS = (
    "Exceeded by",
    "Level (us)",
    "Interval (us)",
    "Times the data",
    "Bursts above per h",
    "By block maxima (us)",
)
THRESHOLD_COLUMNS = (
    "Above (us)",
    "Samples",
    "Bursts",
    "theta",
    "theta, K-gaps",
    "theta, minutes",
    "Shape xi",
    "Scale (us)",
    "p of the fit",
)

ASSUMES = {
    "ORDER-UNKNOWN": "late ones come singly and evenly over the run: their order is not known",
    "OVERFLOW-UNKNOWN": "no sample lies above the histogram: the source lost the lines that would tell",
    "FEW-RUNS": "other runs and boots are like these: fewer than three were given",
    "HALVES-DISAGREE-UNTESTED": "the second half is like the first: too few bursts, or no order, to tell",
}
NOTES = {
    "THRESHOLDS-SPREAD": "the answer depends on the threshold: over those that fit the shape goes from {xi_low:.2f} to {xi_high:.2f} and the farthest level from {low} to {high}, though not beyond chance"
}


def headline(subject: Extrapolation) -> str:
    """How many lanes have an answer, and whether one of them hangs on the threshold."""
    answered = sum(lane.answered for lane in subject.lanes)
    if not answered:
        return "REFUSED: no level beyond the data"
    spread = any("THRESHOLDS-SPREAD" in lane.notes for lane in subject.lanes)
    said = "Levels beyond the data" + (", which depend on the threshold" if spread else "")
    if answered == len(subject.lanes):
        return said
    return f"{said}, of {answered} of {len(subject.lanes)} lanes; the others are REFUSED"


def about(subject: Extrapolation) -> str:
    """Board, kernel and runs in a line."""
    runs = f"{len(subject.ids)} {'run' if len(subject.ids) == 1 else 'runs'}"
    kernel = f", kernel {subject.kernel}" if subject.kernel else ""
    return one_line(f"{subject.board}{kernel}, {runs}: {', '.join(subject.ids)}", 400)


def digits(lane: LaneExtrapolation) -> int:
    """Decimals of a latency in us."""
    return 1 if lane.tick_ns < NS_PER_US else 0


def once_in(p: float) -> str:
    """`1 in 100,000,000`."""
    return f"1 in {round(1 / p):,}"


def level_cells(level: Level, places: int) -> tuple[str, ...]:
    """A row of LEVEL_COLUMNS."""
    if level.level_ns is None:
        return (once_in(level.p), "refused", "-", wording.ratio(level.beyond), "-", "-")
    interval = f"[{wording.us(level.lo_ns, places)}, {wording.us(level.hi_ns, places)}]"
    return (
        once_in(level.p),
        wording.us(level.level_ns, places),
        interval,
        wording.ratio(level.beyond),
        wording.rate(level.events_per_h),
        wording.us(level.second_ns, places),
    )


def threshold_cells(row: ThresholdRow, places: int) -> tuple[str, ...]:
    """A row of THRESHOLD_COLUMNS; the chosen one is marked."""
    return (
        wording.us(row.threshold_ns, places) + (" *" if row.chosen else ""),
        wording.count(row.exceedances),
        wording.count(row.clusters),
        *("-" if theta is None else f"{theta:.2f}" for theta in (row.theta, row.theta_k, row.theta_minutes)),
        f"{row.xi:.3f}",
        wording.us(row.sigma_ns, places + 1),
        f"{row.p_shape:.2g}",
    )


def sentences(lane: LaneExtrapolation) -> list[str]:
    """What qualifies the answer of a lane, one sentence each: first that it hangs on the threshold."""
    found = [f"Note: {NOTES[code].format(**_spread(lane))}." for code in lane.notes]
    if lane.p_mode is not None:
        found.append(
            f"A cause of latency that is rarer than {wording.probability(lane.p_mode)} (3/n) may exist: these data would not show it."
        )
    chosen = next((row for row in lane.thresholds if row.chosen), None)
    if chosen is not None and lane.answered:
        shape = f"{chosen.xi:z.2f}" + ("" if lane.xi_lo is None else f" [{lane.xi_lo:z.2f}, {lane.xi_hi:z.2f}]")
        found.append(
            f"Shape of the tail (0: exponential, above 0: heavier, below 0: it ends) {shape}, from {chosen.clusters:,} bursts above {format_time(chosen.threshold_ns)}."
        )
    if lane.answered and lane.assumes:
        found.append(f"Assumes: {'; '.join(ASSUMES[code] for code in lane.assumes)}.")
    return found


def _spread(lane: LaneExtrapolation) -> dict[str, float | str]:
    at = max((i for i, level in enumerate(lane.levels) if level.level_ns is not None), default=0)
    last = [row.levels_ns[at] for row in lane.thresholds if row.levels_ns]
    shapes = [row.xi for row in lane.thresholds]
    ends = {"low": format_time(min(last, default=0)), "high": format_time(max(last, default=0))}
    return {"xi_low": min(shapes), "xi_high": max(shapes), **ends}


def lane_name(lane: LaneExtrapolation) -> str:
    """Its name, filtered."""
    return one_line(lane.name, 60)


def measured(lane: LaneExtrapolation) -> str:
    """`3,000,000 wake-ups in 3 runs, maximum 31.2us`."""
    top = "" if lane.max_ns is None else f", largest kept {format_time(lane.max_ns)}"
    return f"{lane.n:,} wake-ups in {len(lane.runs)} {'run' if len(lane.runs) == 1 else 'runs'}{top}"

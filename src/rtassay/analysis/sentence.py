"""The verdict as one paragraph of plain English (METHOD.md 4)."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.model.findings import CheckResult, Verdict
from rtassay.model.units import NS_PER_S, format_time

_NOT_COVERED = {
    "SINGLE-RUN": "other boots of this board",
    "NO-LOAD": "a loaded board",
    "VM-STEAL": "hardware without this hypervisor",
    "GOVERNOR": "other CPU frequencies",
}


def sentence(
    verdict: Verdict,
    *,
    fingerprint: str,
    load: str,
    duration_s: float | None,
    missed: int | None,
    new_record: Sequence[dict[str, float]],
    checks: Sequence[CheckResult],
    lanes: int,
) -> str:
    """What was measured, what it bounds, the state, and what it does not cover. `lanes`: how many were judged."""
    limit = format_time(verdict.deadline_ns)
    under = (
        "without a load" if load in ("none", "") else "under an unknown load" if load == "unknown" else f"under {load}"
    )
    time = f" for {format_time(duration_s * NS_PER_S)}" if duration_s else ""
    where = f" Worst of {lanes} lanes: {verdict.lane}." if lanes > 1 else ""
    unknown = "" if missed is not None else "; missed ones not counted by the source"
    count = (
        f" ({verdict.due} activations{f', {missed} missed' if missed is not None else unknown})"
        if verdict.due is not None
        else ""
    )
    parts = [
        f"On {fingerprint}, {under}{time} in one run{count}, {_seen(verdict)} not done before {limit}{_events(verdict)}.{where}"
    ]
    if verdict.p_upper is not None:
        rate = (
            f" (at most {verdict.rate_upper_per_h:.3g} events per hour)" if verdict.rate_upper_per_h is not None else ""
        )
        parts.append(
            f"With {verdict.confidence * 100:g} % confidence the probability of that, under these conditions, is at most "
            f"{verdict.p_upper:.3g} per activation{rate}; required: {verdict.p_target:g}."
        )
    parts.append(f"{verdict.state}{_missing(verdict)}.")
    if new_record:
        row = new_record[0]
        parts.append(
            f"A further {format_time(row['mission_s'] * NS_PER_S)} has a {_chance(row['probability'])} chance of a new worst case."
        )
    parts.append(f"Not covered: {'; '.join(_not_covered(checks, load))}.")
    return " ".join(parts)


def _chance(p: float) -> str:
    return "more than 99 %" if p > 0.99 else f"{100 * p:.2g} %"


def _seen(verdict: Verdict) -> str:
    k = verdict.exceedances
    if k is None:
        return "an unknown number were"
    return "none was" if k == 0 else f"{k} {'was' if k == 1 else 'were'}"


def _events(verdict: Verdict) -> str:
    if not verdict.exceedances:
        return ""
    if verdict.events is None:
        return " (their order is not known)"
    return f" in {verdict.events} independent event{'s' if verdict.events != 1 else ''}"


def _missing(verdict: Verdict) -> str:
    needed = verdict.needed
    due = verdict.due or 0
    if verdict.state != "NOT DEMONSTRATED" or needed is None or needed.n <= due:
        return ""
    time = f" ({needed.duration_s / 3600:.3g} h)" if needed.duration_s is not None else ""
    return f": it takes {needed.n} activations per lane{time} without a further exceedance"


def _not_covered(checks: Sequence[CheckResult], load: str) -> list[str]:
    fired = {check.id for check in checks if check.severity in ("note", "warning", "invalid")}
    blind = [check.id for check in checks if check.severity == "unknown"]
    rows = ["other kernels and configurations"]
    rows.append("any load" if load in ("none", "", "unknown") else "other loads")
    rows.append("other temperatures")
    rows += [text for name, text in _NOT_COVERED.items() if name in fired and text not in rows]
    if blind:
        more = f" and {len(blind) - 3} more" if len(blind) > 3 else ""
        rows.append(f"what could not be checked ({', '.join(blind[:3])}{more})")
    return rows

"""The verdict as one paragraph of plain English (docs/method/verdict.md)."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.model.findings import CheckResult, Verdict, assumption_words
from rtassay.model.measures import WAKE_UP, measure_words
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
    worst: str,
    measure: str,
) -> str:
    """The measurement, its bound, the state, and what it does not cover. `worst`: the judged lane among `lanes` lanes; `measure`: the
    quantity of its numbers (model/measures.py), named unless it is wake-up latency."""
    under = (
        "without a load" if load in ("none", "") else "under an unknown load" if load == "unknown" else f"under {load}"
    )
    time = f" for {format_time(duration_s * NS_PER_S)}" if duration_s else ""
    limit = format_time(verdict.deadline_ns)
    what = "" if measure == WAKE_UP else f" of {measure_words(measure)}"
    parts = [
        f"On {fingerprint}, {under}{time} in 1 run{what}{_account(verdict, worst, missed, lanes)}, {_seen(verdict)} D = {limit}"
    ]
    if verdict.p_upper is not None:
        rate = f" (<= {verdict.rate_upper_per_h:.3g} events/h)" if verdict.rate_upper_per_h is not None else ""
        parts[0] += (
            f"; with {verdict.confidence * 100:g} % confidence the miss probability under these conditions is "
            f"<= {verdict.p_upper:.3g} per activation{_assuming(verdict)}{rate}"
        )
    parts[0] += "."
    required = f"{verdict.p_target:g}" if verdict.per_hour is None else f"{verdict.per_hour:g} events/h"
    if verdict.look is not None:
        parts.append(f"Look {verdict.look} of {verdict.looks} that were planned.")
    parts.append(f"Required: {required} -> {verdict.state}{_capped(verdict)}{_missing(verdict)}.")
    if waived := [
        f"{c.id} ({c.waived})" for c in checks if c.waived is not None and c.severity not in ("pass", "note")
    ]:
        parts.append(f"Waived: {'; '.join(waived)}.")
    if new_record:
        row = new_record[0]
        chance = _percent(row["probability"])
        parts.append(f"A further {format_time(row['mission_s'] * NS_PER_S)} has a {chance} chance of a new worst case.")
    parts.append(f"Not covered: {'; '.join(_not_covered(checks, load))}.")
    return " ".join(parts)


def _account(verdict: Verdict, worst: str, missed: int | None, lanes: int) -> str:
    if verdict.due is None:
        return ""
    who = f"{worst}, the worst of {lanes} lanes: " if lanes > 1 else ""
    lost = "missed ones not counted by the source" if missed is None else f"{missed} missed"
    return f" ({who}{verdict.due} activations, {lost})"


def _seen(verdict: Verdict) -> str:
    k = verdict.exceedances
    if k is None:
        return "an unknown number exceeded"
    if k == 0:
        return "none exceeded"
    if verdict.events is None:
        return f"{k} (in unknown order) exceeded"
    return f"{k} in {verdict.events} independent event{'s' if verdict.events != 1 else ''} exceeded"


def _assuming(verdict: Verdict) -> str:
    return "".join(f" if {assumption_words(one)}" for one in verdict.assumes)


def _percent(probability: float) -> str:
    """Never rounded up to 100 %: that would be a certainty."""
    return "> 99.9 %" if probability > 0.999 else f"{probability * 100:.3g} %"


def _capped(verdict: Verdict) -> str:
    return f" because of {', '.join(verdict.capped_by)}" if verdict.capped_by and verdict.lacks is None else ""


def _missing(verdict: Verdict) -> str:
    needed = verdict.needed
    due = verdict.due or 0
    if verdict.state != "NOT DEMONSTRATED" or needed is None or needed.n <= due:
        return ""
    time = f" ({needed.duration_s / 3600:.3g} h)" if needed.duration_s is not None else ""
    return f": it takes {needed.n} activations per lane{time} without a further exceedance"


def _not_covered(checks: Sequence[CheckResult], load: str) -> list[str]:
    fired = {check.id for check in checks if check.severity in ("note", "warning", "invalid")}
    blind = [check.id for check in checks if check.severity == "unknown" and check.waived is None]
    rows = ["other kernels and configurations"]
    rows.append("any load" if load in ("none", "", "unknown") else "other loads")
    rows.append("other temperatures")
    rows += [text for name, text in _NOT_COVERED.items() if name in fired and text not in rows]
    if blind:
        more = f" and {len(blind) - 3} more" if len(blind) > 3 else ""
        rows.append(f"what could not be checked ({', '.join(blind[:3])}{more})")
    return rows

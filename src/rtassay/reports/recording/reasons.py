"""The reasons of a verdict in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rtassay.model.findings import (
    ASSUMED,
    CHECK,
    LATE_SEEN,
    MORE_NEEDED,
    NEVER_SHOWN,
    NO_ACTIVATION,
    RUNS_DIFFER,
    SAFETY_FACTOR,
    SINGLE_LATE,
    STRICT,
    UNLIKE_RUNS,
    WAIVED,
    Assumption,
    Reason,
    assumption_words,
    lane_words,
)
from rtassay.model.units import format_p, format_time

Facts = dict[str, Any]


def words(reason: Reason) -> str:
    """One line: `CPU1: 3 of 1000 activations reached 100 us; p is at most 0.0077 at confidence 0.95, 1e-6 is allowed`."""
    return _WORDS[reason.code](reason.facts)


def _seen(facts: Facts) -> str:
    seen = f"{lane_words(facts['lane'], facts['cpu'])}: {facts['exceedances']} of {facts['due']} activations reached {format_time(facts['deadline_ns'])}"
    if facts["possible"]:
        seen += f", and {facts['possible']} more may have"
    return f"{seen}; {_bound(facts)}"


def _bound(facts: Facts) -> str:
    way, percent = "least" if facts["bound_is"] == "lower" else "most", f"{facts['confidence']:.3g}"
    if facts["of"] == "p":
        return f"p is at {way} {facts['bound']:.3g} at confidence {percent}, {format_p(facts['allowed'])} is allowed"
    if facts["bound"] is None:
        return f"events per hour are not known without an interval, {facts['allowed']:g} are allowed"
    return f"at {way} {facts['bound']:.3g} events per hour at confidence {percent}, {facts['allowed']:g} are allowed"


def _needed(facts: Facts) -> str:
    seconds, events = facts["duration_s"], facts["events"]
    time = f", {seconds / 3600:.3g} h in all at this interval" if seconds is not None else ""
    further = " a further" if facts["exceedances"] else " an"
    text = f"{facts['n']} activations without{further} exceedance would show it{time}"
    if facts["lacks"] != SINGLE_LATE:
        return text
    if events and events < facts["exceedances"]:
        return f"the exceedances came in {events} event{'s' if events > 1 else ''}, not singly: {text}"
    return f"the largest latencies come in bursts (extremal index at least {facts['theta_lower'] or 0:.2g}): {text}"


def _differ(facts: Facts) -> str:
    told = "is widened for that" if facts["basis"] == UNLIKE_RUNS else "is that of the worst run"
    return f"the runs differ in how many were late: the bound {told}"


_WORDS: dict[str, Callable[[Facts], str]] = {
    NO_ACTIVATION: lambda facts: "no activation was due",
    LATE_SEEN: _seen,
    MORE_NEEDED: _needed,
    NEVER_SHOWN: lambda facts: f"no measurement can show {'that p is 0' if facts['of'] == 'p' else 'it'}",
    ASSUMED: lambda facts: f"the bound assumes that {assumption_words(Assumption(facts['assumption'], facts))}",
    RUNS_DIFFER: _differ,
    CHECK: lambda facts: f"{facts['id']}: {facts['message']}",
    STRICT: lambda facts: "--strict: a warning is enough to make the measurement invalid",
    WAIVED: lambda facts: f"{facts['id']}: waived because {facts['because']}",
    SAFETY_FACTOR: lambda facts: (
        f"safety factor deadline / maximum = {facts['factor']:.3g}; it decides nothing, since it falls as a run gets longer"
    ),
}

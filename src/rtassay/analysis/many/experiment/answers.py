"""The questions a reader has, answered in a sentence each, from what was computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rtassay.analysis.many.compare import words
from rtassay.analysis.many.experiment.cells import power
from rtassay.analysis.many.experiment.kpis import Facts
from rtassay.model.comparison import REFUSED
from rtassay.model.experiment import Answer, Combination
from rtassay.model.findings import THESE_RUNS, assumptions, condition_words
from rtassay.model.units import format_time

HOLDS, WORST, BETTER, UNCOVERED, REPEAT = (
    "Does it hold?",
    "Which load is worst?",
    "Is A better than B, and where?",
    "What was not covered?",
    "How do I repeat it?",
)
_MOST = 4


def answers(facts: Facts, not_covered: Sequence[str]) -> tuple[Answer, ...]:
    """All five, always in this order."""
    return (
        Answer(HOLDS, _holds(facts)),
        Answer(WORST, _worst(facts)),
        Answer(BETTER, _better(facts)),
        Answer(UNCOVERED, f"{'; '.join(not_covered)}."),
        Answer(
            REPEAT,
            f"{facts.result['repeat']} (every command, the file and the versions: `rtassay experiment report`, at its end).",
        ),
    )


def _holds(facts: Facts) -> str:
    design, accepted = facts.design, facts.result["acceptance"]
    stars = [one for one in facts.combinations if one.star_ns is not None]
    demonstrated = ""
    if stars and len(stars) == len(facts.combinations):
        worst = max(stars, key=lambda one: one.star_ns or 0)
        demonstrated = (
            f" Demonstrated everywhere at {100 * design.confidence:g} % confidence: {format_time(worst.star_ns or 0)} for {design.asked}"
            f" (worst: {worst.title})."
        )
    elif (weak := [one for one in facts.combinations if one.star_each_ns]) and len(weak) == len(facts.combinations):
        worst = max(weak, key=lambda one: one.star_each_ns or 0)
        demonstrated = (
            f" The runs are too short for {design.asked}; for p = {power(facts.p_each)} they demonstrate "
            f"{format_time(worst.star_each_ns or 0)} (worst: {worst.title})."
        )
    if facts.grade.letter == "X":
        demonstrated += f" Some of it is no valid measurement and not to be used: {'; '.join(facts.grade.because)}."
    if accepted is None:
        return f"Not judged: no deadline was stated.{demonstrated}"
    misses = f"a share of {power(design.p)}" if design.per_hour is None else f"{design.per_hour:.3g} events an hour"
    asked = f"every wake-up within {format_time(design.deadline_ns or 0)} but for {misses} at the most, at {100 * design.confidence:g} % confidence"
    at = facts.design.title(accepted["at"]) if accepted["at"] else ""
    where = f" Decided by: {at}." if at else ""
    why = f" {accepted['why'][0].upper()}{accepted['why'][1:]}." if accepted["why"] else ""
    answer = {
        "HOLDS": "Yes, under these conditions",
        "VIOLATED": "No",
        "NOT DEMONSTRATED": "Not shown",
        "INVALID MEASUREMENT": "Not answered: the measurement is invalid",
    }
    few = f"{_if_assumed(accepted, design.per_hour)}{_of_these_runs(facts)}" if accepted["state"] == "HOLDS" else ""
    return f"{answer[accepted['state']]} ({accepted['state']}{few}). Asked: {asked}.{where}{why}{_numbers(facts)}{demonstrated}"


def _if_assumed(accepted: dict[str, Any], per_hour: float | None) -> str:
    condition = condition_words(assumptions(accepted.get("assumes", ())), per_hour)
    return f", {condition}" if condition else ""


def _of_these_runs(facts: Facts) -> str:
    """Two to four runs of a combination tell of themselves, not of other boots."""
    if facts.design.per != "combination":
        return ""
    few = [
        row["runs"]
        for row in facts.result["combinations"]
        for one in row.get("assumes", ())
        if one["code"] == THESE_RUNS
    ]
    return f", of these runs: {min(few)} do not tell what other boots do" if few else ""


def _numbers(facts: Facts) -> str:
    """What was seen where it was decided."""
    at = facts.result["acceptance"]["at"]
    row = next(
        (
            row
            for row in facts.result["combinations"]
            if at and row.get("state") and all(row.get(key) == at.get(key) for key in facts.design.levels if key in at)
        ),
        None,
    )
    if row is None or row.get("due") is None:
        return ""
    return (
        f" There {row['exceedances']:,} of {row['due']:,} activations of {row['lane']} were late: the probability is between "
        f"{power(row['p_lower'])} and {power(row['p_upper'])}."
    )


def _worst(facts: Facts) -> str:
    levels = facts.design.levels.get("load", ())
    if len(levels) < 2:
        one = levels[0] if levels else "none"
        idle = " The board was idle: this says nothing about a loaded one." if one in facts.design.idle else ""
        return f"There is only one load level, {one}.{idle}"
    known = [one for one in facts.combinations if one.star_each_ns is not None]
    if not known:
        return "Not known: no combination has a D*."
    worst = max(known, key=lambda one: one.star_each_ns or 0)
    name = str(worst.levels["load"])
    text = f"{name}: D* {format_time(worst.star_each_ns or 0)} for p = {power(facts.p_each)}{_place(facts, worst)}"
    row = next((row for row in facts.sensitivity if row.load == name), None)
    if row is not None:
        text += f", {row.ratio:.3g} times that of {row.baseline}"
        if row.lo is not None and row.hi is not None:
            text += f" [{row.lo:.3g}, {row.hi:.3g}]"
            if row.lo <= 1 <= row.hi:
                text += "; the interval holds 1, so the runs do not show that it differs"
        else:
            text += "; one run of each gives no interval"
    elif name in facts.design.idle:
        ratios = [row for row in facts.sensitivity if row.lo is not None]
        apart = [row.load for row in ratios if row.hi is not None and row.hi < 1]
        text += " - later than under load" + ("" if apart else ", but the runs do not show a difference")
    return f"{text}."


def _place(facts: Facts, one: Combination) -> str:
    others = [f"{name} {one.levels.get(name)}" for name in facts.design.varying if name != "load"]
    return f" at {', '.join(others)}" if others else ""


def _better(facts: Facts) -> str:
    if not facts.compared:
        kernels = len(facts.design.asked_kernels) > 1 and not facts.design.levels.get("kernel")
        why = (
            "kernels were to be compared, and none was named (--kernel A --kernel B)"
            if kernels
            else "no factor to be compared has two levels"
        )
        return f"Nothing was compared: {why}."
    texts = []
    for one in facts.compared[:_MOST]:
        where = f" at {one.where}" if one.where else ""
        result = one.comparison
        told = words.sentence(result) if result.conclusion == REFUSED else words.said(result)
        texts.append(f"{one.factor} {one.a} (A) against {one.b} (B){where}: {told}")
    more = len(facts.compared) - _MOST
    return " ".join(texts) + (f" {more} more comparisons are below." if more > 0 else "")

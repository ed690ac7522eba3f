"""Is the difference one of the factor, or of something else that differs?"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rtassay.analysis.checks.base import INTEGRITY, NOTE, PASS, SYNTHETIC, WARNING, Outcome, check, passed, unknown
from rtassay.analysis.many.compare import conditions
from rtassay.analysis.many.compare.checks.pair import Pair, plural
from rtassay.analysis.many.compare.conditions import CONFOUND, FACTOR, VARIES
from rtassay.model.comparison import Difference

TEMPERATURE_C = 3.0
SHOWN_DIFFERENCES = 6


@check(
    id="ORDER-CONFOUND",
    condition="all runs of one group were measured before all of the other",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A drift in the meantime looks like the factor.",
    remedy="Measure A B B A.",
    proof=SYNTHETIC,
)
def order_confound(pair: Pair) -> Outcome:
    """One group measured wholly before the other: a drift in the meantime looks like the factor."""
    times = [[_when(run.started) for run in runs] for _, runs in pair.sides]
    a, b = ([time for time in side if time is not None] for side in times)
    if len(a) < len(times[0]) or len(b) < len(times[1]):
        return unknown("when the recordings were taken is not known")
    if max(a) < min(b) or max(b) < min(a):
        first = "A" if a[0] < b[0] else "B"
        text = f"all of {first} was measured before the other group: a drift in the meantime (heat, load, updates) looks like the factor; interleave the runs"
        return Outcome(NOTE if len(a) == len(b) == 1 else WARNING, text, {"first": first})
    return passed("the runs of both groups are interleaved")


def _when(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except ValueError:
        return None


@check(
    id="AB-CONFOUND",
    condition="a condition beyond the factor differs between the groups",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="A difference belongs to everything that differs, not to the one thing that was meant.",
    remedy="Change one thing at a time; name it with --factor.",
    proof=SYNTHETIC,
)
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
        text = f"{plural(len(said), 'condition')} {'differs' if len(said) == 1 else 'differ'} {beyond}: {'; '.join(said[:SHOWN_DIFFERENCES])}{more}"
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
    a, b = _from_difference(row.a[0], row.b[0]) if len(row.a) == len(row.b) == 1 else ("", "")
    sides = [a, b] if a else [", ".join(_short(value) for value in side) for side in (row.a, row.b)]
    return f"{row.name}: {sides[0]} / {sides[1]}" + (f" ({row.detail})" if row.detail else "")


def _from_difference(a: str, b: str) -> tuple[str, str]:
    """Both texts from the word in which they begin to differ, if cut they would look the same; else two empty ones."""
    if _short(a) != _short(b) or a == b:
        return "", ""
    apart = next((i for i, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))
    begin = a.rfind(" ", 0, apart) + 1
    return f"... {_short(a[begin:])}", f"... {_short(b[begin:])}"


def _short(value: str) -> str:
    return value if len(value) <= 60 else f"{value[:57]}..."


@check(
    id="TEMP-CONFOUND",
    condition=f"mean temperatures of the groups differ by more than {TEMPERATURE_C:g} degC",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Heat changes frequencies and latencies.",
    remedy="Interleave the runs; wait for the same temperature.",
    proof=SYNTHETIC,
)
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


@check(
    id="LANES-DIFFER",
    condition="the groups have other or other numbers of lanes",
    kind=INTEGRITY,
    severity=WARNING,
    explanation="Pooled numbers then weigh the CPUs differently.",
    remedy="Read the table per CPU; measure the same CPUs.",
    proof=SYNTHETIC,
)
def lanes_differ(pair: Pair) -> Outcome:
    """Other CPUs measured in one group than in the other: the pools then mix different things."""
    a, b = (set(group.lanes) for group in pair.groups)
    if a == b and len({run.lane_count for _, runs in pair.sides for run in runs}) == 1:
        return passed(f"the same {plural(len(a), 'lane')} in every run")
    text = f"A has lanes {', '.join(sorted(a)) or 'none'}; B has {', '.join(sorted(b)) or 'none'}"
    if a == b:
        text = "the runs do not all have the same lanes"
    return Outcome(
        WARNING,
        f"{text}: pooled numbers weigh the CPUs differently",
        {"only_a": sorted(a - b), "only_b": sorted(b - a)},
    )

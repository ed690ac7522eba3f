"""A comparison as one paragraph of plain English, and what it does not cover."""

from __future__ import annotations

from rtassay.analysis.many.compare.ratios import LEAST_RUNS
from rtassay.model.comparison import (
    A_BETTER,
    B_BETTER,
    CROSSES,
    REFUSED,
    WITHIN_RUN,
    Comparison,
    Group,
    QuantileRatio,
    primary,
)
from rtassay.model.units import format_factor, format_time


def percentile(q: float) -> str:
    """`p99.99`; beyond the ladder with enough digits to differ from 100."""
    if q <= 0:
        return "p0"
    tail = 1 - q
    digits = 2
    while digits < 14 and round(tail * 100, digits) < 10 ** (1 - digits):
        digits += 1
    return "p" + f"{100 - round(tail * 100, digits):.{digits}f}".rstrip("0").rstrip(".")


def called(group: Group) -> str:
    """`stock (A)`, or `A` for a group without a title."""
    return group.name if group.title == group.name else f"{group.title} ({group.name})"


def sentence(result: Comparison) -> str:
    """Which group is better, where, by how much and on how many runs; or why there is no answer."""
    if result.conclusion == REFUSED:
        return f"Not compared: {'; '.join(result.refusals)}."
    a, b = called(result.a), called(result.b)
    return f"{_runs(result.a)} of {a} against {_runs(result.b)} of {b}: {said(result)}"


def said(result: Comparison) -> str:
    """The sentence without the names of the groups, for a text that has named them. Not for a refused comparison."""
    parts = [f"{_conclusion(result, called(result.a), called(result.b))}."]
    if any(row.method == WITHIN_RUN for row in result.quantiles) and min(len(result.a.runs), len(result.b.runs)) == 1:
        parts.append(
            "This tells these runs apart; how much two runs of one kind differ is not known, so it does not yet tell the kinds apart."
        )
    return " ".join(parts)


def _runs(group: Group) -> str:
    return f"{len(group.runs)} run" if len(group.runs) == 1 else f"{len(group.runs)} runs"


def _conclusion(result: Comparison, a: str, b: str) -> str:
    at = percentile(result.primary_q)
    first = primary(result.quantiles, result.primary_q)
    shown = [row for row in result.quantiles if row.shown is not None]
    if result.conclusion == CROSSES:
        return _crossing(result, shown, a, b)
    others = [row for row in shown if row.q != result.primary_q]
    if first is not None and result.conclusion in (A_BETTER, B_BETTER):
        better, worse = (a, b) if result.conclusion == A_BETTER else (b, a)
        text = f"{better} has the lower latency at {at}, the step named beforehand; {worse} is {_times(first)} as late there"
        if others:
            far = max(others, key=_log)
            text += f"; also at {_span(others)}, up to {_times(far)} ({percentile(far.q)})"
        return text
    few = min(len(result.a.runs), len(result.b.runs)) < LEAST_RUNS
    if first is not None and few and first.method not in (None, WITHIN_RUN):
        return f"no difference shown: two runs do not tell how runs of their kind differ; it takes {LEAST_RUNS} of each or more"
    if first is None or first.method is None:
        text = f"no difference shown: the samples do not reach {at}, the step named beforehand (--at)"
    else:
        text = f"no difference shown at {at}, the step named beforehand{_seen(first)}"
    return text + _elsewhere(others, a, b)


def _elsewhere(others: list[QuantileRatio], a: str, b: str) -> str:
    """The differences at other steps, if the primary step shows none."""
    parts = []
    for name, kind in ((a, A_BETTER), (b, B_BETTER)):
        rows = [row for row in others if row.shown == kind]
        if rows:
            parts.append(f"{name} is earlier at {_span(rows)}")
    if not parts:
        return ""
    return f". Elsewhere {' and '.join(parts)}: to conclude from it, name that step (--at) and compare new runs"


def _crossing(result: Comparison, shown: list[QuantileRatio], a: str, b: str) -> str:
    names = {A_BETTER: a, B_BETTER: b}
    turn = result.crossover
    last = shown[-1]
    first = shown[0]
    text = f"{names[str(first.shown)]} has the lower latency at {_span([r for r in shown if r.shown == first.shown])}"
    if last.shown != first.shown:
        text += f", {names[str(last.shown)]} at {_span([r for r in shown if r.shown == last.shown])}"
    if turn is not None and turn.shown:
        text += f"; the order changes at {percentile(turn.q)} ({format_time(turn.value_ns)}, exceeded with {1 - turn.q:.2g})"
    return text


def _span(rows: list[QuantileRatio]) -> str:
    names = [percentile(row.q) for row in rows]
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _log(row: QuantileRatio) -> float:
    ratio = _ratio(row)
    return max(ratio, 1 / ratio)


def _ratio(row: QuantileRatio) -> float:
    """The ratio, or its bound if only that is known."""
    for value in (row.ratio, row.lo, row.hi):
        if value:
            return value
    return 1.0


def _times(row: QuantileRatio) -> str:
    return f"{format_factor(_log(row))} times"


def _seen(row: QuantileRatio) -> str:
    """The smallest difference that would have shown."""
    if row.detectable is None:
        return ", and the data could not show one"
    return f"; only differences above {_change(row.detectable)} would have shown"


def _change(factor: float) -> str:
    return f"{(factor - 1) * 100:.2g} %" if factor < 1.995 else f"a factor of {format_factor(factor)}"


def not_covered(result: Comparison) -> tuple[str, ...]:
    """The cases that no number here covers."""
    by_id = {check.id: check for check in result.checks}
    fired = {name for name, check in by_id.items() if check.severity in ("note", "warning", "invalid")}
    rows = []
    if "FEW-RUNS" in fired and min(len(result.a.runs), len(result.b.runs)) == 1:
        rows.append("how much runs of one kind differ among themselves")
    if "ONE-BOOT" in fired or by_id["ONE-BOOT"].severity == "unknown":
        rows.append("other boots")
    loads = next(row for row in result.conditions if row.key == "load")
    if not loads.a or not loads.b:
        rows.append("any load: what ran beside is not known of all recordings")
    elif set(loads.a) | set(loads.b) == {"none"}:
        rows.append("a loaded board: both groups were idle")
    else:
        rows.append(f"other loads than {', '.join(dict.fromkeys((*loads.a, *loads.b)))}")
    reached = [row.q for row in result.quantiles if row.bound == "exact"]
    if reached:
        rows.append(f"anything rarer than {percentile(max(reached))}")
    rows.append("other boards, temperatures and settings than these")
    if "VIRTUAL-BOARD" in fired:
        rows.append("hardware: the boards were emulated")
    if "CO-MISSED" in fired:
        rows.append("activations that never ran because the one before was late")
    blind = [check.id for check in result.checks if check.severity == "unknown"]
    if blind:
        rows.append(f"what could not be checked ({', '.join(blind)})")
    return tuple(rows)

"""Words and JSON about settings that are to be changed, are changed, or were put back. Schema rtassay/tune/1."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from rtassay.model.foreign import one_line
from rtassay.model.knobs import Action
from rtassay.model.tuning import (
    DIFFERS,
    GONE,
    PENDING,
    REFUSED,
    SAME,
    TOOK,
    Change,
    Reverted,
    Tuned,
    TuningPlan,
)
from rtassay.model.units import format_time
from rtassay.reports.examination.examination_text import how

_MANY = 12
_WIDTH = 200


def change_words(change: Change) -> str:
    """`echo 10 > /proc/sys/vm/stat_interval`."""
    return one_line(how(Action(change.kind, change.target, change.value)), _WIDTH)


def look_rows(changes: Iterable[Change]) -> list[str]:
    """One line for each change that would be made, with the value of now; the first of each setting and how many more."""
    told: list[str] = []
    for setting, rows in _by_setting(changes):
        told += [f"{setting}: {change_words(one)}{_now(one)}" for one in rows[:_MANY]]
        told += [f"{setting}: and {len(rows) - _MANY} more (--json)"] if len(rows) > _MANY else []
    return told


def _now(change: Change) -> str:
    if change.state == REFUSED:
        return f"  (will be refused: {one_line(change.why or '', 80)})"
    if change.state == GONE:
        return "  (the thread has ended)"
    if change.state == SAME:
        return "  (it is so already)"
    return "" if change.before is None else f"  (now {one_line(change.before, 80)})"


def left_rows(plan: TuningPlan) -> list[str]:
    """What of the plan is not done here, with the reason."""
    return [f"{one.id}: not changed: {one_line(one.left, 300)}" for one in plan.settings if one.left is not None]


def headline(board: str, tuned: Tuned) -> str:
    """Whose changes, since when, how long they last."""
    held = "" if tuned.guarded is not False else "; its guard is dead: `rtassay tune --revert` puts it back"
    names = ", ".join(tuned.settings) or "nothing"
    return f"{board}: {names} changed by {tuned.owner} at {tuned.since}, for {format_time(tuned.for_ns)}{held}"


def tuned_rows(changes: Iterable[Change]) -> list[str]:
    """One line for each change that was made, with the value of before; the first of each setting and how many more."""
    told: list[str] = []
    for setting, rows in _by_setting(one for one in changes if one.state in (TOOK, DIFFERS)):
        told += [
            f"  {setting}: {change_words(one)}"
            + ("" if one.before is None else f"  (before {one_line(one.before, 80)})")
            for one in rows[:_MANY]
        ]
        told += [f"  {setting}: and {len(rows) - _MANY} more (--json)"] if len(rows) > _MANY else []
    return told


def wrong_rows(changes: Iterable[Change]) -> list[str]:
    """What was refused, or shows another value than was written."""
    told = []
    for one in changes:
        if one.state == REFUSED:
            told.append(f"  refused: {change_words(one)}: {one_line(one.why or '', 80)}")
        elif one.state == DIFFERS:
            told.append(f"  differs: {change_words(one)}: the board shows {one_line(one.now or 'nothing', 80)}")
        elif one.state == PENDING:
            told.append(f"  not made: {change_words(one)}")
    return told


def _by_setting(changes: Iterable[Change]) -> list[tuple[str, list[Change]]]:
    together: dict[str, list[Change]] = {}
    for one in changes:
        together.setdefault(one.setting, []).append(one)
    return list(together.items())


def plan_dict(plan: TuningPlan, changes: Iterable[Change]) -> dict[str, Any]:
    """The object of `tune --dry-run --json`."""
    return {
        "schema": "rtassay/tune/1",
        "changed": False,
        "changes": [asdict(one) for one in changes],
        "left": _left(plan),
    }


def tuned_dict(tuned: Tuned | None, plan: TuningPlan | None = None) -> dict[str, Any]:
    """The object of `tune --json`: what is changed now."""
    if tuned is None:
        return {"schema": "rtassay/tune/1", "changed": False, "changes": [], "left": []}
    data = asdict(tuned)
    left = [] if plan is None else _left(plan)
    return {"schema": "rtassay/tune/1", "changed": True, **data, "settings": list(tuned.settings), "left": left}


def _left(plan: TuningPlan) -> list[dict[str, str]]:
    return [{"setting": one.id, "why": one.left} for one in plan.settings if one.left is not None]


def reverted_dict(done: Reverted) -> dict[str, Any]:
    """The object of `tune --revert --json`."""
    return {
        "schema": "rtassay/tune/1",
        "changed": bool(done.left),
        "reverted": [] if done.was is None else list(done.was.settings),
        "forgotten": done.forgotten,
        "not_put_back": [{"what": what, "why": why} for what, why in done.left],
    }

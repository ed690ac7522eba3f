"""The results of an experiment, as the object in `experiment.json` (schema rtassay/experiment/1).

Numbers come from findings (rtassay/show/1) of the sealed recordings; superseded ones are listed and never counted.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from rtassay.experiments.directory import RECORDINGS, RESULT
from rtassay.experiments.journal import CellState
from rtassay.experiments.looks import look_of
from rtassay.experiments.matrix import FACTORS, Cell, ExperimentPlan
from rtassay.experiments.status import Status
from rtassay.model.findings import assumptions, weakest
from rtassay.model.units import NS_PER_S, format_time
from rtassay.store.disk import write_replacing

SCHEMA = "rtassay/experiment/1"
# A valid violation stands, even if another cell is an invalid measurement.
_WORST_FIRST = ("VIOLATED", "INVALID MEASUREMENT", "NOT DEMONSTRATED", "HOLDS")
_FIRED = ("invalid", "warning", "unknown")
_SHOWN = {0.5: "p50_ns", 0.999: "p99_9_ns", 0.9999: "p99_99_ns", 0.99999: "p99_999_ns"}

TOO_SMALL = "N-TOO-SMALL"
# What the acceptance tells of the verdict that decides it.
_JUDGED = ("p_upper", "rate_upper_per_h", "capped_by", "needed", "assumes")


@dataclass(frozen=True, slots=True)
class Analysis:
    """The analysis functions that this package gets. Paths are those of sealed recordings.

    `findings`: the object of `rtassay show --json`. `repeats`: (recordings, plan, look) -> an object with at least `demonstrated_ns` and
    `state` for them taken together. `compare`: (A, B, factor, primary step) -> the object of `rtassay compare --json`.
    """

    findings: Callable[[Path], dict[str, Any]]
    repeats: Callable[[Sequence[Path], ExperimentPlan, int], dict[str, Any]]
    compare: Callable[[Sequence[Path], Sequence[Path], str, float], dict[str, Any]]


def build(status: Status, analysis: Analysis) -> dict[str, Any]:
    """The whole object. Works on an unfinished experiment too: it states which cells are missing."""
    plan, base = status.plan, status.path / RECORDINGS
    paths = {cell.id: base / f"{state.recording}.rta" for cell, state in status.cells if state.state == "sealed"}
    rows = [_cell(cell, state, paths.get(cell.id), analysis) for cell, state in status.cells]
    latency = [cell for cell in plan.cells if not cell.of_work]
    groups = _combinations(latency, paths)
    combinations = [_combination(cells, paths, rows, status, analysis) for cells in groups]
    skipped = status.counts["skipped"]
    return {
        "schema": SCHEMA,
        "name": plan.name,
        "what": plan.what,
        "correction": plan.correction,
        "path": str(status.path),
        "plan": plan.hash,
        "corrected": plan.corrected,
        "scale": plan.scale,
        "state": status.state,
        "cells_total": len(plan.cells),
        "cells_sealed": len(paths),
        "cells_skipped": skipped,
        "requirement": {
            "deadline_ns": plan.deadline_ns,
            "p": plan.p_target,
            "per_hour": plan.per_hour,
            "confidence": plan.confidence,
            "per": plan.per,
            "looks": plan.looks,
        },
        "acceptance": _acceptance(plan, rows, combinations, len(paths) + skipped),
        "combinations": combinations,
        "worst": {
            factor: _worst(factor, combinations)
            for factor in FACTORS
            if len({getattr(cell, factor) for cell in latency}) > 1
        },
        "comparisons": _comparisons(plan, paths, analysis),
        "cells": rows,
        "superseded": list(status.superseded),
        "notes": list(plan.notes),
        "repeat": f"rtassay experiment run {status.path / 'experiment.toml'}"
        + (" --corrected" if plan.corrected else "")
        + ("" if plan.scale == "1" else f" --scale {plan.scale}")
        + "".join(f" {shlex.quote(word)}" for word in plan.options),
    }


def answered(plan: ExperimentPlan) -> tuple[str, ...]:
    """Checks of one combination that another one settles: an idle board is no doubt if the board is judged under load as well."""
    return ("NO-LOAD",) if any(cell.plan.loads for cell in plan.cells) else ()


def save(path: Path, result: dict[str, Any]) -> None:
    """Write `experiment.json`, whole or not at all. Raises BoardError."""
    data = msgspec.json.format(msgspec.json.encode(result), indent=1) + b"\n"
    write_replacing(path / RESULT, data, "every recording is whole; the result can be computed again")


def _levels(cell: Cell) -> dict[str, str | None]:
    return {factor: getattr(cell, factor) for factor in FACTORS}


def _cell(cell: Cell, state: CellState, path: Path | None, analysis: Analysis) -> dict[str, Any]:
    known = asdict(state)
    if state.state == "running" and path is None:
        known["state"] = "planned"
    row = {
        "id": cell.id,
        **_levels(cell),
        **{key: getattr(cell, key) for key in ("order", "block", "repeat")},
        **{key: known[key] for key in ("state", "recording", "attempts", "superseded", "why", "started", "ended")},
        "argv": list(cell.plan.argv),
    }
    return row | (_numbers(analysis.findings(path)) if path is not None else {})


def _numbers(findings: dict[str, Any]) -> dict[str, Any]:
    """The key numbers of one run. D* is the worst lane's, as the verdict is; quantiles are of all lanes pooled."""
    pooled, verdict = findings["pooled"], findings["verdict"]
    stars = [lane["demonstrated"]["deadline_ns"] for lane in findings["lanes"]]
    quantiles = {row["q"]: row for row in pooled["quantiles"]}
    return {
        "kernel_release": findings["kernel"],
        "duration_s": findings["duration_s"],
        "n": pooled["n"],
        "due": pooled["due"],
        "missed": pooled["missed"],
        "demonstrated_ns": None if not stars or None in stars else max(stars),
        **{name: quantiles[q]["value_ns"] if q in quantiles else None for q, name in _SHOWN.items()},
        "bounds": {name: quantiles[q]["bound"] for q, name in _SHOWN.items() if q in quantiles},
        "max_ns": pooled["max_ns"],
        "verdict": None if verdict is None else verdict["state"],
        **{key: None if verdict is None else verdict[key] for key in _JUDGED},
        "invalid": any(_spoils(check, bool(findings.get("strict"))) for check in findings["checks"]),
        "checks": {c["id"]: c["severity"] for c in findings["checks"] if c["severity"] in _FIRED},
    }


def _spoils(check: dict[str, Any], strict: bool) -> bool:
    """Whether a check makes its run invalid (a run that is too short for its p stays valid)."""
    if check.get("waived") is not None or check["id"] == TOO_SMALL:
        return False
    if strict:
        return bool(check["severity"] == "warning" or check["severity"] == "invalid")
    return bool(check["severity"] == "invalid" and check["kind"] == "integrity")


def _combinations(cells: Sequence[Cell], paths: dict[str, Path]) -> list[list[Cell]]:
    """Cells by combination, in the order they are first met; the order of the runs inside."""
    found: dict[tuple[str | None, ...], list[Cell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.repeat, cell.order)):
        found.setdefault(cell.combination, []).append(cell)
    return list(found.values())


def _combination(
    cells: Sequence[Cell],
    paths: dict[str, Path],
    rows: Sequence[dict[str, Any]],
    status: Status,
    analysis: Analysis,
) -> dict[str, Any]:
    wanted = {cell.id for cell in cells}
    mine = [row for row in rows if row["id"] in wanted and row["state"] == "sealed"]
    recordings = [paths[cell.id] for cell in cells if cell.id in paths]
    head = {**_levels(cells[0]), "runs": len(mine), "planned": len(cells), "recordings": [r["recording"] for r in mine]}
    looks = status.looks.get(cells[0].combination, ())
    head["looks_taken"] = [asdict(look) for look in looks]
    if not mine:
        return {**head, "state": None, "demonstrated_ns": None}
    severities: dict[str, str] = {}
    for row in mine:
        for check, severity in row["checks"].items():
            if check not in severities or _FIRED.index(severity) < _FIRED.index(severities[check]):
                severities[check] = severity
    ranges = {key: _range([row[key] for row in mine]) for key in (*_SHOWN.values(), "max_ns", "demonstrated_ns")}
    missed = [row["missed"] for row in mine]
    return {
        **head,
        "n": sum(row["n"] for row in mine),
        "missed": None if None in missed else sum(missed),
        "max_ns": None if any(row["max_ns"] is None for row in mine) else max(row["max_ns"] for row in mine),
        "median_of_runs": {key: found["median"] for key, found in ranges.items()},
        "range_of_runs": {key: [found["low"], found["high"]] for key, found in ranges.items()},
        "verdicts_of_runs": [row["verdict"] for row in mine],
        "checks": severities,
        **analysis.repeats(recordings, status.plan, look_of(status.plan, looks)),
    }


def _range(values: Sequence[int | None]) -> dict[str, int | None]:
    """Lower median, least and largest of runs; None if a run has no value."""
    known = sorted(value for value in values if value is not None)
    if len(known) != len(values) or not known:
        return {"median": None, "low": None, "high": None}
    return {"median": known[(len(known) - 1) // 2], "low": known[0], "high": known[-1]}


def _acceptance(
    plan: ExperimentPlan, rows: Sequence[dict[str, Any]], combinations: Sequence[dict[str, Any]], done: int
) -> dict[str, Any] | None:
    """The worst answer: of every run alone, or of every combination's runs together. None without a deadline."""
    if plan.deadline_ns is None:
        return None
    alone = plan.per == "cell"
    key, told = ("verdict", rows) if alone else ("state", combinations)
    judged = [(str(row[key]), row) for row in told if row.get(key)]
    if not judged:
        return {"state": "NOT DEMONSTRATED", "at": None, "why": "nothing was measured yet", "assumes": []}
    bound = "p_upper" if plan.per_hour is None else "rate_upper_per_h"
    state, worst = min(judged, key=lambda one: (_WORST_FIRST.index(one[0]), -(one[1][bound] or 0.0)))
    why = [] if state in ("HOLDS", "VIOLATED") else _lacking(state, worst, plan)
    if done < len(plan.cells):
        why.append(f"{len(plan.cells) - done} of {len(plan.cells)} cells are not measured")
        state = "NOT DEMONSTRATED" if state == "HOLDS" else state
    at = {"p_upper": worst["p_upper"], **_place(worst)} | ({"repeat": worst["repeat"]} if alone else {})
    # HOLDS needs every one of them, so what any of them assumes
    told = [row for _, row in judged] if state == "HOLDS" else [worst]
    assumes = [asdict(one) for one in weakest(assumptions(row["assumes"] or ()) for row in told)]
    return {"state": state, "at": at, "why": "; ".join(why) or None, "assumes": assumes}


def _lacking(state: str, row: dict[str, Any], plan: ExperimentPlan) -> list[str]:
    """What stands between the run, or the runs of a combination, and HOLDS: checks, or activations that are missing."""
    said = []
    checks, short = row["checks"], state == "NOT DEMONSTRATED"
    enough = _numbers_do(row, plan) if short else ""
    against = [f"{name} ({checks[name]})" for name in row["capped_by"] if name in checks and name != TOO_SMALL]
    if against:
        said.append(f"{enough}{', '.join(against)} {'stands' if len(against) == 1 else 'stand'} against it")
    needed = row["needed"]
    if needed is not None and short and not enough:
        time = "" if needed["duration_s"] is None else f", {format_time(needed['duration_s'] * NS_PER_S)} of measuring"
        said.append(f"{needed['n']:,} activations of each lane without a further late one would show it{time}")
    return said


def _numbers_do(row: dict[str, Any], plan: ExperimentPlan) -> str:
    """`the numbers would do (p <= 8e-8), but `; empty where they would not."""
    if plan.per_hour is None:
        bound, allowed, unit = row["p_upper"], plan.p_target, "p <= {:.2g}"
    else:
        bound, allowed, unit = row["rate_upper_per_h"], plan.per_hour, "at most {:.3g} events an hour"
    if bound is None or bound > allowed:
        return ""
    return f"the numbers would do ({unit.format(bound).replace('e-0', 'e-')}), but "


def _place(row: dict[str, Any]) -> dict[str, Any]:
    return {factor: row[factor] for factor in FACTORS}


def _worst(factor: str, combinations: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The level of a factor with the largest D*; a level without D* is worse than all with one. None if no level has a D*."""
    known = [row for row in combinations if row["runs"]]
    if all(row["demonstrated_ns"] is None for row in known):
        return None
    top = max(known, key=lambda row: float("inf") if row["demonstrated_ns"] is None else row["demonstrated_ns"])
    return {"level": top[factor], "demonstrated_ns": top["demonstrated_ns"], "max_ns": top["max_ns"], "at": _place(top)}


def _comparisons(plan: ExperimentPlan, paths: dict[str, Path], analysis: Analysis) -> list[dict[str, Any]]:
    """The first level of a factor against each other one, everything else equal."""
    factors = plan.compare or tuple(f for f in FACTORS if len(plan.levels.get(f, ())) == 2)
    found = []
    for factor in factors:
        levels = plan.levels.get(factor, ())
        for level in levels[1:]:
            for a, b, where in _pairs([cell for cell in plan.cells if not cell.of_work], factor, levels[0], level):
                ours = [paths[cell.id] for cell in a if cell.id in paths]
                theirs = [paths[cell.id] for cell in b if cell.id in paths]
                if ours and theirs:
                    head = {"factor": factor, "a": levels[0], "b": level, "where": where}
                    found.append(head | {"comparison": analysis.compare(ours, theirs, factor, plan.compare_at)})
    return found


def _pairs(
    cells: Sequence[Cell], factor: str, a: str, b: str
) -> list[tuple[list[Cell], list[Cell], dict[str, str | None]]]:
    """Cells of level `a` and of level `b` for each combination of the other factors."""
    groups: dict[tuple[str | None, ...], tuple[list[Cell], list[Cell]]] = {}
    others = [name for name in FACTORS if name != factor]
    for cell in cells:
        level = getattr(cell, factor)
        if level in (a, b):
            key = tuple(getattr(cell, name) for name in others)
            groups.setdefault(key, ([], []))[level == b].append(cell)
    return [
        (left, right, dict(zip(others, key, strict=True))) for key, (left, right) in groups.items() if left and right
    ]

"""Experiments as text and as JSON: the plan, the status, the result, a preset."""

from __future__ import annotations

import shlex
import textwrap
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from rtassay.model.findings import assumptions, state_words
from rtassay.model.units import NS_PER_S, format_rate, format_time, format_us

if TYPE_CHECKING:
    from rtassay.experiments.matrix import Cell, ExperimentPlan
    from rtassay.experiments.schema import ExperimentFile
    from rtassay.experiments.status import Status

_LEVELS = ("board", "kernel", "load", "probe", "scenario")
_WIDTH = 100


def clock(ns: int) -> str:
    """`2 h 05 min`, `12 min`, `40 s`."""
    seconds = ns // NS_PER_S
    if seconds < 120:
        return f"{seconds} s"
    minutes = -(-seconds // 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60:02d} min"


def finish_time(left_ns: int) -> str:
    """The time of day after that duration from now: `14:32`, with the day if it is not today."""
    now = datetime.now().astimezone()
    at = now + timedelta(seconds=left_ns / NS_PER_S)
    return at.strftime("%H:%M") if at.date() == now.date() else at.strftime("%a %d %b %H:%M")


def plan_json(plan: ExperimentPlan) -> dict[str, Any]:
    """Schema rtassay/plan/1."""
    from dataclasses import asdict

    from rtassay.experiments.lint import lint
    from rtassay.experiments.matrix import estimate_ns, probe_command

    commands = {cell.combination: probe_command(cell) for cell in {c.combination: c for c in plan.cells}.values()}
    cells = [
        {
            "id": cell.id,
            **{key: getattr(cell, key) for key in ("order", "block", "repeat", *_LEVELS)},
            "length_ns": cell.length_ns,
            "argv": list(cell.plan.argv),
            "probe_command": commands[cell.combination],
            "loads": list(cell.plan.loads),
        }
        for cell in plan.cells
    ]
    return {
        "schema": "rtassay/plan/1",
        "name": plan.name,
        "what": plan.what,
        "correction": plan.correction,
        "plan": plan.hash,
        "corrected": plan.corrected,
        "scale": plan.scale,
        "levels": {factor: list(names) for factor, names in plan.levels.items()},
        "estimate_ns": estimate_ns(plan.cells),
        "estimate_most_ns": _most_ns(plan),
        "boots": plan.boots,
        "notes": list(plan.notes),
        "looks": [
            {"look": number, "after": after, "confidence": plan.look(number).confidence}
            for number, after in enumerate(plan.looks_after, 1)
        ],
        "doubts": [asdict(doubt) for doubt in lint(plan)],
        "cells": cells,
    }


def plan_text(plan: ExperimentPlan) -> str:
    """The matrix, the order, the time, every command once."""
    from rtassay.experiments.matrix import estimate_ns

    lines = []
    correction = f"Corrected: {plan.correction}" if plan.correction else ""
    for paragraph in f"{plan.name}: {plan.what}\n{correction}".rstrip(": \n").splitlines():
        lines += textwrap.wrap(paragraph, _WIDTH, subsequent_indent="  ")
    lines.append("")
    for factor, names in plan.levels.items():
        if names:
            lines.append(f"  {factor:9} {', '.join(names)}")
    takes = clock(estimate_ns(plan.cells))
    repeats = max(cell.repeat for cell in plan.cells)
    lines += ["", f"{len(plan.cells)} cells ({len(plan.cells) // repeats} combinations x {repeats}), about {takes}"]
    if plan.boots:
        lines[-1] += f", {plan.boots} boots on top"
    if plan.cool_down_most_ns is not None:
        lines[-1] += f", at most {clock(_most_ns(plan))} with cooling down"
    lines += _look_lines(plan)
    for note in plan.notes:
        lines += textwrap.wrap(f"note: {note}", _WIDTH, subsequent_indent="  ")
    lines += _doubt_lines(plan)
    lines += ["", "  order block repeat  takes      cell"]
    for cell in plan.cells:
        lines.append(f"  {cell.order:5} {cell.block:5} {cell.repeat:6}  {clock(cell.length_ns):9}  {_cell_words(cell)}")
    lines += ["", "commands (each cell's equivalent of rtassay run, and the probe on the board):"]
    return "\n".join([*lines, *_commands(plan)])


def _look_lines(plan: ExperimentPlan) -> list[str]:
    """When the repeats of a combination are judged, and how strictly."""
    if plan.looks < 2:
        return []
    each = ", ".join(
        f"{after} ({100 * plan.look(number).confidence:.4g} %)" for number, after in enumerate(plan.looks_after, 1)
    )
    text = f"Looks after this many repeats of a combination: {each}. The first that HOLDS or is VIOLATED ends it. All looks together keep {100 * plan.confidence:g} %."
    return textwrap.wrap(text, _WIDTH, subsequent_indent="  ")


def _doubt_lines(plan: ExperimentPlan) -> list[str]:
    """The questions that this plan cannot answer, found before any run."""
    from rtassay.experiments.lint import lint

    found = lint(plan)
    lines = ["", "what this plan cannot tell (the checks that will say so):"] if found else []
    for doubt in found:
        where = f" [{doubt.where}]" if doubt.where else ""
        lines += textwrap.wrap(f"  {doubt.id}{where}: {doubt.message}", _WIDTH, subsequent_indent="    ")
    return lines


def _commands(plan: ExperimentPlan) -> list[str]:
    from rtassay.experiments.matrix import probe_command

    seen: dict[tuple[str | None, ...], Cell] = {}
    for cell in plan.cells:
        seen.setdefault(cell.combination, cell)
    lines = []
    for cell in seen.values():
        lines += [f"  {_cell_words(cell)}", f"    {shlex.join(cell.plan.argv)}", f"    {probe_command(cell)}"]
    return lines


def _cell_words(cell: Cell) -> str:
    return " ".join(f"{factor}={level}" for factor in _LEVELS if (level := getattr(cell, factor)) is not None)


def _most_ns(plan: ExperimentPlan) -> int:
    from rtassay.experiments.matrix import BOOT_NS, estimate_ns

    cooling = (plan.cool_down_most_ns or 0) * (len(plan.cells) - 1)
    return estimate_ns(plan.cells) + cooling + plan.boots * BOOT_NS


def status_json(status: Status) -> dict[str, Any]:
    """Schema rtassay/experiment-status/1."""
    from dataclasses import asdict

    return {
        "schema": "rtassay/experiment-status/1",
        "name": status.plan.name,
        "path": str(status.path),
        "plan": status.plan.hash,
        "state": status.state,
        "cells": len(status.cells),
        **status.counts,
        "left_ns": status.left_ns,
        "current": None if status.running is None else status.running.id,
        "superseded": list(status.superseded),
        "opened": status.opened,
        "looks": [asdict(look) for looks in status.looks.values() for look in looks],
        "matrix": [
            {
                "id": cell.id,
                **{key: getattr(cell, key) for key in ("order", "block", "repeat", *_LEVELS)},
                **asdict(state),
            }
            for cell, state in status.cells
        ],
    }


def status_text(status: Status) -> str:
    counts = status.counts
    head = f"{status.plan.name}: {status.state}, {counts['sealed']} of {len(status.cells)} cells done"
    if counts["failed"]:
        head += f", {counts['failed']} failed"
    if counts["skipped"]:
        head += f", {counts['skipped']} no longer needed"
    lines = [head]
    if status.state == "running":
        lines.append(f"about {clock(status.left_ns)} left, finished about {finish_time(status.left_ns)}")
    elif status.state != "complete":
        lines.append(f"about {clock(status.left_ns)} left: rtassay experiment resume {status.path}")
    lines += ["", "  order state       attempts  recording               cell"]
    for cell, state in status.cells:
        word = state.state
        if word == "running" and status.running is not cell:
            word = "cut off"
        mark = f"  {cell.order:5} {word:11} {state.attempts:8}  {state.recording or '-':23} {cell.title}"
        lines.append(mark + (f": {state.why}" if state.state in ("failed", "skipped") and state.why else ""))
    if status.superseded:
        lines += ["", f"superseded, not counted: {', '.join(status.superseded)}"]
    return "\n".join(lines)


def result_text(result: dict[str, Any]) -> str:
    """A row for each combination, in us; then the worst levels, the comparisons, the acceptance."""
    total, sealed = result["cells_total"], result["cells_sealed"]
    lines = [f"{result['name']}: {result['state']}, {sealed} of {total} cells measured"]
    if result["cells_skipped"]:
        lines[0] += f", {result['cells_skipped']} no longer needed"
    combinations = result["combinations"]
    varying = [key for key in _LEVELS if len({row[key] for row in combinations}) > 1] or ["load"]
    titles = [" ".join(f"{row[key]}" for key in varying) for row in combinations]
    width = max(11, *(len(title) for title in titles))
    requirement = result["requirement"]
    asked = f"p {requirement['p']:g}, confidence {requirement['confidence']:g}"
    lines += [
        "",
        f"{'/'.join(varying):{width}} {'runs':>5} {'D* us':>10} {'p50 us':>8} {'p99.9 us':>9} {'max us':>10} {'missed':>8}  verdict",
    ]
    lines += [
        _result_row(title, row, width, requirement["per_hour"]) for title, row in zip(titles, combinations, strict=True)
    ]
    lines += [
        "",
        f"D*: the smallest deadline that all runs of a row together demonstrate ({asked}); '-': none. Quantiles: median run.",
    ]
    for factor, worst in result["worst"].items():
        if worst is not None:
            star = "no D*" if worst["demonstrated_ns"] is None else f"D* {format_time(worst['demonstrated_ns'])}"
            lines.append(f"worst {factor}: {worst['level']} ({star})")
    for row in combinations:
        if row.get("checks"):
            known = {check: severity for check, severity in sorted(row["checks"].items()) if severity != "unknown"}
            fired = [f"{check} ({severity})" for check, severity in known.items()]
            fired += [f"{len(row['checks']) - len(known)} unknown"] if len(known) < len(row["checks"]) else []
            title = " ".join(str(row[key]) for key in varying)
            lines += textwrap.wrap(f"checks, {title}: {', '.join(fired)}", _WIDTH, subsequent_indent="  ")
    lines += _comparison_lines(result)
    if result["superseded"]:
        lines += ["", f"superseded, not counted: {', '.join(result['superseded'])}"]
    card = result.get("scorecard")
    if card is not None:
        lines += ["", f"evidence grade {card['grade']['letter']}: {'; '.join(card['grade']['because'])}"]
        for answer in card["answers"]:
            lines += textwrap.wrap(f"{answer['question']} {answer['text']}", _WIDTH, subsequent_indent="  ")
    lines += ["", _acceptance_line(result)]
    return "\n".join(lines)


def _result_row(title: str, row: dict[str, Any], width: int, per_hour: float | None) -> str:
    if not row["runs"]:
        return f"{title:{width}} {'0':>5} not measured"
    median, missed = row["median_of_runs"], row["missed"]
    runs = f"{row['runs']}" if row["runs"] == row["planned"] else f"{row['runs']}/{row['planned']}"
    cells = (
        f"{runs:>5} {format_us(row['demonstrated_ns']):>10} {format_us(median['p50_ns']):>8} "
        f"{format_us(median['p99_9_ns']):>9} {format_us(row['max_ns']):>10}"
    )
    look = f" at look {row['look']} of {row['looks']}" if row["look"] is not None else ""
    state = "-" if row["state"] is None else state_words(row["state"], assumptions(row["assumes"]), per_hour)
    return f"{title:{width}} {cells} {'-' if missed is None else missed:>8}  {state}{look}"


def _comparison_lines(result: dict[str, Any]) -> list[str]:
    lines = []
    for entry in result["comparisons"]:
        fixed = {key: value for key, value in entry["where"].items() if value is not None}
        shown = [v for k, v in fixed.items() if len({row[k] for row in result["combinations"]}) > 1]
        where = f" at {' '.join(shown)}" if shown else ""
        text = f"{entry['factor']} {entry['a']} against {entry['b']}{where}: {entry['comparison']['sentence']}"
        lines += ["", *textwrap.wrap(text, _WIDTH, subsequent_indent="  ")]
    return lines


def _acceptance_line(result: dict[str, Any]) -> str:
    acceptance, requirement = result["acceptance"], result["requirement"]
    if acceptance is None:
        return "no deadline was stated: nothing is judged"
    place = acceptance["at"] or {}
    at = " ".join(f"{key}={value}" for key, value in place.items() if value is not None and key != "p_upper")
    share = (
        f"p {requirement['p']:g}".replace("e-0", "e-")
        if requirement["per_hour"] is None
        else format_rate(requirement["per_hour"])
    )
    asked = f"deadline {format_time(requirement['deadline_ns'])}, {share}"
    why = f"; {acceptance['why']}" if acceptance["why"] else ""
    state = state_words(acceptance["state"], assumptions(acceptance["assumes"]), requirement["per_hour"])
    return f"{state} ({asked}, per {requirement['per']})" + (f", worst at {at}" if at else "") + why


def preset_text(file: ExperimentFile) -> str:
    """The purpose of a preset, its published results, its open questions, and the changes of its corrected form."""
    lines = [f"{file.name}: {file.what}"]
    told = file.preset
    if told is not None:
        parts = [("source", told.source), ("board", told.board), ("kernels", ", ".join(told.kernels))]
        parts += [("What it does", told.does), ("What it found", told.found)]
        for title, text in parts:
            lines += _paragraph(title, text)
        lines += _published_lines(told.published)
        lines += _paragraph("What it left open", told.left_open)
        if told.notes:
            lines.append("")
        for note in told.notes:
            lines += textwrap.wrap(f"- {' '.join(note.split())}", _WIDTH, subsequent_indent="  ")
    if file.corrected is not None:
        lines += _paragraph("What --corrected changes", file.corrected.what)
    runs = [f"rtassay experiment plan {file.name}"]
    runs += [f"rtassay experiment plan {file.name} --corrected"] if file.corrected is not None else []
    return "\n".join([*lines, "", *runs])


def _paragraph(title: str, text: str) -> list[str]:
    return ["", *textwrap.wrap(f"{title}: {' '.join(text.split())}", _WIDTH, subsequent_indent="  ")] if text else []


def _published_lines(ids: tuple[str, ...]) -> list[str]:
    """The results it published, in us as printed."""
    from rtassay.published import load

    rows = [row for row in load() if row.id in ids]
    if not rows:
        return []
    lines = ["", "Published results (us, as printed; rtassay published shows their sources and doubts):"]
    for row in rows:
        figures = " ".join(
            f"{name} {text}"
            for name, text in (("min", row.min_us), ("avg", row.avg_us), ("max", row.max_us), ("sd", row.stdev_us))
            if text
        )
        lines += textwrap.wrap(
            f"  {row.id} {row.system}, {row.kernel}, {row.scope}: {figures}", _WIDTH, subsequent_indent="       "
        )
    return lines

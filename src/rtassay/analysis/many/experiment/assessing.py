"""Cells, design and comparisons to a Scorecard: the only place of this package with an order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rtassay.analysis.checks.load_work import COVERAGE
from rtassay.analysis.many.experiment import answers, effects, kpis
from rtassay.analysis.many.experiment.cells import Design, Measured, combine, smallest_common_p
from rtassay.analysis.many.experiment.grade import grade
from rtassay.model.experiment import CheckRow, Combination, Compared, Scorecard
from rtassay.model.findings import SEVERITIES
from rtassay.model.inventory import Inventory
from rtassay.model.throughput import Throughput

_QUIET = ("pass", "note")


def assess(
    cells: Sequence[Measured],
    design: Design,
    result: dict[str, Any],
    compared: Sequence[Compared],
    costs: Sequence[Throughput] = (),
) -> Scorecard:
    """See `rtassay.analysis.many.experiment.assess`."""
    p_each = smallest_common_p(cells, design.confidence, design.p)
    combinations = combine(cells, design, p_each)
    checks = check_rows(cells, design)
    letter = grade(cells, combinations, design, checks)
    sensitivity = effects.sensitivity(combinations, design, p_each)
    facts = kpis.Facts(cells, combinations, design, result, p_each, sensitivity, compared, letter, costs)
    uncovered = not_covered(cells, combinations, design, result)
    return Scorecard(
        p=design.p,
        per_hour=design.per_hour,
        confidence=design.confidence,
        p_each=p_each,
        grade=letter,
        answers=answers.answers(facts, uncovered),
        kpis=kpis.scorecard(facts),
        combinations=combinations,
        sensitivity=sensitivity,
        checks=checks,
        not_covered=uncovered,
        versions=_versions(cells),
        boards=_boards(cells),
    )


def check_rows(cells: Sequence[Measured], design: Design) -> tuple[CheckRow, ...]:
    """Every check that fired or could not be looked at in a cell, worst first."""
    rows: dict[tuple[str, str | None], list[tuple[int, Measured, Any]]] = {}
    for one in cells:
        for check in one.findings.checks:
            if check.severity not in _QUIET:
                rows.setdefault((check.id, check.waived), []).append((SEVERITIES.index(check.severity), one, check))
    found = []
    for (id_, waived), hits in rows.items():
        worst = min(hits, key=lambda hit: hit[0])
        at_worst = [hit for hit in hits if hit[0] == worst[0]]
        where = tuple(dict.fromkeys(design.title(one.levels) for _, one, _ in at_worst))
        kind, severity = worst[2].kind, worst[2].severity
        found.append(CheckRow(id_, severity, kind, len(at_worst), len(cells), where, worst[2].message, waived))
    return tuple(sorted(found, key=lambda row: (SEVERITIES.index(row.severity), -row.cells)))


def not_covered(
    cells: Sequence[Measured], combinations: Sequence[Combination], design: Design, result: dict[str, Any]
) -> tuple[str, ...]:
    """The cases that the result does not cover."""
    rows = []
    missing = result["cells_total"] - result["cells_sealed"] - result["cells_skipped"]
    if missing:
        rows.append(f"{missing} of {result['cells_total']} planned cells: they are not measured")
    if len(design.asked_kernels) > 1 and not design.levels.get("kernel"):
        rows.append("other kernels: it was made to compare kernels, and only the one that ran was measured")
    elif len(design.levels.get("kernel", ())) < 2:
        rows.append("other kernels and configurations")
    reached = {name for one in cells for load in one.recording.manifest.loads for name in load.classes}
    loads = {load.name for one in cells for load in one.recording.manifest.loads}
    unknown = sorted({load.name for one in cells for load in one.recording.manifest.loads if not load.classes})
    lacking = [name for name, kinds in COVERAGE.items() if not reached & set(kinds)]
    if not loads:
        rows.append("any load: the board was idle")
    elif lacking and not unknown:
        rows.append(f"loads of {', '.join(lacking)}")
    if unknown:
        rows.append(f"what exactly was loaded: {', '.join(unknown)} does not tell which classes it stresses")
    rows.append("graphics, devices and your own application")
    boots = {run.boot for one in combinations for run in one.runs}
    if None in boots or len(boots) < 2:
        rows.append(
            "other boots: all runs are of one"
            if None not in boots
            else "other boots: which boot a run is of is not known"
        )
    if all(run.temperature_c is None for one in combinations for run in one.runs):
        rows.append("temperature: the board tells none")
    else:
        rows.append("other temperatures")
    if len({one.levels["board"] for one in cells}) < 2:
        rows.append("other boards, of this kind too")
    return tuple(rows)


def _versions(cells: Sequence[Measured]) -> dict[str, str]:
    """Tool versions of all recordings; several values of one tool are joined."""
    found: dict[str, dict[str, None]] = {}
    for one in cells:
        manifest = one.recording.manifest
        for name, version in {
            **manifest.tool_versions,
            manifest.source.tool: manifest.source.version or "not known",
        }.items():
            found.setdefault(name, {})[version] = None
    return {name: ", ".join(versions) for name, versions in sorted(found.items())}


def _boards(cells: Sequence[Measured]) -> tuple[dict[str, Any], ...]:
    """Fingerprint of each board and kernel that was measured."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for one in cells:
        told, findings = one.recording.manifest.board_start, one.findings
        key = (findings.board, findings.kernel or "not known")
        found.setdefault(key, {"board": key[0], "kernel": key[1], **_fingerprint(told)})
    return tuple(found.values())


def _fingerprint(told: Inventory) -> dict[str, Any]:
    """The facts of an inventory that tell one set-up from another; left out where the board does not tell."""
    kernel = told.kernel.as_dict()
    del kernel["release"]
    found = kernel | {
        "cpus": told.cpus.online,
        "isolated": told.cpus.isolated,
        "model": told.model,
        "cpu_model": told.cpu_model,
        "os": told.os,
        "virtualisation": told.virtualisation,
        "cmdline": told.cmdline,
        "clocksource": told.clocksource,
        "governors": told.governors,
        "rt_runtime_us": told.rt_runtime_us,
        "microcode": told.microcode,
    }
    return {name: value for name, value in found.items() if value not in (None, "", {}, ())}

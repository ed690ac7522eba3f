"""The result of an experiment: computed from its recordings, saved as experiment.json, shown on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from rtassay.cli.judging import cache_findings, cached_findings, judge, own_requirement, parser_for
from rtassay.cli.options import EXIT_BY_STATE
from rtassay.model.errors import EXIT_INVALID, EXIT_NOT_DEMONSTRATED, EXIT_OK, BoardError


def result_of(path: Path, *, save: bool = False) -> dict[str, Any]:
    """The object of schema rtassay/experiment/1, computed now; with `save` also left in experiment.json."""
    from rtassay.experiments import results
    from rtassay.experiments.status import status_of

    result = results.build(status_of(path), results.Analysis(judged, _repeats, _compare))
    if save:
        try:
            results.save(path, result)
        except BoardError as error:
            click.echo(f"rtassay: {error}", err=True)
    return result


def judged(recording: Path) -> dict[str, Any]:
    """Findings of a sealed recording as JSON, from the cache or computed and cached."""
    from rtassay import store
    from rtassay.analysis import findings_dict

    data = cached_findings(recording)
    if data is not None:
        return data
    opened = store.open_recording(recording, parser_for=parser_for)
    findings = judge(opened, own_requirement(opened.manifest))
    cache_findings(recording, findings)
    return findings_dict(findings)


def _repeats(recordings: Sequence[Path], plan: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from rtassay import store
    from rtassay.analysis.repeats import judge_repeats
    from rtassay.cli.judging import findings_from

    opened = [store.open_recording(path) for path in recordings]
    checks = [check for path in recordings for check in findings_from(judged(path)).checks]
    return asdict(
        judge_repeats(opened, checks, deadline_ns=plan.deadline_ns, p=plan.p_target, confidence=plan.confidence)
    )


def _compare(a: Sequence[Path], b: Sequence[Path], factor: str) -> dict[str, Any]:
    from rtassay import store
    from rtassay.analysis.compare import compare, comparison_dict

    groups = [[store.open_recording(path) for path in paths] for paths in (a, b)]
    return comparison_dict(compare(groups[0], groups[1], factor=(factor,)))


def exit_code(result: dict[str, Any]) -> int:
    """By the acceptance; without a deadline 0, or 5 if a run is no measurement; 4 while cells are missing."""
    if result["cells_sealed"] < result["cells_total"]:
        return EXIT_NOT_DEMONSTRATED
    if result["acceptance"] is not None:
        return EXIT_BY_STATE[result["acceptance"]["state"]]
    return EXIT_INVALID if any(cell.get("invalid") for cell in result["cells"]) else EXIT_OK


def show(result: dict[str, Any]) -> None:
    """One screen on stdout."""
    from rtassay.cli.experiment_tables import result_text

    click.echo(result_text(result))

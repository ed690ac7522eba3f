"""rtassay show: one recording on one screen, or as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rtassay.cli import ci
from rtassay.cli.ci import ci_options
from rtassay.cli.judging import (
    Requirement,
    cached_findings,
    findings_from,
    judge,
    own_requirement,
    parser_for,
    with_trust,
)
from rtassay.cli.names import RECORDING
from rtassay.cli.options import (
    EXIT_BY_STATE,
    json_option,
    print_json,
    requirement_options,
    trust_options,
    waivers_of,
    wants_colour,
)
from rtassay.cli.terminal import echo_rendered, report_width
from rtassay.model.recording import Recording

if TYPE_CHECKING:
    from rtassay.model.findings import Findings
    from rtassay.model.ranking import Ranking


@click.command("show")
@click.argument("recording", type=RECORDING)
@requirement_options
@trust_options
@ci_options
@json_option
def command(
    recording: str,
    deadline_ns: int | None,
    p_target: float,
    per_hour: float | None,
    confidence: float,
    strict: bool,
    waive: tuple[str, ...],
    because: tuple[str, ...],
    as_json: bool,
    **files: str | None,
) -> int:
    """Show verdict, per-CPU table and checks of one RECORDING (a path, an id, a unique beginning of an id, or a name).

    With --deadline it is judged by that requirement, and the exit code follows the verdict. Without, it is judged by the one of its
    run, and the exit code is 0. --strict and --waive apply to this judgement, in addition to those of the run.

    \b
      rtassay show before
      rtassay show before --deadline 100us --p 1e-4
    """
    from rtassay import store
    from rtassay.reports.base import JudgedRecording

    waivers = waivers_of(waive, because)
    path = store.find(recording)
    stated = Requirement(deadline_ns, p_target, confidence, per_hour=per_hour) if deadline_ns is not None else None
    wanted = any(files.values())
    data, findings, opened = findings_of(path, stated, strict, waivers, want_object=wanted or not as_json)
    if as_json:
        print_json(data)
    elif findings is not None and not ci.on_stdout(files):
        show_on_terminal(findings, opened)
    if wanted and findings is not None:
        ci.write(files, JudgedRecording(findings, opened))
    verdict = data["verdict"]
    return EXIT_BY_STATE[verdict["state"]] if stated is not None and verdict is not None else 0


def findings_of(
    path: Path, stated: Requirement | None, strict: bool, waivers: dict[str, str], *, want_object: bool
) -> tuple[dict[str, Any], Findings | None, Recording]:
    """Findings as JSON, as an object if asked for, and the recording (without its tables if the findings are cached)."""
    from rtassay import store
    from rtassay.analysis.judge import findings_dict

    manifest = store.load_manifest(path)
    by_itself = manifest.sealed and stated is None and not strict and not waivers
    if by_itself:
        data = cached_findings(path)
        if data is not None:
            store.check_sizes(path, manifest)
            light = Recording(manifest=manifest, lanes=(), path=str(path))
            return data, findings_from(data) if want_object else None, light
    opened = store.open_recording(path, parser_for=parser_for)
    findings = judge(opened, with_trust(stated or own_requirement(manifest), strict, waivers))
    if by_itself:
        from rtassay.runs import cache_findings

        cache_findings(path, findings)
    return findings_dict(findings), findings, opened


def show_on_terminal(findings: Findings, recording: Recording) -> None:
    """One screen on stdout."""
    from rtassay.reports.base import JudgedRecording
    from rtassay.reports.recording.terminal import TerminalRecording

    report = TerminalRecording(width=report_width(), color=wants_colour())
    echo_rendered(report.render(JudgedRecording(findings, recording, causes=_causes(recording))))


def _causes(recording: Recording) -> Ranking | None:
    """The causes of a traced run. Findings out of the cache come without the recording's tables: those are read now."""
    if recording.manifest.trace is None:
        return None
    from rtassay import rankings, store

    if not recording.lanes and recording.path is not None:
        recording = store.open_recording(Path(recording.path), parser_for=parser_for)
    return rankings.of_report(recording)

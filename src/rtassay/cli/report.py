"""rtassay report: writes a page about one recording."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtassay import rankings, reports
from rtassay.cli.judging import Requirement, judge, open_by_name, own_requirement, with_trust
from rtassay.cli.names import RECORDING
from rtassay.cli.options import EXIT_BY_STATE, json_option, print_json, requirement_options, trust_options, waivers_of
from rtassay.cli.terminal import echo
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.files import replace_file
from rtassay.model.findings import Findings
from rtassay.model.foreign import file_name
from rtassay.model.published import Against
from rtassay.reports.base import JudgedRecording

# Formats with a place for published results.
_WITH_PUBLISHED = ("html", "markdown")


@click.command("report")
@click.argument("recording", type=RECORDING)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="File to write; its suffix names the format (.html, .md, .json, .csv, .txt). '-' is stdout. Default: reports/<id>.html beside the "
    "recordings; its path is printed.",
)
@click.option(
    "--format",
    "format_name",
    metavar="NAME",
    help="Format of the report; it overrides the suffix: html, markdown, json, csv, cyclictest, terminal, or an installed one.",
)
@click.option(
    "--against",
    metavar="published[:BOARD]",
    help="Published results beside the recording (html, markdown): published:pi5. rtassay published lists them.",
)
@requirement_options
@trust_options
@json_option
def command(
    recording: str,
    output: str | None,
    format_name: str | None,
    against: str | None,
    deadline_ns: int | None,
    p_target: float,
    per_hour: float | None,
    confidence: float,
    strict: bool,
    waive: tuple[str, ...],
    because: tuple[str, ...],
    as_json: bool,
) -> int:
    """Write one RECORDING as a self-contained HTML page (or Markdown, JSON, text).

    \b
      rtassay report before -o before.html
      rtassay report before -o before.md --deadline 2ms --p 0.01
    """
    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout")
    waivers = waivers_of(waive, because)
    path, opened = open_by_name(recording)
    stated = Requirement(deadline_ns, p_target, confidence, per_hour=per_hour) if deadline_ns is not None else None
    findings = judge(opened, with_trust(stated or own_requirement(opened.manifest), strict, waivers))
    name = format_name or _format_of(output)
    target = output or str(_place() / f"{file_name(findings.id)}{reports.load(JudgedRecording, name).suffix}")
    published = _published(against, name, findings)
    write_bytes(
        target,
        reports.load(JudgedRecording, name).render(
            JudgedRecording(findings, opened, published, rankings.of_report(opened, deadline_ns))
        ),
    )
    if as_json:
        print_json(
            {"schema": "rtassay/report/1", "id": findings.id, "recording": str(path), "path": target, "format": name}
        )
    elif target != "-":
        echo(target)
    return EXIT_BY_STATE[findings.verdict.state] if stated is not None and findings.verdict is not None else 0


def _place() -> Path:
    """The directory of reports that nobody named, beside the recordings."""
    from rtassay import store
    from rtassay.store.paths import make_directory

    place = store.home().parent / "reports"
    make_directory(place)
    return place


def _format_of(output: str | None) -> str:
    return "html" if output is None or output == "-" else reports.format_of(JudgedRecording, output)


def _published(text: str | None, name: str, findings: Findings) -> Against | None:
    """The published results for --against. Raises UsageError for another form, a board without results, or a format without such a table."""
    if text is None:
        return None
    kind, _, board = text.partition(":")
    if kind != "published":
        raise UsageError(
            f"--against '{text}' is not of the form published:BOARD", hint="against recordings: rtassay compare"
        )
    if name not in _WITH_PUBLISHED:
        raise UsageError(f"--against has no place in {name}", hint="write .html or .md")
    from rtassay.analysis.many.against import against
    from rtassay.analysis.many.published import check, choose
    from rtassay.published import load

    every = load()
    rows = choose(every, board=board or None)
    if not rows:
        raise UsageError(f"nobody published results of '{board}'", hint="rtassay published lists the boards")
    return against(findings, rows, check(every), text)


def write_bytes(target: str, data: bytes) -> None:
    """Write a file that is whole, or as it was. Raises BoardError if it cannot be written."""
    if target == "-":
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    try:
        if path.exists() and not path.is_file():  # a device or a FIFO is written to, never replaced
            path.write_bytes(data)
        else:
            replace_file(path, data)
    except OSError as error:
        raise BoardError(f"cannot write {target}", error.strerror, "name another file with -o") from error

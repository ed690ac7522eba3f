"""rtassay export: a recording's data for other programs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rtassay import rankings, reports
from rtassay.cli.judging import judge, open_by_name, own_requirement
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.report import write_bytes
from rtassay.cli.terminal import echo
from rtassay.model.errors import UsageError
from rtassay.reports.base import JudgedRecording, Report

if TYPE_CHECKING:
    from rtassay.model.causes import Hit
    from rtassay.model.recording import Recording

TRACE_DAT: Final = "trace.dat"
SETTINGS_OF_A_CAMPAIGN: Final = ("plan", "sysctl", "systemd", "cmdline", "tuned", "rt-conf", "ansible")
_HIT = re.compile(r"([0-9]{1,5}):([0-9]{1,18})")


@click.command("export")
@click.argument("recording", type=RECORDING)
@click.option(
    "--to",
    "format_name",
    metavar="FORMAT",
    required=True,
    help="csv: the exact histogram per lane; json: show --json and the histograms; cyclictest: the text of cyclictest -h -q; "
    "perfetto: late wake-ups of a traced run with their owners, for ui.perfetto.dev; "
    "trace.dat: the kernel's trace of a traced run, for trace-cmd report and KernelShark; "
    "or any other format of rtassay report. Of the directory of a campaign of prove: plan (tuned.toml), sysctl, systemd, cmdline, tuned, rt-conf, ansible, html, markdown, json.",
)
@click.option(
    "--worst",
    type=click.IntRange(min=1),
    metavar="N",
    help="trace.dat: only the pages around the N worst wake-ups.  [default: all that were captured]",
)
@click.option(
    "--hit",
    "hits",
    multiple=True,
    metavar="LANE:K",
    help="trace.dat: only the pages around activation K of this lane, as the report numbers it. Repeat it for several.",
)
@click.option("-o", "--output", default="-", show_default=True, metavar="FILE", help="File to write, '-' is stdout.")
@json_option
def command(
    recording: str, format_name: str, worst: int | None, hits: tuple[str, ...], output: str, as_json: bool
) -> int:
    """Write the histogram and figures of one RECORDING in an open format; of a campaign of prove, the settings it left.

    Samples, rollups, events and telemetry are Parquet files in the recording itself: pandas, polars and DuckDB open them directly.

    \b
      rtassay export before --to csv -o before.csv
      rtassay export before --to cyclictest
      rtassay export traced --to trace.dat --worst 3 -o late.dat
      rtassay export proofs/dedicated-20261123T060000 --to sysctl -o 90-rtassay.conf
    """
    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout", hint="add -o FILE")
    if (worst is not None or hits) and format_name != TRACE_DAT:
        raise UsageError("--worst and --hit choose wake-ups of trace.dat", hint="add --to trace.dat, or leave them out")
    if format_name == TRACE_DAT and output == "-" and sys.stdout.isatty():
        raise UsageError("trace.dat is no text for a terminal", hint="add -o trace.dat")
    if (campaign := Path(recording).expanduser() / "prove.json").is_file():
        return _campaign(campaign.parent, format_name, output, as_json)
    report = None if format_name == TRACE_DAT else _report(format_name)
    path, opened = open_by_name(recording)
    told: dict[str, Any] = {}
    if report is None:
        data, told = _trace_dat(path, opened, worst, hits)
    else:
        if format_name == "perfetto" and not opened.causes:
            raise _nothing(opened, "no wake-up with a known owner", "there is nothing to draw over time")
        findings = judge(opened, own_requirement(opened.manifest))
        data = report.render(JudgedRecording(findings, opened, causes=rankings.of_report(opened)))
    write_bytes(output, data)
    if as_json:
        shown = {"id": opened.manifest.id, "recording": str(path), "path": output, "format": format_name}
        print_json({"schema": "rtassay/export/1"} | shown | told)
    return 0


def _campaign(path: Path, format_name: str, output: str, as_json: bool) -> int:
    """What a campaign of prove found. Raises UsageError for a format of settings while none is proven."""
    from rtassay.cli.prove_result import proof_of
    from rtassay.model.proving import Proof

    report = reports.load(Proof, format_name)
    proof = proof_of(path)
    if format_name in SETTINGS_OF_A_CAMPAIGN and not proof.campaign.chosen:
        raise UsageError(f"{path} has no proven setting to export", hint=f"rtassay prove --show {path} tells why")
    write_bytes(output, report.render(proof))
    if as_json:
        print_json({"schema": "rtassay/export/1", "campaign": str(path), "path": output, "format": format_name})
    return 0


def _report(format_name: str) -> Report[JudgedRecording]:
    """The report of that format. Raises UsageError that names all formats."""
    try:
        return reports.load(JudgedRecording, format_name)
    except UsageError as error:
        raise UsageError(error.what, error.why, f"{error.hint}, {TRACE_DAT}") from error


def _nothing(opened: Recording, lacks: str, why: str) -> UsageError:
    return UsageError(f"{opened.manifest.id} has {lacks}", why, f"rtassay causes {opened.manifest.id} tells why")


def _trace_dat(path: Path, opened: Recording, worst: int | None, hits: tuple[str, ...]) -> tuple[bytes, dict[str, int]]:
    """The file, and what --json tells of it. Raises UsageError for a run without pages and for a wake-up that was not captured."""
    from rtassay.causes.trace_dat import trace_dat
    from rtassay.store import kernel_trace

    trace = kernel_trace(path, opened.manifest)
    if not trace.pages:
        raise _nothing(opened, "no trace of the kernel", "none was asked for, or nothing late was captured")
    made = trace_dat(trace, _chosen(trace.hits, worst, hits))
    if made.damaged:
        echo(f"rtassay: {made.damaged} damaged pages of the trace are left out", err=True)
    return made.data, {"pages": made.pages, "events": made.events, "damaged_pages": made.damaged}


def _chosen(captured: tuple[Hit, ...], worst: int | None, hits: tuple[str, ...]) -> list[Hit] | None:
    """The wake-ups that --worst and --hit name; None for all."""
    if worst is None and not hits:
        return None
    by_latency = sorted(captured, key=lambda hit: (-hit.latency_ns, hit.lane, hit.k))
    chosen = by_latency[:worst] if worst is not None else []
    known = {(hit.lane, hit.k): hit for hit in captured}
    for text in hits:
        match = _HIT.fullmatch(text)
        hit = known.get((int(match[1]), int(match[2]))) if match is not None else None
        if hit is None:
            some = ", ".join(f"{one.lane}:{one.k}" for one in by_latency[:3])
            raise UsageError(f"--hit '{text}' names no captured wake-up", hint=f"the worst are {some}")
        chosen.append(hit)
    return chosen

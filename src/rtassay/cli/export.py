"""rtassay export: a recording's data for other programs."""

from __future__ import annotations

import click

from rtassay import rankings, reports
from rtassay.cli.judging import judge, open_by_name, own_requirement
from rtassay.cli.names import RECORDING
from rtassay.cli.options import json_option, print_json
from rtassay.cli.report import write_bytes
from rtassay.model.errors import UsageError
from rtassay.reports.base import JudgedRecording


@click.command("export")
@click.argument("recording", type=RECORDING)
@click.option(
    "--to",
    "format_name",
    metavar="FORMAT",
    required=True,
    help="csv: the exact histogram per lane; json: show --json and the histograms; cyclictest: the text of cyclictest -h -q; "
    "perfetto: late wake-ups of a traced run with their owners, for ui.perfetto.dev; "
    "or any other format of rtassay report.",
)
@click.option("-o", "--output", default="-", show_default=True, metavar="FILE", help="File to write, '-' is stdout.")
@json_option
def command(recording: str, format_name: str, output: str, as_json: bool) -> int:
    """Write the histogram and figures of one RECORDING in an open format.

    Samples, rollups, events and telemetry are Parquet files in the recording itself: pandas, polars and DuckDB open them directly.

    \b
      rtassay export before --to csv -o before.csv
      rtassay export before --to cyclictest
    """
    if as_json and output == "-":
        raise UsageError("--json and -o - both want stdout", hint="add -o FILE")
    report = reports.load(JudgedRecording, format_name)
    path, opened = open_by_name(recording)
    if format_name == "perfetto" and not opened.causes:
        raise UsageError(
            f"{opened.manifest.id} has no wake-up with a known owner",
            "there is nothing to draw over time",
            f"rtassay causes {opened.manifest.id} tells why",
        )
    findings = judge(opened, own_requirement(opened.manifest))
    write_bytes(output, report.render(JudgedRecording(findings, opened, causes=rankings.of_report(opened))))
    if as_json:
        print_json(
            {
                "schema": "rtassay/export/1",
                "id": opened.manifest.id,
                "recording": str(path),
                "path": output,
                "format": format_name,
            }
        )
    return 0

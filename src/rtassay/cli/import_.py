"""rtassay import: turns files into recordings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import click

from rtassay.cli.import_files import Chosen, ReadingView, choose, make_importer, tabular
from rtassay.cli.judging import judge, own_requirement
from rtassay.cli.options import SettingType, json_option, print_json
from rtassay.cli.run_options import parse_labels
from rtassay.cli.terminal import echo
from rtassay.importers.base import Importer, events_of
from rtassay.importers.versions import late_policy
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.events import Event, Facts
from rtassay.model.labels import check_name, check_text
from rtassay.model.recording import Recording
from rtassay.model.settings import BY_NAME
from rtassay.model.units import NS_PER_US
from rtassay.runs import cache_findings

_OWN_FORMAT = "rtw"


@dataclass(frozen=True, slots=True)
class Told:
    """Facts that a person adds to those of the files."""

    output: str | None
    labels: dict[str, str]
    note: str | None
    name: str | None
    reading: dict[str, str]
    interval_ns: int | None
    tool_version: str | None


# Other tools measure at intervals that rtprobe does not offer.
_INTERVAL = replace(BY_NAME["interval"], least=NS_PER_US, bare=None)


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--output", metavar="DIR", help="Directory for the recordings (default: where rtassay keeps them).")
@click.option("--format", "format_name", metavar="NAME", help="The format, instead of the one that the content shows.")
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="K=V",
    help="A fact that the files do not state: kernel=rt, ambient=21C.",
)
@click.option("--note", help="A sentence to keep with the recording.")
@click.option("--name", metavar="NAME", help="What to call the recording.  [default: the name of the file]")
@click.option(
    "--interval",
    "interval_ns",
    type=SettingType(_INTERVAL),
    metavar="TIME",
    help="The interval, if the file does not state it.",
)
@click.option("--tool-version", metavar="VERSION", help="Version of the tool, if the file does not state it.")
@click.option(
    "--column", metavar="NAME", help="table, parquet: the column with the latencies (default: latency_us or alike)."
)
@click.option("--unit", metavar="UNIT", help="ns, us, ms or s, if the file does not state it.")
@click.option(
    "--measure",
    metavar="NAME",
    help="table, parquet, hgrm: the measure of the numbers (wake-up, timer-irq, noise, response:NAME ...); the file does not state it.",
)
@click.option("--lane-column", metavar="NAME", help="table, parquet: the column that names the lane of each latency.")
@json_option
def command(
    files: tuple[str, ...],
    output: str | None,
    format_name: str | None,
    labels: tuple[str, ...],
    note: str | None,
    name: str | None,
    interval_ns: int | None,
    tool_version: str | None,
    column: str | None,
    unit: str | None,
    measure: str | None,
    lane_column: str | None,
    as_json: bool,
) -> int:
    """Make recordings from FILES of other tools, and from streams of `rtprobe cyclic > f.rtw`.

    Formats, recognised by content: cyclictest (text; cyclictest-verbose, cyclictest-json), jitterdebugger (jitterdebugger-raw),
    rtla-timerlat, rtla-osnoise, oslat, cyclicdeadline, hwlatdetect, rteval, benchkit, rt-bench, osadl, console, hgrm, csv-histogram,
    table (CSV), parquet, rtw.

    A file becomes one recording, or none if any part of it cannot be read. Patterns may be quoted ('logs/*.txt'). A directory is a
    group: its files of known formats get the label group=NAME; what else is in it is named, and directories below are not searched.

    \b
      rtassay import cyclictest.txt --label kernel=rt
      rtassay import old.txt --name before --interval 1ms
      rtassay import 'logs/*.txt' --label board=pi5
    """
    given = {"column": column, "unit": unit, "lane_column": lane_column, "measure": measure}
    reading = {key: value for key, value in given.items() if value is not None}
    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"-o {output} is not a directory")
    if column is not None and format_name is None:
        format_name = tabular(files)
    if note is not None:
        check_text("--note", note)
    if name is not None:
        check_name(name)
    told = Told(output, parse_labels(labels), note, name, reading, interval_ns, tool_version)
    chosen = choose(files, format_name)  # all are looked at before any is imported
    if name is not None and len(chosen) > 1:
        raise UsageError(f"--name {name} is for one recording", f"{len(chosen)} files are imported", "use --label")
    importers = [make_importer(one.format, reading) for one in chosen]
    rows, failed = [], []
    for one, importer in zip(chosen, importers, strict=True):
        try:
            made = _import_one(one, importer, told)
        except InputFileError as error:
            if len(chosen) == 1:
                raise
            failed.append({"path": str(one.path), "error": str(error)})
            echo(f"rtassay: {error}", err=True)
            continue
        lanes = [{"name": lane.name, "cpu": lane.cpu, "measure": lane.measure} for lane in made.manifest.lanes]
        rows.append({"id": made.manifest.id, "path": made.path, "lanes": lanes})
        if not as_json:
            echo(f"{one.path} -> {made.path}")
    if as_json:
        print_json({"schema": "rtassay/import/1", "recordings": rows} | ({"failed": failed} if failed else {}))
    if failed:
        raise InputFileError(f"{len(failed)} of {len(chosen)} files could not be imported", "see above")
    return 0


def _import_one(one: Chosen, importer: Importer, told: Told) -> Recording:
    from rtassay import store

    source = importer.source(one.path)
    if told.tool_version is not None:
        source = replace(
            source, version=told.tool_version, late_policy=_policy(source.tool, told.tool_version, source.late_policy)
        )
    labels = ({"group": one.group} if one.group is not None else {}) | told.labels
    view = ReadingView(one.path)
    importer.progress = view
    events: Iterable[Event] = events_of(importer, one.path)
    if told.interval_ns is not None and one.format != _OWN_FORMAT:
        events = _with_interval(events, told.interval_ns)
    try:
        made = store.import_events(
            Path(told.output) if told.output is not None else store.home(),
            one.path,
            source,
            events,
            labels=labels,
            note=told.note,
            name=told.name,
            damage=lambda: importer.damage,
        )
    finally:
        view.close()
    opened = store.open_recording(made)
    cache_findings(made, judge(opened, own_requirement(opened.manifest)))
    return opened


def _policy(tool: str, version: str, known: str) -> str:
    found = late_policy(tool, version)
    return known if found == "unknown" else found


def _with_interval(events: Iterable[Event], interval_ns: int) -> Iterator[Event]:
    """The events, with an interval for each lane whose interval the file does not state."""
    for event in events:
        if isinstance(event, Facts) and not event.data.get("interval_ns"):
            event = Facts(event.data | {"interval_ns": interval_ns})
        yield event

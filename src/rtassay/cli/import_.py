"""rtassay import: files to recordings."""

from __future__ import annotations

import inspect
from pathlib import Path

import click

from rtassay.cli.judging import cache_findings, judge, own_requirement
from rtassay.cli.options import json_option, print_json
from rtassay.cli.run_options import parse_labels
from rtassay.importers.base import Importer
from rtassay.model import rooms
from rtassay.model.errors import InputFileError, UsageError

_HEAD = 64 * 1024


@click.command("import")
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--output", metavar="DIR", help="Directory for the recordings (default: where rtassay keeps them).")
@click.option(
    "--format", "format_name", metavar="NAME", help="The format, where it is not to be recognised by content."
)
@click.option(
    "--label", "labels", multiple=True, metavar="K=V", help="What only a person knows: ambient=21C, supply=USB."
)
@click.option("--note", help="A sentence to keep with the recording.")
@click.option(
    "--column", metavar="NAME", help="table, parquet: the column with the latencies (default: latency_us or alike)."
)
@click.option("--unit", metavar="UNIT", help="table, parquet, hgrm: ns, us, ms or s, where the file does not say.")
@click.option("--lane-column", metavar="NAME", help="table, parquet: the column that names the lane of each latency.")
@json_option
def command(
    files: tuple[str, ...],
    output: str | None,
    format_name: str | None,
    labels: tuple[str, ...],
    note: str | None,
    column: str | None,
    unit: str | None,
    lane_column: str | None,
    as_json: bool,
) -> int:
    """Recordings from FILES: streams of `rtprobe cyclic > f.rtw`, taken on a board without a network."""
    known = parse_labels(labels)
    given = {"column": column, "unit": unit, "lane_column": lane_column}
    reading = {key: value for key, value in given.items() if value is not None}
    if column is not None and format_name is None:
        format_name = _tabular(files)
    chosen = [(Path(f), _recognise(Path(f), format_name)) for f in files]  # all are looked at before any is imported
    rows = []
    for path, name in chosen:
        made = _import_one(path, _importer(name, reading), output, known, note)
        rows.append({"id": made.name.removesuffix(".rta"), "path": str(made)})
        if not as_json:
            click.echo(f"{path} -> {made}")
    if as_json:
        print_json({"schema": "rtassay/import/1", "recordings": rows})
    return 0


def _recognise(path: Path, format_name: str | None) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error
    names = [format_name] if format_name else list(rooms.table("importers"))
    for name in names:
        importer = rooms.load("importers", name)()
        if format_name or importer.recognises(head):
            return name
    raise InputFileError(
        f"{path}: not a format known here",
        "its first bytes fit none of them" if head else "the file is empty",
        f"known: {', '.join(names)}",
    )


def _importer(name: str, reading: dict[str, str]) -> Importer:
    """The importer with the options for reading. Raises UsageError for an option that its format does not have."""
    member = rooms.load("importers", name)
    known = inspect.signature(member).parameters
    for key in reading:
        if key not in known:
            raise UsageError(
                f"--{key.replace('_', '-')} means nothing for the format {name}",
                hint="leave it out, or name another --format",
            )
    made: Importer = member(**reading)
    return made


def _tabular(files: tuple[str, ...]) -> str | None:
    """Whoever names a column means a table, whatever its header looks like; Parquet shows itself."""
    try:
        heads = [_first_bytes(Path(f)) for f in files]
    except OSError:
        return None  # said with the file's name where it is recognised
    return None if b"PAR1" in heads else "table"


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4)


def _import_one(path: Path, importer: Importer, output: str | None, labels: dict[str, str], note: str | None) -> Path:
    from rtassay import store

    if output is not None and Path(output).exists() and not Path(output).is_dir():
        raise UsageError(f"-o {output} is not a directory")
    made = store.import_events(
        Path(output) if output is not None else store.home(),
        path,
        importer.source(path),
        importer.read(path),
        labels=labels,
        note=note,
    )
    opened = store.open_recording(made)
    cache_findings(made, judge(opened, own_requirement(opened.manifest)))
    return Path(made)

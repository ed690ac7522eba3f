"""A file format of a tool. To add one: a file here, a line in `__init__.py`, a page in docs/extend.

Every lane in FACTS has `measure`: what its numbers are (`model.measures`), `unknown` where the format does not tell.

An importer writes what only it knows of a file into FACTS under `"import"`; it ends in `manifest.facts["import"]`. A key is absent
if the format does not tell. The checks of `analysis.checks.imported` read these keys:

| key | holds |
| --- | --- |
| `kind` | `histogram`, `stream` (every sample in order) or `summary` (minimum, average and maximum only) |
| `unit`, `unit_from` | `ns` or `us`, and the source of that: `format`, `command line`, `option`, `values`, `assumed` |
| `trailer` | whether the file has the totals of a histogram |
| `noise_lines`, `first_noise` | the number of other lines around the data (a console log), and `{"line", "text"}` of the first |
| `missing_rows` | rows of a histogram that the file leaves out (perhaps because they were zero) |
| `lanes` | rows `{"lane", "n", "min_ns", "avg_ns", "max_ns", "sd_ns", "cycles"}`: the tool's own summary of a lane, null where it says nothing |
| `stream` | of a format that keeps the order, rows `{"lane", "n", "gaps", "lost", "duplicates", "backwards", "reduced", "undrained", "max_ns"}` |
| `started`, `ended` | when the measurement ran, ISO 8601: in UTC with Z, or unchanged if the source names no zone (times.py) |
| `time_from_stamps` | whether the times of samples come from stamps in the file |
| `caveats` | list of sentences: what this format hides, rounds or mixes in this file |
| `inconsistent` | list of sentences: contradictions of the file that `lanes` does not show (a block that is no sum, a minimum above a maximum) |
| `load` | the load the file declares, in its words |
| `over_at_least` | true: the file does not count samples beyond its last bin, but its maximum proves that there are some; `over` is then their smallest possible number |
| `torn_line` | the number of the last line, if it has no newline: the file may be cut off there (`events_of`) |
| `negative` | lane name -> how many latencies are below 0 |

Floats are allowed for averages and deviations only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from rtassay.model.errors import InputFileError
from rtassay.model.events import Event, Facts
from rtassay.model.files import open_regular
from rtassay.model.manifest import Damage, Source

BLOCK_BYTES = 1 << 20
JSON_BYTES = 256 << 20

Progress = Callable[[int, int], None]
"""Called with the bytes read so far and the bytes in all."""


class Importer(Protocol):
    """One format. Reading streams: constant memory whatever the size of the file.

    A member derives from this class, and has at least `name`, `summary`, `recognises`, `source` and `read`.

    `damage_allowed`: whether a cut or damaged file still gives a recording (only our own streams, which count their losses).
    `lines`: whether a file is text in lines, each with a newline at its end.
    `damage`: the losses of the file that was read last, known after its last event.
    `progress`: set it before `read` to follow the reading; members with small files do not call it.
    """

    name: str
    summary: str
    damage_allowed: bool = False
    lines: bool = False
    damage: Damage = Damage()
    progress: Progress | None = None

    def recognises(self, head: bytes) -> bool:
        """Whether the first (or the last) 64 KiB look like this format."""
        ...

    def source(self, path: Path) -> Source:
        """Tool, version, format and late policy, as far as the file tells. Raises InputFileError if it cannot be read."""
        ...

    def read(self, path: Path) -> Iterator[Event]:
        """Events of the whole file. Raises InputFileError with file, line and column for bad content."""
        ...


def events_of(importer: Importer, path: Path) -> Iterator[Event]:
    """`importer.read(path)`, with `torn_line` added to FACTS."""
    torn = _torn_line(path) if importer.lines else None
    for event in importer.read(path):
        if torn is not None and isinstance(event, Facts):
            yield replace(event, data={**event.data, "import": {**event.data.get("import", {}), "torn_line": torn}})
        else:
            yield event


def is_object(head: bytes) -> bool:
    """Whether a file with this beginning is JSON and not text in lines: some tools write both."""
    return head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def _torn_line(path: Path) -> int | None:
    count, last = 0, b"\n"
    for piece in blocks(path):
        if count == 0 and is_object(piece):
            return None
        count, last = count + piece.count(b"\n"), piece[-1:]
    return None if last == b"\n" else count + 1


def blocks(path: Path, size: int = BLOCK_BYTES, progress: Progress | None = None) -> Iterator[bytes]:
    """The file in pieces. Raises InputFileError naming it if it cannot be read."""
    try:
        with open_regular(path) as file:
            done, total = 0, path.stat().st_size
            while piece := file.read(size):
                done += len(piece)
                yield piece
                if progress is not None:
                    progress(done, total)
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error


def contents(path: Path, limit: int = JSON_BYTES) -> bytes:
    """The bytes of a small file. Raises InputFileError if it cannot be read or is larger than `limit` bytes."""
    try:
        with open_regular(path) as file:
            data = file.read(limit + 1)
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error
    if len(data) > limit:
        raise InputFileError(f"{path} is larger than {limit >> 20} MiB", "no file of this format is that large")
    return data

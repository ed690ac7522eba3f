"""The files of `rtassay import`, their formats, and the progress of the reading."""

from __future__ import annotations

import glob
import inspect
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rtassay.cli.terminal import echo
from rtassay.importers.base import Importer, is_object
from rtassay.model import rooms
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.files import open_regular
from rtassay.model.foreign import printable

_LINE_SEEN = 1000
_HEAD = 64 * 1024
_SAYS_AFTER_S = 2.0
_LINE_EVERY_S = 10.0
_REDRAW_EVERY_S = 0.5
_SUFFIX = ".rta"


@dataclass(frozen=True, slots=True)
class Chosen:
    """One file to import. `group`: name of the directory that was given, if it was one."""

    path: Path
    format: str
    group: str | None = None


def choose(words: tuple[str, ...], format_name: str | None) -> list[Chosen]:
    """Every file of the command line with its format; a directory stands for its files of a known format.

    Raises UsageError and InputFileError that name the file and the formats tried.
    """
    chosen: list[Chosen] = []
    for word in words:
        for path in _expand(word):
            chosen += (
                _of_directory(path, format_name) if path.is_dir() else [Chosen(path, recognise(path, format_name))]
            )
    once: dict[Path, Chosen] = {}
    for one in chosen:
        once.setdefault(one.path.resolve(), one)
    return list(once.values())


def _expand(word: str) -> list[Path]:
    """The path, or the paths that match a pattern that the shell did not expand."""
    path = Path(word)
    if word == "-":
        raise UsageError(
            "import reads no standard input", hint="write it into a file: ... > f.txt; rtassay import f.txt"
        )
    if path.exists() or not glob.has_magic(word):
        return [path]
    found = [Path(name) for name in sorted(glob.glob(word, recursive=True))]  # noqa: PTH207 - the pattern may be absolute
    if not found:
        raise UsageError(f"no file matches {word}")
    return found


def _of_directory(directory: Path, format_name: str | None) -> list[Chosen]:
    if directory.suffix == _SUFFIX:
        raise UsageError(f"{directory} is a recording already", hint="use it directly with show, report or compare")
    try:
        entries = sorted(path for path in directory.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InputFileError(f"cannot read {directory}", error.strerror) from error
    group = directory.resolve().name
    found: list[Chosen] = []
    # Files of directories below are named one by one, or by a pattern as 'logs/**/*.txt'.
    unknown = [f"{path.name}/" if path.is_dir() else path.name for path in entries if not path.is_file()]
    for path in filter(Path.is_file, entries):
        names = [format_name] if format_name else formats_of(path)
        if len(names) == 1:
            found.append(Chosen(path, names[0], group))
        else:
            unknown.append(path.name)
    # jitterdebugger -o DIR -s writes one run twice; the samples keep order and have no limit of 1 ms
    formats = {one.format for one in found}
    if {"jitterdebugger", "jitterdebugger-raw"} <= formats:
        unknown += [one.path.name for one in found if one.format == "jitterdebugger"]
        found = [one for one in found if one.format != "jitterdebugger"]
    if not found:
        below = next((name for name in unknown if name.endswith("/")), None)
        hint = _known() if below is None else f"directories below are not searched: rtassay import {directory}/{below}"
        raise InputFileError(f"{directory} holds no file of a format known here", hint=hint)
    if unknown:
        echo(f"{directory}: left out {', '.join(unknown)}", err=True)
    return found


def recognise(path: Path, format_name: str | None) -> str:
    """The one format of a file. Raises InputFileError if it is none, or several."""
    names = [format_name] if format_name else formats_of(path)
    if len(names) == 1:
        return names[0]
    if names:
        raise InputFileError(
            f"{path} could be {' or '.join(names)}", hint=f"say which: {' or '.join(f'--format {n}' for n in names)}"
        )
    empty = path.is_file() and path.stat().st_size == 0
    raise InputFileError(
        f"{path}: not a format known here", "the file is empty" if empty else "its content fits none of them", _known()
    )


def formats_of(path: Path) -> list[str]:
    """Formats whose importer recognises the beginning of a file; if none does (a console log), its end."""
    try:
        with open_regular(path) as file:
            head = file.read(_HEAD)
            file.seek(max(len(head), path.stat().st_size - _HEAD))
            tail = file.read(_HEAD)
    except OSError as error:
        raise InputFileError(f"cannot read {path}", error.strerror) from error
    members = {name: rooms.load("importers", name)() for name in rooms.table("importers")}
    found = [name for name, member in members.items() if _fits(member, head)]
    return found or [name for name, member in members.items() if tail and _fits(member, tail)]


def _fits(member: Importer, data: bytes) -> bool:
    """Whether an importer recognises these bytes. Of a text it sees the beginning of each line: its patterns are not for lines without end."""
    if member.lines and not is_object(data):
        data = b"\n".join(line[:_LINE_SEEN] for line in data.split(b"\n"))
    return member.recognises(data)


def _known() -> str:
    return f"tried: {', '.join(rooms.table('importers'))}; --format NAME overrides"


def make_importer(name: str, reading: dict[str, str]) -> Importer:
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


def tabular(words: tuple[str, ...]) -> str | None:
    """A column name means the format `table`, whatever the header of the file looks like. Parquet is recognised by its content."""
    try:
        heads = [_first_bytes(path) for word in words for path in _expand(word) if path.is_file()]
    except OSError:
        return None  # the error comes later, with the file's name
    return None if b"PAR1" in heads else "table"


def _first_bytes(path: Path) -> bytes:
    with open_regular(path) as file:
        return file.read(4)


class ReadingView:
    """Shows on stderr how much of a file is read, if reading takes longer than two seconds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._live = sys.stderr.isatty()
        self._next_s = time.monotonic() + _SAYS_AFTER_S
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now < self._next_s or not total:
            return
        self._next_s = now + (_REDRAW_EVERY_S if self._live else _LINE_EVERY_S)
        text = f"{self._path}: {100 * done // total} % read"
        if self._live:
            sys.stderr.write(f"\r{printable(text)}\x1b[K")
            sys.stderr.flush()
            self._drawn = True
        else:
            echo(text, err=True)

    def close(self) -> None:
        """Erase the line."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

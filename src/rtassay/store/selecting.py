"""Recordings by what is known of them: `kernel=rt`, `board=pi5,load=none`, `since=2026-11-01`, or a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final

from rtassay.model.errors import UsageError
from rtassay.store import index
from rtassay.store.index import IndexEntry
from rtassay.store.paths import home

_CONDITION = re.compile(r"([A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_NEXT = re.compile(r",(?=[A-Za-z][\w.-]*=)")
SINCE: Final = "since"


def _loads(entry: IndexEntry) -> set[str]:
    """`stress-ng:cpu@0-1 + hackbench` by every name: whole, with arguments, and the bare name of each load."""
    each = [part.strip() for part in entry.load.split(" + ")]
    return {entry.load, *each, *(re.split(r"[:@]", part)[0] for part in each)}


def _kernels(entry: IndexEntry) -> set[str]:
    kind = {True: {"rt"}, False: {"stock"}, None: set()}[entry.realtime]
    return kind | ({entry.kernel} if entry.kernel else set())


# What is recorded, by the name people select it with. A label of the same name decides where a recording has one: it is what a person said.
FACTS: Final[dict[str, Callable[[IndexEntry], set[str]]]] = {
    "board": lambda entry: {entry.board} - {""},
    "kernel": _kernels,
    "load": lambda entry: _loads(entry) - {""},
    "tool": lambda entry: {entry.tool} - {""},
    "probe": lambda entry: {entry.probe} - {""},
    "experiment": lambda entry: set(),  # a label of every run of an experiment
}


def conditions(text: str) -> list[tuple[str, str]] | None:
    """`kernel=rt,board=pi5` as pairs; None for a text that is no condition."""
    found = [_CONDITION.fullmatch(part) for part in _NEXT.split(text)]
    return [(match[1], match[2]) for match in found if match is not None] if None not in found else None


def select(text: str) -> list[Path]:
    """The recordings for which all conditions hold, oldest first. Raises UsageError with what there is if none does."""
    wanted = conditions(text)
    assert wanted is not None
    entries = [entry for entry in _entries(wanted) if not entry.error]
    chosen = [entry for entry in entries if all(holds(entry, key, value) for key, value in wanted)]
    if chosen:
        return [Path(entry.path) for entry in chosen]
    raise UsageError(f"no recording has {text}", hint="; ".join(_known(entries, key, value) for key, value in wanted))


def holds(entry: IndexEntry, key: str, value: str) -> bool:
    """Whether one condition holds for a recording. Raises UsageError for a `since` that is no date."""
    if key == SINCE:
        return _moment(entry.created) >= _moment(value)
    return value in _values(entry, key)


def _values(entry: IndexEntry, key: str) -> set[str]:
    if key in entry.labels:
        return {entry.labels[key]}
    return FACTS[key](entry) if key in FACTS else set()


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise UsageError(
            f"since={text} is not a date", hint="write since=2026-11-01 or since=2026-11-01T14:00"
        ) from error


def _known(entries: Sequence[IndexEntry], key: str, value: str) -> str:
    if key == SINCE:
        return f"the newest is of {entries[-1].created[:10]}" if entries else "there is no recording"
    values = sorted({value for entry in entries for value in _values(entry, key)})
    if value in values:
        return f"{key}={value} alone is known"
    return f"{key} is one of {', '.join(values)}" if values else f"no recording has a label {key}"


def _entries(wanted: Sequence[tuple[str, str]]) -> list[IndexEntry]:
    """Of our recordings; where an experiment is asked for, those of the experiments beside them too, one for each of their cells."""
    found = index.entries(home())
    if not any(key == "experiment" for key, _ in wanted):
        return found
    for place in sorted((home().parent / "experiments").glob("*/recordings")):
        cells = {entry.labels.get("cell", entry.id): entry for entry in index.entries(place)}
        found += cells.values()
    return sorted(found, key=lambda entry: entry.id)

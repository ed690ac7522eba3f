"""Selects recordings by what is known of them: `kernel=rt`, `board=pi5,load=none`, `since=2026-11-01`, or a label."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from rtassay.model.errors import UsageError
from rtassay.model.systems import systems
from rtassay.store import index
from rtassay.store.index import IndexEntry
from rtassay.store.paths import home

_CONDITION = re.compile(r"([A-Za-z][\w.-]*)=(.+)", re.DOTALL)
_NEXT = re.compile(r",(?=[A-Za-z][\w.-]*=)")
SINCE: Final = "since"
UNTIL: Final = "until"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _loads(entry: IndexEntry) -> set[str]:
    """Every name of `stress-ng:cpu@0-1 + hackbench`: the whole text, each load with arguments, each bare name."""
    each = [part.strip() for part in entry.load.split(" + ")]
    return {entry.load, *each, *(re.split(r"[:@]", part)[0] for part in each)}


def _kernels(entry: IndexEntry) -> set[str]:
    kind = {True: {"rt"}, False: {"stock"}, None: set()}[entry.realtime]
    return kind | ({entry.kernel} if entry.kernel else set())


def _verdicts(entry: IndexEntry) -> set[str]:
    """`violated`, `holds`, `not-demonstrated`, `invalid-measurement` or `invalid`; `none` without a requirement."""
    if entry.state is None:
        return {"none"}
    word = entry.state.lower().replace(" ", "-")
    return {word, "invalid"} if word.startswith("invalid") else {word}


# Recorded facts by the name that selects them. A label of the same name goes before the fact: a person has set it.
FACTS: Final[dict[str, Callable[[IndexEntry], set[str]]]] = {
    "board": lambda entry: {entry.board} - {""},
    "kernel": _kernels,
    "os": lambda entry: set(systems(entry.kernel, entry.tool, entry.realtime)),
    "load": lambda entry: _loads(entry) - {""},
    "tool": lambda entry: {entry.tool} - {""},
    "probe": lambda entry: {entry.probe} - {""},
    "verdict": _verdicts,
    "name": lambda entry: {entry.name or "", entry.file or ""} - {""},
    "experiment": lambda entry: set(),  # a label of every run of an experiment
}


def conditions(text: str) -> list[tuple[str, str]] | None:
    """`kernel=rt,board=pi5` as pairs; None for a text that is no condition."""
    found = [_CONDITION.fullmatch(part) for part in _NEXT.split(text)]
    return [(match[1], match[2]) for match in found if match is not None] if None not in found else None


def matching(texts: Sequence[str], place: Path | None = None) -> list[IndexEntry]:
    """The recordings that meet all conditions of all texts, oldest first; maybe none. Without a text: all recordings.

    `place`: a directory instead of our recordings and the experiments beside them.

    Raises UsageError for a text that is no condition, and for a name that no recording has and that is no fact.
    """
    wanted = []
    for text in texts:
        found = conditions(text)
        if found is None:
            raise UsageError(f"'{text}' is not a condition", hint="write kernel=rt, board=pi5 or since=2026-11-01")
        wanted += found
    entries = _entries(wanted, place)
    for key, _ in wanted:
        if key not in (SINCE, UNTIL, *FACTS) and not any(key in entry.labels for entry in entries):
            labels = sorted({label for entry in entries for label in entry.labels})
            raise UsageError(
                f"no recording has a label '{key}'",
                hint=f"known: {', '.join(dict.fromkeys((*FACTS, SINCE, UNTIL, *labels)))}",
            )
    return [entry for entry in entries if all(not entry.error and holds(entry, key, value) for key, value in wanted)]


def why_none(texts: Sequence[str], place: Path | None = None) -> str:
    """The existing values, for conditions that no recording meets together."""
    wanted = [pair for text in texts for pair in conditions(text) or ()]
    entries = [entry for entry in _entries(wanted, place) if not entry.error]
    return "; ".join(_known(entries, key, value) for key, value in wanted)


def select(text: str) -> list[Path]:
    """The recordings that meet all conditions, oldest first. Raises UsageError with the existing values if none does."""
    wanted = conditions(text)
    assert wanted is not None
    entries = [entry for entry in _entries(wanted) if not entry.error]
    chosen = [entry for entry in entries if all(holds(entry, key, value) for key, value in wanted)]
    if chosen:
        return [Path(entry.path) for entry in chosen]
    raise UsageError(f"no recording has {text}", hint="; ".join(_known(entries, key, value) for key, value in wanted))


def holds(entry: IndexEntry, key: str, value: str) -> bool:
    """Whether a recording meets one condition. `until` a date includes that day. Raises UsageError for a bad date."""
    if key == SINCE:
        return _moment(key, entry.created) >= _moment(key, value)
    if key == UNTIL:
        end = _moment(key, value) + (timedelta(days=1) if _DATE.fullmatch(value) else timedelta(microseconds=1))
        return _moment(key, entry.created) < end
    return (value.lower().replace(" ", "-") if key == "verdict" else value) in _values(entry, key)


def _values(entry: IndexEntry, key: str) -> set[str]:
    if key in entry.labels:
        return {entry.labels[key]}
    return FACTS[key](entry) if key in FACTS else set()


def _moment(key: str, text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError as error:
        raise UsageError(
            f"{key}={text} is not a date", hint=f"write {key}=2026-11-01 or {key}=2026-11-01T14:00"
        ) from error


def _known(entries: Sequence[IndexEntry], key: str, value: str) -> str:
    if key == SINCE:
        return f"the newest is of {entries[-1].created[:10]}" if entries else "there is no recording"
    if key == UNTIL:
        return f"the oldest is of {entries[0].created[:10]}" if entries else "there is no recording"
    values = sorted({value for entry in entries for value in _values(entry, key)})
    if value in values:
        return f"{key}={value} alone is known"
    return f"{key} is one of {', '.join(values)}" if values else f"no recording has a label {key}"


def _entries(wanted: Sequence[tuple[str, str]], place: Path | None = None) -> list[IndexEntry]:
    """Our recordings; if `experiment` is a condition, also those of the experiments beside them, one per cell."""
    if place is not None:
        return index.entries(place)
    found = index.entries(home())
    if not any(key == "experiment" for key, _ in wanted):
        return found
    for place in sorted((home().parent / "experiments").glob("*/recordings")):
        cells = {entry.labels.get("cell", entry.id): entry for entry in index.entries(place)}
        found += cells.values()
    return sorted(found, key=lambda entry: entry.id)

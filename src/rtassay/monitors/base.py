"""A monitor: board files to read once a second, and a parser. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of one quantity, e.g. ("cpu0.busy", 0.97, "ratio")."""

    name: str
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class Message:
    """A line of text with its own moment on the board's CLOCK_MONOTONIC."""

    mono_ns: int
    text: str


class Monitor(Protocol):
    """Files of the board and the parser of their content. Members inherit from this class, which gives `describing` and `may_be_silent` a default.

    `paths`: in the order in which one `rtprobe watch` reads them. They may hold shell globs, expanded on the board when the watch
    starts, and `@sources` (STREAM.md, FILE): the kernel's log, real-time threads, a model-specific register, a program's output.
    `10s:PATH` is read every 10 s instead of every second: for files that are costly to read or hardly change.
    `describing`: paths that only explain the others (the name of a sensor). A board without the others has nothing to watch.
    `may_be_silent`: a monitor without readings counts as having watched; any other then has the state `no readings`.
    """

    name: str
    paths: tuple[str, ...]
    describing: tuple[str, ...] = ()
    may_be_silent: bool = False

    def parse(self, mono_ns: int, path: str, content: bytes) -> list[Reading | Message]:
        """Readings and messages of one file at one moment, `mono_ns` on the probe's clock; `path` is its plain name.

        It may keep state (differences). Content that it does not understand gives [].
        """
        ...


_PERIOD = re.compile(r"\d+(?:\.\d+)?(?:ns|us|ms|s|m|min|h|d):(.+)", re.DOTALL)


def plain(path: str) -> str:
    """A path or source without its period."""
    slower = _PERIOD.fullmatch(path)
    return path if slower is None else slower[1]

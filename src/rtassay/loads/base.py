"""A load keeps the board busy. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from rtassay.model.errors import UsageError
from rtassay.model.events import Output
from rtassay.model.manifest import WorkPart
from rtassay.model.units import format_cpu_list, parse_cpu_list

CLASSES: Final = ("cpu", "cache", "memory", "vm", "io", "hdd", "fork", "timer", "network", "scheduler", "gpu")
OTHERS: Final = "others"
_AT_CPUS = re.compile(rf"@(\d[\d,:-]*|{OTHERS})$")


@dataclass(frozen=True, slots=True)
class Asked:
    """One load as a person asks for it: NAME[:ARGUMENT][@CPUS]. `others`: on the CPUs that are not set aside, nor would be by `--cpus isolated`."""

    name: str
    argument: str | None = None
    cpus: tuple[int, ...] | None = None
    others: bool = False

    def __str__(self) -> str:
        argument = "" if self.argument is None else f":{self.argument}"
        at = OTHERS if self.others else None if self.cpus is None else format_cpu_list(self.cpus)
        return self.name + argument + ("" if at is None else f"@{at}")


def parse_asked(text: str) -> Asked:
    """The parts of NAME[:ARGUMENT][@CPUS]; an `@` that no CPU list ends is a part of the argument. Raises UsageError."""
    cpus, others = None, False
    if at := _AT_CPUS.search(text):
        others = at[1] == OTHERS
        text, cpus = text[: at.start()], None if others else parse_cpu_list(at[1])
    name, colon, argument = text.partition(":")
    if colon and not argument.strip():
        raise UsageError(f"'{name}:' names no arguments", hint=f"write {name} alone, or {name}:ARGUMENTS")
    return Asked(name, argument if colon else None, cpus, others)


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """The facts that the session gives to a load that makes its command lines. `index`: the number of the load in the run, from 0.

    `workers`: how many the board's CPUs give work to, those set aside included, so that what CPUs share is loaded alike with and without
    isolation; None: one for each of `cpus`.
    """

    argument: str | None
    cpus: tuple[int, ...]
    duration_s: int
    memory_available_bytes: int | None
    rtprobe: str
    program: str | None
    index: int = 0
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class LoadCommand:
    """One process to guard. `classes`: which of CLASSES it stresses, empty where that is not known.

    `ready`: words of its output after which the next command may start (a server that listens); such a command ends last.
    `on`: another machine that it runs on, as boards are named; its first word is then a program on the PATH there, and no
    `rtprobe repeat` bounds it but its guard alone. Work that it counts becomes parts of the load's other command.
    """

    argv: tuple[str, ...]
    classes: tuple[str, ...] = ()
    ready: str | None = None
    on: str | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """Work per second, over the time that ended at `mono_ns` of the board's clock; `unit` e.g. `bytes/s`."""

    mono_ns: int
    value: float
    unit: str


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Work done, by the load's own output: None if it does not tell. `error`: the load's own words about a failure.

    `software`: whether the CPU did the work of a GPU; None if the load does not tell.
    """

    operations: float | None
    unit: str | None
    error: str | None = None
    parts: tuple[WorkPart, ...] = ()
    software: bool | None = None


class Meter(Protocol):
    """Reads the output of one command while it runs, in constant memory."""

    def take(self, output: Output) -> list[Rate]:
        """Rates of work in this piece of stdout (fd 1) or stderr (fd 2); [] if it has none."""
        ...

    def stopping(self) -> None:
        """Called when the command is being ended. Its complaints after this are not errors."""
        ...

    def result(self) -> LoadResult:
        """The work of the command, after it has ended or was cut."""
        ...


class Load(Protocol):
    """One load. Each of its commands runs under `rtprobe guard --wrap`, which proves it alive and ends it on every path."""

    name: str
    summary: str

    def needs(self, argument: str | None) -> str | None:
        """The program that must be on the board; None if rtprobe is enough. Raises UsageError for an argument it cannot read."""
        ...

    def commands(self, spec: LoadSpec) -> list[LoadCommand]:
        """The commands to start, in this order. Every command also ends by itself after `spec.duration_s`. Raises UsageError."""
        ...

    def meter(self, argv: Sequence[str]) -> Meter:
        """A new reader of the output of one of the commands."""
        ...

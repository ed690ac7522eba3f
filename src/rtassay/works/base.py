"""A work: a fixed amount of something that a board does again and again. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Protocol

from rtassay.model.errors import UsageError
from rtassay.model.units import NS_PER_S


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a work with a time of its own, as `switch` of the built-in one; a work with one part alone calls it ''.

    `amount` of `unit`: what one round does of it. It is the same in every round and on every kernel.
    """

    name: str
    amount: float
    unit: str


@dataclass(frozen=True, slots=True)
class Done:
    """A part of one round: how long its `amount` took, and its CPU time. None: the tool does not tell; that of the whole round counts."""

    part: str
    ns: int | None
    cpu_ns: int | None = None


class Work(Protocol):
    """One work. `rtprobe repeat --tell` starts its command again and again, on the CPUs of the run, and tells what each round wrote.

    The command must end by itself when the work is done, with exit code 0, and may leave no process outside its process group. It works on this
    board alone: nothing of it may reach another machine.
    """

    name: str
    summary: str
    program: str | None
    """What must be on the board's PATH; None if rtprobe is enough."""

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        """What one round does, in the order of the report. Raises UsageError for an argument that it cannot read."""
        ...

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        """The command of one round; `rtprobe`: its path on the board. Raises UsageError."""
        ...

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        """What one round wrote. Without a part that it should tell, the round does not count."""
        ...


def split(name: str, argument: str) -> list[str]:
    """Arguments as a shell would split them, given to no shell. Raises UsageError."""
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise UsageError(f"cannot read the arguments of {name}: {argument}", str(error)) from error
    if not words:
        raise UsageError(f"'{name}:' names no arguments", hint=f"write {name} alone, or {name}:ARGUMENTS")
    return words


def ns_of(seconds: str | float) -> int:
    """Seconds as a tool tells them."""
    return round(float(seconds) * NS_PER_S)

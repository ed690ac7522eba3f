"""The host's side of a way to measure. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source


@dataclass(frozen=True, slots=True)
class FarEnd:
    """What rtprobe does on another machine meanwhile. `machine`: as boards are named; `words`: of rtprobe there; `ready`: what it writes when it is.

    `plan`: with the address at which it is reached.
    """

    machine: str
    words: tuple[str, ...]
    ready: str
    plan: Plan


class Probe(Protocol):
    """One way to measure: a command line and a parser of what it writes.

    `program`: the program that the board must have (None: rtprobe, which the host brings). `stream_file`: the file of the recording that
    keeps its bytes. `late_policy`: see docs/method/activations.md. `own_threads`: it measures by threads of its own, on a grid of
    due times; else interval, policy, priority and CPUs of a plan mean nothing to it. `needs`: another program of the board, which its command starts. `joins`: its threads join a cgroup of isolated CPUs
    (`--partition`). `as_cyclictest`: a line of cyclictest measures nearly the same. `policy`: its threads have this one, whatever it is started with. `beyond_ns`: how long it may take beyond the time that it measures. A member derives from this class. `of_line` and
    `doubts` have defaults: most probes have no command line that people know.
    """

    name: str
    program: str | None
    stream_file: str
    late_policy: str
    needs: str | None = None
    own_threads: bool = True
    joins: bool = False
    as_cyclictest: bool = False
    policy: str | None = None
    beyond_ns: int = 0

    def check(self, plan: Plan) -> None:
        """Raise UsageError for a plan that this probe cannot carry out."""
        ...

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        """Command line for the board; `program` is its path there, `cpus` the measured CPUs, one lane each."""
        ...

    def far_end(self, plan: Plan, seconds: int) -> FarEnd | None:
        """What has to run on another machine for so long; None for a plan that needs none. Raises UsageError."""
        return None

    def parser(self, plan: Plan) -> Parser:
        """A new parser of what the command writes to stdout."""
        ...

    def source(self, version: str | None) -> Source:
        """Tool, `version` as it told it in FACTS or on its own, and late policy."""
        ...

    def of_line(self, plan: Plan, line: str, scale: Fraction = Fraction(1)) -> tuple[Plan, tuple[str, ...]]:
        """`plan` changed to measure exactly this command line of the tool, with loops and duration times `scale`; and the dropped options, in words.

        Raises UsageError for a line that this probe cannot measure.
        """
        raise UsageError(f"the probe {self.name} measures no line of another tool", hint="use --probe cyclictest")

    def doubts(self, plan: Plan) -> tuple[tuple[str, str], ...]:
        """(id of a check, words) for each known weakness of the plan's command line, before the run."""
        return ()


def find(name: str) -> Probe:
    """The member of the room with this name (NAME:ARGUMENT: made with that argument), else rtprobe with the method of this name.

    `model.methods.check_plan` asks `rtprobe describe` whether that method exists.
    """
    head, colon, argument = name.partition(":")
    if head in rooms.table("probes"):
        kind = rooms.load("probes", head)
        member: Probe = kind(argument) if colon else kind()
        return member
    method: Probe = rooms.load("probes", "rtprobe")(name)
    return method


def count_ends_first(plan: Plan) -> bool:
    """What ends the run if both a duration and a number of samples per lane are given: the earlier one."""
    if plan.count is None:
        return False
    return plan.duration_ns is None or plan.interval_ns is None or plan.count * plan.interval_ns < plan.duration_ns

"""A way to measure, as the host sees it. To add one: a file here, a line in `__init__.py`, a page in docs/extend."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan, Source


class Probe(Protocol):
    """One way to measure: a command line and a parser of what it writes.

    `program`: what must exist on the board (None: rtprobe itself, which the board brings). `stream_file`: the recording's file that its
    bytes are teed to. `late_policy`: see docs/method/activations.md. A member derives from this class; `of_line` and `doubts` have defaults, since most
    probes have no command line of their own that people know.
    """

    name: str
    program: str | None
    stream_file: str
    late_policy: str

    def check(self, plan: Plan) -> None:
        """Raise UsageError for anything in the plan that this probe cannot do."""
        ...

    def command(self, plan: Plan, program: str, cpus: tuple[int, ...]) -> list[str]:
        """Command line for the board; `program` is its path there, `cpus` the measured CPUs, one lane each."""
        ...

    def parser(self, plan: Plan) -> Parser:
        """A new parser of what the command writes to stdout."""
        ...

    def source(self, facts: dict[str, object]) -> Source:
        """Tool, version and late policy, from the facts it sent."""
        ...

    def of_line(self, plan: Plan, line: str, scale: Fraction = Fraction(1)) -> tuple[Plan, tuple[str, ...]]:
        """`plan` to measure exactly this line of the tool, loops and duration times `scale`; and what was dropped from it, in words.

        Raises UsageError for a line that cannot be measured so.
        """
        raise UsageError(f"the probe {self.name} measures no line of another tool", hint="use --probe cyclictest")

    def doubts(self, plan: Plan) -> tuple[tuple[str, str], ...]:
        """(id of a check, words) for what the plan's line is known to measure badly, before it is run."""
        return ()


def find(name: str) -> Probe:
    """The member of the room with this name, else rtprobe with the method of this name.

    Whether rtprobe has that method only its `describe` tells: see `model.methods.check_plan`.
    """
    if name in rooms.table("probes"):
        member: Probe = rooms.load("probes", name)()
        return member
    method: Probe = rooms.load("probes", "rtprobe")(name)
    return method


def count_ends_first(plan: Plan) -> bool:
    """Which of a duration and a number of samples per lane ends the run, where both are given: the earlier one."""
    if plan.count is None:
        return False
    return plan.duration_ns is None or plan.interval_ns is None or plan.count * plan.interval_ns < plan.duration_ns

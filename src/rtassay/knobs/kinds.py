"""Shapes that many settings have: one number in a file, one word of a choice, something that only a person can look at."""

from __future__ import annotations

from rtassay.knobs.base import Knob, NotRead, Seen, ok, unknown, wrong
from rtassay.model.knobs import UNKNOWN, WRITE, Action, Goal, Look


def advised(knob: Knob, now: str, wanted: str, *actions: Action) -> Look:
    """`wrong`; or `unknown`, where no source can tell what is right: sources contradict each other, or it is folklore."""
    if knob.evidence in ("X", "F"):
        return unknown(f"{now}; whether another value is better here only a measurement tells", wanted, *actions)
    return wrong(now, wanted, *actions)


def last(path: str) -> str:
    """The name of a file."""
    return path.rpartition("/")[2]


class OneNumber(Knob):
    """A file with one integer: right if it is in `good`, else `best` is to be written."""

    path: str
    good: tuple[int, ...]
    best: int

    def value(self, seen: Seen) -> int:
        """The number. Raises NotRead."""
        return seen.number(self.path)

    def look(self, seen: Seen, goal: Goal) -> Look:
        value = self.value(seen)
        now = f"{last(self.path)} {value}"
        if value in self.good:
            return ok(now)
        return advised(self, now, str(self.best), Action(WRITE, self.path, str(self.best)))


class OneChoice(Knob):
    """A file with one word chosen of several, in brackets: right if it is in `good`, else `best` is to be written."""

    path: str
    good: tuple[str, ...]
    best: str

    def look(self, seen: Seen, goal: Goal) -> Look:
        word = seen.chosen(self.path)
        if word in self.good:
            return ok(word)
        return advised(self, word, self.best, Action(WRITE, self.path, self.best))


class Told(Knob):
    """A setting that no file of a board tells: it is named, and a person looks."""

    how: str

    def look(self, seen: Seen, goal: Goal) -> Look:
        raise NotRead(UNKNOWN, self.how)

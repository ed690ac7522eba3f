"""Swap space."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.model.knobs import BY_HAND, LOW, RUN_TIME, WRITE, Action, Goal, Look

_PATH = "/proc/swaps"
_SWAPPINESS = "/proc/sys/vm/swappiness"
_LEAST = 1


class Swap(Knob):
    """A program that locked its memory is not swapped."""

    name = "swap"
    title = "swap"
    why = "A page that was swapped out is read from a disk when it is touched. Locked memory stays."
    effect = "nothing for a program that locked its memory; for others no major faults"
    harm = "programs are killed when memory runs out; swapoff may take minutes"
    scope = RUN_TIME
    evidence = "F"
    severity = LOW
    sources = ("guides for audio", "tuned: profile realtime leaves it alone")
    reads = (_PATH, _SWAPPINESS)

    def look(self, seen: Seen, goal: Goal) -> Look:
        areas = [line.split()[0] for line in seen.text(_PATH).split("\n")[1:] if line.split()]
        if not areas:
            return ok("none")
        rarely = seen.has(_SWAPPINESS) and seen.number(_SWAPPINESS) > _LEAST
        return unknown(
            f"{', '.join(areas)}; it does not matter to locked memory",
            "none, or rarely",
            *((Action(WRITE, _SWAPPINESS, str(_LEAST)),) if rarely else ()),
            Action(BY_HAND, "", "swapoff -a"),
        )

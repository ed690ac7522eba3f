"""Swap space."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.model.knobs import BY_HAND, LOW, RUN_TIME, Action, Goal, Look

_PATH = "/proc/swaps"


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
    reads = (_PATH,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        areas = [line.split()[0] for line in seen.text(_PATH).split("\n")[1:] if line.split()]
        if not areas:
            return ok("none")
        return unknown(
            f"{', '.join(areas)}; it does not matter to locked memory", "none", Action(BY_HAND, "", "swapoff -a")
        )

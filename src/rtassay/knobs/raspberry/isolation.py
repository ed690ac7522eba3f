"""Isolation words in cmdline.txt."""

from __future__ import annotations

from rtassay.knobs.base import Knob, NotRead, Seen, ok, wrong
from rtassay.knobs.raspberry.firmware import CMDLINE, only_here, text_of
from rtassay.model.knobs import BOOT, BOOT_WORD, BY_HAND, HIGH, MEDIUM, UNKNOWN, Action, Goal, Look

_OURS = ("isolcpus", "irqaffinity", "nohz_full", "rcu_nocbs")


class PiIsolation(Knob):
    """The firmware reads the first line only."""

    name = "pi-isolation"
    title = "words in a Raspberry Pi's cmdline.txt"
    why = "cmdline.txt must be one line: words on a second line are silently lost."
    effect = "the words take effect"
    harm = "on models up to 3 most interrupts cannot leave CPU 0"
    scope = BOOT
    evidence = "V"
    severity = MEDIUM
    sources = ("Raspberry Pi documentation: cmdline.txt",)
    reads = CMDLINE
    needs = ("isolcpus",)

    def look(self, seen: Seen, goal: Goal) -> Look:
        only_here(seen)
        rows = [line for line in text_of(seen, CMDLINE).split("\n") if line.strip()]
        if not rows:
            raise NotRead(UNKNOWN, "cmdline.txt is empty")
        if len(rows) > 1:
            return wrong(
                f"{len(rows)} lines", "one line", Action(BOOT_WORD, "cmdline.txt", "join the lines"), severity=HIGH
            )
        lost = [word for word in rows[0].split() if word.split("=")[0] in _OURS and word not in seen.words()]
        if lost:
            return wrong(
                f"{' '.join(lost)} stands there, and the kernel did not get it",
                "a reboot",
                Action(BY_HAND, "", "reboot"),
            )
        return ok("one line")

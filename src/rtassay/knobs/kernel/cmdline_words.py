"""Words of the command line that the kernel did not understand."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown, wrong
from rtassay.model.knobs import BOOT, BY_HAND, MEDIUM, Action, Goal, Look

_TOLD_SINCE = (5, 14)


class CmdlineWords(Knob):
    """By the kernel's log. Words in capitals and a few others are meant for programs."""

    name = "cmdline-words"
    title = "words of the command line that the kernel did not understand"
    why = "A misspelt isolcpus=, or an option that this kernel was built without, does nothing, and only the kernel's log says so."
    effect = "the board is set up as its command line says"
    harm = "none"
    scope = BOOT
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: init/main.c (Unknown kernel command line parameters)",)
    reads = ("@kmsg", "/proc/cmdline")

    def look(self, seen: Seen, goal: Goal) -> Look:
        ignored = (
            seen.told(seen.inventory.cmdline_ignored, "@kmsg")
            if seen.inventory.cmdline_ignored or not seen.live
            else None
        )
        if ignored is None:
            return unknown("the beginning of the kernel's log is gone")
        words = [word for word in ignored.words or () if "=" in word and not word.partition("=")[0].isupper()]
        if words:
            return wrong(
                " ".join(words),
                "words that this kernel knows",
                Action(BY_HAND, "", f"mend or remove {' '.join(words)}"),
            )
        if seen.version is None or seen.version < _TOLD_SINCE:
            return unknown("kernels before 5.14 do not tell")
        return ok("none")

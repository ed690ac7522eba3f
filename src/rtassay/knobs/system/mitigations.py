"""Mitigations of faults of the CPU."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look

_PATH = "/sys/devices/system/cpu/vulnerabilities/*"


class Mitigations(Knob):
    """Keeping them is never called wrong."""

    name = "mitigations"
    title = "mitigations of CPU faults"
    why = "They make each entry into the kernel slower."
    effect = "a median up to 30 % lower without them; nobody has shown a tail"
    harm = "programs can read each other's secrets"
    scope = BOOT
    evidence = "X"
    severity = LOW
    sources = ("rtcqs 0.6.7 asks for mitigations=off", "kernel: admin-guide/hw-vuln/index.rst")
    reads = (_PATH,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.word("mitigations") == "off":
            return ok("off, by boot word")
        active = [path for path, text in seen.matching(_PATH).items() if re.match("Mitigation", text)]
        if not active:
            return ok("none active")
        return unknown(
            f"{len(active)} active; keep them, unless nothing else runs on this board",
            "mitigations=off",
            Action(BOOT_WORD, "", "mitigations=off"),
        )

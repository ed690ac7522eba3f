"""Throttling and under-voltage of a Raspberry Pi."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, ok, wrong
from rtassay.knobs.raspberry.firmware import only_here
from rtassay.model.knobs import BY_HAND, FIRMWARE, HIGH, MEDIUM, UNKNOWN, Action, Goal, Look

_SOURCE = "@run:vcgencmd get_throttled"
_BITS = re.compile(r"throttled=0x([0-9a-fA-F]{1,8})")
_WORDS = {0: "under-voltage", 1: "frequency capped", 2: "throttled", 3: "soft temperature limit"}
NOW = 0xF


def bits(seen: Seen) -> int | None:
    """The firmware's bits: 0 to 3 at this moment, 16 to 19 since boot; None: not known."""
    found = _BITS.search(seen.files.get(_SOURCE, b"").decode(errors="replace"))
    return None if found is None else int(found[1], 16)


class PiThrottled(Knob):
    """No setting, but what every other one depends on."""

    name = "pi-throttled"
    title = "throttling and under-voltage of a Raspberry Pi"
    why = "A Pi that is hot or has a weak power supply changes its clock at any moment, whatever the governor says, and the kernel's frequency files do not show it."
    effect = "latencies that mean something at all"
    harm = "none: cooling and a better power supply"
    scope = FIRMWARE
    evidence = "D"
    severity = HIGH
    sources = ("https://github.com/raspberrypi/linux/issues/2986", "https://github.com/raspberrypi/linux/issues/5875")
    reads = (_SOURCE,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        only_here(seen)
        told = bits(seen)
        if told is None:
            raise NotRead(
                UNKNOWN,
                "vcgencmd get_throttled did not answer" if seen.live else "not recorded; a look at the board tells",
            )
        now = [word for bit, word in _WORDS.items() if told >> bit & 1]
        before = [word for bit, word in _WORDS.items() if told >> (bit + 16) & 1]
        by_hand = Action(BY_HAND, "", "a heat sink or a fan; a power supply of the official strength")
        if now:
            return wrong(f"{', '.join(now)}, at this moment", "none", by_hand)
        if before:
            return wrong(f"{', '.join(before)}, earlier in this boot", "none", by_hand, severity=MEDIUM)
        return ok("none since boot")

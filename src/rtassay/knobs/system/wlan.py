"""Wireless network."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, NotRead, Seen, ok, wrong
from rtassay.model.knobs import MEDIUM, RUN_TIME, UNKNOWN, WRITE, Action, Goal, Look

_PHY = "/sys/class/net/*/phy80211/name"
_STATE = "/sys/class/net/*/operstate"
_FLAGS = "/sys/class/net/*/flags"
_HEX = re.compile(r"0x[0-9a-f]{1,8}")
# IFF_UP of include/uapi/linux/if.h.
_UP = 1


class Wlan(Knob):
    """tune leaves alone the device that it came by."""

    name = "wlan"
    title = "wireless network"
    why = "Drivers of wireless chips, above all over SDIO, work long with interrupts or preemption off."
    effect = "one report on a Pi 4: 100 us with, 20 us without"
    harm = "no wireless network; when it is put back, routes and access point are set by what set them before"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/guysoft/RealtimePi/issues/17",)
    reads = (_PHY, _STATE, _FLAGS)

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not seen.live:
            raise seen.not_read(_STATE)
        states = seen.matching(_STATE)
        names = [path.split("/")[4] for path in (seen.matching(_PHY) if seen.has(_PHY) else {})]
        names += [
            name for path in states if re.match(r"(wlan|wlp|wlx)", name := path.split("/")[4]) and name not in names
        ]
        up = [name for name in names if states.get(f"/sys/class/net/{name}/operstate") == "up"]
        if not up:
            return ok("down" if names else "none")
        return wrong(f"{', '.join(up)} is up", "down", *(self._down(seen, name) for name in up))

    def _down(self, seen: Seen, name: str) -> Action:
        file = _FLAGS.replace("*", name)
        flags = seen.text(file)
        if not _HEX.fullmatch(flags):
            raise NotRead(UNKNOWN, f"{file} holds no flags")
        return Action(WRITE, file, f"{int(flags, 16) & ~_UP:#x}")

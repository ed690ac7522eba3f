"""Wireless network."""

from __future__ import annotations

import re

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BY_HAND, MEDIUM, RUN_TIME, Action, Goal, Look

_PHY = "/sys/class/net/*/phy80211/name"
_STATE = "/sys/class/net/*/operstate"


class Wlan(Knob):
    """doctor may itself have come by it, so a person switches it off."""

    name = "wlan"
    title = "wireless network"
    why = "Drivers of wireless chips, above all over SDIO, work long with interrupts or preemption off."
    effect = "one report on a Pi 4: 100 us with, 20 us without"
    harm = "no wireless network; make sure that you did not come by it"
    scope = RUN_TIME
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/guysoft/RealtimePi/issues/17",)
    reads = (_PHY, _STATE)

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
        return wrong(
            f"{', '.join(up)} is up", "down", Action(BY_HAND, "", f"rfkill block wlan, or ip link set {up[0]} down")
        )

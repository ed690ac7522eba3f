"""Power saving of Intel graphics."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BOOT, BOOT_WORD, MEDIUM, Action, Goal, Look

_PARAMETER = "/sys/module/i915/parameters/{}"
_NAMES = ("enable_dc", "enable_fbc", "enable_psr")


class I915Power(Knob):
    """-1 stands for the driver's own choice, which saves power."""

    name = "i915-power"
    title = "power saving of Intel graphics"
    why = "Changing a display power state can hold up the whole chip."
    effect = "stalls of about 1 ms went away on one machine (found with rtla)"
    harm = "more power; the display never sleeps"
    scope = BOOT
    evidence = "D"
    severity = MEDIUM
    sources = ("https://github.com/redhat-performance/tuned/issues/719",)
    reads = tuple(_PARAMETER.format(name) for name in _NAMES)

    def look(self, seen: Seen, goal: Goal) -> Look:
        values = {name: seen.text(_PARAMETER.format(name)) for name in _NAMES if seen.has(_PARAMETER.format(name))}
        if not values:
            raise seen.not_read(_PARAMETER.format("enable_dc"))
        on = [name for name, value in values.items() if value != "0"]
        if not on:
            return ok("off")
        words = " ".join(f"i915.{name}=0" for name in on)
        return wrong(", ".join(f"{name} {values[name]}" for name in on), words, Action(BOOT_WORD, "", words))

"""Devices of a Raspberry Pi that nobody uses."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown
from rtassay.knobs.raspberry.firmware import CONFIG, lines, only_here
from rtassay.model.knobs import BOOT, BOOT_WORD, LOW, Action, Goal, Look


class PiOverlays(Knob):
    """Bluetooth, audio and HDMI."""

    name = "pi-overlays"
    title = "Bluetooth, audio and HDMI of a Raspberry Pi"
    why = "Each device that is on has a driver, interrupts and DMA."
    effect = "none was published"
    harm = "the devices are gone"
    scope = BOOT
    evidence = "F"
    severity = LOW
    sources = ("guides for audio on a Raspberry Pi",)
    reads = CONFIG

    def look(self, seen: Seen, goal: Goal) -> Look:
        only_here(seen)
        settings = lines(seen)
        overlays = settings.get("dtoverlay", "").split()
        on = [] if "disable-bt" in overlays or "pi3-disable-bt" in overlays else ["Bluetooth"]
        on += ["audio"] if "audio=on" in settings.get("dtparam", "") else []
        if not on:
            return ok("off")
        words = "dtoverlay=disable-bt" if on == ["Bluetooth"] else "dtoverlay=disable-bt dtparam=audio=off"
        return unknown(
            f"{' and '.join(on)} on; nobody has published what that costs",
            words,
            Action(BOOT_WORD, "config.txt", words),
        )

"""The USB controller of older Raspberry Pis."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok, unknown, wrong
from rtassay.knobs.raspberry.firmware import only_here
from rtassay.model.knobs import BOOT, BOOT_WORD, MEDIUM, Action, Goal, Look

_PARAMETER = "/sys/module/dwc_otg/parameters/{}"
_WORDS = "dwc_otg.fiq_enable=0 dwc_otg.fiq_fsm_enable=0 dwc_otg.nak_holdoff=0"


class DwcOtg(Knob):
    """The driver's fast interrupts and PREEMPT_RT do not go together on models up to 3."""

    name = "dwc-otg"
    title = "USB driver of a Raspberry Pi up to 3 (dwc_otg)"
    why = "The driver uses a fast interrupt that no kernel code can mask; with PREEMPT_RT boards locked up. Ethernet hangs off it."
    effect = "no lock-ups with PREEMPT_RT"
    harm = "its interrupt thread then takes 11 to 30 % of a CPU; 8000 interrupts a second"
    scope = BOOT
    evidence = "D"
    severity = MEDIUM
    sources = (
        "https://github.com/raspberrypi/linux/issues/2244",
        "Riva 2018: Raspberry Pi, PREEMPT_RT against the standard kernel",
    )
    reads = (_PARAMETER.format("fiq_enable"), _PARAMETER.format("fiq_fsm_enable"))

    def look(self, seen: Seen, goal: Goal) -> Look:
        only_here(seen)
        if seen.live and not seen.has(_PARAMETER.format("fiq_enable")):
            return absent("another USB driver is in use")
        on = {name: seen.text(_PARAMETER.format(name)) for name in ("fiq_enable", "fiq_fsm_enable")}
        active = [name for name, value in on.items() if value not in ("0", "N")]
        rt = seen.inventory.kernel.realtime
        if rt is None:
            return unknown("whether the kernel is PREEMPT_RT is not known")
        if active and rt:
            return wrong(f"{' and '.join(active)} with PREEMPT_RT", _WORDS, Action(BOOT_WORD, "cmdline.txt", _WORDS))
        return ok("fast interrupts, on a kernel without PREEMPT_RT" if active else "no fast interrupts")

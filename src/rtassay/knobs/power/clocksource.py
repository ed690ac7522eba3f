"""The clock that the kernel reads, and the watchdog of the TSC."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, ok, unknown, wrong
from rtassay.model.knobs import BOOT, BOOT_WORD, BY_HAND, HIGH, LOW, MEDIUM, WRITE, Action, Goal, Look

_CURRENT = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
_AVAILABLE = "/sys/devices/system/clocksource/clocksource0/available_clocksource"
_FAST = (
    "tsc",
    "kvm-clock",
    "arch_sys_counter",
    "arch_mmio_counter",
    "riscv_clocksource",
    "hyperv_clocksource_tsc_page",
)
# Read over a bus, or as coarse as the tick.
_SLOW = ("hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies")


class Clocksource(Knob):
    """A slow clock is wrong; a TSC without `tsc=reliable` is watched by a timer, which is a matter of measurement."""

    name = "clocksource"
    title = "clock source"
    why = "A clock that is read over a bus (hpet, acpi_pm) makes every sleep and every time stamp slow. The TSC is checked twice a second on each CPU in turn, unless it is declared reliable."
    effect = (
        "NI saw a significantly better maximum with tsc=reliable, together with a lower priority (numbers not public)"
    )
    harm = "tsc=reliable on a board whose TSC drifts gives wrong time unnoticed"
    scope = BOOT
    evidence = "D"
    severity = LOW
    sources = ("https://github.com/ni/meta-nilrt/pull/711",)
    reads = (_CURRENT, _AVAILABLE)

    def look(self, seen: Seen, goal: Goal) -> Look:
        current = seen.told(seen.inventory.clocksource, _CURRENT)
        better = [name for name in seen.inventory.clocksources or () if name in _FAST]
        if current not in _FAST and better:
            return wrong(current, better[0], Action(WRITE, _CURRENT, better[0]), severity=HIGH)
        if current in _SLOW:
            return wrong(
                f"{current}, and the kernel offers no fast one",
                "tsc or the processor's own counter",
                Action(BY_HAND, "", "dmesg | grep -iE 'clocksource|tsc' tells why there is none"),
                severity=MEDIUM,
            )
        if current != "tsc" or seen.word("tsc") in ("reliable", "nowatchdog"):
            return ok(current if current in _FAST else f"{current}; the board has no better one")
        return unknown(
            "tsc, watched by a timer; whether that shows here only a measurement tells",
            "tsc=reliable",
            Action(BOOT_WORD, "", "tsc=reliable"),
        )

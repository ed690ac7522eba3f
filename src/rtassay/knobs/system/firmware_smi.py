"""Interrupts that belong to the firmware."""

from __future__ import annotations

from rtassay.knobs.base import Knob, NotRead, Seen, absent, ok, wrong
from rtassay.model.knobs import BY_HAND, FIRMWARE, HIGH, LOW, UNKNOWN, Action, Goal, Look

_COUNT = "@msr:0x34"


class FirmwareSmi(Knob):
    """The count of system management interrupts is known on Intel CPUs, where the msr driver is loaded."""

    name = "firmware-smi"
    title = "interrupts of the firmware (SMI)"
    why = "The firmware stops all CPUs for as long as it likes, and the kernel cannot see it."
    effect = "stalls of milliseconds go away, where there are any"
    harm = "legacy USB, fan control and error reports may depend on them"
    scope = FIRMWARE
    evidence = "D"
    severity = LOW
    sources = ("kernel: trace/hwlat_detector.rst", "hwlatdetect(8)")
    counts = (_COUNT,)

    def look(self, seen: Seen, goal: Goal) -> Look:
        machine = (seen.inventory.kernel.version or "", seen.inventory.cpu_model or "")
        if _COUNT not in seen.files:
            if any("arm" in text.lower() or "Cortex" in text for text in machine):
                return absent("the CPU has no system management mode; secure firmware may still take time")
            raise NotRead(
                UNKNOWN, "not counted (modprobe msr, Intel only): run hwlatdetect, or measure with the firmware monitor"
            )
        before, after = self._sum(seen.files[_COUNT]), self._sum(seen.later.get(_COUNT, b""))
        if not before or after is None:
            raise NotRead(UNKNOWN, f"{_COUNT} counts nothing here")
        if after > before:
            return wrong(
                f"{after - before} in the second watched",
                "none",
                Action(BY_HAND, "", "look for legacy USB, power and error settings in the firmware's setup"),
                severity=HIGH,
            )
        return ok("none in the second watched; run for hours to be sure")

    def _sum(self, content: bytes) -> int | None:
        rows = [line.split() for line in content.decode(errors="replace").split("\n") if line.strip()]
        numbers = [
            int(row[1])
            for row in rows
            if len(row) == 2 and row[1].isascii() and row[1].isdecimal() and len(row[1]) < 20
        ]
        return sum(numbers) if numbers and len(numbers) == len(rows) else None

"""Calls into the firmware with interrupts off."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, cpu_mask, ok, unknown
from rtassay.model.knobs import MEDIUM, RUN_TIME, WRITE, Action, Goal, Look

_FIRMWARE = "/sys/firmware/efi/runtime"
_MASK = "/sys/devices/virtual/workqueue/efi_runtime/cpumask"


class EfiRuntime(Knob):
    """PREEMPT_RT kernels turn it off unless they are told otherwise."""

    name = "efi-runtime"
    title = "calls into EFI firmware (efi=noruntime)"
    why = "The firmware runs with interrupts off for as long as it likes, when variables are read or written. Some firmware stops all CPUs meanwhile."
    effect = "removes such calls, or keeps them off the application's CPUs"
    harm = "boot entries and firmware variables cannot be changed"
    scope = RUN_TIME
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: core-api/real-time/kernel-configuration.rst (CONFIG_EFI_DISABLE_RUNTIME)",)
    reads = (_FIRMWARE, _MASK, "/sys/firmware/efi/fw_platform_size")

    def look(self, seen: Seen, goal: Goal) -> Look:
        if not seen.has("/sys/firmware/efi/fw_platform_size"):
            raised = seen.not_read("/sys/firmware/efi/fw_platform_size")
            return absent("the board did not boot by EFI") if seen.live else unknown(raised.why)
        if "noruntime" in (seen.word("efi") or "").split(",") or not seen.has(_MASK):
            return ok("off")
        allowed = set(cpu_mask(seen.text(_MASK)))
        cpus = goal.isolated if goal.isolated is not None else seen.isolated()
        if cpus and not allowed & set(cpus):
            return ok("kept off the application's CPUs")
        if seen.inventory.kernel.realtime and seen.word("efi") is None:
            return ok("off by default with PREEMPT_RT")
        return unknown(
            "on; it matters if something reads or writes firmware variables",
            "efi=noruntime, or a mask without the application's CPUs",
            Action(WRITE, _MASK, "1"),
        )

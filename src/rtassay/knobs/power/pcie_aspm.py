"""Power saving of PCI Express links."""

from __future__ import annotations

from rtassay.knobs.kinds import OneChoice
from rtassay.model.knobs import LOW, RUN_TIME


class PcieAspm(OneChoice):
    """Matters to an application that waits for a device on PCI Express."""

    name = "pcie-aspm"
    title = "sleeping PCI Express links (ASPM)"
    why = "A link that sleeps must wake up before a device answers. Timer wake-ups are not affected."
    effect = "steadier access to devices"
    harm = "more power; the firmware may refuse"
    scope = RUN_TIME
    evidence = "C"
    severity = LOW
    sources = ("kernel: core-api/real-time/hardware.rst (Hardware buses)",)
    path = "/sys/module/pcie_aspm/parameters/policy"
    reads = (path,)
    good = ("performance",)
    best = "performance"

"""Network cards that gather packets before they interrupt."""

from __future__ import annotations

from rtassay.knobs.kinds import Told
from rtassay.model.knobs import LOW, RUN_TIME


class NicCoalescing(Told):
    """No file tells it; ethtool does."""

    name = "nic-coalescing"
    title = "network cards that delay their interrupt (coalescing, EEE)"
    why = "A network card waits for more packets, or wakes its link up first, before it interrupts."
    effect = "shorter response to packets; nothing for timers"
    harm = "more interrupts, more power"
    scope = RUN_TIME
    evidence = "V"
    severity = LOW
    sources = ("kernel: networking/ethtool-netlink.rst (COALESCE)",)
    how = "no file tells it: look with ethtool -c DEVICE and ethtool --show-eee DEVICE"

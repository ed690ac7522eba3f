"""A core for another operating system."""

from __future__ import annotations

from rtassay.knobs.base import Knob, Seen, absent, ok
from rtassay.model.knobs import FIRMWARE, LOW, Goal, Look

_REMOTE = "/sys/class/remoteproc/remoteproc[0-9]*/{}"


class SecondCore(Knob):
    """The way out where Linux does not meet the deadline; nothing can be proved in Linux itself."""

    name = "second-core"
    title = "a core for bare metal or an RTOS (SMP and AMP)"
    why = "A core that does not run Linux is not delayed by it, except through shared memory and buses."
    effect = "deadlines of a few microseconds"
    harm = "two programs to develop, shared memory between them, one CPU less for Linux"
    scope = FIRMWARE
    evidence = "V"
    severity = LOW
    sources = ("Firefly: real-time performance report", "kernel: staging/remoteproc.rst")
    reads = (_REMOTE.format("name"), _REMOTE.format("state"))

    def look(self, seen: Seen, goal: Goal) -> Look:
        if seen.live and not seen.has(_REMOTE.format("name")):
            return absent("the kernel offers no further processor (remoteproc)")
        names, states = seen.matching(_REMOTE.format("name")), seen.matching(_REMOTE.format("state"))
        told = [
            f"{name or 'unnamed'} {states.get(path.replace('/name', '/state'), '')}" for path, name in names.items()
        ]
        return ok(", ".join(text.strip() for text in told))

"""Options that the kernel was built with."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from rtassay.knobs.base import Knob, Seen, ok, wrong
from rtassay.model.knobs import BUILD, BY_HAND, HIGH, LOW, MEDIUM, SEVERITIES, Action, Detail, Goal, Look

# The words of the kernel's documentation.
_SEVERITY = {"fatal": HIGH, "high": HIGH, "medium": MEDIUM, "info": LOW}


@cache
def options() -> dict[str, Any]:
    """configuration.toml: `commit`, `url`, and `option`s with name, expected, severity and why."""
    return tomllib.loads(files("rtassay.knobs.kernel").joinpath("configuration.toml").read_text())


class KernelConfiguration(Knob):
    """The list of the kernel's own real-time documentation, as data with its commit."""

    name = "kernel-configuration"
    title = "options that the kernel was built with"
    why = "Some options cost latency by being built in, others are missing where they are needed. The list is the kernel's own."
    effect = "by option; the documentation gives no numbers"
    harm = "a kernel of one's own to maintain"
    scope = BUILD
    evidence = "C"
    severity = MEDIUM
    sources = ("kernel: core-api/real-time/kernel-configuration.rst",)
    reads = ("/proc/config.gz", "/boot/config-*")

    def look(self, seen: Seen, goal: Goal) -> Look:
        seen.symbol("CONFIG_PREEMPT_RT")
        found = [detail for option in options()["option"] if (detail := self._differs(seen, option)) is not None]
        if not found:
            return ok(f"as {len(options()['option'])} options of the kernel's list")
        found.sort(key=lambda detail: SEVERITIES.index(detail.severity or LOW))
        worst = found[0].severity or LOW
        now = ", ".join(f"{detail.name} {detail.now}" for detail in found[:3]) + (
            f" and {len(found) - 3} more" if len(found) > 3 else ""
        )
        return wrong(
            now,
            "see the options below",
            Action(BY_HAND, "", "build the kernel with these options"),
            details=tuple(found),
            severity=worst,
        )

    def _differs(self, seen: Seen, option: dict[str, Any]) -> Detail | None:
        value = seen.symbol(f"CONFIG_{option['name']}")
        is_on = value in ("y", "m")
        if option["expected"] == "allowed" or is_on == (option["expected"] == "on"):
            return None
        return Detail(
            option["name"], "on" if is_on else "off", option["expected"], _SEVERITY[option["severity"]], option["why"]
        )

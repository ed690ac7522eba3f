"""Options of `rtassay run` to a Plan: ranges, contradictions, and what the letters of cyclictest add."""

from __future__ import annotations

import re
from typing import Any

from rtassay.cli.options import waivers_of
from rtassay.loads.base import parse_asked
from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan
from rtassay.model.settings import DEFAULT_DURATION_NS, SETTINGS, default
from rtassay.model.units import parse_duration_ns
from rtassay.probes.base import find


def parse_labels(labels: tuple[str, ...]) -> dict[str, str]:
    """`k=v` pairs. Raises UsageError for one without `=`, with a strange key, or given twice with two values."""
    known: dict[str, str] = {}
    for label in labels:
        key, equals, value = label.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z][\w.-]*", key) or not value:
            raise UsageError(f"--label '{label}' is not of the form key=value", hint="write --label ambient=21C")
        if known.get(key, value) != value:
            raise UsageError(f"--label {key} is given twice: '{known[key]}' and '{value}'")
        known[key] = value
    return known


def parse_settings(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` of --set. Raises UsageError for another form, or for a name that is given twice."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name or not value:
            raise UsageError(
                f"--set '{text}' is not of the form NAME=VALUE", hint="rtassay probe describe lists the names"
            )
        if name in found:
            raise UsageError(f"--set {name} is given twice")
        found[name] = value
    return found


def parse_loads(texts: tuple[str, ...]) -> tuple[str, ...]:
    """`auto` or NAME[:ARGS][@CPUS] of the room `loads` each, checked as far as that can be without the board."""
    for text in texts:
        load = parse_asked(text)
        if load.name != "auto":
            rooms.load("loads", load.name)().needs(load.argument)
    return texts


def make_plan(options: dict[str, Any]) -> Plan:
    """A Plan from the values of the options (see cli.run), or UsageError."""
    policy, priority = options["policy"], options["priority"]
    if policy == "other" and priority is not None:
        raise UsageError("--priority has no meaning with --policy other")
    duration_ns, count = options["duration_ns"], options["count"]
    if duration_ns is None and count is None:
        duration_ns = DEFAULT_DURATION_NS
    interval_ns = options["interval_ns"] or default("interval")
    if duration_ns is not None and duration_ns < interval_ns:
        raise UsageError("--duration is shorter than one --interval")
    _check_distance(options["distance"], options)
    loads = parse_loads(tuple(options["load"]))
    stated = {setting.field: options[setting.field] for setting in SETTINGS if setting.field}
    stated |= {
        "cpus": None if options["cpus"] == "isolated" else options["cpus"],
        "interval_ns": interval_ns,
        "duration_ns": duration_ns,
    }
    plan = Plan(
        probe=options["probe"],
        load=" + ".join(loads),
        loads=loads,
        settings=parse_settings(options["settings"]),
        argv=tuple(options["argv"]),
        strict=options["strict"],
        waivers=waivers_of(options["waive"], options["because"]),
        **stated,
    )
    line = options.get("cyclictest_line")
    return plan if line is None else _of_line(plan, line)


def _of_line(plan: Plan, line: str) -> Plan:
    """`plan` to measure a whole line of cyclictest, which then decides all that it can say."""
    if plan.probe != "cyclictest":
        raise UsageError("--cyclictest-line needs --probe cyclictest")
    found, _ = find(plan.probe).of_line(plan, line)
    return found


def _check_distance(distance: str | None, options: dict[str, Any]) -> None:
    """-d0 is what we always do; anything else makes threads run at different rates, which is one of cyclictest's traps."""
    if distance is not None and parse_duration_ns(distance, bare="us") != 0 and (options["lanes"] or 2) > 1:
        raise UsageError(
            f"-d {distance} would give every thread another interval",
            "their samples could not be compared",
            "leave -d out: all lanes run at the same interval, evenly offset (as cyclictest -d0)",
        )

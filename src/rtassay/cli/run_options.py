"""Options of `rtassay run` to a Plan: ranges, contradictions, and what the letters of cyclictest add."""

from __future__ import annotations

import re
from typing import Any

from rtassay.cli.options import waivers_of
from rtassay.loads.base import parse_asked
from rtassay.model import rooms
from rtassay.model.errors import UsageError
from rtassay.model.manifest import Plan
from rtassay.model.units import NS_PER_S, parse_duration_ns

DEFAULT_INTERVAL_NS = 997_000
DEFAULT_DURATION_NS = 60 * NS_PER_S
DEFAULT_PRIORITY = 90


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


def parse_dma_latency(text: str | None) -> int | None:
    """Microseconds to hold in /dev/cpu_dma_latency, None for off. Default 0, as cyclictest."""
    if text is None:
        return 0
    if text == "off":
        return None
    if not re.fullmatch(r"\d{1,7}", text):
        raise UsageError(f"--dma-latency {text} is neither off nor a number of microseconds")
    return int(text)


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
    interval_ns = options["interval_ns"] or DEFAULT_INTERVAL_NS
    if duration_ns is not None and duration_ns < interval_ns:
        raise UsageError("--duration is shorter than one --interval")
    _check_distance(options["distance"], options)
    cpus = options["cpus"]
    loads = parse_loads(tuple(options["load"]))
    plan = Plan(
        probe=options["probe"],
        interval_ns=interval_ns,
        duration_ns=duration_ns,
        count=count,
        warm_up_ns=options["warm_up_ns"],
        policy=policy,
        priority=priority,
        cpus=cpus if isinstance(cpus, tuple) else None,
        load_cpus=options["load_cpus"],
        load=" + ".join(loads),
        loads=loads,
        deadline_ns=options["deadline_ns"],
        p_target=options["p_target"],
        confidence=options["confidence"],
        break_above_ns=options["break_above_ns"],
        dma_latency_us=parse_dma_latency(options["dma_latency"]),
        mlock=not options["no_mlock"],
        aligned=options["aligned"],
        keep_samples=not options["no_samples"],
        argv=tuple(options["argv"]),
        strict=options["strict"],
        waivers=waivers_of(options["waive"], options["because"]),
    )
    line = options.get("cyclictest_line")
    return plan if line is None else _of_line(plan, line)


def _of_line(plan: Plan, line: str) -> Plan:
    """`plan` to measure a whole line of cyclictest, which then decides all that it can say."""
    if plan.probe != "cyclictest":
        raise UsageError("--cyclictest-line needs --probe cyclictest")
    found, _ = rooms.load("probes", plan.probe)().of_line(plan, line)
    assert isinstance(found, Plan)
    return found


def _check_distance(distance: str | None, options: dict[str, Any]) -> None:
    """-d0 is what we always do; anything else makes threads run at different rates, which is one of cyclictest's traps."""
    if distance is not None and parse_duration_ns(distance, bare="us") != 0 and (options["lanes"] or 2) > 1:
        raise UsageError(
            f"-d {distance} would give every thread another interval",
            "their samples could not be compared",
            "leave -d out: all lanes run at the same interval, evenly offset (as cyclictest -d0)",
        )

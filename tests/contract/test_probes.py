"""Every probe: a command line for the plan, and a parser that takes anything in any pieces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.model import rooms
from rtassay.model.events import Event
from rtassay.model.manifest import Plan

NAMES = list(rooms.table("probes"))
PLAN = Plan(interval_ns=1_000_000, duration_ns=2 * 10**9, cpus=(0, 1), mlock=True, dma_latency_us=0)
NEEDS: dict[str, dict[str, Any]] = {
    "follow": {"settings": {"pid": "12"}},
    "cyclicdeadline": {"interval_ns": 10_000_000},
}
POLICIES = {"counted", "skip", "catch_up", "unknown"}


@pytest.mark.parametrize("name", NAMES)
def test_probe_introduces_itself(name: str) -> None:
    probe = rooms.load("probes", name)()
    assert probe.name == name
    assert probe.late_policy in POLICIES
    assert probe.stream_file in ("stream.rtw", "stream.txt", "stream.work")


@pytest.mark.parametrize("name", NAMES)
def test_plain_plan_is_accepted_and_becomes_words(name: str) -> None:
    probe = rooms.load("probes", name)()
    plan = replace(PLAN, **NEEDS.get(name, {}))
    probe.check(plan)
    argv = probe.command(plan, "/bin/probe", (0, 1))
    assert "/bin/probe" in argv
    assert all(isinstance(word, str) and word for word in argv)
    assert argv != probe.command(replace(plan, duration_ns=3 * 10**9), "/bin/probe", (0, 1))
    if not probe.own_threads:
        return
    assert argv != probe.command(replace(PLAN, interval_ns=2_000_000), "/bin/probe", (0, 1))
    assert argv != probe.command(PLAN, "/bin/probe", (1,))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=50)
@given(data=st.binary(max_size=400), step=st.integers(1, 64))
def test_parser_takes_anything(name: str, data: bytes, step: int) -> None:
    parser = rooms.load("probes", name)().parser(PLAN)
    for at in range(0, len(data), step):
        events = parser.feed(data[at : at + step])
        assert all(isinstance(event, Event) for event in events)
    assert all(isinstance(event, Event) for event in parser.finish())


@pytest.mark.parametrize("name", NAMES)
def test_source_names_tool_and_late_policy(name: str) -> None:
    probe = rooms.load("probes", name)()
    source = probe.source("1.2.3")
    assert (source.version, source.late_policy) == ("1.2.3", probe.late_policy)
    assert probe.source(None).version is None

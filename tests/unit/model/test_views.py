"""Typed views of JSON from outside: what is wrong is None, and nothing raises."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.model.events import End, Facts
from rtassay.model.facts import ImportFacts, ProbeFacts, end_of, facts_of
from rtassay.model.inventory import Inventory, inventory_of
from rtassay.model.manifest import Manifest, Source
from rtassay.model.views import View
from rtassay.session import inventory
from rtassay.wire.stream import StreamParser

ROOT = Path(__file__).parents[3]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


def names(kind: type[View]) -> list[str]:
    return [name for name in kind.__annotations__ if name != "told"]


@given(data=st.fixed_dictionaries({}, optional={name: JSON for name in ["import", *names(ProbeFacts)]}) | JSON)
def test_facts_never_raise_whatever_they_hold(data: Any) -> None:
    facts = facts_of(data)
    assert facts.version is None or isinstance(facts.version, str)
    assert facts.requested.cpus is None or all(type(cpu) is int for cpu in facts.requested.cpus)
    end_of(data)


@given(data=st.fixed_dictionaries({}, optional={name: JSON for name in names(ImportFacts)}))
def test_facts_of_an_import_never_raise(data: Any) -> None:
    about = facts_of({"import": data}).imports
    assert about is not None and about.told == frozenset(data)
    assert all(isinstance(text, str) for text in about.inconsistent)


@given(data=st.fixed_dictionaries({}, optional={name: JSON for name in names(Inventory)}) | JSON)
def test_an_inventory_never_raises_whatever_it_holds(data: Any) -> None:
    found = inventory_of(data)
    assert found.kernel.release is None or isinstance(found.kernel.release, str)
    assert found.governors is None or all(isinstance(name, str) for name in found.governors.values())


@pytest.mark.parametrize(
    ("value", "read"),
    [(7, 7), (True, None), (7.0, None), ("7", None), (None, None), (2**63, None), (-(2**63), -(2**63))],
)
def test_an_integer_is_a_whole_number_of_64_bits(value: Any, read: int | None) -> None:
    assert facts_of({"origin_ns": value}).origin_ns == read


def test_a_list_with_a_wrong_element_is_not_known_and_rows_of_a_table_stand_alone() -> None:
    facts = facts_of({"argv": ["a", 3], "lanes": [{"lane": 1, "cpu": "x"}, 4, {"lane": 2, "cpu": 5}]})
    assert facts.argv is None
    assert [(row.lane, row.cpu) for row in facts.lanes] == [(1, None), (2, 5)]


def test_null_and_absent_are_told_apart() -> None:
    assert "dma_latency_us" in facts_of({"dma_latency_us": None}).told
    assert "dma_latency_us" not in facts_of({}).told


def test_no_import_is_none_and_an_empty_one_is_not() -> None:
    assert facts_of({}).imports is None and facts_of({"import": 3}).imports is None
    assert facts_of({"import": {}}).imports is not None


def test_a_real_stream_has_every_part_of_the_view() -> None:
    """What rtprobe writes and what the view reads have the same names."""
    parser = StreamParser()
    events = parser.feed((ROOT / "wire" / "golden" / "v1" / "real-x86_64.rtw").read_bytes()) + parser.finish()
    raw, raw_end = (
        next(e.data for e in events if isinstance(e, Facts)),
        next(e.data for e in events if isinstance(e, End)),
    )
    facts, end = facts_of(raw), end_of(raw_end)
    assert (
        facts.clock.getres_ns == raw["clock"]["getres_ns"] and facts.requested.priority == raw["requested"]["priority"]
    )
    assert facts.writer is not None and facts.writer.tid == raw["writer"]["tid"]
    assert [lane.obtained.affinity for lane in facts.lanes if lane.obtained] == [(0,), (1,)]
    assert end.writer is not None and end.writer.cpu_ns_by_cpu == raw_end["writer"]["cpu_ns_by_cpu"]
    unread = (
        set(raw["lanes"][0]) - set(names(type(facts.lanes[0]))),
        set(raw_end["lanes"][0]) - set(names(type(end.lanes[0]))),
    )
    assert unread == (set(), set())


def test_every_name_of_an_inventory_is_in_the_view() -> None:
    described = inventory.describe({"/proc/cpuinfo": b""})
    assert set(described) | {"host_clock", "virtual_time"} == set(names(Inventory))
    found = inventory_of(described)
    for name in ("kernel", "cpus", "memory"):
        assert set(described[name]) <= set(names(type(getattr(found, name))))


def test_the_views_of_a_manifest_are_made_once_and_not_written() -> None:
    manifest = Manifest("r", "", Source("x", None, "x"), facts={"version": "1"}, inventory={"cmdline": "quiet"})
    assert manifest.probe_facts is manifest.probe_facts and manifest.probe_facts.version == "1"
    assert manifest.board_start.cmdline == "quiet" and manifest.board_end.cmdline is None
    assert set(msgspec.json.decode(msgspec.json.encode(manifest))) == {f.name for f in dataclasses.fields(Manifest)}
    assert dataclasses.replace(manifest, facts={"version": "2"}).probe_facts.version == "2"

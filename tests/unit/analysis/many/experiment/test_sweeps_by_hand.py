"""D4 and E5: which combinations differ in one setting alone, and what is said of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rtassay.analysis.many.experiment.cells import Measured
from rtassay.analysis.many.experiment.sweeps import capacity, idle_and_governor
from rtassay.model.experiment import KpiRow
from rtassay.model.recording import Lane, Recording

from ...build import MS, US, block_lane, inventory, recording
from .cells_of import P, design_of, measured, with_plan


def kept(interval_ns: int, late: int = 0, n: int = 20_000, index: int = 0) -> Lane:
    counts = {10 * US: n - late, interval_ns + 10: late} if late else {10 * US: n}
    return block_lane(counts, interval_ns, index=index)


def capacity_of(*cells: Measured, p: float | None = P) -> list[tuple[str, float | None, bool, str, str]]:
    design, combinations = design_of(cells)
    rows, why = capacity(cells, combinations, design, p)
    assert why == "no scenarios that differ in the interval alone (settings.interval of a scenario)"
    return [(row.where, row.value, row.at_least, row.words, row.note) for row in rows]


def of(scenario: str, *lanes: Lane, **more: Any) -> Measured:
    return measured(scenario, 1, recording(*lanes), **more)


def test_what_is_said_of_the_rates() -> None:
    slow, fast = of("slow", kept(MS)), of("fast", kept(MS // 2))
    assert capacity_of(slow, fast) == [("", 2000.0, True, "", "every 500us, at p = 0.001; the shortest interval tried")]
    missing = of("fast", kept(MS // 2, late=600))
    assert capacity_of(slow, missing) == [("", 1000.0, False, "", "every 1ms, at p = 0.001; 500us misses too often")]
    neither = of("slow", kept(MS, late=600))
    assert capacity_of(neither, missing) == [
        ("", None, False, "none of those tried", "at p = 0.001: 1ms misses too often")
    ]
    assert capacity_of(slow, fast, p=None) == capacity_of(slow) == []


def test_what_else_varies_names_the_row() -> None:
    cells = [
        of(name, kept(ns), kernel=kernel)
        for kernel in ("rt", "stock")
        for name, ns in (("slow", MS), ("fast", MS // 2))
    ]
    assert [row[:2] for row in capacity_of(*cells)] == [("rt", 2000.0), ("stock", 2000.0)]


def test_every_lane_must_keep_up() -> None:
    """One of two lanes misses: the rate is missed. One of two has too few activations: it is not shown."""
    slow = of("slow", kept(MS), kept(MS, index=1))
    one_late = of("fast", kept(MS // 2), kept(MS // 2, late=2000, index=1))
    one_short = of("fast", kept(MS // 2), kept(MS // 2, n=500, index=1))
    assert [row[4] for row in capacity_of(slow, one_late)] == ["every 1ms, at p = 0.001; 500us misses too often"]
    assert [row[4] for row in capacity_of(slow, one_short)] == ["every 1ms, at p = 0.001; 500us is not shown"]


def test_the_interval_is_that_of_the_lanes_or_the_planned_one() -> None:
    """Plans that say 1 ms, lanes of 1 ms and 500 us; then lanes that do not tell, and plans of 1 ms and 500 us."""
    assert [row[1] for row in capacity_of(of("slow", kept(MS)), of("fast", kept(MS // 2)))] == [2000.0]
    silent = [
        measured(f"{ns}", 1, with_plan(recording(replace(kept(MS), entry=replace(kept(MS).entry, interval_ns=None))), interval_ns=ns))
        for ns in (MS, MS // 2)
    ]  # fmt: skip
    assert [row[1] for row in capacity_of(*silent)] == [2000.0]
    uneven = of("uneven", kept(MS), kept(MS // 2, index=1))
    even = of("even", kept(MS), kept(MS, index=1))
    assert capacity_of(uneven, even) == [], "lanes of two intervals have no rate"
    unknown = [of(name, replace(kept(MS), entry=replace(kept(MS).entry, interval_ns=None))) for name in ("a", "b")]
    assert capacity_of(*(replace(one, recording=with_plan(one.recording, interval_ns=None)) for one in unknown)) == []


def test_settings_of_a_method_are_the_same_in_any_order() -> None:
    one, other = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"})
    cells = [
        measured(f"{ns}", 1, with_plan(recording(kept(ns)), settings=told))
        for ns, told in ((MS, one), (MS // 2, other))
    ]
    assert [row[1] for row in capacity_of(*cells)] == [2000.0]
    cells[1] = measured("x", 1, with_plan(cells[1].recording, settings={"a": "1"}))
    assert capacity_of(*cells) == []


def idle(dma: int | None, *governors: str, latency_us: int = 20, n: int = 20_000, refused: bool = False) -> Recording:
    told = {"governors": {f"cpu{i}": name for i, name in enumerate(governors)} or None}
    made = with_plan(recording(block_lane({latency_us * US: n}), inventory=inventory(**told)), dma_latency_us=dma)
    if refused:
        made = replace(
            made, manifest=replace(made.manifest, facts={**made.manifest.facts, "dma_latency_error": "EACCES"})
        )
    return made


def effects(*runs: Recording) -> list[KpiRow]:
    cells = [measured(chr(97 + i), 1, made) for i, made in enumerate(runs)]
    design, combinations = design_of(cells)
    rows, why = idle_and_governor(cells, combinations, design)
    assert (
        why
        == "no combinations that differ in idle states (settings.dma_latency of a scenario) or in the governor alone"
    )
    return rows


def words(*runs: Recording) -> list[tuple[str, str]]:
    return [(row.where, row.note) for row in effects(*runs)]


def test_deeper_idle_states_are_told_over_less_deep_ones() -> None:
    deep = [
        idle(10, "performance"),
        idle(9, "performance"),
        idle(None, "performance"),
        idle(0, "performance", refused=True),
    ]
    assert words(*deep) == [
        ("a / b", "cpu_dma_latency: 10 us / 9 us"),
        ("c / b", "cpu_dma_latency: off / 9 us"),
        ("d / b", "cpu_dma_latency: not held / 9 us"),
        ("c / a", "cpu_dma_latency: off / 10 us"),
        ("d / a", "cpu_dma_latency: not held / 10 us"),
        ("d / c", "cpu_dma_latency: not held / off"),
    ]


def test_governors_are_told_over_performance() -> None:
    mixed = ("schedutil", "conservative", "performance", "ondemand")
    (row,) = effects(idle(0, *mixed, latency_us=40), idle(0, "performance"))
    assert (row.where, row.note) == ("a / b", "governor: conservative, ondemand, performance, schedutil / performance")
    assert row.value == pytest.approx(2, rel=1e-3)
    assert words(idle(0, "schedutil"), idle(0, "ondemand")) == [("a / b", "governor: schedutil / ondemand")]
    assert words(idle(0), idle(0, "performance")) == [], "one board does not tell its governor"


def test_a_run_without_d_star_has_no_effect() -> None:
    assert effects(idle(0, "performance"), idle(5, "performance", n=100)) == []

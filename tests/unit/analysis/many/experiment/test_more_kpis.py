"""D3, D4, E4 and E5 on recordings made so that their values are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.experiment.cells import Design, Measured
from rtassay.analysis.many.experiment.kpis import Facts, scorecard
from rtassay.analysis.many.experiment.sweeps import capacity, idle_and_governor
from rtassay.analysis.many.experiment.watched import overhead as overhead_of
from rtassay.analysis.many.experiment.watched import ramp, temperature
from rtassay.analysis.many.throughput import throughput
from rtassay.model.experiment import Grade, KpiRow
from rtassay.model.manifest import LoadEntry, MonitorEntry, WorkPart
from rtassay.model.recording import Recording, Seconds, Series

from ...build import SECOND, US, block_lane, inventory, recording
from ...build import seconds as rollups
from ..test_throughput import group
from .cells_of import P, design_of, measured, with_plan

BEGIN = 5 * SECOND  # `block_lane` begins there

# E5


def at_interval(interval_ns: int, late: int, n: int = 20_000) -> Recording:
    """`late` of `n` wake-ups come after the next one was due."""
    lane = block_lane({10 * US: n - late, interval_ns + 10: late} if late else {10 * US: n}, interval_ns)
    return with_plan(recording(lane), interval_ns=interval_ns)


def sweep(*rows: tuple[int, int]) -> list[Measured]:
    return [measured(f"{ns}ns", 1, at_interval(ns, late)) for ns, late in rows]


def capacity_of(cells: list[Measured]) -> tuple[list[KpiRow], str]:
    design, combinations = design_of(cells)
    return capacity(cells, combinations, design, P)


def test_capacity_is_the_highest_rate_that_is_kept_with_all_below_it() -> None:
    """At p = 1e-3 and n = 20000: 0 and 5 late ones are few enough (p_upper 5.3e-4), 600 are too many, even if they were one event."""
    [row], _ = capacity_of(sweep((1_000_000, 0), (500_000, 5), (100_000, 600)))
    assert row.value == pytest.approx(2000) and not row.at_least
    assert "every 500us" in row.note and "100us misses too often" in row.note


def test_a_rate_above_one_that_fails_does_not_count_and_the_last_tried_is_a_lower_bound() -> None:
    [row], _ = capacity_of(sweep((1_000_000, 0), (500_000, 600), (100_000, 0)))
    assert row.value == pytest.approx(1000) and "500us misses too often" in row.note
    [row], _ = capacity_of(sweep((1_000_000, 0), (500_000, 0)))
    assert row.value == pytest.approx(2000) and row.at_least
    [row], _ = capacity_of(sweep((1_000_000, 200), (500_000, 200)))
    assert row.value is None and row.words == "none of those tried"


def test_a_rate_that_too_few_activations_show_is_not_kept() -> None:
    cells = [measured("a", 1, at_interval(1_000_000, 0)), measured("b", 1, at_interval(500_000, 0, n=1000))]
    [row], _ = capacity_of(cells)
    assert row.value == pytest.approx(1000) and "500us is not shown" in row.note


def test_one_interval_or_another_difference_is_no_sweep() -> None:
    rows, why = capacity_of(sweep((1_000_000, 0)))
    assert rows == [] and "interval alone" in why
    other = with_plan(at_interval(500_000, 0), priority=50)
    cells = [*sweep((1_000_000, 0)), measured("other", 1, other)]
    assert capacity_of(cells)[0] == []


# D4


def idle_run(factor: float, dma: int | None, governor: str = "performance", **facts: Any) -> Recording:
    made = recording(block_lane({round(20 * US * factor): 20_000}), inventory=inventory(governors={"cpu0": governor}))
    made = with_plan(made, dma_latency_us=dma)
    return replace(made, manifest=replace(made.manifest, facts={**made.manifest.facts, **facts}))


def effect_of(cells: list[Measured]) -> tuple[list[KpiRow], str]:
    design, combinations = design_of(cells)
    return idle_and_governor(cells, combinations, design)


def test_idle_states_cost_what_they_were_made_to_cost() -> None:
    scatter = (1.0, 1.02, 0.98)
    cells = [measured("held", i, idle_run(f, 0)) for i, f in enumerate(scatter)]
    cells += [measured("free", i, idle_run(4 * f, None)) for i, f in enumerate(scatter)]
    [row], _ = effect_of(cells)
    assert row.where == "free / held" and row.note == "cpu_dma_latency: off / 0 us"
    assert row.value == pytest.approx(4, rel=1e-3)
    assert row.lo is not None and row.hi is not None and row.lo < 4 < row.hi


def test_a_board_that_refused_to_hold_them_is_not_one_that_held_them() -> None:
    cells = [measured("held", 1, idle_run(1, 0)), measured("refused", 1, idle_run(2, 0, dma_latency_error="EACCES"))]
    [row], _ = effect_of(cells)
    assert row.note == "cpu_dma_latency: not held / 0 us"


def test_the_governor_of_two_boot_entries_of_one_kernel_is_an_effect_and_of_two_kernels_none() -> None:
    fast, slow = idle_run(1, 0), idle_run(1.5, 0, "powersave")
    cells = [measured("all", 1, fast, "plain"), measured("all", 1, slow, "saving")]
    [row], _ = effect_of(cells)
    assert row.note == "governor: powersave / performance" and row.value == pytest.approx(1.5, rel=1e-3)
    told = {**slow.manifest.inventory, "kernel": {"release": "6.12-rt"}}
    other = replace(slow, manifest=replace(slow.manifest, inventory=told))
    assert effect_of([cells[0], measured("all", 1, other, "saving")])[0] == []
    assert effect_of([cells[0]])[0] == []


# D3


def heating(slope: float, seed: int, length: int = 900, rise: float = 30.0, n: int = 1003) -> Recording:
    """Exponential latencies whose scale grows by exp(slope) with every degree, from 40 degC up by `rise` over the run."""
    rng = np.random.default_rng(seed)
    celsius = 40 + rise * np.linspace(0, 1, length)
    scale = 20_000 * np.exp(slope * celsius)
    # the maximum of n exponential ones, drawn directly: F(x) ** n uniform
    maxima = (-scale * np.log(-np.expm1(np.log(rng.random(length)) / n))).astype(np.int64)
    seconds: Seconds = rollups(maxima.tolist(), n=n)
    lane = block_lane({10 * US: length * n})
    made = recording(replace(lane, seconds=seconds))
    times = BEGIN + np.arange(length, dtype=np.int64) * SECOND + SECOND // 2
    zone = Series("temperature", "cpu-thermal", "degC", times, celsius)
    manifest = replace(made.manifest, ended_ns=BEGIN + length * SECOND)
    return replace(made, manifest=manifest, telemetry=(zone,))


@pytest.mark.parametrize("slope", [0.02, 0.0, -0.01])
def test_the_slope_of_a_ramp_is_that_it_was_made_with(slope: float) -> None:
    cells = [measured("all", i, heating(slope, i)) for i in range(6)]
    _, combinations = design_of(cells)
    [row], _ = temperature(cells, combinations)
    assert row.lo is not None and row.hi is not None and row.value is not None
    assert row.lo <= math.expm1(slope) <= row.hi
    assert row.value == pytest.approx(math.expm1(slope), abs=0.003)


def test_no_ramp_no_slope() -> None:
    assert ramp(measured("all", 1, heating(0.02, 1, rise=4.0))) is None, "the temperature hardly changed"
    assert ramp(measured("all", 1, heating(0.02, 1, n=100_000))) is None, "a second's maximum is no p99.9"
    assert ramp(measured("all", 1, heating(0.02, 1, length=120))) is None, "too short"
    cells = [measured("all", i, heating(0.02, i)) for i in range(2)]
    rows, why = temperature(cells, design_of(cells)[1])
    assert rows == [] and why.startswith("2 of 3 runs")


# E4


def busy(switches: float, irq: Sequence[float], watched: bool = True) -> Recording:
    length = 20
    times = BEGIN + np.arange(length, dtype=np.int64) * SECOND + SECOND // 2
    telemetry = [
        Series("switches", "all.context_switches", "1/s", times, np.full(length, switches)),
        *(Series("threads", f"irq/{i}-x[{i}].busy", "ratio", times, np.full(length, share)) for i, share in enumerate(irq)),
        Series("threads", "rtprobe[9].busy", "ratio", times, np.full(length, 0.5)),
    ]  # fmt: skip
    made = recording(block_lane({10 * US: 20_000}), telemetry=tuple(telemetry))
    state = MonitorEntry("watched" if watched else "refused")
    manifest = replace(made.manifest, ended_ns=BEGIN + length * SECOND, monitors={"threads": state, "switches": state})
    return replace(made, manifest=manifest)


def test_switches_and_interrupt_threads_are_the_mean_of_the_runs() -> None:
    cells = [measured("all", i, busy(rate, (0.1, 0.02))) for i, rate in enumerate((900.0, 1000.0, 1100.0))]
    design, combinations = design_of(cells)
    switches, threads = overhead_of(cells, combinations, design)[0]
    assert switches.value == pytest.approx(1000)
    half = 4.302653 * 100 / math.sqrt(3)  # t(0.975; 2) times the standard error
    assert (switches.lo, switches.hi) == (pytest.approx(1000 - half, rel=1e-4), pytest.approx(1000 + half, rel=1e-4))
    assert threads.words == "12 % of a CPU (12 % to 12 % in 3 runs)"


def test_threads_that_nobody_watched_are_not_zero() -> None:
    cells = [measured("all", 1, busy(900.0, (), watched=False))]
    design, combinations = design_of(cells)
    rows, _ = overhead_of(cells, combinations, design)
    assert [row.where for row in rows] == ["context switches"] and rows[0].lo is None
    bare = [measured("all", 1, recording(block_lane({10 * US: 20_000})))]
    rows, why = overhead_of(bare, design_of(bare)[1], design_of(bare)[0])
    assert rows == [] and "no monitor" in why


# D2


def loaded(factor: float, work: float | None) -> Recording:
    parts = () if work is None else (WorkPart("cpu", work, "operations", 100.0),)
    made = recording(block_lane({round(20 * US * factor): 20_000}))
    entry = LoadEntry("builtin", ("builtin",), started_ns=0, ended_ns=10**18, classes=("cpu",), parts=parts)
    return replace(made, manifest=replace(made.manifest, loads=(entry,)))


@pytest.mark.parametrize("counted", [True, False])
def test_isolation_tells_its_gain_and_what_it_costs_the_loads(counted: bool) -> None:
    """Three times as late on shared CPUs; with isolation the loads do 0.6 of the work."""
    scatter = (1.0, 1.02, 0.98)
    cells = [measured("shared", i, loaded(3 * f, 1000.0 * f if counted else None)) for i, f in enumerate(scatter)]
    cells += [
        replace(measured("isolated", i, loaded(f, 600.0 * f if counted else None)), isolated=True)
        for i, f in enumerate(scatter)
    ]
    design, combinations = design_of(cells)
    card = scorecard(Facts(cells, combinations, design, {"combinations": []}, P, (), (), Grade("C", ())))
    [row] = next(one for one in card if one.id == "D2").rows
    assert row.where == "shared / isolated" and row.value == pytest.approx(3, rel=1e-3)
    assert row.note.startswith("work of the loads with isolation: 0.6 times [") if counted else row.note == ""


def test_scenarios_that_hold_the_same_are_no_effect_of_idle_states() -> None:
    cells = [measured(name, 1, idle_run(factor, dma)) for name, factor, dma in (("a", 1, 0), ("b", 2, 0), ("c", 4, 50))]
    notes = [(row.where, row.note) for row in effect_of(cells)[0]]
    assert notes == [("c / a", "cpu_dma_latency: 50 us / 0 us"), ("c / b", "cpu_dma_latency: 50 us / 0 us")]


# E1 of fixed works


def test_throughput_of_fixed_works_stands_before_that_of_loads() -> None:
    cost = throughput(group("stock", 1, pipe=1e6), group("rt", 1.25, pipe=1e6))
    design = Design(None, P, 0.95, "cell", {})
    facts = Facts((), (), design, {"combinations": []}, None, (), (), Grade("C", ()), (cost,))
    (kpi,) = (kpi for kpi in scorecard(facts) if kpi.id == "E1")
    (row,) = kpi.rows
    assert row.value == pytest.approx(0.8, rel=1e-4) and row.lo is not None and row.hi is not None
    assert row.where == "6.12-rt / 6.12-stock" and row.note == "fixed works: w 0.8"

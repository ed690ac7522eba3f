"""D3 and E4 at their bounds: stairs of temperature and latency of which the slope is known exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.many.experiment.watched import overhead, ramp, temperature
from rtassay.model.experiment import KpiRow
from rtassay.model.manifest import MonitorEntry
from rtassay.model.recording import Recording, Series

from ...build import SECOND, US, block_lane, facts, recording
from ...build import seconds as rollups
from .cells_of import design_of, measured

BEGIN = 5 * SECOND  # `block_lane` begins there
BLOCK = 30
CELSIUS = (40.0, 41.0, 43.0, 44.0, 45.0, 47.0, 48.0, 49.0)
DECADE = tuple(10 ** round(c - 40) for c in CELSIUS)
"""ns: ten times as long with each degree, so that the slope of its ln is ln 10."""


def zone(
    name: str, celsius: Sequence[float], begin: int = BEGIN, spread: bool = True, lag: Sequence[float] = ()
) -> Series:
    """Two readings a block, at its first and in its last second; their mean is `celsius`."""
    times, values = [], []
    for i, mean in enumerate(celsius):
        away = 0.5 * i if spread else 0.0
        times += [begin + i * BLOCK * SECOND, begin + (i * BLOCK + BLOCK - 1) * SECOND]
        values += [mean - away, mean + away]
    return Series("temperature", name, "degC", np.array(times, dtype=np.int64), np.array(values))


def stairs(
    celsius: Sequence[float] = CELSIUS,
    latencies: Sequence[int] = DECADE,
    *,
    lanes: int = 1,
    silent: int = 0,
    sparse: Sequence[int] | None = None,
    more: Sequence[Series] = (),
    begin: int = BEGIN,
    spread: bool = True,
    **changes: Any,
) -> Recording:
    """Blocks of 30 s with a thousand samples a second. `sparse`: samples of each second of the last block; `silent`: lanes without seconds."""
    maxima = np.repeat(np.array(latencies, dtype=np.int64), BLOCK)
    n = np.full(maxima.size, 1000)
    if sparse is not None:
        n[-BLOCK:] = sparse
        maxima[n == 0] = 0
    told = replace(rollups(maxima.tolist()), n=n)
    made = [
        replace(block_lane({10 * US: 30_000}, index=i), seconds=told if i >= silent else None) for i in range(lanes)
    ]
    rest = {"started_ns": begin, "ended_ns": begin + maxima.size * SECOND, "telemetry": (*more, zone("cpu-thermal", celsius, begin, spread))}  # fmt: skip
    return recording(*made, **{**rest, **changes})


def slope(made: Recording) -> float | None:
    return ramp(measured("all", 1, made))


def test_the_slope_of_stairs_is_that_of_their_logarithms() -> None:
    assert slope(stairs()) == pytest.approx(math.log(10), rel=1e-9)
    assert slope(stairs(lanes=2, silent=1)) == pytest.approx(math.log(10), rel=1e-9), "one lane has no seconds"
    assert slope(stairs(lanes=1, silent=1)) is None


def test_eight_blocks_and_five_degrees_are_the_least() -> None:
    assert slope(stairs(CELSIUS[:7], DECADE[:7])) is None
    five = [40.0, 45.0] * 4
    latencies = [1000, 2000] * 4
    assert slope(stairs(five, latencies, spread=False)) == pytest.approx(math.log(2) / 5, rel=1e-9)
    assert slope(stairs([40.0, 44.9] * 4, latencies, spread=False)) is None


def test_half_a_block_of_seconds_is_the_least() -> None:
    full, one, none = [1000], [1], [0]
    assert slope(stairs(sparse=full * 15 + none * 15)) is not None
    assert slope(stairs(sparse=full * 14 + none * 16)) is None
    assert slope(stairs(sparse=full * 16 + none * 14)) is not None, "seconds without a sample have no maximum"
    assert slope(stairs(sparse=full * 14 + one + none * 15)) is not None, "a second with one sample has one"
    assert slope(stairs(CELSIUS, (*DECADE[:7], 0))) is None, "a latency of 0 has no logarithm"


def test_seconds_count_from_where_the_probe_says() -> None:
    late = BEGIN + 7 * SECOND
    assert slope(stairs(begin=late, started_ns=BEGIN, facts=facts(origin_ns=late))) == pytest.approx(math.log(10))
    lane = replace(stairs().lanes[0], entry=replace(stairs().lanes[0].entry, first_due_ns=None))
    nowhere = replace(stairs(started_ns=None), lanes=(lane,))
    nowhere = replace(nowhere, manifest=replace(nowhere.manifest, lanes=(lane.entry,)))
    assert slope(nowhere) is None


def test_the_hottest_zone_is_the_one_that_counts() -> None:
    cold = zone("cpu-cold", [20.0] * 8, spread=False)
    assert slope(stairs(more=(cold,))) == pytest.approx(math.log(10), rel=1e-9)
    assert slope(stairs(telemetry=())) is None


def test_three_ramps_make_an_interval_of_student() -> None:
    """Slopes ln 10 / 10, / 20 and / 40: their mean and t(0.975; 2) standard errors."""
    wide = [[40 + k * (c - 40) for c in CELSIUS] for k in (10, 20, 40)]
    slopes = np.array([math.log(10) / k for k in (10, 20, 40)])
    cells = [measured("all", i, stairs(celsius)) for i, celsius in enumerate(wide)]
    other = measured("other", 1, stairs())
    _, combinations = design_of([*cells, other])
    (row,), why = temperature([*cells, other], combinations)
    half = 4.30265273 * slopes.std(ddof=1) / math.sqrt(3)
    ends = [math.expm1(value) for value in (slopes.mean() - half, slopes.mean(), slopes.mean() + half)]
    assert [row.lo, row.value, row.hi] == pytest.approx(ends, rel=1e-6)
    assert (
        row.note == "p99.9, 3 runs of 5 degC or more from cold to hot; what else changed in them counts too"
        and why == "1 of 3 runs of a combination ranged over 5 degC or more (preset qualify: runs from cold to hot)"
    )
    rows, why = temperature([], combinations)
    assert rows == [] and why.startswith("no run of a combination ranged over 5 degC or more (preset")


def busy(switches: float, *shares: float) -> Recording:
    """Context switches per second, and the time of one interrupt thread a share. Other series of threads do not count."""
    times = BEGIN + np.arange(20, dtype=np.int64) * SECOND + SECOND // 2
    names = [(f"irq/{i}-x[{i}].busy", share) for i, share in enumerate(shares)]
    telemetry = tuple(
        Series(monitor, name, unit, times, np.full(20, value))
        for monitor, name, unit, value in (
            ("switches", "all.context_switches", "1/s", switches),
            ("threads", "irq/0-x[0].switches", "1/s", 7.0),
            ("threads", "rtprobe[9].busy", "ratio", 0.5),
            *(("threads", name, "ratio", share) for name, share in names),
        )
    )
    watched = MonitorEntry("watched")
    return recording(
        block_lane({10 * US: 20_000}), telemetry=telemetry, started_ns=BEGIN, ended_ns=BEGIN + 20 * SECOND,
        monitors={"threads": watched, "switches": watched},
    )  # fmt: skip


def beside(*runs: tuple[str, Recording]) -> list[KpiRow]:
    cells = [measured(scenario, i, made) for i, (scenario, made) in enumerate(runs)]
    design, combinations = design_of(cells)
    return overhead(cells, combinations, design)[0]


def test_each_combination_has_rows_of_its_own() -> None:
    rows = beside(("a", busy(900.0, 0.125)), ("b", busy(300.0, 0.25)))
    assert [(row.where, row.value, row.words, row.lo, row.hi) for row in rows] == [
        ("a: context switches", pytest.approx(900), "", None, None),
        ("a: interrupt threads", None, "12.5 % of a CPU", None, None),
        ("b: context switches", pytest.approx(300), "", None, None),
        ("b: interrupt threads", None, "25 % of a CPU", None, None),
    ]


def test_two_runs_have_an_interval_that_does_not_go_below_nothing() -> None:
    """Mean 1000, standard error 100, t(0.975; 1) = 12.7062."""
    switches, threads = beside(("a", busy(900.0, 0.125)), ("a", busy(1100.0, 0.25)))
    assert (switches.value, switches.lo, switches.hi) == (pytest.approx(1000), 0.0, pytest.approx(2270.62, rel=1e-5))
    assert switches.note == "per second, of the whole board" and switches.where == "context switches"
    assert threads.words == "18.8 % of a CPU (12.5 % to 25 % in 2 runs)"
    near, _ = beside(("a", busy(999.0)), ("a", busy(1001.0)))
    assert near.lo == pytest.approx(1000 - 12.7062, rel=1e-6)

"""Throughput of two groups: known ratios, the boot as what is repeated, works that count alike, D* beside, and what is never claimed."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.analysis.many.throughput import _alone, change_of, throughput
from rtassay.model.comparison import RUNS_EXCHANGE, RUNS_T
from rtassay.model.errors import UsageError
from rtassay.model.recording import Series
from rtassay.model.throughput import FASTER, NO_DIFFERENCE, NOT_COMPARED, SLOWER
from rtassay.reports.throughput.html import HtmlThroughput
from rtassay.reports.throughput.json import JsonThroughput
from rtassay.reports.throughput.markdown import MarkdownThroughput
from rtassay.reports.throughput.terminal import TerminalThroughput

from ..build import block_lane, facts, inventory, recording


def of_work(name, parts, boot, *, argument=None, kernel="stock", at=0):
    """A run of a work: `parts`: name -> median of three rounds, ns. CPU time is half of it."""
    lanes, told = [], []
    for index, (part, ns) in enumerate(parts.items()):
        for cpu in (0, 1):
            value = round(ns / 2) if cpu else round(ns)
            lane = block_lane({value - 1: 1, value: 1, value + 9: 1}, index=2 * index + cpu)
            entry = replace(lane.entry, measure=f"work{'-cpu' * cpu}:{name}-{part}", cpu=None, interval_ns=None)
            lanes.append(replace(lane, entry=entry))
        told.append({"lane": 2 * index, "part": part, "amount": 1000, "unit": "messages"})
    work = {"name": name, "argument": argument, "parts": told, "rounds": 3, "unread": 0, "cut": False}
    return _on(boot, kernel, at, *lanes, facts={**facts(), "work": work})


def of_wake_ups(latency, boot, *, kernel="stock"):
    return _on(boot, kernel, 0, block_lane({latency: 100_000}))


def _on(boot, kernel, at, *lanes, **changes):
    board = inventory(boot_id=f"boot-{boot}")
    board["kernel"] = {**board["kernel"], "release": f"6.12-{kernel}"}
    created = f"2026-11-21T12:{at // 60:02}:{at % 60:02}Z"
    return recording(*lanes, inventory=board, id=f"{kernel}-{boot}-{at}", created=created, labels={}, **changes)


def group(kernel, factor, boots=5, **parts):
    """Runs of one work `w` on so many boots, whose times differ a little between boots."""
    return [
        of_work(
            "w",
            {name: ns * factor * (1 + 0.01 * (boot % 3)) for name, ns in parts.items()},
            f"{kernel}{boot}",
            kernel=kernel,
        )
        for boot in range(boots)
    ]


def test_a_kernel_that_takes_a_quarter_longer_gets_four_fifths_done():
    found = throughput(group("stock", 1, pipe=1e6), group("rt", 1.25, pipe=1e6))
    assert found.total.ratio == pytest.approx(0.8, rel=1e-4)
    assert found.total.lo < 0.8 < found.total.hi < 1 and found.total.method == RUNS_EXCHANGE
    assert found.conclusion == SLOWER and found.unit_of == "boots"
    (row,) = found.parts
    assert row.a.rate == pytest.approx(1000 / (1e6 * 1.01) * 1e9, rel=0.01) and row.a.units == 5 and row.a.rounds == 15
    assert row.cpu.ratio == pytest.approx(1.25, rel=1e-4)
    assert (found.a, found.b) == ("6.12-stock", "6.12-rt")


def test_the_other_way_round_it_is_faster():
    found = throughput(group("rt", 1.25, pipe=1e6), group("stock", 1, pipe=1e6))
    assert found.total.ratio == pytest.approx(1.25, rel=1e-4) and found.conclusion == FASTER


def test_equal_groups_show_no_difference():
    found = throughput(group("stock", 1, pipe=1e6), group("rt", 1, pipe=1e6))
    assert found.conclusion == NO_DIFFERENCE and found.total.lo <= 1 <= found.total.hi


def test_works_count_alike_whatever_parts_they_have():
    """One work of three parts that halve, one of one part that doubles: together the square root of 1/2 times 2."""

    def both(kernel, many, one):
        return [
            run
            for boot in range(4)
            for run in (
                of_work("many", dict.fromkeys("xyz", 1e6 * many), f"{kernel}{boot}", kernel=kernel),
                of_work("one", {"": 1e6 * one}, f"{kernel}{boot}", kernel=kernel),
            )
        ]

    found = throughput(both("stock", 1, 1), both("rt", 2, 0.5))
    assert {row.work: row.throughput.ratio for row in found.works} == {
        "many": pytest.approx(0.5),
        "one": pytest.approx(2),
    }
    assert found.total.ratio == pytest.approx(1)


def test_runs_of_one_boot_are_one_value():
    a = [of_work("w", {"": 1e6}, f"s{i // 4}", at=i) for i in range(12)]
    b = [of_work("w", {"": 2e6}, f"r{i // 4}", at=i, kernel="rt") for i in range(12)]
    found = throughput(a, b)
    assert found.parts[0].a.units == 3 and found.parts[0].a.runs == 12 and found.total.method == RUNS_T


def test_runs_are_the_values_where_there_is_one_boot_and_it_is_said():
    a = [of_work("w", {"": 1e6 + i}, "same", at=i) for i in range(4)]
    b = [of_work("w", {"": 2e6 + i}, "same", at=10 + i) for i in range(4)]
    found = throughput(a, b, ("before", "after"))
    assert found.unit_of == "runs" and found.parts[0].a.units == 4
    assert any("fewer than two boots" in note for note in found.notes)
    assert found.sentence.startswith("after (B) gets 0.5 times the work of before (A)")


def test_two_boots_of_each_conclude_nothing():
    found = throughput(group("stock", 1, 2, pipe=1e6), group("rt", 3, 2, pipe=1e6))
    assert found.conclusion == NO_DIFFERENCE and found.total.ratio == pytest.approx(1 / 3, rel=1e-3)


def test_one_boot_of_each_has_no_interval():
    found = throughput(group("stock", 1, 1, pipe=1e6), group("rt", 3, 1, pipe=1e6))
    assert found.total.lo is None and found.conclusion == NO_DIFFERENCE and "no interval" in found.sentence


def test_unlike_amounts_or_arguments_are_never_compared():
    a = [of_work("w", {"": 1e6}, f"s{i}", argument="-l 1") for i in range(4)]
    b = [of_work("w", {"": 1e6}, f"r{i}", argument="-l 2", kernel="rt") for i in range(4)]
    found = throughput(a, b)
    assert found.conclusion == NOT_COMPARED and found.total is None
    assert any("in one group only" in note for note in found.notes)


def test_demonstrated_deadlines_stand_beside():
    a = group("stock", 1, 4, pipe=1e6) + [of_wake_ups(200_000 + i, f"stock{i}") for i in range(4)]
    b = group("rt", 1.1, 4, pipe=1e6) + [of_wake_ups(50_000 + i, f"rt{i}", kernel="rt") for i in range(4)]
    (row,) = throughput(a, b).latency
    assert row.change.ratio == pytest.approx(0.25, rel=0.01) and row.change.hi < 1
    assert row.a_ns == pytest.approx(200_000, rel=0.01) and row.p == 1e-4
    assert "D*" in throughput(a, b).sentence


def test_one_group_alone_is_shown_without_ratios():
    found = throughput(group("stock", 1, pipe=1e6))
    assert found.b is None and found.total is None and found.parts[0].throughput is None
    assert found.parts[0].a.sd == pytest.approx(0.01, rel=0.3)


def test_a_run_in_which_no_round_came_to_its_end_says_so():
    words = "no round of a work came to its end. Measure longer: --duration."
    assert _alone("6.12", ()) == f"6.12: {words}"
    found = replace(throughput(group("stock", 1, pipe=1e6)), parts=(), sentence=words)
    said = TerminalThroughput(None).render(found).decode()
    assert "Per second" not in said and words in said


def test_recordings_of_wake_ups_alone_are_refused():
    with pytest.raises(UsageError):
        throughput([of_wake_ups(1000, "a")])


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=6), st.lists(st.floats(0.1, 10), min_size=2, max_size=6))
def test_a_mirrored_comparison_is_the_inverse(a, b):
    la, lb = [math.log(v) for v in a], [math.log(v) for v in b]
    forth, back = change_of(la, lb), change_of(lb, la)
    assert forth.ratio == pytest.approx(1 / back.ratio)
    assert forth.lo == pytest.approx(1 / back.hi, rel=1e-6) and forth.lo <= forth.ratio * 1.000001


def with_power(runs, watts):
    """The processor's package takes so many watts all the time."""
    series = Series("power", "rapl.package-0", "W", np.array([0, 10**9]), np.array([watts, watts]))
    return [replace(run, telemetry=(*run.telemetry, series)) for run in runs]


def test_energy_is_mean_power_times_the_time_of_a_round():
    """Three quarters of the power for twice the time is one and a half of the energy."""
    a = with_power([of_work("w", {"x": 1e9, "y": 2e9}, f"s{i}") for i in range(4)], 20.0)
    b = with_power([of_work("w", {"x": 2e9, "y": 4e9}, f"r{i}", kernel="rt") for i in range(4)], 15.0)
    found = throughput(a, b)
    (row,) = found.energy
    assert (row.work, row.a_j, row.b_j) == ("w", pytest.approx(60, rel=1e-6), pytest.approx(90, rel=1e-6))
    assert row.change.ratio == pytest.approx(1.5, rel=1e-6)
    assert json.loads(JsonThroughput().render(found))["energy"][0]["a_j"] == row.a_j
    for one in (TerminalThroughput(None), MarkdownThroughput(), HtmlThroughput()):
        told = one.render(found).decode()
        assert "a round (J)" in told and "60" in told and "90" in told and "Energy: mean power of the run" in told
    alone = TerminalThroughput(None).render(throughput(a)).decode()
    assert "Energy of a round (J)" in alone and "60" in alone


def test_a_board_that_tells_no_power_has_no_row_of_energy():
    found = throughput(group("stock", 1, pipe=1e6))
    assert found.energy == () and "nergy" not in TerminalThroughput(None).render(found).decode()

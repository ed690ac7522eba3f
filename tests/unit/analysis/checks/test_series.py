"""Monitor data as the checks see them: cut to the measurement, with what was known before it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from rtassay.analysis.checks import series
from rtassay.analysis.checks.context import Context
from rtassay.model.recording import Message, Recording, Series

from ..build import SECOND as S
from ..build import account, counted_lane, inventory, recording

BEGIN, END = 10 * S, 20 * S


def watched(*readings: tuple[int, float], monitor: str = "any", name: str = "n") -> Series:
    times, values = zip(*readings, strict=True)
    return Series(monitor, name, "1", np.array(times, dtype=np.int64), np.array(values))


def context(*telemetry: Series, **changes: object) -> Context:
    """A measurement from 10 s to 20 s."""
    lane = counted_lane([1000] * 10, S)
    made: Recording = recording(lane, telemetry=telemetry, started_ns=BEGIN, ended_ns=END)
    made = replace(made, **changes)  # type: ignore[arg-type]
    return Context(made, (account(lane),), (), None, 1e-6, 0.95)


def test_a_counter_is_told_from_its_last_value_before_the_measurement() -> None:
    rising = watched((8 * S, 1.0), (9 * S, 5.0), (BEGIN, 7.0), (END, 11.0), (END + 1, 90.0))
    found = series.named(context(rising), "any", "n")
    assert found is not None
    assert (found.times.tolist(), found.values.tolist(), found.before) == ([BEGIN, END], [7.0, 11.0], 5.0)
    assert found.since == 6.0
    # Two readings in 10 s: the seconds without a reading had nothing to count.
    assert (found.window_s, found.per_s) == (10.0, 1.8)


def test_a_counter_that_begins_inside_rises_from_its_first_value() -> None:
    found = series.named(context(watched((11 * S, 3.0), (12 * S, 8.0))), "any", "n")
    assert found is not None and (found.before, found.since) == (None, 5.0)


def test_more_readings_than_seconds_are_a_mean() -> None:
    often = series.Inside("n", "1", np.arange(4), np.array([2.0, 4.0, 6.0, 8.0]), None, window_s=2.0)
    assert often.per_s == 5.0


def test_what_is_not_finite_or_outside_is_not_there() -> None:
    broken = watched((9 * S, float("nan")), (11 * S, float("inf")), (12 * S, 2.0))
    found = series.named(context(broken), "any", "n")
    assert found is not None and (found.values.tolist(), found.before) == ([2.0], None)
    for absent in (watched((9 * S, 1.0)), watched((END + 1, 1.0)), watched((11 * S, float("nan")))):
        assert series.named(context(absent), "any", "n") is None
    assert series.named(context(found and broken), "any", "other") is None
    assert series.named(context(broken), "another", "n") is None


def test_a_state_holds_until_the_next_reading() -> None:
    state = watched((7 * S, 1.0), (9 * S, 2.0), (15 * S, 3.0), (END, 4.0), (END + 1, 5.0))
    held = series.held_of(context(state), "any", "n")
    assert held is not None and held.tolist() == [2.0, 3.0, 4.0]
    exactly = series.held_of(context(watched((9 * S, 1.0), (BEGIN, 2.0))), "any", "n")
    assert exactly is not None and exactly.tolist() == [2.0]
    assert series.held_of(context(watched((END + 1, 5.0))), "any", "n") is None
    assert series.held_of(context(state), "another", "n") is None


def test_series_of_cpus_are_told_by_their_number() -> None:
    both = context(watched((11 * S, 1.0), name="cpu3.max"), watched((11 * S, 2.0), name="max"))
    assert [(cpu, rest, found.values[0]) for cpu, rest, found in series.of_cpus(both, "any")] == [(3, "max", 1.0)]
    assert [(cpu, rest, values[0]) for cpu, rest, values in series.held_of_cpus(both, "any")] == [(3, "max", 1.0)]


def test_lines_of_the_log_count_inside_the_measurement_only() -> None:
    times = (BEGIN - 1, BEGIN, END, END + 1)
    lines = tuple(Message(series.KERNEL_LOG, at, f"stall {at}") for at in times)
    other = (Message("another", BEGIN, "stall"), Message(series.KERNEL_LOG, BEGIN, "calm"))
    made = context(messages=(*lines, *other))
    assert [line.mono_ns for line in series.log_lines(made, re.compile("stall"))] == [BEGIN, END]


@pytest.mark.parametrize(
    ("at_ns", "words"),
    [(BEGIN - S, "0.0 s into the run"), (BEGIN, "0.0 s into the run"), (BEGIN + 12 * S // 10, "1.2 s into the run")],
)
def test_moments_are_told_from_the_begin(at_ns: int, words: str) -> None:
    assert series.moment(context(), at_ns) == words


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, None),
        ({"isolated": (0, 5)}, (0,)),
        ({"nohz_full": (0,)}, (0,)),
        ({"isolated": (), "nohz_full": (3,)}, ()),
    ],
)
def test_isolated_cpus_are_those_that_were_measured(facts: dict[str, object], expected: object) -> None:
    bare = inventory()
    cpus = {key: value for key, value in bare["cpus"].items() if key not in ("isolated", "nohz_full")}
    made = context()
    manifest = replace(made.manifest, inventory={**bare, "cpus": {**cpus, **facts}})
    made = replace(made, recording=replace(made.recording, manifest=manifest))
    assert series.isolated_cpus(made) == expected


def test_the_lanes_own_share_needs_the_time_of_all_of_them() -> None:
    lane = counted_lane([1000] * 10, S)
    used = account(replace(lane, entry=replace(lane.entry, cpu=0, cpu_ns=2 * S)))
    unknown = account(replace(lane, entry=replace(lane.entry, cpu=0, cpu_ns=None)))
    elsewhere = account(replace(lane, entry=replace(lane.entry, cpu=1, cpu_ns=7 * S)))
    made = context()
    assert series.own_share(replace(made, accounts=(used, used, elsewhere)), 0) == 0.4
    assert series.own_share(replace(made, accounts=(used, unknown)), 0) is None
    assert series.own_share(replace(made, accounts=(elsewhere,)), 0) is None


def test_a_measurement_that_ends_before_it_begins_has_no_length() -> None:
    made = context()
    for ended, length in ((BEGIN - 1, None), (BEGIN, 0.0), (BEGIN + S, 1.0)):
        manifest = replace(made.manifest, ended_ns=ended)
        assert replace(made, recording=replace(made.recording, manifest=manifest)).duration_s == length
    manifest = replace(made.manifest, ended_ns=None)
    lane = made.accounts[0].entry
    assert lane.first_due_ns is not None and lane.closed_ns is not None
    without = replace(made, recording=replace(made.recording, manifest=manifest))
    assert without.window_ns == (lane.first_due_ns, lane.closed_ns)
    assert replace(without, accounts=()).window_ns is None is replace(without, accounts=()).duration_s


def test_a_monitor_watched_if_its_entry_says_so_or_it_has_values() -> None:
    from rtassay.model.manifest import MonitorEntry

    made = context(watched((BEGIN, 1.0)))
    assert series.watched(made, "any") and not series.watched(made, "other")
    for state, expected in (("watched", True), ("no readings", False)):
        manifest = replace(made.manifest, monitors={"any": MonitorEntry(state)})
        assert series.watched(replace(made, recording=replace(made.recording, manifest=manifest)), "any") is expected


def test_an_own_run_is_known_by_its_command_its_board_or_its_monitors() -> None:
    from rtassay.analysis.checks.context import own_run
    from rtassay.model.manifest import Plan

    bare = replace(context().manifest, plan=Plan(), inventory={}, facts={})
    made = context(manifest=bare)
    assert not own_run(made.recording)
    for change in ({"plan": Plan(argv=("rtassay",))}, {"inventory": {"kernel": {}}}):
        assert own_run(replace(made.recording, manifest=replace(bare, **change)))  # type: ignore[arg-type]
    assert own_run(replace(made.recording, telemetry=(watched((BEGIN, 1.0)),)))
    live = replace(bare, plan=Plan(argv=("rtassay",)), facts={"import": {"live": True}})
    assert own_run(replace(made.recording, manifest=live))
    assert not own_run(replace(made.recording, manifest=replace(live, facts={"import": {}})))

"""Which readings speak of a stall, in which order coincidences are told, and which words of the kernel belong to it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.judge.coincidence import (
    COINCIDENCES,
    OF_ONE_MONITOR,
    _alike,
    _covering,
    _cpu_of,
    _first_few,
    _order,
    _Ranges,
    _Threads,
    _until,
)
from rtassay.analysis.judge.waivers import check_waivers, waive
from rtassay.analysis.lane.distribution import ints
from rtassay.model.errors import UsageError
from rtassay.model.findings import CheckResult, Coincidence, Outlier
from rtassay.model.recording import Message, Recording

from ..build import SECOND as S
from ..build import US, facts, recording
from .test_coincidence import ORIGIN, a_minute, every_second, thread


@pytest.mark.parametrize(
    ("begin", "end", "rows"),
    [
        (12, 18, [2]),  # the first reading at or after its end, 20, speaks of the time since 10
        (10, 20, [1, 2]),  # a reading at its very begin is of it too
        (11, 20, [2]),
        (11, 21, [2, 3]),
        (0, 0, [0]),
        (35, 38, [4]),
        (41, 45, []),  # nothing was read after it
        (40, 40, [4]),
    ],
)
def test_the_readings_of_a_stall(begin: int, end: int, rows: list[int]) -> None:
    found = _covering(ints([0, 10, 20, 30, 40]), ints([begin]), ints([end]))
    assert list(range(int(found.first[0]), int(found.last[0]))) == rows


def test_a_reading_that_came_far_too_late_says_nothing() -> None:
    """Readings come every 10, the one after the stall 70 later: two steps after its end is the latest."""
    times = ints([0, 10, 20, 30, 100, 110, 120])
    for end, told in ((79, False), (80, True)):
        found = _covering(times, ints([35]), ints([end]))
        assert bool(found.last[0] > found.first[0]) is told
    one = _covering(ints([5]), ints([5]), ints([5]))
    assert (one.first.tolist(), one.last.tolist()) == ([0], [0])


def test_positions_outside_of_chosen_ranges() -> None:
    ranges = _Ranges(ints([1, 3, 4]), ints([3, 3, 6]))
    assert ranges.outside(7, np.array([True, True, True])).tolist() == [True, False, False, True, False, False, True]
    assert ranges.outside(7, np.array([False, True, False])).all()


def test_the_first_reading_at_or_after_a_moment_or_the_last() -> None:
    assert [_until(ints([10, 20]), at) for at in (5, 10, 11, 20, 21)] == [10, 10, 20, 20, 20]


def test_stalls_of_a_quarter_are_alike() -> None:
    assert _alike(ints([24, 25, 100, 400]), 100).tolist() == [False, True, True, True]


@pytest.mark.parametrize(("name", "cpu"), [("cpu12.LOC", 12), ("cpu.LOC", None), ("all.cpu3.x", None), ("cpu3", None)])
def test_the_cpu_of_a_reading(name: str, cpu: int | None) -> None:
    assert _cpu_of(name) == cpu


def hit(monitor: str, name: str = "n", as_far: int = 0, of: int = 10) -> Coincidence:
    return Coincidence(monitor, name, "1", 1.0, 0.0, as_far, of)


def test_the_order_is_by_nearness_rarity_and_distance() -> None:
    threads = _Threads(
        recording(telemetry=(thread("hog[7]", {0: 1.0}, "cpu", "1"), thread("far[8]", {0: 2.0, 1: 5.0}, "cpu", "1")))
    )

    def key(score: float, what: Coincidence, cpu: int | None = 1) -> tuple[Any, ...]:
        return _order((score, what), cpu, threads)

    assert key(2.0, hit("threads", "hog[7].busy", 1)) == (0, False, 0.1, -2.0)
    assert key(2.0, hit("threads", "far[8].busy")) == (2, False, 0.0, -2.0), "where it was looked at last"
    assert key(2.0, hit("threads", "none[9].busy")) == (0, False, 0.0, -2.0)
    assert key(3.0, hit("cpu", "cpu1.busy", 5)) == (0, True, 0.5, -3.0)
    assert key(3.0, hit("cpu", "cpu2.busy")) == (2, True, 0.0, -3.0) and key(3.0, hit("cpu", "cpu2.busy"), None) == (
        0,
        True,
        0.0,
        -3.0,
    )
    assert key(3.0, hit("memory", "free", 1, 0)) == (1, True, 1.0, -3.0)


def test_two_of_a_monitor_and_six_in_all_are_told() -> None:
    assert (COINCIDENCES, OF_ONE_MONITOR) == (6, 2)
    found = [hit(monitor, str(i)) for i, monitor in enumerate("aaabbbcdefg")]
    assert [(one.monitor, one.name) for one in _first_few(found)] == [
        ("a", "0"), ("a", "1"), ("b", "3"), ("b", "4"), ("c", "6"), ("d", "7"),
    ]  # fmt: skip
    assert list(_first_few([])) == []


def outlier(made: Recording) -> Outlier:
    (found,) = judge(made).outliers
    return found


def test_words_of_the_kernel_from_half_a_second_before_to_a_second_after() -> None:
    due, woken = ORIGIN + 21 * S, ORIGIN + 21 * S + 600 * US
    times = (due - S // 2 - 1, due - S // 2, due, woken + S, woken + S + 1)
    made = replace(
        recording(a_minute({2100: 600 * US})), messages=tuple(Message("kernel-log", at, f"{at}") for at in times)
    )
    assert outlier(made).messages == tuple(f"{at}" for at in times[1:4])
    many = replace(made, messages=tuple(Message("kernel-log", due + i, f"{i}") for i in range(5)))
    assert outlier(many).messages == ("0", "1", "2")


def test_its_moment_counts_from_the_origin_or_from_the_first_due_time() -> None:
    lane = a_minute({2100: 600 * US})
    assert outlier(recording(lane)).at_s == pytest.approx(21.0006, abs=1e-9)
    assert outlier(recording(lane, facts=facts(origin_ns=ORIGIN - 2 * S))).at_s == pytest.approx(23.0006, abs=1e-9)


def test_lanes_that_were_late_at_the_same_time_are_named_once_and_sorted() -> None:
    lanes = [a_minute({2100: (900 - i) * US, 2110: 300 * US}, index=i) for i in range(3)]
    found = judge(recording(*lanes)).outliers
    assert [(one.lane, one.also) for one in found] == [("0", ("1", "2"))]


def test_waivers_that_are_refused_say_why() -> None:
    with pytest.raises(UsageError) as caught:
        check_waivers({"governer": "x"})
    assert (caught.value.what, caught.value.hint) == (
        "there is no check 'governer' to waive", "did you mean GOVERNOR? rtassay checks lists them",
    )  # fmt: skip
    with pytest.raises(UsageError) as caught:
        check_waivers({"zzz": "x"})
    assert caught.value.hint == "rtassay checks lists them"
    with pytest.raises(UsageError) as caught:
        check_waivers({"no-activation": "x"})
    assert (caught.value.what, caught.value.why, caught.value.hint) == (
        "NO-ACTIVATION cannot be waived", "no reason makes a measurement out of nothing", "rtassay checks NO-ACTIVATION says what to do",
    )  # fmt: skip
    with pytest.raises(UsageError) as caught:
        check_waivers({"GOVERNOR": " \n "})
    assert (caught.value.what, caught.value.hint) == (
        "--waive GOVERNOR has no reason", 'add --because "why GOVERNOR does not matter here"',
    )  # fmt: skip
    assert check_waivers({"governor": " a \n b "}) == {"GOVERNOR": "a b"}


@pytest.mark.parametrize(
    ("severity", "kind", "waived"),
    [("invalid", "optimism", False), ("invalid", "integrity", True), ("warning", "optimism", True)],
)
def test_a_board_that_is_none_is_never_excused(severity: str, kind: str, waived: bool) -> None:
    steal, other = (
        CheckResult("VM-STEAL", severity, kind, "so", {}),
        CheckResult("GOVERNOR", "invalid", "optimism", "so", {}),
    )
    found = waive([steal, other], {"VM-STEAL": "x", "GOVERNOR": "y"})
    assert found[0].waived == ("x" if waived else None) and found[1].waived == "y"
    assert found[0].message == (
        "so" if waived else "so (not waived: an emulated or lab board can never show that a deadline holds)"
    )
    assert waive([steal], {"GOVERNOR": "y"}) == (steal,)


def test_the_run_begins_with_the_lane_that_is_due_first() -> None:
    """A reading before the second lane's first due time is of the run, and its moments count from the first lane's."""
    early, late = a_minute({}), a_minute({5: 900 * US}, index=1)
    late = replace(late, entry=replace(late.entry, first_due_ns=ORIGIN + 20 * S, closed_ns=ORIGIN + 80 * S))
    rate = [100.0] * 60
    made = recording(early, late, telemetry=(every_second("cpu1.LOC", [*rate[:20], 9e4, *rate[21:]]),))
    found = outlier(made)
    assert found.at_s == pytest.approx(20.0509, abs=1e-6)
    assert [(one.name, one.of) for one in found.coincidences] == [("cpu1.LOC", 59)]

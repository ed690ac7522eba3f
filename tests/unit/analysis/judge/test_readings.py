"""Which readings of a monitor speak of a stall, and from which size on one is unusual."""

from __future__ import annotations

import numpy as np
import pytest

from rtassay.analysis.judge import judge
from rtassay.analysis.judge.coincidence import _covering, _until
from rtassay.analysis.lane.distribution import ints
from rtassay.model.recording import Series

from ..build import US, recording
from .test_coincidence import LENGTH, ORIGIN, S, a_minute, every_second, thread

TIMES = ints([10, 20, 30, 40, 50])


@pytest.mark.parametrize(
    ("begin", "end", "covered"),
    [
        (12, 15, [20]),
        (12, 20, [20]),
        (12, 21, [20, 30]),
        (10, 10, [10]),
        (20, 20, [20]),
        (5, 7, [10]),
        (12, 38, [20, 30, 40]),
        (45, 50, [50]),
        (45, 99, [50]),
        (51, 60, []),
        (-30, -10, [10]),
        (-30, -11, []),
    ],
)
def test_the_readings_that_speak_of_a_stall(begin: int, end: int, covered: list[int]) -> None:
    """From the first at or after its begin to the first at or after its end; none where two readings or more must be missing."""
    found = _covering(TIMES, ints([begin]), ints([end]))
    assert TIMES[int(found.first[0]) : int(found.last[0])].tolist() == covered


def test_too_few_readings_speak_of_nothing() -> None:
    for times in (ints([]), ints([10])):
        found = _covering(times, ints([5]), ints([7]))
        assert int(found.first[0]) == int(found.last[0]) == 0
    assert _covering(ints([10, 20]), ints([5]), ints([7])).last.tolist() == [1]


def test_the_first_reading_after_a_moment() -> None:
    assert [_until(TIMES, at) for at in (5, 10, 11, 50, 51)] == [10, 10, 20, 50, 50]


@pytest.mark.parametrize(
    ("unit", "usual", "at_most", "from_on"),
    [
        ("ratio", 0.0, 0.05, 0.06),
        ("1/s", 0.0, 50.0, 51.0),
        ("degC", 0.0, 2.0, 2.1),
        ("CPUs", 0.0, 0.2, 0.21),
        ("1/s", 1000.0, 1100.0, 1101.0),
        ("other", 10.0, 11.0, 11.1),
    ],
)
def test_a_reading_is_unusual_beyond_a_step_and_a_tenth_of_the_usual(
    unit: str, usual: float, at_most: float, from_on: float
) -> None:
    for value, told in ((at_most, False), (from_on, True)):
        values = [usual] * LENGTH
        values[21] = value
        series = every_second("x", values, "any", unit)
        (outlier,) = judge(recording(a_minute({2120: 600 * US}), telemetry=(series,))).outliers
        assert [(hit.value, hit.usual) for hit in outlier.coincidences] == ([(value, usual)] if told else [])


@pytest.mark.parametrize(("readings", "told"), [(8, False), (9, True)])
def test_eight_others_are_the_least_to_know_what_is_usual(readings: int, told: bool) -> None:
    values = [0.0] * readings
    values[5] = 900.0
    times = np.array([ORIGIN + i * S + S // 2 for i in range(readings)], dtype=np.int64)
    series = Series("any", "x", "1/s", times, np.array(values))
    (outlier,) = judge(recording(a_minute({520: 600 * US}), telemetry=(series,))).outliers
    assert bool(outlier.coincidences) is told


def test_an_empty_series_of_a_stock_says_nothing() -> None:
    series = Series("memory", "available", "B", np.zeros(0, np.int64), np.zeros(0))
    (outlier,) = judge(recording(a_minute({520: 600 * US}), telemetry=(series,))).outliers
    assert outlier.coincidences == ()


def test_what_went_down_is_told_of_few_monitors_only() -> None:
    values = [1000.0] * LENGTH
    values[21] = 0.0
    for monitor, told in (("frequency", True), ("memory", True), ("interrupts", False), ("pressure", False)):
        (outlier,) = judge(
            recording(a_minute({2120: 600 * US}), telemetry=(every_second("x", values, monitor),))
        ).outliers
        assert bool(outlier.coincidences) is told, monitor


def test_lanes_that_were_late_with_it_are_told_in_order() -> None:
    lanes = [a_minute({2120 + i: (400 + 100 * i) * US}, index=i) for i in range(3)]
    (outlier,) = judge(recording(*lanes)).outliers
    assert (outlier.lane, outlier.also) == ("2", ("0", "1"))


def test_a_thread_of_which_no_cpu_is_known_may_have_run_on_that_of_the_lane() -> None:
    always = thread("irq/39[85]", dict(enumerate([0.02] * LENGTH)))
    for cpus in ((), (thread("storm[7]", {}, "cpu", "1"),)):
        seen = (always, thread("storm[7]", {21: 95.0}, "priority", "1"), *cpus)
        (outlier,) = judge(recording(a_minute({2120: 6000 * US}), telemetry=seen)).outliers
        assert [hit.name for hit in outlier.coincidences] == ["storm[7].priority"]

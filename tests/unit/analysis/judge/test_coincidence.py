"""What coincided with the worst wake-ups: by rank, away from other stalls, and never from nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.judge import judge
from rtassay.analysis.judge.coincidence import _Threads
from rtassay.model.findings import Outlier
from rtassay.model.recording import Lane, Message, Recording, Series

from ..build import MS, US, counted_lane, published, recording
from ..build import SECOND as S

ORIGIN = 5 * S
LENGTH = 60
PER_S = 100
INTERVAL = S // PER_S


def a_minute(stalls: dict[int, int], index: int = 0) -> Lane:
    """A lane at 10 ms for a minute with latencies of 10 us, and at activation k a stall of so many ns (below 10 ms: nothing missed)."""
    latencies = [10 * US] * (LENGTH * PER_S)
    for k, latency in stalls.items():
        latencies[k] = latency
    return counted_lane(latencies, INTERVAL, index=index, spill_from=20 * US)


def every_second(name: str, values: list[float], monitor: str = "interrupts", unit: str = "1/s") -> Series:
    """A reading at 0.5 s, 1.5 s ... after the origin: each speaks of the second before it."""
    times = np.array([ORIGIN + i * S + S // 2 for i in range(len(values))], dtype=np.int64)
    return Series(monitor, name, unit, times, np.array(values))


def noisy(level: float, size: int = LENGTH, seed: int = 1) -> list[float]:
    return list(np.random.default_rng(seed).normal(level, level / 50, size))


def found(run: Recording) -> tuple[Outlier, ...]:
    return judge(run).outliers


def test_a_timer_storm_at_the_moment_of_the_stall_is_named() -> None:
    storm, calm = noisy(1000, seed=2), noisy(500, seed=3)
    storm[21] = 90_000  # the reading at 21.5 s speaks of 20.5 s to 21.5 s
    lane = a_minute({2120: 600 * US})
    series = (every_second("cpu0.LOC", storm), every_second("cpu0.39:dwc_otg", calm))
    (outlier,) = found(recording(lane, telemetry=series))
    assert (outlier.latency_ns, outlier.cpu, outlier.missed) == (600 * US, 0, 0)
    assert outlier.at_s == pytest.approx(21.2006)
    (hit,) = outlier.coincidences
    assert (hit.name, hit.value, hit.as_far, hit.of) == ("cpu0.LOC", 90_000, 0, LENGTH - 1)
    assert hit.usual == pytest.approx(1000, rel=0.05)


def test_a_load_that_stopped_is_named_by_what_went_down() -> None:
    cpus = [2.0] * LENGTH
    cpus[40] = 0.1
    lane = a_minute({4010: 700 * US})
    series = (every_second("0.stress-ng.cpus", cpus, "load", "CPUs"),)
    (outlier,) = found(recording(lane, telemetry=series))
    assert [(hit.monitor, hit.value, hit.usual) for hit in outlier.coincidences] == [("load", 0.1, 2.0)]


@pytest.mark.parametrize(("moved_ns", "named"), [(99_000.0, False), (101_000.0, True)])
def test_clocks_that_differ_by_less_than_their_reading_takes_coincide_with_nothing(
    moved_ns: float, named: bool
) -> None:
    offsets = [0.0] * LENGTH
    offsets[40] = moved_ns
    lane = a_minute({4010: 700 * US})
    (outlier,) = found(recording(lane, telemetry=(every_second("boottime.offset", offsets, "clock", "ns"),)))
    assert [hit.name for hit in outlier.coincidences] == (["boottime.offset"] if named else [])


def test_a_reading_that_is_often_as_high_coincides_with_nothing() -> None:
    often = noisy(100)
    for i in range(0, LENGTH, 6):
        often[i] = 5000
    lane = a_minute({3020: 600 * US})  # second 30: one of the high ones
    (outlier,) = found(recording(lane, telemetry=(every_second("cpu0.RES", often),)))
    assert outlier.coincidences == ()


@pytest.mark.parametrize(("as_high", "named"), [(3, True), (4, False)])
def test_what_one_reading_in_twenty_reaches_is_still_rare(as_high: int, named: bool) -> None:
    """60 other readings: three of them are exactly 5 %."""
    rate = [100.0] * (LENGTH + 1)
    for second in (21, *range(40, 40 + as_high)):
        rate[second] = 9000.0
    (outlier,) = found(recording(a_minute({2120: 600 * US}), telemetry=(every_second("cpu0.LOC", rate),)))
    assert [(hit.as_far, hit.of) for hit in outlier.coincidences] == ([(as_high, LENGTH)] if named else [])


def test_the_nearest_come_first_then_the_rarest_then_the_farthest() -> None:
    """A thread, two readings of the lane's CPU (one rarer), two of the board (one farther), one of another CPU."""

    def burst(name: str, monitor: str, high: float, also: int = 0) -> Series:
        rate = [100.0] * LENGTH
        for second in (21, *range(40, 40 + also)):
            rate[second] = high
        return every_second(name, rate, monitor)

    series = (
        burst("cpu1.LOC", "interrupts", 9e9),
        burst("near", "memory", 5e3),
        burst("far", "temperature", 9e5),
        burst("cpu0.often", "softirqs", 9e8, also=2),
        burst("cpu0.once", "interrupts", 5e3),
        thread("hog[7]", {21: 0.3}),
        ALWAYS,
    )
    (outlier,) = found(recording(a_minute({2120: 6 * MS}), telemetry=series))
    assert [hit.name for hit in outlier.coincidences] == [
        *("hog[7].busy", "cpu0.once", "cpu0.often", "far", "near", "cpu1.LOC"),
    ]


def test_the_distance_from_usual_is_in_spreads() -> None:
    """The reading that moved less is farther from what is usual for it, because it was steady."""
    steady, jumpy = [100.0] * LENGTH, [float(v) for v in np.random.default_rng(1).normal(1000, 400, LENGTH)]
    steady[21], jumpy[21] = 2e4, 9e4
    series = (every_second("jumpy", jumpy, "memory"), every_second("steady", steady, "temperature"))
    (outlier,) = found(recording(a_minute({2120: 6 * MS}), telemetry=series))
    assert [hit.name for hit in outlier.coincidences] == ["steady", "jumpy"]


def test_a_thread_is_suspect_if_it_ran_for_half_of_the_stall() -> None:
    """Half of 6 ms is a share of .003 of a second."""
    for share, named in ((0.004, True), (0.0025, False)):
        busy = thread("hog[7]", {second: share if second == 21 else 0.0 for second in range(LENGTH)})
        (outlier,) = found(recording(a_minute({2120: 6 * MS}), telemetry=(ALWAYS, busy)))
        assert [hit.name for hit in outlier.coincidences] == (["hog[7].busy"] if named else [])


def test_stalls_at_once_on_two_lanes_are_one_outlier_and_other_stalls_are_not_the_usual() -> None:
    rate = noisy(1000)
    for second in (10, 30, 50):
        rate[second] = 50_000
    lanes = [a_minute({1020: 600 * US, 3020: 500 * US, 5020: 400 * US}), a_minute({3021: 900 * US}, index=1)]
    first, *rest = found(recording(*lanes, telemetry=(every_second("cpu1.LOC", rate),)))
    assert (first.cpu, first.also) == (1, ("0",))
    assert [outlier.latency_ns for outlier in rest] == [600 * US, 400 * US]
    assert all(outlier.coincidences[0].as_far == 0 for outlier in (first, *rest))


def test_short_stalls_all_around_leave_enough_that_is_usual() -> None:
    """A noisy run that was watched for 18 s: late by 60 us all the time, by 100 us every other second, and once by 6 ms."""
    rate = noisy(1000, 18)
    rate[10] = 50_000
    stalls = {k: 60 * US for k in range(30, 1800, 30)}
    stalls |= {k: 100 * US for k in (130, 350, 570, 790, 1240, 1460, 1680)} | {1020: 6 * MS}
    run = recording(a_minute(stalls), telemetry=(every_second("cpu0.LOC", rate),))
    first, *others = judge(run, deadline_ns=50 * US).outliers  # each of them is late for it
    assert first.latency_ns == 6 * MS and len(others) == 7
    assert [(hit.name, hit.as_far) for hit in first.coincidences] == [("cpu0.LOC", 0)]


def test_the_kernels_words_of_that_moment_are_kept() -> None:
    at = ORIGIN + 21 * S
    messages = (Message("kernel-log", at + MS, "RT throttling activated"), Message("kernel-log", at + 9 * S, "later"))
    judged = replace(recording(a_minute({2100: 600 * US})), messages=messages)
    assert found(judged)[0].messages == ("RT throttling activated",)


def thread(name: str, readings: dict[int, float], what: str = "busy", unit: str = "ratio") -> Series:
    """A real-time thread that was there at these seconds only, as the monitor `threads` tells it."""
    times = np.array([ORIGIN + second * S + S // 2 for second in readings], dtype=np.int64)
    return Series("threads", f"{name}.{what}", unit, times, np.array(list(readings.values())))


ALWAYS = thread("irq/39-dwc_otg[85]", dict(enumerate([0.02] * LENGTH)))


def test_a_thread_that_lived_for_a_moment_was_nothing_before_and_after() -> None:
    short = thread("hog[7]", {21: 0.3, 22: 0.001})
    later = thread("other[8]", {40: 0.4, 41: 0.4})
    (outlier,) = found(recording(a_minute({2120: 6 * MS}), telemetry=(ALWAYS, later, short)))
    (hit,) = outlier.coincidences
    assert (hit.name, hit.value, hit.usual, hit.as_far, hit.of) == ("hog[7].busy", 0.3, 0.0, 0, LENGTH - 1)


def test_a_thread_seen_but_once_has_appeared_unless_it_was_elsewhere_or_at_another_time() -> None:
    def seen(name: str, second: int, cpu: int) -> tuple[Series, Series]:
        once = {second: 95.0}
        return thread(name, once, "priority", "1"), thread(name, {second: float(cpu)}, "cpu", "1")

    threads = (*seen("storm[7]", 21, 0), *seen("elsewhere[8]", 21, 1), *seen("later[9]", 30, 0))
    guard = (*seen("rtprobe[6]", 21, 0), *seen("rtprobe-d1b41b7[5]", 21, 0))
    (outlier,) = found(recording(a_minute({2120: 6 * MS}), telemetry=(ALWAYS, *threads, *guard)))
    assert [(hit.name, hit.value) for hit in outlier.coincidences] == [("storm[7].priority", 95.0)]


def test_the_job_that_exec_measures_is_no_other_thread() -> None:
    once = (thread("job[7]", {21: 90.0}, "priority", "1"), thread("job[7]", {21: 0.0}, "cpu", "1"))
    lane = a_minute({2120: 6 * MS})
    lane = replace(lane, entry=replace(lane.entry, measure="job-response"))
    made = recording(lane, telemetry=(ALWAYS, *once))
    for command, names in (("./job --fast", []), ("./other", ["job[7].priority"])):
        plan = replace(made.manifest.plan, settings={"command": command})
        (outlier,) = found(replace(made, manifest=replace(made.manifest, plan=plan)))
        assert [hit.name for hit in outlier.coincidences] == names


def test_the_lane_s_own_cpu_comes_first_and_no_monitor_takes_all_the_room() -> None:
    def burst(name: str, monitor: str, high: float) -> Series:
        return every_second(name, [*noisy(100)[:21], high, *noisy(100)[22:]], monitor)

    names = [f"cpu{cpu}.{irq}" for cpu in (1, 0) for irq in ("LOC", "TLB", "CAL")]
    series = [burst(name, "interrupts", 1e6) for name in names] + [burst("cpu0.TIMER", "softirqs", 2e3)]
    cpus = [2.0] * LENGTH
    cpus[21] = 0.1
    series.append(every_second("0.stress-ng.cpus", cpus, "load", "CPUs"))
    (outlier,) = found(recording(a_minute({2120: 600 * US}), telemetry=tuple(series)))
    told = [f"{hit.monitor} {hit.name}" for hit in outlier.coincidences]
    assert set(told[:2]) < {f"interrupts {name}" for name in names[3:]}
    assert told[2:] == ["softirqs cpu0.TIMER", "load 0.stress-ng.cpus"]


def test_memory_that_drifts_all_along_is_told_by_what_it_lost_at_that_moment() -> None:
    available = 4e9 - 2e6 * np.arange(LENGTH)
    available[21:23] -= 300e6
    series = (every_second("available", list(available), "memory", "B"),)
    (outlier,) = found(recording(a_minute({2120: 600 * US}), telemetry=series))
    (hit,) = outlier.coincidences
    assert (hit.name, hit.value, hit.usual) == ("available, change", -302e6, -2e6)


def test_a_series_that_begins_long_after_the_stall_has_nothing_to_say_about_it() -> None:
    late = every_second("cpu0.TIMER", [0.0] * 30 + [9e4] + [100.0] * 29, "anything")
    late = replace(late, mono_ns=late.mono_ns[30:], values=late.values[30:])
    (outlier,) = found(recording(a_minute({1020: 600 * US}), telemetry=(late,)))
    assert outlier.coincidences == ()


def test_a_quiet_run_and_one_without_moments_have_no_outliers() -> None:
    assert found(recording(a_minute({}))) == ()
    assert found(published("rt")) == ()


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=80),
    st.dictionaries(st.integers(0, LENGTH * PER_S - 2), st.integers(100 * US, 900 * US), max_size=12),
)
def test_whatever_a_monitor_says_an_outlier_is_within_bounds(values: list[float], stalls: dict[int, int]) -> None:
    seen = found(recording(a_minute(stalls), telemetry=(every_second("any", values, unit="strange"),)))
    assert len(seen) <= 8
    assert [outlier.latency_ns for outlier in seen] == sorted((o.latency_ns for o in seen), reverse=True)
    for outlier in seen:
        assert 0 <= outlier.at_s <= LENGTH + 1
        assert all(0 <= hit.as_far <= 0.05 * hit.of and np.isfinite(hit.value) for hit in outlier.coincidences)


def test_properties_and_our_own_threads_are_neither_high_nor_low() -> None:
    lane = a_minute({})
    threads = _Threads(recording(replace(lane, entry=replace(lane.entry, tid=7))))

    def told(name: str, monitor: str = "threads") -> bool:
        return threads.tells_of(every_second(name, [1.0], monitor))

    assert told("hog[9].priority") and told("hog[9].cpu") and not told("hog[9].busy")
    assert told("lane[7].busy") and told("rtprobe-writer[9].busy") and not told("lane[8].busy")
    assert not told("lane[7].busy", "interrupts") and not told("cpu0.cpu", "interrupts")

"""The statistics behind the checks of patterns, against other implementations and against arithmetic written out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats

from rtassay.analysis.checks import CHECKS, patterns
from rtassay.analysis.checks.patterns import (
    chance_of_maximum,
    decluster,
    ks_distance,
    mann_kendall_p,
    outliers,
    steps_p,
    strongest_period,
    sure_of,
    theil_sen,
    top_values,
    trend_p,
)
from rtassay.model.recording import Histogram, Lane, Recording, Seconds

from ..build import MS, SECOND, US, account, block_lane, counted_lane, histogram, recording, seconds, skip_lane
from .condition_cases import minute
from .test_limits import looked

RNG = np.random.default_rng(8)
SCATTER = RNG.normal(size=40)


def floats(*values: float) -> np.ndarray:  # type: ignore[type-arg]
    return np.array(values, dtype=float)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (SCATTER[:15], SCATTER[15:] + 1),
        (floats(1, 2, 2, 3), floats(2, 2, 4)),
        (floats(5), floats(5)),
        (floats(1, 2), floats(8, 9, 10)),
        (floats(8, 9, 10), floats(1, 2)),
    ],
)
def test_the_distance_of_two_distributions_is_that_of_kolmogorov_and_smirnov(a: np.ndarray, b: np.ndarray) -> None:  # type: ignore[type-arg]
    assert ks_distance(a, b) == pytest.approx(scipy.stats.ks_2samp(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize("values", [SCATTER, SCATTER[:7] + np.arange(7), floats(3, 1), floats(4, 4, 4)])
def test_the_slope_is_that_of_theil_and_sen(values: np.ndarray) -> None:  # type: ignore[type-arg]
    assert theil_sen(values) == pytest.approx(scipy.stats.theilslopes(values)[0], abs=1e-12)


@pytest.mark.parametrize(
    ("values", "p"),
    [
        (range(11), math.erfc(9 / math.sqrt(20))),  # ten steps up: (|10| - 1) / sqrt(10)
        (range(11, 0, -1), math.erfc(9 / math.sqrt(20))),
        ((0, 1, 2, 3, 2, 2, 3), math.erfc(2 / math.sqrt(10))),  # four up, one down, one level: (|3| - 1) / sqrt(5)
        ((1, 2), 1.0),  # one step says nothing
        ((1, 2, 1), 1.0),
        ((7, 7, 7), 1.0),
    ],
)
def test_steps_in_one_direction(values: Sequence[int], p: float) -> None:
    assert steps_p(floats(*values)) == pytest.approx(p, rel=1e-12)


def of_mann_kendall(values: Sequence[float]) -> float:
    """As the textbook has it, one pair at a time: S, its variance with ties, widened by what neighbours have in common."""
    n = len(values)
    s = sum((values[j] > values[i]) - (values[j] < values[i]) for i in range(n) for j in range(i + 1, n))
    ties = [values.count(value) for value in set(values)] if isinstance(values, list) else []
    variance = (n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    slope = scipy.stats.theilslopes(values)[0]
    left = [value - slope * i for i, value in enumerate(values)]
    order = sorted(range(n), key=lambda i: left[i])
    rank = [order.index(i) - (n - 1) / 2 for i in range(n)]
    lag1 = sum(rank[i] * rank[i + 1] for i in range(n - 1)) / sum(r * r for r in rank)
    lag1 = max(0.0, lag1)
    variance *= (1 + lag1) / (1 - min(0.95, lag1))
    return math.erfc(max(0, abs(s) - 1) / math.sqrt(2 * variance)) if variance > 0 else 1.0


@pytest.mark.parametrize(
    "values",
    [
        [0.0, 3.0, 2.0, 5.0, 4.0, 7.0, 6.0, 9.0],  # neighbours alternate around the line: nothing is widened
        [9.0, 6.0, 7.0, 4.0, 5.0, 2.0, 3.0, 0.0],
        [1.0, 1.0, 4.0, 2.0, 3.0, 3.0, 6.0, 5.0, 7.0, 7.0],
        [float(x) for x in np.cumsum(np.sin(np.arange(30)))],
        [float(i * i) for i in range(200)],  # a smooth curve: neighbours have nearly everything in common
        SCATTER.tolist(),
        [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
    ],
)
def test_a_trend_by_mann_and_kendall(values: list[float]) -> None:
    assert mann_kendall_p(np.array(values)) == pytest.approx(of_mann_kendall(values), rel=1e-9)


def test_mann_kendall_written_out() -> None:
    """Eight values, 25 pairs rise and 3 fall: S = 22; the variance is 8 * 7 * 21 / 18, neighbours alternate."""
    values = floats(0, 3, 2, 5, 4, 7, 6, 9)
    assert mann_kendall_p(values) == pytest.approx(math.erfc(21 / math.sqrt(2 * 8 * 7 * 21 / 18)), rel=1e-12)
    assert mann_kendall_p(values[:7]) == 1.0, "too few"
    assert mann_kendall_p(np.full(20, 3.0)) == 1.0
    assert trend_p(values) == min(1.0, 2 * min(mann_kendall_p(values), steps_p(values)))
    assert trend_p(np.full(20, 3.0)) == 1.0


@pytest.mark.parametrize(
    ("p", "sure"),
    [
        ([], 0),
        ([0.0099], 1),
        ([0.01], 0),
        ([0.0049, 0.0099], 2),
        ([0.005, 0.0051], 0),  # 0.005 * 2 is not below 0.01, so neither is any later one
        ([0.001, 0.006, 0.007], 1),
        ([0.001, 0.0049, 0.02], 2),
    ],
)
def test_several_p_values_together(p: list[float], sure: int) -> None:
    assert sure_of(p) == sure


@pytest.mark.parametrize(
    ("k", "first"),
    [([5], [5]), ([5, 14, 24, 33], [5, 24]), ([0, 10, 19, 28, 38], [0, 10, 38]), ([0, 9, 18, 27], [0])],
)
def test_events_are_ten_activations_apart(k: list[int], first: list[int]) -> None:
    assert decluster(np.array(k)).tolist() == first


@pytest.mark.parametrize(("period", "length"), [(100, 10_000), (128, 12_800), (1000, 40_000), (40_000, 4_000_000)])
def test_a_strict_period_is_found_with_full_coherence(period: int, length: int) -> None:
    found = strongest_period(np.arange(0, length, period), length)
    assert found is not None
    assert found[0] == pytest.approx(period, rel=1e-9) and found[1] == pytest.approx(1, abs=1e-3)


def test_a_period_in_more_activations_than_bins_is_told_in_activations() -> None:
    """3 million activations in bins of three: the spectrum of 2^20 bins at most."""
    k = np.arange(0, 3_000_000, 30_000)
    found = strongest_period(k, 3_000_000)
    assert found is not None and found[0] == pytest.approx(30_000, rel=1e-9)
    assert patterns.MOST_BINS == 2**20 and -(-3_000_000 // patterns.MOST_BINS) == 3


def test_a_period_is_told_once_it_is_beyond_chance() -> None:
    """n late ones of strict period have the power n; chance reaches log(frequencies / 1e-4) once in 10 000 runs."""
    length = 2000
    level = math.log((int(0.4 * length) - 5) / 1e-4)
    assert 15 < level < 16
    for n, seen in ((15, False), (16, True)):
        assert (strongest_period(np.arange(n) * (length // n), n * (length // n)) is not None) is seen


def test_a_period_of_a_small_part_of_the_late_ones_is_none() -> None:
    """400 late ones of strict period among 800 others have a coherence of a third, among 2600 others of 0.13: below 0.3."""
    length = 1_000_000
    strict = np.arange(0, length, 2500)
    for others, seen in ((800, True), (2600, False)):
        k = np.unique(np.concatenate([strict, np.random.default_rng(3).choice(length, others, replace=False)]))
        assert (strongest_period(k, length) is not None) is seen


def test_periods_from_a_fifth_of_the_run_to_two_and_a_half_activations_are_seen() -> None:
    found = strongest_period(np.concatenate([np.arange(i, i + 40) for i in range(0, 1000, 200)]), 1000)
    assert found is not None and found[0] == pytest.approx(200, rel=1e-9)
    found = strongest_period(np.arange(0, 999, 3), 999)
    assert found is not None and found[0] == pytest.approx(3, rel=1e-9)
    assert strongest_period(np.arange(0, 1000, 2), 1000) is None


def test_the_largest_values_fall_and_those_of_a_bin_are_spread_over_it() -> None:
    lane = Lane(block_lane({1: 1}).entry, Histogram(np.array([10, 20]), np.array([5, 11]), np.array([3, 4])))
    lane = replace(lane, entry=replace(lane.entry, n=7))
    # Four in 20 .. 30: the middles of four quarters of the ten between 20 and 30; three in 10 .. 14.
    expected = [20 + 10 * (1 - x) for x in (0.125, 0.375, 0.625, 0.875)] + [
        10 + 4 * (1 - x) for x in (1 / 6, 0.5, 5 / 6)
    ]
    assert top_values(account(lane), 100).tolist() == pytest.approx(expected)
    assert top_values(account(lane), 7).tolist() == pytest.approx(expected)
    assert top_values(account(lane), 5).tolist() == pytest.approx(expected[:5])
    assert top_values(account(lane), 4).tolist() == pytest.approx(expected[:4])
    assert top_values(account(lane), 1).tolist() == pytest.approx(expected[:1])
    assert top_values(account(counted_lane([])), 5).size == 0


def test_the_chance_of_a_maximum_written_out() -> None:
    """Excesses 1 .. 9 over 100: mean 5, weighted 5/3 (Hosking and Wallis 1987): shape 2 - 5 / (5 - 10/3) = -1, so 0 before its error."""
    tail = floats(140, *range(109, 99, -1))
    n, first = 9, 5.0
    weighted = sum(x * (n - 1 - i) / (n - 1) for i, x in enumerate(range(1, 10))) / n
    assert weighted == pytest.approx(5 / 3) and 2 - first / (first - 2 * weighted) == pytest.approx(-1)
    shape = 1 / 3  # 0 + (1 + 0) / sqrt(9)
    beyond = (1 + shape * 40 / (first * (1 - shape))) ** (-1 / shape)
    p, gap = chance_of_maximum(tail)
    assert gap == 31 and p == pytest.approx(1 - (1 - beyond) ** 10, rel=1e-9)


def test_the_chance_of_a_maximum_over_a_heavy_tail_written_out() -> None:
    excesses = [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 20.0]
    n, first = 9, sum(excesses) / 9
    weighted = sum(x * (8 - i) / 8 for i, x in enumerate(excesses)) / n
    shape = 2 - first / (first - 2 * weighted)
    assert 0 < shape < 0.4
    shape = min(0.9, shape + (1 + shape) / 3)
    beyond = (1 + shape * 100 / (first * (1 - shape))) ** (-1 / shape)
    p, gap = chance_of_maximum(floats(150, *(50 + x for x in sorted(excesses, reverse=True)), 50))
    assert gap == 80 and p == pytest.approx(1 - (1 - beyond) ** 10, rel=1e-9)
    # One excess far beyond the others: the shape stops at 0.9.
    far = [0.0] * 8 + [1e6]
    beyond = (1 + 0.9 * 2e6 / (1e6 / 9 * 0.1)) ** (-1 / 0.9)
    p, gap = chance_of_maximum(floats(2e6 + 50, *(50 + x for x in reversed(far)), 50))
    assert gap == 1e6 and p == pytest.approx(1 - (1 - beyond) ** 10, rel=1e-9)


def test_a_tail_of_equal_values_makes_any_other_maximum_strange() -> None:
    assert chance_of_maximum(np.full(10, 7.0)) == (1.0, 0.0)
    assert chance_of_maximum(floats(8, *[7.0] * 9)) == (0.0, 1.0)
    # All excesses equal and above 0: no shape can be fitted, it is taken as 0 before its error of 1 / sqrt(8).
    shape = 1 / math.sqrt(8)
    beyond = (1 + shape * 20 / (5 * (1 - shape))) ** (-1 / shape)
    p, gap = chance_of_maximum(floats(27, *[12.0] * 8, 7))
    assert gap == 15 and p == pytest.approx(1 - (1 - beyond) ** 9, rel=1e-9)


def test_a_maximum_within_the_tail_has_no_small_chance() -> None:
    p, gap = chance_of_maximum(floats(*range(60, 0, -1)))
    assert gap == 1 and p > 0.5


def tail_to(maximum: int, lanes: int = 1) -> Recording:
    """A tail of 60 equal values of 100 us, and so far a maximum; the other lanes have none."""
    calm = [block_lane({100 * US: 61}, index=i) for i in range(1, lanes)]
    counts = {100 * US: 61} if maximum == 100 * US else {100 * US: 60, maximum: 1}
    return recording(block_lane(counts), *calm)


@pytest.mark.parametrize(("above", "severity"), [(0, "pass"), (1, "pass"), (2, "warning")])
def test_a_maximum_one_bin_beyond_the_others_is_none_of_its_own(above: int, severity: str) -> None:
    found = looked("LONE-EXTREME", tail_to(100 * US + above))
    assert found.severity == severity
    assert found.facts["0"] == {"p": 1.0 if above == 0 else 0.0, "gap_ns": above}


def test_the_lane_whose_maximum_is_least_likely_is_told() -> None:
    near, far = (block_lane({10 * i: 10 for i in range(100)} | {at: 1}, index=j) for j, at in enumerate((9000, 90_000)))
    found = looked("LONE-EXTREME", recording(near, far))
    assert found.severity == "warning" and found.message.startswith(
        "CPU1: after a second largest of 990ns a maximum of 90us has"
    )
    assert found.facts["1"]["p"] < found.facts["0"]["p"] < 0.005
    beyond = replace(far, histogram=histogram({10 * i: 10 for i in range(100)}, over=1, limit_ns=1000))
    alone = looked("LONE-EXTREME", recording(beyond))
    assert alone.severity == "unknown", "a maximum in overflow has no size"


def test_only_what_is_in_the_tail_and_known_in_order_is_an_outlier() -> None:
    lane = counted_lane([100] * 1000 + [700, 900] * 5, spill_from=700)
    found = outliers(account(lane))
    # p99.9 of 1010 samples is the tenth largest or higher, so the bin at 900; 5 of 1010 lie there.
    assert found is not None and (found.threshold_ns, found.k.tolist()) == (900, [1001, 1003, 1005, 1007, 1009])
    assert outliers(account(counted_lane([100] * 100, spill_from=101))) is None


def rolled(mean: Sequence[float], maximum: Sequence[float] | None = None, n: int = 1000) -> Seconds:
    made = seconds([round(x) for x in (maximum if maximum is not None else mean)], n=n)
    return replace(made, sum_ns=np.array([round(x * n) for x in mean], dtype=np.int64))


def of(*rows: Seconds) -> Recording:
    return recording(*(replace(minute(i, length_s=len(row.second)), seconds=row) for i, row in enumerate(rows)))


def first_minute(ratio: float, late: int = 60) -> Seconds:
    """180 s: the first second, then so many of the first minute at `ratio` times the mean of the rest, and the last second."""
    body = [100 * US * (ratio if i < late else 1.0) for i in range(178)]
    return rolled([9 * MS, *body, 9 * MS])


@pytest.mark.parametrize(
    ("ratio", "late", "severity"),
    [
        (1.099, 60, "pass"),
        (1.101, 60, "note"),
        (0.899, 60, "note"),
        (0.901, 60, "pass"),
        (1.5, 29, "pass"),
        (1.5, 31, "note"),
    ],
)
def test_the_first_minute_against_the_rest(ratio: float, late: int, severity: str) -> None:
    """Its median must differ by 10 %: more than half of it. The first and the last second are of neither."""
    assert looked("WARMUP", of(first_minute(ratio, late))).severity == severity


def test_the_lane_whose_first_minute_differs_most_is_told_and_all_are_listed() -> None:
    found = looked("WARMUP", of(first_minute(1.2), first_minute(0.5), first_minute(1.05)))
    assert found.message.startswith("CPU1: the mean latency of the first minute is -50% against the rest; declare")
    assert found.facts == {
        "lanes": {"0": {"ks": 1.0, "shift": 0.2}, "1": {"ks": 1.0, "shift": -0.5}, "2": {"ks": 1.0, "shift": 0.05}}
    }
    third = looked("WARMUP", of(first_minute(4 / 3))).facts["lanes"]["0"]
    assert third == {"ks": 1.0, "shift": 0.3333}
    still = looked("WARMUP", of(rolled([0.0] * 180)))
    assert (still.severity, still.facts["lanes"]["0"]) == ("pass", {"ks": 0.0, "shift": 0.0})


def test_a_distance_that_chance_explains_is_none_of_the_first_minute() -> None:
    """1.63 sqrt(60 + 118) / sqrt(60 * 118) = 0.26 is what chance reaches once in a hundred runs."""
    low, high = 100 * US, 200 * US
    for raised, severity in ((44, "pass"), (48, "note")):
        # In the first minute so many of 60 are high; of the rest half are, and a few in the middle bring its median down.
        first = [high if i < raised else low for i in range(60)]
        rest = [high if i % 2 else low for i in range(118)]
        found = looked("WARMUP", of(rolled([low, *first, *rest, low])))
        assert found.facts["lanes"]["0"]["ks"] == pytest.approx(raised / 60 - 0.5, abs=1e-4)
        assert found.severity == severity


def test_seconds_without_a_sample_have_no_mean() -> None:
    made = rolled([100 * US] * 240)
    n = made.n.copy()
    n[30:50] = 0
    sums = made.sum_ns.copy()
    sums[30:50] = 0
    top = made.max_ns.copy()
    top[30:50] = -1
    made = replace(made, n=n, sum_ns=sums, max_ns=top)
    assert looked("WARMUP", of(made)).severity == "pass"
    assert looked("NON-STATIONARY", of(made)).severity == "pass"
    one = made.n.copy()
    one[60:70] = 1  # one sample is a mean
    sums = sums.copy()
    sums[60:70] = 100 * US
    assert looked("WARMUP", of(replace(made, n=one, sum_ns=sums))).facts["lanes"]["0"] == {"ks": 0.0, "shift": 0.0}
    short = replace(made, n=np.append(np.zeros(62, np.int64), np.full(178, 1000)))
    assert looked("WARMUP", of(short)).severity == "unknown", "178 seconds with samples are needed, and 177 are left"
    assert looked("NON-STATIONARY", of(rolled([100 * US]))).severity == "unknown"


def drifting(change: float, length: int = 122) -> Seconds:
    """Means that rise by `change` of their median from the first to the last of 60 blocks of two seconds, with scatter of 0.1 %; no first
    and last second, whose means are far away."""
    line = 1 + change * (np.arange(length - 2) // 2 / 59 - 0.5)
    noise = 1 + 0.001 * np.where(np.arange(length - 2) % 4 < 2, 1, -1)
    return rolled([9 * MS, *(100 * US * line * noise), 9 * MS], maximum=[MS] * length)


@pytest.mark.parametrize(
    ("change", "severity"), [(0.097, "pass"), (0.103, "warning"), (-0.097, "pass"), (-0.103, "warning")]
)
def test_a_drift_of_a_tenth_of_the_level(change: float, severity: str) -> None:
    found = looked("NON-STATIONARY", of(drifting(change)))
    assert found.severity == severity
    assert found.facts["0.mean"]["change"] == pytest.approx(change, abs=0.002)
    assert found.facts["0.maximum"] == {"change": 0.0, "p": 1.0}
    assert len(str(found.facts["0.mean"]["change"]).lstrip("-0.")) <= 4


def test_the_largest_of_several_drifts_is_told() -> None:
    found = looked("NON-STATIONARY", of(drifting(0.2), drifting(-0.4), drifting(0.05)))
    assert (
        found.message
        == "CPU1: the mean of a second changed by -40% over the run: one part of it does not speak for another"
    )
    assert set(found.facts) == {f"{lane}.{what}" for lane in range(3) for what in ("mean", "maximum")}


def test_a_level_of_zero_cannot_drift() -> None:
    found = looked("NON-STATIONARY", of(rolled([0.0] * 119 + [1.0])))
    assert found.severity == "pass" and found.facts["0.mean"]["change"] == 0.0


def test_the_period_of_the_most_coherent_lane_is_told() -> None:
    def lane(index: int, noise: int) -> Lane:
        k = np.unique(np.concatenate([np.arange(500, 60_000, 500), np.random.default_rng(index).choice(60_000, noise)]))
        made = block_lane({100 * US: 60_001 - k.size, 500 * US: int(k.size)}, index=index)
        from ..build import spills_of

        return replace(
            made, entry=replace(made.entry, spilled=int(k.size)), spills=spills_of([(int(x), 500 * US, 0) for x in k])
        )

    found = looked("PERIODIC-OUTLIERS", recording(lane(0, 60), lane(1, 0), minute(2)))
    assert found.severity == "note" and found.message.startswith(
        "CPU1: late wake-ups come every 500ms (coherence 1.00)"
    )
    assert set(found.facts) == {"0", "1"}
    assert found.facts["1"]["period_ns"] == pytest.approx(500 * MS, rel=1e-4) and found.facts["1"]["coherence"] == 1.0
    assert (
        0.5 < found.facts["0"]["coherence"] < 0.9
        and round(found.facts["0"]["coherence"], 3) == found.facts["0"]["coherence"]
    )


def test_the_tick_and_the_intervals_that_keep_step_with_it() -> None:
    def at(hz: int, *intervals: int) -> tuple[str, str]:
        from .condition_cases import kernel

        lanes = [counted_lane([9] * 500, interval, index=i) for i, interval in enumerate(intervals)]
        found = looked("ALIASING", recording(*lanes, inventory=kernel(config_hz=hz)))
        return found.severity, found.message

    assert at(250, 997 * US, 8 * MS) == (
        "warning",
        "the interval 8ms keeps step with the tick of 4ms (250 Hz): what happens at ticks is always hit at the same phase, or never",
    )
    assert at(300, 10 * MS)[0] == "warning", "three ticks of 3.33 ms"
    assert at(250, 3 * MS)[0] == "pass"
    assert at(1000, 997 * US, 991 * US) == ("pass", "the interval 991us does not divide the tick of 1000 Hz")
    assert SECOND % (250 * 3 * MS) != 0 and (3 * MS * 250) % SECOND != 0


def test_a_file_without_order_has_no_period() -> None:
    made = recording(replace(minute(), spills=None))
    assert looked("PERIODIC-OUTLIERS", made).severity == "unknown"
    from ..build import cyclictest

    assert looked("LONE-EXTREME", cyclictest(skip_lane({5: 49}))).severity == "unknown"


def test_the_remedy_for_lost_real_time_is_that_of_the_kernel_s_version() -> None:
    """From 6.12 on sched_rt_runtime_us=-1 does not help: who reads one remedy must be led to the other."""
    remedies = {one.id: one.remedy for one in CHECKS if one.id in ("RT-THROTTLE-ON", "FAIR-SERVER")}
    for mine, other in (("RT-THROTTLE-ON", "FAIR-SERVER"), ("FAIR-SERVER", "RT-THROTTLE-ON")):
        assert "Before 6.12" in remedies[mine] and "From 6.12 on" in remedies[mine] and other in remedies[mine]
    assert "fair_server/cpuN/runtime" in remedies["FAIR-SERVER"] and "=-1" in remedies["RT-THROTTLE-ON"]

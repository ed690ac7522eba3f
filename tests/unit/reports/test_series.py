"""Reductions for plots keep counts and extremes, and stay small."""

from dataclasses import replace

import examples
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from rtassay.model.recording import Histogram, Series
from rtassay.reports import curves, svg
from rtassay.reports.recording import series


def histogram(pairs):
    lower = np.array(sorted(pairs), dtype=np.int64)
    return Histogram(lower, np.ones_like(lower), np.array([pairs[int(x)] for x in lower], dtype=np.int64))


HISTOGRAMS = st.dictionaries(st.integers(-5_000, 10**10), st.integers(1, 10**9), max_size=60).map(histogram)


@given(HISTOGRAMS, st.sampled_from([1, 52, 100, 1000]))
def test_coalescing_keeps_counts_and_places(source, unit):
    lower, width, counts = curves.coalesce(source, unit)
    assert counts.sum() == source.counts.sum()
    assert (np.diff(lower) > 0).all() and (counts > 0).all()
    assert (lower[1:] >= lower[:-1] + width[:-1]).all()
    for value in source.lower_ns:
        at = np.searchsorted(lower, value, side="right") - 1
        assert lower[at] <= value < lower[at] + width[at]


@given(HISTOGRAMS, st.integers(70, 200))
def test_exceedance_is_exact_at_its_points_and_keeps_the_top(source, points):
    x, k = curves.exceedance_curve(source, points)
    for value, above in zip(x.tolist(), k.tolist(), strict=True):
        assert above == int(source.counts[source.lower_ns >= value].sum())
    assert x.tolist()[-60:] == source.lower_ns.tolist()[-60:]


def test_a_thinned_curve_is_exact_and_follows_every_decade():
    source = examples.huge()[1].lanes[0].histogram
    x, k = curves.exceedance_curve(source, 600)
    assert len(x) <= 601 and x[0] == source.lower_ns[0]
    assert x[-60:].tolist() == source.lower_ns[-60:].tolist()
    for value, above in zip(x[::50].tolist(), k[::50].tolist(), strict=True):
        assert above == int(source.counts[source.lower_ns >= value].sum())
    bulk = k[k > 1e5]
    assert (bulk[:-1] / bulk[1:]).max() < 1.1  # no visible jump where there is none in the data


@pytest.mark.parametrize(("k", "n"), [(0, 10), (3, 10), (10, 10), (8, 200_000_000), (57, 200_000_000)])
def test_band_is_clopper_pearson(k, n):
    """By definition: the limits are where k or more, and k or fewer, have a probability of 2.5 %."""
    (low,), (high,) = series.confidence_band([k], n)
    assert low == 0 if k == 0 else binom.sf(k - 1, n, low) == pytest.approx(0.025, rel=1e-6)
    assert high == 1 if k == n else binom.cdf(k, n, high) == pytest.approx(0.025, rel=1e-6)


def test_codes_are_reversible():
    values = np.array([-3, 0, 5, 5_000_000_000])
    assert np.cumsum(curves.deltas(values)).tolist() == values.tolist()
    assert curves.run_lengths(np.array([4, 4, 7, 4])) == [4, 2, 7, 1, 4, 1]
    assert curves.deltas([]) == [] and curves.run_lengths([]) == []


def test_envelope_keeps_extremes_and_misses_of_a_day():
    _, recording = examples.huge()
    packed = series.envelopes(recording)
    for lane, row in zip(recording.lanes, packed["lanes"], strict=True):
        assert max(row["max"]) == lane.seconds.max_ns.max()
        assert min(row["min"]) == lane.seconds.min_ns.min()
        assert sum(row["missed"]) == lane.seconds.missed.sum()
        assert len(row["max"]) <= 500
    assert packed["step"] * len(packed["lanes"][0]["max"]) >= 86_400


def test_marks_keep_the_highest_and_say_how_many_are_left_out():
    _, recording = examples.huge()
    lanes, left_out = series.marks(recording)
    shown = [v for lane in lanes for v in lane["v"]]
    every = sorted(value for lane in recording.lanes if lane.spills for value in lane.spills.latency_ns.tolist())
    assert len(shown) == 600 and left_out == len(every) - 600
    assert sorted(shown) == every[-600:]


def test_marks_lie_at_their_due_time():
    _, recording = examples.violated()
    lanes, left_out = series.marks(recording)
    assert left_out == 0
    worst = lanes[3]["v"].index(11_300_016)
    assert lanes[3]["m"][worst] == 11
    assert lanes[3]["t"][worst] == (3 * examples.INTERVAL_NS // 4 + 700_000 * examples.INTERVAL_NS) // 1_000_000


S = 10**9


def drawn(*telemetry):
    """Charts of a recording with just these, their readings at seconds after the origin."""
    _, recording = examples.holds()
    origin = series.origin_ns(recording)
    rows = [
        Series(
            monitor, name, unit, np.array([origin + round(at * S) for at in values]), np.array(list(values.values()))
        )
        for monitor, name, unit, values in telemetry
    ]
    return {chart["title"]: chart for chart in series.telemetry(replace(recording, telemetry=tuple(rows)))}


def test_what_moves_never_is_not_drawn():
    some = {at + 0.5: 1.0 for at in range(10)}
    nothing = dict.fromkeys(some, 0.0)
    charts = drawn(
        ("cpu", "all.busy", "ratio", some),
        ("memory", "swap_in", "pages/s", nothing),
        ("clock", "realtime.offset", "ns", dict.fromkeys(some, 12.0)),
        ("cost", "watch.busy", "ratio", some),
        ("threads", "rtprobe[7].busy", "ratio", some),
        ("threads", "rtprobe-d1b41b7[9].busy", "ratio", some),
        ("threads", "irq/39[8].priority", "1", {0.5: 50.0}),
    )
    assert set(charts) == {"cpu"}
    assert "clock" in drawn(("clock", "realtime.offset", "ns", {0.5: 0.0, 1.5: 2e9}))


def test_a_mean_is_drawn_over_the_time_it_speaks_of_and_a_value_at_its_moment():
    means = {0.98: 1.0, 2.02: 2.0, 2.99: 3.0, 4.01: 4.0}  # a reading is never quite on time
    charts = drawn(("cpu", "all.busy", "ratio", means), ("temperature", "cpu", "degC", {1.3: 50.0, 2.3: 51.0}))
    assert charts["cpu"]["lines"][0]["v"] == [100, 200, 300, 400]
    assert charts["temperature"]["lines"][0]["v"] == [None, 50, 51]


def test_an_interrupt_or_thread_without_a_reading_was_silent_but_a_temperature_is_not_known():
    charts = drawn(
        ("cpu", "all.busy", "ratio", {at + 1.0: 1.0 for at in range(6)}),
        ("threads", "hog[7].busy", "ratio", {3.0: 0.3}),
        ("temperature", "cpu", "degC", {1.3: 50.0, 4.3: 51.0}),
    )
    assert charts["threads"]["lines"][0]["v"] == [0, 0, 30, 0, 0, 0]
    assert charts["temperature"]["lines"][0]["v"] == [None, 50, None, None, 51]


def test_telemetry_is_bounded_and_names_what_it_leaves_out():
    _, recording = examples.holds()
    one = recording.telemetry[0]
    many = tuple(replace(one, name=f"irq{i}", values=one.values * (i + 1)) for i in range(40))
    (chart,) = series.telemetry(replace(recording, telemetry=many))
    assert chart["left_out"] == 28 and [line["name"] for line in chart["lines"]] == [f"irq{i}" for i in range(28, 40)]
    assert chart["unit"] == "%" and max(chart["lines"][-1]["v"]) == pytest.approx(40 * 100 * one.values.max(), rel=0.01)
    assert series.telemetry(replace(recording, telemetry=())) == []


def test_a_monitor_that_coincided_with_a_worst_wake_up_is_news():
    _, recording = examples.holds()
    charts = series.telemetry(recording)
    assert charts and not any(chart["news"] for chart in charts)
    one = charts[0]["title"]
    assert {chart["title"] for chart in series.telemetry(recording, frozenset([one])) if chart["news"]} == {one}


@pytest.mark.parametrize(("low", "high"), [(100, 10**9), (1370, 1900), (2100, 4900), (123_456, 130_000)])
def test_a_log_axis_always_has_two_ticks_or_more(low, high):
    ticks = svg.decade_ticks(low, high)
    assert len(ticks) >= 2 and all(low <= tick <= high for tick in ticks)

"""Whole comparisons: the published Raspberry Pi 3B story, known effects, mirror images, and what is never claimed."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtassay.analysis.lane.account import accounts
from rtassay.analysis.many.compare import compare, comparison_dict, ratios, regressions
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import CONCLUSIONS, RUNS_BOOTSTRAP, RUNS_EXCHANGE, RUNS_T, WITHIN_RUN
from rtassay.model.errors import UsageError
from rtassay.model.findings import LADDER

from ...build import block_lane, published, recording
from .groups import group, labelled, overflowing, run, scaled, scatter, tail_counts


def check(result, name):
    (found,) = [c for c in result.checks if c.id == name]
    return found


@pytest.fixture(scope="module")
def riva():
    return compare([labelled(published("std"), "s", kernel="stock")], [labelled(published("rt"), "r", kernel="rt")])


def test_riva_crosses_near_95_us(riva):
    assert riva.conclusion == "crosses"
    assert riva.crossover.value_ns == 95_000
    assert 1 - riva.crossover.q == pytest.approx(1.22e-6, rel=0.01)
    assert (riva.crossover.worse_below, riva.crossover.worse_above, riva.crossover.shown) == ("b", "a", True)


def test_riva_ladder_is_that_of_the_files(riva):
    values = [(row.a_ns // 1000, row.b_ns // 1000) for row in riva.quantiles]
    assert values == [(14, 19), (14, 37), (17, 52), (27, 68), (41, 79), (51, 87), (96, 95), (146, 102)]
    for row in riva.quantiles:
        assert row.ratio == pytest.approx(row.b_ns / row.a_ns)
        assert row.lo <= row.ratio <= row.hi
        assert row.method == WITHIN_RUN and row.p_value is None and row.a12 is None
    assert [row.shown for row in riva.quantiles] == ["a_better"] * 6 + [None, "b_better"]
    assert [row.q for row in riva.quantiles] == list(LADDER)


@pytest.mark.proves("MEAN-SD-MISLEADS", "recorded")
@pytest.mark.proves("RATIO-OF-MAXIMA", "recorded")
def test_riva_mean_and_sd_mislead_and_maxima_are_put_at_equal_n(riva):
    misled = check(riva, "MEAN-SD-MISLEADS")
    assert misled.severity == "note" and "mean and standard deviation rank A better" in misled.message
    assert check(riva, "RATIO-OF-MAXIMA").severity == "note"
    fair = riva.rarefied
    assert fair.m == 10_000_000
    assert fair.a_lo_ns < fair.a_median_ns < fair.a_hi_ns <= 382_000
    assert fair.b_hi_ns <= 136_000


@pytest.mark.proves("SINGLE-RUN", "recorded")
def test_riva_does_not_claim_to_know_kernels_from_one_run_each(riva):
    assert check(riva, "SINGLE-RUN").severity == "warning"
    assert check(riva, "FEW-RUNS").facts["needed_per_group"] == 4
    assert "does not yet tell the kinds apart" in riva.sentence
    assert {row.name for row in riva.lanes} == {"core1", "core2", "core3", "core4"}
    assert riva.factor == ("kernel",)
    confound = check(riva, "AB-CONFOUND")
    assert confound.severity == "unknown" and "kernel command line" in confound.facts["not_known"]


def test_the_json_object_is_designs(riva):
    data = json.loads(json.dumps(comparison_dict(riva), allow_nan=False))
    assert next(iter(data)) == "schema" and data["schema"] == "rtassay/compare/1"
    assert {"q", "a_ns", "b_ns", "ratio", "lo", "hi"} <= set(data["quantiles"][0])
    assert {"q", "value_ns", "worse_below", "worse_above"} <= set(data["crossover"])
    assert {"id", "severity", "kind", "message", "facts"} <= set(data["checks"][0])
    assert data["conclusion"] in CONCLUSIONS
    assert "histogram" not in data["a"]


def test_swapping_the_groups_mirrors_everything():
    a, b = group("a", scatter(1, 5, 0.05)), group("b", scatter(2, 6, 0.1, 1.4), hour=9)
    there, back = compare(a, b), compare(b, a)
    mirror = {"a_better": "b_better", "b_better": "a_better"}
    assert there.conclusion == "a_better" and back.conclusion == mirror[there.conclusion]
    for x, y in zip(there.quantiles, back.quantiles, strict=True):
        assert (x.a_ns, x.b_ns) == (y.b_ns, y.a_ns)
        if x.ratio is not None:
            assert x.ratio == pytest.approx(1 / y.ratio)
            assert x.lo == pytest.approx(1 / y.hi) and x.hi == pytest.approx(1 / y.lo)
            assert x.p_value == pytest.approx(y.p_value) and x.a12 == pytest.approx(1 - y.a12)
        assert mirror.get(x.shown) == y.shown


def test_swapping_mirrors_the_bootstrap_and_the_crossover_too(riva):
    a, b = group("a", scatter(3, 8, 0.05)), group("b", scatter(4, 9, 0.05, 1.2))
    there, back = compare(a, b), compare(b, a)
    assert there.quantiles[0].method == RUNS_BOOTSTRAP
    for x, y in zip(there.quantiles, back.quantiles, strict=True):
        if x.ratio is not None:
            assert x.lo == pytest.approx(1 / y.hi) and x.hi == pytest.approx(1 / y.lo)
    turned = compare([labelled(published("rt"), "r")], [labelled(published("std"), "s")])
    assert (turned.crossover.q, turned.crossover.value_ns) == (riva.crossover.q, riva.crossover.value_ns)
    assert (turned.crossover.worse_below, turned.crossover.worse_above) == ("a", "b")
    assert turned.conclusion == "crosses"


counts = st.dictionaries(st.integers(1, 200), st.integers(1, 3000), min_size=1, max_size=12).map(
    lambda d: {1000 * v: n for v, n in d.items()}
)


@settings(max_examples=25, deadline=None)
@given(counts, counts, st.sampled_from([2, 3, 10]))
def test_scaling_all_latencies_scales_values_only(a, b, factor):
    small = compare([run("a", a)], [run("b", b)])
    large = compare([run("a", scaled(a, factor))], [run("b", scaled(b, factor))])
    assert small.conclusion == large.conclusion
    for x, y in zip(small.quantiles, large.quantiles, strict=True):
        assert (y.a_ns, y.b_ns) == (factor * x.a_ns, factor * x.b_ns)
        assert (x.ratio, x.lo, x.hi) == pytest.approx((y.ratio, y.lo, y.hi)) if x.ratio and x.lo and x.hi else True
        assert x.shown == y.shown
    if small.crossover is None:
        assert large.crossover is None
    else:
        assert large.crossover.value_ns == factor * small.crossover.value_ns
        assert large.crossover.q == small.crossover.q


@settings(max_examples=25, deadline=None)
@given(counts)
@pytest.mark.proves("DUPLICATE-RESULT", "synthetic")
def test_a_run_against_itself_shows_nothing_and_says_so(one):
    result = compare([run("a", one)], [run("b", one)])
    assert result.conclusion == "no_difference_shown"
    assert result.crossover is None
    assert check(result, "DUPLICATE-RESULT").severity == "warning"
    assert all(row.ratio in (None, 1.0) for row in result.quantiles)


def test_a_copy_within_a_group_is_found_too():
    base = tail_counts()
    result = compare([run("a", base), run("copy", base)], [run("b", scaled(base, 1.01))])
    assert check(result, "DUPLICATE-RESULT").facts["pairs"] == [["a", "copy"]]


@pytest.mark.parametrize("m", [3, 5, 9])
def test_a_large_effect_is_found_with_its_size(m):
    result = compare(group("a", scatter(5, m, 0.02)), group("b", scatter(6, m, 0.02, 1.5), hour=9))
    assert result.conclusion == "a_better"
    for row in result.quantiles:
        if row.ratio is not None:
            assert row.lo < 1.5 < row.hi
            primary = RUNS_T if m < 4 else RUNS_EXCHANGE
            assert row.method == (primary if row.q == 0.999 else RUNS_T if m < 8 else RUNS_BOOTSTRAP)


@pytest.mark.proves("FEW-RUNS", "synthetic")
def test_few_runs_make_no_permutation_test_and_enough_do():
    three = compare(group("a", scatter(7, 3, 0.02)), group("b", scatter(8, 3, 0.02, 1.5)))
    assert all(row.p_value is None for row in three.quantiles)
    assert check(three, "FEW-RUNS").severity == "warning" and check(three, "SINGLE-RUN").severity == "pass"
    assert (three.replication.smallest_p, three.replication.needed_per_group) == (pytest.approx(0.1), 4)
    six = compare(group("a", scatter(7, 6, 0.02)), group("b", scatter(8, 6, 0.02, 1.5)))
    known = [row for row in six.quantiles if row.ratio is not None]
    assert {round(row.p_value, 6) for row in known} == {round(2 / math.comb(12, 6), 6)}
    assert {row.q: row.p_holm / row.p_value for row in known} == {
        row.q: pytest.approx(1 if row.q == 0.999 else len(known) - 1) for row in known
    }
    assert all(row.a12 == 1 and row.cliffs_delta == 1 for row in known)
    assert check(six, "FEW-RUNS").severity == "pass"


def runs_of(kind, seed, m, centre=1.0):
    """Factors of m runs whose logarithms have the standard deviation 0.3."""
    random = np.random.Generator(np.random.PCG64([seed, m]))
    draws = {
        "normal": lambda: random.normal(0, 0.3, m),
        "t3": lambda: 0.3 * random.standard_t(3, m) / math.sqrt(3),
        "bimodal": lambda: 0.6 * (random.random(m) < 0.5) + random.normal(0, 0.01, m),
    }
    return [float(factor) for factor in centre * np.exp(draws[kind]())]


def concluded(kind, seed, m, n, centre=1.0):
    base = tail_counts(20_000)
    sides = []
    for factors in (runs_of(kind, 2 * seed, m), runs_of(kind, 2 * seed + 1, n, centre)):
        samples = tuple(Sample(accounts(recording(block_lane(scaled(base, factor))))) for factor in factors)
        sides.append(ratios.Side(samples, (None,) * len(samples)))
    (rows,) = ratios.corrected([(*sides, ratios.ladder(*sides, 0.999))])
    return ratios.conclusion(rows, 0.999)


@pytest.mark.parametrize(("m", "n"), [(5, 5), (3, 12)])
@pytest.mark.parametrize("kind", ["normal", "t3", "bimodal"])
def test_equal_groups_show_nothing_as_often_as_promised(kind, m, n):
    """At most 5 % of comparisons may conclude something: of 40, 8 or more in fewer than one of 1000 tests. Welch's test alone
    concludes in a quarter of the comparisons of 3 with 12 bimodal runs."""
    wrong = sum(concluded(kind, seed, m, n) != "no_difference_shown" for seed in range(40))
    assert wrong <= 7


def test_five_runs_show_a_factor_of_two():
    """Power .88 with runs that scatter by sd .3 of the logarithm (docs/method/comparisons.md); of 40, 27 or fewer in one of 1000."""
    shown = sum(concluded("normal", 300 + seed, 5, 5, 2.0) == "a_better" for seed in range(40))
    assert shown >= 28


def test_a_mean_that_is_the_same_to_a_part_in_a_thousand_ranks_nothing():
    """The tail of B is twice as late; its mean is .05 % smaller, which is no order."""
    factors = scatter(31, 5, 0.02)

    def side(name, tail_ns, shift):
        rows = []
        for i, factor in enumerate(factors):
            counts = scaled(tail_counts(100_000), factor * shift)
            counts[round(tail_ns * factor)] = 300
            rows.append(run(f"{name}{i}", counts, boot=f"{name}{i}"))
        return rows

    result = compare(side("a", 30_000, 1.0), side("b", 60_000, 0.9865))
    assert result.conclusion == "a_better"
    assert 0 < result.a.mean_ns / result.b.mean_ns - 1 < 0.002
    assert check(result, "MEAN-SD-MISLEADS").severity == "pass"


def test_the_primary_step_is_tested_alone_and_the_conclusion_rests_on_it():
    """Groups whose tails beyond p99.99 differ by far, and nothing else."""
    random = np.random.Generator(np.random.PCG64(77))

    def side(name, tail):
        rows = []
        for i in range(5):
            counts = scaled(tail_counts(100_000), float(np.exp(random.normal(0, 0.1))))
            counts[round(tail * float(np.exp(random.normal(0, 0.05))))] = 50
            rows.append(run(f"{name}{i}", counts, boot=f"{name}{i}"))
        return rows

    a, b = side("a", 60_000), side("b", 900_000)
    blind, asked = compare(a, b), compare(a, b, at=0.9999)
    assert blind.primary_q == 0.999 and blind.conclusion == "no_difference_shown"
    assert {row.q: row.shown for row in blind.quantiles}[0.9999] == "a_better"
    assert "A is earlier at p99.99" in blind.sentence and "--at" in blind.sentence
    assert asked.conclusion == "a_better" and "at p99.99, the step named beforehand" in asked.sentence
    assert regressions(blind) == regressions(asked) == (0.9999, 0.99999)
    between = compare(a, b, at=0.9995)
    assert [row.q for row in between.quantiles] == sorted([*LADDER, 0.9995])
    with pytest.raises(UsageError, match="between 0 and 1"):
        compare(a, b, at=1.0)


def test_a_primary_step_beyond_the_samples_says_so():
    result = compare([run("a", {1000: 500})], [run("b", {2000: 500})], at=0.9999)
    assert result.conclusion == "no_difference_shown"
    assert "do not reach p99.99" in result.sentence


def test_no_difference_names_the_smallest_that_would_have_been_seen():
    result = compare(group("a", scatter(11, 5, 0.1)), group("b", scatter(12, 5, 0.1)))
    assert result.conclusion == "no_difference_shown"
    row = result.quantiles[0]
    assert row.detectable == pytest.approx(max(row.hi / row.ratio, row.ratio / row.lo))
    assert row.detectable > 1.05
    assert "; only differences above 12 % would have shown" in result.sentence


def test_two_runs_of_a_group_conclude_nothing_of_their_kind():
    found = compare(group("a", [1.0, 1.001]), group("b", [5.0, 5.001]))
    assert found.conclusion == "no_difference_shown" and {row.shown for row in found.quantiles} == {None}
    assert "two runs do not tell how runs of their kind differ; it takes 3 of each or more" in found.sentence
    assert compare(group("a", [1.0, 1.001, 1.002]), group("b", [5.0, 5.001, 5.002])).conclusion == "a_better"


def test_a_million_samples_do_not_make_up_for_scatter_between_runs():
    """Runs of 2e6 samples each differ by 20 %: a 5 % shift of one group is nothing, whatever a pooled test would say."""
    result = compare(group("a", [0.8, 1.0, 1.25]), group("b", [0.84, 1.05, 1.31]))
    assert result.conclusion == "no_difference_shown"


def test_one_run_against_several_stands_on_the_extremes():
    result = compare(group("a", [1.0]), group("b", [1.1, 1.3, 1.6]))
    row = result.quantiles[0]
    assert row.method == WITHIN_RUN and row.lo <= 1.1 and row.hi >= 1.6
    assert check(result, "SINGLE-RUN").facts == {"groups": ["A"]}


def test_what_lies_in_overflow_gives_bounds_and_no_ratio():
    a = run("a", tail_counts())
    b = overflowing(run("b", scaled(tail_counts(), 2)), 30_000)
    result = compare([a], [b])
    by_q = {row.q: row for row in result.quantiles}
    assert by_q[0.5].ratio == pytest.approx(2, rel=0.01)
    deep = by_q[0.9999]
    assert deep.bound == "at_least" and deep.ratio is None and deep.hi is None
    assert deep.lo is not None and deep.lo > 1 and deep.shown == "a_better"
    assert check(result, "RATIO-OF-MAXIMA").facts["rarefied_n"] == 100_000
    assert check(result, "MEAN-SD-MISLEADS").severity == "unknown"


@pytest.mark.proves("PERCENTILE-UNSUPPORTED", "synthetic")
def test_few_samples_support_few_steps():
    result = compare([run("a", {1000: 500, 3000: 500})], [run("b", {2000: 500, 4000: 500})])
    assert [row.bound for row in result.quantiles] == ["exact"] * 4 + ["at_least"] * 4
    assert all(row.ratio is None for row in result.quantiles[4:])
    assert check(result, "PERCENTILE-UNSUPPORTED").facts == {"from_q": 0.9999}


def test_a_latency_of_zero_has_no_ratio_but_is_no_error():
    result = compare([run("a", {0: 1000, 5000: 10})], [run("b", {0: 900, 6000: 100})])
    assert result.quantiles[0].ratio is None
    assert result.conclusion in CONCLUSIONS


def test_regressions_need_the_whole_interval_beyond_the_tolerance():
    result = compare(group("a", scatter(21, 5, 0.02)), group("b", scatter(22, 5, 0.02, 1.3)))
    assert regressions(result, 0) and regressions(result, 10)
    assert regressions(result, 50) == ()
    back = compare(group("b", scatter(22, 5, 0.02, 1.3)), group("a", scatter(21, 5, 0.02)))
    assert regressions(back, 0) == ()


def test_lanes_are_compared_by_cpu_number():
    base = tail_counts(200_000)
    a = [run("a", [base, scaled(base, 2)]), run("a2", [scaled(base, 1.01), scaled(base, 2.02)])]
    b = [run("b", [base, scaled(base, 4)]), run("b2", [scaled(base, 1.01), scaled(base, 4.05)])]
    result = compare(a, b)
    assert [(lane.name, lane.cpu) for lane in result.lanes] == [("CPU0", 0), ("CPU1", 1)]
    assert result.lanes[0].quantiles[0].shown is None
    assert result.lanes[1].quantiles[0].ratio == pytest.approx(2, rel=0.02)
    assert result.lanes[1].quantiles[0].method == RUNS_T


def by(tool, recording):
    return replace(
        recording, manifest=replace(recording.manifest, source=replace(recording.manifest.source, tool=tool))
    )


@pytest.mark.proves("CROSS-TOOL", "synthetic")
def test_two_tools_that_lie_far_apart_are_told():
    base = tail_counts(20_000)
    same = [run("a", base)]
    told = check(compare(same, [by("cyclictest", run("b", scaled(base, 3)))]), "CROSS-TOOL")
    assert told.severity == "warning" and told.facts["factor"] == pytest.approx(3, rel=0.01)
    assert check(compare(same, [by("cyclictest", run("b", scaled(base, 1.9)))]), "CROSS-TOOL").severity == "pass"
    assert check(compare(same, [run("b", scaled(base, 3))]), "CROSS-TOOL").severity == "pass"


@pytest.mark.proves("LANES-DIFFER", "synthetic")
def test_another_number_of_lanes_is_told():
    base = tail_counts(20_000)
    result = compare([run("a", base)], [run("b", [base, base])])
    assert check(result, "LANES-DIFFER").facts == {"only_a": [], "only_b": ["CPU1"]}


def test_an_empty_group_and_an_unknown_factor_are_usage_errors():
    one = run("a", {1000: 10})
    with pytest.raises(UsageError, match="empty"):
        compare([], [one])
    with pytest.raises(UsageError, match="no factor 'colour'"):
        compare([one], [one], factor=["colour"])

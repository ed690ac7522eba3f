"""Run-level statistics against tables, scipy and simulated truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rtassay.analysis.many.compare import inference
from rtassay.analysis.many.compare.inference import Arm


@pytest.mark.parametrize(("m", "p"), [(2, 1 / 3), (3, 0.10), (4, 0.029), (5, 0.0079), (6, 0.0022)])
def test_the_smallest_p_of_so_many_runs(m, p):
    assert inference.smallest_p(m, m) == pytest.approx(p, rel=0.02)
    # ... and that is what two groups that do not overlap at all get
    a, b = np.arange(m, dtype=float), 100.0 + np.arange(m)
    assert inference.permutation_p(a, b) == (pytest.approx(inference.smallest_p(m, m)), True)


def test_three_runs_never_reach_five_percent():
    assert inference.runs_needed(0.05) == 4
    assert inference.runs_needed(0.05 / 8) == 6
    assert inference.smallest_p(1, 1) == 1


@pytest.mark.parametrize("seed", range(5))
def test_permutation_agrees_with_scipy(seed):
    random = np.random.Generator(np.random.PCG64(seed))
    a, b = random.normal(0, 1, 6), random.normal(0.7, 1, 6)
    wanted = stats.permutation_test((a, b), lambda x, y: np.mean(y) - np.mean(x), n_resamples=np.inf).pvalue
    assert inference.permutation_p(a, b)[0] == pytest.approx(wanted)


def test_many_runs_are_sampled_and_say_so():
    random = np.random.Generator(np.random.PCG64(3))
    a, b = random.normal(0, 1, 14), random.normal(0.9, 1, 15)
    p, exact = inference.permutation_p(a, b)
    assert not exact and not inference.all_exchanges(14, 15)
    wanted = stats.ttest_ind(a, b).pvalue
    assert p == pytest.approx(wanted, rel=0.35)
    assert inference.permutation_p(a, b) == (p, exact), "not deterministic"


@pytest.mark.parametrize(("m", "n"), [(4, 4), (5, 5), (3, 6), (7, 4)])
def test_the_interval_of_exchanges_holds_the_shifts_that_no_exchange_rejects(m, n):
    """Against the test itself: just inside a limit the shifted groups are not rejected at 5 %, just outside they are."""
    random = np.random.Generator(np.random.PCG64(m * 10 + n))
    a, b = random.normal(0, 1, m), random.normal(0.7, 2, n)
    low, high = inference.exchange_interval(a, b)
    for limit, outwards in ((low, -1), (high, 1)):
        inside, outside = (inference.permutation_p(a, b - limit - outwards * step)[0] for step in (-1e-6, 1e-6))
        assert inside > 0.05 >= outside
    assert inference.exchange_interval(b, a) == pytest.approx((-high, -low))


def test_sampled_exchanges_give_nearly_students_interval():
    random = np.random.Generator(np.random.PCG64(9))
    a, b = random.normal(0, 1, 14), random.normal(0.9, 1, 15)
    found = inference.exchange_interval(a, b)
    wanted = stats.ttest_ind(b, a).confidence_interval()
    assert found == pytest.approx((wanted.low, wanted.high), abs=0.08)
    assert found == inference.exchange_interval(a, b), "not deterministic"


def test_so_few_runs_that_no_exchange_is_rare_have_no_interval_of_exchanges():
    assert inference.exchange_interval(np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0, 9.0])) == (-math.inf, math.inf)


@pytest.mark.parametrize("seed", range(4))
def test_student_is_scipys(seed):
    random = np.random.Generator(np.random.PCG64(seed))
    a, b = random.normal(0, 1, 4), random.normal(0.5, 3, 7)
    wanted = stats.ttest_ind(b, a)
    test = inference.student(a, b, 0, 0)
    assert test.p_value(abs(test.difference)) == pytest.approx(wanted.pvalue)
    assert test.difference + test.half_width() == pytest.approx(wanted.confidence_interval().high)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 30))
def test_holm(ps, more):
    adjusted = inference.holm(ps, len(ps) + more)
    order = sorted(range(len(ps)), key=lambda i: ps[i])
    running = 0.0
    for place, i in enumerate(order):
        running = max(running, min(1.0, ps[i] * (len(ps) + more - place)))
        assert adjusted[i] == pytest.approx(running)


def test_holm_of_the_textbook_and_unknowns():
    assert inference.holm([0.01, None, 0.04, 0.03]) == [
        pytest.approx(0.03),
        None,
        pytest.approx(0.06),
        pytest.approx(0.06),
    ]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9), st.lists(st.integers(-5, 5), min_size=1, max_size=9))
def test_a12_is_u_over_mn(a, b):
    wanted = stats.mannwhitneyu(b, a).statistic / (len(a) * len(b))
    assert inference.a12(np.array(a, float), np.array(b, float)) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(4))
def test_welch_is_scipys(seed):
    random = np.random.Generator(np.random.PCG64(seed))
    a, b = random.normal(0, 1, 4), random.normal(0.5, 3, 7)
    wanted = stats.ttest_ind(b, a, equal_var=False)
    test = inference.welch(a, b, 0, 0)
    low, high = wanted.confidence_interval()
    assert test.difference - test.half_width() == pytest.approx(low)
    assert test.difference + test.half_width() == pytest.approx(high)
    assert test.p_value(abs(test.difference)) == pytest.approx(wanted.pvalue)
    assert test.p_value(0) == 1


def test_runs_that_agree_to_the_bin_do_not_make_certainty():
    a, b = np.log([14_000.0] * 3), np.log([15_000.0] * 3)
    hidden = math.log(15 / 14) / math.sqrt(12)
    assert inference.welch(a, b, 0, 0).p_value(0.01) < 1e-12
    assert inference.welch(a, b, hidden, hidden).p_value(0.01) > 0.1


@pytest.mark.parametrize("m", [3, 5, 8, 12])
def test_intervals_cover_the_truth(m):
    """Nominal 95 %: a percentile bootstrap of m = 3 covers 69 %, of 8 86 % (docs/method/known-answers.md)."""
    random = np.random.Generator(np.random.PCG64(m))
    rounds = 600
    inside = 0
    for _ in range(rounds):
        a, b = random.normal(0, 0.2, m), random.normal(0.3, 0.4, m)
        if m < 8:
            test = inference.welch(a, b, 0, 0)
            low, high = test.difference - test.half_width(), test.difference + test.half_width()
        else:
            arms = [Arm(v, v[:, None] + random.normal(0, 0.02, (m, 20)), tuple(map(str, range(m)))) for v in (a, b)]
            low, high = inference.bootstrap_t(*arms)
        inside += low <= 0.3 <= high
    assert 0.92 <= inside / rounds <= 0.985


def test_boots_are_drawn_before_runs():
    """Ten runs of two boots that differ: what looks like ten observations is two, and the interval has to say so."""
    random = np.random.Generator(np.random.PCG64(1))
    noise = random.normal(0, 0.01, 10)
    values = np.repeat([0.0, 0.5], 5) + noise
    quiet = random.normal(0, 0.01, 10)
    by_boot = tuple("xxxxxyyyyy")
    own = tuple(map(str, range(10)))

    def width(boots):
        low, high = inference.bootstrap_t(Arm(quiet, quiet[:, None], own), Arm(values, values[:, None], boots))
        return high - low

    assert width(by_boot) > 1.5 * width(own)


def test_boots_may_hold_different_numbers_of_runs():
    """The mean of resamples of 7 + 2 + 1 runs stays the mean of boots weighted as they come up."""
    values = np.array([0.0] * 7 + [1.0] * 2 + [4.0])
    means, errors = inference._resampled(Arm(values, values[:, None], tuple("xxxxxxxyyz")))
    assert means.min() == 0 and means.max() == 4
    assert (errors >= 0).all() and (errors[(means > 0) & (means < 4)] > 0).mean() > 0.9
    # three boots drawn: 27 combinations, each weighing its runs
    boots = [(7, 0.0), (2, 2.0), (1, 4.0)]
    wanted = np.mean([(a[1] + b[1] + c[1]) / (a[0] + b[0] + c[0]) for a in boots for b in boots for c in boots])
    assert means.mean() == pytest.approx(wanted, abs=0.05)


def test_values_without_scatter_have_no_bootstrap():
    same = np.zeros(8)
    assert inference.bootstrap_t(*(Arm(same, same[:, None], tuple("abcdefgh")) for _ in range(2))) is None


def test_a_resample_of_boots_has_the_error_of_its_runs() -> None:
    """Two boots of two equal runs each: both boots drawn, mean 1/2 and variance 1/3 of four values; one drawn twice, no scatter."""
    values = np.array([0.0, 0.0, 1.0, 1.0])
    arm = inference.Arm(values, np.repeat(values[:, None], 5, axis=1), ("a", "a", "b", "b"))
    means, squares = inference._of_boots(arm, ["a", "b"], np.random.Generator(np.random.PCG64(1)))
    assert {(round(m, 9), round(s, 9)) for m, s in zip(means, squares, strict=True)} == {
        (0.0, 0.0),
        (1.0, 0.0),
        (0.5, round(1 / 12, 9)),
    }


def test_a_boot_that_is_drawn_brings_as_many_runs_as_it_has() -> None:
    values = np.array([0.0, 3.0, 3.0, 3.0])
    arm = inference.Arm(values, values[:, None], ("a", "b", "b", "b"))
    means, _ = inference._of_boots(arm, ["a", "b"], np.random.Generator(np.random.PCG64(1)))
    assert {round(mean, 9) for mean in means} == {0.0, 2.25, 3.0}


def test_the_bootstrap_is_near_students_interval_for_runs_without_scatter_of_their_own() -> None:
    a, b = np.array([1.0, 2, 3, 4, 5, 6, 7, 8]), np.array([11.0, 13, 12, 15, 14, 17, 16, 18])
    low, high = inference.bootstrap_t(*(Arm(values, values[:, None], tuple("abcdefgh")) for values in (a, b)))
    half = inference.welch(a, b, 0.0, 0.0).half_width()
    assert low < 10 < high and (high - low) / 2 == pytest.approx(half, rel=0.25)
    means, squares = inference._resampled(Arm(a, a[:, None], tuple("abcdefgh")))
    assert squares.mean() == pytest.approx(np.var(a) / 8, rel=0.05) and means.mean() == pytest.approx(4.5, abs=0.05)


def test_no_bootstrap_without_scatter_of_values_or_of_redraws() -> None:
    values, same = np.arange(8.0), np.ones((8, 1))
    own = tuple("abcdefgh")
    assert inference.bootstrap_t(Arm(values, same, own), Arm(values + 1, same, own)) is None
    redrawn = np.arange(16.0).reshape(8, 2)
    assert inference.bootstrap_t(Arm(np.zeros(8), redrawn, own), Arm(np.zeros(8), redrawn, own)) is None


def test_names_of_boots_change_nothing() -> None:
    values = np.arange(16.0)
    names = [tuple(prefix + f"{i // 2}" for i in range(16)) for prefix in ("x", "boot-", "q7")]
    means = [inference._resampled(Arm(values, values[:, None], boots))[0] for boots in names]
    assert (means[0] == means[1]).all() and (means[0] == means[2]).all()


def test_runs_within_a_boot_are_drawn_alike_often() -> None:
    values = np.array([0.0, 3.0, 6.0, 9.0])
    means, _ = inference._of_boots(
        Arm(values, values[:, None], tuple("abbb")), ["a", "b"], np.random.Generator(np.random.PCG64(1))
    )
    both = means[(means != 0)]
    # half of these draws hold b twice (mean 6), two thirds of the others a and b (mean 18 / 4)
    assert both.mean() == pytest.approx((6 + 2 * 4.5) / 3, abs=0.1)


def test_two_draws_have_a_variance_of_one_free_value() -> None:
    """Boot a has one run that may show 0 or 1: drawn twice, once each, the error of the mean 1/2 is sqrt(1/4)."""
    arm = Arm(np.array([0.0, 5.0, 5.0]), np.array([[0.0, 1.0], [5.0, 5.0], [5.0, 5.0]]), tuple("abb"))
    means, squares = inference._of_boots(arm, ["a", "b"], np.random.Generator(np.random.PCG64(1)))
    assert (0.5, 0.25) in set(zip(means.round(9).tolist(), squares.round(9).tolist(), strict=True))


def test_p_of_sampled_and_of_all_exchanges() -> None:
    far = np.arange(11.0)
    assert inference.permutation_p(far, far + 1000) == (1 / (inference.DRAWS + 1), False)
    a, b = np.arange(8.0) ** 2, np.arange(8.0) ** 2 + 9.5
    p, every = inference.permutation_p(a, b)
    assert every and p * 12870 == pytest.approx(round(p * 12870), abs=1e-6), "C(16, 8)"


def test_the_interval_of_exchanges_mirrors_and_rejects_at_the_level() -> None:
    a, b = np.array([1.0, 2.5, 3.0, 4.7, 8.0]), np.array([9.0, 10.5, 14.0])
    low, high = inference.exchange_interval(a, b)
    assert inference.exchange_interval(b, a) == pytest.approx((-high, -low)) and 0 < low < high
    three = inference.exchange_interval(np.array([1.0, 2, 3]), np.array([11.0, 12, 13.5]), 0.1)
    assert np.isfinite(three).all(), "2 of 20 exchanges are as extreme: p = 0.1 is rejected"
    assert not np.isfinite(inference.exchange_interval(np.array([1.0, 2, 3]), np.array([11.0, 12, 13.5]), 0.0999)).any()

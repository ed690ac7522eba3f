"""Order-statistic intervals within runs, and the steps of the ladder that rest on them, by hand."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from rtassay.analysis.many.compare import ratios
from rtassay.analysis.many.compare.ratios import Side, ladder
from rtassay.analysis.many.compare.sample import Sample
from rtassay.model.comparison import WITHIN_RUN

from .test_known import cut, sample


def uniform(n: int = 100, factor: int = 1) -> Sample:
    return sample({factor * k: 1 for k in range(1, n + 1)})


def side(*samples: Sample, boots: tuple[str | None, ...] | None = None) -> Side:
    return Side(samples, boots or tuple(None for _ in samples))


@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_the_interval_of_a_quantile_is_that_of_binomial_ranks(alpha: float) -> None:
    found = uniform().quantile(0.5, alpha)
    low, high = (int(stats.binom.ppf(p, 100, 0.5)) for p in (alpha / 2, 1 - alpha / 2))
    assert found is not None and (found.value_ns, found.lo_ns, found.hi_ns) == (50, low, high + 1)


def test_an_interval_beyond_the_largest_sample_is_open() -> None:
    found = uniform().quantile(0.99)
    assert found is not None and (found.value_ns, found.lo_ns, found.hi_ns, found.exact) == (99, 97, None, True)
    low = uniform().quantile(0.0001)
    assert low is not None and (low.value_ns, low.lo_ns) == (1, 1)


def test_single_runs_have_the_extremes_of_both_intervals() -> None:
    [row] = [step.row for step in ladder(side(uniform()), side(uniform(factor=3)), 0.999) if step.row.q == 0.5]
    low, high = (int(stats.binom.ppf(p, 100, 0.5)) for p in (0.025, 0.975))
    assert row.method == WITHIN_RUN and row.ratio == pytest.approx(3.0)
    assert row.lo == pytest.approx(3 * low / (high + 1)) and row.hi == pytest.approx(3 * (high + 1) / low)
    assert row.detectable == pytest.approx(max(row.hi / 3, 3 / row.lo))


def test_bins_widen_the_upper_ends_and_only_where_they_are_wide() -> None:
    us = cut({k: 10 for k in range(1, 11)}, 0)
    low, high = ratios._extremes(side(us), 0.5, 0.05)
    ranks = [int(stats.binom.ppf(p, 100, 0.5)) for p in (0.025, 0.975)]
    assert (low, high) == (math.ceil(ranks[0] / 10) * 1000, (math.ceil((ranks[1] + 1) / 10) + 1) * 1000)
    exact = uniform()
    found = exact.quantile(0.5)
    assert found is not None and ratios._extremes(side(exact), 0.5, 0.05) == (found.lo_ns, found.hi_ns)
    assert ratios._extremes(side(exact, us), 0.99, 0.05) == (97, None)


def test_the_centre_of_runs() -> None:
    def centre(*values: int) -> int:
        limits = [found for value in values if (found := sample({value: 9}).quantile(0.5)) is not None]
        return ratios._centre(tuple(limits))

    assert centre(10, 1000) == 100 and centre(7, 7) == 7 and centre(1, 10, 100) == 10
    assert centre(0, 10) == 5 and centre(-4, 10) == 3


def test_boots_are_grouped_where_one_holds_several_runs() -> None:
    one = uniform()
    assert ratios._grouped(side(one, one, boots=("a", "a")))
    assert not ratios._grouped(side(one, one, boots=("a", "b")))
    assert not ratios._grouped(side(one, one, one, boots=("a", "a", None)))


def test_logs_know_what_bins_hide() -> None:
    exact = ratios.logs_of(side(uniform(), uniform(factor=2)), 0.5)
    assert exact is not None and exact.low.tolist() == [pytest.approx(math.log(50)), pytest.approx(math.log(100))]
    assert (exact.wide, exact.hidden) == (0.0, 0.0)
    us = ratios.logs_of(side(cut({4: 100}, 0), cut({9: 100}, 0)), 0.5)
    assert us is not None and us.wide == pytest.approx((math.log(5 / 4) + math.log(10 / 9)) / 2)
    assert us.hidden == pytest.approx(us.wide / math.sqrt(12))
    assert ratios.logs_of(side(sample({0: 9})), 0.5) is None and ratios.logs_of(side(uniform()), 0.999) is None


def test_the_smallest_difference_that_would_show() -> None:
    assert ratios._detectable(2.0, 1.0, 3.0) == 2.0 and ratios._detectable(2.0, 1.5, 8.0) == 4.0
    assert ratios._detectable(2.0, None, 3.0) is None and ratios._detectable(2.0, 1.0, None) is None
    assert ratios._detectable(2.0, 0.0, 3.0) is None

"""Scatter between and within boots: published numbers, arithmetic by hand, coverage, and when nothing is said."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rtassay.analysis.many.compare import compare, comparison_dict
from rtassay.analysis.many.compare.variance import one_way

from .groups import run, scaled, tail_counts

# Shrout & Fleiss, Intraclass correlations, Psychological Bulletin 86 (1979): six targets, four ratings each.
SHROUT_FLEISS = ([9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7])


def arrays(groups):
    return [np.array(group, dtype=float) for group in groups]


def test_published_intraclass_correlation():
    found = one_way(arrays(SHROUT_FLEISS))
    assert (found.boots, found.runs) == (6, 24)
    assert found.icc == pytest.approx(0.166, abs=5e-4)
    assert found.lo == 0.0  # -0.133 in the paper; a share of a variance is not negative
    assert found.hi == pytest.approx(0.723, abs=5e-4)
    # mean squares of the paper: 11.24 between targets, 6.26 within
    assert found.within_sd**2 == pytest.approx(6.26, abs=0.01)
    assert found.between_sd**2 == pytest.approx((11.24 - 6.26) / 4, abs=0.01)


def test_by_hand():
    found = one_way(arrays([[1, 2], [3, 4]]))  # mean squares 4 and 1/2, F = 8
    assert found.between_sd**2 == pytest.approx(1.75) and found.within_sd**2 == pytest.approx(0.5)
    assert found.icc == pytest.approx(7 / 9)
    assert found.lo == 0.0
    assert found.hi == pytest.approx((8 * 799.5 - 1) / (8 * 799.5 + 1), rel=1e-6)  # 1 / F(0.025; 1, 2) = 799.5


def test_unequal_boots_by_hand():
    found = one_way(arrays([[0], [2, 4], [6, 6, 9]]))
    # means 0, 3, 7, of all 4.5; sums of squares: 20.25 + 4.5 + 18.75 between, 0 + 2 + 6 within
    n0 = (6 - (1 + 4 + 9) / 6) / 2
    assert found.within_sd**2 == pytest.approx(8 / 3)
    assert found.between_sd**2 == pytest.approx((43.5 / 2 - 8 / 3) / n0)


def test_runs_of_a_boot_that_are_all_alike_and_boots_that_are():
    alike = one_way(arrays([[1, 1], [2, 2]]))
    assert (alike.icc, alike.lo, alike.hi) == (1.0, 1.0, 1.0)
    hidden = one_way(arrays([[1, 1], [2, 2]]), hidden=0.5)
    assert hidden.icc < 1 and hidden.lo < 1
    same = one_way(arrays([[1, 3], [3, 1]]))
    assert (same.icc, same.between_sd, same.lo) == (0.0, 0.0, 0.0)
    assert one_way(arrays([[2, 2], [2, 2]])) is None


@pytest.mark.parametrize("sizes", [(5, 5, 5, 5, 5, 5), (2, 3, 4, 5, 6, 8)])
def test_the_interval_covers_the_truth(sizes):
    random, hits, draws = np.random.default_rng(5), 0, 1500
    for _ in range(draws):
        groups = [random.normal(random.normal(0, 1), 1, size) for size in sizes]  # true share of the boots: 1/2
        found = one_way(groups)
        hits += found.lo <= 0.5 <= found.hi
    assert 0.93 < hits / draws < 0.97


def lottery(prefix, boots, within, hour=8):
    base, rows = tail_counts(400_000), []
    for i, boot in enumerate(boots):
        for j, factor in enumerate(within):
            at = hour + 2 * len(rows)
            started = f"2026-11-{1 + at // 24:02d}T{at % 24:02d}:00:00Z"
            rows.append(run(f"{prefix}{i}{j}", scaled(base, boot * factor), boot=f"{prefix}-boot{i}", started=started))
    return rows


def lottery_check(result):
    return next(c for c in result.checks if c.id == "BOOT-LOTTERY")


@pytest.mark.proves("BOOT-LOTTERY", "synthetic")
def test_boots_that_differ_are_a_lottery():
    a = lottery("a", (0.8, 1.0, 1.3, 1.1), (0.99, 1.0, 1.01))
    b = lottery("b", (1.0,), (0.9, 1.0, 1.1), hour=9)
    result = compare(a, b)
    found = lottery_check(result)
    assert found.severity == "warning" and "boot lottery" in found.message and "more boots" in found.message
    assert {row.q for row in result.a.boot_variance} >= {0.5, 0.99, 0.9999}
    sd_of_boots = np.std(np.log([0.8, 1.0, 1.3, 1.1]), ddof=1)
    for row in result.a.boot_variance:
        assert row.between_sd == pytest.approx(sd_of_boots, rel=0.02)
        assert row.within_sd == pytest.approx(0.01, rel=0.1)
        assert row.icc > 0.95 and 0.3 < row.lo < row.icc < row.hi < 1
    assert result.b.boot_variance == ()  # one boot tells nothing of boots
    data = comparison_dict(result)["a"]["boot_variance"]
    assert math.isclose(data[0]["icc"], result.a.boot_variance[0].icc)


def test_boots_that_do_not_differ_are_none():
    a = lottery("a", (1.0, 1.0, 1.0, 1.0), (0.9, 1.0, 1.1))
    found = lottery_check(compare(a, lottery("b", (1.0, 1.0), (0.95, 1.05), hour=9)))
    assert found.severity == "pass" and "0%" in found.message


def test_one_run_a_boot_or_unknown_boots_tell_nothing():
    single = lottery("a", (0.8, 1.0, 1.3), (1.0,))
    unknown = [run(f"u{i}", tail_counts(400_000)) for i in range(4)]
    for runs in (single, unknown):
        result = compare(runs, lottery("b", (1.0, 1.1), (1.0,), hour=9))
        assert lottery_check(result).severity == "unknown" and result.a.boot_variance == ()

"""Counts of values, against a plain Counter: dense, sparse and merged alike."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.store import counts
from rtassay.store.counts import DENSE_LIMIT_NS, Counts

NEAR_AND_FAR = st.sampled_from([-3, 0, 1, 7, DENSE_LIMIT_NS - 1, DENSE_LIMIT_NS, DENSE_LIMIT_NS + 5, 10**10])


def held(made: Counts) -> dict[tuple[int, int], int]:
    lower, width, count = (column.tolist() for column in made.table())
    assert lower == sorted(lower) and min(count, default=1) > 0
    rows = list(zip(lower, width, strict=True))
    assert len(set(rows)) == len(rows), "one row a bin"
    return dict(zip(rows, count, strict=True))


@given(blocks=st.lists(st.lists(NEAR_AND_FAR, max_size=6), max_size=8))
def test_values_that_come_again_add_up(blocks: list[list[int]]) -> None:
    made = Counts()
    for block in blocks:
        made.add_values(np.array(block, np.int64))
    expected = Counter(value for block in blocks for value in block)
    assert held(made) == {(value, 1): n for value, n in expected.items()}
    assert made.total == expected.total() and made.exact


@given(
    blocks=st.lists(
        st.lists(st.tuples(NEAR_AND_FAR, st.sampled_from([1, 1000]), st.integers(1, 9)), max_size=5), max_size=6
    )
)
def test_bins_that_come_again_add_up(blocks: list[list[tuple[int, int, int]]]) -> None:
    made, expected = Counts(), Counter[tuple[int, int]]()
    for block in blocks:
        made.add_bins(*np.array(block, np.int64).reshape(-1, 3).T)
        for lower, width, n in block:
            expected[lower, width] += n
    assert held(made) == expected and made.total == expected.total()


def test_far_values_are_merged_on_the_way_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many blocks of far values, more than are kept unmerged: the table and the memory follow the distinct values."""
    monkeypatch.setattr(counts, "_CONSOLIDATE_ROWS", 8)
    made = Counts()
    for _ in range(50):
        made.add_values(np.array([DENSE_LIMIT_NS + 1, DENSE_LIMIT_NS + 2, -1], np.int64))
    assert sum(block.shape[1] for block in made._rows) <= 8 + 2 * 3 + 3
    assert held(made) == {(-1, 1): 50, (DENSE_LIMIT_NS + 1, 1): 50, (DENSE_LIMIT_NS + 2, 1): 50}


@pytest.mark.parametrize(
    "value", [-1, 0, 1, (1 << 12) - 1, 1 << 12, (1 << 12) + 1, DENSE_LIMIT_NS - 1, DENSE_LIMIT_NS, 10**12]
)
def test_a_value_at_a_border_is_counted_once_where_it_is(value: int) -> None:
    for beside in ([], [5], [-7], [DENSE_LIMIT_NS + 7]):
        made = Counts()
        made.add_values(np.array([value, *beside], np.int64))
        made.add_bins(*np.array([[value, 1, 3]], np.int64).T)
        expected = Counter({(value, 1): 4}) + Counter({(other, 1): 1 for other in beside})
        assert held(made) == expected and made.total == expected.total() and made.exact


def test_near_values_are_counted_densely_and_far_ones_in_rows() -> None:
    """Memory: an array up to the highest near value, a power of two long; a row for each far value."""
    made = Counts()
    made.add_values(np.array([0, 4095], np.int64))
    assert len(made._dense) == 4096 and not made._rows
    made.add_values(np.array([4096], np.int64))
    assert len(made._dense) == 8192
    made.add_bins(*np.array([[DENSE_LIMIT_NS - 1, 1, 1]], np.int64).T)
    assert len(made._dense) == DENSE_LIMIT_NS and not made._rows
    made.add_values(np.array([DENSE_LIMIT_NS, -1, DENSE_LIMIT_NS], np.int64))
    assert len(made._dense) == DENSE_LIMIT_NS and sum(block.shape[1] for block in made._rows) == 2


def test_only_bins_of_one_nanosecond_are_exact() -> None:
    made = Counts()
    made.add_bins(*np.zeros((3, 0), np.int64))
    made.add_bins(*np.array([[5, 1, 2], [DENSE_LIMIT_NS, 1, 2]], np.int64).T)
    assert made.exact and made.total == 4
    made.add_bins(*np.array([[5, 1, 2], [5, 2, 1]], np.int64).T)
    assert not made.exact and held(made) == {(5, 1): 4, (5, 2): 1, (DENSE_LIMIT_NS, 1): 2}


def test_values_of_a_coarse_clock_are_bins_of_its_step() -> None:
    made = Counts()
    made.add_values(np.array([0, 1000, 1000, 2 * DENSE_LIMIT_NS], np.int64))
    made.add_bins(*np.array([[3000, 500, 1]], np.int64).T)
    lower, width, count = (column.tolist() for column in made.table(1000))
    assert (lower, width, count) == ([0, 1000, 3000, 2 * DENSE_LIMIT_NS], [1000, 1000, 500, 1000], [1, 2, 1, 1])
    assert made.table()[1].tolist() == [1, 1, 500, 1], "asking for the table changes nothing"


def test_an_empty_bin_is_none() -> None:
    made = Counts()
    made.add_bins(*np.array([[5, 1, 0], [6, 1, 1], [DENSE_LIMIT_NS, 7, 0]], np.int64).T)
    assert held(made) == {(6, 1): 1} and made.total == 1
    assert held(Counts()) == {}


def test_distinct_far_values_are_not_merged_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merging costs as much as all that is kept: only when as much has come again is it worth it."""
    monkeypatch.setattr(counts, "_CONSOLIDATE_ROWS", 0)
    made, merged = Counts(), []
    consolidate = made._consolidate
    monkeypatch.setattr(made, "_consolidate", lambda: (merged.append(made._row_count), consolidate()))
    for start in range(64):
        made.add_values(np.array([DENSE_LIMIT_NS + start], np.int64))
    assert merged == [3, 7, 15, 31, 63]
    assert made._row_count == sum(block.shape[1] for block in made._rows) == 64

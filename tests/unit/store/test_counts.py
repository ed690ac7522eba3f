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

"""Sample blocks joined: every activation keeps its place, whatever lies between the blocks or never arrived."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from rtassay.model.events import Samples
from rtassay.store.stitch import Stitcher

BATCH = 1 << 14


def block(first_k: int, latency_ns: list[int], gap: tuple[int, int] = (0, 0), **between: list[int]) -> Samples:
    """Samples of lane 0; `missed` and `dropped` 0 where not given."""
    none = [0] * len(latency_ns)
    columns = (latency_ns, between.get("missed", none), between.get("dropped", none))
    return Samples(0, first_k, *(np.array(column, np.int64) for column in columns), *gap)


def joined(stitcher: Stitcher, *blocks: Samples) -> tuple[list[int], list[int], list[int]]:
    out = [found for found in (*(stitcher.push(one) for one in blocks), stitcher.finish()) if found is not None]
    latency, missed, dropped = (np.concatenate([one[i] for one in out]).tolist() for i in range(3))
    return latency, missed, dropped


def tallies(s: Stitcher) -> dict[str, Any]:
    return {name: getattr(s, name) for name in ("first_k", "next_k", "n", "missed", "dropped", "lost", "overlaps")}


def test_gaps_go_behind_the_sample_before_them() -> None:
    stitcher = Stitcher()
    found = joined(
        stitcher,
        block(0, [10, 11], missed=[1, 0], dropped=[0, 2]),
        block(12, [12], gap=(3, 4)),
        block(14, [13], gap=(0, 1)),
        block(16, [14], gap=(1, 0)),
    )
    assert found == ([10, 11, 12, 13, 14], [1, 3, 0, 1, 0], [0, 6, 1, 0, 0])
    assert tallies(stitcher) == {
        **{"first_k": 0, "next_k": 17, "n": 5, "missed": 5, "dropped": 7, "lost": 0, "overlaps": 0},
    }


def test_before_the_first_sample_the_position_alone_tells_the_gap() -> None:
    """Ten activations lie before it; its frame explains two missed and three dropped: five were in frames that never arrived."""
    stitcher = Stitcher()
    assert joined(stitcher, block(10, [7, 8], gap=(2, 3))) == ([7, 8], [0, 0], [0, 0])
    assert tallies(stitcher) == {
        **{"first_k": 10, "next_k": 12, "n": 2, "missed": 2, "dropped": 3, "lost": 5, "overlaps": 0},
    }


def test_a_first_position_below_its_own_gap_loses_nothing() -> None:
    stitcher = Stitcher()
    joined(stitcher, block(1, [7], gap=(3, 0)))
    assert (stitcher.lost, stitcher.first_k, stitcher.next_k) == (0, 1, 2)


def test_blocks_without_a_sample_are_gaps() -> None:
    stitcher = Stitcher()
    empty_first, between = block(0, [], gap=(2, 1)), block(8, [], gap=(1, 3))
    assert joined(stitcher, empty_first, block(3, [50, 51]), between, block(9, [52])) == (
        [50, 51, 52],
        [0, 1, 0],
        [0, 3, 0],
    )
    assert tallies(stitcher) == {
        **{"first_k": 3, "next_k": 10, "n": 3, "missed": 3, "dropped": 4, "lost": 0, "overlaps": 0},
    }


def test_an_empty_first_block_explains_what_lies_before_the_first_sample() -> None:
    stitcher = Stitcher()
    joined(stitcher, block(0, [], gap=(2, 1)), block(9, [50], gap=(1, 1)))
    assert stitcher.lost == 9 - 3 - 2


def test_blocks_that_never_arrived_are_dropped_activations() -> None:
    stitcher = Stitcher()
    found = joined(
        stitcher, block(0, [1, 2]), block(7, [3], gap=(1, 1))
    )  # 2..6: one missed, one dropped, three unexplained
    assert found == ([1, 2, 3], [0, 1, 0], [0, 4, 0])
    assert (stitcher.lost, stitcher.missed, stitcher.dropped, stitcher.next_k) == (3, 1, 1, 8)


def test_a_block_that_overlaps_the_one_before_it_is_counted_and_adds_no_gap() -> None:
    stitcher = Stitcher()
    assert joined(stitcher, block(0, [1, 2, 3]), block(1, [4, 5])) == ([1, 2, 3, 4, 5], [0] * 5, [0] * 5)
    assert (stitcher.overlaps, stitcher.lost, stitcher.next_k) == (1, 0, 3)


def test_a_lane_that_never_sent_a_sample_gives_nothing() -> None:
    stitcher = Stitcher()
    assert stitcher.finish() is None
    assert stitcher.push(block(0, [], gap=(5, 0))) is None and stitcher.finish() is None
    assert (stitcher.first_k, stitcher.next_k, stitcher.n, stitcher.missed) == (None, 5, 0, 5)


@pytest.mark.parametrize(("rows", "given"), [(BATCH - 1, False), (BATCH, True), (BATCH + 1, True)])
def test_rows_are_given_on_in_batches_and_the_last_block_is_held_back(rows: int, given: bool) -> None:
    """The gap behind the last sample of a batch comes with the next block."""
    stitcher = Stitcher()
    assert stitcher.push(block(0, list(range(rows)))) is None
    out = stitcher.push(block(rows + 2, [9], gap=(2, 0)))
    assert (out is not None) is given
    if out is not None:
        assert out[0].tolist() == list(range(rows)) and out[1].tolist() == [0] * (rows - 1) + [2]
        assert stitcher.push(block(rows + 3, [9])) is None, "what was given on is counted no more"


def test_what_was_given_on_is_not_given_again() -> None:
    stitcher = Stitcher()
    stitcher.push(block(0, [1]))
    first = stitcher.finish()
    assert first is not None and first[0].tolist() == [1] and stitcher.finish() is None


@pytest.mark.parametrize("seed", range(8))
def test_any_run_cut_into_blocks_has_every_sample_at_its_position(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtassay.store.stitch._BATCH_ROWS", 5)
    chance = random.Random(seed)
    kinds = [chance.choice("ssssmd") for _ in range(80)]
    blocks, k = [], 0
    while k < len(kinds):
        gap = {"m": 0, "d": 0}
        while k < len(kinds) and kinds[k] != "s":
            gap[kinds[k]] += 1
            k += 1
        start, latency, between = k, [], {"missed": [], "dropped": []}  # type: ignore[var-annotated]
        for _ in range(chance.randint(1, 12)):
            if k == len(kinds):
                break
            if kinds[k] == "s":
                latency.append(1000 + k)
                for column in between.values():
                    column.append(0)
            else:
                between["missed" if kinds[k] == "m" else "dropped"][-1] += 1
            k += 1
        blocks.append((block(start, latency, (gap["m"], gap["d"]), **between), start, k))
    stitcher = Stitcher()
    arrived = [one for one in blocks if len(one[0].latency_ns) and chance.random() < 0.8]
    latency, missed, dropped = joined(stitcher, *(one[0] for one in arrived))
    places = np.arange(len(latency)) + np.cumsum([0, *missed[:-1]]) + np.cumsum([0, *dropped[:-1]]) + stitcher.first_k
    assert [1000 + place for place in places.tolist()] == latency
    accounted = stitcher.n + stitcher.missed + stitcher.dropped + stitcher.lost
    assert accounted == stitcher.next_k == arrived[-1][2]
    assert stitcher.overlaps == 0

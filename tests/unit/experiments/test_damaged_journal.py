"""A journal cut at any byte loses its last line at most; a flipped bit is damage with the line named, or a torn end; no line is ever another."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.experiments.journal import JOURNAL, Entry, Journal, read_journal
from rtassay.model.errors import CorruptRecording


def written(path: Path) -> tuple[list[Entry], bytes]:
    path.mkdir()
    with Journal(path) as journal:
        journal.add("opened")
        journal.add("planned", cell="c1", order=[1, 2])
        journal.add("started", cell="c1")
        journal.add("sealed", cell="c1", recording="20261101T000001-aaaaaa", state="HOLDS")
        journal.add("failed", cell="c2", why="the board is gone: \N{EM DASH} no power")
        journal.add("closed")
    return journal.entries, (path / JOURNAL).read_bytes()


def test_a_journal_cut_at_any_byte_goes_on_from_its_last_whole_line(tmp_path: Path) -> None:
    entries, data = written(tmp_path / "whole")
    place = tmp_path / "cut"
    place.mkdir()
    for size in range(len(data)):
        (place / JOURNAL).write_bytes(data[:size])
        found = read_journal(place)
        assert found == entries[: data[:size].count(b"\n")], size
        if size % 29 == 0:  # each is two fsyncs
            with Journal(place) as journal:
                added = journal.add("planned", cell="c9")
            assert read_journal(place) == [*found, added]


@pytest.mark.parametrize(
    "bit",
    [
        0,
        pytest.param(3, marks=pytest.mark.full),
        pytest.param(5, marks=pytest.mark.full),
        pytest.param(7, marks=pytest.mark.full),
    ],
)
def test_a_flipped_bit_never_makes_another_line(bit: int, tmp_path: Path) -> None:
    entries, data = written(tmp_path / "whole")
    place = tmp_path / "flipped"
    place.mkdir()
    for at in range(len(data)):
        (place / JOURNAL).write_bytes(data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :])
        line = data[:at].count(b"\n")
        try:
            found = read_journal(place)
        except CorruptRecording as error:
            assert "line" in str(error) and line < len(entries) - 1
        else:
            assert found == entries[:line] and line >= len(entries) - 2, at

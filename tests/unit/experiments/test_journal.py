"""The journal: what a crash can do to it, and what it says of cells."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtassay.experiments.journal import JOURNAL, Journal, read_journal, states
from rtassay.model.errors import BoardError, CorruptRecording


def three(path: Path) -> bytes:
    with Journal(path) as journal:
        journal.add("started", cell="a", attempt=1)
        journal.add("sealed", cell="a", recording="r1", started_ns=5)
        journal.add("started", cell="b", attempt=1)
    return (path / JOURNAL).read_bytes()


def test_what_was_added_is_read_back(tmp_path: Path) -> None:
    three(tmp_path)
    assert [(e.event, e.cell, e.recording, e.facts) for e in read_journal(tmp_path)] == [
        ("started", "a", None, {"attempt": 1}),
        ("sealed", "a", "r1", {"started_ns": 5}),
        ("started", "b", None, {"attempt": 1}),
    ]


def test_cut_at_every_byte_whole_lines_are_kept_and_writing_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)  # hundreds of them are slow, and no power is cut here
    data = three(tmp_path)
    ends = [at + 1 for at, byte in enumerate(data) if byte == ord("\n")]
    for cut in range(len(data) + 1):
        (tmp_path / JOURNAL).write_bytes(data[:cut])
        whole = sum(end <= cut for end in ends)
        assert len(read_journal(tmp_path)) == whole
        with Journal(tmp_path) as journal:
            journal.add("closed", sealed=1)
        assert [e.event for e in read_journal(tmp_path)][whole:] == ["closed"]


@pytest.mark.parametrize("failing", ["first half", "second half", "short", "fsync"])
def test_a_full_disk_costs_the_line_and_not_the_journal(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The experiment goes on after it, and so do the lines."""
    real, calls = os.write, 0

    def write(fd: int, data: bytes) -> int:
        nonlocal calls
        calls += 1
        if failing == "first half" or (failing == "second half" and calls == 2):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[:5] if failing == "short" else data)

    def fsync(fd: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    before = three(tmp_path)
    with Journal(tmp_path) as journal:
        with monkeypatch.context() as patch:
            patch.setattr(os, *(("fsync", fsync) if failing == "fsync" else ("write", write)))
            with pytest.raises(BoardError):
                journal.add("failed", cell="b", why="the disk is full")
        journal.add("closed")
        assert len(journal.entries) == 4
    assert [e.event for e in read_journal(tmp_path)] == ["started", "sealed", "started", "closed"]
    assert (tmp_path / JOURNAL).read_bytes().startswith(before)


def test_zeros_at_the_end_as_a_power_cut_leaves_them_are_passed_over(tmp_path: Path) -> None:
    data = three(tmp_path)
    (tmp_path / JOURNAL).write_bytes(data + b"\0" * 300 + b"\n" + b"\0" * 20)
    assert len(read_journal(tmp_path)) == 3
    with Journal(tmp_path) as journal:
        journal.add("closed")
    assert (tmp_path / JOURNAL).read_bytes().startswith(data)
    assert len(read_journal(tmp_path)) == 4


def test_a_bad_line_with_good_ones_behind_it_is_damage(tmp_path: Path) -> None:
    data = three(tmp_path)
    for at in range(data.index(b"\n")):
        (tmp_path / JOURNAL).write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with pytest.raises(CorruptRecording, match="line 1"):
            read_journal(tmp_path)


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("journal")
    (path / JOURNAL).write_bytes(data)
    assert read_journal(path) == []


def test_states_of_cells(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for event, cell, recording in [
            ("started", "a", None), ("superseded", "a", "r0"), ("started", "a", None), ("sealed", "a", "r1"),
            ("started", "b", None), ("failed", "b", None), ("started", "c", None),
        ]:  # fmt: skip
            journal.add(event, cell=cell, recording=recording, why="because")
    known = states(read_journal(tmp_path), ["a", "b", "c", "d"])
    assert [(known[c].state, known[c].attempts) for c in "abcd"] == [
        ("sealed", 2), ("failed", 1), ("running", 1), ("planned", 0),
    ]  # fmt: skip
    assert (known["a"].recording, known["a"].superseded, known["b"].why) == ("r1", ["r0"], "because")

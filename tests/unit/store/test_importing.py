"""An imported recording: what it takes from the file, what from its caller, and what a failure leaves."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rtassay import store
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.events import End, Event, Facts, Samples
from rtassay.model.manifest import Damage, Manifest, Plan, Seal, Source
from rtassay.store import importing

ASKED = {
    "policy": "fifo", "cpus": [1, 3], "interval_ns": 997_000, "duration_ns": 5_000_000_000, "count": 77, "priority": 42,
    "deadline_ns": 100_000, "break_above_ns": 900_000, "dma_latency_us": 0, "aligned": True, "mlock": True,
}  # fmt: skip
DATA = b"latency_us\n5\n"
TOLD = {"argv": ["rtprobe", "cyclic", "-x"], "interval_ns": 1_000_000, "requested": ASKED}


def events(facts: dict[str, Any], *latency_ns: int) -> list[Event]:
    none = np.zeros(len(latency_ns), np.int64)
    samples = [Samples(0, 0, np.array(latency_ns, np.int64), none, none)] if latency_ns else []
    return [Facts(facts), *samples, End({})]


def imported(home: Path, facts: dict[str, Any], *, format_name: str = "table", **options: Any) -> Manifest:
    file = home / "a.csv"
    file.write_bytes(DATA)
    source = Source("a tool", "1.0", format_name, "skip")
    path = store.import_events(home / "home", file, source, events(facts, 5_000, 6_000), **options)
    return store.open_recording(path, verify=True).manifest


def test_an_import_is_found_by_its_file_and_a_name_of_a_person_goes_before(tmp_path: Path) -> None:
    first, second = (imported(tmp_path, TOLD, name=name).id for name in (None, "b"))
    home = tmp_path / "home"
    assert store.find("b", home).name == f"{second}.rta"
    with pytest.raises(UsageError, match="fits 2 recordings"):
        store.find("a.csv", home)
    third = imported(tmp_path, TOLD, name="a.csv").id
    assert store.find("a.csv", home).name == f"{third}.rta" and len({first, second, third}) == 3


@pytest.mark.parametrize("format_name", ["table", "rtw"])
@pytest.mark.parametrize(
    "name", [b"bad\xff\xfe.csv", b"esc\x1b]0;x\x07.csv", b"two\nlines.csv", "turned\u202e.csv".encode()]
)
def test_a_file_whose_name_is_no_text_is_kept_under_one_that_is(name: bytes, format_name: str, tmp_path: Path) -> None:
    file = tmp_path / os.fsdecode(name)
    file.write_bytes(DATA)
    source = Source("a tool", "1.0", format_name, "skip")
    path = store.import_events(tmp_path / "home", file, source, events(TOLD, 5_000))
    kept = store.open_recording(path, verify=True).manifest.source.file
    assert kept is not None and re.fullmatch(r"[a-z_0-9]+\.csv", kept)
    assert [one.name for one in path.glob("original/*")] == ([kept] if format_name == "table" else [])
    assert store.find(kept, tmp_path / "home") == path


def test_the_plan_is_what_the_file_says_was_asked_for(tmp_path: Path) -> None:
    assert imported(tmp_path, TOLD).plan == Plan(
        probe="a tool",
        policy="fifo",
        cpus=(1, 3),
        keep_samples=True,
        command=("rtprobe", "cyclic", "-x"),
        interval_ns=997_000,
        duration_ns=5_000_000_000,
        count=77,
        priority=42,
        deadline_ns=100_000,
        break_above_ns=900_000,
        dma_latency_us=0,
        aligned=True,
        mlock=True,
    )


def test_an_interval_that_was_not_asked_for_but_found_is_the_plans_too(tmp_path: Path) -> None:
    plan = imported(tmp_path, {"interval_ns": 1_000_000}).plan
    assert (plan.interval_ns, plan.command, plan.deadline_ns) == (1_000_000, (), None)


def test_a_given_plan_stands_whatever_the_file_says(tmp_path: Path) -> None:
    mine = Plan(probe="cyclictest", interval_ns=500_000, deadline_ns=7)
    manifest = imported(tmp_path, {**TOLD, "kernel": {"release": "6.1"}}, plan=mine)
    assert manifest.plan == mine and manifest.inventory == {}


def test_what_the_caller_says_stands_in_the_manifest(tmp_path: Path) -> None:
    labels = {"load": "mine"}
    manifest = imported(tmp_path, {}, labels=labels, note="n", board="pi", damage=lambda: Damage(skipped_bytes=3))
    assert (manifest.labels, manifest.note, manifest.board) == (labels, "n", "pi")
    assert manifest.damage.skipped_bytes == 3 and manifest.sealed and manifest.has_samples
    plain = imported(tmp_path, {})
    assert (plain.labels, plain.note, plain.board, plain.damage.skipped_bytes) == ({}, None, "imported", 0)


def test_the_kernel_is_the_one_that_the_file_names(tmp_path: Path) -> None:
    kernel = {"release": "6.1.0-rt", "version": "#1 SMP", "machine": 7}
    assert imported(tmp_path, {"kernel": kernel}).inventory == {"kernel": {"release": "6.1.0-rt", "version": "#1 SMP"}}
    for no_kernel in ("6.1.0", {}, {"release": None}):
        assert imported(tmp_path, {"kernel": no_kernel}).inventory == {}


@pytest.mark.parametrize("piece", [1, 4, 1 << 20])
def test_the_file_is_copied_and_hashed_piece_by_piece(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(importing, "_COPY_BYTES", piece)
    seals = imported(tmp_path, {}).seals
    assert seals["original/a.csv"] == Seal(len(DATA), hashlib.sha256(DATA).hexdigest())
    (kept,) = (tmp_path / "home").rglob("original/*")
    assert kept.read_bytes() == DATA


def test_of_an_own_stream_only_the_hash_is_kept(tmp_path: Path) -> None:
    seals = imported(tmp_path, {}, format_name="rtw").seals
    assert "logs/original.sha256" in seals and not [name for name in seals if name.startswith("original/")]
    (log,) = (tmp_path / "home").rglob("original.sha256")
    assert log.read_text() == f"{hashlib.sha256(DATA).hexdigest()}  a.csv\n"


def test_a_file_without_a_sample_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x")
    with pytest.raises(InputFileError, match=r"a\.csv holds no measurement"):
        store.import_events(
            tmp_path / "home", file, Source("t", None, "table", "skip"), events({"lanes": [{"lane": 0}]})
        )
    assert list((tmp_path / "home").iterdir()) == []


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputFileError, match=r"cannot read .*gone\.csv"):
        store.import_events(tmp_path / "home", tmp_path / "gone.csv", Source("t", None, "table", "skip"), events({}, 5))
    assert list((tmp_path / "home").iterdir()) == []


def test_a_file_that_changes_meanwhile_is_refused_with_both_sizes(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"12345")

    def growing() -> Iterator[Event]:
        yield from events({}, 5)
        file.write_bytes(b"1234567")

    with pytest.raises(InputFileError) as caught:
        store.import_events(tmp_path / "home", file, Source("t", None, "table", "skip"), growing())
    assert caught.value.why == "it had 5 bytes and now has 7"
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.parametrize("step", ["save_manifest", "sync_directory"])
def test_a_full_disk_is_told_and_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(importing, step, full)
    with pytest.raises(BoardError) as caught:
        imported(tmp_path, {})
    assert "the disk is full" in caught.value.what and caught.value.why == "nothing was imported"
    assert not [file for file in (tmp_path / "home").iterdir() if file.name.startswith(".importing")]


def test_a_copy_that_cannot_be_made_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def update(self, piece: bytes) -> None:
            raise OSError(5, "Input/output error")

    monkeypatch.setattr(importing, "hashlib", SimpleNamespace(sha256=Broken))
    with pytest.raises(BoardError, match=r"cannot copy .*a\.csv into the recording") as caught:
        imported(tmp_path, {})
    assert caught.value.why == "Input/output error" and list((tmp_path / "home").iterdir()) == []


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("x")

    def stopped() -> Iterator[Event]:
        yield from events({}, 5)[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.import_events(tmp_path / "home", file, Source("t", None, "table", "skip"), stopped())
    assert list((tmp_path / "home").iterdir()) == []


def test_the_beginning_of_an_id_goes_before_a_name(tmp_path: Path) -> None:
    first = imported(tmp_path, TOLD).id
    imported(tmp_path, TOLD, name=first[:-1])
    assert store.find(first[:-1], tmp_path / "home").name == f"{first}.rta"

"""`rtassay watch` follows a recording that another process writes: known bytes, and every look brings a part of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import in_process

from rtassay import store
from rtassay.boards import known
from rtassay.boards.local import LocalBoard
from rtassay.boards.watching import Watching
from rtassay.cli import watch
from rtassay.model.manifest import Manifest, Plan, Source
from rtassay.store.writer import RecordingWriter

STREAM = Path(__file__).parents[3] / "wire" / "golden" / "v1" / "cyclic.rtw"
ID = "20261122T120000-abcdef"
MANIFEST = Manifest(
    ID, "2026-11-22T12:00:00Z", Source("rtprobe", None, "rtw"), Plan(duration_ns=10**10), board="pi5", name="night"
)
Steps = Callable[[Iterator[Any]], None]


@pytest.fixture
def writer(tmp_path: Path) -> RecordingWriter:
    return RecordingWriter.create(tmp_path / "recordings", MANIFEST, "stream.rtw")


@pytest.fixture
def at_every_look(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """What happens between two looks; a step that is an exception is raised."""

    def set_to(steps: Iterator[Any]) -> None:
        def sleep(seconds: float) -> None:
            step = next(steps, None)
            if isinstance(step, BaseException):
                raise step

        monkeypatch.setattr(watch.time, "sleep", sleep)

    return set_to


def arriving(writer: RecordingWriter, parts: int = 6) -> Iterator[None]:
    data = STREAM.read_bytes()
    size = len(data) // parts + 1
    for at in range(0, len(data), size):
        writer.append(data[at : at + size])
        yield
    writer.close()
    yield
    store.seal(writer.path)


def test_it_follows_the_run_to_its_end(tmp_path: Path, writer: RecordingWriter, at_every_look: Steps) -> None:
    at_every_look(arriving(writer))
    done = in_process("watch", "--json", home=tmp_path)
    assert done.returncode == 0, done.stderr
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert {one["schema"] for one in told} == {"rtassay/watch/1"} and {one["board"] for one in told} == {"pi5"}
    assert [one["state"] for one in told] == ["running"] * (len(told) - 1) + ["sealed"] and len(told) > 2
    counts = [sum(lane["n"] for lane in one["lanes"]) for one in told[:-1]]
    assert counts == sorted(counts) and counts[-1] > counts[0] and told[0]["planned_s"] == 10
    table = in_process("watch", ID, home=tmp_path)
    assert table.returncode == 0 and "NO REQUIREMENT STATED" in table.stdout and f"rtassay show {ID}" in table.stdout


@pytest.mark.parametrize("word", ["pi5", "night", ID[:12], ""])
def test_ctrl_c_ends_only_the_watching(
    tmp_path: Path, writer: RecordingWriter, at_every_look: Steps, word: str
) -> None:
    at_every_look(iter([None, KeyboardInterrupt()]))
    done = in_process("watch", *([word] if word else []), home=tmp_path)
    assert done.returncode == 0 and f"rtassay watch {ID} follows it again" in done.stderr
    assert store.is_running(writer.path) and not store.load_manifest(writer.path).sealed
    writer.close()


def test_a_run_whose_host_died_is_told_as_one(tmp_path: Path, writer: RecordingWriter, at_every_look: Steps) -> None:
    writer.append(STREAM.read_bytes()[:2000])
    at_every_look(iter([writer.close()]))
    done = in_process("watch", ID, "--json", home=tmp_path)
    assert done.returncode == 4 and f"rtassay seal {ID}" in done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["state"] == "abandoned, not sealed"


def test_a_run_of_an_experiment_is_found(tmp_path: Path, at_every_look: Steps) -> None:
    inside = RecordingWriter.create(tmp_path / "experiments" / "night" / "recordings", MANIFEST, "stream.rtw")
    at_every_look(iter([KeyboardInterrupt()]))
    assert in_process("watch", home=tmp_path).returncode == 0
    inside.close()


def test_a_board_that_nobody_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Free(Watching):
        async def begin(self, notice: Any) -> None:
            return None

        async def close(self) -> None: ...

    board = LocalBoard()
    monkeypatch.setattr(known, "resolve", lambda name: board)
    here = in_process("watch", "local", home=tmp_path)
    assert here.returncode == 2 and "nothing runs here that rtassay started" in here.stderr
    monkeypatch.setattr(board, "watching", lambda: Free(None))  # type: ignore[arg-type]
    nobody = in_process("watch", "root@pi5", home=tmp_path)
    assert nobody.returncode == 2 and "nothing runs on root@pi5" in nobody.stderr


def test_what_cannot_be_watched_is_named(tmp_path: Path, writer: RecordingWriter) -> None:
    other = RecordingWriter.create(
        tmp_path / "recordings", Manifest(f"{ID[:-1]}0", MANIFEST.created, MANIFEST.source), "stream.rtw"
    )
    two = in_process("watch", home=tmp_path)
    assert two.returncode == 2 and "2 runs go on" in two.stderr and "pi5" in two.stderr
    other.close()
    writer.close()
    none = in_process("watch", home=tmp_path)
    assert none.returncode == 2 and "nothing is being recorded" in none.stderr
    assert in_process("watch", "nosuch", home=tmp_path).returncode == 2

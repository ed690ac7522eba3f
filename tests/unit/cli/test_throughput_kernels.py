"""rtassay throughput --kernel A --kernel B: which kernel is booted when, and what is refused before or while the board is booted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rtassay.boot import switch
from rtassay.cli import throughput_runs
from rtassay.cli.throughput_runs import Runs, measure
from rtassay.model.errors import BoardError, UsageError

OPTIONS: dict[str, Any] = {"works": ("builtin", "hackbench"), "kernels": ("stock", "rt"), "repeats": None, "labels": (), "quiet": True,
                           "rounds": None, "duration_ns": None, "cpus": None, "note": None}  # fmt: skip
Play = Callable[..., tuple[Runs, list[str]]]


@pytest.fixture(name="play")
def _play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Measures on a board that only writes down what is done to it."""

    def play(
        releases: dict[str, str] | None = None,
        measured_on: str | None = None,
        missing: str | None = None,
        stop_after: int = 99,
        **more: Any,
    ) -> tuple[Runs, list[str]]:
        releases = releases or {"stock": "6.1", "rt": "6.1-rt"}
        done: list[str] = []
        now = ""

        async def boot(board: Any, name: str, tell: Any) -> Any:
            nonlocal now
            done.append(f"boot {name}")
            now = releases[name]
            return SimpleNamespace(release=now, version="#1")

        async def known(board: Any, names: Any) -> None:
            done.append(f"check {' '.join(names)}")

        def run(request: Any, work: str, block: Any, options: Any, runs: Runs) -> Path | None:
            if work == missing:
                return None
            assert request.labels.get("kernel") == block.kernel
            done.append(work)
            runs.stopped = len(done) >= stop_after
            return Path(f"{len(done)}-{work}")

        def opened(path: Path) -> Any:
            kernel = SimpleNamespace(release=measured_on or now)
            return SimpleNamespace(manifest=SimpleNamespace(board_start=SimpleNamespace(kernel=kernel)))

        monkeypatch.setattr(switch, "switch_and_leave", boot)
        monkeypatch.setattr(switch, "check_names", known)
        monkeypatch.setattr(throughput_runs, "_run", run)
        monkeypatch.setattr("rtassay.store.open_recording", opened)
        return measure("root@nowhere.invalid", {**OPTIONS, **more}), done

    return play


def test_kernels_and_works_are_taken_in_turns_each_boot_anew(play: Play) -> None:
    runs, done = play()
    assert done[0] == "check stock rt"
    assert [word[5:] for word in done if word.startswith("boot")] == ["stock", "rt", "rt", "stock", "stock", "rt"]
    assert done[1:7] == ["boot stock", "builtin", "hackbench", "boot rt", "hackbench", "builtin"]
    assert runs.titles == ("stock", "rt") and [len(side) for side in runs.sides] == [6, 6]
    assert str(runs.sides[0][0]) == "3-builtin" and str(runs.sides[1][0]) == "6-hackbench" and not runs.stopped


def test_without_kernels_nothing_is_booted(play: Play) -> None:
    runs, done = play(kernels=(), repeats=2)
    assert done == ["builtin", "hackbench", "hackbench", "builtin"] and [len(side) for side in runs.sides] == [4, 0]


def test_what_is_stopped_keeps_what_was_measured(play: Play) -> None:
    runs, done = play(stop_after=6)
    assert runs.stopped and done[-1] == "hackbench" and [len(side) for side in runs.sides] == [2, 1]


def test_a_work_that_the_board_lacks_is_left_out_of_all_boots(play: Play) -> None:
    runs, done = play(missing="hackbench")
    assert "hackbench" not in done and [len(side) for side in runs.sides] == [3, 3]


def test_two_names_of_one_kernel_and_another_kernel_than_booted_are_refused(play: Play) -> None:
    with pytest.raises(UsageError, match=r"are one kernel: 6\.1"):
        play(releases={"stock": "6.1", "rt": "6.1"})
    with pytest.raises(BoardError, match=r"runs kernel 5.10, not stock \(6.1\); 3-builtin is not compared"):
        play(measured_on="5.10")


@pytest.mark.parametrize(
    ("board", "more", "said"),
    [
        ("local", {}, "this machine's kernel cannot be switched"),
        ("root@nowhere.invalid", {"kernels": ("rt",)}, "names two kernels"),
        ("root@nowhere.invalid", {"kernels": ("rt", "rt")}, "names two kernels"),
        ("root@nowhere.invalid", {"labels": ("kernel=x",)}, "labels each recording with its kernel"),
    ],
)
def test_what_cannot_be_booted_is_said_before_the_board_is_asked(board: str, more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        measure(board, {**OPTIONS, **more})

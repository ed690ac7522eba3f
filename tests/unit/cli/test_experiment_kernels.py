"""[kernels.build]: an experiment file that builds its kernels plans with their releases, and brings each to each board once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from command_line import in_process
from small_kernel import small_kernel

from rtassay.cli import experiment, experiment_kernels
from rtassay.experiments import files
from rtassay.kernels import builds
from rtassay.model.errors import InputFileError, UsageError

FILE = """\
name = "both"
boards = ["pi", "cm4"]
[kernels.build]
source = "tree"
arch = "amd64"
config = "tinyconfig"
fragments = ["HZ=1000"]
"""
FORM: dict[str, Any] = {
    "scale": "1", "corrected": False, "boards": (), "kernels": (), "deadline": None, "p_target": None, "per_hour": None, "looks": None,
}  # fmt: skip


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("RTASSAY_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    small_kernel(tmp_path / "tree")
    (tmp_path / "both.toml").write_text(FILE)
    return tmp_path / "both.toml"


class FakeBoard:
    """A board that has one kernel, and on which a kernel is installed without a file being written."""

    def __init__(self, name: str, installed: dict[str, list[str]]) -> None:
        self.name, self.there = name, installed.setdefault(name, ["6.1.0-old"])

    async def open(self) -> None:
        pass

    async def close(self) -> None:
        pass


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}

    class Loader:
        async def kernels(self, board: FakeBoard) -> list[Any]:
            return [SimpleNamespace(release=release) for release in board.there]

    async def loader_of(board: FakeBoard) -> Loader:
        return Loader()

    async def install(board: FakeBoard, source: Path, say: object, machine: str) -> str:
        assert machine == "x86_64"
        board.there.append(builds.load(source).release)
        return board.there[-1]

    monkeypatch.setattr(experiment_kernels, "resolved", lambda word: FakeBoard(word, found))
    monkeypatch.setattr("rtassay.boot.switch.loader_of", loader_of)
    monkeypatch.setattr("rtassay.boot.install.install_kernel", install)
    return found


def test_the_kernels_are_built_once_brought_to_each_board_and_planned_by_their_releases(
    asked: Path, installed: dict[str, list[str]]
) -> None:
    _, plan = experiment._planned(str(asked), FORM, build=True)
    releases = [manifest.release for _, manifest in builds.every()]
    assert len(releases) == 2 and [manifest.rt for _, manifest in builds.every()] == [False, True]
    assert installed == {board: ["6.1.0-old", *releases] for board in ("pi", "cm4")}
    assert {cell.kernel for cell in plan.cells} == set(releases) and "--kernel" in plan.options
    _, again = experiment._planned(str(asked), FORM, build=True)
    assert again.cells == plan.cells and installed["pi"] == ["6.1.0-old", *releases]


def test_a_plan_builds_nothing_and_says_what_run_does(asked: Path, installed: dict[str, list[str]]) -> None:
    done = in_process("experiment", "plan", asked, home=asked.parent / "home")
    assert done.returncode == 0 and "builds these kernels from tree (stock, rt)" in done.stdout, done.stderr
    told = json.loads(in_process("experiment", "plan", asked, "--json", home=asked.parent / "home").stdout)
    assert {cell["kernel"] for cell in told["cells"]} == {"stock", "rt"} and not installed and not builds.every()


def test_named_kernels_stand_over_the_table(asked: Path, installed: dict[str, list[str]]) -> None:
    _, plan = experiment._planned(str(asked), {**FORM, "kernels": ("6.1.0-old",)}, build=True)
    assert {cell.kernel for cell in plan.cells} == {"6.1.0-old"} and not builds.every()


def test_what_is_wrong_is_said_before_anything_is_built(asked: Path) -> None:
    for old, new, told in (
        ('source = "tree"', 'sources = "tree"', r"\$\.kernels\.build.*(sources|source)"),
        ('config = "tinyconfig"', 'kinds = ["rtt"]', "'rtt'"),
        ("[kernels.build]", "[kernels.built]", r"\$\.kernels.*(build|built)"),
    ):
        with pytest.raises(InputFileError, match=told):
            files.parse(FILE.replace(old, new).encode(), asked)
    with pytest.raises(UsageError, match="needs a board"):
        experiment._planned(str(asked), {**FORM, "boards": ("local",)}, build=True)
    assert not builds.every()

"""`gate bisect` on a real git tree whose kernels are a few bytes: git chooses, each step is a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gated
import pytest

from rtassay.gate import bisecting, gating
from rtassay.gate.boots import Cell, Measured
from rtassay.gate.gating import Plan
from rtassay.gate.kernels import Opened
from rtassay.gate.tree import Tree, tree_at
from rtassay.model.bisection import BAD, GOOD, NOT_BOOTED, NOT_BUILT, Bisection
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.gate import Gate

US = 1_000
PLAN = Plan(("idle", "dd"), (1,), count=3, interval_ns=1_000_000)
STEP = """\
import sys
sys.path[:0] = {paths!r}
import test_bisecting
from pathlib import Path
from rtassay.gate import bisecting
sys.exit(bisecting.step(bisecting.Work(Path({work!r})), test_bisecting.measure, print))
"""


def measure(new: Opened, base: Opened | Gate | None, plan: Plan) -> Gate:
    """A kernel is as late as its bytes say: `late`, `fine`, or `dead` if it does not boot."""

    def answer(cell: Cell) -> Measured:
        if b"dead" in cell.kernel.bootable:
            raise BoardError("the kernel did not boot to its end")
        later = cell.load == "dd" and b"late" in cell.kernel.bootable
        return gated.measured(gated.stream([20 * US, (140 if later else 40) * US, 30 * US]))

    return gating.gate(new, base, plan, gated.TOOLS, gated.maker(answer))


def git(home: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=home, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def history(home: Path, kernels: list[str]) -> list[str]:
    """A commit for each kernel, on `main`. `unbuilt`: one that cannot be built."""
    git(home, "init", "--quiet", "--initial-branch=main")
    git(home, "config", "user.name", "t")
    git(home, "config", "user.email", "t@example.org")
    (home / ".gitignore").write_text("bzImage\n")
    for number, word in enumerate(kernels):
        (home / "source").write_bytes(gated.bzimage(gated.elf(notes=gated.PVH, rest=f"{word} {number}".encode())))
        (home / "Kbuild").write_text("exit 1" if word == "unbuilt" else "cp source bzImage")
        git(home, "add", ".")
        git(home, "commit", "--quiet", "-m", f"{number}: {word}")
    return git(home, "rev-list", "--reverse", "main").split()


def bisected(home: Path, work: Path, good: str = "main~5", bad: str = "main") -> Bisection:
    work.mkdir()
    paths = [str(Path(__file__).parent), *sys.path]
    step = [sys.executable, "-c", STEP.format(paths=paths, work=str(work))]
    tree = tree_at(home, "sh Kbuild", home / "bzImage")
    return bisecting.bisect(tree, (good, bad), PLAN, bisecting.Work(work), step, measure, lambda words: None)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "linux"
    made.mkdir()
    return made


def test_the_first_later_commit_is_found_past_those_that_cannot_be_built_or_booted(home: Path, tmp_path: Path) -> None:
    commits = history(home, ["fine", "fine", "unbuilt", "fine", "late", "late", "dead", "late", "late"])
    found = bisected(home, tmp_path / "work", good="main~8")
    assert (found.commit, found.subject, found.loads) == (commits[4], "4: late", ("dd",))
    outcomes = {step.commit: step.outcome for step in found.steps}
    assert (outcomes[commits[0]], outcomes[commits[8]], outcomes[commits[4]], outcomes[commits[3]]) == (
        GOOD,
        BAD,
        BAD,
        GOOD,
    )
    assert set(outcomes.values()) <= {GOOD, BAD, NOT_BUILT, NOT_BOOTED}
    assert found.gate is not None
    assert (found.gate.kernel.name, found.gate.base and found.gate.base.name) == (commits[4][:12], commits[3][:12])
    assert [load.load for load in found.gate.loads] == ["dd"]
    assert git(home, "symbolic-ref", "--short", "HEAD") == "main"
    assert git(home, "status", "--porcelain") == ""
    assert subprocess.run(["git", "bisect", "log"], cwd=home, capture_output=True, check=False).returncode != 0


def test_only_commits_that_cannot_be_tested_leave_candidates(home: Path, tmp_path: Path) -> None:
    commits = history(home, ["fine", "unbuilt", "dead", "late"])
    found = bisected(home, tmp_path / "work", good="main~3")
    assert found.commit is found.gate is None
    assert set(found.candidates) == set(commits[1:])
    assert {step.outcome for step in found.steps} == {GOOD, BAD, NOT_BUILT, NOT_BOOTED}


def test_a_bad_that_is_not_later_and_a_tree_that_is_not_ready_are_refused(home: Path, tmp_path: Path) -> None:
    history(home, ["fine", "fine", "late"])
    with pytest.raises(UsageError, match="main~1 is not later than main~2"):
        bisected(home, tmp_path / "a", good="main~2", bad="main~1")
    assert git(home, "symbolic-ref", "--short", "HEAD") == "main"
    with pytest.raises(UsageError, match="no ancestor"):
        bisected(home, tmp_path / "b", good="main", bad="main~1")
    with pytest.raises(UsageError, match=r"no commit 'v6\.1'"):
        bisected(home, tmp_path / "c", good="v6.1")
    (home / "Kbuild").write_text("changed")
    with pytest.raises(UsageError, match="not committed"):
        bisected(home, tmp_path / "d", good="main~2")
    with pytest.raises(UsageError, match="no git work tree"):
        tree_at(tmp_path, None, None)
    with pytest.raises(UsageError, match=r"no \.config"):
        tree_at(home, None, None)


@pytest.mark.parametrize(
    ("machine", "option", "line"),
    [
        ("x86_64", "X86_64", "make --silent olddefconfig && make --silent -jN bzImage"),
        (
            "x86_64",
            "ARM64",
            "make ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- --silent olddefconfig && "
            "make ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- --silent -jN Image",
        ),
        ("armv7l", "ARM", "make --silent olddefconfig && make --silent -jN zImage"),
    ],
)
def test_a_tree_is_built_for_the_architecture_it_is_configured_for(
    home: Path, monkeypatch: pytest.MonkeyPatch, machine: str, option: str, line: str
) -> None:
    monkeypatch.setattr("rtassay.kernels.arches.platform.machine", lambda: machine)
    (home / ".git").mkdir()
    (home / ".config").write_text(f"CONFIG_{option}=y\n")
    assert re.sub(r"-j\d+", "-jN", tree_at(home, None, None).build) == line


def test_a_good_that_cannot_be_built_is_said_and_the_tree_is_put_back(home: Path, tmp_path: Path) -> None:
    history(home, ["unbuilt", "late"])
    git(home, "checkout", "--quiet", "main~1")
    with pytest.raises(BoardError, match="cannot be built"):
        bisected(home, tmp_path / "work", good="main~1")
    assert git(home, "rev-parse", "HEAD") == git(home, "rev-parse", "main~1")


@pytest.mark.parametrize("code", [1, 3, 70])
def test_a_step_that_dies_is_no_verdict_on_a_commit(code: int, home: Path, tmp_path: Path) -> None:
    """To git it is a bad commit: Python itself exits with 1, rtassay with 3 when the disk is full."""
    history(home, ["fine", "fine", "late", "late"])
    (tmp_path / "work").mkdir()
    tree = tree_at(home, "sh Kbuild", home / "bzImage")
    work = bisecting.Work(tmp_path / "work")
    with pytest.raises(BoardError, match="which was never judged"):
        bisecting.bisect(
            tree, ("main~3", "main"), PLAN, work, ["sh", "-c", f"exit {code}"], measure, lambda words: None
        )
    assert git(home, "symbolic-ref", "--short", "HEAD") == "main"


def test_a_step_that_cannot_write_gives_up(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history(home, ["fine", "late"])
    work = bisecting.Work(tmp_path)
    tree = tree_at(home, "sh Kbuild", home / "bzImage")
    work.write(tree, PLAN, measure(bisecting._built(tree, "main~1", work, print), None, PLAN))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(bisecting.Work, "keep", full)
    said: list[str] = []
    assert bisecting.step(work, measure, said.append) >= 128
    assert "No space left" in said[-1]


def test_a_step_without_its_directory_makes_git_give_up(home: Path, tmp_path: Path) -> None:
    assert bisecting.step(bisecting.Work(tmp_path / "gone"), measure, lambda words: None) >= 128
    history(home, ["fine", "fine", "late"])
    tree = Tree(home, "sh Kbuild", home / "bzImage")
    with pytest.raises(BoardError, match="git bisect run failed"):
        tree.bisect(tree.commit("main~2"), tree.commit("main"), ["sh", "-c", "exit 128"])
    tree.end("main")


@pytest.mark.parametrize("failures", [1, 2])
def test_a_reset_that_fails_once_is_made_good_and_one_that_fails_again_is_said(
    failures: int, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a disk that is full for a moment: git's log of the bisection is left."""
    history(home, ["fine", "fine", "late"])
    tree = Tree(home, "sh Kbuild", home / "bzImage")
    good, bad = tree.commit("main~2"), tree.commit("main")
    tree.check_out(bad)  # as after its measurement: that is where a reset goes back to
    tree.bisect(good, bad, ["true"])
    real, programs, count = shutil.which("git"), tmp_path / "bin", tmp_path / "count"
    programs.mkdir()
    (programs / "git").write_text(
        f'#!/bin/sh\n[ "$1 $2" = "bisect reset" ] && echo >>{count} && [ $(wc -l <{count}) -le {failures} ] && exit 1\n'
        f'exec {real} "$@"\n'
    )
    (programs / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    if failures == 1:
        tree.end("main")
        tree.ready_for(good, bad)
        assert tree.head() == "main"
    else:
        with pytest.raises(BoardError) as caught:
            tree.end("main")
        assert caught.value.hint == f"cd {home} && git bisect reset; git checkout main"

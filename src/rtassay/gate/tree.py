"""A git tree of the kernel: commits, builds, and the bisection that git drives."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.kernels.arches import target_named
from rtassay.lab.places import need
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.foreign import one_line

_ARCH_OF = {"ARM64": "arm64", "ARM": "armhf"}
SKIP = 125
"""Exit code by which `git bisect run` passes over a commit."""
ABORT = 128
"""From this exit code on `git bisect run` gives up."""
# The same commit gives the same bytes.
_ENVIRONMENT = {
    "KBUILD_BUILD_TIMESTAMP": "Mon Jan  1 00:00:00 UTC 2024",
    "KBUILD_BUILD_USER": "rtassay",
    "KBUILD_BUILD_HOST": "rtassay",
    "KBUILD_BUILD_VERSION": "1",
}


class BuildFailed(BoardError):
    """A commit that cannot be built (exit 3; 125 inside a bisection)."""


@dataclass(frozen=True, slots=True)
class Tree:
    """`home`: the work tree. `build`: a shell line that builds its kernel, run there. `image`: the kernel, or the build tree, that it makes."""

    home: Path
    build: str
    image: Path

    def commit(self, name: str) -> str:
        """The hash of a commit. Raises UsageError if there is none of this name."""
        done = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
        if done.returncode:
            raise UsageError(f"{self.home} has no commit '{name}'", hint="git log --oneline shows them")
        return done.stdout.strip()

    def subject(self, commit: str) -> str:
        return one_line(self._must("show", "--no-patch", "--format=%s", commit), 200)

    def parent(self, commit: str) -> str | None:
        done = self._git("rev-parse", "--verify", "--quiet", f"{commit}^")
        return None if done.returncode else done.stdout.strip()

    def head(self) -> str:
        """The branch that is checked out, else the commit."""
        branch = self._git("symbolic-ref", "--short", "--quiet", "HEAD")
        return branch.stdout.strip() if branch.returncode == 0 else self._must("rev-parse", "HEAD")

    def check_out(self, what: str) -> None:
        self._must("checkout", "--quiet", what, "--")

    def ready_for(self, good: str, bad: str) -> None:
        """Raises UsageError if a bisection cannot begin, and would change what a person is working on."""
        if self._must("status", "--porcelain", "--untracked-files=no"):
            raise UsageError(f"{self.home} has changes that are not committed", hint="git commit, or git stash")
        if self._bisects():
            raise UsageError(f"a bisection is under way in {self.home}", hint="git bisect reset ends it")
        if self._git("merge-base", "--is-ancestor", good, bad).returncode:
            raise UsageError(f"{good[:12]} is no ancestor of {bad[:12]}", hint="GOOD comes first, and BAD stands on it")

    def make(self) -> None:
        """Build what is checked out. Raises BuildFailed with the last words of the build."""
        done = subprocess.run(
            ["sh", "-c", self.build],
            cwd=self.home,
            env={**os.environ, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            lines = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
            raise BuildFailed("the kernel cannot be built", one_line(" / ".join(lines[-3:]), 400) or self.build)

    def bisect(self, good: str, bad: str, step: Sequence[str]) -> None:
        """Let git search, with a program for each step. Raises BoardError if the program gave up. `bisected` tells what was found."""
        self._must("bisect", "start", bad, good)
        done = self._git("bisect", "run", *step)
        if done.returncode >= ABORT or "bisect run failed" in done.stdout + done.stderr:
            words = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            if not any("only 'skip'ped commits left" in line.lower() for line in words):
                raise BoardError("git bisect run failed", one_line(" / ".join(words[-3:]), 400))

    def bisected(self) -> tuple[str | None, tuple[str, ...]]:
        """The first bad commit; else None, and those that are left, of which none could be tested."""
        log = self._must("bisect", "log")
        for line in log.splitlines():
            if line.startswith("# first bad commit: ["):
                return line.partition("[")[2].partition("]")[0], ()
        marks = "# possible first bad commit: ["
        left = [line.partition("[")[2].partition("]")[0] for line in log.splitlines() if line.startswith(marks)]
        return None, tuple(left)

    def end(self, head: str) -> None:
        """Put the tree back to where it was. Raises BoardError, with what puts it back."""
        if self._bisects():
            self._git("bisect", "reset")
        try:
            # A reset that failed (a disk that was full for a moment) leaves its log, and the next bisection would be refused.
            if self._bisects():
                self._must("bisect", "reset")
            self.check_out(head)
        except BoardError as error:
            by_hand = f"cd {self.home} && git bisect reset; git checkout {head}"
            raise BoardError(f"{self.home} is not put back: {error.what}", error.why, by_hand) from error

    def _bisects(self) -> bool:
        return self._git("bisect", "log").returncode == 0

    def _must(self, *words: str) -> str:
        done = self._git(*words)
        if done.returncode:
            raise BoardError(f"git {words[0]} failed in {self.home}", one_line(done.stderr.strip(), 400))
        return done.stdout.strip()

    def _git(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "LC_ALL": "C"}
        return subprocess.run(
            ["git", *words],
            cwd=self.home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )


def tree_at(home: Path, build: str | None, image: Path | None) -> Tree:
    """A tree with the usual build, if none is given. Raises UsageError if `home` is no work tree, or has no configuration."""
    need("git")
    if not (home / ".git").exists():
        raise UsageError(f"{home} is no git work tree", hint="name one with --tree")
    if build is None and not (home / ".config").is_file():
        raise UsageError(
            f"{home} has no .config", "the kernel is built in its tree", "configure it, or say --build and --image"
        )
    jobs = len(os.sched_getaffinity(0))
    return Tree(home.resolve(), build or _usual(home, jobs), (home if image is None else image).resolve())


def _usual(home: Path, jobs: int) -> str:
    """The shell line that builds the image of the architecture that the tree is configured for."""
    config = (home / ".config").read_text(errors="replace").splitlines()
    arch = next((arch for option, arch in _ARCH_OF.items() if f"CONFIG_{option}=y" in config), "amd64")
    target = target_named(arch)
    cross = f"ARCH={target.make} CROSS_COMPILE={target.prefix} " if target.prefix else ""
    make = f"make {cross}--silent"
    return f"{make} olddefconfig && {make} -j{jobs} {target.image}"

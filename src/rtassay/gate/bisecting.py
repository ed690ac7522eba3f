"""`gate bisect`: the first commit that wakes up later. git chooses the commits; each step is a process of its own, started by git."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rtassay.gate import kernels, saved
from rtassay.gate.gating import Plan
from rtassay.gate.kernels import Opened
from rtassay.gate.tree import ABORT, SKIP, BuildFailed, Tree
from rtassay.lab.places import Say
from rtassay.model.bisection import BAD, GOOD, NOT_BOOTED, NOT_BUILT, Bisection, Step
from rtassay.model.errors import EXIT_OK, EXIT_VIOLATED, BoardError, RtassayError, UsageError
from rtassay.model.files import naming, write_file
from rtassay.model.gate import REGRESSED, TOO_LATE, Gate, gate_dict

Measure = Callable[[Opened, Opened | Gate | None, Plan], Gate]
"""One gate of a kernel against a base, with that plan."""
_STEPS, _BASE, _PLAN = "steps.jsonl", "base.json", "plan.json"
_LATER = (REGRESSED, TOO_LATE)


@dataclass(frozen=True, slots=True)
class Work:
    """A directory that the steps share: the plan, the base, the kernel and the outcome of each commit."""

    home: Path

    def kernel(self, commit: str) -> Path:
        return self.home / commit

    def keep(self, commit: str, opened: Opened) -> None:
        """The image and its configuration, so that nothing is built twice."""
        self.kernel(commit).mkdir(exist_ok=True)
        write_file(self.kernel(commit) / "bzImage", opened.bootable)
        lines = [f"CONFIG_{name}={value}" for name, value in (opened.options or {}).items()]
        write_file(self.kernel(commit) / "config", "\n".join([*lines, ""]).encode())

    def note(self, step: Step) -> None:
        with naming(self.home / _STEPS), (self.home / _STEPS).open("a") as file:
            file.write(json.dumps(asdict(step)) + "\n")

    def steps(self) -> tuple[Step, ...]:
        path = self.home / _STEPS
        lines = path.read_text().splitlines() if path.exists() else []
        return tuple(Step(**json.loads(line)) for line in lines)

    def write(self, tree: Tree, plan: Plan, base: Gate) -> None:
        of_tree = {"home": str(tree.home), "build": tree.build, "image": str(tree.image)}
        write_file(self.home / _PLAN, json.dumps({"tree": of_tree, "plan": asdict(plan)}).encode())
        write_file(self.home / _BASE, json.dumps(gate_dict(base)).encode())

    def read(self) -> tuple[Tree, Plan, Gate]:
        """Raises BoardError if the directory is gone: git gives up then."""
        try:
            told = json.loads((self.home / _PLAN).read_text())
        except (OSError, ValueError) as error:
            raise BoardError(f"{self.home} is no directory of a bisection", str(error)) from error
        tree, plan = told["tree"], told["plan"]
        lists = {name: tuple(plan[name]) for name in ("loads", "seeds")}
        return (
            Tree(Path(tree["home"]), tree["build"], Path(tree["image"])),
            Plan(**{**plan, **lists}),
            saved.read(self.home / _BASE),
        )


def bisect(
    tree: Tree, names: tuple[str, str], plan: Plan, work: Work, step: Sequence[str], measure: Measure, say: Say
) -> Bisection:
    """Find the first commit after GOOD and up to BAD (`names`) that is later. `step`: the command line of one step.

    Raises UsageError for a tree that is not ready or a BAD that is not later, BoardError if GOOD or BAD cannot be built or booted.
    The tree is put back, whatever happens.
    """
    good, bad = (tree.commit(name) for name in names)
    tree.ready_for(good, bad)
    head = tree.head()
    try:
        base = measure(_built(tree, good, work, say), None, plan)
        work.note(Step(good, tree.subject(good), GOOD))
        against = measure(_built(tree, bad, work, say), base, plan)
        later = tuple(load.load for load in against.loads if load.state in _LATER)
        if not later:
            raise UsageError(
                f"{names[1]} is not later than {names[0]} under {', '.join(plan.loads)}",
                "there is nothing to look for",
                "name the load, or more activations with --count",
            )
        work.note(Step(bad, tree.subject(bad), BAD))
        say(f"later under {', '.join(later)}: git looks for the commit")
        narrow = replace(plan, loads=later)
        kept = replace(base, loads=tuple(load for load in base.loads if load.load in later))
        work.write(tree, narrow, kept)
        tree.bisect(good, bad, step)
        commit, left = tree.bisected()
        _require_judged(commit, work)
        found = None if commit is None else _explained(tree, commit, good, narrow, work, measure, say)
        subject = None if commit is None else tree.subject(commit)
    finally:
        tree.end(head)
    return Bisection(str(tree.home), good, bad, later, commit, subject, left, work.steps(), found)


def _require_judged(commit: str | None, work: Work) -> None:
    """A step that died before it could say anything is a bad commit to git. Raises BoardError."""
    outcomes = {one.commit: one.outcome for one in work.steps()}
    if commit is not None and outcomes.get(commit) != BAD:
        raise BoardError(f"git names {commit[:12]}, which was never judged", "a step died", "start the search again")


def _built(tree: Tree, commit: str, work: Work, say: Say) -> Opened:
    tree.check_out(commit)
    say(f"building {commit[:12]} {tree.subject(commit)}")
    tree.make()
    opened = kernels.opened(str(tree.image), say)
    work.keep(commit, opened)
    return _named(opened, commit)


def _named(opened: Opened, commit: str) -> Opened:
    return Opened(replace(opened.kernel, name=commit[:12]), opened.bootable, opened.options)


def _explained(tree: Tree, commit: str, good: str, plan: Plan, work: Work, measure: Measure, say: Say) -> Gate:
    """The first bad commit against its parent; against GOOD, if the parent was not built."""
    parent = tree.parent(commit)
    if parent is None or not work.kernel(parent).is_dir():
        parent = good
    say(f"{commit[:12]} against {parent[:12]}: who holds the time")
    new, base = (_named(kernels.opened(str(work.kernel(one)), say), one) for one in (commit, parent))
    return measure(new, base, plan)


def step(work: Work, measure: Measure, say: Say) -> int:
    """One step: build what git has checked out, and gate it. The exit code for `git bisect run`.

    To git every other exit code is a bad commit. So it gives up where we fail for a reason that is not the commit's: a full disk, a bug.
    """
    try:
        return _stepped(work, measure, say)
    except Exception as error:
        say(f"{type(error).__name__}: {error}")
        return ABORT


def _stepped(work: Work, measure: Measure, say: Say) -> int:
    try:
        tree, plan, base = work.read()
        commit = tree.commit("HEAD")
        subject = tree.subject(commit)
    except RtassayError as error:
        say(str(error))
        return ABORT
    try:
        result = measure(_built(tree, commit, work, say), base, plan)
    except RtassayError as error:
        outcome = NOT_BUILT if isinstance(error, BuildFailed) else NOT_BOOTED
        work.note(Step(commit, subject, outcome, str(error)))
        shutil.rmtree(work.kernel(commit), ignore_errors=True)
        say(f"{commit[:12]} is passed over: {error}")
        return SKIP
    later = result.state in _LATER
    work.note(Step(commit, subject, BAD if later else GOOD))
    return EXIT_VIOLATED if later else EXIT_OK

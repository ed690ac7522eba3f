"""The runs of rtassay throughput: each work in turns, on the kernel that runs or on two that are booted in turns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtassay.cli.terminal import echo
from rtassay.model import rooms
from rtassay.model.errors import BoardError, ToolMissing, UsageError

_DEFAULT_DURATION_NS = 20_000_000_000
_BOOTS = 3
"""Of each kernel: the fewest that give an answer."""


@dataclass
class Runs:
    """Sealed recordings of each side, in the order in which they were measured, and whether somebody stopped them."""

    sides: tuple[list[Path], list[Path]] = field(default_factory=lambda: ([], []))
    titles: tuple[str | None, str | None] = (None, None)
    stopped: bool = False

    @property
    def paths(self) -> list[Path]:
        """Of both sides."""
        return [*self.sides[0], *self.sides[1]]


@dataclass(frozen=True, slots=True)
class _Block:
    """One turn of all works. `kernel`: booted before it; None: the one that runs."""

    number: int
    of: int
    side: int
    kernel: str | None


def measure(board: str, options: dict[str, Any]) -> Runs:
    """All runs. A work that was not asked for by name is left out where its program is missing."""
    from rtassay import runs as requests

    asked = options["works"] or tuple(rooms.table("works"))
    kernels = options["kernels"]
    labels = _labels(options["labels"], kernels)
    for work in asked:  # before the board is asked for anything
        rooms.load("works", work.partition(":")[0])
        requests.make_request(board, _values(board, work, options, labels))
    _check(board, kernels)
    runs = Runs(titles=(kernels[0], kernels[1]) if kernels else (None, None))
    missing: set[str] = set()
    booted: dict[str, Any] = {}
    for block in _blocks(kernels, options["repeats"] or (_BOOTS if kernels else 1)):
        if block.kernel is not None and not _boot(board, block, booted, options["quiet"]):
            runs.stopped = True
            return runs
        for work in asked if block.number % 2 else asked[::-1]:
            if work in missing:
                continue
            of_kernel = {} if block.kernel is None else {"kernel": block.kernel}
            request = requests.make_request(board, _values(board, work, options, labels | of_kernel))
            path = _run(request, work, block, options, runs)
            if path is None:
                missing.add(work)
                continue
            if block.kernel is not None:
                _still(board, path, block.kernel, booted[block.kernel])
            runs.sides[block.side].append(path)
            if runs.stopped:
                return runs
    if kernels and not options["quiet"]:
        echo(f"{board} runs {block.kernel} now; a restart brings its default kernel", err=True)
    return runs


def _blocks(kernels: tuple[str, ...], repeats: int) -> Iterator[_Block]:
    """A B B A A B ..., or one side."""
    sides = range(len(kernels)) if kernels else range(1)
    number, of = 0, repeats * len(sides)
    for repeat in range(repeats):
        for side in sides if repeat % 2 == 0 else reversed(sides):
            number += 1
            yield _Block(number, of, side, kernels[side] if kernels else None)


def _labels(given: tuple[str, ...], kernels: tuple[str, ...]) -> dict[str, str]:
    from rtassay.cli.run_options import parse_labels

    labels = parse_labels(given)
    if kernels and "kernel" in labels:
        raise UsageError("--kernel labels each recording with its kernel", hint="leave --label kernel=... out")
    return labels


def _check(board: str, kernels: tuple[str, ...]) -> None:
    """Raises UsageError, before anything is measured, for what cannot be booted in turns."""
    if not kernels:
        return
    if len(kernels) != 2 or kernels[0] == kernels[1]:
        raise UsageError("--kernel names two kernels, one after the other", hint="--kernel stock --kernel rt")
    if board == "local":
        raise UsageError(
            "this machine's kernel cannot be switched: rtassay would end with it",
            hint="name a board: rtassay throughput pi@board --kernel stock --kernel rt; or measure here under each kernel, with --label kernel=NAME, then --of kernel=A --with kernel=B",
        )
    from rtassay.boot.switch import check_names
    from rtassay.cli.kernel import resolved

    asyncio.run(check_names(resolved(board), kernels))


def _boot(board: str, block: _Block, booted: dict[str, Any], quiet: bool) -> bool:
    """Boots the kernel of the block; False: somebody stopped it. Raises UsageError where both names are one kernel."""
    from rtassay.boot.switch import switch_and_leave
    from rtassay.cli.kernel import resolved, say

    assert block.kernel is not None
    if not quiet:
        echo(f"boot {block.number} of {block.of}: {block.kernel}", err=True)
    try:
        tell = (lambda words: None) if quiet else say
        now = asyncio.run(switch_and_leave(resolved(board), block.kernel, tell))
    except KeyboardInterrupt:
        echo(f"stopped while {board} boots; its default kernel is the same", err=True)
        return False
    for other, known in booted.items():
        if other != block.kernel and (known.release, known.version) == (now.release, now.version):
            raise UsageError(
                f"{other} and {block.kernel} are one kernel: {now.release}", hint="rtassay kernel list BOARD"
            )
    booted[block.kernel] = now
    return True


def _still(board: str, path: Path, kernel: str, now: Any) -> None:
    """Raises BoardError if the run was measured on another kernel than the one that was booted for it."""
    from rtassay import store

    release = store.open_recording(path).manifest.board_start.kernel.release
    if release != now.release:
        raise BoardError(
            f"{board} runs kernel {release}, not {kernel} ({now.release}); {path.name} is not compared",
            "it was restarted meanwhile",
            "look at its power, its watchdog and its log",
        )


def _run(request: Any, work: str, block: _Block, options: dict[str, Any], runs: Runs) -> Path | None:
    """The sealed recording; None: the program of a work is missing that was not asked for by name."""
    from rtassay.cli.run import measured, new_run

    if not options["quiet"]:
        where = "" if block.kernel is None else f" of {block.kernel}"
        echo(f"{work}{where}, run {block.number} of {block.of}", err=True)
    try:
        signalled, path = asyncio.run(measured(new_run(request, quiet=options["quiet"]), options["quiet"]))
    except ToolMissing as error:
        if options["works"]:
            raise
        echo(f"left out: {work}: {error}", err=True)
        return None
    echo(f"recording: {path}", err=True)
    runs.stopped = signalled is not None
    return path


def _values(board: str, work: str, options: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    """The request of one run, with the defaults of `rtassay run` but for what a work does not have."""
    from rtassay.model.settings import SETTINGS

    name, colon, argument = work.partition(":")
    if colon and not argument.strip():
        raise UsageError(f"'{name}:' names no arguments", hint=f"write {name} alone, or {name}:ARGUMENTS")
    settings = {"arguments": argument} if colon else {}
    if options["rounds"] is not None:
        settings["rounds"] = str(options["rounds"])
    values: dict[str, Any] = {s.field or s.key: None if s.filled_in else s.default for s in SETTINGS}
    words = ["rtassay", "throughput", board, "--work", work]
    words += ["--duration", f"{options['duration_ns']}ns"] if options["duration_ns"] else []
    words += ["--rounds", str(options["rounds"])] if options["rounds"] is not None else []
    return values | {
        "probe": f"work:{name}",
        "load": ("none",),
        "settings": settings,
        "duration_ns": options["duration_ns"] or _DEFAULT_DURATION_NS,
        "cpus": options["cpus"],
        "labels": labels,
        "tune": None,
        "waivers": {},
        "strict": False,
        "note": options["note"],
        "name": None,
        "output": None,
        "argv": words,
        "configured": (),
        "cyclictest_line": None,
    }

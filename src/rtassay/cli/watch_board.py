"""rtassay watch BOARD: the live table of a run that another host started, from what it writes on the board."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from rtassay.cli.progress import ProgressView
from rtassay.cli.status import lane_dict
from rtassay.cli.terminal import echo
from rtassay.model.errors import EXIT_NOT_DEMONSTRATED, EXIT_OK, UsageError
from rtassay.model.events import End, Facts, Second
from rtassay.model.facts import facts_of
from rtassay.model.units import NS_PER_S, parse_cpu_list, parse_duration_ns
from rtassay.session.control import LiveLanes, Progress
from rtassay.wire.stream import StreamParser

if TYPE_CHECKING:
    from rtassay.boards.lease import Lease
    from rtassay.boards.watching import Watching

# Each look starts a few short programs on a board that is measured.
_LOOK_EVERY_S = 2.0
_ROLLUPS = frozenset({"Facts", "Second", "End"})
# So many looks that bring bytes but no second: the tool does not tell any.
_WITHOUT_SECONDS = 4


def watch(name: str, as_json: bool) -> int:
    """Follow the run on the board `name` to its end. Raises UsageError if nobody uses the board."""
    from rtassay.boards.known import resolve

    try:
        return asyncio.run(_watch(name, resolve(name).watching(), as_json))
    except KeyboardInterrupt:
        echo(f"\nthe run on {name} goes on; rtassay watch {name} follows it again", err=True)
        return EXIT_OK


async def _watch(name: str, watching: Watching, as_json: bool) -> int:
    from rtassay.boards.watching import Stage

    try:
        lease = await watching.begin(lambda sentence: echo(sentence, err=True))
        if lease is None:
            raise UsageError(f"nothing runs on {name}", hint="rtassay list shows what was recorded")
        far = _FarRun(watching)
        whose = {"board": name, "run": lease.run, "holder": lease.holder, "since": lease.since}
        echo(f"{name}: used by {lease.words()}; recording and verdict are there", err=True)
        view = ProgressView(as_json, on=sys.stdout, ctrl_c="ends only the watching")
        async for progress in far.progress():
            for sentence in far.news(lease):
                view.close()
                echo(sentence, err=True)
            view(progress)
            if as_json:
                _line({"state": "running", **whose, **far.so_far(progress)})
        view.close()
    finally:
        await watching.close()
    if far.stage is Stage.LEFT:
        if as_json:
            _line({"state": "abandoned", **whose})
        echo(
            f"{lease.holder} has left the run on {name}; there, rtassay run --attach fetches what was measured",
            err=True,
        )
        return EXIT_NOT_DEMONSTRATED
    if as_json:
        _line({"state": "ended", **whose})
    else:
        echo(f"the run has ended and left {name}; {lease.holder} has what was recorded, and its verdict")
    return EXIT_OK


class _FarRun:
    """What the board has shown so far of a run."""

    def __init__(self, watching: Watching) -> None:
        from rtassay.boards.watching import Stage

        self.stage = Stage.SET_UP
        self._watching = watching
        self._parser = StreamParser(only=_ROLLUPS)
        self._lanes = LiveLanes()
        self._planned_ns: int | None = None
        self._first_second: int | None = None
        self._gaps = 0
        self._fruitless = 0
        self._asked = False
        self._said: set[str] = set()

    async def progress(self) -> AsyncIterator[Progress]:
        """At every look, until the run has left the board or was left on it."""
        from rtassay.boards.watching import Stage

        while True:
            look = await self._watching.look()
            self.stage = look.stage
            if look.stage in (Stage.GONE, Stage.LEFT):
                return
            if look.stage is not Stage.SET_UP and not self._asked:
                self._asked = True
                self._read_command(await self._watching.command())
            self._take(look.data, look.gap)
            if look.more:
                continue
            yield self._so_far(look.stage)
            await asyncio.sleep(_LOOK_EVERY_S)

    def news(self, lease: Lease) -> list[str]:
        """Sentences about what cannot be known here, each once."""
        told = []
        if self._gaps and self._first_second is not None:
            told.append(
                f"missed and dropped are counted from second {self._first_second} of the run on, and only in what was seen since; "
                f"{lease.holder} knows all"
            )
        if self._fruitless >= _WITHOUT_SECONDS and self._first_second is None:
            told.append("the tool that measures tells nothing in between: what it measured is known at its end")
        new = [sentence for sentence in told if sentence not in self._said]
        self._said.update(new)
        return new

    def so_far(self, progress: Progress) -> dict[str, Any]:
        """For --json. `counted_from_s`: the second of the run from which missed and dropped are counted."""
        return {
            "phase": progress.phase,
            "elapsed_s": progress.elapsed_ns // NS_PER_S,
            "planned_s": None if self._planned_ns is None else self._planned_ns / NS_PER_S,
            "counted_from_s": self._first_second if self._gaps else 0,
            "lanes": [lane_dict(lane) for lane in progress.lanes],
        }

    def _so_far(self, stage: Any) -> Progress:
        from rtassay.boards.watching import Stage

        measured = self._lanes.measured_ns
        phase = "collect" if stage is Stage.COLLECTS else "measure" if measured else stage.value
        if phase == Stage.MEASURES.value:
            phase = "warm-up"
        planned = self._planned_ns if phase == "measure" else None
        return Progress(phase, measured, planned, self._lanes.snapshot())

    def _take(self, data: bytes, gap: bool) -> None:
        if not data:
            return
        if gap:
            self._gaps += 1
            self._parser = StreamParser(only=_ROLLUPS)
        self._fruitless += 1
        for event in self._parser.feed(data):
            if isinstance(event, Facts):
                self._lanes.start(facts_of(event.data).lanes)
            elif isinstance(event, Second):
                self._first_second = event.second if self._first_second is None else self._first_second
                self._lanes.add(event)
            elif isinstance(event, End):
                self._fruitless = 0

    def _read_command(self, words: tuple[str, ...]) -> None:
        """FACTS may be gone from the board: the duration and the CPUs stand on the command line of the probe, too."""
        asked = dict(itertools.pairwise(words))
        with contextlib.suppress(UsageError):
            self._planned_ns = parse_duration_ns(asked["--duration"]) if "--duration" in asked else None
        if "cyclic" in words and "--cpus" in asked:  # one lane on each CPU
            with contextlib.suppress(UsageError):
                cpus = parse_cpu_list(asked["--cpus"])
                self._lanes.start_on(cpus)


def _line(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"schema": "rtassay/watch/1", **told}, allow_nan=False) + "\n")
    sys.stdout.flush()

"""The probe while it measures. Its bytes go to disk first, its rollups to the screen, and it always ends in bounded time."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from rtassay.boards.base import PROBE, Allowance, BoardProcess, LinuxBoard
from rtassay.model import foreign
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.events import End, Event, Facts, Note, Parser, Second
from rtassay.model.facts import ProbeEnd, end_of, facts_of
from rtassay.model.notes import BreakNote
from rtassay.model.units import NS_PER_S
from rtassay.model.views import view_of
from rtassay.session.board_files import said
from rtassay.session.control import LaneProgress, LiveLanes
from rtassay.session.prepare import GRACE_NS, Prepared, stream_limit
from rtassay.wire.stream import StreamParser

# By then a guard has ended its command: 20 s of grace at most, then SIGKILL.
_GUARD_ENDS_S = 25.0
_ROLLUPS = ("Facts", "Second", "Note", "End")
_EXIT_USAGE, _EXIT_BOARD = 2, 3
_EXIT_SIGNALLED = 128


def _guard_ns(prepared: Prepared) -> int:
    """After which time its guard ends a probe."""
    return prepared.planned_ns + prepared.probe.beyond_ns + GRACE_NS


class Measurement:
    """One probe process under an attached guard."""

    def __init__(self, prepared: Prepared, process: BoardProcess, tee: Callable[[bytes], None]) -> None:
        self._prepared = prepared
        self._process = process
        self._tee = tee
        # The full stream goes to disk undecoded: only its rollups are looked into while it runs.
        self._own = prepared.probe.stream_file.endswith(".rtw")
        self._parser: Parser = StreamParser(only=_ROLLUPS) if self._own else prepared.probe.parser(prepared.plan)
        self._allowed = Allowance("the board", "the probe", stream_limit(prepared.plan))
        self._lanes = LiveLanes()
        self._launched_s = self._begun_s = self.moved_s = time.monotonic()
        self._told_ns = 0
        self.facts = facts_of({})
        self.end: ProbeEnd | None = None
        self.trace: str | None = None
        self.reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls, board: LinuxBoard, prepared: Prepared, tee: Callable[[bytes], None], ends: Sequence[str] = ()
    ) -> Measurement:
        """`ends`: launched names whose stdin the board closes as soon as the probe has ended."""
        limit = f"{_guard_ns(prepared)}ns"
        argv = [prepared.rtprobe, "guard", "--attached", "--max", limit, "--", *prepared.plan.command]
        return cls(prepared, await board.launch(argv, PROBE, ends=ends), tee)

    @property
    def elapsed_ns(self) -> int:
        return int((time.monotonic() - self._begun_s) * 1e9)

    def progress_ns(self) -> int:
        """How much of the planned time is measured, for people: it only grows, and ends at the planned time.

        Over a link the stream comes late and in pieces: then the seconds that arrived say more than our clock.
        """
        if self.facts.told or not self._own:
            measured_ns = max(self.elapsed_ns, self._lanes.measured_ns)
            self._told_ns = max(self._told_ns, min(measured_ns, self._prepared.planned_ns))
        return self._told_ns

    @property
    def bound_s(self) -> float:
        """Seconds after which it must have ended: the guard's limit and the time the guard needs to end it."""
        return _guard_ns(self._prepared) / 1e9 + _GUARD_ENDS_S

    @property
    def wall_start(self) -> str:
        """When the probe began, by the board's own calendar where it tells, else by ours; UTC."""
        wall_ns = self.facts.wall_ns
        at = datetime.now(UTC) - timedelta(microseconds=self.elapsed_ns // 1000)
        if wall_ns is not None:
            with contextlib.suppress(OverflowError, ValueError, OSError):  # no year of any calendar
                at = datetime.fromtimestamp(wall_ns / 1e9, UTC)
        return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    async def words(self) -> bytes:
        """What the ended probe left on stderr."""
        return await self._process.errors()

    def lanes(self) -> tuple[LaneProgress, ...]:
        return self._lanes.snapshot()

    async def ask_to_stop(self) -> None:
        """The probe ends as if its time had come, and says that it was asked."""
        await self._process.signal(signal.SIGINT)

    async def end_by_guard(self) -> None:
        """Close the guard's stdin: the guard ends the probe. Output that comes until then is kept."""
        await self._process.close_stdin()
        await asyncio.wait([self.reader], timeout=_GUARD_ENDS_S)

    async def outcome(self) -> None:
        """Judge how it ended, once the reader is done. Raises what the probe's exit code and its own words stand for."""
        try:
            code = await self._process.wait(_GUARD_ENDS_S)
        except TimeoutError as error:
            raise BoardError("the probe closed its stream and did not end", "its guard still runs") from error
        if self.end is not None and self.end.reason != "error":
            return
        words = said(await self._process.errors())
        name = self._prepared.probe.name
        if code == _EXIT_USAGE:
            raise UsageError(words or f"{name} refused its options")
        if code == _EXIT_BOARD and words:
            raise BoardError(words)
        why = words or f"exit code {code}"
        if code > _EXIT_SIGNALLED:  # what it said before is not what ended it
            why = "; ".join(filter(None, [words, f"ended by signal {code - _EXIT_SIGNALLED}"]))
        if code > _EXIT_SIGNALLED and time.monotonic() - self._launched_s >= _guard_ns(self._prepared) / 1e9:
            why += (
                f", by its guard, since it was not done {GRACE_NS // NS_PER_S} s after its time: its CPUs were too busy"
            )
        elif code == _EXIT_SIGNALLED + signal.SIGKILL:
            why += ", as the kernel ends programs when memory runs out: `dmesg` on the board tells"
        raise BoardError(f"{name} did not come to its end", why)

    async def _read(self) -> None:
        async for chunk in self._process.chunks():
            self.moved_s = time.monotonic()
            self._allowed.spend(chunk)
            self._tee(chunk)
            self._take(self._parser.feed(chunk))
        self._take(self._parser.finish())

    def _take(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, Second):
                self._lanes.add(event)
            elif isinstance(event, Facts):
                self.facts = facts_of(event.data)
                self._lanes.start(self.facts.lanes)
                self._begun_s = time.monotonic()
            elif isinstance(event, Note) and event.name == "break":
                trace = view_of(BreakNote, event.data).trace
                self.trace = trace if trace is not None and foreign.is_path(trace) else None
            elif isinstance(event, End):
                self.end = end_of(event.data)

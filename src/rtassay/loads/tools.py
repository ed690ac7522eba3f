"""Shared parts of loads: arguments without a shell, the wrapper for programs without a time limit, output by lines."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rtassay.loads.base import LoadResult, LoadSpec, Rate
from rtassay.model.errors import UsageError
from rtassay.model.events import End, Note, Output
from rtassay.model.facts import end_of
from rtassay.model.notes import WorkNote
from rtassay.model.units import NS_PER_S, format_cpu_list
from rtassay.model.views import view_of

_LONGEST_LINE = 64 * 1024


def split(program: str, argument: str) -> list[str]:
    """Arguments as a shell would split them, given to no shell. Raises UsageError."""
    try:
        words = shlex.split(argument)
    except ValueError as error:
        raise UsageError(f"cannot read the arguments of {program}: {argument}", str(error)) from error
    if not words:
        raise UsageError(f"'{program}:' names no arguments", hint=f"write {program} alone, or {program}:ARGUMENTS")
    return words


def repeated(
    spec: LoadSpec, argv: Sequence[str], *, once: bool = False, more_s: int = 0, hold_stdin: bool = False
) -> tuple[str, ...]:
    """The command under `rtprobe repeat`: on the load's CPUs, bounded in time, started again when it ends (unless `once`).

    `more_s`: how much later than the load it may end, for a command that ends in time by itself and what others depend on.
    `hold_stdin`: for a command that ends when its stdin is at its end.
    """
    bounds = ("--cpus", format_cpu_list(spec.cpus), "--duration", f"{spec.duration_s + more_s}s")
    return (
        spec.rtprobe,
        "repeat",
        *bounds,
        *(("--once",) if once else ()),
        *(("--hold-stdin",) if hold_stdin else ()),
        "--",
        *argv,
    )


def inside(argv: Sequence[str]) -> list[str]:
    """The command that `rtprobe repeat` runs; the command itself if it is not wrapped."""
    words = list(argv)
    return words[words.index("--") + 1 :] if words[1:2] == ["repeat"] and "--" in words else words


class Lines:
    """Bytes of one pipe to whole lines of text."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        *whole, rest = (self._rest + data).split(b"\n")
        self._rest = rest[-_LONGEST_LINE:]
        return [line.decode(errors="replace").rstrip("\r") for line in whole]

    def finish(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [rest.decode(errors="replace")] if rest else []


class WorkStream:
    """The stream of `rtprobe load` and `rtprobe repeat`: operations so far, and per second."""

    def __init__(self) -> None:
        from rtassay.wire.stream import StreamParser

        self._parser = StreamParser(only={"Note", "End"})
        self._last: tuple[int, float] | None = None
        self.operations: float | None = None
        self.unit = "operations"
        self.exit_code: int | None = None
        self.reason: str | None = None

    def feed(self, data: bytes) -> list[Rate]:
        rates = []
        for event in self._parser.feed(data):
            if isinstance(event, Note) and event.name == "work":
                rates += self._work(event)
            elif isinstance(event, End):
                end = end_of(event.data)
                self.exit_code, self.reason = end.exit, end.reason
        return rates

    def _work(self, event: Note) -> list[Rate]:
        told = view_of(WorkNote, event.data)
        now = told.mono_ns
        if now is None or told.operations is None:
            return []
        operations = float(told.operations)
        last, self._last = self._last, (now, operations)
        self.operations, self.unit = operations, told.unit or "operations"
        # The last event comes with the end, some milliseconds after the one before: too short a time for a rate.
        if last is None or now - last[0] < NS_PER_S // 2:
            return []
        return [Rate(now, (operations - last[1]) * NS_PER_S / (now - last[0]), f"{self.unit}/s")]


class RepeatMeter:
    """Reads a command under `rtprobe repeat`: the command's output comes on stderr, the stream of rounds on stdout.

    It counts rounds. Subclasses extend `line`, which gets every line.
    """

    def __init__(self) -> None:
        self.stream = WorkStream()
        self._lines = Lines()
        self.last_words: str | None = None
        self.asked_to_end = False

    def take(self, output: Output) -> list[Rate]:
        if output.fd == 1:
            rates = self.stream.feed(output.data)
            return rates if self.counts_rounds() else []
        return [rate for text in self._lines.feed(output.data) for rate in self._line(output.mono_ns, text)]

    def stopping(self) -> None:
        self.asked_to_end = True

    def result(self) -> LoadResult:
        for text in self._lines.finish():
            self._line(0, text)
        return self.summary()

    def counts_rounds(self) -> bool:
        """Whether rounds are the unit of work."""
        return True

    def line(self, mono_ns: int, text: str) -> list[Rate]:
        """One line the command wrote, at the time it arrived."""
        return []

    def summary(self) -> LoadResult:
        """The result, after the last line."""
        rounds = self.stream.operations
        return LoadResult(rounds or None, "rounds" if rounds else None, self.failure())

    def failure(self) -> str | None:
        """The reason if it ended too early: the command's own last words, if there are any."""
        if self.asked_to_end:
            return None
        if self.stream.reason is None and self.stream.operations is None:
            return self.last_words or "rtprobe repeat reported nothing"
        if self.stream.reason in ("child", "error") and self.stream.exit_code:
            return self.last_words or f"exit code {self.stream.exit_code}"
        return None

    def _line(self, mono_ns: int, text: str) -> list[Rate]:
        if text.strip():
            self.last_words = text.strip().removeprefix("rtprobe: ")
        return self.line(mono_ns, text)


def coarse(size: int) -> int:
    """The power of two at or below: the available memory is another in each run, and the load of one board is to be the same."""
    return 1 << (size.bit_length() - 1)

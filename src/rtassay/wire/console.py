"""Lines of rtprobe-lite (wire/CONSOLE.md) out of a console's text, which holds other text too and may be cut or damaged."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from rtassay.model.events import End, Event, Facts, HistogramPart, Parser, Spill
from rtassay.model.foreign import one_line
from rtassay.model.manifest import Damage
from rtassay.model.measures import WAKE_UP
from rtassay.model.units import NS_PER_S

MARK: Final = b"@RTL1 "
# A whole line, also behind a prefix of a logger, or behind a line that was torn off.
_LINE = re.compile(
    rb"(@RTL1 (\d{1,10}) ([A-Z]{1,10})((?: [a-z_]{1,20}=[!-~]{1,60}| \d{1,19}:\d{1,10})*)) \*([0-9a-f]{8})"
)
_HELD_BYTES = 4096  # no line is as long: what is longer without an end is other text
_WORD_CHARACTERS = 60
_LANES_MOST = 1024
_INTEGER = re.compile(r"-?\d{1,19}")


@dataclass(frozen=True, slots=True)
class Line:
    """One whole line: `fields` by name, and of a line `H` its bins as (lower_ns, count). `crc` is that of its text."""

    seq: int
    kind: str
    fields: dict[str, str]
    bins: tuple[tuple[int, int], ...]
    crc: int

    def number(self, key: str) -> int:
        """The integer of a field, 0 where there is none."""
        told = self.fields.get(key, "")
        return int(told) if _INTEGER.fullmatch(told) else 0

    def word(self, key: str) -> str | None:
        """The text of a field as it may be shown."""
        told = self.fields.get(key)
        return None if told is None else one_line(told, _WORD_CHARACTERS)


class Lines:
    """Bytes to lines, in order. `torn`: beginnings of lines whose rest is wrong; `other_bytes`: of text that is none of ours."""

    def __init__(self) -> None:
        self.torn = 0
        self.other_bytes = 0
        self._held = b""

    def feed(self, data: bytes) -> Iterator[Line]:
        """Lines that are complete with these bytes."""
        *whole, self._held = (self._held + data).split(b"\n")
        for text in whole:
            yield from self._lines(text)
        if len(self._held) > _HELD_BYTES:
            text, self._held = self._held, b""
            yield from self._lines(text)

    def finish(self) -> Iterator[Line]:
        """Lines of the text behind the last newline."""
        text, self._held = self._held, b""
        yield from self._lines(text)

    def _lines(self, text: bytes) -> Iterator[Line]:
        found = ours = 0
        for match in _LINE.finditer(text):
            whole, seq, kind, rest, crc = match.groups()
            if zlib.crc32(whole) == int(crc, 16):
                found += 1
                ours += len(match[0])
                yield _line(int(seq), kind.decode(), rest.decode().split(), int(crc, 16))
        self.torn += text.count(MARK) - found
        self.other_bytes += len(text.strip()) - ours


def _line(seq: int, kind: str, words: list[str], crc: int) -> Line:
    fields: dict[str, str] = {}
    bins: list[tuple[int, int]] = []
    for word in words:
        key, equals, value = word.partition("=")
        if equals:
            fields[key] = value
        else:
            lower, _, count = word.partition(":")
            bins.append((int(lower), int(count)))
    return Line(seq, kind, fields, tuple(bins), crc)


@dataclass(slots=True)
class _Lane:
    thread: Line
    account: Line | None = None
    range: Line | None = None
    clip: Line | None = None
    worst: list[Line] = field(default_factory=list)


class ConsoleParser(Parser):
    """The events of the first run in a console's text; `more_runs` counts those behind it. Damage never raises: it is counted.

    `beats`: the last BEAT of each lane, for progress. `ready`: how often the program said that it waits for a command. `errors`: what it
    refused, as (what, about). `repeated`: lines that came more than once, taken once. `left`: why the run's end can come no more, or empty.
    `other_bytes`: text of something else, which is no damage.
    """

    def __init__(self) -> None:
        self.beats: dict[int, Line] = {}
        self.errors: list[tuple[str, str]] = []
        self.ready = 0
        self.repeated = 0
        self.left = ""
        self.more_runs = 0
        self.ended = False
        self._lines = Lines()
        self._finished = False
        self._next_seq: int | None = None
        self._lost = 0
        self._told: dict[str, Line] = {}
        self._taken: set[tuple[int, int]] = set()
        self._lanes: dict[int, _Lane] = {}
        self._facts_given = False
        self._stopped = False

    @property
    def damage(self) -> Damage:
        """Torn lines are bad frames, missing ones lost frames."""
        return Damage(0, self._lines.torn, self._lost, 0, self._finished and not self.ended)

    @property
    def other_bytes(self) -> int:
        return self._lines.other_bytes

    @property
    def measured(self) -> bool:
        """Whether a run has begun."""
        return bool(self._lanes)

    def feed(self, data: bytes) -> list[Event]:
        """Events that these bytes complete."""
        return [event for line in self._lines.feed(data) for event in self._take(line)]

    def finish(self) -> list[Event]:
        """Events still held back at the end of the bytes."""
        events = [event for line in self._lines.finish() for event in self._take(line)]
        self._finished = True
        if self._lanes and not self.ended:
            events += [*self._facts(), *self._spills()]
        return events

    def _take(self, line: Line) -> Iterator[Event]:
        before = self._next_seq
        self._count_lost(line)
        if line.kind == "READY":
            self.ready += 1
            if self._lanes and not self.ended and not self.left:
                anew = before is not None and line.seq < before
                self.left = "the board began anew" if anew else "the line that ends the run was lost"
        elif line.kind == "ERROR":
            self.errors.append((line.word("what") or "", line.word("about") or ""))
        elif line.kind == "FACTS" and self._lanes:
            self.more_runs += 1  # `check` has no lanes, so it may stand before a run
        elif not self.ended and not self.more_runs and not self.left and not self._is_repeated(line):
            yield from self._take_run(line)

    def _is_repeated(self, line: Line) -> bool:
        """A line that came before: some lines echo or send twice. Counted twice, it would spoil the account."""
        if line.kind == "BEAT":
            return False
        if (known := (line.seq, line.crc)) in self._taken:
            self.repeated += 1
            return True
        self._taken.add(known)
        return False

    def _count_lost(self, line: Line) -> None:
        """A number that is no step of one further: lines were lost, or the program began anew."""
        if self._next_seq is not None and line.seq > self._next_seq:
            self._lost += line.seq - self._next_seq
        self._next_seq = line.seq + 1

    def _take_run(self, line: Line) -> Iterator[Event]:
        lane = line.number("lane")
        if line.kind in ("FACTS", "CLOCK", "PLAN", "LOAD"):
            self._told[line.kind] = line
        elif line.kind == "THREAD" and 0 <= lane < _LANES_MOST:
            self._lanes.setdefault(lane, _Lane(line))
        elif line.kind == "STOPPED":
            self._stopped = True
        elif line.kind == "BYE" and self._lanes:
            yield from self._close()
        elif lane in self._lanes:
            yield from self._take_lane(line, lane)

    def _take_lane(self, line: Line, lane: int) -> Iterator[Event]:
        known = self._lanes[lane]
        if line.kind == "BEAT":
            self.beats[lane] = line
        elif line.kind == "H":
            yield from self._facts()
            yield _part(line, lane)
        elif line.kind == "W":
            known.worst.append(line)
        elif line.kind == "LANE":
            known.account = line
        elif line.kind == "RANGE":
            known.range = line
        elif line.kind == "CLIP":
            known.clip = line

    def _close(self) -> Iterator[Event]:
        self.ended = True
        yield from self._facts()
        yield from self._spills()
        whole = all(known.account is not None and known.range is not None for known in self._lanes.values())
        if whole:
            complete = all(self._unserved(known) == 0 for known in self._lanes.values())
            lanes = [self._lane_end(index, known) for index, known in sorted(self._lanes.items())]
            reason = "signal" if self._stopped else "count" if complete else "error"
            yield End({"reason": reason, "exit": 0 if complete else 3, "lanes": lanes})

    def _plan(self, key: str) -> int:
        return self._told["PLAN"].number(key) if "PLAN" in self._told else 0

    def _unserved(self, known: _Lane) -> int:
        """Activations that were due and never ran: the lane gave up, or was never started."""
        account = known.account
        return 0 if account is None else account.number("due") - account.number("n") - account.number("missed")

    def _facts(self) -> Iterator[Event]:
        if self._facts_given:
            return
        self._facts_given = True
        told, clock, load = (self._told.get(kind) for kind in ("FACTS", "CLOCK", "LOAD"))
        console: dict[str, Any] = {"asked_priority": next(iter(self._lanes.values())).thread.number("asked")}
        if clock is not None:
            console["clock_hz"] = clock.number("hz")
        imported: dict[str, Any] = {"kind": "histogram"}
        if load is not None:
            imported["load"] = _load_words(load)
        yield Facts(
            {
                "probe": "rtprobe-lite",
                "version": "1",
                "command": "cyclic",
                "kernel": {
                    "release": told.word("os") if told else None,
                    "version": None,
                    "machine": told.word("board") if told else None,
                },
                "requested": {
                    "policy": told.word("policy") if told else None,
                    "interval_ns": self._plan("interval_ns") or None,
                    "count": self._plan("count") or None,
                    "deadline_ns": self._plan("deadline_ns") or None,
                },
                "interval_ns": self._plan("interval_ns") or None,
                "bin_width_ns": self._plan("bin_ns") or None,
                "clock": {
                    "id": clock.word("clock") if clock else None,
                    "getres_ns": None,
                    "step_ns": _step_ns(clock) if clock else None,
                    "read_cost_ns": clock.number("read_ns") if clock else None,
                    "sleep": clock.word("sleep") if clock else None,
                    "tick_hz": clock.number("tick_hz") if clock else None,
                },
                "lanes": [self._lane_facts(index, known.thread) for index, known in sorted(self._lanes.items())],
                "console": console,
                "import": imported,
            }
        )

    def _lane_facts(self, index: int, thread: Line) -> dict[str, Any]:
        cpu = thread.number("cpu")
        return {
            "lane": index,
            "name": str(index),
            "cpu": cpu,
            "measure": WAKE_UP,
            "interval_ns": self._plan("interval_ns") or None,
            "first_due_ns": thread.number("first_due_ns"),
            "obtained": self._obtained(thread),
        }

    def _obtained(self, thread: Line) -> dict[str, Any]:
        policy = self._told["FACTS"].word("policy") if "FACTS" in self._told else None
        fixed = thread.number("fixed") == 1
        return {
            "policy": policy if fixed else "other",
            "priority": thread.number("priority"),
            "affinity": [thread.number("cpu")],
            "reset_on_fork": None,
        }

    def _spills(self) -> Iterator[Event]:
        import numpy as np

        for index, known in sorted(self._lanes.items()):
            rows = sorted((line.number("k"), line.number("latency_ns"), line.number("missed")) for line in known.worst)
            if rows:
                k, latency_ns, missed = np.array(rows, dtype=np.int64).T
                yield Spill(index, 0, k, latency_ns, missed)

    def _lane_end(self, index: int, known: _Lane) -> dict[str, Any]:
        assert known.account is not None and known.range is not None
        due, interval_ns = known.account.number("due"), self._plan("interval_ns")
        first_due_ns = known.thread.number("first_due_ns")
        n = known.account.number("n")
        clip = None
        if known.clip is not None:
            clip = {"latency_ns": known.clip.number("latency_ns"), "missed": known.clip.number("missed")}
        return {
            "lane": index,
            "due": due,
            "first_due_ns": first_due_ns,
            "last_due_ns": first_due_ns + (due - 1) * interval_ns if due else None,
            "n": n,
            "missed": known.account.number("missed"),
            "dropped": 0,
            "truncated": max(0, self._unserved(known)),
            "exceedances": known.account.number("exceedances"),
            "min_ns": known.range.number("min_ns") if n else None,
            "max_ns": known.range.number("max_ns") if n else None,
            "sum_ns": known.range.number("sum_ns"),
            "clip": clip,
            "state": "ended",
            "obtained": self._obtained(known.thread),
        }


def _step_ns(clock: Line) -> int | None:
    """Two readings of a slow processor are further apart than two steps of its counter: the counter's frequency tells better."""
    hz = clock.number("hz")
    return -(-NS_PER_S // hz) if hz > 0 else clock.number("step_ns") or None


def _load_words(load: Line) -> str:
    busy_us, every_us = (load.number(key) / 1000 for key in ("load_ns", "load_every_ns"))
    name = load.word("load")
    return f"{name}" if name in ("below", "none") else f"{name}:{busy_us:g}us/{every_us:g}us"


def _part(line: Line, lane: int) -> HistogramPart:
    import numpy as np

    lower_ns, counts = (
        (np.array(column, dtype=np.int64) for column in zip(*line.bins, strict=True)) if line.bins else ([], [])
    )
    width_ns = np.full(len(line.bins), max(1, line.number("width_ns")), dtype=np.int64)
    return HistogramPart(lane, lower_ns, width_ns, counts)

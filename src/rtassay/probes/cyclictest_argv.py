"""What a command line of cyclictest asked for. It comes from its output (JSON's `cmdline:`, a line of a console log)."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from rtassay.model.units import NS_PER_S, NS_PER_US

DEFAULT_INTERVAL_US = 1000
DEFAULT_DISTANCE_US = 500
_MOST = 2**53
_REQUIRED = "bcdDFhHilopX"
_OPTIONAL = "aAt"
_LONG = {
    "interval": "i", "histogram": "h", "histofall": "H", "loops": "l", "duration": "D", "priority": "p", "prio": "p",
    "affinity": "a", "threads": "t", "distance": "d", "nsecs": "N", "smp": "S", "verbose": "v", "oscope": "o",
    "breaktrace": "b", "quiet": "q", "mlockall": "m", "aligned": "A", "clock": "c", "relative": "r",
    "posix_timers": "x", "nanosleep": "n",
}  # fmt: skip
_WITH_VALUE = (
    "policy",
    "latency",
    "histfile",
    "json",
    "mainaffinity",
    "spike",
    "spike-nodes",
    "fifo",
    "default-system",
)
_DURATION = re.compile(r"(\d{1,9})([smhd]?)")
_CLOCKS = {"0": "monotonic", "1": "realtime"}
_FACTOR = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_LINE = re.compile(r"(?:^|[\s/#$'\"])cyclictest((?:\s+-.*)?)$")


@dataclass(frozen=True, slots=True)
class CyclictestArgv:
    """What a line asked for; None if it does not say. `same_interval`: -S, -h, -H or -d0 gives all threads one interval.

    `sleep`: of -x and -n; without them it depends on the version. `clock`: of -c.

    `pinned`: threads are spread over `affinity` (None: all CPUs), one CPU each; `every_cpu`: as many threads as there are CPUs.
    """

    argv: tuple[str, ...]
    interval_us: int = DEFAULT_INTERVAL_US
    distance_us: int = DEFAULT_DISTANCE_US
    same_interval: bool = False
    nanoseconds: bool = False
    verbose: bool = False
    histogram: int | None = None
    sum_column: bool = False
    loops: int | None = None
    duration_s: int | None = None
    priority: int | None = None
    policy: str | None = None
    threads: int | None = None
    reduction: int = 1
    break_us: int | None = None
    mlock: bool = False
    pinned: bool = False
    affinity: str | None = None
    every_cpu: bool = False
    sleep: str | None = None
    clock: str = "monotonic"

    def interval_ns(self, lane: int) -> int:
        """Interval of one thread. Without -S, -h or -d0 each thread adds the distance to the interval of the one before."""
        return (self.interval_us + (0 if self.same_interval else lane * self.distance_us)) * NS_PER_US

    def requested(self) -> dict[str, Any]:
        """As FACTS.requested (STREAM.md)."""
        return {
            "policy": self.policy or ("fifo" if self.priority else "other"),
            "priority": self.priority or 0,
            "interval_ns": self.interval_us * NS_PER_US,
            "duration_ns": None if self.duration_s is None else self.duration_s * NS_PER_S,
            "count": self.loops,
            "mlock": self.mlock,
            "break_above_ns": None if self.break_us is None else self.break_us * NS_PER_US,
            "sleep": self.sleep,
            "clock": self.clock,
        }


def find_command(text: str) -> CyclictestArgv | None:
    """The command line in a line of a log, or None: `root@pi:~# cyclictest -S -p90 -h400`."""
    found = _LINE.search(text.strip())
    return parse_command("cyclictest" + found[1]) if found else None


def parse_command(text: str) -> CyclictestArgv | None:
    """What a command line asks for; None if it is not one of cyclictest. Unknown options are ignored."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    names = [PurePosixPath(word).name for word in words]
    if "cyclictest" not in names:
        return None
    rest = words[names.index("cyclictest") + 1 :]
    found = CyclictestArgv(argv=tuple(words))
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name in _WITH_VALUE:
                value = value if equals else rest.pop(0) if rest and name != "default-system" else ""
                found = replace(found, policy=value) if name == "policy" else found
            elif name in _LONG:
                found = _option(found, _LONG[name], value if equals else None, rest)
        elif word.startswith("-") and len(word) > 1:
            found = _cluster(found, word[1:], rest)
    return found


def _cluster(found: CyclictestArgv, letters: str, rest: list[str]) -> CyclictestArgv:
    """The letters of `-Sp90`, as getopt reads them."""
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter in _REQUIRED + _OPTIONAL:
            return _option(found, letter, letters or None, rest)
        found = _option(found, letter, None, rest)
    return found


def _option(found: CyclictestArgv, letter: str, value: str | None, rest: list[str]) -> CyclictestArgv:
    if letter in _REQUIRED and value is None:
        value = rest.pop(0) if rest else None
    elif letter in _OPTIONAL and value is None and rest and re.match(r"[0-9!]", rest[0]):
        value = rest.pop(0)
    match letter:
        case "S":
            return replace(found, same_interval=True, pinned=True, every_cpu=True)
        case "a":
            return replace(found, pinned=True, affinity=value)
        case "t" if value is None:
            return replace(found, every_cpu=True)
        case "N":
            return replace(found, nanoseconds=True)
        case "x":
            return replace(found, sleep="signal")
        case "n":
            return replace(found, sleep="clock_nanosleep")
        case "c" if value in _CLOCKS:
            return replace(found, clock=_CLOCKS[value])
        case "v":
            return replace(found, verbose=True)
        case "m":
            return replace(found, mlock=True)
        case "D":
            return replace(found, duration_s=_seconds(value))
    number = _number(value)
    if number is None:
        return found
    match letter:
        case "i" if number > 0:
            return replace(found, interval_us=number)
        case "d":
            return replace(found, distance_us=number)
        case "h" | "H" if number > 0:
            return replace(found, histogram=number, sum_column=letter == "H", same_interval=True)
        case "l" if number > 0:
            return replace(found, loops=number)
        case "p":
            return replace(found, priority=number)
        case "t" if number > 0:
            return replace(found, threads=number)
        case "o" if number > 0:
            return replace(found, reduction=number)
        case "b":
            return replace(found, break_us=number)
    return found


def _number(value: str | None) -> int | None:
    if value is None or not re.fullmatch(r"[0-9]{1,16}", value):
        return None
    return int(value) if int(value) < _MOST // NS_PER_US else None


def _seconds(value: str | None) -> int | None:
    found = _DURATION.fullmatch(value or "")
    return int(found[1]) * _FACTOR[found[2]] if found else None

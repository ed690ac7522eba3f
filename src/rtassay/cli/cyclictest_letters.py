"""A cyclictest command line as options of `rtassay run` (the other way round: `model.cyclictest`).

Options keep cyclictest's meaning and units (microseconds, seconds for -D). What needs nothing here is dropped and said; what has no
equal is refused with the reason: a pasted line must never silently measure something else.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from rtassay.model.errors import UsageError
from rtassay.model.settings import BY_NAME

NONE, REQUIRED, OPTIONAL = "none", "required", "optional"


@dataclass(frozen=True, slots=True)
class Letter:
    """One option of cyclictest: whether it takes a value, and our option for it.

    Without an option of ours: `dropped` is why it is not needed; with neither, it needs nothing and nothing is said.
    values: our words for its values, where it has no other values.
    """

    takes: str
    option: str | None = None
    dropped: str | None = None
    values: Mapping[str, str] | None = None


_LETTERS: dict[str, Letter] = {
    "p": Letter(REQUIRED, "--priority"),
    "i": Letter(REQUIRED, "--interval"),
    "l": Letter(REQUIRED, "--count"),
    "D": Letter(REQUIRED, "--duration"),
    "a": Letter(OPTIONAL, "--cpus"),
    "t": Letter(OPTIONAL, "--lanes"),
    "m": Letter(NONE),
    "S": Letter(NONE),
    "q": Letter(NONE, "--quiet"),
    "h": Letter(REQUIRED, "--histogram"),
    "H": Letter(REQUIRED, "--histogram"),
    "b": Letter(REQUIRED, "--break-above"),
    "N": Letter(NONE),
    "d": Letter(REQUIRED, "--distance"),
    "A": Letter(OPTIONAL, "--aligned"),
    "y": Letter(REQUIRED, "--policy"),
    "c": Letter(REQUIRED, "--clock", values={"0": "monotonic", "1": "realtime"}),
    "x": Letter(NONE, "--sleep=signal"),
    "n": Letter(NONE, dropped="clock_nanosleep is how a lane sleeps unless --sleep says otherwise"),
    "R": Letter(NONE, dropped="the clock's resolution is always measured"),
    "u": Letter(NONE, dropped="output is never buffered here"),
    "M": Letter(NONE, dropped="progress comes about once a second"),
}
_LONG = {
    "priority": "p", "prio": "p", "interval": "i", "loops": "l", "duration": "D", "affinity": "a", "threads": "t", "mlockall": "m",
    "smp": "S", "quiet": "q", "histogram": "h", "histofall": "H", "breaktrace": "b", "nsecs": "N", "distance": "d", "aligned": "A",
    "policy": "y", "nanosleep": "n", "resolution": "R", "unbuffered": "u", "refresh_on_max": "M", "verbose": "v", "relative": "r",
    "system": "s", "posix_timers": "x", "clock": "c", "fifo": "F", "oscope": "o", "numa": "U", "priospread": "Q",
}  # fmt: skip
_REFUSED = {
    "v": "every sample is kept, in samples.parquet, and none is printed: leave it out",
    "r": "relative sleeps hide lateness: leave it out",
    "s": "sleeps until an absolute time are measured, not nanosleep and setitimer: leave it out, or see --sleep",
    "F": "`rtassay status` shows a run from elsewhere: leave it out",
    "o": "every sample is kept: leave it out",
    "U": "memory is always local to a lane's CPU: leave it out",
    "Q": "all lanes have one priority, else they could not be compared: leave it out",
}
# Long options without a letter: the words of ours.
_AS_OURS = {
    "default-system": ["--dma-latency", "off"],
    "laptop": ["--dma-latency", "off"],
}
_WITH_VALUE = {"latency": "--dma-latency", "histfile": "--histfile"}
_LONG_REFUSED = {
    "json": "cyclictest's own JSON is not written: use --json for an object on stdout, or --report FILE.json",
    "secaligned": "use --aligned: all lanes are due at the same moment",
    "mainaffinity": "the writer stays off the measured CPUs where there is another: leave it out",
    "deepest-idle-state": "use --dma-latency US, which limits idle states on every kernel",
    "spike": "every latency above the deadline is kept: use --deadline",
    "spike-nodes": "every latency above the deadline is kept: use --deadline",
    "smi": "SMIs are counted by the check SMI-FIRMWARE where the board can: leave it out",
    "tracemark": "--break-above keeps the trace of the hit: leave it out",
}


@dataclass(slots=True)
class Translated:
    """Words for click, and what else the line says: whether it was a line of cyclictest, -N, and options that were dropped, with why."""

    words: list[str] = field(default_factory=list)
    pasted: bool = False
    nanoseconds: bool = False
    dropped: list[str] = field(default_factory=list)


def is_cyclictest_line(args: Sequence[str]) -> bool:
    """Whether the arguments are a pasted command line that begins with (sudo, chrt-free) cyclictest."""
    words = [PurePosixPath(a).name for a in args[:2]]
    return bool(words) and (words[0] == "cyclictest" or words == ["sudo", "cyclictest"])


def translate(args: Sequence[str], takes_value: Container[str] = ()) -> Translated:
    """Arguments of `rtassay run`, with cyclictest's options as ours. Raises UsageError that names the option it cannot take.

    `takes_value`: our long options that need a value: the word after one of them is always its value.
    """
    rest = list(args)
    told = Translated(pasted=is_cyclictest_line(rest))
    if told.pasted:
        rest = rest[2 if PurePosixPath(rest[0]).name == "sudo" else 1 :]
    while rest:
        word = rest.pop(0)
        if word == "--":
            told.words += [word, *rest]
            break
        if word.startswith("--"):
            words = _long(word, rest, told) if told.pasted else None
            told.words += _ours(word, rest, takes_value) if words is None else words
        elif len(word) > 1 and word[0] == "-" and not re.fullmatch(r"-\d.*", word):
            told.words += _cluster(word, rest, told)
        else:
            told.words.append(word)
    return told


def _ours(word: str, rest: list[str], takes_value: Container[str]) -> list[str]:
    """One of our long options with its value unchanged: a reason may begin with `-p`."""
    return [word, rest.pop(0)] if word in takes_value and rest else [word]


def _long(word: str, rest: list[str], told: Translated) -> list[str] | None:
    """A long option of cyclictest as words of ours; None for an option that is ours."""
    name, equals, text = word[2:].partition("=")
    value = text if equals else None
    if name == "json" and value is None and not (rest and rest[0].endswith(".json")):
        return None
    if name in _LONG_REFUSED:
        raise UsageError(f"--{name} of the cyclictest line is not taken", why=_LONG_REFUSED[name])
    if name in _AS_OURS:
        return _AS_OURS[name]
    if name in _WITH_VALUE:
        return [_WITH_VALUE[name], value if value is not None else rest.pop(0) if rest else ""]
    return _one(_LONG[name], f"--{name}", value, rest, told) if name in _LONG else None


def _cluster(word: str, rest: list[str], told: Translated) -> list[str]:
    """`-mSp90` letter by letter, as getopt reads it."""
    if word == "-o":  # ours: the directory or file to write to
        return ["--output", *([rest.pop(0)] if rest else [])]
    out: list[str] = []
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter == "h" and not letters and not (rest and rest[0][:1].isdigit()):
            return [*out, "--help"]  # as of every command; with a number it is cyclictest's histogram
        if letter in _LETTERS and _LETTERS[letter].takes != NONE:
            return out + _one(letter, f"-{letter}", letters or None, rest, told)
        out += _one(letter, f"-{letter} of '{word}'", None, rest, told)
    return out


def _one(letter: str, called: str, value: str | None, rest: list[str], told: Translated) -> list[str]:
    if letter not in _LETTERS:
        raise UsageError(f"{called} is not known here", why=_REFUSED.get(letter), hint="see rtassay run --help")
    known = _LETTERS[letter]
    if known.takes == REQUIRED and value is None:
        if not rest:
            raise UsageError(f"{called} needs a value")
        value = rest.pop(0)
    if known.takes == OPTIONAL and value is None and rest and re.match(r"[0-9!]", rest[0]):
        value = rest.pop(0)
    if known.dropped is not None:
        told.dropped.append(f"{called.partition(' of ')[0]}: {known.dropped}")
    told.nanoseconds |= letter == "N"
    if known.option is None or (letter in "at" and value is None) or (letter == "l" and value == "0"):
        return []
    if value is None or letter == "A":
        return [known.option]
    if known.values is not None:
        if value not in known.values:
            choices = ", ".join(f"{theirs} ({ours})" for theirs, ours in known.values.items())
            raise UsageError(f"{called} has no value '{value}'", why=f"its values are {choices}")
        return [known.option, known.values[value]]
    setting = BY_NAME.get(known.option.removeprefix("--"))
    unit = setting.bare if setting is not None and re.fullmatch(r"\d+(\.\d+)?", value) else None
    return [known.option, value + (unit or "")]

"""A cyclictest command line as options of `rtassay run` (the other way round: `model.cyclictest`).

Letters keep cyclictest's meaning and units (microseconds, seconds for -D). A letter without the same meaning here is refused:
a pasted line must never silently measure something else.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import PurePosixPath

from rtassay.model.errors import UsageError

# letter -> (argument: none, required or optional; our option or None when it needs nothing)
_LETTERS: dict[str, tuple[str, str | None]] = {
    "p": ("required", "--priority"),
    "i": ("required", "--interval"),
    "l": ("required", "--count"),
    "D": ("required", "--duration"),
    "a": ("optional", "--cpus"),
    "t": ("optional", "--lanes"),
    "m": ("none", None),
    "S": ("none", None),
    "q": ("none", "--quiet"),
    "h": ("required", "--histogram"),
    "b": ("required", "--break-above"),
    "N": ("none", None),
    "d": ("required", "--distance"),
    "A": ("optional", "--aligned"),
}
_LONG = {
    "priority": "p", "prio": "p", "interval": "i", "loops": "l", "duration": "D", "affinity": "a", "threads": "t",
    "mlockall": "m", "smp": "S", "quiet": "q", "histogram": "h", "breaktrace": "b", "nsecs": "N", "distance": "d", "aligned": "A",
}  # fmt: skip
_REFUSED = {
    "n": "today's cyclictest rejects it too (clock_nanosleep is the only way): leave it out",
    "v": "every sample is kept anyway, in samples.parquet: leave it out",
    "u": "output is never buffered here: leave it out",
    "r": "relative sleeps hide lateness: leave it out",
    "R": "the clock's resolution is always measured: leave it out",
    "M": "progress is about once a second here: leave it out",
    "s": "only clock_nanosleep with absolute times is measured: leave it out",
    "x": "only clock_nanosleep with absolute times is measured: leave it out",
    "c": "only CLOCK_MONOTONIC is measured: leave it out",
    "H": "use -h; the sum over CPUs is always shown",
    "y": "use --policy fifo, rr or other",
    "F": "use `rtassay status`",
    "o": "every sample is kept: leave it out",
    "U": "only -a is known",
}


def is_cyclictest_line(args: Sequence[str]) -> bool:
    """Whether the arguments are a pasted command line that begins with (sudo, chrt-free) cyclictest."""
    words = [PurePosixPath(a).name for a in args[:2]]
    return bool(words) and (words[0] == "cyclictest" or words == ["sudo", "cyclictest"])


def translate(args: Sequence[str], takes_value: Container[str] = ()) -> list[str]:
    """Arguments of `rtassay run`, with cyclictest's letters as our long options. Raises UsageError that names the letter.

    `takes_value`: our long options that need a value: the word after one of them is always its value.
    """
    rest = list(args)
    pasted = is_cyclictest_line(rest)
    if pasted:
        rest = rest[2 if PurePosixPath(rest[0]).name == "sudo" else 1 :]
    out: list[str] = []
    while rest:
        word = rest.pop(0)
        if word == "--":
            return [*out, word, *rest]
        if pasted and word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if name == "policy":
                out += ["--policy", value if equals else rest.pop(0) if rest else ""]
                continue
            if name in _LONG:
                out += _one(_LONG[name], value if equals else None, rest)
            else:  # our own option, or an error that click reports
                out += _ours(word, rest, takes_value)
        elif word.startswith("--"):
            out += _ours(word, rest, takes_value)
        elif len(word) > 1 and word[0] == "-" and not re.fullmatch(r"-\d.*", word):
            out += _cluster(word, rest)
        else:
            out.append(word)
    return out


def _ours(word: str, rest: list[str], takes_value: Container[str]) -> list[str]:
    """One of our long options with its value unchanged: a reason may begin with `-p`."""
    return [word, rest.pop(0)] if word in takes_value and rest else [word]


def _cluster(word: str, rest: list[str]) -> list[str]:
    """`-mSp90` letter by letter, as getopt reads it."""
    if word == "-o":  # ours: the directory or file to write to
        return ["--output", *([rest.pop(0)] if rest else [])]
    out: list[str] = []
    letters = word[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        if letter not in _LETTERS:
            raise UsageError(
                f"-{letter} of '{word}' is not known here", why=_REFUSED.get(letter), hint="see rtassay run --help"
            )
        if _LETTERS[letter][0] == "none":
            out += _one(letter, None, rest)
        else:
            out += _one(letter, letters or None, rest)
            letters = ""
    return out


def _one(letter: str, value: str | None, rest: list[str]) -> list[str]:
    takes, option = _LETTERS[letter]
    if takes == "required" and value is None:
        if not rest:
            raise UsageError(f"-{letter} needs a value")
        value = rest.pop(0)
    if takes == "optional" and value is None and rest and re.match(r"[0-9!]", rest[0]):
        value = rest.pop(0)
    if option is None or (letter == "a" and value is None) or (letter == "t" and value is None):
        return []
    if letter == "A":
        return ["--aligned"]
    if letter == "l" and value == "0":
        return []
    return [option] if value is None else [option, value]

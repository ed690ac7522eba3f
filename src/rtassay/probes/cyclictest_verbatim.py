"""A command line of cyclictest that is run exactly as given (`Plan.cyclictest_line`): what it asks for, shortened, and as argv.

It repeats reference experiments as their authors ran them, also with several threads on one CPU and unequal intervals. This module
refuses only a line that cannot run; the checks name the weaknesses of the line afterwards.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from fractions import Fraction
from pathlib import PurePosixPath
from typing import Any

from rtassay.model.errors import UsageError
from rtassay.model.events import Parser
from rtassay.model.manifest import Plan
from rtassay.model.units import NS_PER_US, parse_cpu_list
from rtassay.probes.cyclictest_argv import CyclictestArgv, parse_command
from rtassay.probes.cyclictest_text import CyclictestText

_REQUIRED = "bcdDFhHilopX"
_OPTIONAL = "aAt"
_FLAGS = "mMNqrRsSuvx"
# Options that today's rt-tests no longer have, and what replaces them.
_GONE = {"n": "-n is dropped: today's cyclictest rejects it and always uses clock_nanosleep"}
_ELSEWHERE = ("--histfile", "--json", "--fifo", "-F")
_FEWEST_LOOPS = 100
_LONG_VALUE = {"--loops": "-l", "--duration": "-D", "--affinity": "-a", "--threads": "-t"}
Token = tuple[str, str | None]


def of_line(plan: Plan, line: str, scale: Fraction = Fraction(1)) -> tuple[Plan, tuple[str, ...]]:
    """`plan` with all that the line says, and the dropped options in words. Raises UsageError for a line that cannot run."""
    tokens, dropped = _tokens(_words(line))
    for key, _ in tokens:
        if key in _ELSEWHERE:
            raise UsageError(f"{key} of '{line}' writes to a file of the board", hint="leave it out: all is recorded")
    tokens = [_scaled(token, scale) for token in tokens]
    if not any(key == "-q" for key, _ in tokens):
        tokens.append(("-q", None))
    clean = shlex.join(["cyclictest", *_argv(tokens)])
    asked = _read(clean)
    if not asked.loops and not asked.duration_s:
        raise UsageError(f"'{line}' has no end", hint="add -l LOOPS or -D TIME")
    wanted = asked.requested()
    affinity = None
    if asked.affinity is not None:
        try:
            affinity = parse_cpu_list(asked.affinity)
        except UsageError as error:
            raise UsageError(f"-a {asked.affinity} of '{line}' is not understood", str(error), error.hint) from error
    return (
        replace(
            plan,
            cyclictest_line=clean,
            interval_ns=asked.interval_ns(0),
            duration_ns=wanted["duration_ns"],
            count=asked.loops,
            policy=wanted["policy"],
            priority=wanted["priority"] or None,
            cpus=affinity,
            mlock=asked.mlock,
            aligned=False,
            break_above_ns=wanted["break_above_ns"],
            keep_samples=asked.verbose,
            sleep=asked.sleep if asked.sleep == "signal" else plan.sleep,
            clock=plan.clock if asked.clock == "monotonic" else asked.clock,
        ),
        tuple(dropped),
    )


def doubts(line: str) -> tuple[tuple[str, str], ...]:
    """(id of a check, words) for each weakness of this line on any board."""
    asked = _read(line)
    found = []
    many = asked.every_cpu or (asked.threads or 1) > 1
    if many and not asked.pinned:
        found.append(("NOT-PINNED", "threads may move between CPUs: no answer for a single CPU"))
    if asked.threads and asked.threads > 8 and asked.pinned:
        found.append(
            (
                "SELF-INTERFERENCE",
                f"{asked.threads} threads: on fewer CPUs they wait for each other, which is then measured",
            )
        )
    if many and not asked.same_interval and asked.histogram is None and asked.distance_us:
        found.append(("INTERVAL-SPREAD", f"every thread sleeps {asked.distance_us} us longer than the one before it"))
        if asked.loops:
            found.append(("LOOPS-FIRST-WINS", "-l ends all threads with the first one: the others have fewer samples"))
    if asked.verbose:
        found.append(("VERBOSE-RING", "samples of -v pass a ring of 16,384 places that an ordinary thread empties"))
    if asked.histogram is not None and not asked.nanoseconds:
        found.append(
            ("HIST-TRUNCATED", f"the histogram ends at {asked.histogram} us: beyond it only the maximum is known")
        )
    return tuple(found)


def board_argv(line: str, program: str) -> list[str]:
    """The line as argv, with the path of the program on the board."""
    return [program, *shlex.split(line)[1:]]


def parser(plan: Plan) -> Parser:
    """A parser of what the line prints: samples in order with -v, else a histogram, else the summary of each thread."""
    assert plan.cyclictest_line is not None
    asked = _read(plan.cyclictest_line)
    facts = {
        "requested": {**asked.requested(), "deadline_ns": plan.deadline_ns, "cpus": list(plan.cpus or ())},
        "interval_ns": asked.interval_ns(0),
        "lanes": lanes(asked, plan.cpus or ()),
        "argv": list(asked.argv),
    }
    scale_ns = 1 if asked.nanoseconds else NS_PER_US
    from rtassay.probes.cyclictest_rows import CyclictestRows, LiveSummary

    if asked.verbose:
        return CyclictestRows(facts, scale_ns)
    if asked.histogram is not None:
        return CyclictestText(facts, scale_ns=scale_ns)
    return LiveSummary(facts, scale_ns)


def lanes(asked: CyclictestArgv, cpus: tuple[int, ...]) -> list[dict[str, Any]]:
    """The threads: thread i runs on the i-th CPU, in turn; cpu is None without pinning."""
    count = asked.threads or (len(cpus) if asked.every_cpu and cpus else 1)
    pinned = asked.pinned and cpus
    return [
        {
            "lane": index,
            "name": str(index),
            "cpu": cpus[index % len(cpus)] if pinned else None,
            "interval_ns": asked.interval_ns(index),
        }
        for index in range(count)
    ]


def _words(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"'{line}' cannot be read", str(error)) from error
    names = [PurePosixPath(word).name for word in words]
    if names[:1] == ["sudo"]:
        words, names = words[1:], names[1:]
    if names[:1] != ["cyclictest"]:
        raise UsageError(f"'{line}' is not a line of cyclictest", hint="it begins with cyclictest")
    return words[1:]


def _read(line: str) -> CyclictestArgv:
    asked = parse_command(line)
    assert asked is not None
    return asked


def _tokens(words: list[str]) -> tuple[list[Token], list[str]]:
    """(-l, 1000), (-m, None) ... as getopt reads them, and the dropped options."""
    rest, tokens, dropped = list(words), [], []
    while rest:
        word = rest.pop(0)
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            needs = name in (
                "--policy",
                "--latency",
                "--mainaffinity",
                "--loops",
                "--duration",
                "--priority",
                "--interval",
            )
            if needs and not equals:
                value, equals = (rest.pop(0) if rest else ""), "="
            tokens.append((_LONG_VALUE.get(name, name), value if equals else None))
        elif re.fullmatch(r"-\w.*", word):
            letters = word[1:]
            while letters:
                letter, letters = letters[0], letters[1:]
                if letter in _GONE:
                    dropped.append(_GONE[letter])
                elif letter in _FLAGS:
                    tokens.append((f"-{letter}", None))
                elif letter in _REQUIRED or letter in _OPTIONAL:
                    value = letters
                    letters = ""
                    if not value and rest and (letter in _REQUIRED or re.match(r"[0-9!]", rest[0])):
                        value = rest.pop(0)
                    if letter in _REQUIRED and not value:
                        raise UsageError(f"-{letter} of cyclictest needs a value")
                    tokens.append((f"-{letter}", value or None))
                else:
                    raise UsageError(f"cyclictest has no option -{letter}")
        else:
            raise UsageError(f"'{word}' is no option of cyclictest")
    return tokens, dropped


def _scaled(token: Token, scale: Fraction) -> Token:
    key, value = token
    if scale >= 1 or value is None or key not in ("-l", "-D"):
        return token
    if key == "-l":
        loops = int(value) if value.isdigit() else 0
        return (key, str(min(loops, max(_FEWEST_LOOPS, int(loops * scale))))) if loops else token
    asked = _read(f"cyclictest -D{value}").duration_s
    return (key, f"{max(1, int(asked * scale))}") if asked else token


def _argv(tokens: list[Token]) -> list[str]:
    words = []
    for key, value in tokens:
        if value is None:
            words.append(key)
        else:
            words.append(f"{key}={value}" if key.startswith("--") else f"{key}{value}")
    return words

"""hackbench of rt-tests: a fixed number of messages between many tasks. What it tells, `Time:`, is the measure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rtassay.model.errors import UsageError
from rtassay.works.base import Done, Part, ns_of, split

_STANDARD = ("-g", "2", "-l", "200")
_TIME = re.compile(r"^Time: (?P<seconds>\d+\.\d+)$", re.MULTILINE)
_GROUPS, _LOOPS, _FDS = 10, 100, 20


class HackbenchWork:
    """`hackbench -g 2 -l 200`: two groups of 20 senders and 20 receivers, 200 messages from each sender to each receiver, so 160,000 messages,
    the same on a board with any number of CPUs. `hackbench:ARGS` gives it other arguments."""

    name = "hackbench"
    summary = "hackbench (rt-tests), 160,000 messages among 80 tasks; hackbench:ARGS for your own"
    program: str | None = "hackbench"

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        words = _words(argument)
        groups, loops, fds = (
            _number(words, *names, default=least)
            for *names, least in (("-g", "--groups", _GROUPS), ("-l", "--loops", _LOOPS), ("-f", "--fds", _FDS))
        )
        return (Part("", groups * fds * fds * loops, "messages"),)

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        return ("hackbench", *_words(argument))

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        found = _TIME.search(text)
        return () if found is None else (Done("", ns_of(found["seconds"])),)


def _words(argument: str | None) -> Sequence[str]:
    return _STANDARD if argument is None else split("hackbench", argument)


def _number(words: Sequence[str], short: str, long: str, *, default: int) -> int:
    """The value of an option in any spelling; the last one counts, as for hackbench."""
    value = default
    for at, word in enumerate(words):
        text = None
        if word in (short, long):
            text = words[at + 1] if at + 1 < len(words) else ""
        elif word.startswith(f"{long}="):
            text = word.partition("=")[2]
        elif word.startswith(short) and not word.startswith("--"):
            text = word[2:]
        if text is None:
            continue
        if not text.isdigit() or not int(text):
            raise UsageError(f"hackbench {short} '{text}' is no number above 0", hint="hackbench:'-g 2 -l 200'")
        value = int(text)
    return value

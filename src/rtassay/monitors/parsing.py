"""What parsers of monitors share: numbers out of text that may be anything, and counters turned into rates."""

from __future__ import annotations

import re

NS_PER_S = 10**9
# Anything a kernel counts fits 64 bits; a longer row of digits is no number but damage, and would not fit a float.
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_WRAP = 2**32
# No counter of events rises faster: what would have to, did not wrap but was set back.
_FASTEST_PER_S = 10**7


def whole(text: str | bytes) -> int | None:
    """The integer that the text is, spaces around it allowed; None for anything else."""
    word = (text.decode(errors="replace") if isinstance(text, bytes) else text).strip()
    return int(word) if _WHOLE.fullmatch(word) else None


def wholes(words: list[str]) -> list[int] | None:
    """All words as integers, or None if one is not."""
    numbers = [int(word) for word in words if _WHOLE.fullmatch(word)]
    return numbers if len(numbers) == len(words) else None


def whole_lines(content: bytes) -> list[str]:
    """Lines that came to their end: what is behind the last newline was cut off somewhere."""
    return content.decode(errors="replace").split("\n")[:-1]


class Counters:
    """Counts that only rise, as what they rose by since the last reading. One that ran backwards starts anew, unless it went past the
    end of 32 bits: interrupts and softirqs do on every kernel, and on a 32-bit one what /proc/vmstat counts does as well."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}
        self._moved: set[str] = set()

    def risen(self, key: str, mono_ns: int, count: int) -> tuple[int, int] | None:
        """(by how much, in how many ns); None where there is nothing to compare with."""
        last = self._last.get(key)
        self._last[key] = (mono_ns, count)
        if last is None or mono_ns <= last[0]:
            return None
        risen, within = count - last[1], mono_ns - last[0]
        if risen < 0 <= risen + _WRAP <= within * _FASTEST_PER_S // NS_PER_S and last[1] < _WRAP:
            risen += _WRAP
        return None if risen < 0 else (risen, within)

    def per_second(self, key: str, mono_ns: int, count: int) -> float | None:
        found = self.risen(key, mono_ns, count)
        return None if found is None else found[0] * NS_PER_S / found[1]

    def lively(self, key: str, mono_ns: int, count: int) -> float | None:
        """As `per_second`, but nothing until the count has moved for the first time: most of hundreds of counters never do."""
        rate = self.per_second(key, mono_ns, count)
        if rate:
            self._moved.add(key)
        return rate if key in self._moved else None

    def forget(self, key: str) -> None:
        self._last.pop(key, None)
        self._moved.discard(key)

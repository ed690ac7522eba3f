"""Shared parts of the parsers: numbers from any text, and rates from counters."""

from __future__ import annotations

import re

NS_PER_S = 10**9
# A kernel counter fits 64 bits; a longer row of digits is damage, and would not fit a float.
_WHOLE = re.compile(r"-?[0-9]{1,20}")
_WRAP = 2**32
# No counter of events rises faster: if a wrap would need a higher rate, the counter was reset.
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
    """The complete lines: text after the last newline was cut off."""
    return content.decode(errors="replace").split("\n")[:-1]


class Counters:
    """The increase of counters since the last reading. A counter that ran backwards starts anew, unless it went past the
    end of 32 bits: interrupts and softirqs do on every kernel, and the counters of /proc/vmstat on a 32-bit one."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}
        self._moved: set[str] = set()

    def risen(self, key: str, mono_ns: int, count: int) -> tuple[int, int] | None:
        """(increase, time in ns); None if there is no earlier reading."""
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
        """As `per_second`, but None until the count has changed for the first time: most of hundreds of counters never do."""
        rate = self.per_second(key, mono_ns, count)
        if rate:
            self._moved.add(key)
        return rate if key in self._moved else None

    def forget(self, key: str) -> None:
        self._last.pop(key, None)
        self._moved.discard(key)

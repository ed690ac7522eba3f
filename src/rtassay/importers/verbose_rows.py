"""Parses rows `thread:cycle:value` of cyclictest -v, many at once: nearly as fast as counting them, and every byte is checked.

cyclictest prints a row as `%8d:%8d:%8d`, so nearly all rows have 27 bytes at fixed places. Four words of eight bytes cover a row:
the word at 26 has its newline and the thread of the next row, the word at 5 the end of the thread and the upper half of the cycle,
the words at 13 and 18 the rest. The lower halves of cycle and value become two numbers in one word; bit patterns check that they
are spaces and then digits. Long runs of rows share the thread and the upper half of the cycle: we parse these once per run.

`_split` parses rows of other widths (nine digits, a carriage return, a minus); it finds the separators first. Both stop before
the first row that they do not understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ROW_BYTES = 27
# A few arrays of this many words are in use at once: they fit a second-level cache, and each is below the size (128 KiB) from which
# malloc maps new pages every time.
CHUNK_ROWS = 16_000
_SPLIT_BYTES = 1 << 18
_SPLIT_DIGITS = 15
_W, _D = np.uint64, np.uint32
_LOW_HALF, _HIGH_HALF = _W(0x00000000FFFFFFFF), _W(0xFFFFFFFF00000000)
_NIBBLES, _ZEROS = _W(0x0F0F0F0F0F0F0F0F), _W(0x3030303030303030)


def _word(text: bytes) -> Any:
    return np.frombuffer(text, "<u8")[0]


_BETWEEN, _BETWEEN_BELOW_10 = _word(b"\n     \0\0"), _word(b"\n       ")
_BETWEEN_MASK = _word(b"\xff\xff\xff\xff\xff\xff\0\0")
_THREAD_MASK, _THREAD_COLON, _COLON_MASK = (
    _word(b"\xff\xff\xff\0\0\0\0\0"),
    _word(b"\0\0\0:\0\0\0\0"),
    _word(b"\0\0\0\xff\0\0\0\0"),
)
_VALUE_BELOW_10000 = _word(b"    :   ")
_VALUE_COLON, _VALUE_COLON_MASK = _word(b"\0\0\0\0:\0\0\0"), _word(b"\0\0\0\0\xff\0\0\0")
_ALL_BLANK = _word(b"        ")
_BLANK_LOW, _BLANK_HIGH = _word(b" \0\0\0\0\0\0\0"), _word(b"\0\0\0\0    ")
# Characters that must not be a space: the last of four, or all four after other digits.
_LAST_A_DIGIT, _ALL_DIGITS, _HALF = _W(0xFF000000), _W(0xFFFFFFFF), _W(32)


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows that took the first `used` bytes: `cycle` and `value` of each (uint32 or int64).

    Rows from `starts[i]` up to the next start are all of thread `lanes[i]`.
    """

    starts: Any
    lanes: Any
    cycle: Any
    value: Any
    used: int

    def __len__(self) -> int:
        return len(self.cycle)

    @property
    def lane(self) -> Any:
        """The thread of each row (int64)."""
        return np.repeat(self.lanes, _lengths(self.starts, len(self)))

    def by_lane(self) -> list[tuple[int, Any]]:
        """(thread, indices of its rows) in order of thread."""
        order = np.argsort(self.lanes, kind="stable")
        lengths = _lengths(self.starts, len(self))[order]
        ends = np.cumsum(lengths)
        rows = np.arange(len(self)) + np.repeat(self.starts[order] - ends + lengths, lengths)
        lanes = self.lanes[order]
        cuts = np.flatnonzero(lanes[1:] != lanes[:-1])
        return list(zip(lanes[np.append(cuts, -1)].tolist(), np.split(rows, ends[cuts]), strict=True))


def _lengths(starts: Any, n: int) -> Any:
    """How many rows each run has. np.diff(append=) takes six times as long."""
    lengths = np.empty(len(starts), np.int64)
    np.subtract(starts[1:], starts[:-1], out=lengths[:-1])
    lengths[-1:] = n - starts[-1:]
    return lengths


def _no_rows() -> Rows:
    nothing = np.zeros(0, np.int64)
    return Rows(nothing, nothing, nothing, nothing, 0)


class RowParser:
    """Parses pieces with the same scratch memory: use one parser per thread."""

    def __init__(self) -> None:
        self._words = [np.empty(CHUNK_ROWS, _W) for _ in range(6)]
        self._flags = np.empty(CHUNK_ROWS, bool)
        self._known = _runs(np.zeros(1, _W))

    def parse(self, data: Any, start: int = 0, end: int | None = None) -> Rows:
        """The rows from `start` up to the first other line, at most CHUNK_ROWS. `data` has a whole line before `end`."""
        end = len(data) if end is None else end
        n = min((end - start) // ROW_BYTES, CHUNK_ROWS)
        rows = self._fixed(data, start, n) if n else _no_rows()
        if rows.used == 0 and start < end:
            return _split(bytes(data[start : min(end, start + _SPLIT_BYTES)]))
        return rows

    def _fixed(self, data: Any, start: int, n: int) -> Rows:
        """Rows of exactly 27 bytes, up to the first other one."""
        between, before, upper, lower, spaces, broken = (words[:n] for words in self._words)
        for words, at, count in ((between, 26, n - 1), (before, 5, n), (upper, 13, n), (lower, 18, n)):
            words[:count] = np.ndarray((count,), "<u8", data, start + at, (ROW_BYTES,))
        few = _lines(data, start, between[: n - 1])
        # `lower` gets the lower halves of cycle and value, `upper` gets the rest of both words.
        upper ^= lower
        np.bitwise_and(upper, _LOW_HALF, out=spaces)
        lower ^= spaces
        upper ^= lower
        starts = self._run_starts(before)
        runs, at = self._about(before[starts])
        if not runs.fine.all() and not (fine := runs.fine[at]).all():
            few = min(few, int(starts[np.argmin(fine)]))
        heads, must, fine = _upper_values(upper, self._flags)
        if fine is not None and not fine.all():
            few = min(few, int(np.argmin(fine)))
        must = must | _of_rows(runs.must[at], starts, n)
        heads = heads | _of_rows(runs.heads[at], starts, n)
        _numbers(lower, spaces, broken, must)
        if np.bitwise_or.reduce(broken):
            few = min(few, int(np.argmax(broken != 0)))
        halves, lanes = np.add(spaces, heads).view(_D), runs.lanes[at]
        if few < n:
            count = int(np.searchsorted(starts, few))
            starts, lanes, halves = starts[:count], lanes[:count], halves[: 2 * few]
        return Rows(starts, lanes, halves[0::2], halves[1::2], few * ROW_BYTES)

    def _about(self, words: Any) -> tuple[_Runs, Any]:
        """The values of the first words of runs, and the index of each of `words` in them. The last chunk nearly always had the same words."""
        at = np.searchsorted(self._known.words, words)
        if not (self._known.words.take(at, mode="clip") == words).all():
            ordered = np.sort(words)
            self._known = _runs(ordered[np.append(True, ordered[1:] != ordered[:-1])])
            at = np.searchsorted(self._known.words, words)
        return self._known, at

    def _run_starts(self, before: Any) -> Any:
        flags = self._flags[: len(before)]
        flags[0] = True
        np.not_equal(before[1:], before[:-1], out=flags[1:])
        return np.flatnonzero(flags)


def _lines(data: Any, start: int, between: Any) -> int:
    """How many rows end in a newline and have a thread below 1000, by `between` and both ends."""
    n = len(between) + 1
    if bytes(data[start : start + 5]) != b"     ":
        return 0
    if (between != _BETWEEN_BELOW_10).any():
        fine = between & _BETWEEN_MASK == _BETWEEN
        if not fine.all():
            return int(np.argmin(fine))
    return n if data[start + n * ROW_BYTES - 1] == ord("\n") else n - 1


@dataclass(frozen=True, slots=True)
class _Runs:
    """Sorted words from byte 5 of a row, with values for each.

    `lanes`: the thread. `heads`: what the upper half of the cycle adds to a pair of numbers. `must`: the characters after it that must
    be digits (`_numbers`). `fine`: whether cyclictest could have printed it.
    """

    words: Any
    lanes: Any
    heads: Any
    must: Any
    fine: Any


def _runs(words: Any) -> _Runs:
    blank = words & _HIGH_HALF == _BLANK_HIGH
    pairs = ((words & _THREAD_MASK) << _W(8)) | _BLANK_LOW | (words & _HIGH_HALF)
    numbers, broken = np.empty_like(pairs), np.empty_like(pairs)
    # the thread needs a digit, the upper half of the cycle may be blank
    halves = _numbers(pairs, numbers, broken, _LAST_A_DIGIT)
    fine = (broken == 0) & (words & _COLON_MASK == _THREAD_COLON)
    heads = halves[1::2].astype(_W) * _W(10_000)
    must = np.where(blank, _LAST_A_DIGIT, _ALL_DIGITS)
    return _Runs(words, halves[0::2].astype(np.int64), heads, must, fine)


def _of_rows(of_runs: Any, starts: Any, n: int) -> Any:
    """One word if it is the same for all runs, else one for each row."""
    first = of_runs[0]
    return first if (of_runs == first).all() else np.repeat(of_runs, _lengths(starts, n))


def _upper_values(upper: Any, flags: Any) -> tuple[Any, Any, Any]:
    """(heads, must, fine) as in `_Runs` for the upper half of each value and the colon before it; two scalars and None if all are blank."""
    if not np.not_equal(upper, _VALUE_BELOW_10000, out=flags[: len(upper)]).any():
        return _W(0), _LAST_A_DIGIT << _HALF, None
    pairs = (upper & _LOW_HALF) | _BLANK_HIGH
    blank = pairs == _ALL_BLANK
    numbers, broken = np.empty_like(pairs), np.empty_like(pairs)
    heads = _numbers(pairs, numbers, broken, _W(0))[0::2].astype(_W) * _W(10_000)
    fine = (broken == 0) & (upper & _VALUE_COLON_MASK == _VALUE_COLON)
    return heads << _HALF, np.where(blank, _LAST_A_DIGIT, _ALL_DIGITS) << _HALF, fine


def _numbers(words: Any, nibbles: Any, broken: Any, must: Any) -> Any:
    """The numbers that the two times four characters of each word spell (uint32, two a word). All three arrays are overwritten.

    `broken` becomes 0 for words of spaces followed by digits, where no space stands under a bit of `must` (scalar or array).
    """
    np.bitwise_and(words, _NIBBLES, out=nibbles)
    # a space leaves 1, a digit 0; any other character fails the check below
    words ^= nibbles
    words ^= _ZEROS
    words >>= _W(4)
    marks, plus_one = words.view(_D), broken.view(_D)
    # Leading spaces, and only they, give 2^8k - 1: x & (x + 1) is 0. The low nibble of a space must be 0.
    marks *= _D(255)
    np.add(marks, _D(1), out=plus_one)
    broken |= nibbles
    broken |= must
    broken &= words
    if nibbles.view(np.uint8).max() > 9:
        broken |= (nibbles + _W(0x7676767676767676)) & _W(0x8080808080808080)
    numbers = nibbles.view(_D)
    numbers *= _D(10 * 256 + 1)
    numbers >>= _D(8)
    numbers &= _D(0x00FF00FF)
    numbers *= _D(100 * 65536 + 1)
    numbers >>= _D(16)
    return numbers


def _split(data: bytes) -> Rows:
    """Rows of any width, up to the first other line. The text after the last newline is left."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    colons = np.flatnonzero(text == ord(":"))
    begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    first = np.searchsorted(colons, begins)
    two = np.diff(np.concatenate([first, [np.searchsorted(colons, ends[-1])]])) == 2 if len(ends) else ends > 0
    count = int(np.argmin(two)) if not two.all() else len(ends)
    if count == 0:
        return _no_rows()
    begins, ends, first = begins[:count], ends[:count], first[:count]
    one, two_ = colons[first], colons[first + 1]
    line_ends = ends - (text[ends - 1] == ord("\r"))
    bad = np.zeros(count, bool)
    lane = _field(text, begins, one, bad)
    cycle = _field(text, one + 1, two_, bad)
    value = _field(text, two_ + 1, line_ends, bad, signed=True)
    good = int(np.argmax(bad)) if bad.any() else count
    used = int(ends[good - 1]) + 1 if good else 0
    return Rows(np.arange(good), lane[:good], cycle[:good], value[:good], used)


def _field(text: Any, begins: Any, ends: Any, bad: Any, *, signed: bool = False) -> Any:
    """The numbers in the bytes begins .. ends - 1: spaces, perhaps a minus, digits. Marks anything else in `bad`."""
    number = np.zeros(len(begins), np.int64)
    at, open_, factor, digits = ends - 1, np.ones(len(begins), bool), 1, np.zeros(len(begins), np.int64)
    negative = np.zeros(len(begins), bool)
    for _ in range(int((ends - begins).max(initial=0))):
        inside = at >= begins
        byte = np.where(inside, text[np.maximum(at, 0)], ord(" "))
        digit = inside & open_ & (byte >= ord("0")) & (byte <= ord("9"))
        if factor <= 10**_SPLIT_DIGITS:
            number += np.where(digit, (byte.astype(np.int64) - ord("0")) * factor, 0)
        digits += digit
        minus = inside & open_ & (byte == ord("-")) & signed & (digits > 0)
        negative |= minus
        bad |= inside & ~digit & ~minus & (byte != ord(" "))
        open_ &= digit
        at -= 1
        factor *= 10
        if not open_.any() and not (at >= begins).any():
            break
    bad |= (digits == 0) | (digits > _SPLIT_DIGITS)
    return np.where(negative, -number, number)

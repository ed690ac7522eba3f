"""Rows `thread:cycle:value` of cyclictest -v, many at once: nearly as fast as counting them, and no byte believed unseen.

A row is printed as `%8d:%8d:%8d`, so nearly all have 27 bytes at fixed places. The last four characters of cycle and value become
numbers in 32-bit words, and each is then compared with how that number is written; what stands before them (and the thread) is the
same in long runs of rows, so one row of each run is enough (`_fixed`). Rows of other widths (nine digits, a carriage return, a
minus) go through `_split`, which finds the separators first. Both stop in front of the first row they do not understand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

ROW_BYTES = 27
_FIELDS = np.dtype(
    {
        "names": ["lane", "colon1", "cycle_high", "cycle", "colon2", "value_high", "value", "end"],
        "formats": ["<u8", "u1", "<u4", "<u4", "u1", "<u4", "<u4", "u1"],
        "offsets": [0, 8, 9, 13, 17, 18, 22, 26],
        "itemsize": ROW_BYTES,
    }
)
CHUNK_ROWS = 16384
_SPLIT_BYTES = 1 << 18
_SPLIT_DIGITS = 15
_U = np.uint32
_NIBBLES = _U(0x0F0F0F0F)
_EVENS = _U(0x00FF00FF)
_HALF = _U(0xFFFF)
_BLANK = _U(0x20202020)
_NUMBERS = 15 * 1111 + 1  # as many values as four nibbles can make


def _written() -> Any:
    """How each number of four characters is written: alone (`  42`), and behind other digits (`0042`); 0 for what none is."""
    table = np.zeros(2 * _NUMBERS, _U)
    for at, form in ((0, "%4d"), (_NUMBERS, "%04d")):
        text = "".join(form % number for number in range(10_000))
        table[at : at + 10_000] = np.frombuffer(text.encode(), "<u4")
    return table


_WRITTEN = _written()


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of `len(lane)` rows (int64), which took the first `used` bytes."""

    lane: Any
    cycle: Any
    value: Any
    used: int


def parse(data: bytes, start: int = 0, end: int | None = None) -> Rows:
    """Rows from `start` on without anything else between them, at most CHUNK_ROWS. `data` has a whole line before `end`."""
    end = len(data) if end is None else end
    rows = _fixed(data, start, end)
    if rows.used == 0 and start < end:
        return _split(data[start : min(end, start + _SPLIT_BYTES)])
    return rows


def _fixed(data: bytes, start: int, end: int) -> Rows:
    """Rows of exactly 27 bytes, up to the first other one."""
    n = min((end - start) // ROW_BYTES, CHUNK_ROWS)
    if n == 0:
        nothing = np.zeros(0, np.int64)
        return Rows(nothing, nothing, nothing, 0)
    records = np.frombuffer(data, _FIELDS, n, start)
    highs = [records[name].copy() for name in ("lane", "cycle_high", "value_high")]
    changes = highs[0][1:] != highs[0][:-1]
    for words in highs[1:]:
        changes |= words[1:] != words[:-1]
    starts = np.concatenate([[0], np.flatnonzero(changes) + 1])
    lengths = np.diff(np.append(starts, n))
    lane_words = highs[0][starts].view(_U).reshape(-1, 2).T
    lane_high, cycle_high, value_high = (_head(part) for part in (lane_words[0], highs[1][starts], highs[2][starts]))
    lane, lane_good = _low(lane_words[1], lane_high)
    good = (records["colon1"] == ord(":")) & (records["colon2"] == ord(":"))
    good &= records["end"] == ord("\n")
    columns = []
    for name, high in (("cycle", cycle_high), ("value", value_high)):
        spread = (
            _Head(*(np.repeat(part, lengths) for part in (high.number, high.blank, high.good))) if high.filled else None
        )
        numbers, as_written = _low(records[name].copy(), spread)
        good &= as_written
        columns.append(numbers)
    heads_good = lane_good & lane_high.good & cycle_high.good & value_high.good
    if not heads_good.all():
        good &= np.repeat(heads_good, lengths)
    few = n if good.all() else int(np.argmin(good))
    return Rows(np.repeat(lane, lengths)[:few], columns[0][:few], columns[1][:few], few * ROW_BYTES)


@dataclass(frozen=True, slots=True)
class _Head:
    """Four characters in front of the last four, one word per run of rows that have the same: a number, or all spaces."""

    number: Any
    blank: Any
    good: Any

    @property
    def filled(self) -> bool:
        """Whether there is a digit anywhere."""
        return not bool(self.blank.all())


def _head(words: Any) -> _Head:
    numbers = _value(words)
    blank = words == _BLANK
    return _Head(numbers, blank, blank | (_WRITTEN.take(numbers) == words))


def _low(words: Any, head: _Head | None) -> tuple[Any, Any]:
    """The last four characters, with what stands before them, as numbers; and which of them are written as such numbers are."""
    numbers = _value(words)
    if head is None or not head.filled:
        return numbers, _WRITTEN.take(numbers) == words
    good = _WRITTEN.take(np.where(head.blank, numbers, numbers + _NUMBERS)) == words
    return numbers + head.number * 10_000, good


def _value(words: Any) -> Any:
    """What the four low nibbles of each word make as decimal digits, the first character being the lowest byte."""
    numbers = words & _NIBBLES
    scratch = numbers >> _U(8)
    numbers *= _U(10)
    numbers += scratch
    numbers &= _EVENS
    np.right_shift(numbers, _U(16), out=scratch)
    numbers *= _U(100)
    numbers += scratch
    numbers &= _HALF
    return numbers.astype(np.int64)


def _split(data: bytes) -> Rows:
    """Rows of any width, up to the first that is none. What follows the last newline is left."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    colons = np.flatnonzero(text == ord(":"))
    begins = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    first = np.searchsorted(colons, begins)
    two = np.diff(np.concatenate([first, [np.searchsorted(colons, ends[-1])]])) == 2 if len(ends) else ends > 0
    count = int(np.argmin(two)) if not two.all() else len(ends)
    if count == 0:
        nothing = np.zeros(0, np.int64)
        return Rows(nothing, nothing, nothing, 0)
    begins, ends, first = begins[:count], ends[:count], first[:count]
    one, two_ = colons[first], colons[first + 1]
    line_ends = ends - (text[ends - 1] == ord("\r"))
    bad = np.zeros(count, bool)
    lane = _field(text, begins, one, bad)
    cycle = _field(text, one + 1, two_, bad)
    value = _field(text, two_ + 1, line_ends, bad, signed=True)
    good = int(np.argmax(bad)) if bad.any() else count
    used = int(ends[good - 1]) + 1 if good else 0
    return Rows(lane[:good], cycle[:good], value[:good], used)


def _field(text: Any, begins: Any, ends: Any, bad: Any, *, signed: bool = False) -> Any:
    """Numbers of the bytes begins .. ends - 1: spaces, perhaps a minus, digits. Marks `bad` what is anything else."""
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

"""Rows `thread:cycle:value` of cyclictest -v, many at once: nearly as fast as counting them, and no byte believed unseen.

A row is printed as `%8d:%8d:%8d`, so nearly all have 27 bytes at fixed places. The last four characters of cycle and value are
checked and added up four at a time in 32-bit words; what stands before them (and the thread) is the same in long runs of rows, so
one row of each run is enough (`_fixed`). Rows of other widths (nine digits, a carriage return, a minus) go through `_split`,
which finds the separators first. Both stop in front of the first row they do not understand.
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
_CHUNK_ROWS = 16384
_SPLIT_DIGITS = 15
_U = np.uint32
_ZEROS = _U(0x30303030)
_SPACES = _U(0x10101010)  # a space xor '0'
_FIRST_SPACE, _LAST_SPACE = _U(0x10), _U(0x10000000)
_SIX = _U(0x06060606)
_NO_DIGIT = _U(0xF0F0F0F0)
_EVENS = _U(0x00FF00FF)
_HALF = _U(0xFFFF)
_BLANK = _U(0x20202020)


@dataclass(frozen=True, slots=True)
class Rows:
    """Columns of `len(lane)` rows (int64), which took the first `used` bytes."""

    lane: Any
    cycle: Any
    value: Any
    used: int


def parse(data: bytes, start: int = 0) -> Rows:
    """As many rows from `start` on as there are without anything else between them. `data` ends with a whole line."""
    rows = _fixed(data, start)
    if rows.used < len(data) - start and len(rows.lane) < _CHUNK_ROWS:
        more = _split(data, start + rows.used)
        if len(more.lane):
            lane, cycle, value = (np.concatenate(pair) for pair in zip(_columns(rows), _columns(more), strict=True))
            return Rows(lane, cycle, value, rows.used + more.used)
    return rows


def _columns(rows: Rows) -> tuple[Any, Any, Any]:
    return rows.lane, rows.cycle, rows.value


def _fixed(data: bytes, start: int) -> Rows:
    """Rows of exactly 27 bytes, up to the first other one."""
    count = (len(data) - start) // ROW_BYTES
    records = np.frombuffer(data, _FIELDS, count, start)
    columns = tuple(np.empty(count, np.int64) for _ in range(3))
    done = 0
    while done < count:
        some = records[done : done + _CHUNK_ROWS]
        good = _numbers(some, *(column[done : done + len(some)] for column in columns))
        done += good
        if good < len(some):
            break
    lane, cycle, value = (column[:done] for column in columns)
    return Rows(lane, cycle, value, done * ROW_BYTES)


def _numbers(records: Any, lane: Any, cycle: Any, value: Any) -> int:
    """Fill the three columns; how many rows are good, counted up to the first bad one."""
    n = len(records)
    low = np.empty(2 * n, _U)
    low[:n], low[n:] = records["cycle"], records["value"]
    bad, blank = _number(low, ends=True)
    lane_runs = _Runs(records["lane"].copy().view("<u4").reshape(-1, 2))
    cycle_runs = _Runs(records["cycle_high"].copy().reshape(-1, 1))
    value_runs = _Runs(records["value_high"].copy().reshape(-1, 1))
    lane[:] = lane_runs.whole()
    for out, low_part, runs in ((cycle, low[:n], cycle_runs), (value, low[n:], value_runs)):
        if runs.zero:
            out[:] = low_part
        else:
            np.add(low_part, runs.whole() * 10_000, out=out)
    separators = (records["colon1"] == ord(":")) & (records["colon2"] == ord(":")) & (records["end"] == ord("\n"))
    gaps = [
        runs.filled() & (part != 0)
        for runs, part in ((cycle_runs, blank[:n]), (value_runs, blank[n:]))
        if not runs.zero
    ]
    wrong = [runs.wrong for runs in (lane_runs, cycle_runs, value_runs)]
    if not bad.any() and separators.all() and not any(w.any() for w in wrong) and not any(gap.any() for gap in gaps):
        return n
    every = ~separators | (bad[:n] != 0) | (bad[n:] != 0)
    for runs in (lane_runs, cycle_runs, value_runs):
        every |= runs.spread(runs.wrong)
    for gap in gaps:
        every |= gap
    return int(np.argmax(every))


class _Runs:
    """Words that stay the same in many rows: one number per run. `words` has one row per row, with one or two 32-bit words."""

    def __init__(self, words: Any) -> None:
        self._rows = len(words)
        wide = words.view("<u8").reshape(-1) if words.shape[1] == 2 else words.reshape(-1)
        changes = wide[1:] != wide[:-1]
        starts = np.flatnonzero(changes) + 1 if changes.any() else np.zeros(0, np.int64)
        self._lengths = np.diff(np.concatenate([[0], starts, [self._rows]]))
        heads = np.concatenate([words[:1], words[starts]])
        self.blank = (heads == _BLANK).all(axis=1)
        self.zero = bool(self.blank.all())
        parts = heads.T.copy()
        bad, blank = _number(parts.reshape(-1), ends=False)
        bad, blank = bad.reshape(parts.shape), blank.reshape(parts.shape)
        number = parts.astype(np.int64)
        if words.shape[1] == 2:
            # the thread: two words, which ends with a digit, and no space may stand behind a digit of the first word
            last = (blank[1] & _LAST_SPACE) != 0
            gap = (heads[:, 0] != _BLANK) & (blank[1] != 0)
            self.wrong = (bad[0] != 0) | (bad[1] != 0) | last | gap
            self._numbers = number[0] * 10_000 + number[1]
        else:
            # digits that go on behind: the last character is one, or all are spaces
            self.wrong = (bad[0] != 0) | (((blank[0] & _LAST_SPACE) != 0) & ~self.blank)
            self._numbers = number[0]
        if words.shape[1] == 2:
            self.wrong |= (heads[:, 0] != _BLANK) & ((blank[0] & _LAST_SPACE) != 0)

    def whole(self) -> Any:
        """The number of every row."""
        return self.spread(self._numbers)

    def filled(self) -> Any:
        """Whether a row has digits here."""
        return self.spread(~self.blank)

    def spread(self, of_run: Any) -> Any:
        return np.repeat(of_run, self._lengths)


def _number(words: Any, *, ends: bool) -> tuple[Any, Any]:
    """Four characters each, leading spaces and then digits, become numbers in place. The first character is the lowest byte.

    Returns what is nonzero where a word is anything else, and the space bits; `ends`: the last character must be a digit.
    """
    words ^= _ZEROS  # a digit is 0 .. 9 now, a space 0x10
    spaces = words & _SPACES
    words ^= spaces
    bad = words + _SIX
    bad |= words
    bad &= _NO_DIGIT  # other bits than a digit's, ten and more
    scratch = spaces >> _U(4)
    np.subtract(spaces, scratch, out=scratch)
    scratch &= words
    bad |= scratch  # something beside the space bit
    np.right_shift(spaces, _U(8), out=scratch)
    scratch &= ~spaces
    scratch &= _SPACES
    bad |= scratch  # a space behind a digit
    if ends:
        np.bitwise_and(spaces, _LAST_SPACE, out=scratch)
        bad |= scratch
    np.right_shift(words, _U(8), out=scratch)
    words *= _U(10)
    words += scratch
    words &= _EVENS
    np.right_shift(words, _U(16), out=scratch)
    words *= _U(100)
    words += scratch
    words &= _HALF
    return bad, spaces


def _split(data: bytes, start: int) -> Rows:
    """Rows of any width, up to the first that is none."""
    text = np.frombuffer(data, np.uint8, offset=start)
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

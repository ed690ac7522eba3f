"""Which functions hold the time of the latest wake-up, from the blocks of code that ran before it. One instruction takes a fixed virtual time,
so nothing is sampled."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rtassay.gate.boots import Measured
from rtassay.lab import measured
from rtassay.lab.script import SHIFT
from rtassay.model.errors import BoardError
from rtassay.model.gate import HeldFunction

USER = "user space"
MOST = 5
"""Functions that are told, beside the one that holds most of the growth with what it calls."""
SHARE = 0.8
"""A function under which so much of the growth lies is where to look."""
_CALLERS = 6
_BEFORE = 200_000
"""Blocks before the wake-up was due that are read, too: who called what runs then."""
_MOVED_NS = 1000
_KERNEL = 1 << 63
_SWITCH = "__switch_to_asm"
_CODE = "tTwW"
_GLUE = re.compile(
    r"__x86_|asm_|entry_SYS|early_xen_iret_patch|native_iret|native_irq_return|restore_regs|error_(entry|return)|syscall_return_via|swapgs_|paranoid_"
)
"""Beginnings of names that are steps into and out of the kernel, or jumps through a register: the function before them has their time."""
_PART = re.compile(r"\.(cold|part|isra|constprop)(\.\d+)?$")


class _Frame(NamedTuple):
    """A function on the stack, and who called it."""

    function: int
    caller: _Frame | None


@dataclass(frozen=True, slots=True)
class Symbols:
    """Functions of a kernel by rising address. Shapes: `address` (n,) uint64, `name` n words."""

    address: Any
    name: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """Virtual ns by function in one wake-up. `chains`: the callers by which a function had most of its time, the nearest first."""

    alone_ns: Mapping[str, int]
    with_callees_ns: Mapping[str, int]
    chains: Mapping[str, tuple[str, ...]]


def seen(first: Measured, followed: Measured, hit: int) -> Spent:
    """Where the time of wake-up `hit` of two boots with the same inputs went.

    QEMU cuts blocks otherwise while it is followed, so an interrupt may come an instruction sooner or later. Raises BoardError if the wake-up
    is another one, or QEMU followed nothing.
    """
    latency = followed.series.latency_ns
    if (
        len(latency) != len(first.series.latency_ns)
        or abs(int(latency[hit] - first.series.latency_ns[hit])) > _MOVED_NS
    ):
        raise BoardError("the followed boot is not as the one before it", hint="this is a bug: report it")
    names, path = followed.result.files.get(measured.SYMBOLS), followed.result.path
    if names is None or path is None:
        raise BoardError("QEMU followed nothing", "the board brought no names, or the plugin no path")
    return spent(path, symbols_of(names), int(latency[hit]))


def symbols_of(kallsyms: bytes) -> Symbols:
    """Of /proc/kallsyms, packed by gzip. Raises BoardError if it names no function."""
    found: dict[int, str] = {}
    for line in gzip.decompress(kallsyms).decode("ascii", "replace").splitlines():
        address, kind, name, *_ = [*line.split(), "", ""]
        if kind and kind in _CODE and int(address, 16) >= _KERNEL:
            found.setdefault(int(address, 16), name)
    if not found:
        raise BoardError("the kernel names no function", "/proc/kallsyms has none")
    rising = sorted(found)
    return Symbols(np.array(rising, dtype=np.uint64), tuple(found[address] for address in rising))


def spent(path: bytes, symbols: Symbols, latency_ns: int) -> Spent:
    """Where the last `latency_ns` of a path went."""
    pairs = np.frombuffer(path[: len(path) // 16 * 16], dtype="<u8").reshape(-1, 2)
    back_ns = np.cumsum(pairs[::-1, 1].astype(np.int64)) << SHIFT
    inside = int(np.searchsorted(back_ns, latency_ns)) + 1
    pairs = pairs[max(0, len(pairs) - inside - _BEFORE) :]
    return _spent(pairs, symbols, max(0, len(pairs) - inside))


def _spent(pairs: Any, symbols: Symbols, first: int) -> Spent:
    """`first`: the first block that counts; those before it only tell who called."""
    own: dict[tuple[_Frame, int, int], int] = defaultdict(int)
    stack, epochs = _Stack(symbols), pairs[:, 0]
    function = np.searchsorted(symbols.address, epochs, side="right").astype(np.int64) - 1
    function[epochs < _KERNEL] = -1
    begins = np.flatnonzero(np.diff(function, prepend=-2) != 0)
    begins = np.union1d(begins, [first])
    ns = np.add.reduceat(pairs[:, 1].astype(np.int64) << SHIFT, begins)
    for begin, took_ns in zip(begins.tolist(), ns.tolist(), strict=True):
        one = int(function[begin])
        stack.enter(one, one >= 0 and int(epochs[begin]) == int(symbols.address[one]))
        if begin >= first:
            own[stack.place()] += took_ns
    return _summed(own, stack)


class _Stack:
    """Who called whom, from the order of the functions alone: what is entered at its first instruction was called, all else is returned to.

    A function that is returned to and was not seen to call had called all that ran since the last switch of threads: `outer`, for each span
    between two switches.
    """

    def __init__(self, symbols: Symbols) -> None:
        self.names = symbols.name
        self.outer: list[list[int]] = [[]]
        self._top: _Frame = _Frame(-1, None)
        self._empty = True

    def enter(self, function: int, at_start: bool) -> None:
        if function < 0:
            self._fresh(_Frame(-1, None))
        elif not self._empty and self._top.function == function:
            return
        elif at_start:
            self._top, self._empty = _Frame(function, None if self._empty else self._top), False
        else:
            self._return_to(function)

    def _return_to(self, function: int) -> None:
        frame: _Frame | None = None if self._empty else self._top
        switched = False
        while frame is not None and (switched or frame.function != function):
            switched = switched or self._name(frame.function) == _SWITCH
            frame = frame.caller
        if frame is not None:
            self._top = frame
        elif switched or (not self._empty and self._bottom() == -1):
            self._fresh(_Frame(function, None))
        else:
            self.outer[-1].append(function)
            self._top, self._empty = _Frame(function, None), False

    def _bottom(self) -> int:
        frame = self._top
        while frame.caller is not None:
            frame = frame.caller
        return frame.function

    def _fresh(self, frame: _Frame) -> None:
        self.outer.append([])
        self._top, self._empty = frame, False

    def _name(self, function: int) -> str:
        return USER if function < 0 else self.names[function]

    def place(self) -> tuple[_Frame, int, int]:
        """Where the guest is: its frames, the span, and how many outer functions of it were known by then."""
        return self._top, len(self.outer) - 1, len(self.outer[-1])

    def chain(self, place: tuple[_Frame, int, int]) -> list[str]:
        """Names of all functions of a place, the innermost first."""
        frame, span, known = place
        found: list[int] = []
        walk: _Frame | None = frame
        while walk is not None:
            found.append(walk.function)
            walk = walk.caller
        names = [_PART.sub("", self._name(one)) for one in [*found, *self.outer[span][known:]]]
        shown = [name for name in names if not _GLUE.match(name)] or names[:1]
        return [name for at, name in enumerate(shown) if at == 0 or name != shown[at - 1]]


def _summed(own: Mapping[tuple[_Frame, int, int], int], stack: _Stack) -> Spent:
    alone: dict[str, int] = defaultdict(int)
    with_callees: dict[str, int] = defaultdict(int)
    by_chain: dict[tuple[str, tuple[str, ...]], int] = defaultdict(int)
    for place, ns in own.items():
        innermost, *callers = stack.chain(place)
        alone[innermost] += ns
        told = tuple(name for name in callers if name != USER)[:_CALLERS]
        by_chain[innermost, told] += ns
        for at, name in enumerate([innermost, *callers]):
            if name not in [innermost, *callers][:at]:
                with_callees[name] += ns
                by_chain[name, tuple(one for one in callers[at:] if one != USER)[:_CALLERS]] += 0 if at == 0 else ns
    chains: dict[str, tuple[str, ...]] = {}
    for (name, callers_of), _ in sorted(by_chain.items(), key=lambda item: (item[1], item[0])):
        chains[name] = callers_of
    return Spent(alone, with_callees, chains)


def compared(new: Spent, base: Spent, growth_ns: int) -> tuple[HeldFunction, ...]:
    """First the innermost function under which most of the growth lies, then those that grew most on their own, at most MOST."""
    found = []
    under = {
        name: ns
        for name, ns in new.with_callees_ns.items()
        if ns - base.with_callees_ns.get(name, 0) >= SHARE * growth_ns
    }
    if under:
        name = min(under, key=lambda one: (under[one], -len(new.chains[one]), one))
        found.append(_held(name, new, base, with_callees=True))
    grown = [name for name, ns in new.alone_ns.items() if ns > base.alone_ns.get(name, 0)]
    grown.sort(key=lambda one: (base.alone_ns.get(one, 0) - new.alone_ns[one], one))
    return (*found, *(_held(name, new, base, with_callees=False) for name in grown[:MOST]))


def _held(name: str, new: Spent, base: Spent, *, with_callees: bool) -> HeldFunction:
    now, before = (one.with_callees_ns if with_callees else one.alone_ns for one in (new, base))
    return HeldFunction(name, new.chains[name], with_callees, now[name], before.get(name, 0))

"""Measurements on script boards, some at once: boots do not see each other, so the number of them at once changes no result."""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rtassay.gate.kernels import Opened
from rtassay.gate.streams import Series, boot_of, events_of, series_of
from rtassay.lab import measured
from rtassay.lab.arches import arch_named
from rtassay.lab.following import Follow
from rtassay.lab.script import LIMIT_S, ScriptResult
from rtassay.model.errors import BoardError
from rtassay.model.events import Event
from rtassay.model.files import write_file
from rtassay.model.gate import IDLE, Boot

SECONDS_A_BOOT = 20
"""Wall time of one boot of a Debian kernel on an idle CPU of a PC, to say beforehand how long a gate takes."""
_AT_ONCE = 4
_VIRTUAL_BOOT_S = 600


@dataclass(frozen=True, slots=True)
class Cell:
    """One boot to make. `traced_above_ns`: the second half of it is traced, with stacks, from this latency on. `symbols`: it brings the names of the
    kernel's functions. `follow`: to one wake-up."""

    kernel: Opened
    load: str
    seed: int
    interval_ns: int
    count: int
    traced_above_ns: int | None = None
    symbols: bool = False
    follow: Follow | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """rtprobe's command line."""
        words = ("cyclic", "--cpus", "0", "--interval", f"{self.interval_ns}ns", "--count", str(self.count))
        traced = ("--trace-above", f"{self.traced_above_ns}ns", "--trace-stacks")
        return words if self.traced_above_ns is None else (*words, *traced)


@dataclass(frozen=True, slots=True)
class Measured:
    """One boot that was made. `stream`: what rtprobe sent, byte for byte."""

    stream: bytes
    events: list[Event]
    series: Series
    result: ScriptResult

    def boot(self, deadline_ns: int | None) -> Boot:
        return boot_of(
            self.stream,
            self.series,
            deadline_ns=deadline_ns,
            ran=measured.ENDED not in self.result.files,
            virtual_ns=self.result.virtual_ns,
            initrd=self.result.inputs["initrd"],
        )


Make = Callable[[Sequence[Cell]], list[Measured]]
"""Makes boots, and returns them in the order of the cells. Raises BoardError if one fails."""


def at_once() -> int:
    """Boots that run at the same time: one for each CPU of this process, at most four."""
    return min(_AT_ONCE, len(os.sched_getaffinity(0)))


@contextmanager
def boots(
    programs: bytes, probe: bytes, told: Callable[[Cell, Measured], None], limit_s: float = LIMIT_S
) -> Iterator[Make]:
    """Makes boots with this userland and this rtprobe, which are for the architecture of the kernels. `told`: called for each, in this thread, when it has ended."""
    with tempfile.TemporaryDirectory(prefix="rtassay-gate-") as scratch:

        def make(cells: Sequence[Cell]) -> list[Measured]:
            return _made(cells, Path(scratch), programs, probe, told, limit_s)

        yield make


def _made(
    cells: Sequence[Cell],
    scratch: Path,
    programs: bytes,
    probe: bytes,
    told: Callable[[Cell, Measured], None],
    limit_s: float,
) -> list[Measured]:
    stop = threading.Event()

    def one(cell: Cell) -> Measured:
        image = scratch / cell.kernel.kernel.sha256
        load = "none" if cell.load == IDLE else cell.load
        board = measured.board_of(
            image,
            programs,
            probe,
            cell.words,
            load=load,
            seed=cell.seed,
            symbols=cell.symbols,
            follow=cell.follow,
            arch=arch_named(cell.kernel.kernel.arch),
        )
        virtual_s = _VIRTUAL_BOOT_S + 4 * cell.count * cell.interval_ns // 1_000_000_000
        try:
            result = measured.checked(board.run(limit_s, virtual_s, stop))
        except BoardError as error:
            where = f"{cell.kernel.kernel.name}, load {cell.load}, seed {cell.seed}: {error.what}"
            raise BoardError(where, error.why, error.hint) from error
        events = events_of(result.stream)
        return Measured(result.stream, events, series_of(events), result)

    for cell in cells:
        write_file(scratch / cell.kernel.kernel.sha256, cell.kernel.bootable)
    with ThreadPoolExecutor(at_once()) as pool:
        futures: dict[Cell, Future[Measured]] = {}
        try:
            futures = {cell: pool.submit(one, cell) for cell in cells}
            for cell, future in futures.items():
                told(cell, future.result())
        except BaseException:
            stop.set()
            for future in futures.values():
                future.cancel()
            raise
    return [futures[cell].result() for cell in cells]

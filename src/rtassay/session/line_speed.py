"""What a run says of a serial line that is slower than its stream."""

from __future__ import annotations

from typing import Final

from rtassay.boards.base import LinuxBoard
from rtassay.model.units import NS_PER_S, format_time
from rtassay.session.prepare import Prepared

# Seen on this machine, with two lanes and all monitors, over a terminal slowed down to 57600 and 115200 baud: a run without its samples, and
# each sample of a second.
_BAUD_OF_A_RUN: Final = 100_000
_BAUD_OF_A_SAMPLE: Final = 25
_WORTH_A_WORD_NS: Final = 5 * NS_PER_S


def tell(board: LinuxBoard, prepared: Prepared) -> None:
    """Before the run, where the rest of its stream is fetched for more than a few seconds after the end."""
    if board.baud is None:
        return
    samples = _samples_a_second(prepared)
    needed = round(_BAUD_OF_A_RUN + samples * _BAUD_OF_A_SAMPLE, -4)
    after_ns = prepared.planned_ns * max(0, needed - board.baud) // board.baud
    if after_ns >= _WORTH_A_WORD_NS:
        board.notice(
            f"the output of this run needs some {needed:,} baud, and the line has {board.baud:,}: "
            f"the rest is fetched for about {format_time(round(after_ns, -9))} after the end"
            + ("; --no-samples leaves the samples out" if samples else "")
        )


def _samples_a_second(prepared: Prepared) -> int:
    """That leave the board: those of our own probe, unless only their histogram is kept."""
    plan = prepared.plan
    if not (plan.keep_samples and prepared.probe.own_threads and plan.interval_ns):
        return 0
    return len(prepared.cpus) * NS_PER_S // plan.interval_ns

"""What a run says of a serial line that is slower than its stream."""

from __future__ import annotations

from typing import Final

from rtassay.boards.base import LinuxBoard
from rtassay.model.units import NS_PER_S, format_time
from rtassay.session.prepare import Prepared

# Seen with a run of two lanes and all monitors, over lines of 57600 and 115200 baud: without samples, and for each sample of a second.
_BAUD_OF_A_RUN: Final = 100_000
_BAUD_OF_A_SAMPLE: Final = 25
_WORTH_A_WORD_NS: Final = 5 * NS_PER_S


def tell(board: LinuxBoard, prepared: Prepared) -> None:
    """Before the run, where the rest of its stream is fetched for more than a few seconds after the end."""
    plan = prepared.plan
    if board.baud is None:
        return
    kept = plan.keep_samples and prepared.probe.own_threads and plan.interval_ns is not None
    samples = len(prepared.cpus) * NS_PER_S // plan.interval_ns if kept and plan.interval_ns else 0
    needed = _BAUD_OF_A_RUN + samples * _BAUD_OF_A_SAMPLE
    after_ns = prepared.planned_ns * max(0, needed - board.baud) // board.baud
    if after_ns >= _WORTH_A_WORD_NS:
        board.notice(
            f"this run says as much as some {needed:,} baud carry, and the line has {board.baud:,}: "
            f"the rest is fetched for about {format_time(after_ns)} after the end"
            + ("; --no-samples leaves the samples out" if kept else "")
        )

"""The ways to measure by the kernel's own tracers: what they refuse before they touch the board."""

from __future__ import annotations

import pytest

from .board import run

EXIT_USAGE = 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("osnoise", "--duration", "5s"), "for example --interval 1s"),
        (("hwlat", "--duration", "5s"), "for example --interval 1s"),
        (("timerlat", "--interval", "10us"), "from 100us to 1s"),
        (("timerlat", "--interval", "1000500ns"), "whole microseconds"),
        (("timerlat", "--interval", "1ms", "--aligned"), "--aligned"),
        (("osnoise", "--interval", "1s", "--trace-above", "1ms"), "--trace-above goes with cyclic and timerlat"),
        (("osnoise", "--interval", "1s", "--policy", "fifo"), "leave one CPU out of --cpus"),
        (("hwlat", "--interval", "1s", "--width", "1s"), "--width must be below the --interval"),
        (("hwlat", "--interval", "1s", "--priority", "5"), "interrupts are off"),
    ],
)
def test_what_is_refused_before_the_board_is_touched(words: tuple[str, ...], told: str) -> None:
    refused = run(*words)
    assert refused.returncode == EXIT_USAGE and refused.stdout == b""
    assert told in refused.stderr.decode()

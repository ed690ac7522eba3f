"""rtprobe gpio without a GPIO chip that could be measured: what is missing is named. With one: tests/lab/test_gpio_on_wired_lines.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from .board import NEEDS_PROBE, run

pytestmark = NEEDS_PROBE
CHIPS = sorted(Path("/dev").glob("gpiochip*"))


@pytest.mark.skipif(bool(CHIPS), reason="this machine has a GPIO chip")
@pytest.mark.parametrize("chip", ["gpiochip0", "/dev/gpiochip0", "/dev/null"])
def test_a_board_without_a_chip_is_told_what_it_lacks(chip: str) -> None:
    done = run("gpio", "--chip", chip, "--out", "0", "--in", "1", "--duration", "1s")
    assert (done.returncode, done.stdout) == (3, b"")
    told = done.stderr.decode()
    assert "no GPIO chip (no /dev/gpiochip*)" in told and "`response` measures answers without a wire" in told


@pytest.mark.parametrize(
    ("words", "why"),
    [(("--chip", "x", "--out", "0"), "gpio needs --in"), (("--out", "0", "--in", "1"), "gpio needs --chip"),
     (("--chip", "x", "--out", "0", "--in", "1", "--trace-above", "1ms"), "gpio keeps no trace"),
     (("--chip", "x", "--out", "0", "--in", "1", "--policy", "deadline"), "--policy deadline is for cyclic")],
)  # fmt: skip
def test_a_plan_that_cannot_be_carried_out_is_a_usage_error(words: tuple[str, ...], why: str) -> None:
    done = run("gpio", *words)
    assert done.returncode == 2 and why in done.stderr.decode()

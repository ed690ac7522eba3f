"""rtassay tune on the disk board (Debian, systemd, GRUB): services stopped and started, files kept, words of the command line for one boot."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtassay.boards.known import resolve
from rtassay.boot.switch import switch_kernel
from rtassay.lab import disk, machine
from rtassay.lab.machine import Machine
from rtassay.model.errors import BoardError
from rtassay.model.tuning import KEPT_SYSCTL, KEPT_UNIT

PATIENCE_S = 300.0
KEPT = '[[write]]\nfile = "/proc/sys/vm/stat_interval"\nvalue = 7\n[[write]]\nfile = "/sys/kernel/mm/transparent_hugepage/enabled"\nvalue = "never"\n'


@pytest.fixture(scope="module", name="board")
def _board() -> Iterator[Machine]:
    started = machine.start(
        disk.build(lambda words: None), lambda words: None, name=f"test-{os.getpid()}-tuned", with_parent=True
    )
    try:
        yield started
    finally:
        machine.stop(started)


def tune(board: Machine, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", "tune", f"lab:{board.name}", *words],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "RTASSAY_HOME": str(home)},
        check=False,
    )


def text(board: Machine, script: str) -> str:
    done = board.ssh(script, timeout_s=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode().strip() if isinstance(done.stdout, bytes) else done.stdout.strip()


def rebooted(board: Machine) -> None:
    before = text(board, "cat /proc/sys/kernel/random/boot_id")
    board.ssh("systemctl reboot")
    end = time.monotonic() + PATIENCE_S
    while True:
        assert time.monotonic() < end, "the board does not come back"
        time.sleep(2)
        try:
            if text(board, "cat /proc/sys/kernel/random/boot_id") != before:
                return
        except (AssertionError, subprocess.TimeoutExpired):
            continue


@pytest.mark.full
def test_a_stopped_service_is_started_again(board: Machine, tmp_path: Path) -> None:
    timers = "systemctl list-units --type=timer --state=active --no-legend --plain | cut -d' ' -f1 | sort"
    before = text(board, timers)
    done = tune(board, tmp_path, "--only", "background-timers")
    assert done.returncode == 0, done.stderr + done.stdout
    stopped = set(before.split()) - set(text(board, timers).split())
    assert stopped and "background-timers" in done.stdout
    assert tune(board, tmp_path, "--revert").returncode == 0
    assert text(board, timers) == before


@pytest.mark.full
def test_words_hold_for_one_boot_and_what_is_kept_for_every_boot(board: Machine, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(KEPT)
    now = "cat /proc/sys/vm/stat_interval /sys/kernel/mm/transparent_hugepage/enabled /proc/cmdline; cat /boot/grub/custom.cfg 2>/dev/null || true"
    before = text(board, now)
    done = tune(board, tmp_path, "--plan", str(plan), "--keep")
    assert done.returncode == 0, done.stderr + done.stdout
    removal = next(line for line in done.stdout.split("\n") if line.startswith("to remove them")).partition(": ")[2]
    assert text(board, f"ls {KEPT_SYSCTL} {KEPT_UNIT}").split() == [KEPT_SYSCTL, KEPT_UNIT]
    assert tune(board, tmp_path, "--revert").returncode == 0
    assert text(board, now) == before
    done = tune(board, tmp_path, "--only", "isolcpus", "--goal", "isolated=1", "--boot")
    assert done.returncode == 0, done.stderr + done.stdout
    assert "isolcpus: took: CPU 1 isolated" in done.stdout
    assert text(board, "cat /sys/devices/system/cpu/isolated") == "1"
    # What is kept acts from the next boot on, and this was one.
    assert text(board, now).split("\n")[:2] == ["7", "always madvise [never]"]
    text(board, removal)
    rebooted(board)
    assert text(board, now) == before


@pytest.mark.full
def test_words_that_do_not_boot_fall_back_to_the_command_line_of_before(board: Machine) -> None:
    """Without its initrd this kernel finds no disk and panics; the boot after it is as before, without anybody at the board."""
    # GRUB leaves an empty next_entry behind, which is none.
    now = "cat /proc/cmdline; cat /boot/grub/custom.cfg 2>/dev/null || true; grub-editenv /boot/grub/grubenv list | grep -v '^next_entry=$'"
    before, boot_id = text(board, now), text(board, "cat /proc/sys/kernel/random/boot_id")

    async def tried() -> None:
        opened = resolve(f"lab:{board.name}")
        try:
            await switch_kernel(opened, None, words=("rdinit=/nothing",))
        finally:
            await opened.close()

    with pytest.raises(BoardError, match="came back without rdinit=/nothing"):
        asyncio.run(tried())
    assert text(board, now) == before and text(board, "cat /proc/sys/kernel/random/boot_id") != boot_id
    # The console of the board saw both boots.
    assert "Kernel panic" in (Path(board.directory) / "console.log").read_text(errors="replace")

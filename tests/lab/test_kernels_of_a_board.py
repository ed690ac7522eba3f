"""`rtassay kernel` and `rtassay lab` on real kernels: kexec on the quick board, GRUB on the disk board (make test-all)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from vboard import Board, Setup

from rtassay.lab import disk, machine

EXIT_USAGE, EXIT_BOARD = 2, 3


def rtassay(*argv: str, timeout_s: float = 900.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtassay", *argv], capture_output=True, text=True, timeout=timeout_s, check=False
    )


def answer(*argv: str) -> dict[str, Any]:
    done = rtassay(*argv, "--json")
    assert done.returncode == 0, f"rtassay {' '.join(argv)}: exit {done.returncode}: {done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def identity(board: str) -> tuple[str, str]:
    """(release, boot_id) by a way of its own."""
    done = rtassay("lab", "ssh", board, "uname -r; cat /proc/sys/kernel/random/boot_id")
    assert done.returncode == 0, done.stderr
    release, boot_id = done.stdout.split()
    return release, boot_id


def assert_switches(board: str, kernel: str, *options: str) -> str:
    """Another boot, the kernel asked for; its release."""
    before = identity(board)
    running = answer("kernel", "use", kernel, board, *options)["running"]
    release, boot_id = identity(board)
    assert boot_id != before[1]
    assert (running["release"], running["boot_id"]) == (release, boot_id)
    assert running["rt"] == (kernel == "rt") == ("-rt-" in release)
    return release


def left_behind(board: str) -> str:
    script = (
        "ls -d /run/rtassay* /tmp/rtassay* /dev/shm/rtassay* /boot/*rtassay* 2>/dev/null; cat /sys/kernel/kexec_loaded"
    )
    return rtassay("lab", "ssh", board, script).stdout.strip()


@pytest.mark.full
@pytest.mark.parametrize(
    "setup", [Setup("rt", "rt"), Setup("arm64", "stock", arch="arm64")], ids=lambda setup: setup.name
)
def test_kexec_takes_a_board_to_its_other_kernel(board: Board) -> None:
    listed = answer("kernel", "list", board.name)
    assert listed["loader"] == "kexec"
    assert sorted(kernel["rt"] for kernel in listed["kernels"]) == [False, True]
    assert listed["running"]["rt"] == (board.setup.kernel == "rt")
    refused = rtassay("kernel", "use", "rt", board.name, "--default")
    assert refused.returncode == EXIT_USAGE and "--once" in refused.stderr
    unknown = rtassay("kernel", "use", "nothing-like-it", board.name)
    assert unknown.returncode == EXIT_USAGE and "-rt-" in unknown.stderr
    other = "stock" if board.setup.kernel == "rt" else "rt"
    assert_switches(board.name, other)
    assert left_behind(board.name) == "0"


# --- the disk board: minutes to build and to boot ---


@pytest.fixture(scope="module")
def grub_board() -> Iterator[str]:
    started = machine.start(
        disk.build(lambda words: None), lambda words: None, name=f"test-{os.getpid()}-disk", with_parent=True
    )
    try:
        yield f"lab:{started.name}"
    finally:
        machine.stop(started)


def grub_environment(board: str) -> list[str]:
    return rtassay("lab", "ssh", board, "grub-editenv /boot/grub/grubenv list").stdout.split()


@pytest.mark.full
def test_grub_boots_another_kernel_once_and_comes_back(grub_board: str) -> None:
    listed = answer("kernel", "list", grub_board)
    assert listed["loader"] == "grub"
    assert {k["id"]: (k["rt"], k["default"]) for k in listed["kernels"]} == {
        "stock": (False, True),
        "rt": (True, False),
    }
    assert_switches(grub_board, "rt")
    assert "saved_entry=stock" in grub_environment(grub_board)
    assert not [
        line for line in grub_environment(grub_board) if line.startswith("next_entry=") and line != "next_entry="
    ]
    assert_switches(grub_board, "stock")


@pytest.mark.full
def test_a_kernel_is_put_beside_the_others_boots_and_the_default_stays(grub_board: str, tmp_path: Path) -> None:
    """The board's own stock kernel under another release: what a newly built one looks like to the board."""
    release, _ = identity(grub_board)
    tree = tmp_path / "tree"
    (tree / "boot").mkdir(parents=True)
    for name in ("vmlinuz", "config"):
        done = subprocess.run(
            [sys.executable, "-m", "rtassay", "lab", "ssh", grub_board, f"cat /boot/{name}-{release}"],
            capture_output=True,
            check=True,
        )
        (tree / "boot" / f"{name}-9.9.9-mine").write_bytes(done.stdout)
    (tree / "lib/modules/9.9.9-mine").mkdir(parents=True)
    (tree / "lib/modules/9.9.9-mine/modules.builtin").write_text("")
    assert answer("kernel", "install", str(tree), grub_board)["release"] == "9.9.9-mine"
    kernels = {kernel["id"]: kernel["default"] for kernel in answer("kernel", "list", grub_board)["kernels"]}
    assert kernels == {"stock": True, "rt": False, "rtassay-9.9.9-mine": False}


@pytest.mark.full
def test_a_kernel_that_does_not_boot_is_said_and_the_default_is_there_after_a_reset(grub_board: str) -> None:
    """The kernel installed above has no modules for its disk: the board hangs or panics, and reboots into the default."""
    _, boot_before = identity(grub_board)
    done = rtassay("kernel", "use", "9.9.9-mine", grub_board, "--within", "4min")
    assert done.returncode == EXIT_BOARD
    assert "default was not changed" in done.stderr
    found = machine.find(grub_board.removeprefix("lab:"))
    assert found is not None
    found.reset()
    machine._wait_until_ready(found, _Alive(), 300)
    release, boot_now = identity(grub_board)
    assert boot_now != boot_before and "9.9.9" not in release and "-rt-" not in release


class _Alive:
    """A process object of a machine that somebody else started."""

    returncode = None

    def poll(self) -> None:
        return None

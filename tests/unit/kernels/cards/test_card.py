"""Which devices are written: never one that is in use, and one that is not removable only if it is named twice."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rtassay.kernels.cards.card import allowed_device
from rtassay.model.errors import UsageError

CARD, PART = Path("/dev/sdx"), (8, 17)


@pytest.fixture
def system(tmp_path: Path) -> Path:
    """/sys and /proc with a card reader: sdx with one partition."""
    disk = tmp_path / "sys/devices/usb/block/sdx"
    (disk / "sdx1/holders").mkdir(parents=True)
    (disk / "device").mkdir()
    for name, text in (
        ("dev", "8:16"), ("removable", "1"), ("size", "62333952"), ("device/model", "STORAGE DEVICE"),
        ("sdx1/dev", "8:17"), ("sdx1/partition", "1"),
    ):  # fmt: skip
        (disk / name).write_text(text + "\n")
    by_number = tmp_path / "sys/dev/block"
    by_number.mkdir(parents=True)
    (by_number / "8:16").symlink_to(disk)
    (by_number / "8:17").symlink_to(disk / "sdx1")
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/mountinfo").write_text("22 1 254:1 / / rw - ext4 /dev/vda rw\n")
    (tmp_path / "proc/self/mounts").write_text("/dev/vda / ext4 rw 0 0\n")
    (tmp_path / "proc/swaps").write_text("Filename\tType\tSize\n")
    return tmp_path


def look(system: Path, minor: int = 16, this_one: bool = False) -> None:
    allowed_device(CARD, os.makedev(8, minor), this_one, system)


def test_a_removable_device_that_nobody_uses_is_written(system: Path) -> None:
    look(system)


@pytest.mark.parametrize("this_one", [False, True])
def test_a_device_in_use_is_refused_whatever_is_said(system: Path, this_one: bool) -> None:
    files = {
        "proc/self/mountinfo": ("40 22 8:17 / /media/card rw - ext4 /dev/sdx1 rw\n", "mounted on /media/card"),
        "proc/self/mounts": ("/dev/sdx1 /media/card btrfs rw 0 0\n", "mounts"),
        "proc/swaps": ("/dev/sdx1 partition 100 0 -2\n", "swaps"),
    }
    for name, (line, told) in files.items():
        before = (system / name).read_text()
        (system / name).write_text(before + line)
        with pytest.raises(UsageError, match="in use") as refused:
            look(system, this_one=this_one)
        assert told in str(refused.value)
        (system / name).write_text(before)
    (system / "sys/devices/usb/block/sdx/sdx1/holders/dm-0").mkdir()
    with pytest.raises(UsageError, match="dm-0"):
        look(system, this_one=this_one)


def test_a_partition_is_no_card(system: Path) -> None:
    with pytest.raises(UsageError, match="is a partition") as refused:
        look(system, 17, True)
    assert refused.value.hint == "name it: /dev/sdx"


def test_a_fixed_disk_is_refused_unless_it_is_meant(system: Path) -> None:
    (system / "sys/devices/usb/block/sdx/removable").write_text("0\n")
    with pytest.raises(UsageError, match=r"not removable: it is STORAGE DEVICE, 31\.9 GB") as refused:
        look(system)
    assert "--yes-this-one" in str(refused.value.hint)
    look(system, this_one=True)

"""Cards that are made: partitions, boot files, login and settings, as debugfs and mtools read them. Debian itself is a stand-in here."""

from __future__ import annotations

import io
import json
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cards
import pytest
from cards import ENVIRONMENT, image, kernel, tool
from command_line import in_process

from rtassay.boot.extlinux_menu import default_of, labels
from rtassay.boot.raspberry import chosen, initramfs
from rtassay.kernels import debian
from rtassay.kernels.arches import target_named
from rtassay.kernels.cards.making import Asked, make
from rtassay.kernels.package import package
from rtassay.model.errors import BoardError, InputFileError, UsageError

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ engineer@host"
STOCK, RT = "6.12.1-stock", "6.12.1-rt"


@pytest.fixture
def debs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Two kernels as packages, and in place of mmdebstrap a root that holds them."""
    made = []
    for release in (STOCK, RT):
        home = kernel(tmp_path / release, release, trees=("broadcom/bcm2711-rpi-4-b.dtb",))
        made.append(str(package(home, release, "arm64", 86400)))
    (tmp_path / "key.pub").write_text(KEY + "\n")
    monkeypatch.setattr(debian, "root_of", stand_in)
    return made[0], made[1]


def stand_in(
    tar: Path, target: Any, packages: Sequence[str], say: Any, *, what: str, components: Any, hooks: Sequence[str]
) -> None:
    """The files that mmdebstrap and dpkg would bring, of the kernels that the hooks install."""
    files: dict[str, bytes] = {"usr/bin/true": b"program", "etc/hostname": b"the host that made it\n"}
    for hook in hooks:
        if "upload " in hook:
            deb = hook.split("upload ")[1].split("'")[1]
            release = STOCK if "stock" in deb else RT
            files |= {
                f"boot/vmlinuz-{release}": image(words=release.encode()),
                f"boot/initrd.img-{release}": release.encode(),
            }
            files[f"usr/lib/linux-image-{release}/broadcom/bcm2711-rpi-4-b.dtb"] = release.encode()
            files[f"usr/lib/modules/{release}/modules.dep"] = b""
    if "raspi-firmware" in packages:
        assert tuple(components) == ("non-free-firmware",)
        files |= {
            f"usr/lib/raspi-firmware/{name}": name.encode() for name in ("start4.elf", "fixup4.dat", "bootcode.bin")
        }
    with tarfile.open(tar, "w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size, info.uid, info.mode = len(content), 0, 0o755
            archive.addfile(info, io.BytesIO(content))


def at(disk: Path, number: int) -> int:
    told = subprocess.run(["sfdisk", "--json", disk], capture_output=True, check=True, env=ENVIRONMENT).stdout
    start: int = json.loads(told)["partitiontable"]["partitions"][number]["start"]
    return start * 512


def ext(disk: Path, path: str, number: int) -> bytes:
    return tool("debugfs", "-R", f"cat {path}", f"{disk}?offset={at(disk, number)}")


def stat(disk: Path, path: str, number: int) -> str:
    return tool("debugfs", "-R", f"stat {path}", f"{disk}?offset={at(disk, number)}").decode()


def asked(tmp_path: Path, kernels: tuple[str, ...], **more: Any) -> Asked:
    return Asked(kernels, tmp_path / "card.img", key=tmp_path / "key.pub", size_mib=1024, host="pi-one", **more)


def test_a_card_for_u_boot(tmp_path: Path, debs: tuple[str, str]) -> None:
    words = (
        "image",
        *debs,
        "-o",
        tmp_path / "card.img",
        "--key",
        tmp_path / "key.pub",
        "--size",
        "1G",
        "--name",
        "pi-one",
    )
    done = in_process(*words, "--words", "isolcpus=3", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert f"{STOCK}  (default)" in done.stdout and "dd if=" in done.stderr
    disk = tmp_path / "card.img"
    conf = ext(disk, "/boot/extlinux/extlinux.conf", 0).decode()
    first, second = labels(conf)
    assert default_of(conf) == first and (first.name, second.name) == (STOCK, RT)
    for label, release in ((first, STOCK), (second, RT)):
        assert label.value(("append",)) == "root=LABEL=rtassay rw rootwait isolcpus=3"
        assert ext(disk, str(label.value(("linux",))), 0) == image(words=release.encode())
        assert ext(disk, str(label.value(("initrd",))), 0) == release.encode()
        assert f"{release}" in stat(disk, f"{label.value(('fdtdir',))}", 0) or label.value(("fdtdir",))
    assert ext(disk, "/etc/hostname", 0) == b"pi-one\n" and ext(disk, "/etc/fstab", 0).startswith(
        b"LABEL=rtassay / ext4"
    )
    login = stat(disk, "/root/.ssh/authorized_keys", 0)
    assert (
        ext(disk, "/root/.ssh/authorized_keys", 0).decode() == KEY + "\n"
        and "Mode:  0600" in login
        and "User:     0" in login
    )
    assert 'Fast link dest: "/dev/null"' in stat(disk, "/etc/systemd/system/apt-daily.timer", 0)
    assert b"swap" not in ext(disk, "/etc/fstab", 0) and "Mode:  0755" in stat(disk, "/usr/bin/true", 0)
    check = ["e2fsck", "-fn", f"{disk}?offset={at(disk, 0)}"]
    assert subprocess.run(check, capture_output=True, check=False, env=ENVIRONMENT).returncode == 0


def test_a_card_for_a_raspberry_pi(tmp_path: Path, debs: tuple[str, str]) -> None:
    made = make(asked(tmp_path, debs, board="raspberry-pi"))
    assert made.kernels == (STOCK, RT)
    disk = f"{made.path}@@{at(made.path, 0)}"

    def fat(name: str) -> bytes:
        return tool("mtype", "-i", disk, f"::/{name}")

    config, once = fat("config.txt").decode(), fat("tryboot.txt").decode()
    assert (chosen(config), initramfs(config)) == (f"vmlinuz-{STOCK}", f"initrd.img-{STOCK}")
    assert (chosen(once), initramfs(once)) == (f"rtassay-{RT}/kernel.img", f"rtassay-{RT}/initrd.img")
    assert "arm_64bit=1" in config and fat("start4.elf") == b"start4.elf"
    assert fat(str(chosen(config))) == image(words=STOCK.encode()) and fat(str(chosen(once))) == image(
        words=RT.encode()
    )
    assert fat("bcm2711-rpi-4-b.dtb") == STOCK.encode() and fat(f"rtassay-{RT}/bcm2711-rpi-4-b.dtb") == RT.encode()
    assert fat("cmdline.txt") == fat(f"rtassay-{RT}/cmdline.txt") == b"root=LABEL=rtassay rw rootwait\n"
    assert b"LABEL=FIRMWARE /boot/firmware vfat" in ext(made.path, "/etc/fstab", 1)


def test_what_is_wrong_is_said_and_no_image_is_left(
    tmp_path: Path, debs: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong: Mapping[str, tuple[dict[str, Any], type[Exception]]] = {
        "no cards for": ({"board": "vax"}, UsageError),
        "does not run": ({"board": "raspberry-pi", "arch": "riscv64"}, UsageError),
        "is for arm64": ({"arch": "armhf"}, UsageError),
        "plain text": ({"words": "a\nb"}, UsageError),
    }
    for told, (changes, kind) in wrong.items():
        with pytest.raises(kind, match=told):
            make(asked(tmp_path, debs, **changes))
    with pytest.raises(UsageError, match="no kernel build 'nothing'"):
        make(asked(tmp_path, ("nothing",)))
    for text, told in (("-----BEGIN OPENSSH PRIVATE KEY-----", "private key"), ("words", "no public key")):
        (tmp_path / "key.pub").write_text(text)
        with pytest.raises(InputFileError, match=told):
            make(asked(tmp_path, debs))
    (tmp_path / "key.pub").write_text(KEY)

    def without_initrd(tar: Path, *words: Any, **more: Any) -> None:
        stand_in(tar, *words, **{**more, "hooks": ()})

    monkeypatch.setattr(debian, "root_of", without_initrd)
    with pytest.raises(BoardError, match="holds no /boot/vmlinuz"):
        make(asked(tmp_path, debs))
    assert sorted(path.name for path in tmp_path.glob("*card*")) == [] and not list(tmp_path.glob(".card-*"))


def test_a_foreign_architecture_needs_its_emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(debian, "_REGISTERED", tmp_path)
    monkeypatch.setattr(debian.platform, "machine", lambda: "x86_64")
    with pytest.raises(BoardError, match="does not run programs for riscv64") as told:
        debian.root_of(tmp_path / "x.tar", target_named("riscv64"), ["bash"], print, what="x")
    assert "qemu-user-static" in str(told.value.hint) and not cards.tool("ls", tmp_path)

"""A kernel onto a card: every file as mtools and debugfs read it, the first kernel as before, and nothing left of what failed."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import cards
import pytest
from cards import card, ext_file, ext_is_sound, ext_stat, fat_file, fat_names, image, kernel
from command_line import in_process

from rtassay.boot.extlinux_menu import default_of, labels
from rtassay.boot.raspberry import chosen, initramfs
from rtassay.kernels.cards import files
from rtassay.kernels.cards.deploying import deploy
from rtassay.kernels.cards.menus.script import text_of, wrapped
from rtassay.model.errors import BoardError, InputFileError, UsageError

OLD, NEW = "6.1.0-1-arm64", "6.12.1-rt"
EXTLINUX = f"""\
default l0
timeout 50

label l0
\tmenu label Debian {OLD}
\tlinux /boot/vmlinuz-{OLD}
\tinitrd /boot/initrd.img-{OLD}
\tfdtdir /usr/lib/linux-image-{OLD}/
\tappend root=LABEL=card ro quiet
"""
FIRST = {
    f"boot/vmlinuz-{OLD}": image(),
    f"boot/initrd.img-{OLD}": cards.initrd(OLD, "ext4", "mmc-block", "crc32c_generic"),
}
WITH_EXTLINUX = {**FIRST, "boot/extlinux/extlinux.conf": EXTLINUX.encode()}


def archived(initrd: bytes) -> list[str]:
    """Names in an initrd, as cpio lists them."""
    plain = subprocess.run(["gzip", "-dc"], input=initrd, capture_output=True, check=True).stdout
    return (
        subprocess.run(["cpio", "-t", "--quiet"], input=plain, capture_output=True, check=True).stdout.decode().split()
    )


def test_extlinux_gets_a_label_and_the_first_stays_the_default(tmp_path: Path) -> None:
    disk = card(tmp_path / "c.img", WITH_EXTLINUX, table="gpt")
    done = deploy(kernel(tmp_path / "k", NEW, trees=("broadcom/a.dtb",)), disk)
    conf = ext_file(disk, "/boot/extlinux/extlinux.conf").decode()
    assert conf.startswith(EXTLINUX)
    first, new = labels(conf)
    assert default_of(conf) == first and new.name == f"rtassay-{NEW}"
    assert new.value(("append",)) == "root=LABEL=card ro quiet" and new.value(("fdtdir",)) == f"/boot/dtbs-{NEW}"
    assert ext_file(disk, str(new.value(("linux",)))) == image("arm64", NEW.encode())
    assert ext_file(disk, f"/boot/dtbs-{NEW}/broadcom/a.dtb") == b"broadcom/a.dtb"
    assert ext_file(disk, f"/boot/vmlinuz-{OLD}") == image()
    # the first one's initrd with the modules of the new one
    names = archived(ext_file(disk, str(new.value(("initrd",)))))
    below = f"usr/lib/modules/{NEW}"
    assert {"init", "dev/console", f"{below}/kernel/ext4.ko", f"{below}/modules.dep"} <= set(names)
    assert not any(OLD in name or "vfat" in name for name in names)
    assert done.absent == ("mmc_block",) and done.first == "l0" and not done.default
    module = ext_stat(disk, f"/lib/modules/{NEW}/kernel/vfat.ko")
    assert "User:     0   Group:     0" in module and "Mode:  0644" in module
    assert b"vfat.ko:" in ext_file(disk, f"/lib/modules/{NEW}/modules.dep")
    assert ext_is_sound(disk)


def test_a_raspberry_pi_gets_a_folder_and_tryboot(tmp_path: Path) -> None:
    config = "arm_64bit=1\n[pi4]\narm_boost=1\n[all]\nkernel=vmlinuz\ninitramfs initrd.img-old followkernel\n"
    fat = {
        "config.txt": config.encode(),
        "cmdline.txt": b"root=PARTUUID=1-02 rootwait\n",
        "vmlinuz": image(),
        "initrd.img-old": cards.initrd(OLD, "ext4"),
        "bcm2711-rpi-4-b.dtb": b"the card's",
    }
    disk = card(tmp_path / "c.img", {}, fat)
    before = fat_names(disk)
    source = kernel(tmp_path / "k", NEW, trees=("broadcom/bcm2711-rpi-4-b.dtb", "qcom/a.dtb"))
    words = ("kernel", "deploy", source, "--image", disk)
    done = in_process(*words, home=tmp_path / "home")
    assert done.returncode == 0 and "sudo reboot '0 tryboot'" in done.stdout, done.stderr
    assert fat_names(disk) == before | {f"rtassay-{NEW}", "tryboot.txt"}
    assert fat_names(disk, f"rtassay-{NEW}") == {
        f"rtassay-{NEW}/{name}" for name in ("kernel.img", "initrd.img", "cmdline.txt", "bcm2711-rpi-4-b.dtb")
    }
    assert fat_file(disk, "config.txt").decode() == config and fat_file(disk, "bcm2711-rpi-4-b.dtb") == b"the card's"
    assert fat_file(disk, f"rtassay-{NEW}/bcm2711-rpi-4-b.dtb") == b"broadcom/bcm2711-rpi-4-b.dtb"
    assert fat_file(disk, f"rtassay-{NEW}/cmdline.txt") == fat["cmdline.txt"]
    once = fat_file(disk, "tryboot.txt").decode()
    assert chosen(once) == f"rtassay-{NEW}/kernel.img" and initramfs(once) == f"rtassay-{NEW}/initrd.img"
    assert "arm_boost=1" in once and "\ninitramfs initrd.img-old" not in once
    assert f"usr/lib/modules/{NEW}/kernel/ext4.ko" in archived(fat_file(disk, f"rtassay-{NEW}/initrd.img"))
    assert ext_file(disk, f"/boot/vmlinuz-{NEW}", fat=True) == image("arm64", NEW.encode()) and ext_is_sound(
        disk, fat=True
    )
    again = in_process(*words, home=tmp_path / "home")
    assert again.returncode == 2 and "already" in again.stderr


def test_a_script_of_u_boot_is_kept_and_chosen_between(tmp_path: Path) -> None:
    script = (
        "setenv bootargs root=/dev/mmcblk0p1 rw\n"
        "load ${devtype} ${devnum}:${distro_bootpart} ${kernel_addr_r} ${prefix}Image\n"
        "load ${devtype} ${devnum}:${distro_bootpart} ${ramdisk_addr_r} ${prefix}uInitrd\n"
        "booti ${kernel_addr_r} ${ramdisk_addr_r} ${fdtcontroladdr}\n"
    )
    scr = wrapped(script.encode(), "script")
    root = {"boot/boot.scr": scr, "boot/Image": image(), "boot/uInitrd": wrapped(cards.initrd(OLD, "ext4"), "ramdisk")}
    disk = card(tmp_path / "c.img", root)
    deploy(kernel(tmp_path / "k", NEW), disk)
    assert ext_file(disk, "/boot/boot-first.scr") == scr
    choice = text_of(ext_file(disk, "/boot/boot.scr"), "boot.scr")
    assert "then setenv rtassay_kernel first; fi" in choice
    second = text_of(ext_file(disk, f"/boot/boot-{NEW}.scr"), "boot.scr")
    assert second == script.replace("Image\n", f"vmlinuz-{NEW}\n").replace("uInitrd", f"initrd.img-{NEW}")
    ramdisk = ext_file(disk, f"/boot/initrd.img-{NEW}")
    assert f"usr/lib/modules/{NEW}/kernel/ext4.ko" in archived(ramdisk[64:])
    # a third one knows the first script, and may become the default
    done = deploy(kernel(tmp_path / "k3", "7.0.0"), disk, default=True)
    assert done.first == "Image" and ext_file(disk, "/boot/boot-first.scr") == scr
    assert "then setenv rtassay_kernel 7.0.0; fi" in text_of(ext_file(disk, "/boot/boot.scr"), "boot.scr")


def test_grub_gets_an_entry_and_keeps_or_takes_the_default(tmp_path: Path) -> None:
    cfg = (
        'load_env\nset default="${saved_entry}"\nmenuentry_id_option="--id"\n'
        f"menuentry 'Debian' $menuentry_id_option 'stock' {{\n  linux /boot/vmlinuz-{OLD} root=/dev/vda1 ro\n  initrd /boot/initrd.img-{OLD}\n}}\n"
        "source /boot/grub/custom.cfg\n"
    )
    environment = b"# GRUB Environment Block\nsaved_entry=stock\n".ljust(1024, b"#")
    root = {
        **FIRST,
        f"boot/vmlinuz-{OLD}": image("amd64"),
        "boot/grub/grub.cfg": cfg.encode(),
        "boot/grub/grubenv": environment,
    }
    disk = card(tmp_path / "c.img", root)
    deploy(kernel(tmp_path / "k", NEW, arch="amd64"), disk)
    custom = ext_file(disk, "/boot/grub/custom.cfg").decode()
    assert f"linux /boot/vmlinuz-{NEW} root=/dev/vda1 ro" in custom and f"initrd /boot/initrd.img-{NEW}" in custom
    assert ext_file(disk, "/boot/grub/grubenv") == environment and ext_file(disk, "/boot/grub/grub.cfg") == cfg.encode()
    deploy(kernel(tmp_path / "k3", "7.0.0", arch="amd64"), disk, default=True)
    block = ext_file(disk, "/boot/grub/grubenv")
    assert len(block) == 1024 and b"\nsaved_entry=rtassay-7.0.0\n" in block
    assert {"'6.12.1-rt'", "'7.0.0'"} <= set(ext_file(disk, "/boot/grub/custom.cfg").decode().split())


def content_of(disk: Path) -> dict[str, str]:
    """Every file of the card with its hash."""
    found: dict[str, str] = {}

    def walk(part: files.Ext, folder: str) -> None:
        for name, is_folder in part.names(folder or "/").items():
            path = f"{folder}/{name}"
            if is_folder:
                found[f"{path}/"] = ""
                walk(part, path)
            else:
                found[path] = hashlib.sha256(part.read(path) or b"").hexdigest()

    walk(files.Ext(disk, cards.FAT_AT * 512, "card"), "")
    return found


def test_what_fails_at_the_last_file_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = card(tmp_path / "c.img", WITH_EXTLINUX)
    before = content_of(disk)
    written = files.Ext.write
    failures = [BoardError("the card is worn out")]

    def write(self: files.Ext, content: dict[str, files.Content]) -> None:
        written(self, content)
        if "/boot/extlinux/extlinux.conf" in content and failures:
            raise failures.pop()

    monkeypatch.setattr(files.Ext, "write", write)
    with pytest.raises(BoardError, match="worn out"):
        deploy(kernel(tmp_path / "k", NEW), disk)
    assert content_of(disk) == before and ext_is_sound(disk)


def test_what_cannot_boot_there_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    disk = card(tmp_path / "c.img", WITH_EXTLINUX)
    before = disk.read_bytes()
    for number, (changes, told) in enumerate(
        (
            ({"arch": "amd64"}, "for amd64, and the card's is for arm64"),
            ({"options": ("EXT4_FS=y",)}, "takes no initrd"),
            ({"size": 26 << 20}, "no room"),
        )
    ):
        with pytest.raises((UsageError, BoardError), match=told):
            deploy(kernel(tmp_path / f"k{number}", NEW, **changes), disk)  # type: ignore[arg-type]
        assert disk.read_bytes() == before
    bare = EXTLINUX.replace(f"\tinitrd /boot/initrd.img-{OLD}\n", "")
    without = card(tmp_path / "d.img", {**FIRST, "boot/extlinux/extlinux.conf": bare.encode()})
    with pytest.raises(UsageError, match="by itself"):
        deploy(kernel(tmp_path / "k9", NEW, options=("EXT4_FS=m",)), without)


def test_what_is_no_card_is_said(tmp_path: Path) -> None:
    source = kernel(tmp_path / "k", NEW)
    plain = tmp_path / "plain.img"
    plain.write_bytes(bytes(1 << 20))
    with pytest.raises(InputFileError, match="no image of a card"):
        deploy(source, plain)
    with pytest.raises(UsageError, match="neither a file nor a block device"):
        deploy(source, tmp_path)
    disk = card(tmp_path / "c.img", FIRST)
    with pytest.raises(InputFileError, match="no boot loader"):
        deploy(source, disk)
    cards.tool("debugfs", "-w", "-R", "ssv state 0", cards.ext_at(disk, False))
    with pytest.raises(BoardError, match="not put away cleanly"):
        deploy(source, disk)
    told = in_process("kernel", "deploy", source, home=tmp_path / "home")
    assert told.returncode == 2 and "--image" in told.stderr
    told = in_process("kernel", "deploy", source, "pi", "--image", disk, home=tmp_path / "home")
    assert told.returncode == 2


def test_json_names_every_file(tmp_path: Path) -> None:
    disk = card(tmp_path / "c.img", WITH_EXTLINUX, merged=True)
    done = in_process(
        "kernel", "deploy", kernel(tmp_path / "k", NEW), "--image", disk, "--json", home=tmp_path / "home"
    )
    told = json.loads(done.stdout)
    assert told["schema"] == "rtassay/kernel-card/1" and told["loader"] == "extlinux" and told["release"] == NEW
    (paths,) = told["written"].values()
    assert {f"/boot/vmlinuz-{NEW}", f"/usr/lib/modules/{NEW}/kernel/ext4.ko"} <= set(paths) and all(
        ext_file(disk, path) for path in paths if path.endswith(".ko")
    )

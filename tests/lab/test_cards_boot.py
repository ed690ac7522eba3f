"""A card that `rtassay kernel deploy --image` wrote boots in QEMU: U-Boot reads extlinux.conf or boot.scr from it, both kernels come up (make test-all)."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cards import card, ext_is_sound

from rtassay.kernels.cards import initrd
from rtassay.kernels.cards.deploying import deploy
from rtassay.kernels.cards.menus.script import wrapped
from rtassay.lab.initramfs import Initramfs
from rtassay.lab.packages import Packages

MODULES = ("crc32c_generic", "virtio_pci", "virtio_mmio", "virtio_blk", "ext4")
# What the initrd of a distribution does, in short: drivers of the disk and its file system, then the disk's own system.
INIT = f"""#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev
for one in {" ".join(MODULES)}; do modprobe $one; done
mkdir /card; mount -t ext4 /dev/vda1 /card && echo "card: $(cat /card/etc/hostname)"
echo "runs: $(uname -r) $(uname -v)"
poweroff -f
"""
EXTLINUX = """\
default first
prompt 1
timeout 10

label first
\tlinux /boot/vmlinuz-{release}
\tinitrd /boot/initrd.img-{release}
\tappend console=ttyAMA0 panic=-1
"""
SCRIPT = """\
setenv bootargs console=ttyAMA0 panic=-1
load ${{devtype}} ${{devnum}}:${{distro_bootpart}} ${{kernel_addr_r}} ${{prefix}}vmlinuz-{release}
load ${{devtype}} ${{devnum}}:${{distro_bootpart}} ${{ramdisk_addr_r}} ${{prefix}}initrd.img-{release}
booti ${{kernel_addr_r}} ${{ramdisk_addr_r}}:${{filesize}} ${{fdt_addr}}
"""


@dataclass(frozen=True)
class Kernels:
    """Debian's kernels for arm64, unpacked; U-Boot for QEMU; the initrd of the stock one."""

    stock: Path
    rt: Path
    u_boot: Path
    initrd: bytes

    def release(self, kind: str) -> str:
        (image,) = (self.stock if kind == "stock" else self.rt).glob("boot/vmlinuz-*")
        return image.name.removeprefix("vmlinuz-")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernels]:
    packages = Packages("arm64")
    names = packages.newest({"stock": "linux-image-arm64", "rt": "linux-image-rt-arm64"})
    patterns = ("boot/*", "lib/modules/**")
    homes = packages.unpacked({**dict.fromkeys(names.values(), patterns), "busybox-static": ("bin/busybox",)}, print)
    loader = Packages("amd64").unpacked({"u-boot-qemu": ("usr/lib/u-boot/qemu_arm64/u-boot.bin",)}, print)[
        "u-boot-qemu"
    ]
    stock = homes[names["stock"]]
    release = names["stock"].removeprefix("linux-image-")
    archive = Initramfs()
    archive.directory("bin")
    archive.file("bin/busybox", (homes["busybox-static"] / "bin/busybox").read_bytes(), 0o755)
    archive.file("init", INIT.encode(), 0o755)
    for folder in ("proc", "sys", "dev"):
        archive.directory(folder)
    archive.device("dev/console", 5, 1)
    modules = stock / "lib/modules" / release
    for name in MODULES:
        for path in modules.rglob(f"{name}.ko"):
            archive.directory(f"lib/modules/{release}/kernel")
            archive.file(f"lib/modules/{release}/kernel/{path.name}", path.read_bytes())
    # The lists of the whole kernel, which a package makes on its board.
    lists = tmp_path_factory.mktemp("lists")
    (lists / "lib/modules").mkdir(parents=True)
    (lists / "lib/modules" / release).symlink_to(modules)
    initrd.depmod(lists, release)
    content = initrd.remade(archive.finish(), modules, release).content
    yield Kernels(stock, homes[names["rt"]], loader / "usr/lib/u-boot/qemu_arm64/u-boot.bin", content)


def booted(disk: Path, kernels: Kernels) -> str:
    """The console of one boot, from U-Boot to the poweroff."""
    console = disk.with_suffix(".console")
    argv = [
        "timeout",
        "-k",
        "10",
        "900",
        "qemu-system-aarch64",
        "-M",
        "virt",
        "-cpu",
        "cortex-a72",
        "-accel",
        "tcg,thread=single",
    ]
    argv += [
        "-m",
        "768M",
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
        "-serial",
        f"file:{console}",
        "-bios",
        str(kernels.u_boot),
    ]
    argv += ["-drive", f"file={disk},format=raw,if=none,id=card,snapshot=on", "-device", "virtio-blk-device,drive=card"]
    done = subprocess.run(
        ["setpriv", "--pdeathsig", "KILL", *argv], stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    told = console.read_text(errors="replace").replace("\r", "")
    assert done.returncode == 0, (done.stderr, told[-2000:])
    return told


def runs(console: str) -> tuple[str, bool]:
    found = re.search(r"^runs: (\S+) (.*)$", console, re.MULTILINE)
    assert found is not None and "card: the card" in console, console[-2000:]
    return found[1], "PREEMPT_RT" in found[2]


@pytest.mark.full
@pytest.mark.parametrize("loader", ["extlinux", "script"])
def test_u_boot_boots_the_first_kernel_and_the_one_that_was_put_beside_it(
    kernels: Kernels, tmp_path: Path, loader: str
) -> None:
    stock, rt = kernels.release("stock"), kernels.release("rt")
    root = {
        f"boot/vmlinuz-{stock}": (kernels.stock / f"boot/vmlinuz-{stock}").read_bytes(),
        f"boot/initrd.img-{stock}": kernels.initrd,
        "etc/hostname": b"the card\n",
    }
    if loader == "extlinux":
        root["boot/extlinux/extlinux.conf"] = EXTLINUX.format(release=stock).encode()
    else:
        root["boot/boot.scr"] = wrapped(SCRIPT.format(release=stock).encode(), "script")
    disk = card(tmp_path / "card.img", root, ext_mib=1024)
    done = deploy(kernels.rt, disk)
    assert done.loader in ("extlinux", "u-boot script") and done.release == rt and ext_is_sound(disk)
    assert runs(booted(disk, kernels)) == (stock, False), "the first one stays the default"
    second = card(tmp_path / "second.img", root, ext_mib=1024)
    done = deploy(kernels.rt, second, default=True)
    assert not done.absent
    assert runs(booted(second, kernels)) == (rt, True)

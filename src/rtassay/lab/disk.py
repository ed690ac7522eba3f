"""The disk board: Debian with systemd on an ext4 disk behind GRUB, both kernels in its menu, stress-ng, rt-tests and iperf3. amd64 only.

The build needs no loop device: mmdebstrap makes the tree, mke2fs makes a file system from it, grub-mkimage makes the boot loader.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay.lab.arches import ARCHES, Arch
from rtassay.lab.keys import Keys, lab_keys
from rtassay.lab.packages import Packages, debian_sources
from rtassay.lab.places import Say, cache_dir, need, publish, run
from rtassay.model.errors import BoardError

_METAPACKAGES = {"stock": "linux-image-amd64", "rt": "linux-image-rt-amd64"}
_INCLUDED = (
    *("dropbear-bin", "systemd-sysv", "udev", "dbus", "iproute2", "kexec-tools", "kmod", "sudo", "procps"),
    *("rt-tests", "stress-ng", "iperf3", "initramfs-tools", "zstd", "grub2-common", "grub-common"),
)
_MODULES = "virtio_pci\nvirtio_blk\next4\nvirtio_net\ncrc32c_generic\n"
# Modules that no virtual board needs.
_TRIMMED = ("sound", "drivers/gpu", "drivers/media", "drivers/infiniband", "drivers/net/wireless", "drivers/staging")
_SIZE_MIB = 2048
_FIRST_SECTOR = 2048
_GRUB = Path("/usr/lib/grub/i386-pc")
_GRUB_MODULES = "biosdisk part_msdos ext2 linux normal configfile loadenv serial terminal test echo boot reboot"
_EARLY = "set root=(hd0,msdos1)\nset prefix=($root)/boot/grub\nconfigfile /boot/grub/grub.cfg\n"
_CFG = """\
set timeout=0
menuentry_id_option="--id"
load_env
if [ "${next_entry}" ]; then
  set default="${next_entry}"
  set next_entry=
  save_env next_entry
else
  set default="${saved_entry}"
fi
serial --unit=0
terminal_output serial
"""
_ENTRY = """\
menuentry 'Debian GNU/Linux, with Linux {release}' --class debian $menuentry_id_option '{kind}' {{
  linux /boot/vmlinuz-{release} root=/dev/vda1 rw console=ttyS0 quiet panic=-1 net.ifnames=0
  initrd /boot/initrd.img-{release}
}}
"""
_CUSTOM = "if [ -f /boot/grub/custom.cfg ]; then\n  source /boot/grub/custom.cfg\nfi\n"
_NETWORK = "[Match]\nName=en* eth*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\n"
_SSHD = """\
[Unit]
Description=dropbear
After=systemd-networkd.service
[Service]
ExecStart=/usr/sbin/dropbear -F -E -s -m -p 22 -r /etc/dropbear/hostkey
Restart=always
[Install]
WantedBy=multi-user.target
"""
# root; a user without rights; a user of sudo without a password; a user whom sudo asks for a password.
_USERS = ("user", "engineer", "asked")
_SUDOERS = "engineer ALL=(ALL) NOPASSWD: ALL\nasked ALL=(ALL) ALL\n"


@dataclass(frozen=True, slots=True)
class DiskImage:
    """A qcow2 image that nobody writes to: every board has its own overlay."""

    arch: Arch
    path: Path


def build(say: Say) -> DiskImage:
    """The disk image: from the cache if it holds this content, else built as root in about two minutes.

    Raises BoardError when tools, rights or packages are missing.
    """
    packages = Packages("amd64")
    names = packages.newest(_METAPACKAGES)
    keys = lab_keys()
    digest = _own_digest()
    own = digest.hexdigest()
    digest.update(packages.versions([*names.values(), *_INCLUDED]).encode())
    home = cache_dir() / f"disk-amd64-{digest.hexdigest()[:16]}.qcow2"
    if not home.exists():
        need("mmdebstrap", "mke2fs", "grub-mkimage", "grub-editenv", "qemu-img")
        if not (_GRUB / "boot.img").exists():
            raise BoardError(
                "the lab needs GRUB for PCs", "not installed", "apt-get install --no-install-recommends grub-pc-bin"
            )
        if os.geteuid() != 0:
            raise BoardError(
                "the disk board is built as root",
                "its files belong to root",
                "sudo rtassay lab build disk, or use the quick board: rtassay lab start quick",
            )
        with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".disk-") as scratch:
            _build(Path(scratch), names, keys, say)
            publish(Path(scratch) / "disk.qcow2", home)
        for old in sorted(cache_dir().glob("disk-amd64-*.qcow2"), key=lambda path: path.stat().st_mtime)[:-2]:
            old.unlink(missing_ok=True)
    _current().write_text(f"{own} {home.name}")
    return DiskImage(ARCHES["amd64"], home)


def cached() -> DiskImage | None:
    """The last disk image that this rtassay built, without asking apt; None if there is none."""
    try:
        key, name = _current().read_text().split()
    except (OSError, ValueError):
        return None
    home = cache_dir() / name
    return DiskImage(ARCHES["amd64"], home) if key == _own_digest().hexdigest() and home.is_file() else None


def _current() -> Path:
    return cache_dir() / "current-disk-amd64"


def _own_digest() -> Any:
    """All that goes into the image beside Debian's packages."""
    keys = lab_keys()
    return hashlib.sha256(Path(__file__).read_bytes() + keys.authorized + keys.host.read_bytes())


def _build(scratch: Path, names: dict[str, str], keys: Keys, say: Say) -> None:
    begun = time.monotonic()
    root = scratch / "root"
    say("installing Debian with both kernels into a folder (mmdebstrap; a minute or two)")
    _debootstrap(root, names)
    say(f"making the disk ({time.monotonic() - begun:.0f} s so far)")
    _configure(root, {kind: name.removeprefix("linux-image-") for kind, name in names.items()}, keys)
    partition, disk = scratch / "partition", scratch / "disk.img"
    with partition.open("wb") as file:
        file.truncate(_SIZE_MIB << 20)
    argv = ["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^metadata_csum_seed,^metadata_csum", "-d", str(root)]
    run([*argv, str(partition)], what="make the file system of the disk")
    shutil.rmtree(root)
    _assemble(disk, partition, scratch)
    argv = ["qemu-img", "convert", "-O", "qcow2", "-c", str(disk), str(scratch / "disk.qcow2")]
    run(argv, what="compress the disk")
    say(f"the disk board is built: {(scratch / 'disk.qcow2').stat().st_size / 1e6:.0f} MB")


def _debootstrap(root: Path, names: dict[str, str]) -> None:
    sources = debian_sources()
    main = next(row for row in sources if not row[1].endswith(("-updates", "-security")))
    lines = [f"deb {uri} {suite} {component}" for uri, suite, component in sources]
    modules = 'mkdir -p "$1/etc/initramfs-tools/conf.d"; echo MODULES=list > "$1/etc/initramfs-tools/conf.d/lab"; '
    modules += f'printf "{_MODULES}" > "$1/etc/initramfs-tools/modules"'.replace("\n", "\\n")
    argv = ["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--architectures=amd64"]
    argv += [f"--include={','.join((*_INCLUDED, *names.values()))}", f"--setup-hook={modules}"]
    argv += ["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/locale/*"]
    run([*argv, main[1], str(root), *lines], what="install Debian for the disk board", timeout_s=1200)


def _configure(root: Path, releases: dict[str, str], keys: Keys) -> None:
    for left in (*root.glob("var/cache/apt/*.bin"), *root.glob("var/cache/apt/archives/*.deb")):
        left.unlink()
    shutil.rmtree(root / "var/lib/apt/lists")
    for modules in root.glob("lib/modules/*/kernel"):
        for folder in _TRIMMED:
            shutil.rmtree(modules / folder, ignore_errors=True)
    for number, user in enumerate(_USERS, 1000):
        run(["chroot", str(root), "useradd", "-m", "-s", "/bin/sh", "-u", str(number), user], what="add a user")
    for home in ("root", *(f"home/{user}" for user in _USERS)):
        owner = (root / home).stat()
        for path, content, mode in ((".ssh", None, 0o700), (".ssh/authorized_keys", keys.authorized, 0o600)):
            target = root / home / path
            target.mkdir(exist_ok=True) if content is None else target.write_bytes(content)
            target.chmod(mode)
            os.chown(target, owner.st_uid, owner.st_gid)
    units = "etc/systemd/system/multi-user.target.wants"
    _put(root, "etc/sudoers.d/lab", _SUDOERS, 0o440)
    _put(root, "etc/hostname", "lab\n")
    _put(root, "etc/hosts", "127.0.0.1 localhost lab\n")
    _put(root, "etc/fstab", "/dev/vda1 / ext4 defaults 0 1\n")
    _put(root, "etc/systemd/network/10-lab.network", _NETWORK)
    _put(root, "etc/systemd/system/dropbear.service", _SSHD)
    _put(root, "etc/dropbear/hostkey", keys.host.read_bytes(), 0o600)
    for unit, place in (("systemd-networkd", "/lib/systemd/system"), ("dropbear", "/etc/systemd/system")):
        (root / units / f"{unit}.service").unlink(missing_ok=True)
        (root / units / f"{unit}.service").symlink_to(f"{place}/{unit}.service")
    grub = root / "boot/grub"
    grub.mkdir(parents=True, exist_ok=True)
    entries = (_ENTRY.format(kind=kind, release=release) for kind, release in releases.items())
    _put(root, "boot/grub/grub.cfg", _CFG + "".join(entries) + _CUSTOM)
    run(["grub-editenv", str(grub / "grubenv"), "create"], what="make GRUB's environment")
    run(["grub-editenv", str(grub / "grubenv"), "set", "saved_entry=stock"], what="set GRUB's environment")


def _put(root: Path, path: str, content: str | bytes, mode: int = 0o644) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.write_bytes(content.encode() if isinstance(content, str) else content)
    target.chmod(mode)


def _assemble(disk: Path, partition: Path, scratch: Path) -> None:
    """A partition table with one entry, then GRUB, then the file system."""
    early, core = scratch / "early.cfg", scratch / "core.img"
    early.write_text(_EARLY)
    argv = ["grub-mkimage", "-O", "i386-pc", "-d", str(_GRUB), "-o", str(core), "-c", str(early)]
    argv += ["-p", "(hd0,msdos1)/boot/grub", *_GRUB_MODULES.split()]
    run(argv, what="make the boot loader")
    boot = (_GRUB / "boot.img").read_bytes()[:440]
    loader = core.read_bytes()
    if len(loader) > (_FIRST_SECTOR - 1) * 512:
        raise BoardError("cannot make the boot loader", f"{len(loader)} bytes do not fit before the partition")
    entry = struct.pack("<B3sB3sII", 0x80, b"\x20\x21\x00", 0x83, b"\xfe\xff\xff", _FIRST_SECTOR, _SIZE_MIB * 2048)
    with disk.open("wb") as out:
        out.truncate(_FIRST_SECTOR * 512 + (_SIZE_MIB << 20))
        out.write(boot)
        out.seek(446)
        out.write(entry)
        out.seek(510)
        out.write(b"\x55\xaa" + loader)
        _copy_sparse(partition, out.fileno(), _FIRST_SECTOR * 512)
    partition.unlink()


def _copy_sparse(source: Path, target: int, offset: int) -> None:
    """Blocks of zeros are not written."""
    size, at = 1 << 20, 0
    nothing = bytes(size)
    with source.open("rb") as file:
        while block := file.read(size):
            if block != nothing:
                os.pwrite(target, block, offset + at)
            at += len(block)

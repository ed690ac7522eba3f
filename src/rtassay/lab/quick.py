"""The quick board: a Debian kernel and an initramfs from Debian packages, with BusyBox, dropbear, kexec, stress-ng, and the tools that measure.

The board has both kernels, stock and PREEMPT_RT, in /boot, and kexec changes between them. A plain reboot
returns to the kernel of the start.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtassay.lab.arches import Arch
from rtassay.lab.initramfs import Initramfs
from rtassay.lab.keys import lab_keys
from rtassay.lab.packages import Packages
from rtassay.lab.places import Say, cache_dir, publish
from rtassay.model.errors import BoardError

KERNELS = ("stock", "rt")
# In loading order: there is no modprobe to sort them. Some are built into the kernel, depending on the architecture.
MODULES = (
    "drivers/virtio/virtio_ring",
    "drivers/virtio/virtio",
    "drivers/virtio/virtio_pci_modern_dev",
    "drivers/virtio/virtio_pci_legacy_dev",
    "drivers/virtio/virtio_pci",
    "drivers/block/virtio_blk",
    "net/core/failover",
    "drivers/net/net_failover",
    "drivers/net/virtio_net",
)
_PROGRAMS = {
    "busybox-static": ("bin/busybox",),
    "dropbear-bin": ("usr/sbin/dropbear",),
    "kexec-tools": ("sbin/kexec",),
    "stress-ng": ("usr/bin/stress-ng",),
    "rt-tests": ("usr/bin/cyclictest", "usr/bin/cyclicdeadline", "usr/bin/hackbench", "usr/bin/oslat"),
    "rtla": ("usr/bin/rtla",),
}
# The package depends on HDF5 for another program of it.
_WITHOUT_LIBRARIES = {"jitterdebugger": ("usr/bin/jitterdebugger",)}
_C_LIBRARY = (
    "ld-linux-*.so.*",
    "libc.so.6",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libdl.so.2",
    "libresolv.so.2",
)
_IN_USE_S = 3600
_XZ_MAGIC = b"\xfd7zXZ\0"

_RC = """\
#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp
mount -t tmpfs run /run; mount -t tracefs nodev /sys/kernel/tracing
chmod 1777 /tmp /dev/shm
for module in {modules}; do
  file=/lib/modules/$(uname -r)/$module.ko; [ ! -f $file ] || insmod $file
done
hostname lab
ip link set lo up; ip link set eth0 up; ip addr add 10.0.2.15/24 dev eth0; ip route add default via 10.0.2.2
tar -x -f /dev/vda -C /
dropbear -E -s -m -p 22 -r /etc/hostkey
echo LAB-READY > /dev/console
"""
# The shell is that of a board without a network.
_INITTAB = """\
::sysinit:/etc/rc
{console}::respawn:-/bin/sh
::shutdown:/bin/sync
"""
_PASSWD = "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"


@dataclass(frozen=True, slots=True)
class QuickImage:
    """The files that QEMU boots: a kernel per kind, the initramfs, and a block device with /boot."""

    arch: Arch
    kernels: dict[str, Path]
    initramfs: Path
    boot: Path


def build(arch: Arch, say: Say, extra: Mapping[str, Path] | None = None) -> QuickImage:
    """The image for an architecture, from the cache if it holds this content. `extra`: more files by their path on the board.

    Raises BoardError if a package cannot be downloaded.
    """
    packages = Packages(arch.name)
    names = packages.newest({"stock": f"linux-image-{arch.flavour}", "rt": f"linux-image-rt-{arch.flavour}"})
    wanted: dict[str, tuple[str, ...]] = {**_PROGRAMS, **_WITHOUT_LIBRARIES}
    folders = (f"lib/{arch.triplet}", f"usr/lib/{arch.triplet}")
    for library in packages.libraries_of(*_PROGRAMS):
        wanted[library] = tuple(f"{folder}/*.so*" for folder in folders)
    wanted["libc6"] = tuple(f"{folder}/{name}" for folder in folders for name in _C_LIBRARY)
    for name in names.values():
        modules = (f"lib/modules/*/kernel/{module}.ko" for module in MODULES)
        wanted[name] = ("boot/vmlinuz-*", "boot/config-*", *modules)
    homes = packages.unpacked(wanted, say)
    kernels = {kind: homes.pop(name) for kind, name in names.items()}
    return _image(arch, homes, kernels, dict(extra or {}), say)


def cached(arch: Arch) -> QuickImage | None:
    """The last image that this rtassay built for an architecture, without asking apt; None if there is none."""
    try:
        key, name = _current(arch).read_text().split()
    except (OSError, ValueError):
        return None
    folder = cache_dir() / name
    return _found(arch, folder) if key == _own_digest(arch).hexdigest() and folder.is_dir() else None


def _current(arch: Arch) -> Path:
    return cache_dir() / f"current-quick-{arch.name}"


def _own_digest(arch: Arch) -> Any:
    """All that goes into an image beside Debian's packages."""
    keys = lab_keys()
    digest = hashlib.sha256("\0".join([arch.name, _rc(), _inittab(arch), _PASSWD, Path(__file__).read_text()]).encode())
    digest.update(keys.authorized + keys.host.read_bytes())
    return digest


def _rc() -> str:
    return _RC.format(modules=" ".join(Path(module).name for module in MODULES))


def _inittab(arch: Arch) -> str:
    return _INITTAB.format(console=arch.console)


def _found(arch: Arch, folder: Path) -> QuickImage:
    os.utime(folder)  # in use from now on: see _forget_older
    return QuickImage(
        arch, {kind: folder / f"vmlinuz-{kind}" for kind in KERNELS}, folder / "initramfs", folder / "boot.tar"
    )


def _image(
    arch: Arch, homes: dict[str, Path], kernels: dict[str, Path], extra: dict[str, Path], say: Say
) -> QuickImage:
    rc = _rc()
    digest = _own_digest(arch)
    own = digest.hexdigest()
    for home in (*sorted(homes.values()), *kernels.values()):
        digest.update(home.name.encode())
    for path, source in sorted(extra.items()):
        digest.update(path.encode() + source.read_bytes())
    folder = cache_dir() / f"quick-{arch.name}-{digest.hexdigest()[:16]}"
    if not folder.is_dir():
        say(f"putting together the quick board for {arch.name}")
        with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".quick-") as scratch:
            new = Path(scratch) / "new"
            new.mkdir()
            initramfs = _initramfs(arch, homes, kernels, extra, rc)
            (new / "initramfs").write_bytes(initramfs)
            (new / "boot.tar").write_bytes(_boot(kernels, gzip.compress(initramfs, 6, mtime=0)))
            for kind, home in kernels.items():
                _bootable(home, new / f"vmlinuz-{kind}", arch)
            publish(new, folder)
        _forget_older(folder, f"quick-{arch.name}-*")
    if not extra:
        _current(arch).write_text(f"{own} {folder.name}")
    return _found(arch, folder)


def _initramfs(arch: Arch, homes: dict[str, Path], kernels: dict[str, Path], extra: dict[str, Path], rc: str) -> bytes:
    """The whole userland. The lab's key logs in to two accounts, root and user."""
    archive = Initramfs()
    for folder in ("bin", "boot", "dev", "etc", "home", "lib", "lib64", "proc", "root", "run", "sys", "usr/bin"):
        archive.directory(folder)
    archive.directory("tmp", 0o1777)
    archive.device("dev/console", 5, 1)
    busybox = (homes["busybox-static"] / "bin/busybox").read_bytes()
    archive.file("bin/busybox", busybox, 0o755)
    # The kernel starts /init, and BusyBox becomes a real init: `reboot` and `poweroff` work as on a board.
    archive.file("init", b"#!/bin/busybox sh\n/bin/busybox --install -s /bin\nexec /bin/busybox init\n", 0o755)
    for package, home in sorted(homes.items()):
        for path in sorted(home.rglob("*")):
            if package != "busybox-static" and not path.is_dir():
                _add(archive, "lib" if ".so" in path.name else "bin", path)
    if not arch.loader.startswith("lib/"):
        archive.link(arch.loader, f"/lib/{Path(arch.loader).name}")
    for home in kernels.values():
        for path in sorted(home.glob("lib/modules/*/kernel/**/*.ko")):
            release = path.relative_to(home).parts[2]
            archive.directory(f"lib/modules/{release}")
            archive.file(f"lib/modules/{release}/{path.name}", path.read_bytes())
    for target, source in extra.items():
        archive.directory(str(Path(target.lstrip("/")).parent))
        archive.file(target.lstrip("/"), source.read_bytes(), 0o755)
    _accounts(archive)
    archive.file("etc/rc", rc.encode(), 0o755)
    archive.file("etc/inittab", _inittab(arch).encode())
    return archive.finish()


def _accounts(archive: Initramfs) -> None:
    keys = lab_keys()
    archive.file("etc/passwd", _PASSWD.encode())
    archive.file("etc/group", b"root:x:0:\nuser:x:1000:\n")
    archive.file("etc/shells", b"/bin/sh\n")
    archive.file("etc/hostkey", keys.host.read_bytes(), 0o600)
    for home, owner in (("root", 0), ("home/user", 1000)):
        archive.directory(home, 0o700, owner)
        archive.directory(f"{home}/.ssh", 0o700, owner)
        archive.file(f"{home}/.ssh/authorized_keys", keys.authorized, 0o600, owner)


def _add(archive: Initramfs, folder: str, path: Path) -> None:
    if path.is_symlink():
        archive.link(f"{folder}/{path.name}", path.readlink().name)
    else:
        archive.file(f"{folder}/{path.name}", path.read_bytes(), 0o755)


def _boot(kernels: dict[str, Path], initrd: bytes) -> bytes:
    """/boot as a tar file on a block device: it survives a kexec."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for home in kernels.values():
            for path in sorted(home.glob("boot/*")):
                _tar(archive, f"boot/{path.name}", path.read_bytes())
                if path.name.startswith("vmlinuz-"):
                    _tar(archive, f"boot/initrd.img-{path.name.removeprefix('vmlinuz-')}", initrd)
    return out.getvalue()


def _tar(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def _bootable(home: Path, target: Path, arch: Arch) -> None:
    """The uncompressed kernel: under emulation unpacking takes longer than the boot."""
    found = list(home.glob("boot/vmlinuz-*"))
    if len(found) != 1:
        raise BoardError(f"{home.name} holds no kernel", f"found {len(found)} files boot/vmlinuz-*")
    image = found[0].read_bytes()
    start = image.find(_XZ_MAGIC) if arch.name == "amd64" else -1
    target.write_bytes(image if start < 0 else lzma.LZMADecompressor().decompress(image[start:]))


def _forget_older(folder: Path, pattern: str, kept: int = 4) -> None:
    """Remove old images, but keep a few, and those used in the last hour: a board that starts or runs may still use one."""
    os.utime(folder)
    young = folder.stat().st_mtime - _IN_USE_S
    others = sorted((path.stat().st_mtime, path) for path in folder.parent.glob(pattern))
    for used, path in others[:-kept]:
        if used < young:
            shutil.rmtree(path, ignore_errors=True)

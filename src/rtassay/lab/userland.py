"""The userland of script boards: BusyBox, stress-ng, hackbench and their libraries, from Debian packages.

It holds no key and no kernel module, so that hosts with the same packages have the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from rtassay.lab.arches import Arch
from rtassay.lab.initramfs import Initramfs
from rtassay.lab.packages import Packages
from rtassay.lab.places import Say, cache_dir, publish

_PROGRAMS = {
    "busybox-static": ("bin/busybox",),
    "stress-ng": ("usr/bin/stress-ng",),
    "rt-tests": ("usr/bin/cyclictest", "usr/bin/hackbench"),
}
_C_LIBRARY = ("ld-linux-*.so.*", "libc.so.6", "libm.so.6", "libpthread.so.0", "librt.so.1", "libdl.so.2")
_FOLDERS = ("bin", "dev", "etc", "lib", "lib64", "proc", "root", "run", "sys", "usr/bin")
_KEPT = 3


def build(arch: Arch, say: Say) -> bytes:
    """An initramfs in newc format, of the newest packages. Raises BoardError if a package cannot be downloaded."""
    packages = Packages(arch.name)
    wanted: dict[str, tuple[str, ...]] = dict(_PROGRAMS)
    folders = (f"lib/{arch.triplet}", f"usr/lib/{arch.triplet}")
    for library in packages.libraries_of(*_PROGRAMS):
        wanted[library] = tuple(f"{folder}/*.so*" for folder in folders)
    wanted["libc6"] = tuple(f"{folder}/{name}" for folder in folders for name in _C_LIBRARY)
    homes = packages.unpacked(wanted, say)
    content = _archive(arch, homes)
    _keep(arch, content)
    return content


def cached(arch: Arch) -> bytes | None:
    """The last one that this rtassay built, without asking apt; None if there is none."""
    found = sorted(_home(arch).glob("*.cpio"), key=lambda path: path.stat().st_mtime)
    return found[-1].read_bytes() if found else None


def _home(arch: Arch) -> Path:
    """One folder for each version of this file, so that a userland of another rtassay is never taken."""
    own = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:16]
    return cache_dir() / f"userland-{arch.name}-{own}"


def _keep(arch: Arch, content: bytes) -> None:
    home = _home(arch)
    home.mkdir(exist_ok=True)
    path = home / f"{hashlib.sha256(content).hexdigest()[:16]}.cpio"
    with tempfile.TemporaryDirectory(dir=home, prefix=".new-") as scratch:
        new = Path(scratch) / path.name
        new.write_bytes(content)
        publish(new, path)
    os.utime(path)
    for old in sorted(home.glob("*.cpio"), key=lambda one: one.stat().st_mtime)[:-_KEPT]:
        old.unlink(missing_ok=True)


def _archive(arch: Arch, homes: dict[str, Path]) -> bytes:
    archive = Initramfs()
    for folder in _FOLDERS:
        archive.directory(folder)
    archive.device("dev/console", 5, 1)
    for _, home in sorted(homes.items()):
        for path in sorted(home.rglob("*")):
            folder = "lib" if ".so" in path.name else "bin"
            if path.is_symlink():
                archive.link(f"{folder}/{path.name}", path.readlink().name)
            elif not path.is_dir():
                archive.file(f"{folder}/{path.name}", path.read_bytes(), 0o755)
    if not arch.loader.startswith("lib/"):
        archive.link(arch.loader, f"/lib/{Path(arch.loader).name}")
    return archive.finish()

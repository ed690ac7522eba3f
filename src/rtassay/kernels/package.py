"""A build as a Debian package: its files, and scripts that call the hooks of kernels as Debian's own packages do."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from rtassay.lab.places import need, run

_HOOK = """#!/bin/sh
set -e
[ ! -d /etc/kernel/{phase}.d ] || DEB_MAINT_PARAMS="$*" run-parts --report --exit-on-error --arg={release} --arg=/boot/vmlinuz-{release} /etc/kernel/{phase}.d
"""
_PARTS = ("boot", "lib", "usr")


def package(build: Path, release: str, arch: str, epoch_s: int) -> Path:
    """Write linux-image-RELEASE_1_ARCH.deb into the directory of a build. The same files give the same bytes. Raises BoardError."""
    need("dpkg-deb")
    name = f"linux-image-{re.sub('[^a-z0-9.+-]', '-', release.lower())}"
    deb = build / f"{name}_1_{arch}.deb"
    with tempfile.TemporaryDirectory(dir=build, prefix=".deb-") as scratch:
        root = Path(scratch)
        root.chmod(0o755)
        for part in _PARTS:
            if (build / part).is_dir():
                shutil.copytree(build / part, root / part, symlinks=True, copy_function=os.link)
        control = root / "DEBIAN"
        control.mkdir()
        (control / "control").write_text(
            f"Package: {name}\nVersion: 1\nArchitecture: {arch}\nMaintainer: rtassay <root@localhost>\n"
            f"Section: kernel\nPriority: optional\nRecommends: kmod, initramfs-tools | dracut\n"
            f"Description: Linux {release}, built by rtassay\n"
        )
        for phase in ("preinst", "postinst", "prerm", "postrm"):
            (control / phase).write_text(_HOOK.format(phase=phase, release=release))
            (control / phase).chmod(0o755)
        argv = ["env", f"SOURCE_DATE_EPOCH={epoch_s}", "dpkg-deb", "--root-owner-group", "-Zxz", "--build", str(root)]
        run([*argv, str(deb)], what="make the Debian package", timeout_s=1800)
    return deb

"""What of a kernel is brought to a board."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from rtassay.boot.install import pack
from rtassay.model.errors import InputFileError


def kernel_tree(root: Path, release: str = "9.9.9-rt1") -> Path:
    modules = root / "lib/modules" / release / "kernel/drivers"
    modules.mkdir(parents=True)
    (modules / "a.ko").write_bytes(b"module")
    (root / "lib/modules" / release / "build").symlink_to("/home/somebody/linux")
    (root / "boot").mkdir()
    (root / f"boot/vmlinuz-{release}").write_bytes(b"kernel")
    (root / f"boot/config-{release}").write_text("CONFIG_PREEMPT_RT=y\n")
    (root / "usr/share/doc").mkdir(parents=True)
    (root / "usr/share/doc/x").write_text("words")
    return root


def names(archive: Path) -> set[str]:
    with tarfile.open(archive) as opened:
        return set(opened.getnames())


WANTED = {
    "boot/vmlinuz-9.9.9-rt1",
    "boot/config-9.9.9-rt1",
    "lib/modules/9.9.9-rt1/kernel/drivers/a.ko",
}
LIST = "lib/modules/9.9.9-rt1/rtassay-files"


def test_of_a_directory_the_kernel_and_its_modules(tmp_path: Path) -> None:
    tree = kernel_tree(tmp_path / "tree")
    assert pack(tree, tmp_path / "k.tar.gz") == "9.9.9-rt1"
    assert names(tmp_path / "k.tar.gz") == WANTED | {LIST}
    with tarfile.open(tmp_path / "k.tar.gz") as opened:
        assert {(member.uid, member.gid) for member in opened} == {(0, 0)}
        listed = opened.extractfile(LIST)
        assert listed is not None and listed.read().decode().splitlines() == sorted(WANTED)


def test_of_a_real_package_the_same(tmp_path: Path) -> None:
    tree = kernel_tree(tmp_path / "tree")
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(
        "Package: linux-image-x\nVersion: 1\nArchitecture: amd64\nMaintainer: a <a@b>\nDescription: x\n"
    )
    subprocess.run(["dpkg-deb", "--build", tree, tmp_path / "x.deb"], check=True, capture_output=True)
    assert pack(tmp_path / "x.deb", tmp_path / "k.tar.gz") == "9.9.9-rt1"
    assert names(tmp_path / "k.tar.gz") >= WANTED
    assert not any("doc" in name for name in names(tmp_path / "k.tar.gz"))


def test_what_is_no_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputFileError, match="no kernel to install"):
        pack(tmp_path / "empty", tmp_path / "k.tar.gz")
    (tmp_path / "x.deb").write_bytes(b"this is no package")
    with pytest.raises(InputFileError):
        pack(tmp_path / "x.deb", tmp_path / "k.tar.gz")
    two = kernel_tree(tmp_path / "two")
    (two / "boot/vmlinuz-1.0").write_bytes(b"kernel")
    with pytest.raises(InputFileError, match="holds 2"):
        pack(two, tmp_path / "k.tar.gz")

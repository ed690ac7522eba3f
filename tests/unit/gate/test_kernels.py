"""Names of kernels: files, packages, build trees."""

from __future__ import annotations

import io
import subprocess
import tarfile
from pathlib import Path

import gated
import pytest

from rtassay.gate.kernels import opened
from rtassay.model.errors import InputFileError, UsageError

IMAGE = gated.bzimage(gated.elf(rest=gated.BANNER))


def say(words: str) -> None:
    raise AssertionError(words)


def test_a_file_and_a_build_tree_with_its_configuration(tmp_path: Path) -> None:
    boot = tmp_path / "arch/x86/boot"
    boot.mkdir(parents=True)
    (boot / "bzImage").write_bytes(IMAGE)
    alone = opened(str(boot / "bzImage"), say)
    assert (alone.options, alone.kernel.lacks, alone.kernel.config_sha256, alone.traceable) == (None, None, None, True)
    (tmp_path / ".config").write_text(gated.config({**gated.FULL, "EVENT_TRACING": "n"}))
    tree = opened(str(tmp_path), say)
    assert (tree.kernel.release, tree.kernel.sha256) == ("6.1.0-test", alone.kernel.sha256)
    assert (tree.kernel.lacks, tree.traceable) == (("EVENT_TRACING",), False)


def test_the_result_of_dir_pkg_and_of_a_directory_with_two_kernels(tmp_path: Path) -> None:
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot/vmlinuz-6.1").write_bytes(IMAGE)
    (tmp_path / "boot/config-6.1").write_text(gated.config(gated.FULL))
    assert opened(str(tmp_path), say).options == gated.FULL
    (tmp_path / "boot/vmlinuz-6.2").write_bytes(IMAGE)
    with pytest.raises(UsageError, match="holds 2 kernels"):
        opened(str(tmp_path), say)


def test_a_debian_package(tmp_path: Path) -> None:
    (tmp_path / "p/DEBIAN").mkdir(parents=True)
    (tmp_path / "p/boot").mkdir()
    control = "Package: linux-image-t\nVersion: 1\nArchitecture: amd64\nMaintainer: t <t@example.org>\nDescription: t\n"
    (tmp_path / "p/DEBIAN/control").write_text(control)
    (tmp_path / "p/boot/vmlinuz-6.1").write_bytes(IMAGE)
    (tmp_path / "p/boot/config-6.1").write_text(gated.config(gated.FULL))
    deb = tmp_path / "linux-image-t.deb"
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", str(tmp_path / "p"), str(deb)], check=True, capture_output=True
    )
    found = opened(str(deb), say)
    assert (found.kernel.release, found.options) == ("6.1.0-test", gated.FULL)
    (tmp_path / "p/boot/vmlinuz-6.1").unlink()
    subprocess.run(
        ["dpkg-deb", "--build", "--root-owner-group", str(tmp_path / "p"), str(deb)], check=True, capture_output=True
    )
    with pytest.raises(InputFileError, match="holds no kernel"):
        opened(str(deb), say)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w"):
        pass
    deb.write_bytes(out.getvalue())
    with pytest.raises(InputFileError, match=r"linux-image-t\.deb"):
        opened(str(deb), say)


def test_what_is_no_kernel_is_said_before_anything_boots(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no kernel 'nothing'"):
        opened("nothing", say)
    with pytest.raises(UsageError, match="holds no kernel"):
        opened(str(tmp_path), say)
    text = tmp_path / "notes.txt"
    text.write_text("no kernel")
    with pytest.raises(InputFileError, match="no image of a kernel"):
        opened(str(text), say)

"""What an image tells of itself: architecture, version, configuration, and how QEMU can enter it."""

from __future__ import annotations

import bz2
import lzma
import struct

import gated
import pytest

from rtassay.gate import needs
from rtassay.kernels import image
from rtassay.model.errors import InputFileError

KERNEL = gated.elf(notes=gated.PVH, rest=gated.BANNER + gated.carried(gated.FULL))


@pytest.mark.parametrize("pack", [gated.gzip.compress, lzma.compress, bz2.compress])
def test_a_packed_kernel_tells_its_version_and_its_configuration(pack: gated.Callable[[bytes], bytes]) -> None:
    found = image.read(gated.bzimage(KERNEL, pack=pack))
    assert (found.arch, found.release, found.version) == ("amd64", "6.1.0-test", "#1 SMP PREEMPT_RT Mon Jan 1")
    assert needs.options_of(found.config or "") == gated.FULL


def test_qemu_gets_the_kernel_without_its_decompressor_only_if_it_can_enter_it() -> None:
    assert image.read(gated.bzimage(KERNEL)).bootable == KERNEL
    packed = gated.bzimage(gated.elf(rest=gated.BANNER))
    assert image.read(packed).bootable == packed
    other_note = struct.pack("<III", 4, 4, 18) + b"GNU\0" + b"\0\0\0\1"
    packed = gated.bzimage(gated.elf(notes=other_note))
    assert image.read(packed).bootable == packed


@pytest.mark.parametrize(
    ("content", "arch"),
    [
        (gated.bzimage(b"", sixty_four=False), "i386"),
        (b"\0" * 0x38 + b"RSC\x05" + b"\0" * 64, "riscv64"),
        (gated.elf(machine=243), "riscv64"),
        (b"#!/bin/sh\n", None),
        (b"", None),
    ],
)
def test_an_image_of_another_architecture_is_refused_by_name(content: bytes, arch: str | None) -> None:
    assert image.read(content).arch == arch
    with pytest.raises(InputFileError, match=f"for {arch}" if arch else "no image of a kernel"):
        needs.check("vmlinuz", arch, None)


@pytest.mark.parametrize(
    ("content", "arch"),
    [
        (gated.arm64_image(gated.BANNER + gated.carried(gated.FULL)), "arm64"),
        (gated.zimage(gated.BANNER + gated.carried(gated.FULL)), "armhf"),
        (gated.zimage(gated.BANNER + gated.carried(gated.FULL), pack=lzma.compress), "armhf"),
    ],
)
def test_arm_images_tell_the_same_and_are_booted_as_they_are(content: bytes, arch: str) -> None:
    found = image.read(content)
    assert (found.arch, found.release, found.version) == (arch, "6.1.0-test", "#1 SMP PREEMPT_RT Mon Jan 1")
    assert (needs.options_of(found.config or ""), found.bootable) == (gated.FULL, content)
    needs.check("vmlinuz", arch, gated.FULL)


def test_an_image_gz_is_unpacked_for_qemu() -> None:
    content = gated.arm64_image(gated.BANNER)
    found = image.read(gated.gzip.compress(content))
    assert (found.arch, found.release, found.bootable) == ("arm64", "6.1.0-test", content)


def test_a_damaged_image_raises_nothing() -> None:
    zimage = gated.zimage(gated.BANNER, pack=lzma.compress)
    for end in range(0, len(zimage), 3):
        image.read(zimage[:end])
    whole = gated.bzimage(KERNEL)
    for end in range(0, len(whole), 7):
        image.read(whole[:end])
    found = image.read(whole[:1024] + b"\0" * 64)
    assert (found.arch, found.release, found.config) == ("amd64", "6.1.0-test", None)


def test_what_the_gate_cannot_boot_is_named_with_all_that_is_missing() -> None:
    options = {name: value for name, value in gated.FULL.items() if name not in ("BLK_DEV_INITRD", "TMPFS")}
    with pytest.raises(InputFileError) as refused:
        needs.check("bzImage", "amd64", options)
    assert "CONFIG_BLK_DEV_INITRD (initrd support" in str(refused.value)
    assert "CONFIG_TMPFS" in str(refused.value)
    with pytest.raises(InputFileError, match="BINFMT_ELF"):  # a module cannot help before there is a program to load it
        needs.check("bzImage", "amd64", {**gated.FULL, "BINFMT_ELF": "m"})
    with pytest.raises(InputFileError, match="SERIAL_8250_NR_UARTS"):
        needs.check("bzImage", "amd64", {**gated.FULL, "SERIAL_8250_NR_UARTS": "1"})
    needs.check("bzImage", "amd64", gated.FULL)


@pytest.mark.parametrize(
    ("arch", "option"),
    [(arch, option) for arch, options in needs.NEEDED_BY_ARCH.items() for option in options],
)
def test_what_the_machine_of_an_architecture_needs_is_asked_of_its_kernels_only(arch: str, option: str) -> None:
    without = {name: value for name, value in gated.FULL.items() if name != option}
    for other, needed in needs.NEEDED_BY_ARCH.items():
        if option in needed:
            with pytest.raises(InputFileError, match=rf"CONFIG_{option} \("):
                needs.check("vmlinuz", other, without)
        else:
            needs.check("vmlinuz", other, without)


def test_what_the_gate_can_do_without_is_told() -> None:
    assert needs.lacks(gated.FULL) == ()
    assert needs.lacks({name: "y" for name in gated.FULL if name not in ("MODULES", "EVENT_TRACING")}) == (
        "MODULES",
        "EVENT_TRACING",
    )
    assert needs.lacks(None) is None
    assert needs.lacked_by("hackbench", {"NET": "y"}) == "UNIX"
    assert needs.lacked_by("hackbench", None) is needs.lacked_by("idle", {}) is None

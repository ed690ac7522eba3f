"""Small cards: a partition table, FAT and ext4, and the files that a test puts there. Made without root."""

from __future__ import annotations

import os
import struct
import subprocess
from collections.abc import Mapping
from pathlib import Path

from rtassay.lab.initramfs import Initramfs

FAT_AT, FAT_MIB, EXT_MIB = 2048, 36, 24
ENVIRONMENT = {**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"}


def tool(*argv: object, check: bool = True) -> bytes:
    done = subprocess.run([str(word) for word in argv], capture_output=True, check=False, env=ENVIRONMENT)
    assert done.returncode == 0 or not check, done.stderr
    return done.stdout


def card(
    path: Path,
    root: Mapping[str, bytes],
    fat: Mapping[str, bytes] | None = None,
    *,
    table: str = "dos",
    ext_mib: int = EXT_MIB,
    merged: bool = False,
) -> Path:
    """An image with ext4, and FAT before it if files for one are given. `merged`: /lib is a link to usr/lib, as distributions have it."""
    tree = path.with_suffix(".root")
    for name, content in root.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(content)
    (tree / ("usr/lib" if merged else "lib") / "modules").mkdir(parents=True, exist_ok=True)
    if merged:
        (tree / "lib").symlink_to("usr/lib")
    ext_at = FAT_AT + (FAT_MIB * 2048 if fat is not None else 0)
    with path.open("wb") as file:
        file.truncate(ext_at * 512 + (ext_mib << 20) + (1 << 20))
    kinds = {
        "dos": ("c", "83"),
        "gpt": ("EBD0A0A2-B9E5-4433-87C0-68B6B72699C7", "0FC63DAF-8483-4772-8E79-3D69D8477DE4"),
    }
    rows = [f"{FAT_AT},{FAT_MIB * 2048},{kinds[table][0]}"] if fat is not None else []
    rows.append(f"{ext_at},{ext_mib * 2048},{kinds[table][1]}" + (",*" if table == "dos" else ""))
    subprocess.run(
        ["sfdisk", "-q", path],
        input="\n".join([f"label: {table}", *rows]),
        text=True,
        check=True,
        env=ENVIRONMENT,
        capture_output=True,
    )
    tool("mke2fs", "-q", "-F", "-t", "ext4", "-E", f"offset={ext_at * 512}", "-d", tree, path, f"{ext_mib}M")
    if fat is not None:
        at = f"{path}@@{FAT_AT * 512}"
        tool("mformat", "-i", at, "-T", FAT_MIB * 2048, "::")
        for name, content in fat.items():
            (path.parent / "content").write_bytes(content)
            tool("mcopy", "-i", at, path.parent / "content", f"::/{name}")
    return path


def fat_file(path: Path, name: str) -> bytes:
    """As mtools reads it."""
    return tool("mtype", "-i", f"{path}@@{FAT_AT * 512}", f"::/{name}")


def fat_names(path: Path, folder: str = "") -> set[str]:
    listed = tool("mdir", "-b", "-i", f"{path}@@{FAT_AT * 512}", f"::/{folder}").decode().split()
    return {name.removeprefix("::/").removesuffix("/") for name in listed}


def ext_at(path: Path, fat: bool) -> str:
    return f"{path}?offset={(FAT_AT + (FAT_MIB * 2048 if fat else 0)) * 512}"


def ext_file(path: Path, name: str, *, fat: bool = False) -> bytes:
    """As debugfs reads it."""
    return tool("debugfs", "-R", f"cat {name}", ext_at(path, fat))


def ext_stat(path: Path, name: str, *, fat: bool = False) -> str:
    return tool("debugfs", "-R", f"stat {name}", ext_at(path, fat)).decode()


def ext_is_sound(path: Path, *, fat: bool = False) -> bool:
    done = subprocess.run(["e2fsck", "-fn", ext_at(path, fat)], capture_output=True, check=False, env=ENVIRONMENT)
    return done.returncode == 0


def image(arch: str = "arm64", words: bytes = b"first") -> bytes:
    """Bytes with the head of a kernel's image."""
    head = bytearray(0x260)
    if arch == "arm64":
        head[0x38:0x3C] = b"ARMd"
    elif arch == "armhf":
        head[0x24:0x28] = b"\x18\x28\x6f\x01"
    else:
        head[0x202:0x206], head[0x236], head[0x1F1] = b"HdrS", 1, 1
    return bytes(head) + words


def initrd(release: str, *modules: str) -> bytes:
    """An archive with a program and modules."""
    archive = Initramfs()
    archive.directory(f"usr/lib/modules/{release}/kernel")
    archive.file("init", b"#!/bin/sh\n", 0o755)
    archive.device("dev/console", 5, 1)
    for module in modules:
        archive.file(f"usr/lib/modules/{release}/kernel/{module}.ko", b"of the first")
    return archive.finish()


def kernel(
    home: Path,
    release: str,
    *,
    arch: str = "arm64",
    modules: tuple[str, ...] = ("ext4", "vfat"),
    options: tuple[str, ...] = ("BLK_DEV_INITRD=y", "RD_GZIP=y", "EXT4_FS=y"),
    trees: tuple[str, ...] = (),
    size: int = 0,
) -> Path:
    """A directory as `make dir-pkg` makes it."""
    content = {
        f"boot/vmlinuz-{release}": image(arch, release.encode()),
        f"boot/config-{release}": "".join(f"CONFIG_{option}\n" for option in options).encode(),
        f"lib/modules/{release}/modules.order": "".join(f"kernel/{name}.ko\n" for name in modules).encode(),
        f"lib/modules/{release}/modules.builtin": b"kernel/lib/crc32c_generic.ko\n",
        **{f"lib/modules/{release}/kernel/{name}.ko": relocatable(name) for name in modules},
        **{f"usr/lib/linux-image-{release}/{tree}": tree.encode() for tree in trees},
    }
    if size:
        content[f"lib/modules/{release}/kernel/big.bin"] = bytes(size)
    for name, data in content.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)
    return home


def relocatable(name: str) -> bytes:
    """An ELF object with the names of its sections and no other section, as depmod reads it."""
    names = b"\0.shstrtab\0" + name.encode() + b"\0"
    names += bytes(-len(names) % 8)
    head = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 1, 183, 1, 0, 0, 64 + len(names), 0, 64, 0, 0, 64, 2, 1
    )
    section = struct.pack("<IIQQQQIIQQ", 1, 3, 0, 0, 64, len(names), 0, 0, 1, 0)
    return head + names + bytes(64) + section

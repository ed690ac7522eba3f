"""Adds a kernel to a board: its files, an initrd made there, and an entry in the menu. The default stays. And removes it again."""

from __future__ import annotations

import asyncio
import io
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from rtassay.boards.base import LinuxBoard
from rtassay.boot.shell import must, output
from rtassay.boot.switch import loader_of, resolve, running
from rtassay.model import foreign
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.files import read_regular

_KERNEL = re.compile(r"boot/(?:vmlinuz|vmlinux|Image)-([A-Za-z0-9][A-Za-z0-9.+~_-]*)")
_WANTED = ("boot/", "lib/modules/", "usr/lib/modules/", "usr/lib/linux-image-")
_LIST = "/lib/modules/{0}/rtassay-files"
# Only files that were packed here are removed, and what depmod and the initrd's maker added to them.
_REMOVE = """cd / && while read -r f; do case "$f" in boot/*|lib/modules/*|usr/lib/linux-image-*) rm -f "/$f";; esac; done < "$2"
rm -f "/boot/initrd.img-$1"; rm -rf "/lib/modules/$1" "/usr/lib/linux-image-$1" "/boot/dtbs-$1"; sync"""
# Modules of a distribution's kernel are 300 MB on the slowest card.
_UNPACK_S, _INITRD_S = 900.0, 900.0


async def install_kernel(
    board: LinuxBoard, source: Path, tell: Callable[[str], None] = lambda words: None, machine: str | None = None
) -> str:
    """Install a kernel from a .deb or a directory on an open board; returns its release. Raises InputFileError for another source,
    UsageError for one of another `machine` (as uname -m names it), BoardError when the board refuses or its default would change.

    Nothing of the board's package manager is used, as its hooks make the newest kernel the default.
    """
    if machine is not None:
        await _check_machine(board, machine)
    loader = await loader_of(board)
    before = [kernel.id for kernel in await loader.kernels(board) if kernel.default]
    with tempfile.TemporaryDirectory(prefix="rtassay-kernel-") as scratch:
        archive = Path(scratch) / "kernel.tar.gz"
        release = await asyncio.to_thread(pack, source, archive)
        await _room(board, archive)
        tell(f"copying kernel {release} to {board.name} ({archive.stat().st_size / 1e6:.0f} MB)")
        target = "/boot/.rtassay-kernel.tar.gz"
        await board.put(archive, target)
        try:
            await must(board, ["tar", "-xzf", target, "-C", "/"], f"unpack kernel {release}", timeout_s=_UNPACK_S)
        finally:
            await output(board, ["rm", "-f", target])
    if await board.which("depmod") is not None:
        await must(board, ["depmod", release], "list the modules", timeout_s=_INITRD_S)
    if await board.which("update-initramfs") is not None:
        tell(f"{board.name} makes its initrd")
        argv = ["update-initramfs", "-c", "-k", release]
        await must(board, argv, "make the initrd", timeout_s=_INITRD_S)
    await loader.add(board, release)
    await output(board, ["sync"])
    after = [kernel.id for kernel in await loader.kernels(board) if kernel.default]
    if before and after != before:
        raise BoardError(
            f"the default kernel of board '{board.name}' changed from {before[0]} to {', '.join(after) or 'none'}",
            "its boot loader was not asked for that",
            f"put it back with: rtassay kernel use {before[0]} {board.name} --default",
        )
    return release


async def remove_kernel(board: LinuxBoard, name: str) -> str:
    """Remove a kernel that `install_kernel` put on an open board; returns its release. Raises UsageError if it is another one,
    runs or is the default; BoardError when the board refuses."""
    loader = await loader_of(board)
    kernel = resolve(await loader.kernels(board), name)
    release = kernel.release
    if release is None or not foreign.is_name(release) or await board.read(_LIST.format(release)) is None:
        raise UsageError(
            f"rtassay did not put '{kernel.title}' on board '{board.name}'",
            f"{_LIST.format(release or 'RELEASE')} is not there",
            "remove it with the board's own tools, as apt",
        )
    if (await running(board)).release == release:
        raise UsageError(
            f"board '{board.name}' runs {release} now",
            hint=f"boot another one first: rtassay kernel use NAME {board.name}",
        )
    if kernel.default:
        raise UsageError(
            f"{release} is the default of board '{board.name}'",
            hint=f"choose another one first: rtassay kernel use NAME {board.name} --default",
        )
    # The entry goes first: a menu must not name files that are gone.
    await loader.remove(board, release)
    if await board.which("update-initramfs") is not None:
        await output(board, ["update-initramfs", "-d", "-k", release], _INITRD_S)
    # Thousands of files: on a slow card they take as long to remove as to unpack.
    remove = ["sh", "-c", _REMOVE, "sh", release, _LIST.format(release)]
    await must(board, remove, f"remove kernel {release}", timeout_s=_UNPACK_S)
    return release


async def _check_machine(board: LinuxBoard, machine: str) -> None:
    found = (await output(board, ["uname", "-m"]))[0].strip()
    if found != machine and not (found.startswith("armv") and machine.startswith("armv")):
        raise UsageError(
            f"the kernel is for {machine}, and board '{board.name}' is {found}", hint="build it with another --arch"
        )


async def _room(board: LinuxBoard, archive: Path) -> None:
    """Raises BoardError if there is no room for the archive and three times its size unpacked."""
    text, code, _ = await output(board, ["df", "-Pk", "/boot", "/"])
    rows = [line.split() for line in text.splitlines()[1:]]
    told = [foreign.number(row[3]) for row in rows if len(row) >= 6]
    free = [kib * 1024 for kib in told if kib is not None]
    if code == 0 and free and min(free[-1], free[0] * 4) < 4 * archive.stat().st_size:
        raise BoardError(
            f"there is no room for the kernel on board '{board.name}'",
            f"{min(free) / 1e6:.0f} MB are free, it needs about {4 * archive.stat().st_size / 1e6:.0f} MB",
            "remove a kernel that is not needed",
        )


def pack(source: Path, target: Path) -> str:
    """Make a .tar.gz of the files of `source` that a board needs; returns the release. Raises InputFileError if it holds no kernel, or several."""
    releases: set[str] = set()
    paths: list[str] = []
    with tarfile.open(target, "w:gz", compresslevel=1, format=tarfile.GNU_FORMAT) as out:
        for name, info, content in _members(source):
            path = name.removeprefix("usr/") if name.startswith("usr/lib/modules/") else name
            if not path.startswith(_WANTED):
                continue
            kernel = _KERNEL.fullmatch(path)
            if kernel:
                releases.add(kernel[1])
                path = f"boot/vmlinuz-{kernel[1]}"
            info.name, info.uid, info.gid, info.uname, info.gname = path, 0, 0, "root", "root"
            out.addfile(info, None if content is None else io.BytesIO(content))
            paths.append(path)
        if len(releases) == 1:
            _list(out, next(iter(releases)), paths)
    if len(releases) != 1:
        found = (
            f"it holds {len(releases)} files boot/vmlinuz-RELEASE" if releases else "it holds no boot/vmlinuz-RELEASE"
        )
        raise InputFileError(
            f"{source} is no kernel to install",
            found,
            "a linux-image-*.deb, or the directory of `make dir-pkg` (tar-install)",
        )
    return releases.pop()


def _list(out: tarfile.TarFile, release: str, paths: list[str]) -> None:
    """The list of all files, beside the modules: by it `remove_kernel` knows what is ours."""
    content = "".join(f"{path}\n" for path in sorted(paths)).encode()
    info = tarfile.TarInfo(_LIST.format(release).lstrip("/"))
    info.size, info.mode, info.uname, info.gname = len(content), 0o644, "root", "root"
    out.addfile(info, io.BytesIO(content))


def _members(source: Path) -> Iterator[tuple[str, tarfile.TarInfo, bytes | None]]:
    """(path without a leading slash, head, content of a file) of everything but folders."""
    if source.is_dir():
        for path in sorted(source.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                continue
            info = tarfile.TarInfo()
            info.mode = 0o644
            if path.is_symlink():
                info.type, info.linkname = tarfile.SYMTYPE, str(path.readlink())
                if info.linkname.startswith("/"):
                    continue  # lib/modules/RELEASE/build points into somebody's source tree
                yield path.relative_to(source).as_posix(), info, None
            else:
                content = read_regular(path)
                info.size = len(content)
                yield path.relative_to(source).as_posix(), info, content
        return
    try:
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(source)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as deb:
            assert deb.stdout is not None and deb.stderr is not None
            with tarfile.open(fileobj=deb.stdout, mode="r|") as archive:
                for info in archive:
                    if info.isdir():
                        continue
                    content_of = archive.extractfile(info) if info.isfile() else None
                    yield info.name.removeprefix("./"), info, None if content_of is None else content_of.read()
            deb.stdout.read()
    except FileNotFoundError as error:
        raise InputFileError(
            f"cannot open {source}", "dpkg-deb is not installed", "unpack it and give the directory"
        ) from error
    except tarfile.TarError as error:
        raise InputFileError(
            f"{source} is no Debian package", str(error), "a linux-image-*.deb, or a directory"
        ) from error

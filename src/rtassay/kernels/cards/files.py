"""The files of one file system of a card: FAT through mtools, ext2 to ext4 through debugfs. Nothing is mounted, and no root is needed."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from rtassay.lab.places import need, run
from rtassay.model.errors import BoardError, InputFileError
from rtassay.model.foreign import number

_LONG_S = 1800.0
_LISTED = re.compile(r"/(\d+)/(\d{6})/\d*/\d*/(.*)/(\d*)/")
_FREE = re.compile(r"([\d ]+) bytes free")
_CLUSTER = 32 << 10


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link to write."""

    target: str


Content = bytes | Path | Link
"""What a path gets: these bytes, those of a file of this machine, or a link."""


class Files(Protocol):
    """One file system. Paths begin with a slash. Every method raises BoardError when the file system refuses."""

    where: str
    kind: str

    def names(self, folder: str) -> dict[str, bool]:
        """Names in a folder, and whether each is a folder itself; empty if there is no such folder. Links count as files."""
        ...

    def read(self, path: str) -> bytes | None:
        """None if there is no such file."""
        ...

    def free_bytes(self) -> int:
        """Room for new files."""
        ...

    def write(self, files: Mapping[str, Content]) -> None:
        """Write all, with the folders they need, over what is there; then read all back and compare."""
        ...

    def remove(self, paths: Sequence[str]) -> None:
        """Remove files and, with all below them, folders; no error for one that is not there."""
        ...


def exists(files: Files, path: str) -> bool:
    place = PurePosixPath(path)
    return place.name in files.names(str(place.parent))


def _missing_folders(files: Files, paths: Sequence[str]) -> list[str]:
    """Folders that these paths need and that are not there, from the top down."""
    missing: dict[str, None] = {}
    there = {"/"}
    for path in paths:
        for folder in reversed(PurePosixPath(path).parents):
            name = str(folder)
            if name in there or name in missing:
                continue
            if str(folder.parent) not in missing and exists(files, name):
                there.add(name)
            else:
                missing[name] = None
    return list(missing)


def _plain(paths: Sequence[str]) -> None:
    bad = [path for path in paths if not path.isprintable() or '"' in path or "\\" in path]
    if bad:
        raise InputFileError(f"the name {bad[0]!r} cannot be written to a card", "it has letters that no tool takes")


class Fat:
    """A FAT file system, through mtools."""

    kind = "FAT"

    def __init__(self, image: Path, offset: int, where: str) -> None:
        need("mcopy", "mdir")
        self.where = where
        self._at = f"{image}@@{offset}"

    def names(self, folder: str) -> dict[str, bool]:
        try:
            told = self._m("mdir", "-b", "-a", _fat(folder).rstrip("/") + "/")
        except BoardError:
            return {}
        rows = (line.removeprefix("::") for line in told.splitlines() if line.startswith("::"))
        return {PurePosixPath(row).name: row.endswith("/") for row in rows}

    def read(self, path: str) -> bytes | None:
        if self.names(str(PurePosixPath(path).parent)).get(PurePosixPath(path).name, True):
            return None
        with tempfile.TemporaryDirectory(prefix="rtassay-card-") as scratch:
            self._m("mcopy", "-n", _fat(path), f"{scratch}/file")
            return Path(scratch, "file").read_bytes()

    def free_bytes(self) -> int:
        found = _FREE.search(self._m("mdir", "::/"))
        return 0 if found is None else number(found[1].replace(" ", "")) or 0

    def write(self, files: Mapping[str, Content]) -> None:
        _plain(list(files))
        for folder in _missing_folders(self, list(files)):
            self._m("mmd", _fat(folder))
        with tempfile.TemporaryDirectory(prefix="rtassay-card-") as scratch:
            for path, content in files.items():
                if isinstance(content, Link):
                    raise BoardError(f"FAT has no links, and {path} would be one", self.where)
                source = content if isinstance(content, Path) else Path(scratch, "new")
                if isinstance(content, bytes):
                    source.write_bytes(content)
                self._m("mcopy", "-o", str(source), _fat(path))
                if self.read(path) != source.read_bytes():
                    raise BoardError(f"{path} did not reach {self.where} as it is", "is the card full or worn out?")

    def remove(self, paths: Sequence[str]) -> None:
        for path in paths:
            place = PurePosixPath(path)
            is_folder = self.names(str(place.parent)).get(place.name)
            if is_folder is not None:
                self._m("mdeltree" if is_folder else "mdel", _fat(path))

    def _m(self, tool: str, *words: str) -> str:
        return run([tool, "-i", self._at, *words], what=f"{tool} on {self.where}", timeout_s=_LONG_S)


def _fat(path: str) -> str:
    return f"::{path}"


class Ext:
    """An ext2, ext3 or ext4 file system, through debugfs. New files belong to root."""

    kind = "ext4"

    def __init__(self, image: Path, offset: int, where: str) -> None:
        need("debugfs")
        self.where = where
        self._at = f"{image}?offset={offset}"
        head, _ = self._debugfs(["stats -h"])
        if "needs_recovery" in head or not re.search(r"^Filesystem state:\s+clean\s*$", head, re.MULTILINE):
            raise BoardError(
                f"the file system of {where} was not put away cleanly",
                "its journal holds writes that are not done yet",
                "boot the card once and shut it down, or: e2fsck -f on that partition",
            )
        self._block = _field(head, "Block size")
        self._free = _field(head, "Free blocks") * self._block

    def names(self, folder: str) -> dict[str, bool]:
        _plain([folder])
        told, _ = self._debugfs([f'ls -p "{folder}"'])
        rows = [match for match in map(_LISTED.fullmatch, told.splitlines()) if match is not None]
        return {row[3]: row[2].startswith("04") for row in rows if row[3] not in (".", "..") and row[1] != "0"}

    def read(self, path: str) -> bytes | None:
        _plain([path])
        place = PurePosixPath(path)
        if self.names(str(place.parent)).get(place.name, True):
            return None
        with tempfile.TemporaryDirectory(prefix="rtassay-card-") as scratch:
            _, errors = self._debugfs([f'dump "{path}" "{scratch}/file"'])
            file = Path(scratch, "file")
            if errors or not file.exists():
                raise BoardError(f"cannot read {path} of {self.where}", errors)
            return file.read_bytes()

    def free_bytes(self) -> int:
        return self._free

    def write(self, files: Mapping[str, Content]) -> None:
        _plain(list(files))
        lines = [f'mkdir "{folder}"' for folder in _missing_folders(self, list(files))]
        with tempfile.TemporaryDirectory(prefix="rtassay-card-") as scratch:
            sources: dict[str, Path] = {}
            for count, (path, content) in enumerate(files.items()):
                place = PurePosixPath(path)
                if place.name in self._listed(str(place.parent), lines):
                    lines.append(f'rm "{path}"')
                lines.append(f'cd "{place.parent}"')
                if isinstance(content, Link):
                    lines.append(f'symlink "{place.name}" "{content.target}"')
                    continue
                # A copy with plain rights: debugfs takes those of the file, and a name of ours needs no quotes.
                source = Path(scratch, str(count))
                shutil.copyfile(content, source) if isinstance(content, Path) else source.write_bytes(content)
                source.chmod(0o644)
                sources[path] = source
                lines.append(f'write "{source}" "{place.name}"')
            _, errors = self._debugfs(lines, change=True)
            if errors:
                raise BoardError(f"cannot write to {self.where}", errors)
            self._compare(sources, Path(scratch))
        head, _ = self._debugfs(["stats -h"])
        self._free = _field(head, "Free blocks") * self._block

    def remove(self, paths: Sequence[str]) -> None:
        _plain(paths)
        for path in paths:
            place = PurePosixPath(path)
            is_folder = self.names(str(place.parent)).get(place.name)
            if is_folder is not None:
                lines = self._removal(path) if is_folder else [f'rm "{path}"']
                _, errors = self._debugfs(lines, change=True)
                if errors:
                    raise BoardError(f"cannot remove {path} of {self.where}", errors)

    def _removal(self, folder: str) -> list[str]:
        lines: list[str] = []
        for name, is_folder in self.names(folder).items():
            lines += self._removal(f"{folder}/{name}") if is_folder else [f'rm "{folder}/{name}"']
        return [*lines, f'rmdir "{folder}"']

    def _listed(self, folder: str, lines: Sequence[str]) -> dict[str, bool]:
        """Names of a folder; empty for one that these lines make."""
        return {} if f'mkdir "{folder}"' in lines else self.names(folder)

    def _compare(self, sources: Mapping[str, Path], scratch: Path) -> None:
        back = scratch / "back"
        back.mkdir()
        lines = [f'dump "{path}" "{back / source.name}"' for path, source in sources.items()]
        _, errors = self._debugfs(lines)
        for path, source in sources.items():
            read = back / source.name
            if not read.exists() or read.read_bytes() != source.read_bytes():
                raise BoardError(f"{path} did not reach {self.where} as it is", errors or "is the card worn out?")

    def _debugfs(self, lines: Sequence[str], change: bool = False) -> tuple[str, str]:
        """(what it says, its errors). debugfs ends with 0 whatever happened."""
        import subprocess

        with tempfile.TemporaryDirectory(prefix="rtassay-debugfs-") as scratch:
            script = Path(scratch, "script")
            script.write_text("".join(f"{line}\n" for line in lines))
            argv = ["debugfs", *(["-w"] if change else []), "-f", str(script), self._at]
            try:
                done = subprocess.run(
                    argv,
                    capture_output=True,
                    timeout=_LONG_S,
                    check=False,
                    env=_environment(),
                    stdin=subprocess.DEVNULL,
                )
            except subprocess.TimeoutExpired as error:
                raise BoardError(f"debugfs on {self.where} did not end", f"within {_LONG_S:.0f} s") from error
        errors = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        told = [line for line in errors if not line.startswith("debugfs 1.")]
        if done.returncode or any("Bad magic" in line or "while trying to open" in line for line in told):
            raise BoardError(f"{self.where} cannot be read as ext4", " / ".join(told[-3:]))
        return done.stdout.decode(errors="replace"), " / ".join(told[-3:])


def _environment() -> dict[str, str]:
    import os

    return {
        **os.environ,
        "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin",
        "LC_ALL": "C",
        "DEBUGFS_PAGER": "cat",
    }


def _field(head: str, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+)$", head, re.MULTILINE)
    value = None if found is None else number(found[1])
    if value is None:
        raise BoardError(f"debugfs does not say '{name}'")
    return value

"""A cpio archive in newc format, which the kernel unpacks. It can hold device nodes without root."""

from __future__ import annotations

import stat


class Initramfs:
    """Add entries in the order of their folders, then `finish`."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._inode = 0
        self._paths: set[str] = set()

    def directory(self, path: str, mode: int = 0o755, owner: int = 0) -> None:
        """Adds every missing parent folder too."""
        above = path.rpartition("/")[0]
        if above and above not in self._paths:
            self.directory(above)
        self._entry(path, stat.S_IFDIR | mode, b"", owner=owner)

    def file(self, path: str, content: bytes, mode: int = 0o644, owner: int = 0) -> None:
        self._entry(path, stat.S_IFREG | mode, content, owner=owner)

    def link(self, path: str, target: str) -> None:
        self._entry(path, stat.S_IFLNK | 0o777, target.encode())

    def device(self, path: str, major: int, minor: int) -> None:
        self._entry(path, stat.S_IFCHR | 0o600, b"", device=(major, minor))

    def finish(self) -> bytes:
        self._entry("TRAILER!!!", 0, b"")
        return bytes(self._bytes)

    def _entry(self, path: str, mode: int, content: bytes, *, owner: int = 0, device: tuple[int, int] = (0, 0)) -> None:
        if path in self._paths:  # the same library from two packages
            return
        self._paths.add(path)
        self._inode += 1
        name = path.encode() + b"\0"
        # ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check
        fields = (self._inode, mode, owner, owner, 1, 0, len(content), 0, 0, *device, len(name), 0)
        self._bytes += b"070701" + b"".join(b"%08X" % field for field in fields)
        for part in (name, content):
            self._bytes += part
            self._bytes += bytes(-len(self._bytes) % 4)

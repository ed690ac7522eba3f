"""A started board of the lab (`rtassay lab start`): an SSH board whose port, keys and host key the lab knows."""

from __future__ import annotations

from rtassay.boards.openssh import Target
from rtassay.boards.ssh import SshBoard
from rtassay.boards.watching import Watching
from rtassay.lab import machine

PREFIX = "lab:"


class QemuBoard(SshBoard):
    """`lab:NAME`; without a name the only board of the lab that runs. `user`: who logs in (the lab's boards have root and user).

    Raises BoardError when no such board runs, UsageError when several do and none is named.
    """

    name = "qemu"

    def __init__(self, name: str | None = None, *, user: str = "root", sudo: str = "auto") -> None:
        wanted = None if name is None else name.removeprefix(PREFIX)
        super().__init__("qemu" if wanted is None else f"{PREFIX}{wanted}", None, sudo=sudo)
        self._wanted = wanted
        self._user = user

    async def open(self) -> None:
        self._find()
        await super().open()

    async def clean(self, *, force: bool = False) -> list[str]:
        self._find()
        return await super().clean(force=force)

    def watching(self) -> Watching:
        self._find()
        return super().watching()

    def _find(self) -> None:
        if self.transport.target is None:
            found = machine.find(self._wanted)
            assert found is not None
            self.name = self.transport.name = f"{PREFIX}{found.name}"
            self.transport.target = Target(f"{self._user}@{found.name}", None, found.ssh_options)

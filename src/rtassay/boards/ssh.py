"""A board at the other end of an SSH connection: nothing is installed there, and nothing of rtassay stays."""

from __future__ import annotations

from collections.abc import Sequence

from rtassay.boards.known import KnownBoard
from rtassay.boards.linked import PATIENCE_S, LinkTransport
from rtassay.boards.linux import DetachedBoard
from rtassay.boards.openssh import Link, Target
from rtassay.boards.remote_process import RemoteProcess
from rtassay.model.errors import UsageError


class SshTransport(LinkTransport[Link]):
    """Connections by the OpenSSH of this machine."""

    def __init__(self, name: str, target: Target | None, *, sudo: str = "auto", patience_s: float = PATIENCE_S) -> None:
        super().__init__(name, sudo=sudo, patience_s=patience_s)
        self.target = target

    def _new_link(self) -> tuple[Link, str]:
        if self.target is None:
            raise UsageError(
                "ssh to which board?", hint="rtassay run user@host, or name one: rtassay board add NAME user@host"
            )
        return Link(self.target), str(self.target)

    async def start(self, argv: Sequence[str]) -> RemoteProcess:
        """As root where that is possible. Raises LinkLost."""
        return await RemoteProcess.start(self._opened(), self._become, argv)


class SshBoard(DetachedBoard):
    """`user@host`, as a detached board over SshTransport. `directory`: a place there to use instead of the first that fits."""

    name = "ssh"
    transport: SshTransport

    def __init__(
        self,
        name: str = "ssh",
        target: Target | None = None,
        *,
        directory: str | None = None,
        sudo: str = "auto",
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(SshTransport(name, target, sudo=sudo, patience_s=patience_s), directory=directory)

    @classmethod
    def known(cls, board: KnownBoard) -> SshBoard:
        """A board that a person named."""
        target = Target(board.address, board.port, board.options)
        return cls(board.name, target, directory=board.directory, sudo=board.sudo)

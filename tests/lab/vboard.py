"""Boards of the product's lab (rtassay.lab) as the tests use them: one at a time in a process, ended with it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from rtassay.lab import machine, quick
from rtassay.lab.arches import arch_named

SSH_TIMEOUT_S = 120


@dataclass(frozen=True)
class Setup:
    """What to boot, by a name for people. `append` goes on the kernel's command line."""

    name: str
    kernel: Literal["stock", "rt"]
    cpus: int = 2
    append: str = ""
    arch: str = "amd64"


class Board:
    """A running virtual board. `stop` it; it ends by itself when this process dies."""

    def __init__(self, image: quick.QuickImage, setup: Setup, number: int) -> None:
        self.setup = setup
        self.machine = machine.start(
            image,
            lambda words: None,
            name=f"test-{os.getpid()}-{number}",
            kernel=setup.kernel,
            cpus=setup.cpus,
            append=setup.append,
            with_parent=True,
        )

    @property
    def name(self) -> str:
        """As the command line takes it."""
        return f"lab:{self.machine.name}"

    def ssh_argv(self, command: str, user: str = "root") -> list[str]:
        """The command line that runs `command` (a shell line) on the board, for a caller with its own pipes."""
        return self.machine.ssh_argv(command, user)

    def run(
        self, command: str, *, user: str = "root", timeout_s: float = SSH_TIMEOUT_S, stdout: IO[bytes] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a shell line on the board to its end; its exit code, stdout (or into the file `stdout`) and stderr."""
        return subprocess.run(
            self.ssh_argv(command, user),
            stdin=subprocess.DEVNULL,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=timeout_s,
            check=False,
        )

    def text(self, command: str, *, user: str = "root", timeout_s: float = SSH_TIMEOUT_S) -> str:
        """Stripped stdout of a shell line that must succeed."""
        done = self.run(command, user=user, timeout_s=timeout_s)
        assert done.returncode == 0, f"`{command}` on the board: exit {done.returncode}: {done.stderr.decode()}"
        return done.stdout.decode().strip()

    def as_booted(self) -> bool:
        """Whether it still runs, and with the kernel it was started with: a test may have taken it to the other one."""
        if not self.machine.running:
            return False
        try:
            told = self.run("uname -r")
        except subprocess.TimeoutExpired:  # a test has hung it: the next one gets a new board
            return False
        return told.returncode == 0 and (b"-rt-" in told.stdout) == (self.setup.kernel == "rt")

    def state(self) -> str:
        """For a person: whether it answers, what its CPUs do, the end of its kernel's log, and the end of its console."""
        if not self.machine.running:
            return f"it does not run\n{self._console()}"
        try:
            told = self.run("cat /proc/loadavg; top -b -n 1 | head -20; dmesg | tail -30", timeout_s=20)
            answer = (told.stdout + told.stderr).decode(errors="replace")
        except subprocess.TimeoutExpired:
            answer = "it does not answer over SSH within 20 s\n"
        return f"{answer}{self._console()}"

    def _console(self) -> str:
        return "console:\n" + "\n".join(self.machine.console().splitlines()[-30:])

    def power_off(self) -> None:
        """As pulling the plug: at once, nothing on the board is told."""
        self.machine.power_off()

    def stop(self) -> None:
        """End QEMU; safe to call twice."""
        machine.stop(self.machine)


class Rack:
    """At most one board at a time: the same one again while the setup stays the same and it still runs."""

    def __init__(self, probes: dict[str, Path]) -> None:
        self._extra = {f"probe/{name}": path for name, path in probes.items()}
        self._board: Board | None = None
        self._booted = 0

    def board(self, setup: Setup) -> Board:
        if self._board is not None and not (self._board.setup == setup and self._board.as_booted()):
            self.clear()
        if self._board is None:
            self._booted += 1
            self._board = Board(self._image(setup.arch), setup, self._booted)
        return self._board

    def state(self) -> str:
        return self._board.state() if self._board is not None else "no board of this worker runs"

    def _image(self, arch: str) -> quick.QuickImage:
        """Of workers that want one at the same time, one makes it, and the others find it made."""
        with (Path(tempfile.gettempdir()) / f"rtassay-lab-{os.getuid()}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return quick.build(arch_named(arch), lambda words: None, self._extra)

    def clear(self) -> None:
        if self._board is not None:
            self._board.stop()
            self._board = None

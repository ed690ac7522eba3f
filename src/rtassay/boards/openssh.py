"""The user's own OpenSSH: one connection that many commands share, and plain words for its errors.

The user's ssh_config, agent, jump hosts and host-key policy apply as always. We set only the options that a program without a terminal
needs: no questions, a shared connection, and a time limit for a dead one.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import re
import secrets
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtassay.boards import clients
from rtassay.boards.base import ANSWER_BYTES, ANSWER_S, LinkLost, too_much
from rtassay.model.errors import BoardError, UsageError

SSH_VARIABLE = "RTASSAY_SSH"
# Time limit of a login, with a jump host and the key exchange of a slow board under load.
CONNECT_S = 60.0
_STDERR_KEPT = 64 * 1024
# ssh's own words are short. The patterns below take quadratic time on a line without an end.
_LINES_KEPT, _LINE_KEPT = 100, 500
_OPTIONS = (
    ("BatchMode", "yes"),
    ("ConnectTimeout", "20"),
    # 4 x 5 s of silence mean a lost link. A loaded board answers late, so the limit must not be shorter.
    ("ServerAliveInterval", "5"),
    ("ServerAliveCountMax", "4"),
    ("ControlPersist", "no"),
    ("RequestTTY", "no"),
    ("ForwardX11", "no"),
    ("ForwardAgent", "no"),
    ("ClearAllForwardings", "yes"),
    ("PermitLocalCommand", "no"),
)
_counter = itertools.count()


@dataclass(frozen=True, slots=True)
class Target:
    """The address of a board: the target as typed after `ssh`, a port, and more words for ssh (`-F FILE`, `-o ...`)."""

    destination: str
    port: int | None = None
    options: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.destination if self.port is None else f"{self.destination}:{self.port}"

    def by_hand(self) -> str:
        """The line a person types to try it."""
        port = () if self.port is None else ("-p", str(self.port))
        return shlex.join([*_program(), *self.options, *port, self.destination])


def _program() -> list[str]:
    text = os.environ.get(SSH_VARIABLE) or "ssh"
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{SSH_VARIABLE} is no command line: {text}", str(error), f"unset {SSH_VARIABLE}") from error


class Link:
    """One authenticated connection, held by a shell on the board that reads our commands. It ends when this process does."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.mark = f"rtassay-{secrets.token_hex(6)}"
        self._socket: Path | None = None
        self._master: asyncio.subprocess.Process | None = None
        self._said = b""
        self.farewell = ""
        """A shell script that the board runs, detached, when the connection has ended in any way."""
        self._farewell_there = ""
        self._errors: asyncio.Task[None] | None = None
        self._asking = asyncio.Lock()

    @property
    def alive(self) -> bool:
        return self._master is not None and self._master.returncode is None

    async def connect(self, first: str = "true") -> bytes:
        """Log in and return the answer of the script `first`. Raises BoardError that names the cause and the next step."""
        await self.close()
        try:
            self._socket = _socket_path()
        except OSError as error:
            raise BoardError("cannot make a place for the socket of ssh", str(error), "make room in /tmp") from error
        self._said, self._farewell_there = b"", ""
        argv = [*self._ssh(master=True), "--", self.target.destination, "exec sh"]
        try:
            self._master = await asyncio.create_subprocess_exec(
                *argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
                limit=ANSWER_BYTES,
            )
        except OSError as error:
            raise BoardError(
                f"cannot start {argv[0]}", error.strerror, "apt-get install openssh-client, or set RTASSAY_SSH"
            ) from error
        self._errors = asyncio.create_task(self._keep_errors(self._master))
        try:
            return await self.ask(first, CONNECT_S)
        except BaseException:  # also when cancelled: no ssh is left behind
            await self.close()
            raise

    async def ask(self, script: str, timeout_s: float = ANSWER_S) -> bytes:
        """Run a small shell script in the shell that holds the connection and return its stdout; for short answers only.

        It must not read stdin. Raises LinkLost when the connection is lost, BoardError when the board does not stop talking.
        """
        async with self._asking:
            master = self._master
            if master is None or master.stdin is None or master.stdout is None:
                raise LinkLost(f"there is no connection to {self.target}")
            begin, end = (f"{self.mark}-{word}-{next(_counter)}" for word in ("a", "z"))
            text = f"{self._trap()}echo {begin}\n{{ {script}\n}} </dev/null 2>/dev/null\necho; echo {end}\n"
            try:
                async with asyncio.timeout(timeout_s):
                    with contextlib.suppress(OSError):
                        master.stdin.write(text.encode())
                        await master.stdin.drain()
                    answer = await _until(master.stdout, f"{end}\n".encode())
            except TimeoutError as error:
                _kill(master)  # close a connection that does not answer
                raise LinkLost(
                    f"board {self.target} does not answer",
                    f"no answer within {timeout_s:.0f} s",
                    f"try by hand: {self.target.by_hand()} true",
                ) from error
            except asyncio.LimitOverrunError as error:
                _kill(master)
                raise too_much(f"board {self.target}", "its shell", ANSWER_BYTES) from error
            if answer is None:
                raise await self._failure()
            # Output of the board's start-up files comes before our mark.
            return answer.rpartition(f"{begin}\n".encode())[2].removesuffix(b"\n")

    def _trap(self) -> str:
        """The line that makes the shell of this connection run the farewell at its end, which it finds at the end of its stdin."""
        if self.farewell == self._farewell_there:
            return ""
        self._farewell_there = self.farewell
        detached = f"{{ {self.farewell}\n}} </dev/null >/dev/null 2>&1 &"
        return f"trap {shlex.quote(detached)} EXIT; trap exit HUP\n"

    def command(self, words: Sequence[str]) -> list[str]:
        """argv of a client that runs `words` on the board over this connection."""
        return [*self._ssh(master=False), "--", self.target.destination, f"exec {shlex.join(words)}"]

    async def close(self) -> None:
        """Close the connection. Every command attached to it loses its pipes."""
        master, self._master = self._master, None
        if master is not None:
            if master.stdin is not None:
                master.stdin.close()
            await clients.ended(master, 1.0)
            await clients.put_away(master)
        if self._errors is not None:
            await asyncio.wait([self._errors], timeout=1.0)
            self._errors.cancel()
            self._errors = None
        if self._socket is not None:
            shutil.rmtree(self._socket.parent, ignore_errors=True)
            self._socket = None

    def _ssh(self, *, master: bool) -> list[str]:
        options = [*_OPTIONS, ("ControlPath", str(self._socket)), ("ControlMaster", "yes" if master else "no")]
        if not master:
            options.append(("LogLevel", "ERROR"))
        port = [] if self.target.port is None else ["-p", str(self.target.port)]
        return [*_program(), *self.target.options, *(w for k, v in options for w in ("-o", f"{k}={v}")), *port, "-T"]

    async def _keep_errors(self, master: asyncio.subprocess.Process) -> None:
        assert master.stderr is not None
        while chunk := await master.stderr.read(65536):
            self._said = (self._said + chunk)[-_STDERR_KEPT:]

    async def _failure(self) -> LinkLost:
        if self._errors is not None:
            await asyncio.wait([self._errors], timeout=2.0)
        return explain(self.target, self._said.decode(errors="replace"))


async def _until(stream: asyncio.StreamReader, mark: bytes) -> bytes | None:
    """Everything before `mark`; None when the stream ends first. Raises LimitOverrunError when the mark does not come."""
    try:
        return (await stream.readuntil(mark)).removesuffix(mark)
    except asyncio.IncompleteReadError:
        return None


def _kill(master: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        master.kill()


def _socket_path() -> Path:
    """A new, private and short path (a socket's may have some hundred bytes), below the runtime directory where there is one."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    base: str | None = None
    if runtime and os.access(runtime, os.W_OK) and len(runtime) < 50:
        with contextlib.suppress(OSError):
            (Path(runtime) / "rtassay").mkdir(mode=0o700, exist_ok=True)
            base = str(Path(runtime) / "rtassay")
    if base is None:
        base = tempfile.gettempdir() if len(tempfile.gettempdir()) < 50 else "/tmp"
    _remove_left(Path(base))
    return Path(tempfile.mkdtemp(prefix=f"rtassay-ssh-{os.getpid()}-", dir=base)) / "s"


def _remove_left(directory: Path) -> None:
    """Remove our directories of processes that have ended. Another rtassay may remove them at the same time."""
    for left in directory.glob("rtassay-ssh-*"):
        pid = left.name.split("-")[2]
        with contextlib.suppress(OSError):
            if pid.isdigit() and left.stat().st_uid == os.getuid() and not Path(f"/proc/{pid}").exists():
                shutil.rmtree(left, ignore_errors=True)


_CUT = r"kex_exchange_identification|Connection closed by|Connection reset by|closed by remote host|Broken pipe"
# Words of ssh -> their meaning and the remedy. {by_hand} is the line to try, {host} the board, {said} the words of ssh that matched.
_CAUSES: tuple[tuple[str, str, str], ...] = (
    (
        r"[^\n]*(?:line \d+[:.] (?:Bad|Unsupported|Missing|keyword|garbage|[Ii]nvalid|no argument)|"
        r"[Bb]ad configuration option|Bad SSH2|Can't open user config file|Bad owner or permissions on)[^\n]*",
        "ssh does not take its options: {said}",
        "mend that line of your ssh_config, or the value of `rtassay board add --ssh-option` or RTASSAY_SSH; try by hand: {by_hand}",
    ),
    (
        r"[^\n]*contains invalid characters[^\n]*",
        "ssh refuses the address: {said}",
        "check how the user and the host are written",
    ),
    (
        r"REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key differs from the one in your known_hosts",
        "if the board was installed anew: ssh-keygen -R HOST, then connect once by hand; else find out who answers there",
    ),
    (
        r"Host key verification failed|No .* host key is known|No host key is known",
        "its host key is not known here yet",
        "connect once by hand and accept the key you see on the board: {by_hand}",
    ),
    (
        r"Too many authentication failures",
        "the agent offered too many keys",
        "name the right one in ~/.ssh/config: IdentityFile and IdentitiesOnly yes",
    ),
    (
        r"Permission denied",
        "it accepts none of your keys",
        "put your key on the board (ssh-copy-id), or name it in ~/.ssh/config; try by hand: {by_hand}",
    ),
    (r"Connection refused", "nothing listens there", "is sshd running on the board, and is this its port?"),
    (
        r"timed out|Timeout, server|No route to host|Network is unreachable",
        "the board cannot be reached",
        "is it on, and on this network? try by hand: {by_hand}",
    ),
    (
        r"Could not resolve hostname (?P<which>\S+?)(?::\s|\s|$)",
        "there is no such host as {which}",
        "check the name, or use an address; `rtassay board list` shows the boards you named",
    ),
    (
        r"UNKNOWN port 65535",
        "the way there (ProxyJump, ProxyCommand) failed: {first}",
        "try by hand: {by_hand}",
    ),
    (
        _CUT,
        "it closed the connection",
        "is it shutting down, or full of connections? try by hand: {by_hand}",
    ),
)


def explain(target: Target, said: str) -> LinkLost:
    """One sentence and the next step, made from ssh's stderr."""
    said = "\n".join(line[:_LINE_KEPT] for line in said.splitlines()[-_LINES_KEPT:])
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("@")]
    last = lines[-1] if lines else None
    for pattern, why, hint in _CAUSES:
        if found := re.search(pattern, said):
            words = {"said": found[0].strip(), "first": lines[0] if lines else "", **found.groupdict()}
            why = why.format(**words)
            hint = hint.replace("HOST", _host(target)).format(by_hand=f"{target.by_hand()} true")
            detail = f" ({last})" if last is not None and pattern.startswith(("Perm", "kex", "timed")) else ""
            return LinkLost(f"cannot log in to {target}", f"{why}{detail}", hint, cut=pattern == _CUT)
    return LinkLost(
        f"cannot run anything on {target}",
        last or "the connection ended without a word",
        f"try by hand: {target.by_hand()} true",
        cut=last is None,
    )


def _host(target: Target) -> str:
    host = target.destination.rpartition("@")[2]
    return host if target.port is None else f"'[{host}]:{target.port}'"

"""Boards by name: a small file of the user, and the board for a word on the command line."""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec

from rtassay.boards.base import LinuxBoard
from rtassay.boards.consoles import is_console
from rtassay.model import rooms
from rtassay.model.errors import BoardError, InputFileError, UsageError
from rtassay.model.files import read_regular, replace_file
from rtassay.model.parsed import toml_table, why

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
# A host of ssh_config; ssh must not take it for an option.
ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]*")
_ADDRESS = re.compile(
    r"(?:ssh://)?((?:[^@\s:/-][^@\s:/]*@)(?:\[[0-9A-Za-z:.%_-]+\]|[^@\s:/\[\]-][^@\s:/\[\]]*))(?::(\d{1,5}))?/?"
)
FILE = "boards.toml"
# The transport of a board that does not run Linux.
CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class KnownBoard:
    """A board that a person named. `address`: user@host, an alias of ssh_config, or a console; `options`: more words for ssh.

    `transport`: ssh, serial (a console with a shell of Linux) or console (one with rtprobe-lite). `send`, `wait`, `reset`: as the options of `run`.
    """

    name: str
    address: str
    transport: str = "ssh"
    port: int | None = None
    directory: str | None = None
    sudo: Literal["auto", "never"] = "auto"
    options: tuple[str, ...] = field(default=())
    note: str | None = None
    send: str | None = None
    wait: str | None = None
    reset: str | None = None


def boards_file() -> Path:
    """`boards.toml` in RTASSAY_HOME, else in the XDG configuration directory."""
    home = os.environ.get("RTASSAY_HOME")
    if home:
        return Path(home).expanduser().absolute() / FILE
    import platformdirs

    return Path(platformdirs.user_config_dir("rtassay")) / FILE


def known_boards() -> dict[str, KnownBoard]:
    """All named boards, in the order of the file. Raises InputFileError for a file with a wrong form."""
    path = boards_file()
    try:
        data = toml_table(read_regular(path).decode())
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputFileError(
            f"{path} cannot be read", why(error), "mend it, or remove it and add the boards anew"
        ) from error
    return {name: _board(path, name, entry) for name, entry in data.items()}


def save_boards(boards: dict[str, KnownBoard]) -> None:
    """Write a new file, then rename it. Raises BoardError if it cannot be written."""
    path = boards_file()
    text = "# Boards of rtassay; `rtassay board add` writes this file.\n" + "".join(map(_section, boards.values()))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, text.encode())
    except OSError as error:
        raise BoardError(f"cannot write {path}", error.strerror, "make it writable, or set RTASSAY_HOME") from error


def parse_address(text: str) -> tuple[str, int | None]:
    """Split `user@host[:port]` or `ssh://user@host[:port]` into the target for ssh and a port. Raises UsageError."""
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise UsageError(
            f"'{text}' is not the address of a board",
            hint="user@host or user@host:port; [addresses] of IPv6 in brackets",
        )
    destination = match[1].replace("[", "").replace("]", "")
    port = None if match[2] is None else int(match[2])
    if port is not None and not 1 <= port <= 65535:
        raise UsageError(f"there is no port {port}", hint="1 to 65535")
    return destination, port


def check_name(name: str) -> None:
    """Raises UsageError for a name that could be taken for something else."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"'{name}' is no name for a board", hint="letters, digits, and . _ - within")
    if name in rooms.table("boards"):
        raise UsageError(f"'{name}' is the name of a transport", hint="choose another name")


def resolve(word: str) -> LinuxBoard:
    """The board a person means: one they named, `local`, `lab:NAME`, or user@host. Raises UsageError that lists the known boards."""
    boards = known_boards()
    if word in boards:
        entry = boards[word]
        if entry.transport == CONSOLE:
            raise UsageError(
                f"'{word}' is a board with rtprobe-lite, which knows `rtassay run` only",
                "this needs a board that runs Linux",
                f"rtassay run {word}",
            )
        return _known(entry)
    if word in rooms.table("boards"):
        return _made(rooms.load("boards", word)())
    if is_console(word):
        return _made(rooms.load("boards", "serial")(word))
    if word.startswith("lab:"):
        from rtassay.lab import machine

        found = machine.find(word.removeprefix("lab:"), missing_ok=True)
        if found is not None and found.port == 0:
            return _made(rooms.load("boards", "serial")(f"unix:{found.console_socket}?os=linux", name=word))
        return _made(rooms.load("boards", "qemu")(word))
    if "@" in word:
        destination, port = parse_address(word)
        return _made(rooms.load("boards", "ssh").known(KnownBoard(word, destination, port=port)))
    names = ["local", *boards]
    close = difflib.get_close_matches(word, names, n=1)
    raise UsageError(
        f"there is no board '{word}'",
        hint=(f"did you mean '{close[0]}'? " if close else "")
        + f"known: {', '.join(names)}; name one with rtassay board add {word} user@host",
    )


def _known(entry: KnownBoard) -> LinuxBoard:
    transport = rooms.load("boards", entry.transport)
    if not hasattr(transport, "known"):
        raise UsageError(
            f"'{entry.name}' of {boards_file()} is reached by '{entry.transport}', which needs no name",
            hint=f"remove its lines; measure it by the name {entry.transport}",
        )
    return _made(transport.known(entry))


def _made(board: Any) -> LinuxBoard:
    made: LinuxBoard = board
    return made


def _board(path: Path, name: str, entry: Any) -> KnownBoard:
    """An entry of the file, which a person may have written by hand."""
    mend = "mend it, or remove its lines"
    try:
        check_name(name)
    except UsageError as error:
        raise InputFileError(f"{path}: {error.what}", error.why, error.hint) from error
    if not isinstance(entry, dict) or "address" not in entry:
        raise InputFileError(f"{path}: [{name}] is no board", 'it needs address = "user@host"', mend)
    fields = set(KnownBoard.__dataclass_fields__) - {"name"}
    if unknown := sorted(set(entry) - fields):
        raise InputFileError(
            f"{path}: [{name}] has unknown keys {', '.join(unknown)}", f"known: {', '.join(sorted(fields))}"
        )
    try:
        board = msgspec.convert({"name": name, **entry}, KnownBoard)
    except msgspec.ValidationError as error:
        raise InputFileError(f"{path}: [{name}] is no board", str(error), mend) from error
    if board.transport not in (CONSOLE, *rooms.table("boards")):
        raise InputFileError(f"{path}: [{name}] has no transport '{board.transport}'", hint=mend)
    if board.port is not None and not 1 <= board.port <= 65535:
        raise InputFileError(f"{path}: [{name}] has no port {board.port}", "1 to 65535", mend)
    return board


def _section(board: KnownBoard) -> str:
    """A TOML table; a JSON string of printable text is a TOML string."""
    lines = [f"\n[{json.dumps(board.name)}]"]
    for key, value in asdict(board).items():
        if key == "name" or value is None or value == () or (key, value) in (("transport", "ssh"), ("sudo", "auto")):
            continue
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + "\n"

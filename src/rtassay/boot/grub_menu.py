"""Reads GRUB's menu from grub.cfg, as far as needed to choose an entry."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

_HEAD = re.compile(r"^\s*(menuentry|submenu)\s+(.*?)\{\s*(.*)$")
_LINUX = re.compile(r"^\s*linux(?:16|efi)?\s+(\S+)(.*)$", re.MULTILINE)
_RELEASE = re.compile(r"/(?:vmlinuz|vmlinux|Image|bzImage|kernel)-([^/\s]+)$")

TRIAL = "trial"
"""In place of a release: the entry of one boot with more words."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`path`: ids from the outermost submenu to the entry joined by `>`, as grub-reboot takes it. `number`: the same in positions."""

    path: str
    number: str
    title: str
    release: str | None
    body: str


def entries(cfg: str) -> list[Entry]:
    """Linux entries of a menu, submenus included, in its order."""
    found: list[Entry] = []
    # A menu that does not set the variable leaves its entries without ids.
    known = "menuentry_id_option=" in cfg
    cfg = cfg.replace("${menuentry_id_option}", "$menuentry_id_option")
    lines = [line if known else line.replace("$menuentry_id_option", "") for line in cfg.splitlines()]
    _walk(lines, 0, [], [], found)
    return found


def _walk(lines: list[str], at: int, path: list[str], numbers: list[int], found: list[Entry]) -> int:
    """From line `at` to the end of a block; the line behind it."""
    position, depth = 0, 0
    while at < len(lines):
        line = lines[at]
        head = _HEAD.match(line)
        if head is None:
            stripped = line.strip()
            depth += stripped.endswith("{")
            if stripped == "}":
                if depth == 0 and numbers:
                    return at + 1
                depth -= 1
            at += 1
            continue
        title, name = _words(head[2])
        here, place = [*path, name], [*numbers, position]
        position += 1
        if head[1] == "submenu":
            at = _walk(lines, at + 1, here, place, found)
            continue
        body, at = _body([*lines[:at], head[3], *lines[at + 1 :]], at)
        linux = _LINUX.search(body)
        if linux:
            release = _RELEASE.search(linux[1])
            number = ">".join(str(n) for n in place)
            found.append(Entry(">".join(here), number, title, release[1] if release else None, body))
    return at


def _body(lines: list[str], at: int) -> tuple[str, int]:
    depth, start = 0, at
    while at < len(lines):
        stripped = lines[at].strip()
        if stripped == "}" or (stripped.endswith("}") and "{" not in stripped):
            if depth == 0:
                return "\n".join([*lines[start:at], stripped.removesuffix("}")]), at + 1
            depth -= 1
        depth += stripped.endswith("{")
        at += 1
    return "\n".join(lines[start:at]), at


def _words(text: str) -> tuple[str, str]:
    """(title, id) of a menuentry's words; an entry without an id has its title as id, as in GRUB."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    title = words[0] if words else ""
    for option in ("$menuentry_id_option", "--id"):
        if option in words[:-1]:
            return title, words[words.index(option) + 1]
    return title, next((word.removeprefix("--id=") for word in words if word.startswith("--id=")), title)


def default_of(cfg: str, environment: dict[str, str]) -> str | None:
    """The default of a plain boot: an id, a title, a path of them or of numbers. None: not known."""
    values: list[str] = [value.strip("\"'") for value in re.findall(r"^\s*set default=(\S+)\s*$", cfg, re.MULTILINE)]
    values = [value for value in values if "next_entry" not in value]
    if not values:
        return "0"
    if "saved_entry" in values[-1]:
        return environment.get("saved_entry") or "0"
    return values[-1]


def kernel_of(entry: Entry) -> str:
    """The path of its kernel, as GRUB finds it."""
    found = _LINUX.search(entry.body)
    if found is None:
        raise ValueError(f"the entry '{entry.title}' has no kernel")
    return found[1]


def is_meant(entry: Entry, default: str | None) -> bool:
    """Whether GRUB's word for the default is this entry."""
    if default is None:
        return False
    first = entry.number.split(">")
    if default == first[0] and len(first) > 1:
        return all(part == "0" for part in first[1:])
    return default in (entry.path, entry.number, entry.title, entry.path.rpartition(">")[2])


def beside(entry: Entry, release: str, initrd: bool) -> str:
    """A menu entry for another kernel, with the same root and command line as `entry`."""
    if entry.release is None:
        raise ValueError(f"the entry '{entry.title}' does not say which kernel it boots")
    lines = [line for line in entry.body.splitlines() if line.strip()]
    kept = [line for line in lines if initrd or not line.strip().startswith("initrd")]
    body = "\n".join(line.replace(entry.release, release) for line in kept)
    return f"{_head(release)}{body}\n}}\n"


def trial(entry: Entry, words: Sequence[str]) -> str:
    """A menu entry that boots as `entry` does, with more words on the kernel's command line."""
    more = " ".join(words)
    lines = [f"{line} {more}" if _LINUX.match(line) else line for line in entry.body.splitlines() if line.strip()]
    return f"{_head(TRIAL)}{chr(10).join(lines)}\n}}\n"


def id_of(release: str) -> str:
    """The id of an entry that `beside` makes. GRUB takes one that begins with a digit for a position in the menu, and boots another entry."""
    return f"rtassay-{release}"


def _head(release: str) -> str:
    return f"menuentry '{release}' --id '{id_of(release)}' {{\n"


def without(cfg: str, release: str) -> str:
    """A menu without the entry that `beside` made for a release."""
    before, found, after = cfg.partition(_head(release))
    return before + after.partition("\n}\n")[2] if found else cfg

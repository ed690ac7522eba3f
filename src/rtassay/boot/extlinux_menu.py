"""Reads and writes extlinux.conf, as far as needed for one more kernel. Format: U-Boot's doc/develop/distro.rst, and its boot/pxe_utils.c."""

from __future__ import annotations

import re
from dataclasses import dataclass

_WORD = re.compile(r"^(\s*)(\S+)([ \t]+)(.*?)\s*$")
KERNEL, INITRD, TREE, TREES = ("linux", "kernel"), ("initrd",), ("fdt", "devicetree"), ("fdtdir", "devicetreedir")
"""Words of a label, each with its other name."""


@dataclass(frozen=True, slots=True)
class Label:
    """`lines` of its block without the first one."""

    name: str
    lines: tuple[str, ...]

    def value(self, words: tuple[str, ...]) -> str | None:
        for line in self.lines:
            found = _WORD.match(line)
            if found and found[2].lower() in words:
                return found[4]
        return None


def label_of(release: str) -> str:
    return f"rtassay-{release}"


def labels(text: str) -> list[Label]:
    """All labels, in their order."""
    found: list[Label] = []
    name: str | None = None
    lines: list[str] = []
    for line in text.splitlines():
        word = _WORD.match(line)
        if word and word[2].lower() == "label":
            if name is not None:
                found.append(Label(name, tuple(lines)))
            name, lines = word[4], []
        elif name is not None:
            lines.append(line)
    return [*found, Label(name, tuple(lines))] if name is not None else found


def default_of(text: str) -> Label | None:
    """The label that boots by itself: the named one, else the first with a kernel."""
    known = [label for label in labels(text) if label.value(KERNEL) is not None]
    named = next(
        (word[4] for line in text.splitlines() if (word := _WORD.match(line)) and word[2].lower() == "default"), None
    )
    return next((label for label in known if label.name == named), known[0] if known else None)


def with_label(text: str, first: Label, release: str, paths: dict[str, str], default: bool) -> str:
    """The file with a label for `release` at its end, and with its default. Everything else stays as it was."""
    name = label_of(release)
    body = [line for line in (_line(line, release, paths) for line in first.lines) if line.strip()]
    lines = with_default(without(text, release), name if default else first.name, default).rstrip("\n").splitlines()
    return "\n".join([*lines, "", f"label {name}", *body, ""])


def with_default(text: str, name: str, replaces: bool = True) -> str:
    """The file with `name` as its default; without `replaces` only where it names none, since then U-Boot boots the first label."""
    lines = text.splitlines()
    at = next((n for n, line in enumerate(lines) if re.match(r"\s*default\s", line, re.IGNORECASE)), None)
    if at is None:
        lines.insert(0, f"default {name}")
    elif replaces:
        lines[at] = f"default {name}"
    return "\n".join([*lines, ""])


def without(text: str, release: str) -> str:
    """The file without the label of `release`."""
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        word = _WORD.match(line)
        if word and word[2].lower() == "label":
            inside = word[4] == label_of(release)
        if not inside:
            kept.append(line)
    return "\n".join(kept).rstrip("\n") + "\n"


def _line(line: str, release: str, paths: dict[str, str]) -> str:
    found = _WORD.match(line)
    if found is None:
        return line
    word = found[2].lower()
    if word == "menu":
        first, _, _ = found[4].partition(" ")
        return f"{found[1]}{found[2]} label {release}" if first.lower() == "label" else ""
    for words, key in ((KERNEL, "kernel"), (INITRD, "initrd"), (TREE, "fdt"), (TREES, "fdtdir")):
        if word in words and key in paths:
            return f"{found[1]}{found[2]}{found[3]}{paths[key]}"
    return line

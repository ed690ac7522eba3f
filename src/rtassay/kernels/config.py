"""Kernel configurations as text: joined from a base and fragments, compared option by option."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.files import read_regular

_SET = re.compile(r"CONFIG_([A-Za-z0-9_]+)=(.*)")
_UNSET = re.compile(r"# CONFIG_([A-Za-z0-9_]+) is not set")
_INLINE = re.compile(r"(?:CONFIG_)?([A-Z][A-Za-z0-9_]*)=(\S.*)")
# Both twins get EXPERT, as PREEMPT_RT depends on it: without it in the stock kernel they would differ in more than PREEMPT_RT.
# Names come from rtassay alone: what git knows of a tree is in the manifest.
_COMMON = "CONFIG_EXPERT=y\n# CONFIG_LOCALVERSION_AUTO is not set\n"
_TWIN = {False: "# CONFIG_PREEMPT_RT is not set\n", True: "CONFIG_PREEMPT_RT=y\n"}
NOT_SET = "n"


@dataclass(frozen=True, slots=True)
class Fragment:
    """Lines of a configuration that go over the base. `name` as the user typed it."""

    name: str
    text: str

    @property
    def sha256(self) -> str:
        """The hash of its text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Difference:
    """One option that two configurations set differently; NOT_SET where one leaves it out."""

    option: str
    stock: str
    rt: str


def fragment_named(word: str, arch: str) -> Fragment:
    """A fragment: a file, `OPTION=VALUE`, or `lab` for what a lab board needs. Raises UsageError for another word."""
    inline = _INLINE.fullmatch(word)
    if inline:
        unset = inline[2] == NOT_SET
        return Fragment(word, f"# CONFIG_{inline[1]} is not set\n" if unset else f"CONFIG_{inline[1]}={inline[2]}\n")
    if word == "lab":
        return Fragment(word, _shipped("lab") + _shipped(f"lab-{arch}"))
    path = Path(word)
    if not path.exists():
        raise UsageError(f"there is no fragment '{word}'", hint="a file, OPTION=VALUE as HZ=1000, or lab")
    return Fragment(word, text_of(path))


def text_of(path: Path) -> str:
    """The text of a configuration file. Raises InputFileError if it cannot be read, or has a line that is none of a configuration."""
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputFileError(f"cannot read the configuration {path}", str(error)) from error
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#") and not _SET.fullmatch(line.strip()):
            raise InputFileError(
                f"{path}, line {number} is no line of a kernel configuration", line, "CONFIG_NAME=y or a comment"
            )
    return text


def joined(base: str, fragments: Iterable[Fragment], rt: bool) -> str:
    """The base, the fragments in their order, and last the stock or PREEMPT_RT line: for kconfig the last line of an option counts."""
    parts = [base, *(fragment.text for fragment in fragments), _COMMON, _TWIN[rt]]
    return "".join(part if part.endswith("\n") else part + "\n" for part in parts if part)


def options(text: str) -> dict[str, str]:
    """option -> value, without CONFIG_; options that are not set have NOT_SET."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if match := _SET.fullmatch(line.strip()):
            found[match[1]] = match[2]
        elif match := _UNSET.fullmatch(line.strip()):
            found[match[1]] = NOT_SET
    return found


def difference(stock: str, rt: str) -> tuple[Difference, ...]:
    """The options that two configurations set differently, in the order of their names."""
    a, b = options(stock), options(rt)
    pairs = ((name, a.get(name, NOT_SET), b.get(name, NOT_SET)) for name in sorted({*a, *b}))
    return tuple(Difference(*pair) for pair in pairs if pair[1] != pair[2])


def not_taken(asked: Iterable[Fragment], made: str) -> tuple[str, ...]:
    """`OPTION=VALUE` of every line of the fragments that kconfig did not keep: unknown there, or a dependency is missing."""
    wanted: dict[str, str] = {}
    for fragment in asked:
        wanted |= options(fragment.text)
    found = options(made)
    return tuple(f"{name}={value}" for name, value in wanted.items() if found.get(name, NOT_SET) != value)


def _shipped(name: str) -> str:
    file = resources.files("rtassay.kernels") / "fragments" / f"{name}.config"
    return file.read_text() if file.is_file() else ""

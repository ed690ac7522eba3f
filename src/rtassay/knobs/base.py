"""A setting of a board that bears on latency. To add one: a file in a group's folder, a line in `__init__.py`, a page in docs/extend.

A member looks and judges; it does no I/O. `doctor` reads the files of all members in one go (`session/examining.py`) and gives every
member the same `Seen`.
"""

from __future__ import annotations

import errno
import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from rtassay.model import foreign
from rtassay.model.errors import UsageError
from rtassay.model.inventory import Inventory, inventory_of, version_of
from rtassay.model.knobs import ABSENT, OK, UNKNOWN, WRONG, Action, Detail, Goal, Look
from rtassay.model.units import format_cpu_list, parse_cpu_list

T = TypeVar("T")

# What the kernel says of a thing that is not there.
_NOT_THERE = (errno.ENOENT, errno.ENODEV, errno.ENOTDIR, errno.ENXIO)
# Below these a pattern that matches nothing may mean that the file system is not mounted, or not for this user.
_HIDDEN = ("/sys/kernel/debug/", "/sys/kernel/tracing/")
_BRACKETED = re.compile(r"\[([^\]\s]+)\]")


class NotRead(Exception):
    """What a look needs is not there (`ABSENT`), or cannot be read (`UNKNOWN`). It ends the look with that state."""

    def __init__(self, state: str, why: str) -> None:
        super().__init__(why)
        self.state, self.why = state, why


@dataclass(frozen=True, slots=True)
class Seen:
    """What was read of a board: files by path, once and, of what counts, again after `spans` ns; `inventory` was made of them.

    `live` False: a recording or an inventory, of which no file is left; what it does not tell is unknown. `errors`: errno by path.
    `config`: symbols of the kernel's configuration (`CONFIG_X` -> `y`, `m` or a value); None: not known.
    """

    inventory: Inventory = field(default_factory=lambda: inventory_of({}))
    files: Mapping[str, bytes] = field(default_factory=dict)
    later: Mapping[str, bytes] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    spans: Mapping[str, int] = field(default_factory=dict)
    config: Mapping[str, str] | None = None
    live: bool = False

    @property
    def version(self) -> tuple[int, int] | None:
        """(6, 12) of a kernel 6.12.48."""
        return version_of(self.inventory.kernel.release)

    def text(self, path: str) -> str:
        """The text of a file, stripped. Raises NotRead."""
        if path in self.files:
            return self.files[path].decode(errors="replace").strip("\0\n\t ")
        raise self.not_read(path)

    def number(self, path: str) -> int:
        """The integer that a file holds. Raises NotRead."""
        value = foreign.number(self.text(path))
        if value is None:
            raise NotRead(UNKNOWN, f"{path} holds no number")
        return value

    def chosen(self, path: str) -> str:
        """The word in brackets of `always [madvise] never`. Raises NotRead."""
        found = _BRACKETED.search(self.text(path))
        if found is None:
            raise NotRead(UNKNOWN, f"{path} names no choice")
        return found[1]

    def matching(self, pattern: str) -> dict[str, str]:
        """Texts of the files that a pattern of `reads` matched, by path; at least one. Raises NotRead."""
        found = {path: self.text(path) for path in sorted(fnmatch.filter(self.files, pattern), key=_natural)}
        if not found:
            raise self.not_read(pattern)
        return found

    def has(self, path: str) -> bool:
        """Whether the file, or one that the pattern matches, was read."""
        return path in self.files or bool(fnmatch.filter(self.files, path))

    def not_read(self, path: str) -> NotRead:
        """Why nothing was read there: the board has no such file, or it could not be read."""
        if not self.live:
            return NotRead(UNKNOWN, "not recorded; a look at the board tells")
        refused = [self.errors[name] for name in self.errors if name == path or fnmatch.fnmatch(name, path)]
        told = [number for number in refused if number not in _NOT_THERE]
        if told:
            return NotRead(UNKNOWN, f"{path} cannot be read: {errno.errorcode.get(told[0], told[0])}")
        if path.startswith(_HIDDEN) and not self.has(f"{'/'.join(path.split('/')[:4])}/*"):
            return NotRead(UNKNOWN, f"{path} cannot be read: not mounted, or not for this user")
        return NotRead(ABSENT, f"the board has no {path}")

    def told(self, value: T | None, path: str) -> T:
        """A value of the inventory that comes from `path`. Raises NotRead where it has none."""
        if value is None:
            raise self.not_read(path)
        return value

    def symbol(self, name: str) -> str | None:
        """An option of the kernel's configuration (`CONFIG_X`), None if it is not set. Raises NotRead if none is known."""
        if self.config is None:
            raise NotRead(UNKNOWN, "the kernel's configuration is not known")
        return self.config.get(name)

    def words(self) -> list[str]:
        """Words of the kernel's command line. Raises NotRead."""
        return self.told(self.inventory.cmdline, "/proc/cmdline").split()

    def word(self, name: str) -> str | None:
        """The value of the last `name=value` on the command line, "" of a word alone, None without one. Raises NotRead."""
        found = [word.partition("=")[2] for word in self.words() if word.partition("=")[0] == name]
        return found[-1] if found else None

    def online(self) -> tuple[int, ...]:
        """CPUs that are online. Raises NotRead."""
        return self.told(self.inventory.cpus.online, "/sys/devices/system/cpu/online")

    def isolated(self) -> tuple[int, ...]:
        """CPUs that the kernel keeps free of other work, by isolcpus or a cpuset partition; () for none. Raises NotRead."""
        self.told(self.inventory.cpus.isolated, "/sys/devices/system/cpu/isolated")
        return self.inventory.cpus.kept_free or ()

    def measured(self, goal: Goal) -> tuple[int, ...]:
        """CPUs of the application: those asked for, else those the board isolates. Raises NotRead if there are none."""
        cpus = goal.isolated if goal.isolated is not None else self.isolated()
        if len(self.online()) < 2:
            raise NotRead(ABSENT, "the board has one CPU: none can be set aside")
        if not cpus:
            raise NotRead(UNKNOWN, "no CPU is set aside: name those of the application with --for isolated=LIST")
        return cpus

    def housekeeping(self, goal: Goal) -> tuple[int, ...]:
        """CPUs that are left for everything else. Raises NotRead if none is left, or none is set aside."""
        left = tuple(cpu for cpu in self.online() if cpu not in self.measured(goal))
        if not left:
            raise NotRead(UNKNOWN, "all CPUs are set aside: leave one for everything else")
        return left


def _natural(path: str) -> list[int | str]:
    """cpu2 before cpu10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d{1,9})", path)]


class Knob(Protocol):
    """One setting. Members inherit from this class, which gives the last five attributes a default.

    `name`: what the user types. `title`: what it is, in a few words. `why`: how it bears on latency, two sentences at most. `effect`:
    what a change is expected to give, and its size where a source has one. `harm`: what it may cost. `scope`, `evidence` and
    `severity`: words of `model.knobs`. `sources`: who says so. `reads`: files, patterns and `@sources` of rtprobe's watch; all are read
    in one round trip. `counts`: what is read twice, one second apart. `needs`: settings that come first; `excludes`: settings that
    do not go with it.
    """

    name: str
    title: str
    why: str
    effect: str
    harm: str
    scope: str
    evidence: str
    severity: str
    sources: tuple[str, ...]
    reads: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()

    def look(self, seen: Seen, goal: Goal) -> Look:
        """The state, read from the effect where the kernel tells it. It may raise NotRead, and nothing else.

        Never `ok` for what was not read. Where sources contradict each other the answer is `unknown`, never `wrong`.
        """
        ...


def ok(now: str, *details: Detail) -> Look:
    """As it should be."""
    return Look(OK, now, details=details)


def wrong(
    now: str, wanted: str, *actions: Action, details: tuple[Detail, ...] = (), severity: str | None = None
) -> Look:
    """Not as it should be; `actions` would set it right."""
    return Look(WRONG, now, wanted, actions, details, severity)


def absent(why: str) -> Look:
    """The board has no such thing."""
    return Look(ABSENT, why)


def unknown(why: str, wanted: str | None = None, *actions: Action, details: tuple[Detail, ...] = ()) -> Look:
    """It cannot be told whether it is right. `wanted`: what could be tried; `actions` would do so."""
    return Look(UNKNOWN, why, wanted, actions, details)


def cpu_list(text: str) -> tuple[int, ...]:
    """A list of CPUs as the kernel writes it; () for an empty one. Raises NotRead for anything else."""
    try:
        return parse_cpu_list(text) if text and text != "(null)" else ()
    except UsageError:
        raise NotRead(UNKNOWN, "a list of CPUs could not be read") from None


def cpu_mask(text: str) -> tuple[int, ...]:
    """CPUs of a mask such as `f` or `ff,ffffffff`. Raises NotRead for anything else."""
    digits = text.replace(",", "")
    if not re.fullmatch(r"[0-9a-fA-F]{1,1024}", digits):
        raise NotRead(UNKNOWN, "a mask of CPUs could not be read")
    value = int(digits, 16)
    return tuple(cpu for cpu in range(value.bit_length()) if value >> cpu & 1)


def mask_of(cpus: tuple[int, ...]) -> str:
    """The mask that the kernel takes for these CPUs: words of 32 bits, the highest first."""
    value = sum(1 << cpu for cpu in cpus)
    words: list[str] = []
    while value or not words:
        words.append(f"{value & 0xFFFFFFFF:x}" if value >> 32 == 0 else f"{value & 0xFFFFFFFF:08x}")
        value >>= 32
    return ",".join(reversed(words))


def cpus_text(cpus: Iterator[int] | tuple[int, ...] | list[int]) -> str:
    """`CPU 0-2`, for a sentence."""
    return f"CPU {format_cpu_list(sorted(cpus))}"

"""The settings that a campaign left, as single changes with their evidence: what every export writes."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from rtassay.model.foreign import one_line
from rtassay.model.knobs import HOLD, SERVICE, WRITE, Action
from rtassay.model.proving import Proof, Worth
from rtassay.reports.proof import proof_text as text

SYSCTL = "/proc/sys/"
_GOVERNOR = re.compile(r"/sys/devices/system/cpu/(?:cpufreq/policy|cpu)(\d+)/(?:cpufreq/)?scaling_governor")
_NAMED = 3
_SWAPPED = str.maketrans("./", "/.")
# Files of /sys that a word of the kernel's command line sets too.
_WORDS = {"/sys/kernel/mm/transparent_hugepage/enabled": "transparent_hugepage"}


@dataclass(frozen=True, slots=True)
class Line:
    """One change. `key`: of a sysctl its name (`kernel.printk`), else the action's target."""

    id: str
    kind: str
    key: str
    value: str

    @property
    def is_sysctl(self) -> bool:
        """Whether `sysctl` sets it."""
        return self.kind == "sysctl"

    @property
    def path(self) -> str:
        """The file of a write. In the name of a sysctl dots and slashes stand for each other."""
        return SYSCTL + self.key.translate(_SWAPPED) if self.is_sysctl else self.key

    @property
    def governor_cpu(self) -> int | None:
        """The first CPU of the frequency policy whose governor it is."""
        found = _GOVERNOR.fullmatch(self.key)
        return None if found is None else int(found[1])


def line_of(id_: str, action: Action) -> Line:
    """A sysctl by its name, other files by their path."""
    value = one_line(action.value)
    if action.kind == WRITE and action.target.startswith(SYSCTL):
        return Line(id_, "sysctl", action.target.removeprefix(SYSCTL).translate(_SWAPPED), value)
    return Line(id_, action.kind, one_line(action.target), value)


def lines(proof: Proof, worth: Worth) -> list[Line]:
    """The changes of one setting."""
    setting = next((one for one in proof.tuning.settings if one.id == worth.id), None)
    return [] if setting is None else [line_of(worth.id, action) for action in setting.actions]


def evidence(worth: Worth) -> str:
    """`printk: helps by 1.84 (95 %: 1.45 to 2.33), 20261123T0600-abc and 3 more recordings`."""
    effect = None if worth.answer is None else worth.answer.effect
    limits = "" if effect is None else f" (95 %: {text.interval(effect)})"
    ids = () if worth.answer is None else worth.answer.recordings
    more = f" and {len(ids) - _NAMED} more" if len(ids) > _NAMED else ""
    shown = f"; recordings {', '.join(ids[:_NAMED])}{more}" if ids else ""
    return one_line(f"{worth.id}: {text.finding(worth)}{limits}{shown}", 400)


def head(proof: Proof, format_words: str) -> list[str]:
    """What the file is, the sentence that is quoted, and under what it was measured; one line each."""
    return [
        one_line(f"Settings proven by rtassay prove: {format_words}.", 400),
        one_line(text.headline(proof), 400),
        one_line(text.conditions(proof), 400),
        "It holds for this board, this kernel and this load.",
    ]


def comments(sentences: Sequence[str], mark: str = "#") -> list[str]:
    """As lines of comment."""
    return [f"{mark} {sentence}" for sentence in sentences]


def missing(line: Line, where: str) -> str:
    """Why a change is not in a file of some format."""
    return f"not {where}: {line.kind} {line.key} {line.value}".rstrip() + " (rtassay tune applies it)"


def boot_words(line: Line) -> str | None:
    """The word of the kernel's command line that does the same; None where there is none. The kernel sets sysctls from 5.8 on."""
    if line.is_sysctl:
        return f"sysctl.{line.key}={quoted(line.value)}"
    if line.kind == WRITE and line.key in _WORDS:
        return f"{_WORDS[line.key]}={line.value}"
    return f"cpufreq.default_governor={line.value}" if line.governor_cpu is not None else None


def quoted(value: str) -> str:
    """A value with a space in quotes, as the kernel reads its command line."""
    return f'"{value}"' if " " in value else value


def shell_command(line: Line) -> str | None:
    """What a shell does for it; None for what is of threads and cgroups of one boot."""
    if line.is_sysctl or line.kind == WRITE:
        return f"printf %s {shlex.quote(line.value)} > {shlex.quote(line.path)}"
    return f"systemctl stop {shlex.quote(line.key)}" if line.kind == SERVICE else None


def held_command(line: Line) -> str:
    """What a shell does to hold a file open with its 32-bit number in it, lowest byte first, as printf's %b reads it."""
    number = int(line.value) if line.value.isdecimal() else 0
    octal = "".join(f"\\0{byte:o}" for byte in number.to_bytes(8, "little")[:4])
    return f"exec 3>{shlex.quote(line.key)}; printf %b '{octal}' >&3"


def in_a_unit(command: str) -> str:
    """A shell command as one word of a unit: systemd reads %, $, backslashes and quotes itself."""
    escaped = command.replace("\\", "\\\\").replace("%", "%%").replace("$", "$$").replace('"', '\\"')
    return f'"{escaped}"'


def is_hold(line: Line) -> bool:
    """Whether a program must keep the file open."""
    return line.kind == HOLD

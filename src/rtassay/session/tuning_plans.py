"""Makes plans of settings: from what `doctor` found on a board, by profile or by name, or from a file. Nothing is read or changed here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from rtassay.model import foreign
from rtassay.model.errors import InputFileError, UsageError
from rtassay.model.files import open_regular
from rtassay.model.knobs import (
    ABSENT,
    AT_RUN_TIME,
    BOOT_WORD,
    OK,
    RUN_TIME,
    SERVICE,
    UNKNOWN,
    WRITE,
    Action,
    Examination,
    Found,
    Goal,
    parse_goal,
)
from rtassay.model.parsed import toml_table
from rtassay.model.tuning import Setting, TuningPlan
from rtassay.session import isolation

_EVERYWHERE = (
    "clocksource",
    "governor",
    "energy-hints",
    "dma-latency",
    "lockup-detector",
    "machine-check",
    "vmstat-interval",
    "printk",
    "tracing",
    "rt-throttling",
    "foreign-rt-threads",
    "transparent-hugepages",
    "ksm",
    "compaction",
    "dirty-writeback",
)
PROFILES: Final[Mapping[str, tuple[str, ...]]] = {
    "dedicated": (
        "smt",
        "irqbalance",
        "background-timers",
        "desktop",
        *_EVERYWHERE,
        "frequency-limits",
        "resume-latency",
        "idle-states",
        "pcie-aspm",
        "numa-balancing",
        "rcu-normal",
        "fair-server",
        "irq-affinity",
        "irq-default-affinity",
        "workqueue-mask",
        "efi-runtime",
        "thread-affinity",
    ),
    "shared": _EVERYWHERE,
    "audio": (
        "background-timers",
        "governor",
        "energy-hints",
        "dma-latency",
        "vmstat-interval",
        "printk",
        "transparent-hugepages",
        "ksm",
        "compaction",
        "dirty-writeback",
    ),
}
"""Ids by profile, in the order in which they are applied. dedicated: CPUs are kept for the application; shared: they are not; audio: a desktop that plays sound."""

# The connection that a board is reached by needs them.
_NETWORK_UNITS = (
    "ssh",
    "sshd",
    "dropbear",
    "NetworkManager",
    "systemd-networkd",
    "wpa_supplicant",
    "dhcpcd",
    "connman",
    "networking",
    "ifup@",
)
_ON_BUS = re.compile(r"/sys/bus/[^/]+/devices/([^/]+)/")
_MOST_BYTES = 1 << 20
_HINT = 'settings = ["printk"], and [[write]] with file and value: docs/guides/make-it-hold.md'


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person asks to change: ids of settings in order, and writes of their own. `named`: the ids were given one by one."""

    ids: tuple[str, ...]
    writes: tuple[Setting, ...] = ()
    goal: Goal | None = None
    named: bool = False


def of_profile(name: str) -> Asked:
    """Raises UsageError for a profile that there is not."""
    if name not in PROFILES:
        raise UsageError(f"there is no profile '{name}'", hint=f"profiles: {', '.join(PROFILES)}")
    return Asked(PROFILES[name])


def of_file(name: str, text: str) -> Asked:
    """The plan in a file (TOML). Raises InputFileError."""
    try:
        data = toml_table(text)
    except tomllib.TOMLDecodeError as error:
        raise InputFileError(f"{name} is no TOML", str(error), _HINT) from error
    return of_table(name, data)


def of_table(name: str, data: Mapping[str, Any]) -> Asked:
    """The plan in a table of TOML; `name`: where it stands, for errors. Raises InputFileError."""
    unknown = sorted(set(data) - {"for", "settings", "profile", "write"})
    if unknown:
        raise InputFileError(f"{name}: there is no '{unknown[0]}'", hint=_HINT)
    ids = data.get("settings", [])
    if not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise InputFileError(f"{name}: settings is no list of names", hint=_HINT)
    profile = data.get("profile")
    chosen = of_profile(str(profile)).ids if profile is not None else ()
    goal = data.get("for")
    if goal is not None and not isinstance(goal, str):
        raise InputFileError(f"{name}: for is no text", hint='for = "isolated=2-3"')
    rows = data.get("write", [])
    if not isinstance(rows, list):
        raise InputFileError(f"{name}: write is no list", hint=_HINT)
    writes = tuple(_write(name, row) for row in rows)
    if not (ids or chosen or writes):
        raise InputFileError(f"{name} asks for nothing", hint=_HINT)
    return Asked(
        tuple(dict.fromkeys((*chosen, *ids))), writes, None if goal is None else parse_goal(goal), named=not chosen
    )


def read(name: str) -> Asked:
    """The plan in the file of this name. Raises InputFileError."""
    try:
        with open_regular(Path(name)) as file:
            text = file.read(_MOST_BYTES).decode()
    except OSError as error:
        raise InputFileError(f"cannot read {name}", error.strerror) from error
    except UnicodeDecodeError as error:
        raise InputFileError(f"{name} is no text") from error
    return of_file(name, text)


def _write(name: str, row: Any) -> Setting:
    told = row if isinstance(row, Mapping) else {}
    file, value = told.get("file"), told.get("value")
    if (
        not isinstance(file, str)
        or not file.startswith(("/proc/", "/sys/"))
        or ".." in file
        or not foreign.is_path(file)
    ):
        raise InputFileError(f"{name}: a [[write]] names no file of /proc or /sys", hint=_HINT)
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise InputFileError(f"{name}: the [[write]] of {file} has no value", hint=_HINT)
    title = str(told.get("name", file.rpartition("/")[2]))
    if not foreign.is_name(title):
        raise InputFileError(f"{name}: the [[write]] of {file} has no plain name", hint=_HINT)
    also = told.get("also", [])
    if not isinstance(also, list) or not all(isinstance(one, str) for one in also):
        raise InputFileError(f"{name}: also of {file} is no list of files", hint=_HINT)
    return Setting(title, file, (Action(WRITE, file, str(value), tuple(also)),))


def plan_of(examination: Examination, asked: Asked) -> TuningPlan:
    """What is to be done on this board. Settings that are fine are left out; of the others each one says why it is left.

    Raises UsageError for an id that there is not.
    """
    found = {one.id: one for one in examination.found}
    for name in asked.ids:
        if name not in found:
            raise UsageError(f"there is no setting '{name}'", hint="rtassay doctor lists them")
    chosen = [found[name] for name in _in_order(asked.ids, found) if found[name].state != OK]
    settings = [_setting(one, named=asked.named) for one in chosen]
    taken: set[str] = set()
    for at, one in enumerate(chosen):
        against = sorted(taken & set(one.excludes))
        if against and settings[at].actions:
            settings[at] = replace(settings[at], actions=(), left=f"does not go with {against[0]}")
        elif settings[at].actions:
            taken.add(one.id)
    return TuningPlan((*settings, *asked.writes))


def boot_words_of(examination: Examination, asked: Asked) -> tuple[tuple[str, str], ...]:
    """(setting, word) for every word of the kernel's command line that the settings asked for want, and do not have."""
    found = {one.id: one for one in examination.found}
    return tuple(
        (name, word)
        for name in asked.ids
        if name in found and found[name].state != OK
        for action in found[name].actions
        if action.kind == BOOT_WORD and not action.target
        for word in action.value.split()
    )


def isolation_of(examination: Examination) -> tuple[Setting, ...]:
    """What isolates the CPUs of the goal on this board, at run time. Raises UsageError if nothing does."""
    found = [one for one in examination.found if one.id in isolation.KNOBS]
    able = [one for one in found if one.state == UNKNOWN and one.actions]
    if not able:
        told = "; ".join(f"{one.id}: {one.now}" for one in found)
        raise UsageError(
            "this board has no isolated CPUs", f"the kernel isolates none; {told}", "boot it with isolcpus="
        )
    return (_setting(able[0], named=True),)


def _in_order(ids: Iterable[str], found: Mapping[str, Found]) -> list[str]:
    """As given, with what a setting needs before it where both are asked for."""
    wanted = list(dict.fromkeys(ids))
    ordered: list[str] = []
    for name in wanted:
        ordered += [need for need in found[name].needs if need in wanted and need not in ordered]
        if name not in ordered:
            ordered.append(name)
    return ordered


def _setting(one: Found, *, named: bool) -> Setting:
    actions = tuple(action for action in one.actions if action.kind in AT_RUN_TIME)
    others = tuple(action for action in one.actions if action.kind not in AT_RUN_TIME)
    left: str | None = None
    if one.state == ABSENT:
        actions, left = (), f"not there: {one.now}"
    elif one.state == UNKNOWN and actions and not named:
        actions, left = (), f"only a measurement can tell whether it helps: --only {one.id} ({one.now})"
    elif not actions:
        left = _why_not(one)
    elif others:
        left = "the rest by hand: " + "; ".join(f"{action.target} {action.value}".strip() for action in others[:4])
    return Setting(one.id, one.title, actions, left, one.harm)


def _why_not(one: Found) -> str:
    if one.scope != RUN_TIME:
        words = "; ".join(f"{action.target} {action.value}".strip() for action in one.actions[:4])
        return f"not at run time ({one.scope}){': ' + words if words else ''}"
    if one.actions:
        return "by hand: " + "; ".join(f"{action.target} {action.value}".strip() for action in one.actions[:4])
    return f"unknown: {one.now}" if one.state == UNKNOWN else "tune has no action for it yet"


@dataclass(frozen=True, slots=True)
class Link:
    """A network device that we reach a board by. `path`: of the device in /sys/devices ("" for none, as of a tunnel); `driver`: its name."""

    device: str
    path: str = ""
    driver: str = ""

    def is_touched_by(self, file: str) -> bool:
        """Whether a file belongs to it, to its driver, or to a device that it hangs on (a USB hub, a bus)."""
        if f"/net/{self.device}/" in file or (file.startswith("/proc/sys/net/") and f"/{self.device}/" in file):
            return True
        if self.driver and file.startswith(
            (f"/sys/module/{self.driver}/", f"/sys/module/{self.driver.replace('-', '_')}/")
        ):
            return True
        on_bus = _ON_BUS.match(file)
        if on_bus is not None:
            return on_bus[1] in self.path.split("/")
        holder = file.partition("/power/")[0] if "/power/" in file else file.rpartition("/")[0]
        inside = bool(self.path) and f"{file}/".startswith(f"{self.path}/")
        return inside or (file.startswith("/sys/devices/") and f"{self.path}/".startswith(f"{holder}/"))


def safe(plan: TuningPlan, links: Sequence[Link]) -> TuningPlan:
    """The plan without what would cut the way to the board or take its first CPU. `links`: the devices we may have come by; (): none."""
    kept = []
    for one in plan.settings:
        why = next((text for action in one.actions if (text := _danger(action, links))), None)
        kept.append(one if why is None else replace(one, actions=(), left=why))
    return TuningPlan(tuple(kept))


def _danger(action: Action, links: Sequence[Link]) -> str | None:
    """Why an action is not done: None, it may be."""
    if action.kind == SERVICE and action.target.removesuffix(".service").startswith(_NETWORK_UNITS):
        return f"{action.target} may carry the connection to the board"
    touched = next((link for link in links if action.kind == WRITE and link.is_touched_by(action.target)), None)
    if touched is not None:
        return f"{touched.device} may be the device of the connection to the board"
    if action.target == "/sys/devices/system/cpu/cpu0/online":
        return "CPU 0 stays online, for everything but the application"
    return None

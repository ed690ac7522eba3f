"""Words about the settings of a board, for every format."""

from __future__ import annotations

import shlex
import textwrap

from rtassay.model.foreign import one_line
from rtassay.model.knobs import (
    ABSENT,
    AFFINITY,
    BOOT_WORD,
    CONTROLLER,
    DIRECTORY,
    EVIDENCE,
    HOLD,
    MOUNT,
    OK,
    POLICY,
    PROGRAMS,
    RUN_TIME,
    SERVICE,
    SET,
    UNKNOWN,
    WRITE,
    WRONG,
    Action,
    Examination,
    Found,
)
from rtassay.model.units import format_cpu_list, format_time

_MANY = 6
_NAMES = 40


def headline(examination: Examination) -> str:
    """One line: how many settings are in which state."""
    wrong, unknown = len(examination.of(WRONG)), len(examination.of(UNKNOWN))
    fine, absent = len(examination.of(OK)), len(examination.of(ABSENT))
    return f"{examination.subject}: {wrong} of {len(examination.found)} settings wrong, {unknown} unknown, {fine} fine, {absent} not there"


def conditions(examination: Examination) -> str:
    """What was looked at, and what for."""
    goal = examination.goal
    cpus = "the CPUs that the board isolates" if goal.isolated is None else f"CPU {format_cpu_list(goal.isolated)}"
    period = "" if goal.period_ns is None else f", period {format_time(goal.period_ns)}"
    looked = (
        f"watched {examination.watched_ns / 1e9:.1f} s"
        if examination.kind == "board"
        else f"a {examination.kind}, without the board"
    )
    return f"Kernel {examination.kernel or 'not known'}{_machine(examination.virtualisation)}; {looked}; for an application on {cpus}, priority {goal.priority}{period}."


def _machine(kind: str | None) -> str:
    if kind in (None, "none"):
        return ""
    what = "emulated CPUs" if kind == "tcg" else f"a virtual machine ({kind})"
    return f" on {what}, whose host decides when they run: no setting here changes that"


def weight(found: Found) -> str:
    """Severity and evidence: `high, D (published data ...)`."""
    return f"{found.severity}; evidence {found.evidence}: {EVIDENCE[found.evidence]}"


def proof(found: Found) -> str:
    """How long it takes to prove what the change is worth here."""
    minutes = found.proof_s // 60
    hours = f"{minutes // 60} h {minutes % 60} min" if minutes % 60 else f"{minutes // 60} h"
    boots = "" if found.scope == RUN_TIME else ", 8 boots"
    return f"about {hours} (12 runs of 5 min{boots})"


def how(action: Action) -> str:
    """The change, as a person would make it."""
    if action.kind in (WRITE, SET):
        return f"echo {shlex.quote(action.value)} > {action.target}"
    if action.kind == HOLD:
        return f"keep {action.target} open with the 32-bit number {action.value} written to it"
    if action.kind == AFFINITY:
        return f"taskset -cp {action.value} {action.target}"
    if action.kind == POLICY:
        what, _, value = action.value.partition(" ")
        return f"chrt --{what} -p {value} {action.target}"
    if action.kind == PROGRAMS:
        return f"taskset -cp {action.value} of every thread that may use all CPUs"
    if action.kind == CONTROLLER:
        return f"echo +{action.value} > {action.target}"
    if action.kind == DIRECTORY:
        return f"mkdir {action.target}"
    if action.kind == MOUNT:
        return f"mount -t {action.value} {action.value} {action.target}"
    if action.kind == SERVICE:
        return f"systemctl stop {action.target}"
    if action.kind == BOOT_WORD:
        return f"{action.target or 'kernel command line'}: {action.value}"
    return f"{action.target}: {action.value}" if action.target else action.value


def changes(found: Found) -> list[str]:
    """The first changes that would set it right, and how many more there are."""
    return _first([one_line(how(action), 300) for action in found.actions])


def details(found: Found) -> list[str]:
    """The first parts of a setting that has many, and how many more there are."""
    told = []
    for detail in found.details:
        wanted = "" if detail.wanted is None else f", wanted {detail.wanted}"
        why = "" if detail.why is None else f": {detail.why}"
        told.append(one_line(f"{detail.name}: {detail.now}{wanted}{why}", 300))
    return _first(told)


def _first(told: list[str]) -> list[str]:
    # A line that says "and 1 more" takes as much room as that one.
    more = len(told) - _MANY
    return [*told[:_MANY], f"and {more} more (--json)"] if more > 1 else told


def by_reason(found: tuple[Found, ...]) -> list[tuple[str, str]]:
    """(settings, reason), the settings of one reason together: some on a line, the reason on the first."""
    together: dict[str, list[str]] = {}
    for one in found:
        reason = one.now if one.wanted is None else f"{one.now} (try {one.wanted})"
        together.setdefault(reason, []).append(one.id)
    rows = []
    for reason, names in together.items():
        first, *others = textwrap.wrap(", ".join(names), _NAMES, break_on_hyphens=False)
        rows += [(first, reason), *((line, "") for line in others)]
    return rows

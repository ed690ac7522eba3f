"""What `doctor` found: each setting of a board with its state, ranked. Schema rtassay/doctor/1."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from rtassay.model.errors import UsageError
from rtassay.model.inventory import TunedState
from rtassay.model.units import NS_PER_S, parse_cpu_list, parse_duration_ns
from rtassay.model.values import Value

OK: Final = "ok"
WRONG: Final = "wrong"
ABSENT: Final = "absent"  # the board has no such thing
UNKNOWN: Final = "unknown"  # it could not be read, or no source tells what is right
STATES: Final = (WRONG, UNKNOWN, ABSENT, OK)

RUN_TIME: Final = "run time"
BOOT: Final = "boot"
BUILD: Final = "build"
FIRMWARE: Final = "firmware"
SCOPES: Final = (RUN_TIME, BOOT, BUILD, FIRMWARE)

HIGH: Final = "high"
MEDIUM: Final = "medium"
LOW: Final = "low"
SEVERITIES: Final = (HIGH, MEDIUM, LOW)

# Letter -> what stands behind an advice, the strongest first.
EVIDENCE: Final = {
    "D": "published data, or a kernel commit with numbers",
    "C": "documentation or commits of the kernel's maintainers, without numbers",
    "V": "advice of vendors, without data",
    "X": "sources contradict each other",
    "F": "folklore",
}

WRITE: Final = "write"  # `value` into the file `target`; `also`: patterns of files that may change with it, `@threads` for their CPUs
HOLD: Final = "hold"  # the file `target` open after `value` was written to it
POLICY: Final = "policy"  # `value` (fifo 2) of the thread `target`, whose name is `also`
AFFINITY: Final = "affinity"  # the CPUs `value` for the thread `target`, whose name is `also`
PROGRAMS: Final = "programs"  # the CPUs `value` for every thread of a program that may use all CPUs
DIRECTORY: Final = "directory"  # `target` is made: a cgroup, or a group of resctrl
SET: Final = "set"  # `value` into the file `target` of a directory that is made; `also`: as for WRITE
GATHER: Final = "gather"  # every thread of a program that the file `value` lists goes to the group of the file `target`; `also`: as for WRITE
CONTROLLER: Final = "controller"  # `value` switched on in the cgroup.subtree_control `target`
MOUNT: Final = "mount"  # the file system `value` at `target`
SERVICE: Final = "service"  # the unit `target` stopped
BOOT_WORD: Final = "boot word"  # `value` on the kernel's command line, or in the file `target`
BY_HAND: Final = "by hand"  # what a person does
# Those that `tune` makes and puts back; the others it names.
AT_RUN_TIME: Final = (WRITE, HOLD, POLICY, AFFINITY, PROGRAMS, DIRECTORY, SET, GATHER, CONTROLLER, MOUNT, SERVICE)
ACTIONS: Final = (*AT_RUN_TIME, BOOT_WORD, BY_HAND)

# A proof: 4 runs unchanged, then 4 and 4 in turns, of 5 minutes each; a boot word needs a boot for each of the latter.
_RUNS, _RUN_S, _BOOTS, _BOOT_S = 12, 300, 8, 120


class Goal(Value):
    """What the board is to do. `isolated`: the CPUs of the application; None: those that the board isolates. `priority`: its real-time one."""

    isolated: tuple[int, ...] | None = None
    period_ns: int | None = None
    priority: int = 80


def parse_goal(text: str | None) -> Goal:
    """`isolated=2-3,period=1ms,priority=80` (a list of CPUs may hold commas). Raises UsageError."""
    if text is None:
        return Goal()
    values: dict[str, str] = {}
    for part in text.split(","):
        name, found, value = part.partition("=")
        if found:
            values[name.strip()] = value.strip()
        elif values:
            last = list(values)[-1]
            values[last] += f",{part.strip()}"
        else:
            raise UsageError(f"--for {text}: '{part}' is no NAME=VALUE", hint=_EXAMPLE)
    unknown = sorted(set(values) - {"isolated", "period", "priority"})
    if unknown:
        raise UsageError(f"--for {text}: there is no '{unknown[0]}'", hint=_EXAMPLE)
    isolated = parse_cpu_list(values["isolated"]) if "isolated" in values else None
    period_ns = parse_duration_ns(values["period"]) if "period" in values else None
    if period_ns == 0:
        raise UsageError(f"--for {text}: a period of 0")
    return Goal(isolated, period_ns, _priority(values.get("priority"), text))


_EXAMPLE = "write --for isolated=2-3,period=1ms,priority=80"


def _priority(word: str | None, text: str) -> int:
    if word is None:
        return Goal().priority
    if not word.isascii() or not word.isdecimal() or len(word) > 2 or not 1 <= int(word) <= 99:
        raise UsageError(f"--for {text}: priority is a number from 1 to 99", hint=_EXAMPLE)
    return int(word)


class Action(Value):
    """One change that would set it right, of a kind in ACTIONS."""

    kind: str
    target: str
    value: str
    also: tuple[str, ...] = ()


class Detail(Value):
    """One part of a setting that has many: an interrupt, a thread, an option of the kernel's configuration."""

    name: str
    now: str
    wanted: str | None = None
    severity: str | None = None
    why: str | None = None


class Look(Value):
    """What a look at one setting found. `now`: in words; of what is absent or unknown: why. `severity` None: that of the setting."""

    state: str
    now: str
    wanted: str | None = None
    actions: tuple[Action, ...] = ()
    details: tuple[Detail, ...] = ()
    severity: str | None = None


class Found(Value):
    """One setting: what is known of it in general, and what the look found here."""

    id: str
    group: str
    title: str
    why: str
    effect: str
    harm: str
    scope: str
    evidence: str
    sources: tuple[str, ...]
    needs: tuple[str, ...]
    excludes: tuple[str, ...]
    state: str
    severity: str
    now: str
    wanted: str | None
    actions: tuple[Action, ...]
    details: tuple[Detail, ...]

    @property
    def proof_s(self) -> int:
        """How long it takes to prove what it is worth here, with runs of 5 minutes."""
        return _RUNS * _RUN_S + (0 if self.scope == RUN_TIME else _BOOTS * _BOOT_S)

    @property
    def rank(self) -> tuple[int, int]:
        """Severity, then evidence: the smallest first."""
        return SEVERITIES.index(self.severity), list(EVIDENCE).index(self.evidence)


class Examination(Value):
    """All settings of one board, the most important first within each state. `kind`: board, recording or inventory.

    `tuned`: whose changes by `rtassay tune` were in force there; None: nobody's. `virtualisation`: `none`, or whose guest it is; None: not known.
    """

    subject: str
    kind: str
    kernel: str | None
    goal: Goal
    watched_ns: int
    found: tuple[Found, ...]
    tuned: TunedState | None = None
    virtualisation: str | None = None

    def of(self, *states: str) -> tuple[Found, ...]:
        """Those in one of these states, in order of rank."""
        return tuple(one for one in self.found if one.state in states)

    @property
    def unknown_required(self) -> tuple[Found, ...]:
        """Settings of high severity whose state is not known: without them the board cannot be called right."""
        return tuple(one for one in self.of(UNKNOWN) if one.severity == HIGH)


def ranked(found: list[Found]) -> tuple[Found, ...]:
    """By state, then by rank; in the order of the table where those are equal."""
    return tuple(sorted(found, key=lambda one: (STATES.index(one.state), one.rank)))


def examination_dict(examination: Examination) -> dict[str, Any]:
    """The object of `rtassay doctor --json`."""
    goal = examination.goal
    return {
        "schema": "rtassay/doctor/1",
        "subject": examination.subject,
        "kind": examination.kind,
        "kernel": examination.kernel,
        "virtualisation": examination.virtualisation,
        "for": {
            "isolated": None if goal.isolated is None else list(goal.isolated),
            "period_ns": goal.period_ns,
            "priority": goal.priority,
        },
        "watched_s": examination.watched_ns / NS_PER_S,
        "tuned": None if examination.tuned is None else examination.tuned.as_dict(),
        "counts": {state: len(examination.of(state)) for state in STATES},
        "unknown_required": [one.id for one in examination.unknown_required],
        "settings": [asdict(one) | {"proof_s": one.proof_s} for one in examination.found],
    }

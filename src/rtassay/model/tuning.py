"""Settings that are to be changed on a board, and those that were: plans, their lines for `rtprobe tune`, and what became of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final

from rtassay.model import foreign
from rtassay.model.knobs import AFFINITY, AT_RUN_TIME, MOUNT, POLICY, PROGRAMS, SERVICE, WRITE, Action
from rtassay.model.values import Value

PLACE: Final = "/run/rtassay-tuned"
"""The directory on a board that holds what was changed there (wire/SETTINGS.md)."""
ABOUT, JOURNAL, RESULT = f"{PLACE}/about", f"{PLACE}/journal", f"{PLACE}/result"
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"

PARTITION: Final = "/sys/fs/cgroup/rtassay-isolated"
"""The cgroup of the CPUs that are isolated at run time; below: with cgroup v1, and where the programs are meanwhile."""
PARTITION_V1: Final = "/sys/fs/cgroup/cpuset/rtassay-isolated"
REST_V1: Final = "/sys/fs/cgroup/cpuset/rtassay-rest"

KEPT_SYSCTL: Final = "/etc/sysctl.d/90-rtassay.conf"
KEPT_UNIT: Final = "/etc/systemd/system/rtassay-tuned.service"
"""Files of `tune --keep`."""

SAME: Final = "same"  # it was so already
TOOK: Final = "took"  # changed, and read back
DIFFERS: Final = "differs"  # written, and the board shows another value
REFUSED: Final = "refused"  # the kernel refused it
GONE: Final = "gone"  # the thread has ended
PENDING: Final = "pending"  # not made yet
STATES: Final = (SAME, TOOK, DIFFERS, REFUSED, GONE, PENDING)

_VM, _KERNEL = "/proc/sys/vm", "/proc/sys/kernel"
_COUPLED: Final = (
    # A look at one while another is off switches it off for good.
    (f"{_KERNEL}/watchdog", f"{_KERNEL}/nmi_watchdog", f"{_KERNEL}/soft_watchdog"),
    # The kernel takes one of each pair, and shows 0 for the other.
    *((f"{_VM}/{name}_bytes", f"{_VM}/{name}_ratio") for name in ("dirty", "dirty_background")),
    (f"{_VM}/overcommit_kbytes", f"{_VM}/overcommit_ratio"),
)
_FOLLOWERS: Final = {"/sys/kernel/mm/transparent_hugepage/enabled": (f"{_VM}/min_free_kbytes",)}
"""A file, and those that the kernel sets anew whenever it is written."""

_ESCAPED = {"\\": "\\\\", "\t": "\\t", "\n": "\\n"}
_MEANT = {"\\": "\\", "t": "\t", "n": "\n"}


class Setting(Value):
    """One setting of a plan. `actions`: what is done; `left`: why nothing, or not all of it, can be done here; None: all of it."""

    id: str
    title: str
    actions: tuple[Action, ...] = ()
    left: str | None = None
    harm: str = ""


class KeptFile(Value):
    """A file that makes settings last."""

    path: str
    text: str


class TuningPlan(Value):
    """Settings in the order in which they are applied; they are put back in the opposite order."""

    settings: tuple[Setting, ...]

    @property
    def ids(self) -> tuple[str, ...]:
        """Of its settings."""
        return tuple(one.id for one in self.settings)

    @property
    def changes(self) -> tuple[Change, ...]:
        """One for each action, in order, none of them made."""
        return tuple(
            Change(one.id, action.kind, action.target, action.value) for one in self.settings for action in one.actions
        )

    @property
    def text(self) -> str:
        """Lines for `rtprobe tune`."""
        return "".join(line_of(action) for one in self.settings for action in one.actions)

    def only(self, ids: Iterable[str]) -> TuningPlan:
        """The part of these settings."""
        wanted = set(ids)
        return TuningPlan(tuple(one for one in self.settings if one.id in wanted))

    def without(self, ids: Iterable[str]) -> TuningPlan:
        """The rest, without these settings."""
        unwanted = set(ids)
        return TuningPlan(tuple(one for one in self.settings if one.id not in unwanted))


class Change(Value):
    """One change of a board, of a kind in `model.knobs.AT_RUN_TIME`, and what became of it.

    `before`: the value that is put back, None where there is none; `now`: what was read after it; `why`: of what was refused.
    """

    setting: str
    kind: str
    target: str
    value: str
    state: str = PENDING
    before: str | None = None
    now: str | None = None
    why: str | None = None


class Tuned(Value):
    """A board whose settings are changed. `owner`: user@host; `since`: by its clock (UTC); `for_ns`: until they are put back.

    `guarded`: a process on the board puts them back when the time is over; None: not looked at.
    """

    owner: str
    token: str
    since: str
    for_ns: int
    boot_id: str
    changes: tuple[Change, ...]
    guarded: bool | None = None

    @property
    def settings(self) -> tuple[str, ...]:
        """Ids of the settings of which something took."""
        return tuple(dict.fromkeys(one.setting for one in self.changes if one.state in (TOOK, DIFFERS)))


class Reverted(Value):
    """What `revert` did. `was`: what was changed; None: nothing. `forgotten`: the board was restarted since, which undid it. `left`: (what, why) of what could not be put back."""

    was: Tuned | None
    forgotten: bool = False
    left: tuple[tuple[str, str], ...] = ()


def script_of(plan: TuningPlan, rtprobe: str, directory: str = "/tmp/tune") -> tuple[dict[str, bytes], str]:
    """For a board that is only a script (`lab.script.ScriptBoard`): files for its initrd by path, and shell lines that apply the plan.

    The lines return when all is applied; what must be held stays held in the background until the board ends. DIR/result tells what became
    of each change: `after(plan.changes, content)`. Nothing is put back, since the board ends with the script.
    """
    lines = (
        f"mkdir -p {directory} && cp /etc/rtassay-tune.plan {directory}/plan && : >{directory}/journal\n"
        f"{rtprobe} tune {directory} &\n"
        f"while [ ! -f {directory}/result ] || ! grep -q '^done$' {directory}/result; do kill -0 $! || exit 3; sleep 0.01; done\n"
    )
    return {"etc/rtassay-tune.plan": plan.text.encode()}, lines


def line_of(action: Action) -> str:
    """The line of an action for `rtprobe tune`, with its end (wire/SETTINGS.md). Of the kinds in AT_RUN_TIME only."""
    assert action.kind in AT_RUN_TIME
    if action.kind == POLICY:
        return _line("policy", action.target, f"={action.also[0]}", *action.value.split(" ", 1))
    if action.kind == AFFINITY:
        return _line("affinity", action.target, f"={action.also[0]}", action.value)
    if action.kind == MOUNT:
        return _line("mount", action.value, action.target)
    if action.kind == PROGRAMS:
        return _line("programs", action.value)
    value = () if action.kind == SERVICE or not action.value else (action.value,)
    others = _that_change_with(action.target) if action.kind == WRITE else ()
    return _line(action.kind, action.target, *value, *dict.fromkeys((*action.also, *others)))


def _that_change_with(file: str) -> tuple[str, ...]:
    """Files that are put back with this one, whoever writes it and whether they were named or not."""
    group = next((group for group in _COUPLED if file in group), ())
    return (*(one for one in group if one != file), *_FOLLOWERS.get(file, ()))


def _line(*fields: str) -> str:
    return "\t".join("".join(_ESCAPED.get(c, c) for c in field) for field in fields) + "\n"


def fields_of(line: str) -> list[str]:
    """Fields of a line that rtprobe wrote."""
    found = []
    for field in line.split("\t"):
        parts, at = [], 0
        while at < len(field):
            escaped = field[at] == "\\" and at + 1 < len(field)
            parts.append(_MEANT.get(field[at + 1], field[at + 1]) if escaped else field[at])
            at += 2 if escaped else 1
        found.append("".join(parts))
    return found


def after(changes: tuple[Change, ...], result: bytes) -> tuple[Change, ...]:
    """The changes with what became of each, from the lines `INDEX STATE NOW WHY` of a result."""
    rows = list(changes)
    for line in result.decode(errors="replace").split("\n"):
        fields = fields_of(line)
        index = foreign.number(fields[0])
        if index is None or index >= len(rows) or len(fields) < 4 or fields[1] not in STATES:
            continue
        rows[index] = replace(rows[index], state=fields[1], now=fields[2] or None, why=fields[3] or None)
    return tuple(rows)


def before(changes: tuple[Change, ...], told: bytes) -> tuple[tuple[Change, ...], str]:
    """The changes with the values of before, and the text of the journal, both from `rtprobe tune --look`."""
    rows, journal = list(changes), []
    for line in told.decode(errors="replace").split("\n"):
        fields = fields_of(line)
        index = foreign.number(fields[0])
        if index is None or index >= len(rows) or len(fields) < 2:
            continue
        one = rows[index]
        if fields[1] in (SAME, REFUSED, GONE) and len(fields) == 4:
            rows[index] = replace(one, state=fields[1], now=fields[2] or None, why=fields[3] or None)
            continue
        journal.append(line.partition("\t")[2])
        if fields[1] in ("value", "irq") and len(fields) >= 4 and fields[2] == one.target:
            rows[index] = replace(one, before=fields[3])
        elif fields[1] in ("policy", "affinity") and fields[2] == one.target:
            rows[index] = replace(one, before=" ".join(fields[4:]))
    return tuple(rows), "".join(f"{line}\n" for line in journal)


def about_dict(tuned: Tuned) -> dict[str, Any]:
    """The file `about` of a board, and what the host remembers."""
    data = asdict(tuned)
    del data["guarded"]
    return {"schema": "rtassay/tuned/1", **data}


def tuned_of(data: object, result: bytes = b"") -> Tuned | None:
    """The board's own word on what is changed; None where it is not of that form. `result` tells what became of each change."""
    if not isinstance(data, Mapping) or data.get("schema") != "rtassay/tuned/1":
        return None
    words = [data.get(key) for key in ("owner", "token", "since", "boot_id")]
    rows, for_ns = data.get("changes"), data.get("for_ns")
    if not all(isinstance(word, str) for word in words) or not isinstance(rows, list) or not isinstance(for_ns, int):
        return None
    changes = tuple(one for row in rows if (one := _change(row)) is not None)
    owner, token, since, boot_id = (foreign.one_line(str(word), 200) for word in words)
    return Tuned(owner, token, since, for_ns, boot_id, after(changes, result))


def read_tuned(files: Mapping[str, bytes]) -> Tuned | None:
    """What is changed on a board, from ABOUT, JOURNAL, RESULT and BOOT_ID as they were read there; None: nothing.

    A journal of another boot is of settings that are gone.
    """
    journal, about = files.get(JOURNAL), files.get(ABOUT)
    boot_id = files.get(BOOT_ID, b"").decode(errors="replace").strip()
    if journal is None or about is None or not journal.startswith(f"boot\t{boot_id}\n".encode()):
        return None
    try:
        data = json.loads(about)
    except (ValueError, RecursionError):
        return None
    return tuned_of(data, files.get(RESULT, b""))


def offer(board: str, owner: str, since: str | None, settings: Iterable[str]) -> str:
    """What every contact says of a board whose settings are changed: whose they are, and the command that puts them back."""
    names = ", ".join(dict.fromkeys(settings)) or "nothing yet"
    return f"settings of {board} are changed by {owner} since {since}: {names}; `rtassay tune {board} --revert` puts them back"


def _change(row: object) -> Change | None:
    if not isinstance(row, Mapping):
        return None
    told = {key: row.get(key) for key in ("setting", "kind", "target", "value")}
    if not all(isinstance(value, str) for value in told.values()) or told["kind"] not in AT_RUN_TIME:
        return None
    optional = {key: row.get(key) for key in ("before", "now", "why") if isinstance(row.get(key), str)}
    state = row.get("state")
    known = {key: foreign.one_line(str(value), 4096) for key, value in {**told, **optional}.items()}
    return Change(state=state if state in STATES else PENDING, **known)

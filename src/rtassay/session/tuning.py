"""Changes settings of a board and puts them back. `rtprobe guard` on the board holds them, whatever happens to this host.

What is put back is written down before each change, on the board (`rtprobe tune`, synced line by line) and here (`remembered`). It is put
back by `revert`, when the time is over, or when the guard is killed; the board's guard does it alone. If guard and standby are both killed
the next `revert` does it. After a restart of the board nothing is left to put back: the journal names the boot it is of.
"""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import json
import os
import secrets
import shlex
import socket
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from rtassay.boards.base import LinuxBoard, answer
from rtassay.model import tuning
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.files import read_regular, replace_file
from rtassay.model.knobs import SERVICE, Goal
from rtassay.model.parsed import json_value
from rtassay.model.tuning import Change, Reverted, Tuned, TuningPlan, tuned_of
from rtassay.session import isolation
from rtassay.session.board_files import read_files, said
from rtassay.session.examining import examine_board
from rtassay.session.tuning_plans import Asked, Link, isolation_of, plan_of, safe
from rtassay.store.paths import default_directory

DEFAULT_FOR_NS = 2 * 3600 * 1_000_000_000
_SCRIPT_S = 60.0
# Stopping services and moving thousands of threads may take long.
_APPLY_S = 120.0
_PAUSE_S = 0.1

_SHELL = """umask 022; d={place}
alive() {{ read -r g s 2>/dev/null <$d/guard && l=$(cat /proc/$g/stat 2>/dev/null) && set -- ${{l##*) }} && [ "$1" != Z ] && shift 19 && [ "$1" = "$s" ]; }}
here() {{ [ -f $d/journal ] && [ "$(sed -n '1s/^boot.//p' $d/journal)" = "$(cat /proc/sys/kernel/random/boot_id)" ]; }}
forget_old() {{ find "${{d%/*}}" -maxdepth 1 -name "${{d##*/}}.*" -mmin +10 -exec rm -rf {{}} \\; 2>/dev/null; }}
"""
# forget_old: files of a host that was killed in a step, which takes a minute or two.
# A lock directory, since two hosts may begin at once. A directory without a journal of this boot is of what is over.
_BEGIN = """[ "$(id -u)" = 0 ] || {{ echo no-root; exit; }}
forget_old
mkdir $d.lock 2>/dev/null || {{ echo busy; exit; }}
trap 'rmdir $d.lock' EXIT
if here; then echo busy; exit; fi
rm -rf $d; mkdir $d && mv {plan} $d/plan && mv {about} $d/about && chmod 644 $d/plan $d/about || {{ echo no-place; exit; }}
printf 'boot\\t%s\\n' "$(cat /proc/sys/kernel/random/boot_id)" >$d/journal; sync $d/journal 2>/dev/null
"""
_LAUNCH = """{rtprobe} guard --background $d/guard --max {for_ns}ns --restore $d/journal -- {rtprobe} tune $d 2>$d/errors && echo begun || {{ cat $d/errors; rm -rf $d; }}
"""
_LOOK = """here || { echo none; exit; }
alive && echo guarded
grep -q '^done$' $d/result 2>/dev/null && echo done
cat $d/errors 2>/dev/null
"""
_REVERT = """[ "$(id -u)" = 0 ] || {{ echo no-root; exit; }}
forget_old
[ -d $d ] || {{ echo none; exit; }}
here || echo forgotten
if alive; then kill -TERM $g; i=0; while alive && [ $i -lt 450 ]; do sleep 0.1 || {{ sleep 1; i=$((i + 9)); }}; i=$((i + 1)); done; fi
{rtprobe} tune --revert $d | while IFS= read -r l; do echo "left=$l"; done
[ -f $d/journal ] || {{ rm -rf $d; echo reverted; }}
"""


@dataclass(frozen=True, slots=True)
class Look:
    """What a plan would change, and what would be put back. `journal`: the lines that the host keeps."""

    changes: tuple[Change, ...]
    journal: str


def me() -> str:
    """user@host, as a lease names its holder."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


async def planned(
    board: LinuxBoard, asked: Asked, goal: Goal, *, isolate: bool = False
) -> tuple[TuningPlan, tuple[str, ...]]:
    """The plan for an open board as it is now, without what would cut the way to it, and the daemons there that may change settings too.

    `isolate`: before all else the CPUs of the goal are isolated at run time.

    Raises UsageError for a setting that there is not, BoardError.
    """
    found = await examine_board(board, await board.probe(), goal)
    first = isolation_of(found) if isolate else ()
    rest = plan_of(found, asked).without(isolation.KNOBS if isolate else ())
    plan = safe(TuningPlan((*first, *rest.settings)), await links_of(board))
    stopped = {action.target for one in plan.settings for action in one.actions if action.kind == SERVICE}
    daemons = next((one for one in found.found if one.id == "irqbalance"), None)
    running = () if daemons is None else tuple(action.target for action in daemons.actions if action.kind == SERVICE)
    return plan, tuple(name for name in running if name not in stopped)


async def look(board: LinuxBoard, plan: TuningPlan) -> Look:
    """What the plan would change on an open board, with the values of now. Changes nothing. Raises BoardError."""
    rtprobe = await board.probe()
    target = f"{tuning.PLACE}.look-{secrets.token_hex(6)}"
    try:
        await put_text(board, plan.text, target)
        process = await board.start([rtprobe, "tune", "--look", target])
        await process.close_stdin()
        told = await answer(process, whose(board), "rtprobe tune --look", within_s=_APPLY_S)
        code = await process.wait(_SCRIPT_S)
        if code != 0:
            raise BoardError(f"{whose(board)} cannot tell what would change", said(await process.errors()))
    finally:
        await run_script(board, f"rm -f {target}")
    return Look(*tuning.before(plan.changes, told))


async def apply(
    board: LinuxBoard, plan: TuningPlan, *, for_ns: int = DEFAULT_FOR_NS, known: Look | None = None
) -> Tuned:
    """Apply a plan on an open board, for `for_ns`. Returns what became of each change. `known`: a look that was shown just now.

    The board puts it back by itself when the time is over. Raises UsageError if the plan changes nothing, BoardError if the board's
    settings are changed by somebody already, if we are not root there, or if it fails; then everything is put back.
    """
    if not plan.changes:
        raise UsageError("the plan changes nothing")
    rtprobe = await board.probe()
    seen = await look(board, plan) if known is None else known
    boot_id = (await run_script(board, f"cat {tuning.BOOT_ID}")).strip()
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    tuned = Tuned(me(), secrets.token_hex(8), now, for_ns, boot_id, seen.changes)
    _remember(board.name, tuned, seen.journal)
    try:
        await _begin(board, rtprobe, plan, tuned)
        return await _applied(board, tuned)
    except BaseException:
        with contextlib.suppress(BoardError):
            if (there := await status(board)) is not None and there.token != tuned.token:
                forget(board.name, tuned.token)
            else:
                await revert(board)
        raise


async def status(board: LinuxBoard) -> Tuned | None:
    """What is changed on an open board now, and whether a guard holds it; None: nothing. Raises BoardError."""
    paths = [tuning.ABOUT, tuning.JOURNAL, tuning.RESULT, tuning.BOOT_ID]
    found = tuning.read_tuned(await read_files(board, await board.probe(), paths))
    if found is None:
        return None
    return replace(found, guarded="guarded" in (await run_script(board, _shell() + _LOOK)).split("\n"))


async def revert(board: LinuxBoard) -> Reverted:
    """Put everything back on an open board, also what a dead guard left. Raises BoardError."""
    rtprobe = shlex.quote(await board.probe())
    was = await status(board)
    if was is None:
        await _bring_back(board)
    said = (await run_script(board, _shell() + _REVERT.format(rtprobe=rtprobe), _APPLY_S)).split("\n")
    if "no-root" in said:
        raise no_root(board)
    left = tuple(_what_and_why(line) for line in said if line.startswith("left="))
    if not left and ("reverted" in said or "none" in said):
        forget(board.name, None)
    elif "reverted" not in said:
        left = left or ((tuning.PLACE, "it is still there"),)
    return Reverted(was, "forgotten" in said, left)


def _what_and_why(line: str) -> tuple[str, str]:
    what, _, why = line.removeprefix("left=").partition("\t")
    return what, why


async def links_of(board: LinuxBoard) -> tuple[Link, ...]:
    """The network device that our connection to an open board uses, by the route to us; every device there if that is not known.

    () for this machine. Raises BoardError.
    """
    script = """[ -n "$SSH_CONNECTION" ] || exit 0
set -- $SSH_CONNECTION
case $1 in *%*) d=${1#*%};; *) d=$(ip -o route get "$1" 2>/dev/null | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p');; esac
[ -n "$d" ] || d=$(sed -n 's/^\\([^ \\t]*\\)[ \\t]*00000000.*/\\1/p' /proc/net/route | sed 1q)
[ -e "/sys/class/net/$d/." ] && [ -n "$d" ] || d=$(ls /sys/class/net)
for n in $d; do [ "$n" = lo ] && [ "$d" != lo ] && continue
printf '%s\\t%s\\t%s\\n' "$n" "$([ -e /sys/class/net/$n/device ] && readlink -f /sys/class/net/$n/device)" "$([ -e /sys/class/net/$n/device/driver ] && basename "$(readlink -f /sys/class/net/$n/device/driver)")"; done"""
    rows = [line.split("\t") for line in (await run_script(board, script)).split("\n")]
    return tuple(Link(row[0], row[1], row[2]) for row in rows if len(row) == 3 and row[0])


# ---- steps ----


async def _begin(board: LinuxBoard, rtprobe: str, plan: TuningPlan, tuned: Tuned) -> None:
    base = f"{tuning.PLACE}.{tuned.token}"
    about = json.dumps(tuning.about_dict(tuned), ensure_ascii=False)
    try:
        await put_text(board, plan.text, f"{base}.plan")
        await put_text(board, about, f"{base}.about")
        script = _shell() + _BEGIN.format(plan=f"{base}.plan", about=f"{base}.about")
        answered = await run_script(board, script + _LAUNCH.format(rtprobe=shlex.quote(rtprobe), for_ns=tuned.for_ns))
    finally:
        await run_script(board, f"rm -f {base}.plan {base}.about")
    if "no-root" in answered:
        raise no_root(board)
    if "busy" in answered.split("\n"):
        raise await _busy(board)
    if "begun" not in answered.split("\n"):
        raise BoardError(f"{whose(board)}: the settings could not be changed", said(answered.encode()))


async def _applied(board: LinuxBoard, tuned: Tuned) -> Tuned:
    """Waits for the end of the last change."""
    until = time.monotonic() + _APPLY_S
    while True:
        told = (await run_script(board, _shell() + _LOOK)).split("\n")
        if "done" in told and "guarded" in told:
            found = await status(board)
            if found is not None and found.token == tuned.token:
                return found
        if "guarded" not in told or time.monotonic() > until:
            words = next((line.removeprefix("rtprobe: ") for line in told if line.startswith("rtprobe: ")), None)
            raise BoardError(
                f"{whose(board)}: the settings could not be changed",
                words or ("its guard has ended" if "guarded" not in told else f"not done after {_APPLY_S:.0f} s"),
                "what was changed is put back",
            )
        await asyncio.sleep(_PAUSE_S)


async def _busy(board: LinuxBoard) -> BoardError:
    found = await status(board)
    by = (
        "somebody begins at this moment"
        if found is None
        else f"by {found.owner} since {found.since}: {', '.join(found.settings)}"
    )
    return BoardError(
        f"settings of {whose(board)} are changed already", by, f"rtassay tune {board.name} --revert puts them back"
    )


def no_root(board: LinuxBoard) -> BoardError:
    """Settings are changed by root."""
    return BoardError(
        f"settings of {whose(board)} can only be changed by root", "we are another user there", "use root@BOARD"
    )


def whose(board: LinuxBoard) -> str:
    """In a sentence."""
    return "this machine" if board.name == "local" else f"board '{board.name}'"


def _shell() -> str:
    return _SHELL.format(place=tuning.PLACE)


async def run_script(board: LinuxBoard, script: str, within_s: float = _SCRIPT_S) -> str:
    """What a shell script says on an open board. Raises BoardError."""
    process = await board.start(["sh", "-c", script])
    await process.close_stdin()
    told = await answer(process, whose(board), "a short script", within_s=within_s)
    await process.wait(within_s)
    return told.decode(errors="replace")


async def put_text(board: LinuxBoard, text: str, target: str) -> None:
    """A file of an open board. Raises BoardError."""
    with tempfile.TemporaryDirectory(prefix="rtassay-tune-") as scratch:
        path = Path(scratch) / "file"
        path.write_text(text, encoding="utf-8")
        await board.put(path, target)


# ---- what this host remembers ----


def memory() -> Path:
    """The directory of what this host has changed on boards and has not put back, beside that of the recordings."""
    return default_directory().parent / "tuned"


def _remember(board: str, tuned: Tuned, journal: str) -> None:
    """On disk before the first change is made: it is enough to put the board back should the board lose its own journal."""
    directory = memory()
    directory.mkdir(parents=True, exist_ok=True)
    data = {"board": board, "about": tuning.about_dict(tuned), "journal": journal}
    replace_file(directory / f"{tuned.token}.json", json.dumps(data, indent=1).encode())


def remembered(board: str) -> list[tuple[Tuned, str, Path]]:
    """What was changed on this board from here and was not put back from here, with the lines of its journal and the file."""
    found = []
    for path in sorted(memory().glob("*.json")):
        try:
            data = json_value(read_regular(path))
        except (OSError, ValueError):
            continue
        known = isinstance(data, Mapping) and data.get("board") == board
        if known and (tuned := tuned_of(data.get("about"))) is not None:
            found.append((tuned, str(data.get("journal", "")), path))
    return found


def forget(board: str, token: str | None) -> None:
    """It is put back. `token` None: all of this board."""
    for tuned, _, path in remembered(board):
        if token in (None, tuned.token):
            path.unlink(missing_ok=True)


async def _bring_back(board: LinuxBoard) -> None:
    """A board of the same boot that has lost its journal gets ours. One that has put everything back has kept `about`."""
    boot_id = (await run_script(board, f"cat {tuning.BOOT_ID}")).strip()
    for tuned, journal, _ in remembered(board.name):
        if tuned.boot_id != boot_id or tuned.token in await run_script(board, f"cat {tuning.ABOUT} 2>/dev/null"):
            continue
        base = f"{tuning.PLACE}.{tuned.token}"
        await put_text(board, f"boot\t{boot_id}\n{journal}", f"{base}.journal")
        await run_script(
            board,
            f"mkdir -p {tuning.PLACE}; mv {base}.journal {tuning.PLACE}/journal; chmod 644 {tuning.PLACE}/journal",
        )
        return

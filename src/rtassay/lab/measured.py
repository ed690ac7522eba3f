"""One measurement on the script board: a kernel, a load, and rtprobe with the arguments of a user."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rtassay.lab import quick, userland
from rtassay.lab.arches import ARCHES, Arch
from rtassay.lab.following import Follow
from rtassay.lab.places import Say
from rtassay.lab.script import LIMIT_S, STREAM, ScriptBoard, ScriptResult
from rtassay.model.errors import BoardError, UsageError

_MESSAGE = "rtassay: a message of the printk load, as long as a usual one of a driver"
LOADS = {
    "none": (),
    "builtin": (f"rtprobe load all --size {32 << 20} --duration 1h",),
    "hackbench": ("while hackbench -l 200 -g 2; do :; done",),
    "stress-ng": ("stress-ng --cpu 2 --io 2 --vm 2 --vm-bytes 32M --timeout 3600 --seed 1",),
    "dd": (
        "while dd if=/dev/zero of=/tmp/f bs=64k count=200; do :; done",
        "while :; do cat /proc/*/maps; done",
    ),
    "forks": ("stress-ng --fork 4 --timeout 3600 --seed 1",),
    "mmap": ("stress-ng --mmap 2 --mmap-bytes 16M --timeout 3600 --seed 1",),
    "timers": ("stress-ng --timer 2 --timer-freq 4000 --timeout 3600 --seed 1",),
    "printk": (
        f"echo on > /proc/sys/kernel/printk_devkmsg; while echo '<0>{_MESSAGE}' > /dev/kmsg; do sleep 0.01; done",
    ),
}
"""Shell commands by name, each of which runs until it is killed. The seed of stress-ng is fixed: the seed of the board varies the rest."""
ENDED = "ended"
"""The file that names loads which ended before the measurement did."""
SYMBOLS = "symbols.gz"
"""The file with /proc/kallsyms, where it was asked for."""
_ERRORS, _TRACED = "errors", "trace_begin"
_RAN = (0, 1, 4, 5)
_USAGE = 2
_EXIT = "exit $code\n"


def measure(
    probe: Path,
    words: Sequence[str],
    say: Say,
    *,
    kernel: str,
    seed: int,
    load: str,
    limit_s: float = LIMIT_S,
    arch: Arch = ARCHES["amd64"],
) -> ScriptResult:
    """Boot one of Debian's kernels (`stock`, `rt`), start the load, measure once. `probe`: an rtprobe for `arch`. `words`: its command
    line, without `-o`.

    Raises UsageError for words that rtprobe refuses, BoardError when the boot or the measurement fails.
    """
    if any(word in ("-o", "--output") or word.startswith("--output=") for word in words):
        raise UsageError("rtprobe's -o is taken", "the stream becomes the recording", "say where with -o before the --")
    image = quick.cached(arch) or quick.build(arch, say)
    programs = userland.cached(arch) or userland.build(arch, say)
    board = board_of(image.kernels[kernel], programs, probe.read_bytes(), words, load=load, seed=seed, arch=arch)
    say(f"one boot of the {kernel} kernel for {arch.name} in virtual time, seed {seed}, load {load}")
    return checked(board.run(limit_s))


def board_of(
    kernel: Path,
    programs: bytes,
    probe: bytes,
    words: Sequence[str],
    *,
    load: str,
    seed: int,
    symbols: bool = False,
    follow: Follow | None = None,
    arch: Arch = ARCHES["amd64"],
) -> ScriptBoard:
    """The script board of one measurement. `programs`: of `userland.build`; `probe`: rtprobe itself. `symbols`: it brings the names of the kernel's
    functions, too."""
    script = script_of(words, load)
    if symbols:
        script = f"{script.removesuffix(_EXIT)}gzip -c /proc/kallsyms > /out/{SYMBOLS}\n{_EXIT}"
    return ScriptBoard(kernel, programs, {"bin/rtprobe": probe}, script, seed, follow=follow, arch=arch)


def script_of(words: Sequence[str], load: str) -> str:
    """The script that the board runs. The load has to run until the end.

    It gets a second to start. In a traced run it starts when the events are on, so that the trace sees its start, too.
    """
    probe = f"{shlex.join(['rtprobe', *words, '-o', f'/out/{STREAM}'])} 2>/out/{_ERRORS}"
    loads = [f'({command}) >/dev/null 2>&1 & loads="$loads $!"' for command in LOADS[load]]
    if any(word.startswith("--trace-above") for word in words):
        waits = f"while [ -d /proc/$probe ] && ! grep -q -a {_TRACED} /out/{STREAM}; do sleep 0.1; done 2>/dev/null"
        lines = [f"{probe} & probe=$!", waits, *loads, "wait $probe", "code=$?"]
    else:
        lines = [*loads, "sleep 1", probe, "code=$?"]
    state = "$(cut -d' ' -f3 /proc/$one/stat 2>/dev/null)"
    ended = f"for one in $loads; do case {state} in ''|Z) echo {load} >> /out/{ENDED};; esac; done"
    return "\n".join([*lines, ended, _EXIT])


def checked(result: ScriptResult) -> ScriptResult:
    """The result of a finished measurement. Raises UsageError or BoardError if it failed."""
    if result.exit_code in _RAN and STREAM in result.files:
        return result
    said = result.files.get(_ERRORS, b"").decode(errors="replace").strip()
    words = said.splitlines()[-1] if said else f"exit code {result.exit_code}, without a word"
    if result.exit_code == _USAGE:
        raise UsageError("rtprobe does not take these words", words)
    raise BoardError("rtprobe failed on the script board", words)

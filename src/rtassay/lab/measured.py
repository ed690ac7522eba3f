"""One measurement on the script board: a Debian kernel, a load, and rtprobe with the arguments of a user."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.places import Say
from rtassay.lab.script import LIMIT_S, STREAM, ScriptBoard, ScriptResult
from rtassay.model.errors import BoardError, UsageError

LOADS = {
    "none": "",
    "builtin": "rtprobe load all --size 32M --duration 1h >/dev/null 2>&1 &",
    "hackbench": "while :; do hackbench -l 200 -g 2 >/dev/null 2>&1; done &",
    "stress-ng": "stress-ng --cpu 2 --io 2 --vm 2 --vm-bytes 32M --timeout 3600 --seed 1 >/dev/null 2>&1 &",
    "dd": "(while :; do dd if=/dev/zero of=/tmp/f bs=64k count=200 2>/dev/null; done) &\n"
    "(while :; do cat /proc/*/maps >/dev/null 2>&1; done) &",
}
"""Shell lines by name. The seed of stress-ng is fixed: the seed of the board varies the rest."""
_ERRORS = "errors"
_RAN = (0, 1, 4, 5)
_USAGE = 2


def measure(
    probe: Path, words: Sequence[str], say: Say, *, kernel: str, seed: int, load: str, limit_s: float = LIMIT_S
) -> ScriptResult:
    """Boot, start the load, measure once. `probe`: an rtprobe for x86_64. `words`: its command line, without `-o`.

    Raises UsageError for words that rtprobe refuses, BoardError when the boot or the measurement fails.
    """
    if any(word in ("-o", "--output") or word.startswith("--output=") for word in words):
        raise UsageError("rtprobe's -o is taken", "the stream becomes the recording", "say where with -o before the --")
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, say)
    board = ScriptBoard(
        kernel=image.kernels[kernel],
        userland=image.initramfs.read_bytes(),
        files={"bin/rtprobe": probe.read_bytes()},
        script=script_of(words, load),
        seed=seed,
    )
    say(f"one boot of the {kernel} kernel in virtual time, seed {seed}, load {load}")
    return checked(board.run(limit_s))


def script_of(words: Sequence[str], load: str) -> str:
    """The script that the board runs. The load gets a second to start."""
    probe = shlex.join(["rtprobe", *words, "-o", f"/out/{STREAM}"])
    return f"{LOADS[load]}\nsleep 1\n{probe} 2>/out/{_ERRORS}\n"


def checked(result: ScriptResult) -> ScriptResult:
    """The result of a finished measurement. Raises UsageError or BoardError if it failed."""
    if result.exit_code in _RAN and STREAM in result.files:
        return result
    said = result.files.get(_ERRORS, b"").decode(errors="replace").strip()
    words = said.splitlines()[-1] if said else f"exit code {result.exit_code}, without a word"
    if result.exit_code == _USAGE:
        raise UsageError("rtprobe does not take these words", words)
    raise BoardError("rtprobe failed on the script board", words)

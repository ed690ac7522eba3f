"""Writes files that make settings of a board last, and never over one that somebody else made or changed."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from rtassay.boards.base import LinuxBoard
from rtassay.model.errors import BoardError
from rtassay.model.tuning import KEPT_UNIT, KeptFile
from rtassay.session.tuning import no_root, put_text, run_script, whose

_CHECK = """[ "$(id -u)" = 0 ] || echo no-root
for f in {paths}; do [ -d "${{f%/*}}" ] || echo "no-place=${{f%/*}}"; done
{systemd}
"""
_KEEP = """for f in {paths}; do if [ -e "$f" ] && ! cmp -s "$f" "$f.rtassay-new"; then echo "other=$f"; fi; done | grep . ||
{{ for f in {paths}; do mv "$f.rtassay-new" "$f" && chmod 644 "$f" || exit; done; sync; {enable}echo kept; }}
rm -f {news}
"""


async def keep(board: LinuxBoard, files: Sequence[KeptFile], root: str = "") -> None:
    """All of the files, or none. They act from the next boot on. `root` goes before their paths.

    Raises BoardError: we are not root, the board has no systemd or no sysctl.d, or there is such a file with other contents.
    """
    paths = [root + file.path for file in files]
    words = {
        "paths": " ".join(map(shlex.quote, paths)),
        "news": " ".join(shlex.quote(f"{p}.rtassay-new") for p in paths),
    }
    unit = any(file.path == KEPT_UNIT for file in files)
    systemd = '[ -d /run/systemd/system ] || echo "no-place=/run/systemd/system"' if unit and not root else ""
    told = (await run_script(board, _CHECK.format(systemd=systemd, **words))).split("\n")
    if "no-root" in told:
        raise no_root(board)
    missing = [line.partition("=")[2] for line in told if line.startswith("no-place=")]
    if missing:
        raise BoardError(
            f"{whose(board)} would not read these files at boot",
            f"it has no {missing[0]}",
            "write the same values into what it starts with",
        )
    for file, path in zip(files, paths, strict=True):
        await put_text(board, file.text, f"{path}.rtassay-new")
    enable = (
        f"systemctl daemon-reload && systemctl -q enable {KEPT_UNIT.rpartition('/')[2]} && "
        if unit and not root
        else ""
    )
    told = (await run_script(board, _KEEP.format(enable=enable, **words))).split("\n")
    others = [line.partition("=")[2] for line in told if line.startswith("other=")]
    if others:
        raise BoardError(
            f"{others[0]} is on {whose(board)} already, with other contents",
            hint=f"look at it, and remove it first: rm {others[0]}",
        )
    if "kept" not in told:
        raise BoardError(f"the files could not be written on {whose(board)}", " ".join(told).strip() or None)

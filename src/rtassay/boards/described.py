"""The methods that the rtprobe of this machine describes, to find a wrong name or value before a board is reached."""

from __future__ import annotations

import subprocess

from rtassay.boards.binaries import probe_path
from rtassay.model import methods
from rtassay.model.errors import BoardError
from rtassay.model.manifest import Plan


def described() -> bytes:
    """The JSON of `rtprobe describe`. Raises BoardError without a probe for this machine."""
    try:
        return subprocess.run([str(probe_path(None)), "describe"], capture_output=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BoardError("rtprobe did not describe itself", str(error)) from error


def check_probe(plan: Plan) -> None:
    """Raise UsageError for a probe or a setting that does not exist. The board's own probe is asked again before the run."""
    if not methods.are_asked(plan):
        return
    try:
        known = methods.read(described())
    except BoardError:
        return  # no probe for this machine; the board has one
    methods.check_plan(plan, known)

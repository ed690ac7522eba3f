"""rtassay's command line as tests call it: in this process (0.1 s less Python to start for each call), or as a process of its own."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import tempfile
from pathlib import Path

from rtassay.cli import main

RTASSAY = Path(__file__).parents[2] / ".venv" / "bin" / "rtassay"
Done = subprocess.CompletedProcess[str]


def in_process(*args: str | Path, home: Path) -> Done:
    """A command line to its end, without a process. Not for what handles signals: nobody else can be killed instead.
    `flow/test_cli.py` shows for every verb that it says the same as a process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    before = os.environ.get("RTASSAY_HOME")
    os.environ["RTASSAY_HOME"] = str(home)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run([str(arg) for arg in args])
    finally:
        if before is None:
            del os.environ["RTASSAY_HOME"]
        else:
            os.environ["RTASSAY_HOME"] = before
    return subprocess.CompletedProcess(args, code, _text(out), _text(err))


def as_process(*args: str | Path, home: Path, timeout_s: float = 300) -> Done:
    """The same in a process of its own, as a user starts it."""
    env = {**os.environ, "RTASSAY_HOME": str(home)}
    argv = [str(RTASSAY), *map(str, args)]
    return subprocess.run(argv, capture_output=True, text=True, env=env, timeout=timeout_s, check=False)


def plain_env(home: Path) -> dict[str, str]:
    """An environment with what rtassay needs alone, for recordings under `home`; boards of the lab are found in XDG_RUNTIME_DIR."""
    own = {"TMPDIR": tempfile.gettempdir(), "XDG_RUNTIME_DIR": os.environ["XDG_RUNTIME_DIR"]}
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "RTASSAY_HOME": str(home), **own}


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()

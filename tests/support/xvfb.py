"""An X server without a screen, for programs that draw: its frames are rendered by the CPU."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator


@contextlib.contextmanager
def xvfb() -> Iterator[str]:
    """The name of a display of its own, e.g. `:1`; the server ends with this."""
    for program in ("Xvfb", "glmark2"):
        assert shutil.which(program), (
            f"{program} is not installed: apt-get install xvfb glmark2-x11, or tools/setup --all"
        )
    reading, writing = os.pipe()
    argv = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "800x600x24", "-nolisten", "tcp"]
    with subprocess.Popen(
        argv, pass_fds=(writing,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            os.close(writing)
            with os.fdopen(reading) as told:
                number = told.readline().strip()
            assert number.isdigit(), "Xvfb did not start"
            yield f":{number}"
        finally:
            server.terminate()

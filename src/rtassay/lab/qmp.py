"""QEMU's control socket (QMP), as far as the lab needs it."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

from rtassay.model.errors import BoardError


def command(path: Path, execute: str, /, **arguments: Any) -> Any:
    """Send one command and return its answer. Raises BoardError if QEMU refuses or is gone."""
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(10)
            line.connect(str(path))
            with line.makefile("rwb") as file:
                file.readline()  # the greeting
                for request in ({"execute": "qmp_capabilities"}, {"execute": execute, "arguments": arguments}):
                    file.write(json.dumps(request).encode() + b"\n")
                    file.flush()
                    answer = _answer(file)
    except OSError as error:
        raise BoardError(f"QEMU does not take `{execute}`", error.strerror or str(error)) from error
    if "error" in answer:
        raise BoardError(f"QEMU refuses `{execute}`", answer["error"].get("desc"))
    return answer.get("return")


def _answer(file: Any) -> dict[str, Any]:
    """The next message that is not an event."""
    while line := file.readline():
        answer: dict[str, Any] = json.loads(line)
        if "event" not in answer:
            return answer
    raise OSError("it hung up")

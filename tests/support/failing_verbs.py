"""Runs verbs of rtassay under failing.c: each in a fork of a process that has imported everything, so that a case costs no start of Python.

One request a line on stdin (JSON: argv, home, and where something shall fail: kind, nth, errno, below), one answer a line on stdout.
With `shared` (a file), programs that the verb starts fail as well, and are counted with it.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import failing_doubles

from rtassay.cli import main

KINDS = {"none": 0, "write": 1, "fsync": 2, "rename": 3, "close": 4}
LIMIT_S = 300


def child(request: dict[str, Any], out: int, err: int, told: int) -> None:
    """Never returns."""
    shim = ctypes.CDLL(None)
    shim.failing_disarm.restype = ctypes.c_char_p
    os.environ["RTASSAY_HOME"] = os.environ["XDG_CONFIG_HOME"] = request["home"]
    verb = request["argv"][0]
    if verb in ("kernel", "gate"):
        os.environ["XDG_CACHE_HOME"] = request["home"] + "/cache"
    if verb in ("gate", "prove", "tune"):
        failing_doubles.begin(verb, Path(request["home"]))
    if "probe" in request:
        os.environ["RTASSAY_PROBE"] = request["probe"]
    if "shared" in request:
        shim.failing_share(request["shared"].encode())
        os.environ["FAILING_SHARED"] = request["shared"]
    for number, to in ((1, out), (2, err)):
        os.dup2(to, number)
    sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    signal.alarm(LIMIT_S)
    shim.failing_arm(KINDS[request["kind"]], request["nth"], request["errno"], request["below"].encode())
    code = 70
    try:
        code = main.run(request["argv"])
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os.write(told, json.dumps({"code": code, "failed": shim.failing_disarm().decode()}).encode())
        os._exit(0)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as told:
        pid = os.fork()
        if pid == 0:
            child(request, out.fileno(), err.fileno(), told.fileno())
        os.waitpid(pid, 0)
        texts = []
        for file in (told, out, err):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return {**json.loads(texts[0] or '{"code": -1, "failed": ""}'), "out": texts[1], "err": texts[2]}


def serve() -> None:
    for _, (module, _) in sorted(main.VERBS.items()):
        importlib.import_module(module)
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    serve()

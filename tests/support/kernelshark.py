"""A trace.dat as KernelShark's own library reads it: one line an entry. Run as a program, since it is a C library: `kernelshark.py FILE`."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

from rtassay.lab.packages import Packages

LIBRARIES = {
    name: ("usr/lib/x86_64-linux-gnu/*.so*",)
    for name in ("libkshark2", "libjson-c5", "libtracecmd1", "libtracefs1", "libtraceevent1")
}


class Entry(ctypes.Structure):
    """`struct kshark_entry` of libkshark 2."""

    _fields_ = (
        ("next", ctypes.c_void_p),
        ("visible", ctypes.c_uint16),
        ("stream_id", ctypes.c_int16),
        ("event_id", ctypes.c_int16),
        ("cpu", ctypes.c_int16),
        ("pid", ctypes.c_int32),
        ("offset", ctypes.c_int64),
        ("ts", ctypes.c_int64),
    )


def read(file: Path) -> list[tuple[int, int, int, str]]:
    """(ns, CPU, pid, event) of each entry. The library is Debian's, unpacked and not installed."""
    homes = Packages("amd64").unpacked(LIBRARIES, print).values()
    folders = sorted({str(path.parent) for home in homes for path in home.rglob("*.so*")})
    env = {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(folders)}
    done = subprocess.run([sys.executable, __file__, str(file)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    lines = (line.split(" ", 3) for line in done.stdout.splitlines())
    return [(int(ns), int(cpu), int(pid), event) for ns, cpu, pid, event in lines]


def main(file: str) -> int:
    library = ctypes.CDLL("libkshark.so.2")
    context, entries = ctypes.c_void_p(), ctypes.POINTER(ctypes.POINTER(Entry))()
    library.kshark_load_entries.restype = ctypes.c_ssize_t
    library.kshark_get_event_name.restype = ctypes.c_char_p
    if not library.kshark_instance(ctypes.byref(context)):
        return 2
    stream = library.kshark_open(context, file.encode())
    if stream < 0:
        return 3
    count = library.kshark_load_entries(context, stream, ctypes.byref(entries))
    for entry in (entries[at] for at in range(max(count, 0))):
        name = library.kshark_get_event_name(entry).decode()
        print(entry.contents.ts, entry.contents.cpu, library.kshark_get_pid(entry), name.partition("/")[2])
    return 0 if count >= 0 else 4


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

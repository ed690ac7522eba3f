"""fio on a file of the board's disk: a sequential write that must reach the disk, and reads and writes at random places."""

from __future__ import annotations

import re
from typing import Any

from rtassay.model.errors import UsageError
from rtassay.model.parsed import json_value
from rtassay.works.base import Done, Part

_DIRECTORY = "/var/tmp"
_WRITE_MIB, _RANDOM_MIB, _BLOCK_KIB = 64, 16, 4
_PATH = re.compile(r"/[A-Za-z0-9._/-]{0,200}")
_FILE = "rtassay-fio"


class FioWork:
    """`write`: 64 MiB in blocks of 64 KiB, with one fsync at the end. `random`: 16 MiB in blocks of 4 KiB, half read and half written, always at the same places, an fsync after each 32 writes.
    Their times are fio's `job_runtime`, in whole milliseconds; CPU time is fio's share of it. The files lie in /var/tmp and are removed; `fio:/mnt/disk` takes another directory: a disk is measured where the file lies on one."""

    name = "fio"
    summary = (
        f"disk by fio: {_WRITE_MIB} MiB written in order, {_RANDOM_MIB} MiB read and written at random; fio:/DIRECTORY"
    )
    program: str | None = "fio"

    def parts(self, argument: str | None) -> tuple[Part, ...]:
        _directory(argument)
        return (
            Part("write", _WRITE_MIB * 2**20, "bytes"),
            Part("random", _RANDOM_MIB * 2**10 // _BLOCK_KIB, "reads and writes"),
        )

    def command(self, argument: str | None, rtprobe: str) -> tuple[str, ...]:
        every = (
            "--output-format=json",
            f"--directory={_directory(argument)}",
            f"--filename_format={_FILE}.$jobname",
            "--ioengine=psync",
            "--unlink=1",
        )
        write = ("--name=write", "--rw=write", "--bs=64k", f"--size={_WRITE_MIB}M", "--end_fsync=1")
        random = (
            "--name=random",
            "--stonewall",
            "--rw=randrw",
            f"--bs={_BLOCK_KIB}k",
            f"--size={_RANDOM_MIB}M",
            "--fsync=32",
            "--randseed=1",
        )
        return ("fio", *every, *write, *random)

    def read(self, argument: str | None, text: str) -> tuple[Done, ...]:
        try:
            jobs = json_value(text[max(0, text.find("{\n")) :])["jobs"]
            return tuple(_done(job) for job in jobs if not job["error"])
        except (ValueError, KeyError, TypeError, OverflowError):
            return ()


def _done(job: dict[str, Any]) -> Done:
    ns = int(job["job_runtime"]) * 1_000_000
    return Done(str(job["jobname"]), ns, round(ns * (float(job["usr_cpu"]) + float(job["sys_cpu"])) / 100))


def _directory(argument: str | None) -> str:
    if argument is None:
        return _DIRECTORY
    if not _PATH.fullmatch(argument):
        raise UsageError(f"fio: '{argument}' is no directory that it may use", hint="fio:/mnt/disk")
    return argument

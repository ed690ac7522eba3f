"""Runs make or tuxmake, with the progress of a build and the last words of one that failed."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from rtassay.kernels.arches import Target
from rtassay.kernels.container import Container
from rtassay.lab.places import Say, run
from rtassay.model.errors import BoardError, UsageError

_TELL_EVERY_S = 10.0
_STEP = re.compile(r"^\s+(?:CC|AS|LD|AR|HOSTCC|DTC|CC \[M\]|LD \[M\])\s")
_ERROR = re.compile(r"error:|fatal:|\*\*\*|not found|undefined reference|No such file")
_CROSS = {"arm64": "gcc-aarch64-linux-gnu", "armhf": "gcc-arm-linux-gnueabihf", "riscv64": "gcc-riscv64-linux-gnu"}
_PROGRAMS = {
    "make": "make",
    "flex": "flex",
    "bison": "bison",
    "bc": "bc",
    "perl": "perl",
    "patch": "patch",
    "tar": "tar",
}


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a build runs with. `made_by`: tuxmake or make. `container`: where it runs, None for this system; `places`: directories of the
    host that it sees there."""

    target: Target
    made_by: str
    jobs: int
    ccache: bool
    environment: Mapping[str, str] = field(default_factory=dict)
    container: Container | None = None
    places: tuple[Path, ...] = ()

    @property
    def prefix(self) -> str:
        """CROSS_COMPILE. tuxmake names the target in it on a machine of that architecture too."""
        return self.target.cross if self.made_by == "tuxmake" else self.target.prefix

    @property
    def compiler(self) -> str:
        """The compiler's program. Its name is part of the configuration."""
        return f"{self.prefix}gcc"

    @property
    def variables(self) -> list[str]:
        """The variables of make that say for what and by what is compiled."""
        said = [f"ARCH={self.target.make}", f"CROSS_COMPILE={self.prefix}"]
        return [*said, f"CC=ccache {self.compiler}"] if self.ccache else said

    def version(self) -> str:
        """The program that builds and its version."""
        if self.made_by == "make":
            made_by = _short(["make", "--version"], self, "ask make for its version").splitlines()[0]
            return made_by if self.container is None else f"{made_by} in {self.container.name}"
        return run([*_tuxmake(), "--version"], what="ask tuxmake for its version").strip()


def workshop_inside(target: Target, container: Container, made_by: str, jobs: int | None, ccache: bool) -> Workshop:
    """A workshop in a container, which has all that make needs. Raises UsageError."""
    if made_by == "tuxmake":
        raise UsageError("in a container make builds", hint="leave --with out, or build without --container")
    return Workshop(target, "make", jobs or os.cpu_count() or 1, ccache, container=container)


def workshop(target: Target, made_by: str, jobs: int | None, ccache: bool) -> Workshop:
    """Check that everything is there. `made_by` auto: tuxmake if it is installed, else make. Raises UsageError, BoardError."""
    if made_by == "auto":
        # tuxmake asks for a compiler with a prefix, which some distributions have for other architectures only.
        usable = find_spec("tuxmake") is not None and shutil.which(f"{target.cross}gcc") is not None
        made_by = "tuxmake" if usable else "make"
    if made_by == "tuxmake" and find_spec("tuxmake") is None:
        raise UsageError("tuxmake is not installed", hint="pip install 'rtassay[kernels]', or --with make")
    shop = Workshop(target, made_by, jobs or os.cpu_count() or 1, ccache and shutil.which("ccache") is not None)
    wanted = [program for program in (*_PROGRAMS, shop.compiler) if shutil.which(program) is None]
    if wanted:
        cross = _CROSS.get(target.name, "gcc")
        packages = sorted({_PROGRAMS.get(program, cross if "gcc" in program else program) for program in wanted})
        raise BoardError(
            f"a kernel for {target.name} needs {', '.join(wanted)}",
            "not installed",
            f"apt-get install --no-install-recommends {' '.join(packages)} libelf-dev libssl-dev",
        )
    return shop


def compiler_of(shop: Workshop) -> str:
    """The first line that the compiler says about itself."""
    return _short([shop.compiler, "--version"], shop, "ask the compiler for its version").splitlines()[0]


def make(shop: Workshop, tree: Path, objects: Path, *words: str, what: str) -> str:
    """stdout of a short make, as for a configuration. Raises BoardError."""
    argv = ["make", "-s", "-C", str(tree), f"O={objects}", *shop.variables, *words]
    return _short(argv, shop, what)


def compile_with_make(shop: Workshop, tree: Path, objects: Path, goals: Sequence[str], log: Path, say: Say) -> None:
    """Build the goals. Raises BoardError with the compiler's words."""
    argv = ["make", "-C", str(tree), f"O={objects}", f"-j{shop.jobs}", *shop.variables, *goals]
    _followed(argv, shop, log, say)


def compile_with_tuxmake(
    shop: Workshop, tree: Path, objects: Path, out: Path, config: Path, goals: Sequence[str], log: Path, say: Say
) -> None:
    """Build tuxmake's targets into `out`. Raises BoardError with the compiler's words."""
    arch = {"amd64": "x86_64", "riscv64": "riscv"}.get(shop.target.name, shop.target.name)
    argv = [*_tuxmake(), "--directory", str(tree), "--build-dir", str(objects), "--output-dir", str(out)]
    argv += ["--target-arch", arch, "--toolchain", "gcc", "--kconfig", str(config), "--jobs", str(shop.jobs)]
    argv += ["--runtime", "null", "--compression-type", "none", "--fail-fast", "--verbose"]
    argv += ["--wrapper", "ccache"] if shop.ccache else []
    for name, value in shop.environment.items():
        if name.startswith("KBUILD_"):
            argv += ["--environment", f"{name}={value}"]
    argv += [f"LOCALVERSION={shop.environment['LOCALVERSION']}", *goals]
    _followed(argv, shop, log, say)


def _tuxmake() -> list[str]:
    return [sys.executable, "-m", "tuxmake"]


def _environment(shop: Workshop) -> dict[str, str]:
    # Variables of a person's shell would change the kernel without a trace in the manifest.
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("KBUILD_", "KCFLAGS", "LOCALVERSION"))
    }
    return {**kept, "LC_ALL": "C", **shop.environment}


def _inside(argv: Sequence[str], shop: Workshop) -> list[str]:
    if shop.container is None:
        return list(argv)
    return shop.container.words(argv, shop.places, dict(shop.environment))


def _short(argv: Sequence[str], shop: Workshop, what: str) -> str:
    done = subprocess.run(
        _inside(argv, shop),
        capture_output=True,
        text=True,
        check=False,
        env=_environment(shop),
        stdin=subprocess.DEVNULL,
    )
    if done.returncode:
        raise BoardError(f"cannot {what}", _last_words(done.stdout + done.stderr))
    return done.stdout


def _followed(argv: Sequence[str], shop: Workshop, log: Path, say: Say) -> None:
    begun = told = time.monotonic()
    steps = 0
    with log.open("a") as kept:
        process = subprocess.Popen(
            _inside(argv, shop),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=_environment(shop),
            start_new_session=True,
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                steps += _STEP.match(line) is not None
                if time.monotonic() - told > _TELL_EVERY_S:
                    told = time.monotonic()
                    say(f"compiling: {steps} files, {told - begun:.0f} s")
            code = process.wait()
        except BaseException:
            _end(process)
            raise
    if code:
        raise BoardError(
            "the kernel does not build", _last_words(log.read_text(errors="replace")), f"the whole log: {log}"
        )


def _end(process: subprocess.Popen[str]) -> None:
    """End the whole group."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20.0)


def _last_words(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if _ERROR.search(line)]
    return " / ".join((telling or lines)[-3:]) or "it said nothing"

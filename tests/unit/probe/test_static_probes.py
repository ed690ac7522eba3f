"""The packaged probes of all architectures: they run, on old 32-bit kernels too (tests/house/test_wheel.py: how they are packaged).

zig builds them in minutes: only `make test-all` does. A 32-bit probe by this machine's own compiler is quick, and always tested.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from probe_build import build

from .cyclic_stream import read

ROOT = Path(__file__).parents[3]
BIN = ROOT / "src" / "rtassay" / "_bin"
# How each is run here: an emulated CPU that has what the oldest board of that architecture has.
RUNNERS: dict[str, list[str]] = {
    "x86_64": ["qemu-x86_64-static"],
    "aarch64": ["qemu-aarch64-static", "-cpu", "cortex-a53"],
    "armv7": ["qemu-arm-static", "-cpu", "cortex-a7"],
    "armv6": ["qemu-arm-static", "-cpu", "arm1176"],
    "riscv64": ["qemu-riscv64-static"],
}
COUNT = 1000
ENOSYS = 38


@pytest.fixture(scope="module")
def built() -> None:
    """All probes of the sources as they are: at once where they have been built before, minutes where not."""
    build(["tools/build-probes"])


def of_all_architectures(test: Callable[..., None]) -> Callable[..., None]:
    return pytest.mark.full(pytest.mark.usefixtures("built")(test))


def runner(arch: str) -> list[str]:
    return [] if arch == os.uname().machine else RUNNERS[arch]


@of_all_architectures
@pytest.mark.parametrize("arch", RUNNERS)
def test_it_measures_on_its_architecture(arch: str) -> None:
    argv = [*runner(arch), str(BIN / f"rtprobe-{arch}")]
    check = subprocess.run([*argv, "selftest"], capture_output=True, text=True, timeout=120, check=False)
    assert check.returncode in (0, 3), check.stderr  # 3: cannot measure in full here; an emulator grants no FIFO
    assert check.stdout.startswith("KTAP version 1") and "ok 1 - " in check.stdout
    assert_measures(argv)


def assert_measures(argv: list[str], before: Callable[[], None] | None = None) -> None:
    """`cyclic --count 1000 --policy other` of all lanes, with a closed account."""
    plan = ["cyclic", "--count", str(COUNT), "--policy", "other", "--interval", "1ms", "--dma-latency", "off"]
    done = subprocess.run([*argv, *plan], capture_output=True, timeout=180, check=False, preexec_fn=before)
    assert done.returncode == 0, done.stderr.decode()
    stream = read(done.stdout)
    # A lane that got to run too seldom for so many samples gives up after twice the time and 5 s.
    assert stream.end is not None and stream.end["reason"] in ("count", "duration")
    assert stream.end["lanes"]
    for lane in stream.end["lanes"]:
        assert 0 < lane["n"] == sum(stream.histogram[lane["lane"]].values())
        assert lane["n"] == COUNT or (stream.end["reason"] == "duration" and lane["missed"] + lane["truncated"] > COUNT)
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]


@of_all_architectures
@pytest.mark.parametrize("arch", RUNNERS)
def test_it_is_static_small_and_says_its_architecture(arch: str) -> None:
    data = (BIN / f"rtprobe-{arch}").read_bytes()
    machine = {"x86_64": 62, "aarch64": 183, "armv7": 40, "armv6": 40, "riscv64": 243}[arch]
    assert data[:4] == b"\x7fELF" and struct.unpack_from("<H", data, 18)[0] == machine
    bits64 = data[4] == 2
    offset, size, count = (
        (struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54))
        if bits64
        else (struct.unpack_from("<I", data, 28)[0], *struct.unpack_from("<HH", data, 42))
    )
    kinds = {struct.unpack_from("<I", data, offset + i * size)[0] for i in range(count)}
    assert 3 not in kinds, "a program interpreter: it is not static"
    assert len(data) < 420_000


@of_all_architectures
def test_probe_path_finds_each() -> None:
    for arch, spoken in {"aarch64": "aarch64", "armv7": "armv7l", "armv6": "armv6l", "riscv64": "riscv64"}.items():
        done = subprocess.run(
            [sys.executable, "-m", "rtassay", "probe", "path", "--arch", spoken],
            capture_output=True,
            text=True,
            check=True,
            env={key: value for key, value in os.environ.items() if key != "RTASSAY_PROBE"},
        )
        if arch != os.uname().machine:
            assert Path(done.stdout.strip()) == BIN / f"rtprobe-{arch}"


# --- 32 bit: kernels before 5.1 have no call with a 64-bit time ---

# i386 numbers: clock_gettime64, clock_settime64, ..., sched_rr_get_interval_time64; clock_nanosleep (32-bit seconds).
TIME64 = range(403, 424)
CLOCK_NANOSLEEP_OLD = 267
AUDIT_ARCH_I386 = 0x40000003
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER_MODE = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def without(numbers: Iterable[int]) -> Callable[[], None]:
    """To be called before exec: from then on these calls of i386 programs answer ENOSYS, as an old kernel does."""
    refused = list(numbers)
    program = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, AUDIT_ARCH_I386), (RETURN, 0, 0, ALLOW), (LOAD, 0, 0, 0)]
    for left, number in zip(range(len(refused), 0, -1), refused, strict=True):
        program.append((EQUAL, left, 0, number))
    program += [(RETURN, 0, 0, ALLOW), (RETURN, 0, 0, ERRNO | ENOSYS)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *line) for line in program))
    head = ctypes.create_string_buffer(struct.pack("<H6xQ", len(program), ctypes.addressof(code)))
    libc = ctypes.CDLL(None, use_errno=True)

    def install() -> None:
        assert code is not None
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER_MODE, head, 0, 0):
            raise OSError(ctypes.get_errno(), "seccomp")

    return install


@pytest.fixture(scope="module", params=["glibc", pytest.param("musl", marks=pytest.mark.full)])
def i386(request: pytest.FixtureRequest) -> list[str]:
    """An i386 probe, with the C library a distribution has and with that of the packaged ones."""
    if request.param == "glibc":
        argv, made = ["make", "--silent", "-C", "probe", "m32"], "probe/build/m32/rtprobe"
    else:
        argv, made = (
            ["tools/build-probes", "--to", "probe/build/static-i386", "i386"],
            "probe/build/static-i386/rtprobe-i386",
        )
    build(argv)
    return [str(ROOT / made)]


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="i386 programs run on x86_64 only")
def test_a_kernel_without_time64_calls_is_measured_with_the_old_ones(i386: list[str]) -> None:
    assert_measures(i386)
    assert_measures(i386, without(TIME64))


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="i386 programs run on x86_64 only")
def test_the_filter_is_real(i386: list[str]) -> None:
    """With the old call gone as well nothing can sleep, and that is said: proof that the test above took it."""
    plan = ["cyclic", "--count", str(COUNT), "--policy", "other", "--interval", "1ms", "--dma-latency", "off"]
    before = without([*TIME64, CLOCK_NANOSLEEP_OLD])
    done = subprocess.run([*i386, *plan], capture_output=True, timeout=300, check=False, preexec_fn=before)
    assert done.returncode == 3 and done.stdout == b""
    assert (
        "does not sleep until a moment (--sleep clock_nanosleep, --clock monotonic: Function not implemented)"
        in done.stderr.decode()
    )

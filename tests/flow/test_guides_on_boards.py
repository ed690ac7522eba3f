"""The commands of the guides that need a board, a console or a kernel: each is executed here, or by a test that is named, or stands in a list with the reason.

The board is this machine over SSH, the console a pseudo-terminal or a socket with rtprobe-lite behind it. What changes a board, or boots it, runs on one of the lab.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pty
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import RTASSAY, as_process
from sshd import Server, serving
from tty_shell import line_to_a_shell

ROOT = Path(__file__).parents[2]
_SPEC = importlib.util.spec_from_file_location("guides", Path(__file__).with_name("test_guides.py"))
assert _SPEC is not None and _SPEC.loader is not None
guides = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(guides)

EVERY: list[tuple[Path, list[str]]] = guides.EVERY
Page = tuple[str, str]

AS_THEY_STAND = ("lab start --deterministic", "lab start freertos --deterministic", "lab list", "kernel list$")
FOR_SECONDS = ("run --probe response .*--duration 1m",)
SCALED = ("experiment run (smoke|tools|rt-cost --scale)",)
CONSOLES = ("run serial:", "run telnet:")
OVER_SSH = (
    "run root@192",
    "run user@board",
    "run pi5? --deadline",
    "board (add|inventory) pi",
    "board add m4",
    "kernel list pi$",
    "doctor pi5",
    "tune pi5 .*--dry-run",
    "tune pi5$",
    "tune pi5 --revert",
    "prove .*--dry-run",
    "explain root@",
)
BESIDE: dict[Page, str] = {
    ("lab.md", "experiment run kernels.toml"): "tests/lab/test_experiments_on_boards.py::test_riva_2018_reboots_a_board_behind_grub",
    ("lab.md", "(kernel install|kernel use 6)"): "tests/lab/test_kernels_of_a_board.py::test_a_kernel_is_put_beside_the_others_boots_and_the_default_stays",
    ("lab.md", "lab ssh quick"): "tests/lab/test_kernels_of_a_board.py::test_kexec_takes_a_board_to_its_other_kernel",
    ("README.md", "run --deadline 100us --p 1e-6 --duration 1h --cpus isolated"): "tests/flow/test_isolated_at_run_time.py::test_the_line_of_the_readme_isolates_a_cpu_here",
    ("README.md", "gate "): "tests/lab/test_gate.py::test_the_stock_kernel_is_later_than_preempt_rt_under_dd",
    ("README.md", "experiment report"): "tests/flow/test_guides.py::test_the_commands_of_an_experiment_in_their_order",
    ("README.md", "watch"): "tests/unit/cli/test_watch.py::test_it_follows_the_run_to_its_end",
    ("boards.md", "kernel use rt pi"): "tests/lab/test_kernels_of_a_board.py::test_grub_boots_another_kernel_once_and_comes_back",
    ("boards.md", "kernel install"): "tests/lab/test_kernels_built_here.py::test_a_package_is_deployed_booted_and_removed_and_nothing_else_changes",
    ("kernels.md", "kernel (deploy|remove|use|list)"): "tests/lab/test_kernels_built_here.py::test_a_package_is_deployed_booted_and_removed_and_nothing_else_changes",
    ("kernels.md", "image 6"): "tests/unit/kernels/cards/test_making.py::test_a_card_for_a_raspberry_pi",
    ("kernels.md", "image linux-image"): "tests/lab/test_a_made_card_boots.py::test_it_boots_takes_the_key_and_is_quiet",
    ("gate.md", "gate linux-image-rt-arm64"): "tests/lab/test_gate.py::test_a_kernel_for_arm_gives_the_same_bytes_twice",
    ("gate.md", "gate linux-image-armmp"): "tests/lab/test_gate.py::test_the_stock_kernel_for_arm_is_later_than_preempt_rt_under_dd",
    ("gate.md", "gate bisect"): "tests/lab/test_gate.py::test_bisect_names_the_commit_of_a_planted_regression",
    ("loads.md", "run --load iperf3:"): "tests/flow/test_far_loads.py::test_both_ends_count_what_went_both_ways",
    ("loads.md", "run --load command:make"): "tests/flow/test_loads.py::test_work_is_reported",
    ("response.md", "run pi --probe response"): "tests/flow/test_far_echo.py::test_requests_come_back_and_the_echo_ends_with_the_run",
    ("throughput.md", "experiment run rt-cost --board"): "tests/lab/test_throughput_of_two_kernels.py::test_stock_against_rt",
    ("throughput.md", "throughput pi@board --kernel"): "tests/lab/test_throughput_of_two_kernels.py::test_the_verb_boots_both_kernels",
    ("throughput.md", "throughput --of"): "tests/flow/test_throughput.py::test_two_groups_make_one_page",
    ("rtos.md", "(lab start nuttx|run lab:nuttx)"): "tests/lab/test_nuttx.py::test_a_section_without_interrupts_is_found_with_its_length",
    ("make-it-hold.md", "tune pi5 .*--for 30m"): "tests/lab/test_tuned_board.py::test_every_setting_of_a_profile_is_applied_and_put_back",
    ("make-it-hold.md", "tune pi5 .*--boot"): "tests/lab/test_tuned_board.py::test_words_of_the_command_line_hold_for_one_boot",
    ("make-it-hold.md", "run pi5 --cpus isolated"): "tests/lab/test_tuned_board.py::test_a_run_isolates_a_cpu_that_nothing_else_uses_and_puts_it_back",
}  # fmt: skip
"""Executed with other names, sizes or times: page and command, and the test that does it."""
NOT_RUN: dict[Page, str] = {
    ("kernels.md", "kernel build linux-source"): "two kernels of Debian's arm64 defconfig take hours on two cores; tests/lab/test_kernels_built_here.py builds both of the same source for the lab",
}  # fmt: skip
"""Page and command, and why no test executes it."""


def line_of(words: list[str]) -> str:
    return " ".join(words[1:])


def is_any(patterns: tuple[str, ...], words: list[str]) -> bool:
    return any(re.match(pattern, line_of(words)) for pattern in patterns)


def is_named(table: dict[Page, str], page: Path, words: list[str]) -> bool:
    return any(page.name == name and re.match(pattern, line_of(words)) for name, pattern in table)


def in_a_story(page: Path, words: list[str]) -> bool:
    if page.name == "two-kernels.md":
        return True
    if page.name == "lab.md" and re.match("lab start disk|kernel use rt lab:disk|lab stop --all", line_of(words)):
        return True
    if page.name == "make-it-hold.md" and line_of(words) in page.read_text().split("```\n")[1]:
        return True  # tests/lab/test_guide_of_tuning.py
    if page.name == "experiments.md":
        return bool(guides.of_an_experiment(words))
    for of, chapter, _ in guides.LAB_PAGES:
        block = of.read_text().split(f"## {chapter}\n")[1].split("```\n")[1]
        if page == of and line_of(words).split(" #")[0] in " ".join(block.split()):
            return True
    return False


def ways(page: Path, words: list[str]) -> list[str]:
    """How this command is executed, or why it is not."""
    asked = {
        "alone": (page, words) in guides.QUICK or (page, words) in guides.MEASURING,
        "in a story": in_a_story(page, words),
        "as it stands": is_any(AS_THEY_STAND, words),
        "for seconds": is_any(FOR_SECONDS, words) or is_any(SCALED, words),
        "over SSH": is_any(OVER_SSH, words),
        "over a console": is_any(CONSOLES, words),
        "by another test": is_named(BESIDE, page, words),
        "not": is_named(NOT_RUN, page, words),
    }
    return [way for way, is_so in asked.items() if is_so]


def test_every_command_is_executed_or_its_reason_is_told() -> None:
    without = [(page.name, line_of(words)) for page, words in EVERY if not ways(page, words)]
    assert without == []
    both = [(page.name, line_of(words)) for page, words in EVERY if "not" in ways(page, words)[1:]]
    assert both == [], "executed, and said not to be"


def test_no_entry_of_the_lists_is_of_a_command_that_is_gone() -> None:
    for name, pattern in (*BESIDE, *NOT_RUN):
        assert [words for page, words in EVERY if page.name == name and re.match(pattern, line_of(words))], pattern
    for pattern in (*AS_THEY_STAND, *FOR_SECONDS, *SCALED, *CONSOLES, *OVER_SSH):
        assert [words for _, words in EVERY if re.match(pattern, line_of(words))], pattern


def test_the_tests_that_are_named_are_there() -> None:
    for test in BESIDE.values():
        file, _, function = test.partition("::")
        assert f"def {function}" in (ROOT / file).read_text(), test


def told_a_verdict(words: list[str], code: int, said: str) -> None:
    assert "Traceback" not in said and "a bug in rtassay" not in said, said
    assert code in ((0, 1, 4, 5) if words[1] in ("run", "doctor", "explain", "tune") else (0,)), (words, code, said)


@pytest.fixture(scope="module")
def board() -> Iterator[Server]:
    with serving() as server:
        known = server.home / "ssh_config"
        known.write_text(known.read_text() + " HostName 127.0.0.1\n")
        yield server


@pytest.fixture(scope="module")
def a_thread(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """`motor-control`, as the page calls it."""
    program = shutil.copy(sys.executable, tmp_path_factory.mktemp("bin") / "motor-control")
    code = "import time\nwhile True: time.sleep(.01)"
    with subprocess.Popen([program, "-c", code], env={**os.environ, "PYTHONHOME": sys.base_prefix}) as process:
        yield process.pid
        process.kill()


SSH = [(page, words) for page, words in EVERY if is_any(OVER_SSH, words)]


@pytest.mark.full
@pytest.mark.parametrize(("page", "words"), SSH, ids=guides.shown)
def test_a_command_for_a_board_of_the_reader(
    page: Path, words: list[str], board: Server, a_thread: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The board is this machine; its name and address are those of the page. Each run takes two seconds."""
    home = tmp_path / "home"
    monkeypatch.setenv("RTASSAY_SSH", f"ssh -F {board.config}")
    for name in ("pi", "cm4", "pi5"):
        if words[1:4] != ["board", "add", name]:
            assert as_process("board", "add", name, "root@192.168.1.7", home=home).returncode == 0
    stands_for = {"user@board": "root@192.168.1.7", "1234": str(a_thread), "iperf3:client=192.168.1.10@0": "builtin@0"}
    args = [stands_for.get(word, word).replace("isolated=2-3", "isolated=1") for word in words[1:]]
    if words[1] in ("run", "explain"):
        args += ["--duration", "2s"]
    if "--cpus" in words:
        args[args.index("--cpus") + 1] = "1"
        args = [word.replace("@0-2", "@0").replace("@1-2", "@0") for word in args]
    done = as_process(*args, home=home)
    missing = done.returncode == 3 and re.search(r"apt|this kernel has no|has no tracer|CONFIG_|tracefs", done.stderr)
    no_loader = words[1:3] == ["kernel", "list"] and done.returncode == 3 and "boot" in done.stderr
    if not missing and not no_loader:
        told_a_verdict(words, done.returncode, done.stderr)


@pytest.fixture(scope="module")
def rtlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """rtprobe-lite as a program of this machine."""
    lite = ROOT / "probe" / "lite"
    program = tmp_path_factory.mktemp("lite") / "rtlite"
    sources = [*sorted(map(str, lite.glob("*.c"))), str(lite / "ports" / "posix.c")]
    subprocess.run(
        ["gcc", "-std=c11", "-O1", f"-I{lite}", "-DRTL_LANES=1", "-o", program, *sources, "-lpthread"], check=True
    )
    return program


def carry(far: int, program: Path, *, shell: bool) -> None:
    """Bytes between a console and the program. `shell`: it has to be started first, from a prompt that stands there and answers Enter."""
    typed = b""
    while shell and b"rtlite" not in typed:
        typed += os.read(far, 100)
        os.write(far, b"\nnsh> ")
    with subprocess.Popen([program], stdin=far, stdout=far):
        pass


@contextlib.contextmanager
def console(program: Path, words: list[str]) -> Iterator[str]:
    """The word of the command that names the console, with one of this machine in its place."""
    if words[2].startswith("telnet:"):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def serve() -> None:
                with contextlib.suppress(OSError):
                    connection, _ = server.accept()
                    with connection:
                        carry(connection.fileno(), program, shell=False)

            threading.Thread(target=serve, daemon=True).start()
            yield f"telnet:127.0.0.1:{server.getsockname()[1]}"
        return
    if "os=linux" in words[2]:
        with line_to_a_shell() as line:
            yield f"serial:{line}?{words[2].partition('?')[2]}"
        return
    far, near = pty.openpty()
    tty.setraw(near)

    def serve_the_line() -> None:
        with contextlib.suppress(OSError):
            carry(far, program, shell="--wait" in words)

    threading.Thread(target=serve_the_line, daemon=True).start()
    _, found, rate = words[2].partition("?")
    yield f"serial:{os.ttyname(near)}{found}{rate}"
    os.close(near)


@pytest.mark.full
@pytest.mark.parametrize(
    ("page", "words"), [(page, words) for page, words in EVERY if is_any(CONSOLES, words)], ids=guides.shown
)
def test_a_command_for_a_console(page: Path, words: list[str], rtlite: Path, tmp_path: Path) -> None:
    with console(rtlite, words) as address:
        args = [word.replace("\\n", "\n") if word.startswith("rtlite") else word for word in words[3:]]
        # a serial line is there a second time, with rtprobe-lite as the first run left it
        for _ in range(2 if address.startswith("serial:") else 1):
            done = as_process("run", address, *args, "--duration", "2s", home=tmp_path, timeout_s=120)
            told_a_verdict(words, done.returncode, done.stderr)
            assert done.stdout


@pytest.mark.full
@pytest.mark.parametrize(
    ("page", "words"), [(page, words) for page, words in EVERY if is_any(AS_THEY_STAND, words)], ids=guides.shown
)
def test_a_command_as_it_stands(page: Path, words: list[str], tmp_path: Path) -> None:
    done = as_process(*words[1:], home=tmp_path, timeout_s=900)
    assert done.returncode in (0, 1, 4, 5), done.stderr


SHORT = [(page, words) for page, words in EVERY if is_any((*FOR_SECONDS, *SCALED), words)]


@pytest.mark.full
@pytest.mark.parametrize(("page", "words"), SHORT, ids=guides.shown)
def test_a_command_of_minutes_in_seconds(page: Path, words: list[str], tmp_path: Path) -> None:
    short = ["--duration", "2s"] if words[1] == "run" else ["--scale", "1/100", "-o", str(tmp_path / "made")]
    done = as_process(*words[1:], *short, home=tmp_path, timeout_s=900)
    missing = done.returncode == 3 and "apt" in done.stderr
    assert missing or done.returncode in (0, 1, 4, 5), done.stderr


@contextlib.contextmanager
def own_boards(home: Path) -> Iterator[dict[str, str]]:
    """The environment of a reader whose boards are not those of other tests, which start a lab:quick, too."""
    runtime = tempfile.mkdtemp(prefix="guide-", dir="/tmp")  # short, since sockets lie in it
    env = {**os.environ, "RTASSAY_HOME": str(home), "XDG_RUNTIME_DIR": runtime}
    env["PATH"] = f"{RTASSAY.parent}:{os.environ['PATH']}"
    try:
        yield env
    finally:
        # Whatever their names: one that another board of this machine has is taken with a number.
        subprocess.run([RTASSAY, "lab", "stop", "--all"], env=env, check=False, timeout=120, capture_output=True)
        shutil.rmtree(runtime)


@pytest.mark.full
def test_the_page_of_two_kernels_from_its_first_line_to_its_last(tmp_path: Path) -> None:
    """As a shell reads it, but for the packages, which are there."""
    text = (ROOT / "docs" / "start" / "two-kernels.md").read_text()
    lines = [line for block in re.findall(r"^```bash\n(.*?)^```", text, re.S | re.M) for line in block.splitlines()]
    script = "\n".join(["set -ex", *(line for line in lines if not line.startswith("apt-get"))])
    begun = time.monotonic()
    with own_boards(tmp_path / "home") as env:
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=5400, check=False
        )
        assert done.returncode in (0, 1, 4, 5), (time.monotonic() - begun, done.stderr[-3000:])
        assert (tmp_path / "two-kernels" / "report.html").stat().st_size > 10_000


@pytest.mark.full
def test_the_board_behind_a_boot_loader_as_its_page_has_it(tmp_path: Path) -> None:
    """But for the experiment, which reboots between its blocks: it is executed on such a board elsewhere."""
    text = (ROOT / "docs" / "guides" / "lab.md").read_text().split("The same with a real boot loader")[1]
    lines = [shlex.split(line.split(" # ")[0]) for line in text.split("```")[1].strip().splitlines()]
    assert [words[1:3] for words in lines] == [
        ["lab", "start"], ["kernel", "use"], ["experiment", "run"], ["lab", "stop"],
    ]  # fmt: skip
    with own_boards(tmp_path / "home") as env:
        for words in (line for line in lines if line[1] != "experiment"):
            done = subprocess.run(
                words, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=3600, check=False
            )
            assert done.returncode == 0, (words, done.stderr)
        listed = subprocess.run([RTASSAY, "lab", "list", "--json"], env=env, capture_output=True, text=True, check=True)
        assert json.loads(listed.stdout)["boards"] == []

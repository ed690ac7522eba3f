"""The script board without QEMU: what is booted, what comes back, and what is said when something fails."""

from __future__ import annotations

import io
import itertools
import json
import shlex
import socket
import stat
import subprocess
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from rtassay.boards.binaries import probe_path
from rtassay.lab import measured, places, script
from rtassay.lab.arches import ARCHES
from rtassay.lab.script import ScriptBoard, ScriptResult
from rtassay.model.errors import BoardError, UsageError


def results(**files: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(f"./{name}")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def fake_qemu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, arch: str = "amd64") -> None:
    """A QEMU that answers --version, and otherwise runs `body` with the files of both serial lines as $console and $results."""
    program = tmp_path / ARCHES[arch].qemu
    program.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && { echo "QEMU emulator version 7.2"; exit; }\n'
        'for word in "$@"; do case $word in file:*/console) console=${word#file:};; file*/results) results=/${word#*/};; esac; done\n'
        f'echo "$@" > {tmp_path}/argv\n{body}\n'
    )
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")


def board(tmp_path: Path, seed: int = 1) -> ScriptBoard:
    kernel = tmp_path / "vmlinuz"
    kernel.write_bytes(b"kernel")
    return ScriptBoard(kernel, b"userland", {"x/module.ko": b"module"}, "echo hello\n", seed)


def test_a_boot_brings_the_files_its_exit_code_and_the_hashes_of_what_went_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tar").write_bytes(results(**{"stream.rtw": b"stream", "exit": b"5\n", "uptime": b"12.34\n"}))
    fake_qemu(tmp_path, monkeypatch, f'echo booted > $console; cp {tmp_path}/tar "$results"')
    result = board(tmp_path, seed=7).run()
    assert (result.stream, result.exit_code, result.virtual_ns) == (b"stream", 5, 12_340_000_000)
    assert (result.files, result.seed, result.console) == ({"stream.rtw": b"stream"}, 7, "booted\n")
    assert result.qemu == "QEMU emulator version 7.2"
    assert set(result.inputs) == {"kernel", "initrd"}
    argv = (tmp_path / "argv").read_text()
    assert "-icount shift=3,sleep=off,align=off,rr=record,rrfile=/dev/null" in argv
    assert "-seed 7" in argv
    assert "-nodefaults" in argv
    assert "-drive" not in argv
    assert "-netdev" not in argv


@pytest.mark.parametrize("arch", ["arm64", "armhf"])
def test_an_arm_board_is_the_machine_virt_and_sends_its_results_over_a_serial_line_on_pci(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arch: str
) -> None:
    (tmp_path / "tar").write_bytes(results(exit=b"0\n", uptime=b"1.00\n"))
    fake_qemu(tmp_path, monkeypatch, f'cp {tmp_path}/tar "$results"; touch $console', arch)
    made = replace(board(tmp_path), arch=ARCHES[arch])
    assert made.run().exit_code == 0
    argv = (tmp_path / "argv").read_text()
    assert (
        "-M virt" in argv
        and "-smp 1" in argv
        and "-icount shift=3,sleep=off,align=off,rr=record,rrfile=/dev/null" in argv
    )
    assert "-device pci-serial,chardev=results" in argv and "console=ttyAMA0" in argv
    assert "-drive" not in argv and "-netdev" not in argv
    assert b"/dev/ttyS0" in made._own() and b"/dev/ttyS1" not in made._own()
    assert b"/dev/ttyS1" in board(tmp_path)._own()


def test_the_initrd_is_the_same_for_the_same_files_and_another_for_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tar").write_bytes(results(exit=b"0\n", uptime=b"1.00\n"))
    fake_qemu(tmp_path, monkeypatch, f'cp {tmp_path}/tar "$results"; touch $console')
    one, again = board(tmp_path), board(tmp_path)
    other = ScriptBoard(one.kernel, one.userland, {"x/module.ko": b"MODULE"}, one.script)
    assert one.run().inputs == again.run().inputs != other.run().inputs


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ('echo "Kernel panic" > $console; : > "$results"', "did not boot"),
        ('touch $console; printf "x%.0s" $(seq 2000) > "$results"', "did not boot"),
        ("echo no such machine >&2; touch $console; exit 1", "no such machine"),
        ("echo tick > $console; exec sleep 60", "no progress in virtual time for 2 s"),
    ],
)
def test_a_boot_that_fails_says_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str) -> None:
    fake_qemu(tmp_path, monkeypatch, body)
    with pytest.raises(BoardError) as caught:
        board(tmp_path).run(limit_s=2)
    assert said in f"{caught.value} {caught.value.args}"


def test_a_guest_that_spins_for_ever_is_ended_by_its_own_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_qemu(tmp_path, monkeypatch, "touch $console; exec sleep 600")
    clock = itertools.chain([None], itertools.count(100))
    monkeypatch.setattr(script, "_virtual_s", lambda home, clock_s: next(clock))
    monkeypatch.setattr(script, "_LOOK_S", 0.0)
    monkeypatch.setattr(script, "_STEP_S", 0.01)
    with pytest.raises(BoardError, match="did not end within 5 virtual seconds"):
        board(tmp_path).run(limit_s=600, virtual_limit_s=5)


def test_a_qemu_that_hangs_at_its_end_keeps_no_results_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = results(**{"exit": b"0\n", "uptime": b"1.00\n", "big": bytes(20_000)})
    (tmp_path / "tar").write_bytes(whole)
    (tmp_path / "half").write_bytes(whole[:-10_000])
    monkeypatch.setattr(script, "_LOOK_S", 0.0)
    fake_qemu(tmp_path, monkeypatch, f'touch $console; cp {tmp_path}/tar "$results"; exec sleep 600')
    assert len(board(tmp_path).run(limit_s=60).files["big"]) == 20_000
    fake_qemu(tmp_path, monkeypatch, f'touch $console; cp {tmp_path}/half "$results"; exec sleep 600')
    with pytest.raises(BoardError, match="no progress in virtual time"):
        board(tmp_path).run(limit_s=2)


def test_another_thread_may_stop_a_guest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_qemu(tmp_path, monkeypatch, "touch $console; exec sleep 600")
    stop = threading.Event()
    stop.set()
    with pytest.raises(BoardError, match="was stopped"):
        board(tmp_path).run(stop=stop)


PC_TIME = {"tm_year": 124, "tm_mon": 0, "tm_mday": 1, "tm_hour": 1, "tm_min": 2, "tm_sec": 3}


@pytest.mark.parametrize(
    ("arch", "told", "asked"),
    [
        ("amd64", PC_TIME, {"execute": "qom-get", "arguments": {"path": "/machine", "property": "rtc-time"}}),
        (
            "arm64",
            "0000000009010000: 0x65920f0b\r\n",
            {"execute": "human-monitor-command", "arguments": {"command-line": "xp /1wx 0x9010000"}},
        ),
    ],
)
def test_the_virtual_clock_is_what_qemu_says_of_the_guests_hardware_clock(
    tmp_path: Path, arch: str, told: object, asked: object
) -> None:
    heard = []
    clock_s = script._WIRING[arch].clock_s
    with socket.socket(socket.AF_UNIX) as line:
        line.bind(str(tmp_path / "qmp"))
        line.listen()

        def answer() -> None:
            taken, _ = line.accept()
            with taken, taken.makefile("rwb") as file:
                file.write(b'{"QMP": {}}\n')
                file.flush()
                for said in ({}, told):
                    heard.append(json.loads(file.readline()))
                    file.write(json.dumps({"return": said}).encode() + b"\n")
                    file.flush()

        server = threading.Thread(target=answer)
        server.start()
        assert script._virtual_s(tmp_path, clock_s) == 1704067200 + 3723
        server.join()
    assert heard[1] == asked
    assert script._virtual_s(tmp_path / "nowhere", clock_s) is None


def test_results_that_lack_the_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tar").write_bytes(results(**{"stream.rtw": b"stream"}))
    fake_qemu(tmp_path, monkeypatch, f'echo last words > $console; cp {tmp_path}/tar "$results"')
    with pytest.raises(BoardError, match="not whole"):
        board(tmp_path).run()


def test_a_kernel_that_is_not_there_and_a_host_without_qemu_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = board(tmp_path)
    fake_qemu(tmp_path, monkeypatch, "exit 1")
    made.kernel.unlink()
    with pytest.raises(BoardError, match="no kernel at"):
        made.run()
    monkeypatch.setattr(places.shutil, "which", lambda program, path=None: None)
    with pytest.raises(BoardError, match="needs qemu-system-x86_64"):
        made.run()


def result(code: int, **files: bytes) -> ScriptResult:
    return ScriptResult(files, code, "", 0, 0, "", 1, {})


def test_what_rtprobe_refuses_is_the_users_and_what_fails_is_the_boards() -> None:
    stream = {script.STREAM: b"stream"}
    assert measured.checked(result(5, **stream)).stream == b"stream"
    with pytest.raises(UsageError, match="no option --nonsense") as refused:
        measured.checked(result(2, errors=b"rtprobe: cyclic has no option --nonsense\n"))
    assert refused.value.exit_code == 2
    with pytest.raises(BoardError, match="Operation not permitted") as failed:
        measured.checked(result(3, **stream, errors=b"rtprobe: sched_setscheduler: Operation not permitted\n"))
    assert failed.value.exit_code == 3
    with pytest.raises(BoardError, match="exit code 137"):
        measured.checked(result(137))


def test_words_go_to_the_board_quoted_and_its_output_is_ours() -> None:
    assert "rtprobe cyclic 'a b; reboot' -o /out/stream.rtw" in measured.script_of(["cyclic", "a b; reboot"], "none")
    with pytest.raises(UsageError, match="-o is taken"):
        measured.measure(Path("rtprobe"), ["cyclic", "-o", "x"], print, kernel="rt", seed=1, load="none")


def test_rtprobe_takes_the_words_of_the_builtin_load() -> None:
    (command,) = measured.LOADS["builtin"]
    words = shlex.split(command)
    assert words[-2:] == ["--duration", "1h"]
    argv = [str(probe_path()), *words[1:-1], "10ms"]
    done = subprocess.run(argv, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("load", measured.LOADS)
def test_the_script_is_shell_and_starts_a_traced_load_after_the_events(load: str) -> None:
    plain = measured.script_of(["cyclic"], load)
    traced = measured.script_of(["cyclic", "--trace-above", "1us"], load)
    for text in (plain, traced):
        assert subprocess.run(["sh", "-n"], input=text.encode(), check=False).returncode == 0
    if load != "none":
        assert plain.index(measured.LOADS[load][0]) < plain.index("rtprobe cyclic")
        assert traced.index("trace_begin") < traced.index(measured.LOADS[load][0])


def test_a_load_that_ends_early_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(measured.LOADS, "ends", ("true",))
    monkeypatch.setitem(measured.LOADS, "runs", ("exec sleep 600",))
    (tmp_path / "rtprobe").write_text("#!/bin/sh\nexit 5\n")
    (tmp_path / "rtprobe").chmod(0o755)
    ended = {}
    for load in ("ends", "runs"):
        text = (
            measured.script_of(["cyclic"], load)
            .replace("/out/", f"{tmp_path}/")
            .replace("exit $code", "kill $loads; exit $code")
        )
        done = subprocess.run(
            ["sh", "-c", text], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False, capture_output=True
        )
        assert done.returncode == 5
        file = tmp_path / measured.ENDED
        ended[load] = file.read_text() if file.exists() else ""
        file.unlink(missing_ok=True)
    assert ended == {"ends": "ends\n", "runs": ""}

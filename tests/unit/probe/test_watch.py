"""rtprobe watch: file contents with the board's time, nothing sent twice, nothing lost silently."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from .board import PATIENCE_S, RTPROBE, family, run
from .frames import FileFrame, decode, files, whole


def watch_once(*paths: str, more: tuple[str, ...] = ()) -> tuple[dict[str, object], list[FileFrame]]:
    done = run("watch", "--count", "1", *more, *paths)
    assert done.returncode == 0 and done.stderr == b"", done.stderr
    frames = whole(done.stdout, "watch")
    assert frames[-1].json["reason"] == "count"
    return frames[0].json, files(frames)


def watch_while(
    change: Callable[[Callable[[int], None]], None], *argv: str
) -> tuple[dict[str, object], list[FileFrame], dict[str, object]]:
    """Runs a fast watch; `change` gets a function that waits for N more frames; then the watch is told to end."""
    seen = bytearray()
    with family() as members:
        process = members.start("watch", "--every", "20ms", *argv)
        assert process.stdout is not None
        out = process.stdout.fileno()

        def wait_frames(count: int) -> None:
            goal = len(files(decode(bytes(seen), cut=True))) + count
            until = time.monotonic() + PATIENCE_S
            while len(files(decode(bytes(seen), cut=True))) < goal:
                assert time.monotonic() < until
                seen.extend(os.read(out, 65536))

        change(wait_frames)
        process.send_signal(signal.SIGTERM)
        rest, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0 and errors == b""
    frames = whole(bytes(seen) + rest, "watch")
    return frames[0].json, files(frames), frames[-1].json


def test_contents_are_exact(tmp_path: Path) -> None:
    first, second, empty = tmp_path / "a", tmp_path / "b", tmp_path / "empty"
    first.write_bytes(b"one\n")
    second.write_bytes(bytes(range(256)) * 10)
    empty.write_bytes(b"")
    before = time.monotonic_ns()
    facts, found = watch_once(str(first), str(second), str(empty))
    assert facts["paths"] == [str(first), str(second), str(empty)] and facts["unmatched"] == []
    assert [f.content for f in found] == [first.read_bytes(), second.read_bytes(), b""]
    assert all(f.error == 0 and not f.same and not f.cut for f in found)
    stamps = [f.mono_ns for f in found]
    assert stamps == sorted(stamps) and before <= stamps[0] and stamps[-1] <= time.monotonic_ns()


def test_patterns(tmp_path: Path) -> None:
    for name in ("x1/v", "x2/v", "x10/v", "y/v", ".x/v"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(name)
    facts, found = watch_once(f"{tmp_path}/x[0-9]*/v", f"{tmp_path}/nothing*", f"{tmp_path}/?/v", f"{tmp_path}/x1/v")
    assert facts["paths"] == [f"{tmp_path}/{d}/v" for d in ("x1", "x10", "x2", "y")]  # no path twice
    assert facts["unmatched"] == [f"{tmp_path}/nothing*"]
    assert [f.content for f in found] == [b"x1/v", b"x10/v", b"x2/v", b"y/v"]


def test_relative_patterns_and_names_with_blanks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a b").write_text("blank")
    monkeypatch.chdir(tmp_path)
    facts, found = watch_once("*b", "a b")
    assert facts["paths"] == ["a b"] and found[0].content == b"blank"


def test_errors_are_sent_as_errno(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "fifo")  # must not hang
    names = [str(tmp_path / n) for n in ("absent", "dir", "fifo")]
    facts, found = watch_once(*names)
    assert facts["paths"] == names and facts["unmatched"] == []
    assert [f.error for f in found] == [errno.ENOENT, errno.EISDIR, errno.ESPIPE]
    assert all(f.content == b"" for f in found)


def test_unchanged_content_is_flagged_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "value"
    path.write_text("1")

    def change(wait: Callable[[int], None]) -> None:
        wait(3)
        path.write_text("2")
        wait(3)

    _, found, end = watch_while(change, str(path))
    assert end["reason"] == "signal"
    assert not found[0].same and found[0].content == b"1"
    assert all(f.same == (f.content == b"") or f.content == b"" for f in found)
    contents = [f.content for f in found if not f.same]
    assert contents in ([b"1", b"2"], [b"1", b"", b"2"])  # a read may fall between truncate and write
    assert sum(f.same for f in found) >= 3
    steps = [b.mono_ns - a.mono_ns for a, b in pairwise(found)]
    assert all(step > 0 for step in steps)


def test_proc_files_change_through_the_open_descriptor() -> None:
    _, found, _ = watch_while(lambda wait: wait(8), "/proc/uptime", "/proc/self/stat")
    uptimes = [f.content for f in found if f.path == 0 and not f.same]
    assert len(set(uptimes)) >= 2 and all(len(u.split()) == 2 for u in uptimes)


def test_a_file_that_goes_and_comes_back(tmp_path: Path) -> None:
    path, beat = tmp_path / "value", "/proc/uptime"
    path.write_text("first")

    def change(wait: Callable[[int], None]) -> None:
        wait(4)
        path.unlink()
        wait(6)
        path.write_text("second")
        wait(6)
        other = tmp_path / "other"
        other.write_text("third")
        other.rename(path)
        wait(6)

    _, found, _ = watch_while(change, str(path), beat)
    told = [(f.error, f.content) for f in found if f.path == 0 and not f.same and (f.error or f.content)]
    assert told == [(0, b"first"), (errno.ENOENT, b""), (0, b"second"), (0, b"third")]  # the error once


def test_error_that_changes_is_sent_again(tmp_path: Path) -> None:
    path = tmp_path / "value"

    def change(wait: Callable[[int], None]) -> None:
        wait(4)
        path.mkdir()
        wait(6)

    _, found, _ = watch_while(change, str(path), "/proc/uptime")
    assert [f.error for f in found if f.path == 0] == [errno.ENOENT, errno.EISDIR]


def test_process_that_ends(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])

    def change(wait: Callable[[int], None]) -> None:
        wait(4)
        sleeper.kill()
        sleeper.wait()
        wait(6)

    _, found, _ = watch_while(change, f"/proc/{sleeper.pid}/stat", "/proc/uptime")
    assert [f.error for f in found if f.path == 0 and (f.error or not f.same)][-1] == errno.ENOENT


@pytest.mark.parametrize("size", [99, 100, 101, 300_000])
def test_big_files_are_cut_and_say_so(tmp_path: Path, size: int) -> None:
    path = tmp_path / "big"
    path.write_bytes(os.urandom(size))
    _, (found,) = watch_once(str(path), more=("--max-bytes", "100"))
    assert found.content == path.read_bytes()[:100] and found.cut == (size > 100)


def test_largest_content(tmp_path: Path) -> None:
    path = tmp_path / "big"
    path.write_bytes(os.urandom(1 << 20))
    _, (found,) = watch_once(str(path), more=("--max-bytes", "1048552"))
    assert found.content == path.read_bytes()[:1048552] and found.cut
    assert run("watch", "--count", "1", "--max-bytes", "1048553", str(path)).returncode == 2


def test_three_thousand_paths_with_few_descriptors(tmp_path: Path) -> None:
    for number in range(3000):
        (tmp_path / f"{number:04}").write_text(str(number))
    for more in (("--count", "1"), ("--count", "2", "--every", "10ms")):
        done = subprocess.run(
            ["sh", "-c", 'ulimit -n 40; exec "$@"', "sh", RTPROBE, "watch", *more, f"{tmp_path}/*"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=True,
        )
        frames = whole(done.stdout, "watch")
        found = files(frames)
        assert len(frames[0].json["paths"]) == 3000 and len(found) == 3000 * int(more[1])
        assert [f.content for f in found[:3000]] == [str(n).encode() for n in range(3000)]
        assert all(f.same and not f.content for f in found[3000:])


def test_slow_reader_gets_everything(tmp_path: Path) -> None:
    """20 MB through a pipe nobody reads at first: watch waits, and nothing is left out."""
    for number in range(400):
        (tmp_path / f"{number:03}").write_bytes(bytes([number % 256]) * 50_000)
    with family() as members:
        process = members.start("watch", "--count", "1", f"{tmp_path}/*")
        time.sleep(0.5)
        assert process.poll() is None
        seen, _ = process.communicate(timeout=PATIENCE_S)
    found = files(whole(seen, "watch"))
    assert [f.content for f in found] == [bytes([n % 256]) * 50_000 for n in range(400)]


def test_full_pipe_does_not_keep_it_from_ending(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"{number:03}").write_bytes(os.urandom(50_000))
    with family() as members:
        process = members.start("watch", "--every", "10ms", f"{tmp_path}/*")
        time.sleep(0.5)
        process.terminate()
        assert process.wait(PATIENCE_S) == 3  # and it says that the stream is not whole
        seen, errors = process.communicate()
        assert b"stream is not whole" in errors
        decode(seen, cut=True)


def test_ends_with_its_owner() -> None:
    with family() as members:
        process = members.start("watch", "--attached", "--every", "10s", "/proc/uptime", stdin=subprocess.PIPE)
        members.wait_for(1)
        seen, errors = process.communicate(timeout=PATIENCE_S)  # closes stdin
        assert process.returncode == 0 and errors == b""
    assert whole(seen, "watch")[-1].json["reason"] == "owner"


def test_ends_when_nobody_reads() -> None:
    with family() as members:
        process = members.start("watch", "--every", "10ms", "/proc/uptime")
        assert process.stdout is not None
        process.stdout.read(10)
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE_S) == 3
        assert process.stderr is not None and b"Broken pipe" in process.stderr.read()
        process.stderr.close()


def test_output_file_and_full_disk(tmp_path: Path) -> None:
    path = tmp_path / "w.rtw"
    assert run("watch", "--count", "1", "-o", str(path), "/proc/uptime").returncode == 0
    whole(path.read_bytes(), "watch")
    full = run("watch", "--count", "1", "-o", "/dev/full", "/proc/uptime")
    assert full.returncode == 3 and b"No space left" in full.stderr
    nowhere = run("watch", "--count", "1", "-o", str(tmp_path / "no/such"), "/proc/uptime")
    assert nowhere.returncode == 2 and b"no/such" in nowhere.stderr


def test_nothing_to_watch(tmp_path: Path) -> None:
    done = run("watch", "--count", "1", f"{tmp_path}/*")
    assert done.returncode == 0 and b"no path matches" in done.stderr
    assert whole(done.stdout, "watch")[0].json["unmatched"] == [f"{tmp_path}/*"]
    assert run("watch").returncode == 2


def test_inventory_of_all_processes() -> None:
    facts, found = watch_once("/proc/[0-9]*/stat", "/proc/cmdline", "/sys/devices/system/cpu/online")
    assert f"/proc/{os.getpid()}/stat" in facts["paths"]  # type: ignore[operator]
    mine = found[facts["paths"].index(f"/proc/{os.getpid()}/stat")]  # type: ignore[attr-defined]
    assert mine.content.startswith(f"{os.getpid()} (".encode())

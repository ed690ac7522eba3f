"""rtprobe spool and fetch: the command outlives everybody, its stream is fetched by offset, and what has no room is counted."""

from __future__ import annotations

import contextlib
import os
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rtassay import store
from rtassay.boards.binaries import probe_path
from rtassay.model import warnings
from rtassay.model.events import End, Facts, FileContent, Note, Samples, TracePage, TraceText
from rtassay.wire.encode import StreamEncoder, frame
from rtassay.wire.stream import StreamParser

RTPROBE = str(probe_path())
PATIENCE_S = 60.0
RTASSAY = str(Path(sys.executable).with_name("rtassay"))


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[Path]:
    """The directory of a spool; whatever still runs there is ended."""
    place = tmp_path / "spool"
    yield place
    for file in tmp_path.glob("*/pid"):
        with contextlib.suppress(OSError, ValueError):
            os.kill(int(file.read_text().split()[0]), signal.SIGKILL)


def start(place: Path, *words: str, options: tuple[str, ...] = (), followers: tuple[Path, ...] = ()) -> int:
    argv = [RTPROBE, "spool", *options, str(place), *map(str, followers), "--", *words]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    name, pid = done.stdout.split()
    assert name == "pid"
    return int(pid)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def wait_for_end(place: Path) -> tuple[int, int, int]:
    until((place / "exit").exists)
    code, total, lost = (place / "exit").read_text().split()
    return int(code), int(total), int(lost)


DATA, END, LOST = 1, 2, 3


class Fetcher:
    """A `fetch` process, and what it sent per channel until its last record."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [RTPROBE, "fetch", "--every", "20ms"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.data: dict[int, bytes] = {}

    def __enter__(self) -> Fetcher:
        return self

    def __exit__(self, *_: object) -> None:
        with self.process:
            if self.process.stdin is not None:
                self.process.stdin.close()
            self.process.stdin = None
            assert self.process.wait(PATIENCE_S) in (0, -signal.SIGKILL)

    def say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def record(self) -> tuple[int, int, bytes]:
        """Channel, kind and payload of the next one."""
        assert self.process.stdout is not None
        kind, zero, channel, length = struct.unpack("<BBHI", self.process.stdout.read(8))
        payload = self.process.stdout.read(length)
        assert zero == 0 and len(payload) == length
        if kind == DATA:
            self.data[channel] = self.data.get(channel, b"") + payload
        return channel, kind, payload

    def until(self, channel: int, kind: int) -> bytes:
        """The payload of the next record of this kind in this channel."""
        while True:
            came = self.record()
            if came[:2] == (channel, kind):
                return came[2]
            assert came[1] == DATA or came[0] != channel, came


def fetch(place: Path, offset: int = 0) -> bytes:
    """Everything from an offset to the end."""
    with Fetcher() as fetcher:
        fetcher.say(f"follow 7 {offset} {place}")
        fetcher.until(7, END)
        return fetcher.data.get(7, b"")


@contextlib.contextmanager
def following(place: Path) -> Iterator[Fetcher]:
    """A fetcher that sends this spool as channel 0."""
    with Fetcher() as fetcher:
        fetcher.say(f"follow 0 0 {place}")
        yield fetcher


def segments(place: Path) -> list[int]:
    return sorted(int(file.name) for file in place.iterdir() if file.name.isdigit())


def parsed(data: bytes) -> tuple[list[object], StreamParser]:
    parser = StreamParser()
    return [*parser.feed(data), *parser.finish()], parser


def test_bytes_exit_code_and_stderr_of_any_command(spool: Path) -> None:
    start(spool, "sh", "-c", "seq 1 20000; echo oops >&2; exit 7", options=("--segment", "4096"))
    code, total, lost = wait_for_end(spool)
    text = "".join(f"{i}\n" for i in range(1, 20001)).encode()
    assert (code, total, lost) == (7, len(text), 0)
    assert (spool / "errors").read_bytes() == b"oops\n"
    assert fetch(spool) == text
    assert fetch(spool, 12345) == text[12345:]
    assert fetch(spool, total) == b""


def test_the_command_is_no_child_of_ours_and_has_no_terminal(spool: Path) -> None:
    pid = start(spool, "sleep", "30")
    spooler = int((spool / "pid").read_text().split()[0])
    assert os.getsid(pid) not in (os.getsid(0), 0)
    assert Path(f"/proc/{spooler}/fd/0").readlink() == Path("/dev/null")
    os.kill(pid, signal.SIGTERM)
    assert wait_for_end(spool)[0] == 128 + signal.SIGTERM


def test_what_is_acknowledged_is_deleted_and_the_rest_still_comes(spool: Path) -> None:
    start(
        spool,
        "sh",
        "-c",
        "for i in 0 1 2 3 4 5 6 7 8; do seq $((i * 1000 + 1)) $((i * 1000 + 1000)); sleep 0.1; done",
        options=("--segment", "4096"),
    )
    text = "".join(f"{i}\n" for i in range(1, 9001)).encode()
    with following(spool) as first:
        while len(first.data.get(0, b"")) < 20_000:
            first.until(0, DATA)
        before = segments(spool)
        first.say("ack 0 20000")
        until(lambda: segments(spool)[0] != before[0])
        assert segments(spool)[0] <= 20_000
        head = first.data[0]
    assert head == text[: len(head)]
    assert head[:20_000] + fetch(spool, 20_000) == text
    with following(spool) as late:
        assert b"not in" in late.until(0, LOST)


def test_one_connection_carries_many_spools(spool: Path, tmp_path: Path) -> None:
    """Each with its own end; one that is not there, or that nobody wants any more, does not keep the others from coming."""
    texts = {}
    with Fetcher() as fetcher:
        for channel in range(5):
            texts[channel] = "".join(f"{channel} {i}\n" for i in range(20_000)).encode()
            script = f"for i in 0 1 2 3; do seq -f '{channel} %.0f' $((i * 5000)) $((i * 5000 + 4999)); sleep 0.05; done; echo e{channel} >&2; exit {channel}"
            start(tmp_path / f"s{channel}", "sh", "-c", script, options=("--segment", "4096"))
            fetcher.say(f"follow {channel} 0 {tmp_path}/s{channel}")
        start(spool, "sh", "-c", "while :; do seq 1 10000; sleep 0.05; done")
        fetcher.say(f"follow 99 0 {spool}")
        fetcher.say(f"follow 98 0 {tmp_path}/none")
        ends: dict[int, bytes] = {}
        while len(ends) < 6:
            channel, kind, payload = fetcher.record()
            if kind != DATA:
                ends[channel] = payload
        assert b"no spool" in ends.pop(98)
        for channel, text in texts.items():
            assert fetcher.data[channel] == text
            assert ends[channel] == f"{channel} {len(text)} 0\ne{channel}\n".encode()
        fetcher.say("leave 99")
        fetcher.say(f"follow 0 {len(texts[0]) - 3} {tmp_path}/s0")  # a channel that is free again
        while fetcher.record()[:2] != (0, END):
            pass
        assert fetcher.data[0] == texts[0] + texts[0][-3:]
    os.kill(int((spool / "pid").read_text().split()[2]), signal.SIGKILL)


def test_a_second_fetcher_takes_the_place_of_the_first(spool: Path) -> None:
    pid = start(spool, "sleep", "90")
    fetcher = spool / "fetcher"
    with following(spool) as first:
        until(lambda: fetcher.exists() and fetcher.stat().st_size > 0)
        with following(spool) as second:
            assert first.process.wait(PATIENCE_S) == -signal.SIGKILL
            os.kill(pid, signal.SIGKILL)
            assert second.until(0, END).startswith(b"137 0 0")


def test_a_process_that_only_has_the_number_of_a_fetcher_is_not_killed(spool: Path) -> None:
    pid = start(spool, "sleep", "90")
    with subprocess.Popen(["sleep", "60"]) as stranger:
        (spool / "fetcher").write_text(f"{stranger.pid} 1\n")
        with following(spool) as fetcher:
            os.kill(pid, signal.SIGKILL)
            fetcher.until(0, END)
        assert stranger.poll() is None
        stranger.kill()


def test_close_stdin_and_signals_reach_the_command_once(spool: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    # The shell's `read` ends with its stdin: that is what an attached guard waits for.
    start(
        spool,
        "sh",
        "-c",
        f"trap 'echo usr1 >>{log}' USR1; echo up; while ! read x; do [ -e {log} ] && break; done; exec cat",
    )
    with following(spool) as fetcher:
        assert fetcher.until(0, DATA) == b"up\n"
        for _ in range(3):
            fetcher.say(f"tell 0 signal 1 {int(signal.SIGUSR1)}")
        until(log.exists)
        fetcher.say("tell 0 close-stdin")
        assert fetcher.until(0, END) == b"0 3 0\n"
    assert wait_for_end(spool)[0] == 0
    assert log.read_text() == "usr1\n"


def gone(pid: int) -> bool:
    """Nothing of it runs any more: it may go between two looks, and its parent may not have noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_the_guard_loses_its_owner_with_the_spooler(spool: Path) -> None:
    guard = start(spool, RTPROBE, "guard", "--attached", "--max", "60s", "--", "sleep", "50")
    os.kill(int((spool / "pid").read_text().split()[0]), signal.SIGKILL)
    until(lambda: gone(guard))
    with following(spool) as fetcher:
        assert b"is gone" in fetcher.until(0, LOST)


def test_followers_lose_their_stdin_when_it_ends(spool: Path, tmp_path: Path) -> None:
    load = tmp_path / "load"
    start(load, RTPROBE, "guard", "--attached", "--wrap", "--max", "60s", "--", "sleep", "50")
    start(spool, "sleep", "0.3", followers=(load, tmp_path / "not there"))
    wait_for_end(spool)
    wait_for_end(load)
    events, parser = parsed(fetch(load))
    assert parser.ended and "owner_gone" in [e.name for e in events if isinstance(e, Note)]


def test_a_command_that_is_not_there(spool: Path) -> None:
    done = subprocess.run([RTPROBE, "spool", str(spool), "--", "/no/such"], capture_output=True, text=True)
    assert done.returncode == 3 and "No such file" in done.stderr
    twice = subprocess.run([RTPROBE, "spool", str(spool), "--", "true"], capture_output=True, text=True)
    assert twice.returncode == 3 and "File exists" in twice.stderr
    assert subprocess.run([RTPROBE, "spool", "relative", "--", "true"], capture_output=True).returncode == 2


@pytest.mark.root
def test_without_room_samples_go_and_every_number_stays(spool: Path, tmp_path: Path) -> None:
    """Nobody fetches: the budget is reached at once. What is left out is counted, frames have no gap, and the recording's counts agree."""
    options = ("--budget", "100000", "--segment", "8192")
    start(spool, RTPROBE, "cyclic", "--duration", "4s", "--interval", "100us", "--cpus", "0", options=options)
    code, _, lost = wait_for_end(spool)
    assert (code, lost) == (0, 0)
    data = fetch(spool)
    events, parser = parsed(data)
    damage = parser.damage
    assert parser.ended and (damage.lost_frames, damage.bad_frames, damage.skipped_bytes) == (0, 0, 0)
    dropped = [
        e.data for e in events if isinstance(e, Note) and e.name == "spool_dropped" and e.data["what"] == "samples"
    ]
    assert dropped
    told = sum(note["samples"] + note["missed"] + note["dropped"] for note in dropped)
    blocks = [e for e in events if isinstance(e, Samples)]
    held = sum(len(b.latency_ns) + int(b.missed.sum() + b.dropped.sum()) + b.gap_missed + b.gap_dropped for b in blocks)
    file = tmp_path / "f.rtw"
    file.write_bytes(data)
    subprocess.run([RTASSAY, "import", str(file), "-o", str(tmp_path / "out")], check=True, capture_output=True)
    (path,) = (tmp_path / "out").glob("*.rta")
    recording = store.open_recording(path)
    (lane,) = recording.lanes
    assert lane.entry.due == 40_000 == lane.entry.n + lane.entry.missed + lane.entry.dropped + lane.entry.truncated
    assert held + told == lane.entry.due - lane.entry.truncated
    assert lane.histogram.total == lane.entry.n
    (warning,) = recording.manifest.warnings
    assert (warning.code, warning.lane) == (warnings.SPOOL_FULL, lane.entry.index)
    assert warning.facts["samples"] == sum(note["samples"] for note in dropped)


def test_a_file_that_did_not_go_is_not_referred_to(spool: Path, tmp_path: Path) -> None:
    """`watch` leaves out content that equals the last one: where the last one had no room, its repetition must not go either."""

    def file(seq: int, content: bytes | None, path: int = 0) -> bytes:
        head = (seq).to_bytes(8, "little") + path.to_bytes(4, "little") + bytes(4) + bytes([content is None]) + bytes(7)
        return frame(7, seq, head + (content or b""))

    stream = frame(1, 0, b'{"stream":1,"paths":["/a"]}')
    stream += file(1, b"small") + file(2, b"x" * 60_000) + file(3, None) + file(4, b"again") + file(5, None)
    stream += frame(9, 6, b'{"mono_ns":1,"wall_ns":1,"reason":"count","exit":0}')
    source = tmp_path / "stream"
    source.write_bytes(stream)
    start(spool, "cat", str(source), options=("--budget", "65536"))
    wait_for_end(spool)
    events, parser = parsed(fetch(spool))
    assert parser.damage.lost_frames == 0 and parser.ended
    assert [e.content for e in events if isinstance(e, FileContent)] == [b"small", b"again", None]
    (dropped,) = [e.data for e in events if isinstance(e, Note)]
    assert (dropped["event"], dropped["what"], dropped["frames"]) == ("spool_dropped", "file", 2)


def test_pages_of_the_trace_without_room_are_counted_and_their_texts_stay(spool: Path, tmp_path: Path) -> None:
    pages = [TracePage(0, bytes(4096)) for _ in range(40)]
    texts = [TraceText("header_page", b"x" * 500), TraceText("kallsyms", b"y" * 500)]
    source = tmp_path / "stream"
    source.write_bytes(StreamEncoder().encode_all([Facts({"stream": 1}), texts[0], *pages, texts[1], End({})]))
    start(spool, "cat", str(source), options=("--budget", "65536"))
    wait_for_end(spool)
    events, parser = parsed(fetch(spool))
    assert parser.damage.lost_frames == 0 and parser.ended
    assert [event for event in events if isinstance(event, TraceText)] == texts
    (dropped,) = [event.data for event in events if isinstance(event, Note)]
    assert dropped["what"] == "trace"
    assert 0 < sum(isinstance(event, TracePage) for event in events) == 40 - dropped["frames"]


def test_a_text_without_room_is_cut_not_holed(spool: Path) -> None:
    start(spool, "seq", "1", "50000", options=("--budget", "65536"))
    _, total, lost = wait_for_end(spool)
    whole = "".join(f"{i}\n" for i in range(1, 50001)).encode()
    data = fetch(spool)
    assert data == whole[: len(data)] and len(data) == total
    assert lost == len(whole) - total > 0


@pytest.mark.root
def test_a_full_disk_keeps_histogram_and_end(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "rtassay-test", str(place)], check=True)
    try:
        start(place / "spool", RTPROBE, "cyclic", "--duration", "4s", "--interval", "500us", "--cpus", "0", "--policy", "other",
              options=("--budget", "4000000"))  # fmt: skip
        with contextlib.suppress(OSError), (place / "of others").open("wb", buffering=0) as others:
            while True:  # somebody fills the disk: what is left is the reserve of the spool
                others.write(bytes(4096))
        code, _, lost = wait_for_end(place / "spool")
        assert (code, lost) == (0, 0)
        events, parser = parsed(fetch(place / "spool"))
        kinds = Counter(type(event).__name__ for event in events)
        assert parser.ended and kinds["HistogramPart"] and isinstance(events[0], Facts)
        assert any(isinstance(e, Note) and e.name == "spool_dropped" for e in events)
        assert parser.damage.lost_frames == 0
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)

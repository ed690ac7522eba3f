"""A gap of known length (rtfault: preemption off, interrupts off) is found by noise, and by timerlat alike where the kernel has it."""

from __future__ import annotations

import pytest
import rtfault

from rtassay.boards.binaries import probe_path
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard
from rtassay.model.events import End, Facts, Gaps
from rtassay.wire.stream import StreamParser

pytestmark = pytest.mark.full
US, MS = 1_000, 1_000_000
LENGTH_US = 30_000
# The kernel's way back to the thread, on a board whose instructions take 1 ns.
SLACK_NS = 300 * US
SCRIPT = f"""
set -e
insmod /rtfault.ko
fault() {{
    now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 ))
    echo "$1 {LENGTH_US} 1 $((now + 100000000)) 1000000000" > /proc/rtfault
}}
for kind in p i; do
    rtprobe noise --interval 50ms --duration 500ms --threshold 1ms -o /out/noise-$kind &
    sleep 0.2; fault $kind; wait $!
    if grep -qw timerlat /sys/kernel/tracing/available_tracers; then
        rtprobe timerlat --interval 1ms --duration 3s -o /out/timerlat-$kind &
        sleep 1.5; fault $kind; wait $!
    fi
done
cat /proc/rtfault > /out/faults
if grep -qw osnoise /sys/kernel/tracing/available_tracers; then
    cat /proc/uptime > /out/osnoise-begun
    rtprobe osnoise --interval 200ms --duration 3s -o /out/osnoise-other
    rtprobe osnoise --interval 200ms --duration 3s --policy fifo && false || echo $? > /out/osnoise-refused
    cat /proc/uptime > /out/osnoise-ended
fi
"""
OSNOISE_S = 3


@pytest.fixture(name="files", scope="module", params=["stock", "rt"])
def _files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One boot of a kernel, and all its runs."""
    kernel = str(request.param)
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    module = rtfault.build(kernel, tmp_path_factory.mktemp(kernel))
    files = {"bin/rtprobe": probe_path("x86_64").read_bytes(), "rtfault.ko": module}
    result = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, SCRIPT, 1).run(900)
    assert result.exit_code == 0, result.console[-2000:]
    return result.files | {"kernel": kernel.encode()}


def events_of(stream: bytes) -> list[object]:
    parser = StreamParser()
    return [*parser.feed(stream), *parser.finish()]


def faults(files: dict[str, bytes], kind: str) -> list[tuple[int, int]]:
    """Start and end of each fault of a kind, as the module saw them."""
    rows = [line.split() for line in files["faults"].decode().splitlines()]
    return [(int(start), int(end)) for name, _, start, end in rows if name == kind]


@pytest.mark.parametrize("kind", ["p", "i"])
def test_noise_finds_the_gap_with_its_start_and_length(kind: str, files: dict[str, bytes]) -> None:
    events = events_of(files[f"noise-{kind}"])
    start_ns, end_ns = faults(files, kind)[0]
    gaps = [
        (int(start), int(length))
        for event in events
        if isinstance(event, Gaps)
        for start, length in zip(event.start_ns, event.length_ns, strict=True)
        if length >= LENGTH_US * US // 2
    ]
    assert len(gaps) == 1, gaps
    start, length = gaps[0]
    assert start_ns - SLACK_NS <= start <= start_ns and end_ns <= start + length <= end_ns + SLACK_NS
    (end,) = [event.data for event in events if isinstance(event, End)]
    (facts,) = [event.data for event in events if isinstance(event, Facts)]
    total, longest = end["lanes"]
    assert longest["max_ns"] == length and total["missed"] == 0 == longest["missed"]
    assert total["n"] == total["due"] and facts["requested"]["policy"] == "other"


@pytest.mark.parametrize("kind", ["p", "i"])
def test_timerlat_finds_it_alike_where_the_kernel_has_it(kind: str, files: dict[str, bytes]) -> None:
    """Its thread is late by the rest of the fault, from its timer on: at most an interval less than its length."""
    stream = files.get(f"timerlat-{kind}")
    assert (stream is not None) == (files["kernel"] == b"rt")
    if stream is None:
        return
    (end,) = [event.data for event in events_of(stream) if isinstance(event, End)]
    start_ns, end_ns = faults(files, kind)[1]
    worst_ns = max(lane["max_ns"] for lane in end["lanes"])
    assert end_ns - start_ns - MS - SLACK_NS <= worst_ns <= end_ns - start_ns + SLACK_NS


def test_osnoise_ends_in_time_on_a_board_with_one_cpu(files: dict[str, bytes]) -> None:
    """Its thread is busy all the time, and the rest of the board shares the CPU with it; with a real-time policy nothing would be left."""
    assert ("osnoise-other" in files) == (files["kernel"] == b"rt")
    if files["kernel"] != b"rt":
        return
    begun_s, ended_s = (float(files[f"osnoise-{name}"].split()[0]) for name in ("begun", "ended"))
    assert OSNOISE_S <= ended_s - begun_s <= 3 * OSNOISE_S
    (end,) = [event.data for event in events_of(files["osnoise-other"]) if isinstance(event, End)]
    assert end["reason"] == "duration"
    for lane in end["lanes"]:
        assert lane["n"] > 0 and lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
    assert files["osnoise-refused"] == b"2\n"

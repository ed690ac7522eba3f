"""A call from another CPU keeps a lane waiting, and its interrupt is named. Two CPUs, so outside virtual time: the cause only, no sizes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import known_causes
import pytest
import rtfault
from vboard import Board, Setup

from rtassay.causes.attribution import attribute

pytestmark = pytest.mark.full

CALLS = 20
LENGTH_US = 30_000
# The lane is due each 5 ms, so that each call delays one wake-up by 25 ms or more. A CPU that is idle may take a call without an interrupt: the loop keeps it busy.
SCRIPT = f"""
taskset 1 sh -c 'while :; do :; done' & loop=$!
/probe/rtprobe cyclic --cpus 0 --interval 5ms --duration 40s --trace-above 20ms --no-samples -o /tmp/stream & probe=$!
until grep -q -a trace_begin /tmp/stream 2> /dev/null; do usleep 200000; done
now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 ))
echo "x {LENGTH_US} {CALLS} $((now + 500000000)) 200000000" > /proc/rtfault
wait $probe; kill $loop; cat /proc/rtfault >&2; cat /tmp/stream; rm /tmp/stream
"""


@pytest.mark.parametrize("setup", [Setup("stock", "stock"), Setup("rt", "rt")], ids=lambda setup: setup.name)
def test_a_call_from_another_cpu_is_named(board: Board, tmp_path: Path) -> None:
    module = rtfault.build(board.setup.kernel, tmp_path)
    loading = board.ssh_argv("cat > /tmp/rtfault.ko && insmod /tmp/rtfault.ko; rm /tmp/rtfault.ko; ls /proc/rtfault")
    subprocess.run(loading, input=module, check=True, timeout=60)
    done = board.run(SCRIPT)
    assert done.returncode == 0, done.stderr.decode()
    calls = [tuple(map(int, line.split()[2:])) for line in done.stderr.decode().splitlines() if line.startswith("x ")]
    # On a host that is short of time the run may end before the last calls.
    trace, realtime = known_causes.trace_of(done.stdout)
    found = attribute(trace, virtual=True, realtime=realtime)
    named = set()
    for one in found:
        for start_ns, end_ns in calls:
            begin, end = max(start_ns, one.hit.due_ns), min(end_ns, one.hit.woke_ns)
            if end <= begin:
                continue
            # The interrupt is off and nothing else can run: all of the call's time is the interrupt's.
            ours = [
                part
                for part in one.parts
                if part.cause.kind == "ipi" and part.start_ns < end and part.start_ns + part.ns > begin
            ]
            inside = sum(min(part.start_ns + part.ns, end) - max(part.start_ns, begin) for part in ours)
            assert inside >= 0.95 * (end - begin) - 10_000, (one, start_ns, end_ns)
            assert {part.cause.name for part in ours} <= {"call_function_single", "reschedule", "call_function"}
            named.add(start_ns)
    assert len(named) >= CALLS // 2

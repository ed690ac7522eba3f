"""`rtprobe timerlat --threads user` on a kernel that has timerlat_fd (Debian's 6.12 from bookworm-backports), and on one that has not."""

from __future__ import annotations

import numpy as np
import pytest

from rtassay.boards.binaries import probe_path
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.packages import Packages
from rtassay.lab.script import ScriptBoard, ScriptResult
from rtassay.model.events import End, Facts, Samples
from rtassay.wire.stream import StreamParser

pytestmark = pytest.mark.full
SUITE, METAPACKAGE = "bookworm-backports", "linux-image-rt-amd64"
MEASURES = {"irq": "timer-irq", "thread": "timer-thread", "user": "timer-user"}
SCRIPT = """
tracing=/sys/kernel/tracing
state() { { cat $tracing/osnoise/options; grep . $tracing/osnoise/*us $tracing/osnoise/cpus; ls $tracing/instances; } > /out/$1 2> /dev/null; }
run() { name=$1; shift; rtprobe timerlat --interval 1ms "$@" -o /out/$name 2> /out/$name.told; echo $? > /out/$name.code; }
state before
run user --threads user --duration 1s
run count --threads user --count 200
run kernel --duration 500ms
run traced --threads user --trace-above auto --duration 500ms
state after
rtprobe timerlat --threads user --interval 1ms --duration 60s -o /out/killed & probe=$!
sleep 1; cat /proc/$probe/task/*/comm > /out/threads; state while
kill -9 $probe
sleep 1; state after-kill
"""


class Run:
    """A stream: the latency of each activation by lane, and what FACTS and END say of the lanes."""

    def __init__(self, stream: bytes) -> None:
        parser = StreamParser()
        events = [*parser.feed(stream), *parser.finish()]
        (self.facts,) = [event.data["lanes"] for event in events if isinstance(event, Facts)]
        (self.ends,) = [event.data["lanes"] for event in events if isinstance(event, End)]
        self.lanes: dict[int, dict[int, int]] = {}
        for event in events:
            if isinstance(event, Samples):
                steps = 1 + event.missed + event.dropped
                ks = event.first_k + np.concatenate(([0], np.cumsum(steps)[:-1]))
                self.lanes.setdefault(event.lane, {}).update(zip(ks.tolist(), event.latency_ns.tolist(), strict=True))


def boot(kernel: str) -> ScriptResult:
    """Debian's newest RT kernel of the backports, or of the stable suite."""
    packages = Packages("amd64", SUITE if kernel == "6.12" else None)
    (home,) = packages.unpacked({packages.kernel_behind(METAPACKAGE): ("boot/vmlinuz-*",)}, print).values()
    (image,) = home.glob("boot/vmlinuz-*")
    arch = arch_named("amd64")
    userland = (quick.cached(arch) or quick.build(arch, print)).initramfs.read_bytes()
    result = ScriptBoard(image, userland, {"bin/rtprobe": probe_path("x86_64").read_bytes()}, SCRIPT, 1).run(600)
    assert result.exit_code == 0, result.console[-2000:]
    return result


@pytest.fixture(name="files", scope="module")
def _files() -> dict[str, bytes]:
    return boot("6.12").files


@pytest.mark.parametrize(("name", "planned"), [("user", 1000), ("count", 200)])
def test_a_thread_of_ours_is_followed_into_user_space(name: str, planned: int, files: dict[str, bytes]) -> None:
    assert files[f"{name}.code"] == b"0\n", files[f"{name}.told"]
    run = Run(files[name])
    assert [(lane["name"], lane["measure"]) for lane in run.facts] == [
        (f"cpu0 {key}", MEASURES[key]) for key in MEASURES
    ]
    for lane in run.ends:
        assert lane["due"] == lane["n"] + lane["missed"] + lane["dropped"] + lane["truncated"]
        assert (
            planned - 1 <= lane["due"] <= planned and lane["n"] > 0.9 * planned and lane["obtained"]["policy"] == "fifo"
        )
    everywhere = set.intersection(*(set(samples) for samples in run.lanes.values()))
    assert len(everywhere) > 0.9 * planned
    assert all(run.lanes[0][k] < run.lanes[1][k] < run.lanes[2][k] for k in everywhere)


def test_threads_of_the_kernel_have_two_lanes_there_too(files: dict[str, bytes]) -> None:
    assert [lane["name"] for lane in Run(files["kernel"]).facts] == ["cpu0 irq", "cpu0 thread"]


def test_settings_are_as_before_also_after_sigkill(files: dict[str, bytes]) -> None:
    assert files["before"] == files["after"] == files["after-kill"] and b" OSNOISE_WORKLOAD" in files["before"]
    assert b"NO_OSNOISE_WORKLOAD" in files["while"] and b"rtprobe-user\n" in files["threads"]


def test_a_trace_with_them_is_refused(files: dict[str, bytes]) -> None:
    assert files["traced.code"] == b"2\n" and b"--trace-above goes with --threads kernel" in files["traced.told"]


def test_a_kernel_without_such_a_file_says_so() -> None:
    files = boot("6.1").files
    assert files["user.code"] == b"2\n" and "user" not in files
    assert (
        b"this kernel wakes no threads of programs" in files["user.told"]
        and b"Linux has that since 6.5" in files["user.told"]
    )
    assert files["kernel.code"] == b"0\n" and files["before"] == files["after"] == files["after-kill"]

"""`rtprobe gpio` in virtual time on both kernels, on Linux's simulated GPIO chip: lines that are wired, a wire of known delay by hand, a stall."""

from __future__ import annotations

import statistics

import gpio_sim
import numpy as np
import pytest
import rtfault

from rtassay.boards.binaries import probe_path
from rtassay.lab import quick
from rtassay.lab.arches import arch_named
from rtassay.lab.script import ScriptBoard
from rtassay.model.events import End, Facts, Samples
from rtassay.wire.stream import StreamParser

pytestmark = pytest.mark.full
US = 1000
SENT, EDGE, RECEIVED, ANSWERED = range(4)
STALL_US, INTERVAL_NS, SLOW_NS = 50_000, 1_000_000, 300_000
DELAY_US, DRIVEN = 2000, 40
SCRIPT = f"""
set -e
mount -t configfs none /sys/kernel/config 2> /dev/null || {{ insmod /configfs.ko; mount -t configfs none /sys/kernel/config; }}
insmod /irq_sim.ko; insmod /gpio_sim.ko; insmod /rtfault.ko
refuse() {{ name=$1; shift; set +e; rtprobe gpio "$@" -o /tmp/none 2> /out/$name; echo $? >> /out/$name; set -e; }}
refuse no-chip --chip gpiochip0 --out 0 --in 1
home=/sys/kernel/config/gpio-sim/lab; mkdir $home $home/bank $home/bank/line3; echo 8 > $home/bank/num_lines; echo BUTTON > $home/bank/line3/name; echo 1 > $home/live
wired=/sys/module/gpio_sim/parameters/wired
lines=$(echo /sys/devices/platform/gpio-sim.*/gpiochip*)
look() {{ wire look /dev/gpiochip0 > /out/$1; }}
run() {{ name=$1; shift; rtprobe gpio --chip gpiochip0 --out 0 --in 1 "$@" -o /out/$name; }}

refuse not-wired --chip /dev/gpiochip0 --out 0 --in 1
echo Y > $wired
refuse same --chip gpiochip0 --out 1 --in 1
refuse no-line --chip gpiochip0 --out 0 --in 8
refuse no-name --chip gpiochip0 --out 0 --in KNOB
refuse other-chip --chip gpiochip7 --out 0 --in 1
refuse no-gpio --chip /dev/null --out 0 --in 1
wire hold /dev/gpiochip0 1 > /tmp/held & holder=$!
until grep -q held /tmp/held; do sleep 0.01; done
refuse in-use --chip gpiochip0 --out 0 --in 1
kill $holder; wait $holder || true

look before
run plain --interval 2ms --count 300 --answer 4
run named --interval 2ms --count 20 --out 2 --in BUTTON
run no-answer --interval 2ms --duration 200ms
look after
rtprobe gpio --chip gpiochip0 --out 0 --in 1 --answer 4 --interval 2ms --duration 60s -o /out/killed & probe=$!
sleep 0.3; look while; kill -9 $probe; wait $probe || true
sleep 0.3; look after-kill
rtprobe gpio --chip gpiochip0 --out 0 --in 1 --interval 2ms --duration 60s -o /out/ended & probe=$!
sleep 0.3; kill $probe; wait $probe || true

# The wire breaks: the run ends in time, and what was not answered is told.
( sleep 0.5; echo N > $wired ) &
run broken --interval 2ms --duration 1s
wait; echo Y > $wired

run stall --interval {INTERVAL_NS}ns --duration 600ms --answer 4 &
sleep 0.3
now=$(( $(cut -d' ' -f1 /proc/uptime | tr -d .) * 10000000 ))
echo "p {STALL_US} 1 $((now + 50000000)) 1000000000" > /proc/rtfault
wait $!
cat /proc/rtfault > /out/faults

# By hand: the input is driven and the answer read by another program. Its first edges are those by which the probe tries the wire.
echo N > $wired
wire drive $lines/sim_gpio0/value $lines/sim_gpio1/pull $lines/sim_gpio4/value {DRIVEN} {DELAY_US} > /out/by-hand &
run driven --interval 10ms --count {DRIVEN - 2} --answer 4 --policy other
wait $!
"""


class Run:
    """A stream: the latency of each activation by lane, and what FACTS and END say of the lanes."""

    def __init__(self, stream: bytes) -> None:
        parser = StreamParser()
        events = [*parser.feed(stream), *parser.finish()]
        (self.facts,) = [event.data for event in events if isinstance(event, Facts)]
        self.ends = [event.data for event in events if isinstance(event, End)]
        self.lanes: dict[int, dict[int, int]] = {}
        for event in events:
            if isinstance(event, Samples):
                steps = 1 + event.missed + event.dropped
                ks = event.first_k + np.concatenate(([0], np.cumsum(steps)[:-1]))
                self.lanes.setdefault(event.lane, {}).update(zip(ks.tolist(), event.latency_ns.tolist(), strict=True))

    def accounts(self) -> list[tuple[int, int, int, int]]:
        return [tuple(lane[key] for key in ("due", "n", "missed", "truncated")) for lane in self.ends[0]["lanes"]]

    def parts_us(self, start: int, end: int) -> list[float]:
        both = self.lanes[start].keys() & self.lanes[end].keys()
        return [(self.lanes[end][k] - self.lanes[start][k]) / US for k in sorted(both)]


@pytest.fixture(name="files", scope="module", params=["stock", "rt"])
def _files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """One boot of a kernel, and all its runs."""
    kernel = str(request.param)
    arch = arch_named("amd64")
    image = quick.cached(arch) or quick.build(arch, print)
    modules = gpio_sim.build(kernel, tmp_path_factory.mktemp(kernel))
    modules["rtfault"] = rtfault.build(kernel, tmp_path_factory.mktemp(kernel))
    files = {f"{name}.ko": module for name, module in modules.items()}
    files |= {
        "bin/rtprobe": probe_path("x86_64").read_bytes(),
        "bin/wire": gpio_sim.program(tmp_path_factory.mktemp("wire")),
    }
    result = ScriptBoard(image.kernels[kernel], image.initramfs.read_bytes(), files, SCRIPT, 1).run(900)
    assert result.exit_code == 0, result.console[-2000:]
    return result.files


def test_every_edge_is_accounted_for_in_the_order_of_its_way(files: dict[str, bytes]) -> None:
    run = Run(files["plain"])
    lanes = [(lane["name"], lane["measure"]) for lane in run.facts["lanes"]]
    assert lanes == [
        ("line 0 sent", "wake-up"),
        ("line 1 edge", "gpio-edge"),
        ("line 1 received", "gpio-response"),
        ("line 4 answered", "gpio-answer"),
    ]
    assert run.accounts() == [(300, 300, 0, 0)] * 4
    for start, end in ((SENT, EDGE), (EDGE, RECEIVED), (RECEIVED, ANSWERED)):
        assert min(run.parts_us(start, end)) > 0
    assert Run(files["no-answer"]).accounts() == [(100, 100, 0, 0)] * 3
    assert Run(files["named"]).facts["lanes"][EDGE]["name"] == "line 3 edge"


def test_an_input_driven_by_hand_is_found_at_its_moment_and_answered(files: dict[str, bytes]) -> None:
    """Another program sets the input 2 ms after the output, reads the answering line, and notes when."""
    run = Run(files["driven"])
    moments = [[int(word) for word in line.split()] for line in files["by-hand"].decode().splitlines()]
    assert len(moments) == DRIVEN and run.accounts() == [(DRIVEN - 2, DRIVEN - 2, 0, 0)] * 4
    # The first two are those by which the probe tries the wire.
    for k, (before_ns, after_ns, seen_ns) in enumerate(moments[2:]):
        edge_ns, answered_ns = (
            lane["first_due_ns"] + k * run.facts["interval_ns"] + run.lanes[lane["lane"]][k]
            for lane in (run.facts["lanes"][EDGE], run.facts["lanes"][ANSWERED])
        )
        assert before_ns < edge_ns < after_ns and edge_ns < answered_ns < seen_ns
    assert DELAY_US < statistics.median(run.parts_us(SENT, EDGE)) < DELAY_US + 300


def test_a_stall_of_50_ms_is_missed_to_the_activation(files: dict[str, bytes]) -> None:
    run = Run(files["stall"])
    kind, length_us, *moments = files["faults"].decode().split()
    assert (kind, length_us) == ("p", str(STALL_US))
    for lane in run.ends[0]["lanes"]:
        assert lane["due"] == lane["n"] + lane["missed"] == 600 and lane["truncated"] == 0
        start_ns, end_ns = (int(moment) - lane["first_due_ns"] for moment in moments)
        # The lane itself runs some 100 us after the stall: one more activation may be due by then.
        least, most = (moment // INTERVAL_NS - start_ns // INTERVAL_NS - 1 for moment in (end_ns, end_ns + SLOW_NS))
        assert least <= lane["missed"] <= most and most - least <= 1


def test_a_wire_that_breaks_ends_in_time_and_is_told(files: dict[str, bytes]) -> None:
    sent, edge, received = Run(files["broken"]).accounts()
    assert sent == (500, 500, 0, 0)
    for due, n, missed, truncated in (edge, received):
        assert (due, missed) == (500, 0) and n + truncated == 500 and 100 < truncated < 400


@pytest.mark.parametrize("moment", ["after", "after-kill"])
def test_lines_are_put_back_also_after_sigkill(moment: str, files: dict[str, bytes]) -> None:
    assert files["before"] == files[moment] == b"".join(b"%d in \n" % line for line in range(8))
    during = files["while"].decode().splitlines()
    assert (during[0], during[1], during[4]) == ("0 out rtprobe", "1 in rtprobe", "4 out rtprobe")


def test_a_run_that_is_told_to_end_ends_with_its_samples(files: dict[str, bytes]) -> None:
    run = Run(files["ended"])
    assert run.ends[0]["reason"] == "signal"
    for due, n, missed, truncated in run.accounts():
        assert due == n + missed + truncated and n > 50 and missed == 0 and truncated <= 1


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("no-chip", 3, "this board has no GPIO chip"),
        ("not-wired", 3, "no edge on line 1 within 1 s after line 0"),
        ("same", 2, "must be different lines"),
        ("no-line", 2, "has the lines 0 to 7"),
        ("no-name", 2, "none of that name"),
        ("other-chip", 2, "there are: /dev/gpiochip0 (gpio-sim.0-node0, 8 lines)"),
        ("no-gpio", 2, "/dev/null is no GPIO chip"),
        ("in-use", 3, "is in use by somebody"),
    ],
)
def test_what_cannot_be_measured_is_named(name: str, code: int, words: str, files: dict[str, bytes]) -> None:
    told, ended = files[name].decode().rsplit("\n", 2)[:2]
    assert int(ended) == code and words in told and "\n" not in told

"""Cells: every combination, each once a repeat, in the order the file asks for."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pytest

from rtassay.experiments.files import parse
from rtassay.experiments.matrix import ExperimentPlan, estimate_ns, make_plan, probe_command
from rtassay.model.errors import InputFileError

LOADS = '[[loads]]\nname = "idle"\n[[loads]]\nname = "cpu"\nrun = ["builtin:cpu"]\n[[loads]]\nname = "two"\nrun = ["builtin:cpu", "builtin:fork@0"]\n'
SCENARIOS = '[[scenarios]]\nname = "one"\ncpus = "0"\n[[scenarios]]\nname = "all"\n'


def plan_of(head: str, tail: str = LOADS + SCENARIOS, scale: Fraction = Fraction(1)) -> ExperimentPlan:
    return make_plan(parse(f'name = "x"\n{head}\n{tail}'.encode(), Path("x.toml")).file, scale=scale)


@pytest.mark.parametrize("order", ["abba", "random-blocks", "as-written"])
def test_every_combination_is_there_once_a_repeat(order: str) -> None:
    plan = plan_of(f'order = "{order}"\nrepeats = 5\nkernels = ["stock", "rt"]')
    assert len(plan.cells) == 2 * 3 * 2 * 5
    assert set(Counter(cell.combination for cell in plan.cells).values()) == {5}
    assert {(cell.combination, cell.repeat) for cell in plan.cells} == {
        (cell.combination, repeat) for cell in plan.cells for repeat in range(1, 6)
    }
    assert [cell.order for cell in plan.cells] == list(range(1, 61))
    assert len({cell.id for cell in plan.cells}) == 60


def test_abba_runs_every_second_block_backwards() -> None:
    plan = plan_of('order = "abba"\nrepeats = 3\nkernels = ["a", "b"]', LOADS)
    blocks = [[(c.kernel, c.load) for c in plan.cells if c.block == block] for block in (1, 2, 3)]
    assert blocks[1] == blocks[0][::-1]
    assert blocks[2] == blocks[0]
    assert [kernel for kernel, _ in blocks[0] + blocks[1]] == ["a"] * 3 + ["b"] * 6 + ["a"] * 3


def test_as_written_repeats_a_combination_before_the_next() -> None:
    plan = plan_of('order = "as-written"\nrepeats = 2', LOADS)
    assert [(c.load, c.repeat) for c in plan.cells] == [
        ("idle", 1), ("idle", 2), ("cpu", 1), ("cpu", 2), ("two", 1), ("two", 2),
    ]  # fmt: skip


def test_random_blocks_depend_on_the_seed_alone_and_keep_kernels_whole() -> None:
    head = 'order = "random-blocks"\nrepeats = 6\nkernels = ["a", "b"]\nseed = {}'
    plans = [plan_of(head.format(seed)) for seed in (1, 1, 2)]
    assert plans[0] == plans[1]
    assert [c.id for c in plans[0].cells] != [c.id for c in plans[2].cells]
    blocks = [[c.combination for c in plans[0].cells if c.block == block] for block in range(1, 7)]
    assert len({tuple(block) for block in blocks}) > 1
    for block in range(1, 7):
        kernels = [c.kernel for c in plans[0].cells if c.block == block]
        assert sum(x != y for x, y in itertools.pairwise(kernels)) == 1


def test_boots_are_counted() -> None:
    assert plan_of('repeats = 4\nkernels = ["a", "b"]').boots == 5
    assert plan_of('repeats = 4\nkernels = ["a", "b"]\nreboot = "each-block"').boots == 8
    assert plan_of("repeats = 4").boots == 0


def test_the_identity_of_a_cell_is_its_levels_and_repeat() -> None:
    short, long = plan_of("repeats = 2"), plan_of('repeats = 2\norder = "random-blocks"')
    assert {c.id: (c.combination, c.repeat) for c in short.cells} == {
        c.id: (c.combination, c.repeat) for c in long.cells
    }
    assert short.hash != long.hash
    assert plan_of("repeats = 2").hash == short.hash


def test_a_cell_has_the_plan_of_the_equivalent_run() -> None:
    tail = (
        LOADS
        + SCENARIOS
        + '[settings]\ninterval = "1ms"\nduration = "90s"\nwarm_up = "5s"\npriority = 80\ndma_latency = "off"\n[acceptance]\ndeadline = "150us"\np = 1e-4\n'
    )
    plan = plan_of("", tail)
    cell = next(c for c in plan.cells if c.load == "two" and c.scenario == "one")
    asked = cell.plan
    assert asked.loads == ("builtin:cpu", "builtin:fork@0")
    assert (asked.cpus, asked.interval_ns, asked.duration_ns) == ((0,), 1_000_000, 90 * 10**9)
    assert (asked.deadline_ns, asked.p_target, asked.dma_latency_us, asked.priority) == (150_000, 1e-4, None, 80)
    assert " ".join(asked.argv) == (
        "rtassay run local --load builtin:cpu --load builtin:fork@0 --cpus 0 --deadline 150us --p 0.0001 "
        "--confidence 0.95 --duration 90s --interval 1ms --priority 80 --warm-up 5s --dma-latency off"
    )
    assert cell.length_ns == 95 * 10**9
    assert probe_command(cell).startswith("rtprobe cyclic --cpus 0 ")
    assert estimate_ns(plan.cells) > sum(c.length_ns for c in plan.cells)


def test_scale_shortens_down_to_a_second_and_a_hundred_samples() -> None:
    tail = '[settings]\nduration = "10min"\nwarm_up = "60s"\n[cool_down]\nat_most = "5min"\n'
    (cell,) = plan_of("", tail, Fraction(1, 100)).cells
    assert (cell.plan.duration_ns, cell.plan.warm_up_ns) == (6 * 10**9, 600_000_000)
    assert plan_of("", tail, Fraction(1, 100)).cool_down_most_ns == 3 * 10**9
    (cell,) = plan_of("", tail, Fraction(1, 10_000)).cells
    assert cell.plan.duration_ns == 10**9
    (cell,) = plan_of("", "[settings]\ncount = 5000\n", Fraction(1, 1000)).cells
    assert (cell.plan.count, cell.plan.duration_ns) == (100, None)


def test_a_line_of_cyclictest_decides_what_it_says() -> None:
    tail = '[[scenarios]]\nname = "M:N"\ncyclictest = "cyclictest -l1000000 -q -v -p80 -t16 -a"\n[[scenarios]]\nname = "old"\ncyclictest = "sudo cyclictest -vmn -i100 -p99 -t --duration=1h"\n[[scenarios]]\nname = "own"\n'
    plan = plan_of('probes = ["rtprobe", "cyclictest"]', tail, Fraction(1, 100))
    assert [(c.probe, c.scenario) for c in plan.cells] == [
        ("rtprobe", "own"), ("cyclictest", "M:N"), ("cyclictest", "old"), ("cyclictest", "own"),
    ]  # fmt: skip
    many, old = plan.cells[1].plan, plan.cells[2].plan
    assert many.cyclictest_line == "cyclictest -l10000 -q -v -p80 -t16 -a"
    assert (many.count, many.interval_ns, many.priority, many.policy, many.mlock) == (
        10_000,
        1_000_000,
        80,
        "fifo",
        False,
    )
    assert old.cyclictest_line == "cyclictest -v -m -i100 -p99 -t -D36 -q"
    assert (old.duration_ns, old.interval_ns, old.mlock) == (36 * 10**9, 100_000, True)
    assert plan.notes == ("scenario old: -n is dropped: today's cyclictest rejects it and always uses clock_nanosleep",)
    assert probe_command(plan.cells[1]) == many.cyclictest_line


def test_waivers_of_the_file_reach_every_run_and_the_command_that_repeats_it() -> None:
    plan = plan_of("", LOADS + '[acceptance.waive]\nVM-STEAL = "-p of the product: a VM"\n')
    for cell in plan.cells:
        assert cell.plan.waivers == {"VM-STEAL": "-p of the product: a VM"}
        at = cell.plan.argv.index("--waive")
        assert cell.plan.argv[at : at + 4] == ("--waive", "VM-STEAL", "--because", "-p of the product: a VM")


def test_a_strict_acceptance_reaches_every_run_and_the_command_that_repeats_it() -> None:
    strict = plan_of("", LOADS + '[acceptance]\ndeadline = "1ms"\nstrict = true\n')
    assert all(cell.plan.strict and cell.plan.argv[-1] == "--strict" for cell in strict.cells)
    plain = plan_of("", LOADS + '[acceptance]\ndeadline = "1ms"\n')
    assert not any(cell.plan.strict or "--strict" in cell.plan.argv for cell in plain.cells)


TUNED = '[[scenarios]]\nname = "off"\n{}\n[[scenarios]]\nname = "as-is"\n'


def test_a_scenario_changes_settings_of_the_board_for_its_own_runs() -> None:
    tune = '[scenarios.tune]\nsettings = ["printk"]\nwrite = [{ file = "/proc/sys/kernel/watchdog", value = 0 }]'
    plan = plan_of("", TUNED.format(tune))
    [tuned] = [cell for cell in plan.cells if cell.scenario == "off"]
    assert tuned.tune is not None and tuned.tune.ids == ("printk",) and tuned.tune.named
    assert [(one.target, one.value) for one in tuned.tune.writes[0].actions] == [("/proc/sys/kernel/watchdog", "0")]
    assert "--tune off.toml" in " ".join(tuned.plan.argv)
    [plain] = [cell for cell in plan.cells if cell.scenario == "as-is"]
    assert plain.tune is None and "--tune" not in plain.plan.argv


@pytest.mark.parametrize(
    ("tune", "why"),
    [
        ('tune.settings = ["prink"]', "there is no setting 'prink'"),
        ("tune.write = [{ file = '/etc/passwd', value = 0 }]", "names no file of /proc or /sys"),
        ("tune.wirte = []", "there is no 'wirte'"),
        ("tune.settings = []", "asks for nothing"),
    ],
)
def test_what_cannot_be_tuned_is_refused_before_anything_runs(tune: str, why: str) -> None:
    with pytest.raises(InputFileError) as caught:
        plan_of("", TUNED.format(tune))
    told = f"{caught.value} {caught.value.why or ''} {caught.value.hint or ''}"
    assert "[scenarios.tune] of off" in told and why in told

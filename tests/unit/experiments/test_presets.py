"""Presets: each parses and plans, those of others with the lines their authors ran, the corrected ones without the known faults."""

from __future__ import annotations

import shlex
from fractions import Fraction

import pytest

from rtassay.analysis.judge.waivers import check_waivers
from rtassay.analysis.lane.bounds import samples_needed
from rtassay.experiments import presets
from rtassay.experiments.choices import Choices, choose, kernel_note
from rtassay.experiments.lint import lint
from rtassay.experiments.matrix import estimate_ns, make_plan, probe_command
from rtassay.model.errors import UsageError
from rtassay.model.units import parse_duration_ns
from rtassay.published import load

# preset -> what is measured there: command lines as published (-n of ospert-2024 is gone from today's cyclictest).
LINES = {
    "balci-2017": ["cyclictest -l100000000 -m -S -p90 -i200 -h400 -q"],
    "riva-2018": ["cyclictest -l50000000 -m -S -p90 -i200 -h400 -q"],
    "ha-2023": [
        "cyclictest -l1000000 -q -v -p80 -a0",
        "cyclictest -l1000000 -q -v -p80 -t -a",
        "cyclictest -l1000000 -q -v -p80 -t16 -a",
    ],
    "ospert-2024": ["cyclictest -vmn -i100 -p99 -t --duration=1h"],
    "firefly-rt": ["cyclictest -m -S -p99 -i1000 -h800 -D3d -q"],
}
STANDARD = ["smoke", "compare", "qualify", "soak", "response", "noise", "tools", "rt-cost"]
OPEN_POINTS = ["throttling", "frequency", "irq-priority"]
HOUR_NS = 3600 * 10**9


def words(line: str) -> set[str]:
    """Options of a line of cyclictest one by one, clusters and --duration taken apart."""
    found = set()
    for word in shlex.split(line)[1:]:
        if word.startswith("--duration="):
            found.add("-D" + word.partition("=")[2])
        elif word == "-vmn":
            found |= {"-v", "-m"}
        else:
            found.add(word)
    return found


def test_all_presets_are_there_and_plan() -> None:
    assert set(presets.names()) == {*LINES, *STANDARD, *OPEN_POINTS}
    for name in presets.names():
        source = presets.find(name)
        assert source.given.name == name
        assert source.given.preset is not None
        assert all((source.given.preset.does, source.given.preset.found, source.given.preset.left_open))
        assert make_plan(source.file).cells
        assert make_plan(source.file, scale=Fraction(1, 1000)).cells


@pytest.mark.parametrize("name", LINES)
def test_the_commands_are_those_of_the_time(name: str) -> None:
    plan = make_plan(presets.find(name).file)
    lines = list(dict.fromkeys(probe_command(cell) for cell in plan.cells))
    assert len(lines) == len(LINES[name])
    for ours, theirs in zip(lines, LINES[name], strict=True):
        assert words(ours) - {"-q"} == words(theirs) - {"-q"}
    assert {cell.probe for cell in plan.cells} == {"cyclictest"}
    if name == "ospert-2024":
        assert any("-n is dropped" in note for note in plan.notes)


@pytest.mark.parametrize("name", LINES)
def test_the_corrected_form_has_none_of_the_faults_of_the_original(name: str) -> None:
    original, corrected = presets.find(name), presets.find(name, corrected=True)
    assert {doubt.id for doubt in lint(make_plan(original.file))} >= {"NO-REQUIREMENT", "CO-MISSED", "ALIASING"}
    plan = make_plan(corrected.file, corrected=True)
    assert lint(plan) == ()
    assert corrected.given.corrected is not None and len(corrected.given.corrected.what) > 200
    assert any(cell.plan.loads for cell in plan.cells)
    assert any(not cell.plan.loads for cell in plan.cells)


@pytest.mark.parametrize("name", ["compare", "qualify", "soak", "response"])
def test_the_standard_ones_are_long_enough_for_what_they_are_to_show(name: str) -> None:
    plan = make_plan(presets.find(name).file)
    assert lint(plan) == () or {doubt.id for doubt in lint(plan)} == {"ORDER-CONFOUND"}
    needed = samples_needed(plan.p_target, plan.confidence)
    for combination in {cell.combination for cell in plan.cells}:
        cells = [cell for cell in plan.cells if cell.combination == combination]
        measured_ns = sum(cell.plan.duration_ns or 0 for cell in cells)
        assert needed is not None and measured_ns // (cells[0].plan.interval_ns or 1) >= needed


def test_the_standard_ones_take_what_they_say() -> None:
    def hours(name: str, *kernels: str) -> float:
        file = choose(presets.find(name), Choices(kernels=kernels))
        return estimate_ns(make_plan(file).cells) / HOUR_NS

    assert hours("smoke") < 0.2
    assert 10 <= hours("compare", "stock", "rt") <= 11
    assert 0.8 <= hours("response") <= 1
    assert 0.3 <= hours("noise") <= 0.5
    assert 72 <= hours("soak") <= 73
    assert {doubt.id for doubt in lint(make_plan(presets.find("smoke").file))} == {"FEW-RUNS", "N-TOO-SMALL"}


def test_kernels_that_are_not_named_are_said_plainly() -> None:
    for name in LINES:
        if name == "firefly-rt":
            continue
        source = presets.find(name)
        note = kernel_note(source.file)
        assert note is not None and "only the running kernel is measured" in note
        assert kernel_note(choose(source, Choices(kernels=("a", "b")))) is None
    assert kernel_note(presets.find("smoke").file) is None


def test_what_is_waived_may_be_and_qualify_waives_its_own_heat_ramp() -> None:
    for name in presets.names():
        source = presets.find(name)
        assert check_waivers(source.file.acceptance.waive) == source.file.acceptance.waive
    qualify = presets.find("qualify").file
    assert set(qualify.acceptance.waive) == {"TEMP-DRIFT"}
    assert qualify.cool_down is not None and parse_duration_ns(qualify.settings.warm_up or "0s") <= 10 * 10**9


def test_published_ids_exist() -> None:
    known = {row.id for row in load()}
    for name in LINES:
        told = presets.find(name).given.preset
        assert told is not None and told.published and set(told.published) <= known


def test_choices_stand_in_place_of_what_the_file_says() -> None:
    source = presets.find("smoke")
    choices = Choices(boards=("pi5", "pi4"), kernels=("a",), deadline="150us", p=1e-4)
    plan = make_plan(choose(source, choices), options=choices.argv)
    assert {cell.board for cell in plan.cells} == {"pi5", "pi4"}
    assert {cell.kernel for cell in plan.cells} == {"a"}
    assert (plan.deadline_ns, plan.p_target) == (150_000, 1e-4)
    assert plan.options == ("--board", "pi5", "--board", "pi4", "--kernel", "a", "--deadline", "150us", "--p", "0.0001")
    assert choose(source, Choices()) is source.file
    with pytest.raises(UsageError, match="given twice"):
        choose(source, Choices(kernels=("a", "a")))
    with pytest.raises(UsageError, match="not the name of a boot entry"):
        choose(source, Choices(kernels=("a b",)))


def test_the_preset_response_has_a_scenario_for_each_carrier_it_names() -> None:
    plan = make_plan(presets.find("response").file)
    assert {(cell.scenario, cell.plan.settings["by"], cell.probe) for cell in plan.cells} == {
        (name, name, "response")
        for name in ("futex", "semaphore", "mqueue", "signal", "pipe", "udp", "pi-mutex", "mutex")
    }


def test_rt_cost_measures_works_on_the_idle_board_only() -> None:
    plan = make_plan(choose(presets.find("rt-cost"), Choices((), ("stock", "rt"), None, None, None, None)))
    assert plan.boots == 10
    assert {(cell.load, cell.probe) for cell in plan.cells if cell.of_work} == {
        ("idle", f"work:{name}") for name in ("builtin", "hackbench", "stress-ng", "iperf3")
    }
    assert {cell.load for cell in plan.cells if not cell.of_work} == {"idle", "stress-ng"}
    assert all((cell.plan.deadline_ns is None) == cell.of_work for cell in plan.cells)


def test_the_corrected_ospert_takes_throughput_in() -> None:
    plan = make_plan(presets.find("ospert-2024", corrected=True).file, corrected=True)
    works = {cell.probe for cell in plan.cells if cell.of_work}
    assert works == {"work:builtin", "work:stress-ng", "work:iperf3"}
    assert {cell.load for cell in plan.cells if cell.of_work} == {"idle"}

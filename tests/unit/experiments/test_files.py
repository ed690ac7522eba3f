"""Experiment files: what is refused, with which path, and what a correction and a scale do."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from rtassay.experiments import presets
from rtassay.experiments.files import overlay, parse, parse_scale
from rtassay.experiments.matrix import make_plan
from rtassay.experiments.schema import Settings
from rtassay.model.errors import InputFileError, UsageError

HEAD = 'name = "x"\n'


def faults(text: str) -> str:
    with pytest.raises(InputFileError) as caught:
        parse((HEAD + text).encode(), Path("x.toml"))
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[scenarios]]\nname = "a"\ncpuz = "1"', "$.scenarios[0].cpuz: no such key (did you mean 'cpus'?)"),
        (
            'deadline = "1ms"',
            "$.deadline: no such key here; it stands in [acceptance]",
        ),
        (
            '[[loads]]\nname = "l l"',
            "$.loads[0].name: write it with letters, digits and . _ : + - only",
        ),
        ('order = "abab"', "$.order: 'abab' is none of the words that may stand here (did you mean 'abba'?)"),
        ("repeats = 0", "$.repeats: expected `int` >= 1"),
        ("repeats = true", "$.repeats"),
        ("[settings]\ninterval = 5", "$.settings.interval"),
        ('[settings]\ninterval = "5"', "$.settings.interval: '5' has no unit"),
        ('[settings]\nduration = "0s"', "$.settings.duration: 0s is out of range (1ms to 365d)"),
        (
            '[[scenarios]]\nname = "a"\n[[scenarios]]\nname = "b"\ncpus = "1-x"',
            "$.scenarios[1].cpus: '1-x' is not a CPU list",
        ),
        ('[[scenarios]]\nname = "a"\n[[scenarios]]\nname = "a"', "$.scenarios[1]: 'a' is there twice"),
        (
            '[[loads]]\nname = "idle"\nprobes = ["work:builtin"]',
            "$.loads[0].probes: 'work:builtin' is none of the probes of the file",
        ),
        ('[[loads]]\nname = "l"\nrun = ["stres-ng"]', "$.loads[0].run[0]: there is no load 'stres-ng'"),
        ('[[loads]]\nname = "l"\nrun = ["none"]', "$.loads[0].run[0]: 'none' runs nothing"),
        ('[[loads]]\nname = "quiet"', "$.loads[0].name: 'quiet' runs nothing"),
        (
            '[[scenarios]]\nname = "a"\ncyclictest = "cyclictest -l5"',
            "$.scenarios[0].cyclictest: this line needs the probe cyclictest",
        ),
        ('[acceptance]\ndeadline = "soon"', "$.acceptance.deadline: 'soon' is not a duration"),
        ('[cool_down]\nto_c = 50\nat_most = "5"', "$.cool_down.at_most: '5' has no unit"),
        ("[corrected]\nrepeat = 5", "$.corrected.repeat: no such key (did you mean 'repeats'?)"),
        ('[settings]\ninterval = "5us"', "$.settings.interval: 5us is out of range (10us to 1h)"),
        ("[settings]\npriority = 100", "$.settings.priority: expected `int` <= 99"),
        ('[settings]\npolicy = "other"\npriority = 5', "$.settings.priority: policy other has no priority"),
        ("repeats = [", "is not TOML"),
        ("repeats = " + "9" * 5000, "is not TOML"),
    ],
)
def test_a_fault_is_named_with_its_path(text: str, words: str) -> None:
    assert words in faults(text)


def test_all_faults_are_told_at_once() -> None:
    told = faults('boards = ["a", "a"]\n[settings]\ninterval = "x"\n[acceptance]\ndeadline = "y"')
    assert all(path in told for path in ("$.boards[1]", "$.settings.interval", "$.acceptance.deadline"))


def test_what_only_the_probe_can_refuse_names_the_levels() -> None:
    text = HEAD + 'probes = ["cyclictest"]\n[settings]\ninterval = "10500ns"\n'
    with pytest.raises(InputFileError, match="load=idle probe=cyclictest scenario=all-cpus"):
        make_plan(parse(text.encode(), Path("x.toml")).file)


def test_a_correction_replaces_values_and_is_laid_over_tables() -> None:
    text = (
        HEAD
        + 'repeats = 1\n[settings]\ninterval = "100us"\ncount = 500\n[corrected]\nrepeats = 5\n[corrected.settings]\nduration = "10min"\n'
    )
    plain = parse(text.encode(), Path("x.toml"))
    better = parse(text.encode(), Path("x.toml"), corrected=True)
    assert (plain.file.repeats, plain.file.settings.count, plain.file.settings.duration) == (1, 500, None)
    assert better.file.repeats == 5
    assert (better.file.settings.interval, better.file.settings.count, better.file.settings.duration) == (
        "100us",
        None,
        "10min",
    )


def test_a_file_without_a_correction_has_no_corrected_form() -> None:
    with pytest.raises(UsageError, match="no corrected form"):
        parse(HEAD.encode(), Path("x.toml"), corrected=True)


def test_settings_of_a_scenario_replace_how_long_but_keep_the_rest() -> None:
    found = overlay(Settings(interval="1ms", count=5, priority=80), Settings(duration="3s"))
    assert (found.interval, found.count, found.duration, found.priority) == ("1ms", None, "3s", 80)


@pytest.mark.parametrize(("text", "factor"), [("1/100", Fraction(1, 100)), ("0.5", Fraction(1, 2)), ("1", Fraction(1))])
def test_scales(text: str, factor: Fraction) -> None:
    assert parse_scale(text) == factor


@pytest.mark.parametrize("text", ["0", "2", "x", "1/0", "-1", "nan", ""])
def test_no_scales(text: str) -> None:
    with pytest.raises(UsageError, match="--scale"):
        parse_scale(text)


@pytest.mark.parametrize("name", presets.names())
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(1, 100)])
def test_every_preset_can_be_planned_and_says_what_it_is(name: str, scale: Fraction) -> None:
    source = presets.find(name)
    assert source.given.name == name
    assert source.given.preset is not None
    assert all((source.given.preset.source, source.given.preset.does, source.given.preset.left_open))
    assert make_plan(source.file, scale=scale).cells
    if source.given.corrected is not None:
        assert source.given.corrected.what
        assert make_plan(presets.find(name, corrected=True).file, corrected=True, scale=scale).cells


def test_an_unknown_preset_is_guessed() -> None:
    with pytest.raises(UsageError) as caught:
        presets.find("smok")
    assert "did you mean 'smoke'?" in (caught.value.hint or "")

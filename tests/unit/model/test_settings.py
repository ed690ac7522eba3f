"""One table of settings: its values survive being typed, its ranges are those of the built rtprobe, and everything is made from it."""

from __future__ import annotations

import subprocess
from dataclasses import fields, replace
from pathlib import Path

import click
import pytest

from rtassay.model import methods
from rtassay.model.errors import BoardError, UsageError
from rtassay.model.manifest import Plan
from rtassay.model.settings import BY_NAME, DURATION, FLAG, NUMBER, OF_EXPERIMENT, SETTINGS
from rtassay.model.units import NS_PER_S, NS_PER_US

BUILT = Path(__file__).parents[3] / "probe" / "build" / "rtprobe"


def described(program: Path | str = BUILT) -> dict[str, methods.Method]:
    return methods.read(subprocess.run([str(program), "describe"], capture_output=True, check=True).stdout)


def test_names_and_fields_are_those_of_the_plan_and_occur_once() -> None:
    names = [setting.name for setting in SETTINGS]
    assert len(set(names)) == len(names)
    known = {field.name for field in fields(Plan)}
    assert {setting.field for setting in SETTINGS if setting.field} <= known
    assert all(setting.help.endswith(".") or "(" in setting.help for setting in SETTINGS)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: s.name)
def test_limits_and_default_are_read_back_as_typed_and_what_lies_beyond_is_refused(setting) -> None:
    if setting.kind == FLAG:
        assert setting.argv(setting.default) == [] and setting.argv(not setting.default) == [setting.option]
        return
    for value in (setting.least, setting.default, *setting.words):
        if value is not None:
            text = setting.text(value)
            assert setting.parse(text) == (None if text == "off" else value)
    if setting.most is None:
        return
    beyond = [setting.least - 1, setting.most if setting.kind == NUMBER else setting.most + 1]
    for value in beyond:
        with pytest.raises(UsageError, match=f"{setting.option}: .* is out of range"):
            setting.check(value)
    if setting.kind != NUMBER:
        setting.check(setting.most)


def test_a_wrong_value_names_the_option_its_range_and_its_unit() -> None:
    with pytest.raises(UsageError, match="--dma-latency: '5us' is not a whole number of us"):
        BY_NAME["dma-latency"].parse("5us")
    with pytest.raises(UsageError, match="--interval: 9us is out of range") as caught:
        BY_NAME["interval"].parse("9us")
    assert caught.value.hint == "10us to 1h"
    for name, text, readings in (
        ("deadline", "100", "100us or 100ms"),
        ("duration", "1", "1s or 1min"),
        ("break-above", "0.5", "0.5us or 0.5ms"),
    ):
        with pytest.raises(UsageError, match=f"--{name}: '{text}' has no unit") as caught:
            BY_NAME[name].parse(text)
        assert caught.value.hint == f"did you mean {readings}?"
    with pytest.raises(UsageError, match="--p: nan is out of range"):
        BY_NAME["p"].parse("nan")
    with pytest.raises(UsageError, match="--policy: 'batch' is not one of fifo, rr, other, deadline"):
        BY_NAME["policy"].parse("batch")


def test_our_rows_and_the_description_of_the_built_probe_agree() -> None:
    of_probe = {setting.name: setting for setting in described()["cyclic"].settings}
    ours = [setting for setting in SETTINGS if setting.probe]
    assert len(ours) >= 12
    for setting in ours:
        theirs = of_probe[setting.option.removeprefix("--")]
        assert (theirs.kind, theirs.words) == (setting.kind, setting.words), setting.name
        assert (theirs.least, theirs.most) == (setting.least, setting.most), setting.name
        assert theirs.unit == ("ns" if setting.kind == DURATION else setting.unit), setting.name
        if setting.kind != FLAG:
            assert theirs.default == setting.default, setting.name


def test_the_experiment_schema_has_every_row_with_its_range() -> None:
    from rtassay.experiments.schema import json_schema

    shape = json_schema()["$defs"]["Settings"]["properties"]
    assert set(shape) == {setting.key for setting in OF_EXPERIMENT} | {"set"}
    (priority,) = (one for one in shape["priority"]["anyOf"] if one.get("type") == "integer")
    assert (priority["minimum"], priority["maximum"]) == (1, 99)
    (interval,) = (one for one in shape["interval"]["anyOf"] if one.get("type") == "string")
    assert "10us to 1h" in interval["description"]


def test_run_has_every_row_with_its_help() -> None:
    from rtassay.cli.run import command

    options = {name: param for param in command.params if isinstance(param, click.Option) for name in param.opts}
    for setting in SETTINGS:
        assert setting.help in (options[setting.option].help or ""), setting.name


OWN = methods.Method(
    "signal",
    "time from a signal to its handler",
    "response:signal",
    (
        *(setting for setting in SETTINGS if setting.probe),
        replace(BY_NAME["interval"], name="spacing", least=NS_PER_US, most=NS_PER_S, default=None),
        replace(BY_NAME["aligned"], name="queued"),
    ),
)


def test_a_method_of_the_probe_needs_no_row_of_ours() -> None:
    plan = Plan(probe="signal", settings={"spacing": "2us", "queued": "true"})
    assert methods.are_asked(plan)
    methods.check_plan(plan, {"cyclic": OWN, "signal": OWN})
    assert methods.settings_argv(plan.settings) == ["--spacing", "2us", "--queued"]
    from rtassay.probes.base import find

    assert find("signal").command(plan, "/p", (1,))[:4] == ["/p", "signal", "--cpus", "1"]
    assert find("signal").command(plan, "/p", (1,))[-3:] == ["--spacing", "2us", "--queued"]


@pytest.mark.parametrize(
    ("probe", "settings", "words"),
    [
        ("signl", {}, "there is no probe 'signl'"),
        ("signal", {"spacng": "2us"}, "the method signal has no setting 'spacng'"),
        ("signal", {"spacing": "2h"}, "--spacing: 2h is out of range"),
        ("signal", {"spacing": "often"}, "--spacing: 'often' is not a duration"),
        ("signal", {"queued": "maybe"}, "--queued: 'maybe' is neither true nor false"),
        ("signal", {"interval": "1ms"}, "--set interval has an option of its own"),
    ],
)
def test_what_a_method_does_not_have_is_refused_by_name(probe: str, settings: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        methods.check_plan(Plan(probe=probe, settings=settings), {"cyclic": OWN, "signal": OWN})


def test_what_is_no_description_is_said() -> None:
    for text in (b"", b"{}", b'{"schema": "rtprobe/describe/1"}', b"\xff"):
        with pytest.raises(BoardError):
            methods.read(text)


def test_cyclictest_takes_no_settings_of_a_method() -> None:
    from rtassay.probes.cyclictest import CyclictestProbe

    with pytest.raises(UsageError, match="--set"):
        CyclictestProbe().check(Plan(probe="cyclictest", settings={"spill": "5"}))

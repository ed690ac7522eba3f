"""rtassay probe: what the host knows of the methods of rtprobe comes from `rtprobe describe`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rtassay.boards.binaries import native_arch
from rtassay.cli.experiment import _planned
from rtassay.cli.main import run
from rtassay.model.errors import InputFileError

FORM = {
    "scale": "1",
    "corrected": False,
    "boards": (),
    "kernels": (),
    "deadline": None,
    "p_target": None,
    "per_hour": None,
    "looks": None,
}


def told(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert run(["probe", *argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_list_names_programs_and_methods(capsys: pytest.CaptureFixture[str]) -> None:
    probes = {row["name"]: row for row in told(capsys, "list")["probes"]}
    assert {"rtprobe", "cyclictest", "cyclic"} <= set(probes)
    assert probes["cyclic"]["measure"] == "wake-up"


def test_describe_says_how_each_setting_is_stated(capsys: pytest.CaptureFixture[str]) -> None:
    found = told(capsys, "describe")
    assert found == told(capsys, "describe", "rtprobe") == told(capsys, "describe", "cyclic")
    rows = {row["name"]: row for row in found["settings"]}
    assert (rows["interval"]["stated_by"], rows["interval"]["range"], rows["interval"]["default"]) == (
        "option",
        "10us to 1h",
        "997us",
    )
    assert (rows["spill"]["stated_by"], rows["spill"]["unit"]) == ("--set", "samples")
    assert not {"attached", "output", "fallback"} & set(rows), "the session sets these itself"


@pytest.mark.parametrize(("name", "words"), [("cyclicc", "did you mean 'cyclic'"), ("cyclictest", "methods: cyclic")])
def test_describe_of_what_is_no_method(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "describe", name]) == 2
    assert words in capsys.readouterr().err


def planned(tmp_path: Path, text: str) -> Any:
    path = tmp_path / "x.toml"
    path.write_text(f'name = "x"\n{text}')
    return _planned(str(path), FORM)[1]


def test_an_experiment_takes_a_method_and_its_settings(tmp_path: Path) -> None:
    plan = planned(tmp_path, 'probes = ["cyclic"]\n[settings.set]\nspill = 7\n')
    (cell,) = plan.cells
    assert cell.plan.settings == {"spill": "7"}
    assert cell.plan.argv[-2:] == ("--set", "spill=7")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('probes = ["rtprob"]', "probe=rtprob cannot be measured: there is no probe 'rtprob'"),
        ("[settings.set]\nspil = 7", "probe=rtprobe cannot be measured: the method cyclic has no setting 'spil'"),
        ("[settings.set]\nspill = -1", "--spill: -1 samples is out of range"),
        ('[settings.set]\ninterval = "1ms"', "--set interval has an option of its own"),
    ],
)
def test_a_wrong_method_or_setting_is_named_before_anything_is_measured(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputFileError) as caught:
        planned(tmp_path, text)
    assert words in str(caught.value)


@pytest.mark.parametrize("arch", ["../../etc/passwd", "\x1b]0;title", "x" * 5000])
def test_path_takes_known_machines_only(arch: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["probe", "path", "--arch", arch]) == 2
    said = capsys.readouterr().err
    assert "aarch64" in said and "\x1b" not in said
    assert told(capsys, "path", "--arch", "X86_64" if native_arch() == "x86_64" else native_arch())["path"]

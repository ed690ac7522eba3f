"""`[acceptance.waive]` of an experiment file: known checks only, under their own names, before anything is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from rtassay.cli.experiment import _planned
from rtassay.model.errors import RtassayError

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


def file_with(tmp_path: Path, waive: str) -> str:
    path = tmp_path / "x.toml"
    path.write_text(f'name = "x"\n[acceptance]\ndeadline = "1ms"\n[acceptance.waive]\n{waive}\n')
    return str(path)


def test_an_id_is_taken_as_checks_have_it(tmp_path: Path) -> None:
    _, plan = _planned(file_with(tmp_path, 'vm-steal = "deployed  in a VM"'), FORM)
    assert plan.cells[0].plan.waivers == {"VM-STEAL": "deployed in a VM"}


@pytest.mark.parametrize(
    ("waive", "why"),
    [
        ('VM-STEEL = "x"', "no check 'VM-STEEL'"),
        ('COUNT-MISMATCH = "x"', "cannot be waived"),
        ('VM-STEAL = ""', "waive"),
    ],
)
def test_what_may_not_be_waived_is_refused(tmp_path: Path, waive: str, why: str) -> None:
    with pytest.raises(RtassayError) as failed:
        _planned(file_with(tmp_path, waive), FORM)
    assert why in f"{failed.value} {failed.value.why}"

"""rtassay gate without QEMU: kernels of a few bytes, boots that are answered at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gated
import pytest
from command_line import in_process

from rtassay.cli import gate_run
from rtassay.gate import boots
from rtassay.gate.boots import Cell, Make, Measured

US = 1_000


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with `old` and `new`, and boots in which `new` is later under hackbench."""
    monkeypatch.chdir(tmp_path)
    Path("arm").write_bytes(gated.arm64_image(gated.BANNER + gated.carried(gated.FULL)))
    for name in ("old", "new"):
        Path(name).write_bytes(gated.bzimage(gated.elf(rest=gated.BANNER + name.encode() + gated.carried(gated.FULL))))

    def answer(cell: Cell) -> Measured:
        later = cell.load == "hackbench" and cell.kernel.kernel.name == "new"
        return gated.measured(gated.stream([20 * US, (140 if later else 40) * US, 30 * US]))

    @contextmanager
    def fake(programs: bytes, probe: bytes, told: Any, limit_s: float = 0) -> Iterator[Make]:
        def make(cells: Any) -> list[Measured]:
            made = gated.maker(answer)(cells)
            for cell, one in zip(cells, made, strict=True):
                told(cell, one)
            return made

        yield make

    monkeypatch.setattr(boots, "boots", fake)
    monkeypatch.setattr(gate_run, "tools", lambda arch: gated.TOOLS)
    return tmp_path


def test_a_regression_is_1_and_is_told_in_every_form(kernels: Path) -> None:
    files = ["--junit", "g.xml", "--ktap", "g.ktap", "--summary", "g.md", "-o", "g.json"]
    done = in_process("gate", "new", "--against", "old", "--quick", *files, home=kernels)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("LATENCY REGRESSION under hackbench: new (6.1.0-test) against old")
    assert "Passing says nothing about your board." in done.stdout
    assert "gate: 6 boots" in done.stderr and "6/6  " in done.stderr
    assert 'name="hackbench"' in Path("g.xml").read_text() and 'failures="1"' in Path("g.xml").read_text()
    assert "ok 1 idle\n" in Path("g.ktap").read_text() and "not ok 2 hackbench" in Path("g.ktap").read_text()
    for file in ("g.xml", "g.ktap", "g.md", "g.json"):
        assert "Passing says nothing about your board." in Path(file).read_text(), file
        assert "HOLDS" not in Path(file).read_text()
    made = json.loads(Path("g.json").read_text())
    assert (made["schema"], made["state"], made["qemu"]) == ("rtassay/gate/1", "regressed", gated.TOOLS.qemu)
    assert [load["state"] for load in made["loads"]] == ["not-regressed", "regressed", "not-regressed"]
    assert all(len(made[name]["sha256"]) == 64 for name in ("kernel", "base"))


def test_no_regression_is_0_and_the_same_inputs_give_the_same_object(kernels: Path) -> None:
    first = in_process(
        "gate", "run", "old", "--against", "old", "--load", "idle", "--seeds", "2", "--json", home=kernels
    )
    again = in_process("gate", "--load", "idle", "--seeds", "2", "--json", "old", "--against", "old", home=kernels)
    assert (first.returncode, first.stdout) == (0, again.stdout)
    assert json.loads(first.stdout)["seeds"] == [1, 2]


def test_a_saved_result_is_a_base(kernels: Path) -> None:
    assert in_process("gate", "old", "--quick", "-o", "base.json", home=kernels).returncode == 0
    done = in_process("gate", "new", "--quick", "--against", "base.json", home=kernels)
    assert done.returncode == 1 and "gate: 3 boots" in done.stderr


def test_a_deadline_is_counted_in_virtual_time(kernels: Path) -> None:
    assert in_process("gate", "old", "--quick", "--deadline", "100us", home=kernels).returncode == 0
    done = in_process("gate", "new", "--quick", "--deadline", "100us", home=kernels)
    assert done.returncode == 1 and "DEADLINE EXCEEDED under hackbench" in done.stdout


def test_verify_says_that_both_are_the_same(kernels: Path) -> None:
    done = in_process("gate", "new", "--verify", "--quick", home=kernels)
    assert done.returncode == 0 and done.stdout.startswith("THE SAME BYTES: new")
    told = json.loads(in_process("gate", "new", "--verify", "--quick", "--json", home=kernels).stdout)
    assert (told["schema"], told["same"], len(told["cells"])) == ("rtassay/gate-verify/1", True, 3)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["new", "--quick", "--seeds", "2"], "--quick says its loads"),
        (["new", "--verify", "--against", "old"], "--verify compares"),
        (["new", "-o", "g.doc"], "names no format"),
        (["new", "-o", "nowhere/g.json"], "no directory"),
        (["nothing"], "no kernel 'nothing'"),
        (["new", "--against", "nothing.json"], "no kernel 'nothing.json'"),
        (["new", "--load", "none"], "none"),
        (["linux-image-rt-riscv64"], "a kernel for riscv64: Debian 12 has no packages for it"),
        (["linux-image-rt-686-pae"], "a kernel for i386"),
        (["new", "--against", "arm"], "new is a kernel for amd64, arm one for arm64"),
        ([], "KERNEL"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_boots(kernels: Path, words: list[str], said: str) -> None:
    done = in_process("gate", *words, home=kernels)
    assert done.returncode == 2 and said in done.stderr and " boots" not in done.stderr


def test_a_kernel_that_cannot_be_gated_says_what_it_lacks(kernels: Path) -> None:
    options = {name: "y" for name in gated.FULL if name != "BLK_DEV_INITRD"}
    Path("bare").write_bytes(gated.bzimage(gated.elf(rest=gated.carried(options))))
    done = in_process("gate", "bare", home=kernels)
    assert done.returncode == 2 and "CONFIG_BLK_DEV_INITRD (initrd support" in done.stderr


def test_that_functions_are_not_followed_on_arm_is_said_before_anything_boots(kernels: Path) -> None:
    done = in_process("gate", "arm", "--against", "arm", "--quick", home=kernels)
    assert done.returncode == 0, done.stderr
    before, _, _ = done.stderr.partition(" boots,")
    assert "follows kernels for amd64 only" in before and "this one is for arm64" in before
    assert "follows" not in in_process("gate", "new", "--against", "old", "--quick", home=kernels).stderr

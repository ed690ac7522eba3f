"""A tree of NuttX as it is named, refused and known again. That it builds and measures: tests/lab/test_nuttx.py."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))  # pytest's importlib mode has no sibling imports

from command_line import in_process

from rtassay.lab import nuttx
from rtassay.model.errors import UsageError


@pytest.fixture(name="tree")
def _tree(tmp_path: Path) -> Path:
    for name in ("nuttx/tools/configure.sh", "nuttx/sched/Makefile", "apps/Application.mk", "apps/.git/index"):
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(name)
    return tmp_path / "tree"


def test_the_option_goes_before_the_variable(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(nuttx.SOURCE_VARIABLE, str(tmp_path / "other"))
    assert nuttx.checked(tree) == tree
    monkeypatch.setenv(nuttx.SOURCE_VARIABLE, str(tree))
    assert nuttx.checked(None) == tree


@pytest.mark.parametrize("gone", ["nuttx/tools/configure.sh", "apps/Application.mk"])
def test_what_is_no_tree_is_named_with_what_is_missing(gone: str, tree: Path) -> None:
    (tree / gone).unlink()
    with pytest.raises(UsageError) as caught:
        nuttx.checked(tree)
    assert gone in str(caught.value) and "git clone" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nuttx"], "NuttX is built from a tree of yours"),
        (["nuttx", "--source", "/no/such"], "/no/such is no tree of NuttX"),
        (["nuttx", "--kernel", "rt"], "a nuttx board takes"),
        (["freertos", "--source", "/no/such"], "--source does not go with freertos"),
        (["quick", "--source", "/no/such"], "--source does not go with quick"),
    ],
)
def test_what_does_not_go_is_refused(
    words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(nuttx.SOURCE_VARIABLE, raising=False)
    done = in_process("lab", "start", *words, home=tmp_path)
    assert done.returncode == 2 and said in done.stderr


def test_an_image_is_built_anew_when_a_file_of_the_tree_is_another(tree: Path) -> None:
    first = nuttx._digest(tree)
    (tree / "apps/.git/index").write_text("another commit, the same files")
    assert nuttx._digest(tree) == first
    os.utime(tree / "nuttx/sched/Makefile", ns=(1, 1))
    assert nuttx._digest(tree) != first
